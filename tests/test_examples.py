"""Every example runs as it is, in a folder of its own, and is short."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"export_torch": "torch"}
"""Packages that are not installed with `test`: these run with `make test-torch`."""
WRITTEN = {
    "plot_learning": ["learning.png", "rewiring.png"],
    "input_layer_gif": ["input_layer.gif", "input_layer.png"],
}


def test_there_are_examples():
    assert WRITTEN.keys() <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_without_a_warning(path, tmp_path):
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason="make test-torch")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    for name in WRITTEN.get(path.stem, []):
        assert (tmp_path / name).stat().st_size > 1000, name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_says_what_it_shows_and_is_short(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert len(text.splitlines()) <= 40
