"""Learning rates from far too small to far too large: numbers, or a word about it."""

import warnings
from collections import Counter

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import cofire
from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor
from cofire.errors import DivergenceError
from helpers.estimator_cases import ESTIMATORS, data_for, network_bits, small
from helpers.reliability.figures import report

RATES = [10.0**power for power in range(-8, 7)]
SOLVERS = {
    "sgd": {},
    "sgd without momentum": {"momentum": 0.0},
    "sgd without Nesterov": {"nesterovs_momentum": False},
    "adam": {"solver": "adam"},
}
SCALES = [1e-6, 1.0, 1e6]
# A fit that did not learn says so: a word about it is what is asked for.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The model did not learn:sklearn.exceptions.ConvergenceWarning"
)


def outcome(of, scale, file=None, **how):
    """How a fit ended, "finite" or "diverged"; either way it left finite numbers.

    A loss that exploded and is still finite is warned of.
    """
    X, y = data_for(of, n=60, n_features=8)
    X = X * np.float32(scale)
    model = small(of, max_iter=5, n_jobs=1, **how)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
            ended = "finite"
        except DivergenceError:
            ended = "diverged"
    assert all(issubclass(w.category, ConvergenceWarning) for w in heard)
    if ended == "finite":
        first, *_, last = model.loss_curve_
        assert len(heard) == (first > 1e-3 and last > 2 * first)
    assert all(np.isfinite(part).all() for part in network_bits(model.network_))
    assert np.isfinite(model.loss_curve_).all()
    model.network_.check()
    outputs = outputs_of(model, X)
    assert np.isfinite(outputs).all()
    if file is not None:
        model.save(file)
        assert np.array_equal(outputs_of(cofire.load(file), X), outputs)
    return ended


def outputs_of(model, X):
    if isinstance(model, SparseMLPClassifier):
        return model.predict_proba(X)
    return model.predict(X)


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("method", "scale"), [("ctre_sim", 1.0), ("set", 1e6)])
def test_learning_rates(of, solver, method, scale):
    ends = {
        rate: outcome(
            of, scale, method=method, learning_rate_init=rate, **SOLVERS[solver]
        )
        for rate in RATES
    }
    assert ends[RATES[0]] == "finite" or scale > 1
    assert solver == "adam" or ends[RATES[-1]] == "diverged"


@pytest.mark.slow
def test_learning_rates_with_every_method(tmp_path):
    ends, wrong = Counter(), []
    for of in ESTIMATORS:
        for method in sorted(METHODS):
            for scale in SCALES:
                for solver, settings in SOLVERS.items():
                    for rate in RATES:
                        how = {"method": method, "learning_rate_init": rate}
                        file = tmp_path / "model.cofire"
                        try:
                            ends[outcome(of, scale, file, **how, **settings)] += 1
                        except Exception as error:
                            case = f"{of.__name__}, {scale:g}, {solver}, {how}"
                            wrong.append(f"{case}: {type(error).__name__} {error}")
    report(
        "learning rates 1e-8 to 1e6 x solvers x methods x scales of X",
        "a finite model, or DivergenceError and the last finite one",
        f"{ends.total() + len(wrong)} fits: {ends['finite']} finite, "
        f"{ends['diverged']} DivergenceError, {len(wrong)} wrong",
        met=not wrong,
    )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_what_diverged_can_go_on_with_another_rate(scale):
    X, y = data_for(SparseMLPRegressor, n=60, n_features=8)
    X = X * np.float32(scale)
    model = small(SparseMLPRegressor, n_jobs=1, learning_rate_init=1e6)
    with pytest.raises(DivergenceError):
        model.set_params(max_iter=50).fit(X, y)
    model.set_params(learning_rate_init=1e-30).partial_fit(X, y)
    assert np.isfinite(model.predict(X)).all()
