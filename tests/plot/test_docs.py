"""The code of docs/plots.md runs as printed, and its pictures are there and small."""

import re
from pathlib import Path

from cofire import plot
from helpers.markdown import python_blocks

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "plots.md").read_text(encoding="utf-8")


def test_the_code_runs_and_shows_every_display(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in python_blocks(TEXT):
        exec(compile(block, "plots.md", "exec"), namespace)
    assert set(plot.__all__) <= namespace.keys()
    assert (tmp_path / "pixels.gif").exists()


def test_the_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]+\]\((\S+)\)", TEXT)
    assert len(shown) == 9
    for name in shown:
        assert 1000 < (DOCS / name).stat().st_size < 250_000, name
