"""Ctrl-C ends a long search before it has found anything.

How soon, in seconds, is measured by `make reliability`.
"""

import _thread
import threading
from contextlib import contextmanager

import pytest

from cofire import engine
from cofire.search import Linear, Screened
from helpers.search_cases import wide_case
from helpers.similarity_cases import pairs


@pytest.fixture
def rooms(monkeypatch):
    """The arrays for what searches find, full of -1 until they have found it."""
    found, arguments = [], engine.PairSearch.arguments

    def spy(search):
        places, told = arguments(search)
        for room in places:
            room[:] = -1
        found.extend(places)
        return places, told

    monkeypatch.setattr(engine.PairSearch, "arguments", spy)
    return found


@contextmanager
def interrupted_soon():
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()


def assert_nothing_was_found(rooms):
    """A search that had run to its end would have filled them."""
    assert len(rooms) == 1 and len(rooms[0]) > 0
    assert (rooms[0] == -1).all()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("similarity", [Screened(1.0), Linear(tables=5000)], ids=repr)
def test_an_interrupt_ends_a_search_before_its_end(similarity, n_threads, rooms):
    case = wide_case(7000, 400_000)
    case.n_wanted = [70_000]
    search = pairs(case, n_threads=n_threads)
    with interrupted_soon():
        similarity.find(search, None, None)
    assert_nothing_was_found(rooms)


@pytest.mark.parametrize("score", ["cosine", "gradient"])
def test_an_interrupt_ends_the_exact_search_before_its_end(score, rooms):
    case = wide_case(2000, 400_000)
    case.score = score
    with interrupted_soon():
        case.search(2)
    assert_nothing_was_found(rooms)


def test_a_search_that_is_not_interrupted_fills_its_rooms(rooms):
    wide_case(20, 100).search()
    assert len(rooms) == 1 and (rooms[0] >= 0).all()
