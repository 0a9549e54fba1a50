"""Ctrl-C ends a long native call within a second, between two steps."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from cofire import engine
from engine_cases import Case, random_network
from engine_checks import all_bits

# ---- in a process of its own ---------------------------------------------------------


def ends_early(call):
    """Do what takes long; say when it starts and when an interrupt came through."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells turn it off
    sys.stdout.write("started\n")
    sys.stdout.flush()
    try:
        call()
    except KeyboardInterrupt:
        sys.stdout.write("interrupted\n")
        sys.stdout.flush()


def train_long(optimizer, batch_size, n_threads):
    """Train for a minute or so; then the network must be that of some whole steps."""
    case = Case.random(
        0,
        sizes=(300, 300, 10),
        densities=[1.0, 1.0],
        optimizer=optimizer,
        batch_size=batch_size,
        n_used=1000,
    )
    start, started = case.network.copy(), deepcopy(case.optimizer)
    case.order = np.resize(case.order, 4_000_000)

    def train():
        engine.train_epoch(
            case.network,
            case.optimizer,
            case.samples.rows,
            case.targets,
            order=case.order,
            batch_size=batch_size,
            drop_last=True,
            n_threads=n_threads,
        )

    ends_early(train)
    case.network.check()
    n_steps = case.optimizer.steps_done
    after = all_bits(case.network, case.optimizer)
    case.network, case.optimizer = start, started
    # One row more, which is dropped: one batch that holds all rows is summed otherwise.
    case.order = case.order[: n_steps * batch_size + 1]
    if n_steps > 0:
        train()
    assert all_bits(case.network, case.optimizer) == after
    sys.stdout.write(f"{n_steps} steps\n")


def predict_long(n_threads):
    """Predict 400,000 empty rows with a million connections each."""
    network = random_network(
        np.random.default_rng(0), (1000, 1000, 1), densities=[1, 1]
    )
    rows = engine.Rows(scipy.sparse.csr_array((400_000, 1000), dtype=np.float32))
    ends_early(lambda: engine.predict(network, rows, n_threads=n_threads))


# ---- and its parent ------------------------------------------------------------------


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
    """Run a call of this file in a process, interrupt it, return what it says then."""
    child = subprocess.Popen(
        [sys.executable, "-c", f"import test_engine_interrupt as t; t.{call}"],
        cwd=Path(__file__).parent,
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
