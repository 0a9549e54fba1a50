"""The same bits for any number of threads, and for several trainings at once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import engine
from helpers import processes
from helpers.engine_cases import (
    OPTIMIZERS,
    ROW_KINDS,
    Case,
    Samples,
    cases,
    examples,
    random_network,
    wide_case,
)
from helpers.engine_checks import assert_same_bits

N_THREADS = (2, 3, 4, 7, 8, 16)


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("batch_size", [1, 7, 64, 65, 100, 129, 200, 600, 2000])
def test_any_number_of_threads_gives_the_same_bits(batch_size, kind):
    n_used = 2 * batch_size + batch_size // 2
    case = wide_case(batch_size, kind=kind, batch_size=batch_size, n_used=n_used)
    assert sum(layer.nnz for layer in case.network.layers) > 16384
    alone = case.train()
    for n_threads in N_THREADS:
        assert_same_bits(case.train(n_threads=n_threads), alone)


@examples(60)
@given(case=cases(), n_threads=st.sampled_from(N_THREADS))
def test_drawn_networks_have_the_same_bits_for_any_number_of_threads(case, n_threads):
    assert_same_bits(case.train(n_threads=n_threads), case.train())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("output", ["softmax", "sigmoid", "identity"])
def test_every_optimizer_and_loss_has_the_same_bits(output, optimizer):
    case = wide_case(
        1,
        output=output,
        optimizer=optimizer,
        batch_size=150,
        n_used=400,
        weighted=True,
        moving=True,
    )
    alone = case.train(n_epochs=2)
    for n_threads in (2, 5):
        assert_same_bits(case.train(n_epochs=2, n_threads=n_threads), alone)


def test_many_short_steps_have_the_same_bits_every_time():
    """Threads that meet two thousand times: a race would show as other bits."""
    case = Case.random(3, sizes=(30, 40, 4), batch_size=33, n_used=66_000)
    alone = case.train()
    assert alone[2].n_steps == 2000
    for n_threads in (2, 2, 3):
        assert_same_bits(case.train(n_threads=n_threads), alone)


def test_two_networks_trained_at_once_are_each_as_if_alone():
    pair = [wide_case(seed, batch_size=100, n_used=2000) for seed in (1, 2)]
    expected = [case.train() for case in pair]
    with ThreadPoolExecutor(2) as pool:
        for n_threads in (1, 2):
            at_once = pool.map(lambda case, n=n_threads: case.train(3, n), pair)
            for trained, case in zip(at_once, pair, strict=True):
                assert_same_bits(trained, case.train(3))
            once = pool.map(lambda case, n=n_threads: case.train(1, n), pair)
            for trained, alone in zip(once, expected, strict=True):
                assert_same_bits(trained, alone)


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("n_rows", [1, 9, 1023, 1025, 5000])
def test_predictions_have_the_same_bits_for_any_number_of_threads(n_rows, kind):
    rng = np.random.default_rng(n_rows)
    network = random_network(rng, (24, 30, 4), activation="tanh")
    rows = Samples.random(rng, kind, n_rows, 24).rows
    alone = engine.predict(network, rows)
    for n_threads in N_THREADS:
        several = engine.predict(network, rows, n_threads=n_threads)
        assert several.tobytes() == alone.tobytes()


DAEMONS = """
import sys, threading, time
from cofire import engine
from helpers.engine_cases import wide_case

def predict(case):
    while True:
        engine.predict(case.network, case.samples.rows, n_threads=2)

class Leisurely:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

for n_used in (2000, 2000, 40_000, 40_000):  # the long ones ask for signals meanwhile
    case = wide_case(0, n_used=n_used)
    threading.Thread(target=predict, args=(case,), daemon=True).start()
time.sleep(0.1)
sys.modules["leisurely"] = Leisurely()  # the end of Python takes a while
"""


def test_threads_that_predict_on_do_not_disturb_the_end_of_python():
    done = subprocess.run(
        [sys.executable, "-c", DAEMONS],
        env=processes.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
