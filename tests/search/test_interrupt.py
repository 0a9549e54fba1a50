"""Ctrl-C ends a long search."""

import _thread
import threading
import time

import pytest

from cofire.search import Linear, Screened
from helpers.search_cases import wide_case
from helpers.similarity_cases import pairs


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("similarity", [Screened(1.0), Linear(tables=5000)], ids=repr)
def test_an_interrupt_ends_a_search_within_a_second(similarity, n_threads):
    case = wide_case(7000, 400_000)
    case.n_wanted, started = [70_000], []

    def interrupt():
        started.append(time.monotonic())
        _thread.interrupt_main()

    timer = threading.Timer(0.4, interrupt)
    search = pairs(case, n_threads=n_threads)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            similarity.find(search, None, None)
    finally:
        timer.cancel()
    assert time.monotonic() - started[0] < 1


@pytest.mark.parametrize("score", ["cosine", "gradient"])
def test_an_interrupt_ends_the_search_within_a_second(score):
    case = wide_case(2000, 400_000)
    case.score = score
    started = []

    def interrupt():
        started.append(time.monotonic())
        _thread.interrupt_main()

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        case.search(2)
    assert time.monotonic() - started[0] < 1
