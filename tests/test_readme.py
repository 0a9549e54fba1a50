"""The README's Python blocks run as printed, in order, in one namespace."""

import inspect
from pathlib import Path

from sklearn.neural_network import MLPClassifier, MLPRegressor

from cofire import SparseMLPClassifier, SparseMLPRegressor
from helpers.markdown import python_blocks

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_has_code_and_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what a block writes stays out of the tree
    blocks = list(python_blocks(README.read_text(encoding="utf-8")))
    assert blocks, "README.md has no ```python block"
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)


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
