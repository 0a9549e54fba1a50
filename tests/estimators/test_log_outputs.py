"""predict_log_proba: the logarithms of predict_proba, exact where those are rounded."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from cofire import SparseMLPClassifier
from helpers import naive
from helpers.estimator_cases import classes, labels_of_columns, small


def scores(network, X):
    """What the last layer says before softmax or sigmoid, in float64."""
    x = X.astype(np.float64).T
    for i, layer in enumerate(network.layers):
        x = naive.to_dense(layer).astype(np.float64) @ x + layer.bias[:, None]
        if i < len(network.layers) - 1:
            x = np.maximum(x, 0)
    return x.T


def far_out(model, factor):
    """Make a model very sure of itself."""
    for network in model.networks_:
        network.layers[-1].weights[:] *= factor
        network.layers[-1].bias[:] *= factor
    return model


@pytest.mark.parametrize("several", [1, 3])
@pytest.mark.parametrize("multi_label", [False, True])
def test_it_is_the_logarithm_of_the_probabilities(several, multi_label):
    X, y = classes()
    y = labels_of_columns(X) if multi_label else y
    model = small(n_networks=several, max_iter=8).fit(X, y)
    logs = model.predict_log_proba(X)
    assert logs.dtype == np.float32
    np.testing.assert_allclose(logs, np.log(model.predict_proba(X)), rtol=1e-8)


@pytest.mark.parametrize("several", [1, 3])
@pytest.mark.parametrize("multi_label", [False, True])
def test_it_is_exact_where_probabilities_are_rounded(several, multi_label):
    X, y = classes()
    y = labels_of_columns(X) if multi_label else y
    how = {"standardize": False, "activation": "relu"}
    model = far_out(small(n_networks=several, **how).fit(X, y), 2000)
    logs = model.predict_log_proba(X)
    each = [scores(network, np.asarray(X, np.float32)) for network in model.networks_]
    if multi_label:
        naive_logs = [
            np.where(z > -30, np.log(expit(np.maximum(z, -30))), z) for z in each
        ]
    else:
        naive_logs = [log_softmax(z, axis=1) for z in each]
    top = np.max(naive_logs, axis=0)
    expected = top + np.log(np.mean(np.exp(np.array(naive_logs) - top), axis=0))
    assert (expected < -200).any() and np.isfinite(logs).all()
    np.testing.assert_allclose(logs, expected, rtol=1e-4, atol=1e-4)
    assert (np.log(model.predict_proba(X)).min() > -100) and logs.min() < -200


def test_an_estimator_that_is_not_fitted_says_so():
    with pytest.raises(Exception, match="not fitted yet"):
        SparseMLPClassifier().predict_log_proba([[0.0]])
