"""Ctrl-C ends a long native call within a second, between two steps."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from helpers import processes


@contextmanager
def patience(child, seconds):
    """Wait for what the child says, but no longer than that: then it is ended."""
    timer = threading.Timer(seconds, child.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def interrupt(call):
    """Run a call of long_calls in a process, interrupt it, return what it says then."""
    child = subprocess.Popen(
        [sys.executable, "-c", f"from helpers.long_calls import *; {call}"],
        env=processes.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        with patience(child, seconds=30):
            assert child.stdout.readline() == "started\n", child.stderr.read()
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        with patience(child, seconds=1):
            in_time = child.stdout.readline() == "interrupted\n"
        with patience(child, seconds=30):
            said, error = child.communicate()
    assert in_time, error
    assert child.returncode == 0, error
    return said


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("optimizer", ["nesterov", "adam"])
def test_an_interrupted_epoch_is_the_steps_it_took(optimizer, n_threads):
    said = interrupt(f"train_long({optimizer!r}, 200, {n_threads})")
    assert int(said.split()[0]) > 0


def test_a_batch_of_all_rows_can_be_interrupted():
    interrupt("train_long('nesterov', 4_000_000, 1)")


def test_a_long_prediction_can_be_interrupted():
    interrupt("predict_long(1)")
