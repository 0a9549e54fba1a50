"""Each SIMD level that this machine has passes the tests of the arithmetic."""

import subprocess
import sys

import pytest

from cofire import engine
from helpers import processes, simd

ARITHMETIC = (
    "tests/engine/test_gradients.py",
    "tests/engine/test_predict.py",
    "tests/engine/test_epoch.py::test_all_batch_sizes_equal_the_oracle",
    "tests/engine/test_epoch.py::test_all_widths_of_rows_equal_the_oracle",
    "tests/engine/test_epoch.py::test_one_step_of_one_connection_by_hand",
    "tests/engine/test_threads.py::test_every_optimizer_and_loss_has_the_same_bits",
)


def run_at(level, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=processes.TESTS.parent,
        env=processes.environment(COFIRE_SIMD=level),
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("level", simd.LEVELS)
def test_the_arithmetic_is_right_at_this_level(level):
    if level == engine.simd_level():
        pytest.skip("the level that all other tests run at")
    simd.need(level)
    quietly = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
    tested = run_at(level, *quietly, *ARITHMETIC)
    assert tested.returncode == 0, tested.stdout[-5000:]


def test_an_unknown_level_is_refused_by_name():
    asked = run_at("x86_64_v9", "-c", simd.ASK)
    assert asked.returncode != 0
    assert "COFIRE_SIMD=x86_64_v9" in asked.stderr
    assert "baseline" in asked.stderr
