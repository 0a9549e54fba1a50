"""The tool behind `make mutate`: that its mistakes are mistakes, and that it sees."""

import textwrap

import pytest

from helpers.mutation.mutants import equivalents, mutants_of

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


def test_equivalent_mutants_are_listed_with_their_reasons():
    listed = """# not an entry

a.py f: x + 1 -> x - 1
    A reason
    of two lines.

a.py g: break -> pass
    Another.
"""
    assert equivalents(listed) == {
        "a.py f: x + 1 -> x - 1": "A reason of two lines.",
        "a.py g: break -> pass": "Another.",
    }
    with pytest.raises(ValueError, match="without a reason: a.py h: break -> pass"):
        equivalents(listed + "\na.py h: break -> pass\n")
