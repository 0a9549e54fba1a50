"""Parameters at and beyond their limits: refused by name and at once, or used."""

import pickle
import tracemalloc

import numpy as np
import pytest

from cofire import Augmentation, SparseMLPClassifier
from cofire.callbacks import Checkpoint
from cofire.core.machine import physical_memory
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    network_bits,
    same,
    small,
)

NAN, INF, HUGE = float("nan"), float("inf"), 10**400

# Beyond what test_bad_input.py has: huge, not finite, nearly right, of another type.
WRONG = {
    "hidden_layer_sizes": [
        *(2**31, 2**40, 2**62, 2**63, 10**30, (2**31, 5), (5, 2**62, 2**62)),
        *((NAN,), (INF,), (1e3,), (True,), {5}, {5: 1}, b"5", np.array([[3]])),
    ],
    "activation": [b"relu", "", ["relu"], np.array("relu")],
    "method": ["", b"set", {"set"}],
    "method_options": [[], {1: 2}, "patience"],
    "n_networks": [INF, -INF, 2.0, "1", 1j, np.array([2])],
    "n_pieces": [INF, -INF, 2.0, -HUGE, "1", 1j, np.array([2])],
    "epsilon": [INF, -INF, 5e-324, 1e-300, 1j, np.array([1.0]), np.float32("nan")],
    "density": [INF, -INF, 5e-324, 1 + 1e-9, 1j, np.array(0.5)],
    "init": ["", b"normal", None],
    "drop_fraction": [INF, -INF, 1 - 1e-17, 1j],
    "drop_schedule": ["", b"cosine", ["cosine"]],
    "update_interval": [INF, 1e3, -HUGE, "", "Epoch", b"epoch", np.array([100])],
    "update_stop": [INF, -INF, 1 + 1e-9, -5e-324, HUGE, 1j, np.array([0.5])],
    "solver": ["", "SGD ", b"sgd"],
    "alpha": [INF, 1e300, 1e39, HUGE, 1j, "0"],
    "batch_size": [INF, NAN, 1.0, 1e3, "32", np.float32(5)],
    "last_batch": ["", None, b"drop"],
    "learning_rate": [{0: INF}, {0: 1e300}, {0: HUGE}, {"0": 1.0}, {None: 1.0}, [0.1]],
    "learning_rate_init": [INF, 1e300, 1e39, HUGE, 1j],
    "momentum": [INF, NAN, 1 + 1e-15, HUGE],
    "nesterovs_momentum": [2, None],
    "beta_1": [NAN, INF, 1 - 1e-12, HUGE],
    "beta_2": [NAN, INF, 1 - 1e-12, HUGE],
    "adam_epsilon": [NAN, INF, 5e-324, 1e-300, 1e-46, 1e39, 1e300, HUGE],
    "max_iter": [INF, NAN, 1e3, "10"],
    "shuffle": [2, 0.0],
    "early_stopping": [2, "yes"],
    "validation_fraction": [NAN, INF, 1 - 1e-17],
    "n_iter_no_change": [INF, NAN, "40"],
    "restore_best": [2],
    "warm_start": [2],
    "random_state": [2**32, 2**70, NAN, np.random.default_rng(0), [1, 2]],
    "n_jobs": [NAN, INF, 1e3],
    "similarity": ["", 3, b"exact"],
    "checkpoint": [3, b"folder", ["a"], Checkpoint("a"), "", "a\0b"],
    "augmentation": [Augmentation(2**40, 1), Augmentation(2**31, 2**31, 2**31), {}],
    "input_dropout": [INF, -INF, 1 - 1e-17, 1j, HUGE, np.array([0.5])],
    "standardize": [NAN, "True", np.array([True, False])],
    "callbacks": ["abc", [None]],
    "verbose": [NAN, None],
}
# At the edge of what is right: the same bits as the plain value gives.
RIGHT = {
    "hidden_layer_sizes": [((5, 6), np.array([5, 6], np.uint8)), ((7,), np.int16(7))],
    "epsilon": [(2.0, np.float32(2)), (2.0, 2), (1e308, 10**300)],
    "n_networks": [(2, np.int8(2))],
    "n_pieces": [(2, np.int8(2)), (10**9, HUGE)],
    "update_interval": [(3, np.uint8(3)), (10**9, HUGE), ("epoch", np.str_("epoch"))],
    "update_stop": [(0.5, np.float32(0.5)), (1.0, 1), (0.0, 5e-324)],
    "density": [(0.5, np.float64(0.5)), (1.0, 1)],
    "drop_fraction": [(0.5, np.float32(0.5)), (0.0, 0), (0.0, 5e-324)],
    "input_dropout": [(0.5, np.float32(0.5)), (0.0, 0), (0.0, 5e-324)],
    "alpha": [(0.25, np.float32(0.25)), (0.0, 0), (0.0, 5e-324)],
    "batch_size": [(5, np.int8(5)), (150, 2**31), (150, 2**63), (150, HUGE)],
    "learning_rate_init": [(0.125, np.float16(0.125)), (1.0, 1)],
    "learning_rate": [("constant", {}), ({1: 0.5}, {np.int8(1): np.float32(0.5)})],
    "momentum": [(0.5, np.float32(0.5)), (1.0, 1)],
    "n_iter_no_change": [(1000, 2**70)],
    "max_iter": [(2, np.uint8(2))],
    "random_state": [(3, np.int64(3))],
    "n_jobs": [(1, -(2**70)), (1, np.int64(2)), (1, 64)],
}


def bits(of, **how):
    X, y = data_for(of)
    model = small(of, **{"max_iter": 2, "n_jobs": 1} | how).fit(X, y)
    return network_bits(model.network_)


@pytest.mark.filterwarnings("ignore:Every layer is full")
@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("name", RIGHT)
def test_a_value_of_another_type(of, name):
    for plain, other in RIGHT[name]:
        assert same(bits(of, **{name: plain}), bits(of, **{name: other})), other


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("name", WRONG)
def test_a_value_beyond_all_limits(of, name):
    X, y = data_for(of)
    fitted = small(of, max_iter=2, n_jobs=1).fit(X, y)
    before = fitted.predict(X)
    for value in WRONG[name]:
        fitted.set_params(**{name: value})
        for call in (fitted.fit, small(of, **{name: value}).fit, fitted.partial_fit):
            if name in ("epsilon", "density") and call == fitted.partial_fit:
                continue  # how many connections there are was settled before
            tracemalloc.start()
            with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
                call(X, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2**22, value
    fitted.set_params(**{name: getattr(small(of), name), "n_jobs": 1})
    assert np.array_equal(fitted.predict(X), before)


def test_every_parameter_is_there():
    parameters = SparseMLPClassifier().get_params().keys()
    assert WRONG.keys() == parameters - {"class_weight", "label_smoothing"}


TOO_LARGE = [
    {"hidden_layer_sizes": (2**31 - 1,) * 3},
    {"hidden_layer_sizes": (2**31 - 1,), "epsilon": 1e300},
    {"hidden_layer_sizes": (2**30, 2**30), "method": "dense"},
    {"hidden_layer_sizes": (2**30, 2**30), "method": "snip"},
    {"hidden_layer_sizes": (2**30, 2**30), "density": 1.0},
    {"n_networks": 2**40},
    {"n_networks": HUGE},
]


@pytest.mark.parametrize("how", TOO_LARGE, ids=str)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_network_that_cannot_be(of, how):
    """Legal numbers, but no machine has the memory: said before it is asked for."""
    X, y = data_for(of)
    model = small(of, n_jobs=1).fit(X, y)
    model.set_params(**how)
    before = pickle.dumps(vars(model))
    tracemalloc.start()
    with pytest.raises((MemoryError, ValueError), match="epsilon|hidden_layer_sizes"):
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22
    assert pickle.dumps(vars(model)) == before


def test_a_wide_layer_with_few_connections():
    """Legal and possible: memory follows connections and neurons, not their product."""
    X, y = classes()
    model = small(
        hidden_layer_sizes=(10**6,), epsilon=1e-3, method="static", max_iter=1
    )
    assert model.fit(X, y).n_connections_ == 2000
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_memory_of_this_machine_is_known():
    assert 2**26 < physical_memory() <= 2**62
