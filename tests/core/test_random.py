import itertools

import numpy as np
import pytest

from cofire.core.random import PURPOSES, stream, uniform


def test_every_key_has_its_own_stream_and_gives_it_again():
    keys = list(itertools.product([0, 1, 2**31 - 1], PURPOSES, [0, 1], [0, 1, 500]))
    first = [stream(*key).integers(2**63) for key in keys]
    again = [stream(*key).integers(2**63) for key in keys]
    assert first == again
    assert len(set(first)) == len(keys)


def test_streams_do_not_touch_the_global_state():
    np.random.seed(3)
    before = np.random.get_state()[1].copy()
    stream(0, "grow").random(10)
    assert np.array_equal(np.random.get_state()[1], before)


def test_numpy_integers_are_the_same_key():
    a = stream(np.int32(5), "grow", np.int64(1), np.uint8(200))
    assert a.integers(2**63) == stream(5, "grow", 1, 200).integers(2**63)


def test_the_first_numbers_of_a_stream_are_these():
    # Checkpoints resume by these bits: a change of the keys must not go unseen.
    bits = stream(7, "grow", layer=1, epoch=3).bit_generator.random_raw(2)
    key = 7 | 4 << 32 | 1 << 64 | 3 << 96
    assert bits.tolist() == np.random.Philox(key=key).random_raw(2).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "grwo"), "Did you mean 'grow'"),
        ((-1, "grow"), "seed"),
        ((2**31, "grow"), "seed"),
        ((0, "grow", 2**32), "layer"),
        ((0, "grow", 0, -1), "epoch"),
    ],
)
def test_stream_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        stream(*arguments)


def test_uniform_fills_its_interval_evenly():
    draws = uniform(20_000, np.random.default_rng(0))
    assert draws.dtype == np.float32
    assert np.abs(draws).max() <= 1
    counts = np.histogram(draws, bins=10, range=(-1, 1))[0]
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)
