import multiprocessing

import pytest
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor

from cofire.core.machine import available_cores, n_threads
from helpers.estimator_cases import classes, small


def test_none_means_every_core_this_process_may_use():
    assert n_threads(None) == available_cores()
    assert n_threads(-1) == available_cores()


def test_a_number_means_that_number():
    assert [n_threads(n) for n in (1, 2, 7)] == [1, 2, 7]


def test_negative_numbers_count_from_the_cores_but_never_below_one():
    assert n_threads(-2) == max(1, available_cores() - 1)
    assert n_threads(-1000) == 1


def test_zero_means_nothing():
    with pytest.raises(ValueError, match="n_jobs"):
        n_threads(0)


@pytest.fixture
def new_workers():
    """Workers of earlier tests leave when they were idle for 300 seconds: what they are
    given at that very moment is never done.
    """
    get_reusable_executor().shutdown(wait=True, kill_workers=True)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_none_means_one_inside_a_joblib_worker(backend, new_workers):
    asked = Parallel(n_jobs=2, backend=backend)(
        delayed(n_threads)(n) for n in (None, None, 3)
    )
    assert asked == [1, 1, 3]


def test_none_means_one_inside_a_child_process():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(n_threads, [None]) == 1


def test_a_fit_inside_a_worker_uses_one_thread():
    def threads():
        return small(max_iter=1).fit(*classes()).receipt_.threads

    in_workers = Parallel(n_jobs=2, backend="threading")(
        delayed(threads)() for _ in "ab"
    )
    assert in_workers == [1, 1]
    assert threads() == available_cores()
