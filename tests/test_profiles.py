import inspect

import pytest

from cofire import METHODS, SparseMLPClassifier, SparseMLPRegressor, profiles
from cofire.estimators.plan import check_parameters
from helpers.estimator_cases import classes

PROFILES = (profiles.MASKED, profiles.SPARSE)


@pytest.mark.parametrize("profile", [*PROFILES, profiles.HOUSE])
def test_a_profile_is_made_of_parameters(profile):
    known = inspect.signature(SparseMLPClassifier).parameters
    assert set(profile) < set(known)
    # What tells runs of one protocol apart is not in it.
    free = {"hidden_layer_sizes", "method", "epsilon", "random_state", "n_jobs"}
    assert not free & set(profile)


@pytest.mark.parametrize("profile", [*PROFILES, profiles.HOUSE])
def test_a_profile_can_be_made_to_fit_the_regressor(profile):
    X, y = classes(n=150)
    how = profiles.for_regressor(profile) | {"max_iter": 2}
    model = SparseMLPRegressor((8,), method="set", random_state=0, **how)
    model.fit(X[20:], y[20:], X_val=X[:20], y_val=y[:20])
    assert len(model.history_) == 2


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_trains_by_our_protocol(name):
    X, y = classes(n=150)
    how = profiles.HOUSE | {"max_iter": 3}
    model = SparseMLPClassifier((10, 8), method=name, random_state=0, **how)
    model.fit(X[30:], y[30:], X_val=X[:30], y_val=y[:30])
    assert len(model.history_) == 3


def test_the_two_protocols_differ_where_the_programs_did():
    masked, sparse = PROFILES
    differ = {name for name in masked if masked[name] != sparse[name]}
    assert set(masked) == set(sparse)
    assert differ == {"init", "nesterovs_momentum", "shuffle", "method_options"}
    assert masked["max_iter"] == 500 and masked["batch_size"] == 100


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("profile", PROFILES)
def test_every_method_trains_by_either_protocol(profile, name):
    X, y = classes(n=150)
    model = SparseMLPClassifier(
        (10, 8), method=name, epsilon=1, random_state=0, **profile | {"max_iter": 3}
    ).fit(X[30:], y[30:], X_val=X[:30], y_val=y[:30])
    method = check_parameters(model)
    assert method.returning == profile["method_options"]["returning"]
    assert method.drop_rule == profile["method_options"]["drop_rule"]
    expected = profile["method_options"]["new_values"]
    assert method.new_values == ("zero" if name == "rigl" else expected)
    if not method.full:
        assert model.n_connections_ == 22 + 18 + 11
