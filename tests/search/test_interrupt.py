"""Ctrl-C ends a long search before it has found anything.

How soon, in seconds, is measured by `make reliability`.
"""

import _thread
import threading
from contextlib import contextmanager
from functools import partial
from itertools import islice

import pytest

from cofire.engine import _native
from cofire.search import Linear, Screened
from helpers.search_cases import wide_case
from helpers.similarity_cases import pairs


@pytest.fixture
def results(monkeypatch):
    """What native searches return; an interrupted one returns nothing."""
    found = []
    for name in ("best_pairs", "screened_pairs", "hashed_pairs"):
        native = getattr(_native, name)

        def spy(native=native, **arguments):
            # In C throughout: an interrupt that no search saw comes only behind it.
            found.extend(islice(iter(partial(native, **arguments), None), 1))
            return found[-1]

        monkeypatch.setattr(_native, name, spy)
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


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("similarity", [Screened(1.0), Linear(tables=5000)], ids=repr)
def test_an_interrupt_ends_a_search_before_its_end(similarity, n_threads, results):
    case = wide_case(7000, 400_000)
    case.n_wanted = [70_000]
    search = pairs(case, n_threads=n_threads)
    with interrupted_soon():
        similarity.find(search, None, None)
    assert results == []


@pytest.mark.parametrize("score", ["cosine", "gradient"])
def test_an_interrupt_ends_the_exact_search_before_its_end(score, results):
    case = wide_case(2000, 400_000)
    case.score = score
    with interrupted_soon():
        case.search(2)
    assert results == []


def test_a_search_that_is_not_interrupted_returns_what_it_found(results):
    case = wide_case(20, 100)
    case.search()
    assert [len(pairs) for pairs in results[0].pairs] == case.n_wanted
