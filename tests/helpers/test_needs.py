"""A missing tool skips a test, but in CI fails it; one that is there is returned."""

import shutil

import numpy as np
import pytest

from helpers.needs import needs_package, needs_tool

SKIPPED, FAILED = pytest.skip.Exception, pytest.fail.Exception


@pytest.mark.parametrize(
    ("ci", "outcome"), [(None, SKIPPED), ("", SKIPPED), ("true", FAILED)]
)
def test_what_is_missing_skips_or_fails_with_advice(ci, outcome, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    if ci is not None:
        monkeypatch.setenv("CI", ci)
    for need in (needs_tool, needs_package):
        with pytest.raises(outcome, match="needs nothing_like_it, .*: pip install it"):
            need("nothing_like_it", "pip install it")


def test_what_is_there_is_returned():
    assert needs_tool("nothing_like_it", "", "sh") == shutil.which("sh")
    assert needs_package("numpy", "") is np
