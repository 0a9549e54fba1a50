"""Ctrl-C ends a long native call before its end, between two steps.

How soon, in seconds, is measured by `make reliability`.
"""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from helpers import processes

PATIENCE = 100  # seconds until a child that says nothing is ended


@contextmanager
def patience(child):
    """Wait for what the child says, but not for ever: then it is ended."""
    timer = threading.Timer(PATIENCE, child.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def interrupt(call):
    """Run a call of long_calls in a process, and interrupt it.

    Returns how much of it was done by then, and how much there was to do.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", f"from helpers.long_calls import *; {call}"],
        env=processes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child, patience(child):
        assert child.stdout.readline() == "started\n", child.stderr.read()
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n", child.stderr.read()
        said, error = child.communicate()
    assert child.returncode == 0, error
    n_done, _, n_all, *_ = said.split()
    return int(n_done), int(n_all)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("optimizer", ["nesterov", "adam"])
def test_an_interrupted_epoch_is_the_steps_it_took(optimizer, n_threads):
    n_done, n_all = interrupt(f"train_long({optimizer!r}, 200, {n_threads})")
    assert 0 < n_done < n_all


def test_a_batch_of_all_rows_can_be_interrupted():
    assert interrupt("train_long('nesterov', 4_000_000, 1)") == (0, 1)


def test_a_long_prediction_can_be_interrupted():
    n_done, n_all = interrupt("predict_long(1)")
    assert n_done < n_all
