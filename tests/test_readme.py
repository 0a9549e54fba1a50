"""The README's Python blocks run as printed, in order, in one namespace."""

from pathlib import Path

from helpers.markdown import python_blocks

README = Path(__file__).parents[1] / "README.md"


def test_the_readme_has_code_and_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what a block writes stays out of the tree
    blocks = list(python_blocks(README.read_text(encoding="utf-8")))
    assert blocks, "README.md has no ```python block"
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
