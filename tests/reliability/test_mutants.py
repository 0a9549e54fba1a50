"""The tool behind `make mutate`: that its mistakes are mistakes, and that it sees."""

import textwrap
from pathlib import Path

import cofire
from helpers.mutation import mutants
from helpers.mutation.mutants import mutants_of

CODE = '''
def span(values: list[int], *, wide: bool = False) -> int:
    """Not changed: 1 + 1."""
    if not values and not wide:
        raise ValueError(f"nothing in {values}: 1 + 1")
    return max(values, default=0) - min(values)
'''


def of(tmp_path, code=CODE):
    path = tmp_path / "span.py"
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return mutants_of(path, "topology/span.py")


def test_each_operator_makes_its_mistake(tmp_path):
    after = [mutant.after for mutant in of(tmp_path)]
    assert after == [
        "def span(values: list[int], *, wide: bool=True) -> int:",
        "if True:",
        "if False:",
        "if not values or not wide:",
        "if values and (not wide):",
        "if not values and wide:",
        "pass",
        "return None",
        "return max(values, default=0) + min(values)",
        "return max(values) - min(values)",
        "return min(values, default=0) - min(values)",
        "return max(values, default=1) - min(values)",
        "return max(values, default=-1) - min(values)",
        "return max(values, default=0) - max(values)",
    ]


def test_a_mutant_does_what_it_says(tmp_path):
    by_text = {mutant.after: mutant for mutant in of(tmp_path)}
    mutant = by_text["return max(values, default=0) + min(values)"]
    namespace = {}
    exec(mutant.code, namespace)
    assert namespace["span"]([2, 5]) == 7
    assert (mutant.function, mutant.module) == ("span", "cofire.topology.span")
    assert mutant.lines == range(6, 7)


def test_every_mutant_called_equivalent_can_still_be_made():
    folder = Path(cofire.__file__).parent
    names = {
        str(mutant)
        for package in ("topology", "methods")
        for path in (folder / package).rglob("*.py")
        for mutant in mutants_of(path, str(path.relative_to(folder)))
    }
    listed = Path(mutants.__file__).with_name("equivalent_mutants.txt")
    listed = listed.read_text("utf-8")
    blocks = [block.splitlines() for block in listed.split("\n\n")[1:]]
    assert all(len(block) > 1 for block in blocks), "each with its reason"
    assert {name for name, *_ in blocks} <= names
