"""FrontDisplay: each panel's own front, beside what `cofire.tune` found."""

import pytest

import cofire
from cofire.plot import FrontDisplay


def row(score, connections, n_bytes, microseconds, fits=10, error=0.01):
    return {
        "score": score,
        "standard_error": error,
        "connections": connections,
        "bytes": n_bytes,
        "microseconds": microseconds,
        "fits": fits,
    }


ROWS = [
    row(0.8, 10, 300, 5.0),
    row(0.9, 100, 200, 9.0),
    row(0.85, 200, 900, 7.0),
    row(0.99, 1, 1, 1.0, fits=5),  # not a finalist: drawn, but not on the front
]


def line(ax):
    return [tuple(point) for point in ax.containers[0].lines[0].get_xydata()]


def test_each_panel_joins_what_nothing_beats_at_its_size():
    display = FrontDisplay(ROWS, {"default": ROWS[2], "best": ROWS[1]}, least=0.89)
    connections, n_bytes, microseconds = display.plot().axes_
    assert line(connections) == [(10, 0.8), (100, 0.9)]
    assert line(n_bytes) == [(200, 0.9)]
    assert line(microseconds) == [(5, 0.8), (7, 0.85), (9, 0.9)]
    assert connections.get_xscale() == n_bytes.get_xscale() == "log"
    assert microseconds.get_xscale() == "linear"
    names = [text.get_text() for text in microseconds.get_legend().get_texts()]
    assert names == ["trials", "finalists", "default", "best", "front"]


def test_what_lies_far_below_the_front_does_not_press_it_together():
    display = FrontDisplay([*ROWS, row(0.1, 5000, 9, 9)]).plot()
    low, high = display.ax_.get_ylim()
    assert 0.7 < low < 0.8 and 0.9 < high < 1


def test_a_tuning_is_drawn(digits):
    X, y = digits
    model = cofire.SparseMLPClassifier(max_iter=2, n_networks=2, n_jobs=1)
    found = cofire.tune(model, X[:200], y[:200], n_trials=2, cv=2)
    display = found.plot()
    assert isinstance(display, FrontDisplay) and display.rows == found.rows_
    assert display.ax_.get_ylabel() == "Accuracy"
    best = found.best_
    assert (best["connections"], best["score"]) in [
        (xy[0][0], xy[0][1]) for xy in (ln.get_xydata() for ln in display.ax_.lines)
    ]


def test_wrong_rows_and_names_are_told():
    with pytest.raises(ValueError, match="rows: expected one row or more"):
        FrontDisplay([])
    with pytest.raises(ValueError, match="marked: .* default, best, smallest; got a"):
        FrontDisplay(ROWS, {"a": ROWS[0]})
