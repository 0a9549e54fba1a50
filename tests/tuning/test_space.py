"""The space: what is open, the recipe in it, and settings that can be typed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import SparseMLPClassifier, SparseMLPRegressor
from cofire.methods import METHODS
from cofire.topology.density import connections_per_layer
from cofire.tuning.space import Space, _rounded

NUMBERS = ("epsilon", "learning_rate_init", "alpha", "input_dropout")


def space(estimator=None, n_rows=400, n_pieces=4):
    return Space.around(estimator or SparseMLPClassifier(), n_rows, n_pieces)


def points(of):
    """Any point of a space."""
    return st.fixed_dictionaries(
        {
            name: st.integers(int(r.low), int(r.high))
            if r.whole
            else st.floats(r.low, r.high)
            for name, r in of.ranges.items()
        }
    )


@pytest.mark.parametrize("kind", [SparseMLPClassifier, SparseMLPRegressor])
@pytest.mark.parametrize("n_rows", [20, 3000, 10**6])
def test_the_recipe_lies_within_every_range(kind, n_rows):
    found = space(kind(), n_rows)
    assert found.ranges.keys() == {"width", "layers", "pieces", *NUMBERS}
    for name, own in found.ranges.items():
        assert own.low <= found.default[name] <= own.high
    assert found.params({}) == found.default


@given(st.data())
def test_settings_lead_back_to_their_point_and_estimators_take_them(data):
    found = space()
    settings = found.settings(data.draw(points(found)))
    again = found.settings(found.params(settings))
    assert again == settings
    estimator = SparseMLPClassifier().set_params(**settings)
    assert len(estimator.hidden_layer_sizes) in (1, 2, 3)
    for name in NUMBERS:
        assert settings[name] == float(f"{settings[name]:.3g}")


@pytest.mark.parametrize(
    ("given_by_user", "closed"),
    [
        ({"hidden_layer_sizes": (9,)}, {"width", "layers"}),
        ({"hidden_layer_sizes": ()}, {"width", "layers"}),
        ({"epsilon": 2}, {"epsilon"}),
        ({"density": 0.1}, {"epsilon"}),
        ({"method": "dense"}, {"epsilon"}),
        ({"method": METHODS["dense"]()}, {"epsilon"}),
        ({"alpha": 0.1, "input_dropout": 0.0}, {"alpha", "input_dropout"}),
        ({"n_pieces": 3}, {"pieces"}),
        ({"momentum": 0.5}, set()),
    ],
)
def test_what_the_user_has_set_is_not_searched(given_by_user, closed):
    every = space().ranges.keys()
    assert space(SparseMLPClassifier(**given_by_user)).ranges.keys() == every - closed


def test_pieces_are_no_question_where_there_are_none():
    assert "pieces" not in space(n_pieces=0).ranges


def test_nothing_left_to_search_is_told():
    every = {"hidden_layer_sizes": 5, "epsilon": 1, "learning_rate_init": 0.1}
    fixed = SparseMLPClassifier(**every, alpha=0, input_dropout=0, n_pieces=0)
    with pytest.raises(ValueError, match=r"estimator: every parameter .* at its def"):
        space(fixed)


@given(st.integers(1, 10**6), st.floats(0.3, 9), st.integers(12, 400))
def test_at_most_so_many_connections_are_allowed(most, epsilon, width):
    settings = {"epsilon": epsilon, "hidden_layer_sizes": [width, width]}
    own = space().within(settings, most, [30, 200, 200, 2])
    layers = np.array([30, width, width, 2])
    ends = layers[:-1] + layers[1:]
    few = own["epsilon"] * ends.min() < 1.01  # one connection per layer there must be
    assert few or own["epsilon"] * ends.sum() <= most * (1 + 1e-9)
    assert own["epsilon"] <= epsilon
    assert 0 not in connections_per_layer(layers, own["epsilon"])
    assert space().within(settings, None, [30, 200, 200, 2]) == settings


@given(st.floats(1e-9, 1e9))
def test_rounding_keeps_three_digits(value):
    assert _rounded(value) == pytest.approx(value, rel=0.005)
    assert _rounded(value) == float(f"{_rounded(value):.3g}")
