"""What all displays share, and the curves of a fit."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import make_regression
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import cofire
from cofire import SparseMLPClassifier, SparseMLPRegressor, plot
from cofire.plot.display import End, label_ends
from cofire.plot.look import BLUE, ORANGE

OF_MODELS = [
    plot.LearningCurveDisplay,
    plot.ConnectivityDisplay,
    plot.DegreeDisplay,
    plot.RewiringDisplay,
]


@pytest.mark.parametrize("display", OF_MODELS)
def test_a_display_draws_on_new_axes_on_those_given_and_again(display, model):
    first = display.from_estimator(model)
    assert first.ax_ is first.axes_[0] and first.figure_ is first.ax_.figure
    figure, given = plt.subplots()
    second = display.from_estimator(model, ax=given)
    assert second.figure_ is figure
    assert len(second.axes_) == len(first.axes_)
    if len(first.axes_) == 1:
        assert second.ax_ is given
    third = first.plot()
    assert third is first and first.figure_ not in (figure, second.figure_)


def test_panels_go_to_the_axes_given_and_their_number_must_fit(model):
    figure, axes = plt.subplots(1, 3)
    display = plot.RewiringDisplay.from_estimator(model, ax=axes)
    assert list(display.axes_) == list(axes)
    with pytest.raises(ValueError, match="2 axes, but this display draws 3 panels"):
        plot.RewiringDisplay.from_estimator(model, ax=axes[:2])


@pytest.mark.parametrize("display", OF_MODELS)
def test_what_is_no_fitted_model_is_refused(display, model):
    with pytest.raises(TypeError, match=r"got Pipeline.*pipeline\[-1\]"):
        display.from_estimator(make_pipeline(model))
    with pytest.raises(NotFittedError):
        display.from_estimator(SparseMLPClassifier())


def test_matplotlib_is_imported_only_to_draw():
    code = (
        "import sys, cofire.plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "try:\n    cofire.plot.ImportancesDisplay([1.0]).plot()\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'cofire[plot]'" in done.stdout, done


def test_the_settings_of_the_user_are_left_alone(model):
    before = dict(plt.rcParams)
    plot.LearningCurveDisplay.from_estimator(model)
    assert dict(plt.rcParams) == before


def contrast(colour, ground):
    """WCAG's ratio of luminances."""
    rgb = np.array([to_rgb(colour), to_rgb(ground)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    low, high = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return (high + 0.05) / (low + 0.05)


def test_ink_can_be_seen_on_dark_axes(model, digits):
    drawn = {
        plot.GateDisplay: [digits[0]],
        plot.ImportancesDisplay: [],
        plot.RewiringDisplay: [],
    }
    with plt.style.context("dark_background"):
        displays = [
            display.from_estimator(model, *more, ax=plt.subplots()[1])
            for display, more in drawn.items()
        ]
        displays.append(
            plot.AccuracyConnectionsDisplay.from_rows(
                [(10, 0.5, "cofire"), (20, 0.6, "dense")], ax=plt.subplots()[1]
            )
        )
    for display in displays:
        for ax in display.axes_:
            colours = [text.get_color() for text in ax.texts]
            colours += [line.get_color() for line in ax.lines]
            colours += [p.get_edgecolor() for p in ax.patches if not p.get_fill()]
            for lines in ax.collections:
                colours += list(lines.get_colors())
            for colour in colours:
                assert contrast(colour, "black") > 3.5, (display, colour)


def test_labels_at_the_ends_of_lines_do_not_overlap():
    figure, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ends = [End(1, 0.5, "a"), End(1, 0.501, "b"), End(1, 0.9, "c"), End(0, 0.5, "d")]
    labels = {text.get_text(): text for text in label_ends(ax, ends)}
    figure.canvas.draw()
    boxes = {name: text.get_window_extent() for name, text in labels.items()}
    for name in "bcd":
        for other in "abc":
            assert name == other or not boxes[name].overlaps(boxes[other])
    assert boxes["a"].y0 < boxes["b"].y0
    middle = {n: (box.y0 + box.y1) / 2 for n, box in boxes.items()}
    for name, height in (("c", 0.9), ("d", 0.5)):  # alone: not moved
        assert middle[name] == pytest.approx(
            ax.transData.transform((0, height))[1], abs=2
        )


def test_labels_end_within_axes_that_the_user_gave(model):
    figure, axes = plt.subplots(1, 2)
    plot.LearningCurveDisplay.from_estimator(model, ax=axes)
    figure.canvas.draw()
    frame = axes[0].get_window_extent()
    assert len(axes[0].texts) == 2
    for text in axes[0].texts:
        assert text.get_window_extent().x1 <= frame.x1 + 1
    _, ax = plt.subplots()
    rows = [(100, 0.5, "a method with a long name"), (90_000, 0.7, "dense")]
    plot.AccuracyConnectionsDisplay.from_rows(rows, ax=ax)
    ax.figure.canvas.draw()
    for text in ax.texts:
        assert text.get_window_extent().x1 <= ax.get_window_extent().x1 + 1


# ---- learning curves -----------------------------------------------------------------


def curve(line):
    return line.get_xdata().tolist(), line.get_ydata().tolist()


def lines_of(ax, colour):
    return [line for line in ax.lines if line.get_color() == colour]


def test_each_network_has_a_line_and_so_has_their_mean(model):
    display = plot.LearningCurveDisplay.from_estimator(model)
    assert [ax.get_title("left") for ax in display.axes_] == [
        "Loss",
        "Accuracy on validation rows",
    ]
    loss, score = display.axes_
    for ax, key, colour in (
        (loss, "loss", BLUE),
        (loss, "validation_loss", ORANGE),
        (score, "validation_score", ORANGE),
    ):
        first, second, mean = lines_of(ax, colour)
        for line, history in zip((first, second), model.histories_, strict=True):
            assert curve(line) == (
                list(range(1, len(history) + 1)),
                [record[key] for record in history],
            )
        both = [[record[key] for record in history] for history in model.histories_]
        assert len(both[0]) == len(both[1])
        assert mean.get_ydata() == pytest.approx(np.mean(both, axis=0))
    assert [text.get_text() for text in loss.texts] == ["training", "validation"]


def test_without_validation_rows_there_is_one_panel():
    X, y = make_regression(80, 5, random_state=0)
    model = SparseMLPRegressor((10,), max_iter=4, n_networks=1, random_state=0)
    display = plot.LearningCurveDisplay.from_estimator(model.fit(X, y))
    assert len(display.axes_) == 1 and display.ax_.get_title("left") == "Training loss"
    (line,) = display.ax_.lines
    assert curve(line) == ([1, 2, 3, 4], model.loss_curve_)
    scored = model.set_params(early_stopping=True).fit(X, y)
    display = plot.LearningCurveDisplay.from_estimator(scored)
    assert display.axes_[1].get_title("left") == "R² on validation rows"


def test_networks_that_ended_early_are_averaged_as_far_as_they_went():
    histories = [[{"loss": 1.0}, {"loss": 2.0}], [{"loss": 3.0}]]
    display = plot.LearningCurveDisplay.from_histories(histories)
    assert curve(display.ax_.lines[2]) == ([1, 2], [2.0, 2.0])
    with pytest.raises(ValueError, match="no epoch was recorded"):
        plot.LearningCurveDisplay([[]])


# ---- rewiring ------------------------------------------------------------------------


def test_rewiring_shows_what_history_has(model):
    display = plot.RewiringDisplay.from_estimator(model)
    connections, moved, living = display.axes_

    def mean(of):
        return np.mean([[of(r) for r in history] for history in model.histories_], 0)

    for i, line in enumerate(connections.lines):
        expected = mean(lambda r, i=i: r["connections"][i])
        assert line.get_ydata() == pytest.approx(expected)
    assert len(connections.lines) == 3 and len(living.lines) == 2
    for i, line in enumerate(living.lines):
        assert line.get_ydata() == pytest.approx(mean(lambda r, i=i: r["alive"][i]))
    grown, dropped = moved.patches
    assert grown.get_data().values == pytest.approx(mean(lambda r: sum(r["replaced"])))
    assert dropped.get_data().values == pytest.approx(mean(lambda r: sum(r["dropped"])))
    assert grown.get_data().values.sum() > 0
    assert [t.get_text() for t in moved.get_legend().get_texts()] == [
        "grown",
        "dropped",
    ]


def test_the_records_say_how_connections_came_and_went(model):
    for history, network in zip(model.histories_, model.networks_, strict=True):
        for before, record in zip(history, history[1:], strict=False):
            changes = zip(
                before["connections"],
                record["dropped"],
                record["replaced"],
                strict=True,
            )
            assert record["connections"] == [n - a + b for n, a, b in changes]
        assert any(record["connections"] == _sizes(network) for record in history)


def _sizes(network):
    return [layer.nnz for layer in network.layers]


def test_records_of_older_models_lack_some_curves():
    old = [[{"replaced": [4, 2], "alive": [9], "loss": 1.0}] * 3]
    connections, moved, living = plot.RewiringDisplay.from_histories(old).axes_
    assert not connections.lines and connections.texts[0].get_text() == "not recorded"
    assert len(moved.patches) == 1 and len(living.lines) == 1


def test_records_of_an_older_model_that_was_trained_further_keep_their_epochs():
    old, new = {"replaced": [4], "alive": [9]}, {"replaced": [2], "connections": [7]}
    display = plot.RewiringDisplay.from_histories([[old, old, new]])
    (line,) = display.axes_[0].lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata()[2] == 7 and np.isnan(line.get_ydata()[:2]).all()
    scored = [[{"loss": 2.0, "validation_score": None}, {"validation_score": 0.5}]]
    display = plot.LearningCurveDisplay.from_histories(scored)
    (line,) = display.axes_[1].lines
    assert line.get_xdata().tolist() == [1, 2] and line.get_ydata()[1] == 0.5


def test_the_package_is_public():
    assert cofire.plot is plot and "plot" in dir(cofire)
