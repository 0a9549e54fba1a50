"""SIMD levels: those that there are, and those that this machine has."""

import subprocess
import sys
from functools import cache

import pytest

from helpers import processes

LEVELS = ("baseline", "x86_64_v3", "x86_64_v4")
ASK = "from cofire import engine; print(engine.simd_level())"


@cache
def machine_has(level):
    """Whether this machine can run at a level; every machine has the baseline."""
    asked = subprocess.run(
        [sys.executable, "-c", ASK],
        env=processes.environment(COFIRE_SIMD=level),
        capture_output=True,
        text=True,
    )
    if asked.returncode != 0:
        assert "this machine has no such level" in asked.stderr, asked.stderr
        assert level != "baseline", asked.stderr
        return False
    assert asked.stdout.strip() == level
    return True


def need(level):
    """Skip the test on a machine without this level."""
    if not machine_has(level):
        pytest.skip(f"this machine has no {level}")
