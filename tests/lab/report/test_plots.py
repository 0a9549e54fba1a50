"""Figures: what is drawn, that it fits, and that equal data give equal files."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from cofire.lab import names
from cofire.lab.report import look
from cofire.lab.report.look import STROKES, in_order, stroke_of
from cofire.lab.report.rank_diagram import groups_within
from cofire.methods import METHODS
from helpers.needs import needs_package

needs_package("matplotlib", "pip install cofire[plot]")

from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.image import imread  # noqa: E402

from cofire.lab.report import plots  # noqa: E402
from cofire.lab.report.plots import Line, Panel  # noqa: E402

FIVE = ("snip", "rigl", "set", "ctre_seq", "ctre_sim")


def panels(n=1, seeds=3, epochs=20, methods=FIVE):
    rng = np.random.default_rng(0)
    return [
        Panel(
            f"panel {i}", {m: Line(50 + rng.random((seeds, epochs))) for m in methods}
        )
        for i in range(n)
    ]


def removal_panels():
    x = np.linspace(0, 100, 11)
    keys = [
        (s, o) for s in ("magnitude", "cosine") for o in ("ascending", "descending")
    ]
    keys.append(("random", "ascending"))
    lines = {key: Line(np.linspace(98, 10, 11) + np.ones((3, 1)), x) for key in keys}
    return [Panel(f"SET, epoch {e}", lines) for e in (10, 30)]


COSTS = {
    "Madelon": {
        "set": {"training": 0.02, "growth": 0.001, "evaluation": 0.003},
        "dense": {"training": 0.2, "evaluation": 0.003},
    }
}

FIGURES = {
    "curves": lambda: plots.curves(panels()),
    "curves of seconds": lambda: plots.curves(
        panels(2), x_label="Seconds", log_x=True, share_y="row", band="range"
    ),
    "curves of all": lambda: plots.curves(panels(1, methods=STROKES)),
    "one seed": lambda: plots.curves(panels(1, seeds=1)),
    "tradeoff": lambda: plots.tradeoff(panels(1), log_x=True),
    "removal": lambda: plots.removal(removal_panels()),
    "cost": lambda: plots.cost(COSTS),
    "critical difference": lambda: plots.critical_difference(
        {"snip": 4.4, "rigl": 3.9, "set": 3.1, "ctre_seq": 2.0, "ctre_sim": 1.6}, 1.18
    ),
    "ranks alone": lambda: plots.critical_difference({"set": 1.0}, None, title="one"),
}


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("name", FIGURES)
def test_equal_figures_are_equal_files_that_open(name, tmp_path):
    first = plots.save_figure(FIGURES[name](), tmp_path / "a", "figure")
    second = plots.save_figure(FIGURES[name](), tmp_path / "b", "figure")
    assert [path.name for path in first] == ["figure.png", "figure.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    height, width, _ = imread(first[0]).shape
    assert width == 7 * 150 and 100 < height < 1200
    assert ElementTree.parse(first[1]).getroot().tag.endswith("svg")
    assert sorted(first[0].parent.iterdir()) == sorted(first)


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_leaves_the_page_or_covers_another(name):
    figure = FIGURES[name]()
    figure.draw_without_rendering()
    page = figure.bbox
    texts = shown_texts(figure)
    boxes = [t.get_window_extent() for t in texts]
    for text, box in zip(texts, boxes, strict=True):
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 + 1
        assert inside and page.y0 <= box.y0 and box.y1 <= page.y1 + 1, text
    for i, box in enumerate(boxes):
        for j in range(i):
            covered = min(box.x1, boxes[j].x1) - max(box.x0, boxes[j].x0)
            crossed = min(box.y1, boxes[j].y1) - max(box.y0, boxes[j].y0)
            assert min(covered, crossed) < 1, (texts[i], texts[j])


def shown_texts(figure):
    """All texts, of tick labels those that are in view."""
    texts = [*figure.texts]
    for legend in figure.legends:
        texts += legend.get_texts()
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [t for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
            texts += [tick.label1 for tick in ticks if tick.label1.get_visible()]
    return [text for text in texts if text.get_text()]


def test_curves_have_a_line_and_a_band_for_each_method():
    figure = plots.curves(panels(n=7))
    assert len(figure.axes) == 7
    for axis in figure.axes:
        assert len(axis.lines) == len(axis.collections) == 5
        # drawn in the legend's order, each in its own colour
        colours = [line.get_color() for line in axis.lines]
        assert colours == [stroke_of(m).colour for m in in_order(FIVE)]
    assert legend_of(figure) == ["CTRE_sim", "CTRE_seq", "SET", "RigL", "SNIP"]


def test_a_line_is_the_mean_and_its_band_a_standard_deviation():
    values = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 8.0]])
    (axis,) = plots.curves([Panel("", {"set": Line(values, x=[1, 10, 100])})]).axes
    assert axis.lines[0].get_xydata().tolist() == [[1, 2], [10, 2], [100, 6]]
    band = axis.collections[0].get_paths()[0].vertices
    assert sorted(set(band[band[:, 0] == 100][:, 1])) == [4, 8]  # 6 - 2 and 6 + 2


def test_the_note_says_how_many_seeds_there_are():
    def notes(figure):
        return [t.get_text() for t in figure.texts]

    assert "mean of 3 seeds, band ± 1 sd" in notes(plots.curves(panels()))
    mixed = [*panels(1), *panels(1, seeds=5)]
    assert "mean of 3 to 5 seeds, bars ± 1 sd" in notes(plots.tradeoff(mixed))
    assert "" in notes(plots.curves(panels(seeds=1)))


def test_a_curve_that_does_not_fit_its_x_is_an_error():
    with pytest.raises(ValueError, match="3 points"):
        Line([[1, 2, 3]], x=[1, 2]).points()


def test_bars_are_stacked_and_summed():
    (axis,) = plots.cost(COSTS).axes
    assert [t.get_text() for t in axis.texts] == ["0.0240", "0.203"]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["SET", "Dense"]
    widths = [bar.get_width() for bar in axis.patches]
    assert sum(widths) == pytest.approx(0.024 + 0.203)
    many = {"": {"set": {"training": 2.4e8}}}
    (axis,) = plots.cost(many, x_label="Multiply-adds per epoch").axes
    assert axis.texts[0].get_text() == "240 M"


def test_removal_names_what_is_removed_first():
    assert legend_of(plots.removal(removal_panels())) == [
        *("magnitude, smallest first", "magnitude, largest first"),
        *("cosine, smallest first", "cosine, largest first", "random"),
    ]


def test_groups_are_the_widest_that_do_not_differ():
    ranks = {"a": 1.0, "b": 1.5, "c": 2.0, "d": 4.0}
    assert groups_within(ranks, 1.0) == [(1.0, 2.0)]
    assert groups_within(ranks, 0.5) == [(1.0, 1.5), (1.5, 2.0)]
    assert groups_within(ranks, 9.0) == [(1.0, 4.0)]
    assert groups_within(ranks, 0.1) == []
    assert groups_within({"a": 2.0, "b": 2.0}, 0.1) == [(2.0, 2.0)]


def test_every_method_has_a_stroke_of_its_own():
    assert list(STROKES) == [name for name in METHODS if name in STROKES]
    assert len({stroke.colour for stroke in STROKES.values()}) == len(STROKES)
    assert stroke_of("somebody's") == stroke_of("somebody's")
    assert look.BASELINES.keys() == names.BASELINES.keys()
    ours = {stroke.colour for stroke in STROKES.values()}
    assert not ours & {stroke.colour for stroke in look.BASELINES.values()}
    for stroke in (STROKES | look.BASELINES).values():  # dark enough for white paper
        light = np.dot([0.2126, 0.7152, 0.0722], np.power(to_rgb(stroke.colour), 2.2))
        assert 1.05 / (light + 0.05) > 2.2, stroke


def test_settings_of_the_user_change_nothing(tmp_path):
    from matplotlib import rc_context

    plain = plots.save_figure(plots.curves(panels(1)), tmp_path / "a", "f")
    with rc_context({"font.size": 20, "lines.linewidth": 9, "axes.grid": False}):
        loud = plots.save_figure(plots.curves(panels(1)), tmp_path / "b", "f")
    assert [p.read_bytes() for p in plain] == [p.read_bytes() for p in loud]


def test_figures_need_no_pyplot():
    import subprocess

    code = (
        "import sys; from cofire.lab.report import plots; assert 'matplotlib' not in "
        "sys.modules; plots.curves([plots.Panel('', {'set': plots.Line([1, 2])})]); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
