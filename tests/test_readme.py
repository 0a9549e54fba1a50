"""The README's Python blocks run as printed, in order, in one namespace."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def python_blocks(text):
    """Yield each ```python block behind as many empty lines as stand before it.

    So a traceback names the line of the README.

    >>> list(python_blocks("Look:\\n```python\\n1 + 1\\n```\\n"))
    ['\\n\\n1 + 1\\n']
    """
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]


def test_the_readme_has_code_and_it_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what a block writes stays out of the tree
    blocks = list(python_blocks(README.read_text(encoding="utf-8")))
    assert blocks, "README.md has no ```python block"
    namespace = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
