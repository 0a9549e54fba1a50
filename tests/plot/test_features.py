"""Bars and images of features, degrees, the gate, scores against connections."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer

from cofire import SparseMLPClassifier
from cofire.methods.cofire import Cofire
from cofire.plot import (
    AccuracyConnectionsDisplay,
    ConnectivityDisplay,
    DegreeDisplay,
    GateDisplay,
    ImportancesDisplay,
)
from cofire.plot.look import STROKES


def bars(ax):
    return [patch.get_width() for patch in ax.patches]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


class Stub:
    feature_importances_ = np.array([0.1, 0.6, 0.3])
    feature_names_in_ = np.array(["a", "b", "c"])


def test_importances_are_bars_by_name_the_largest_first():
    display = ImportancesDisplay.from_estimator(Stub())
    assert bars(display.ax_) == [0.6, 0.3, 0.1]
    assert names(display.ax_) == ["b", "c", "a"]
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]  # first is on top
    assert [t.get_text() for t in display.ax_.texts] == ["0.600", "0.300", "0.100"]
    top = ImportancesDisplay.from_estimator(Stub(), top=2)
    assert bars(top.ax_) == [0.6, 0.3]
    assert "1 other feature has less" in top.ax_.get_title("left")


def test_importances_of_several_networks_have_means_and_spreads():
    rows = np.array([[0.0, 0.5, 0.1], [0.4, 0.7, 0.1]])
    display = ImportancesDisplay(rows).plot()
    assert bars(display.ax_) == pytest.approx([0.6, 0.2, 0.1])
    assert names(display.ax_) == ["feature 1", "feature 0", "feature 2"]
    (container,) = [c for c in display.ax_.containers if hasattr(c, "errorbar")]
    spread = container.errorbar.lines[2][0].get_segments()
    assert [s[:, 0].tolist() for s in spread] == [
        pytest.approx([0.5, 0.7]),
        pytest.approx([0.0, 0.4]),
        pytest.approx([0.1, 0.1]),
    ]


def test_importances_of_our_models_show_how_their_networks_differ():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc"))
    model = SparseMLPClassifier(random_state=0, epsilon=1).fit(X, X["b"] > 0)
    display = ImportancesDisplay.from_estimator(model)
    assert display.importances.shape == (4, 3)
    assert bars(display.ax_) == pytest.approx(sorted(model.feature_importances_)[::-1])
    assert names(display.ax_)[0] == "b"


def test_long_names_are_shortened_but_stay_apart():
    long = [f"a very long name of a feature, number {i} of many of them" for i in "123"]
    found = names(ImportancesDisplay([3, 2, 1], long).plot().ax_)
    assert len(set(found)) == 3 and max(map(len, found)) < len(long[0])
    for name, i in zip(found, "123", strict=True):
        assert f"{i} of many" in name
    assert names(ImportancesDisplay([1, 2], ["a", "b" * 80]).plot().ax_)[1] == "a"


def test_wrong_importances_are_refused():
    with pytest.raises(AttributeError, match=r"pass the last step, pipeline\[-1\]"):
        ImportancesDisplay.from_estimator(type("Pipeline", (), {})())
    with pytest.raises(AttributeError, match="Model has no feature_importances_"):
        ImportancesDisplay.from_estimator(type("Model", (), {})())
    with pytest.raises(ValueError, match="2 names for 3 importances"):
        ImportancesDisplay([1, 2, 3], ["a", "b"])
    with pytest.raises(ValueError, match="finite"):
        ImportancesDisplay([1, np.nan])
    with pytest.raises(ValueError, match="top: expected a number of features >= 1"):
        ImportancesDisplay([1.0]).plot(top=0)


# ---- connectivity --------------------------------------------------------------------


def dense_counts(model, strength=False):
    """Connections per input, by the dense matrix."""
    found = []
    for network in model.networks_:
        weights = network.layers[0].to_scipy().toarray()
        found.append(np.abs(weights).sum(0) if strength else (weights != 0).sum(0))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("strength", [False, True])
def test_connections_of_pixels_are_an_image(model, strength):
    display = ConnectivityDisplay.from_estimator(
        model, image_shape=(8, 8), strength=strength
    )
    (image,) = display.ax_.images
    expected = dense_counts(model, strength).reshape(8, 8)
    np.testing.assert_allclose(image.get_array(), expected, rtol=1e-5)
    label = display.figure_.axes[-1].get_ylabel()
    assert label == ("Sum of |weights|" if strength else "Connections") + " per pixel"


def test_colours_of_a_pixel_are_added_up():
    display = ConnectivityDisplay(np.arange(12), image_shape=(2, 2, 3)).plot()
    assert display.ax_.images[0].get_array().tolist() == [[3, 12], [21, 30]]
    with pytest.raises(ValueError, match="product of 12"):
        ConnectivityDisplay(np.arange(12), image_shape=(3, 3))


def test_many_features_are_a_strip_in_the_order_of_x(model):
    display = ConnectivityDisplay.from_estimator(model)
    (strip,) = display.ax_.patches
    assert strip.get_data().values == pytest.approx(dense_counts(model))
    assert display.ax_.get_xlim() == (-0.5, 63.5)


def test_inputs_count_for_the_feature_that_they_come_from():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    table = pd.DataFrame({"a": rng.normal(size=200), "colour": colour, "b": 1.0})
    table.loc[:20, "a"] = np.nan
    model = SparseMLPClassifier((20,), max_iter=2, n_networks=1, random_state=0)
    model.fit(table, colour == "red")
    inputs = dense_counts(model)
    assert model.input_names_[:3] == ["a", "b", "a missing"]
    of_a = inputs[0] + inputs[2] + inputs[6:].sum()  # missing, and pieces
    expected = {"a": of_a, "colour": inputs[3:6].sum(), "b": inputs[1]}
    display = ConnectivityDisplay.from_estimator(model)
    found = dict(zip(names(display.ax_), bars(display.ax_), strict=True))
    assert found == expected
    assert list(found.values()) == sorted(expected.values(), reverse=True)


# ---- degrees -------------------------------------------------------------------------


def test_degrees_count_arriving_and_leaving_connections(model):
    display = DegreeDisplay.from_estimator(model)
    assert len(display.axes_) == 3
    for i, (ax, (arriving, leaving)) in enumerate(
        zip(display.axes_, display.degrees, strict=True)
    ):
        dense = [net.layers[i].to_scipy().toarray() != 0 for net in model.networks_]
        assert arriving.tolist() == np.concatenate([d.sum(1) for d in dense]).tolist()
        assert leaving.tolist() == np.concatenate([d.sum(0) for d in dense]).tolist()
        outlines = [p.get_data() for p in ax.patches if not p.get_fill()]
        assert [o.values.sum() for o in outlines] == [len(arriving), len(leaving)]
        for outline, counts in zip(outlines, (arriving, leaving), strict=True):
            low, high = outline.edges[0], outline.edges[1]
            assert outline.values[0] == ((counts > low) & (counts < high)).sum()


# ---- the gate ------------------------------------------------------------------------


def test_the_gate_stands_beside_all_pairs_and_chance():
    X, y = load_breast_cancer(return_X_y=True)
    how = {"max_iter": 3, "n_networks": 1, "random_state": 0, "standardize": False}
    X = (X - X.mean(0)) / X.std(0)
    model = SparseMLPClassifier((50, 20), **how).fit(X, y)
    display = GateDisplay.from_estimator(model, X)
    first = model.network_.layers[0]
    above = np.maximum(X @ first.to_scipy().toarray().T + first.bias, 0)
    varies = above.std(axis=0) > 1e-9
    r = np.corrcoef(X.T, above[:, varies].T)[:30, 30:]
    z = np.abs(r) * np.sqrt(len(X))
    expected, _ = np.histogram(z, display.edges)
    assert np.abs(display.pairs - expected).sum() <= 4  # on an edge of a bin, rounded
    assert display.pairs.sum() == z.size and display.n_rows == len(X)
    linked = (first.to_scipy().toarray() != 0)[varies].T
    expected, _ = np.histogram(z[linked], display.edges)
    assert np.abs(display.connected - expected).sum() <= 4
    assert display.gate == pytest.approx(-norm.ppf(3 / (30 * 50) / 2))
    (line,) = display.ax_.lines
    assert line.get_xdata()[0] == display.gate
    chance = np.diff(2 * norm.cdf(display.edges)) * z.size
    assert display.chance == pytest.approx(chance)
    drawn = [patch.get_data().values for patch in display.ax_.patches]
    for values, given in zip(
        drawn, (display.pairs, display.connected, display.chance), strict=True
    ):
        assert values == pytest.approx(given)


def test_the_gate_of_any_layer_and_of_the_models_own_method(model, digits):
    strict = SparseMLPClassifier(
        (40,),
        method=Cofire(false_alarms=0.01),
        max_iter=2,
        n_networks=1,
        n_pieces=0,
        random_state=0,
    ).fit(*digits)
    display = GateDisplay.from_estimator(strict, digits[0], rows=100)
    assert display.gate == pytest.approx(-norm.ppf(0.01 / (64 * 40) / 2))
    assert display.n_rows == 100
    for layer in (1, 2, 3):
        shown = GateDisplay.from_estimator(model, digits[0], layer=layer, rows=200)
        own = model.network_.layers[layer - 1]
        assert 0 < shown.pairs.sum() <= own.n_in * own.n_out
        assert shown.connected.sum() <= own.nnz
    with pytest.raises(ValueError, match="layer=4; expected 1 to 3"):
        GateDisplay.from_estimator(model, digits[0], layer=4)


@pytest.mark.parametrize("kind", ["bytes", "frame", "sparse"])
def test_the_gate_takes_rows_as_fit_does(digits, kind):
    from scipy.sparse import csr_array

    X, y = digits
    X = {
        "bytes": lambda: X.astype(np.uint8),
        "frame": lambda: pd.DataFrame(X).add_prefix("p"),
        "sparse": lambda: csr_array(X),
    }[kind]()
    model = SparseMLPClassifier((20,), max_iter=2, n_networks=1, random_state=0)
    display = GateDisplay.from_estimator(model.fit(X, y), X, rows=64)
    assert display.n_rows == 64 and display.pairs.sum() > 0


# ---- accuracy against connections ----------------------------------------------------


def points(ax):
    return {
        line.get_color(): (line.get_xdata().tolist(), line.get_ydata().tolist())
        for line in (container.lines[0] for container in ax.containers)
    }


def test_scores_stand_against_connections():
    rows = [
        *((500, 0.8, "set"), (100, 0.7, "set"), (100, 0.5, "set")),
        (9000, 0.9, "dense"),
    ]
    display = AccuracyConnectionsDisplay.from_rows(rows)
    found = points(display.ax_)
    x, y = found[STROKES["set"].colour]
    assert x == [100, 500] and y == pytest.approx([0.6, 0.8])
    assert found[STROKES["dense"].colour] == ([9000], [0.9])
    assert display.ax_.get_xscale() == "log"
    labels = {text.get_text(): text.xy for text in display.ax_.texts}
    assert labels == {"set": (500, 0.8), "dense": (9000, 0.9)}
    with pytest.raises(ValueError, match="connections > 0"):
        AccuracyConnectionsDisplay([(0, 0.5, "a")])


def test_models_are_scored(model, digits):
    display = AccuracyConnectionsDisplay.from_estimators([model], *digits)
    x, y = points(display.ax_)[STROKES["cofire"].colour]
    assert (x, y) == ([model.n_connections_], [model.score(*digits)])
    assert display.ax_.get_ylabel() == "Accuracy"
    named = AccuracyConnectionsDisplay.from_estimators({"mine": model}, *digits)
    assert [text.get_text() for text in named.ax_.texts] == ["mine"]
