"""joblib's backends, for those who set one: same bits, one thread per fit."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

from cofire import SparseMLPClassifier
from helpers.clusters import threads_of_a_fit
from helpers.needs import needs_package

distributed = needs_package("distributed", "pip install 'cofire[cluster]'")


@pytest.fixture(scope="module", params=["loky", "threading", "dask"])
def backend(request):
    """A backend that is active, with two workers."""
    if request.param != "dask":
        with joblib.parallel_config(request.param, n_jobs=2):
            yield request.param
        return
    address = request.getfixturevalue("cluster").address
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        with joblib.parallel_config("dask", client=client, wait_for_workers_timeout=60):
            yield "dask"


def test_fits_of_one_search_take_one_thread_each(backend):
    calls = (joblib.delayed(threads_of_a_fit)(i) for i in range(4))
    assert joblib.Parallel(n_jobs=2)(calls) == [1] * 4


def test_a_fit_by_itself_takes_all_threads(backend):
    assert threads_of_a_fit() == 4


def test_searches_of_scikit_learn_find_what_they_find_here(backend):
    X, y = load_iris(return_X_y=True)
    model = SparseMLPClassifier(max_iter=3, n_networks=2, random_state=0)
    found = GridSearchCV(model, {"epsilon": [2, 5]}, cv=3).fit(X, y)
    scores = cross_val_score(model, X, y, cv=3)
    with joblib.parallel_config("sequential"):
        here = GridSearchCV(model, {"epsilon": [2, 5]}, cv=3).fit(X, y)
        assert np.array_equal(scores, cross_val_score(model, X, y, cv=3))
    for name in ("split0_test_score", "split1_test_score", "mean_test_score"):
        assert np.array_equal(found.cv_results_[name], here.cv_results_[name])
    assert np.array_equal(found.predict_proba(X), here.predict_proba(X))
