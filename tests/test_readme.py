"""The README's Python blocks run as printed, in order, in one namespace."""

import inspect
import re
from pathlib import Path

from sklearn.neural_network import MLPClassifier, MLPRegressor

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.markdown import python_blocks

README = Path(__file__).parents[1] / "README.md"
INPUTS = README.parent / "docs" / "inputs.md"


def test_the_readme_has_code_and_it_prints_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # what a block writes stays out of the tree
    text = README.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    printed = []
    for block in python_blocks(text):
        exec(compile(block, str(README), "exec"), namespace)
        printed += capsys.readouterr().out.splitlines()
    said = re.findall(r"^```python\n.*?^```\n\n```\n(.*?)\n```$", text, re.M | re.S)
    assert len(printed) == len(said) == 2
    (score, density), expected = numbers(printed[0]), numbers(said[0])
    assert abs(score - expected[0]) < 0.01 and abs(density - expected[1]) < 1
    # Machines of another kind may rank the others differently.
    assert printed[1].split(",")[0] == said[1].split(",")[0]


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_inputs_have_the_names_that_the_page_says(capsys):
    text = INPUTS.read_text(encoding="utf-8")
    (block,) = python_blocks(text)
    exec(compile(block, str(INPUTS), "exec"), {})
    assert f"# {capsys.readouterr().out.strip()}" in text


def test_the_readme_names_every_parameter_that_differs_from_scikit_learn():
    text = README.read_text(encoding="utf-8").partition("## Coming from")[2]
    for theirs, ours in (
        (MLPClassifier, SparseMLPClassifier),
        (MLPRegressor, SparseMLPRegressor),
    ):
        given, own = theirs().get_params(), ours().get_params()
        differing = {k for k in given if k not in own or given[k] != own[k]}
        # A first argument that comes to stand elsewhere is a difference too.
        differing.add(next(iter(inspect.signature(ours).parameters)))
        unnamed = {name for name in differing if f"`{name}`" not in text}
        assert not unnamed


def test_the_line_that_installs_it_reads_csv_files():
    text = README.read_text(encoding="utf-8").partition("## Use it")[2]
    assert text.index("pip install '.[data]'") < text.index("cofire train my.csv")
