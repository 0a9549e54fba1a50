"""The paper's figures from finished runs."""

from collections.abc import Callable, Iterable

import numpy as np

from cofire.lab.experiments.ranks import friedman, nemenyi_critical_difference
from cofire.lab.experiments.removal import CHECKPOINTS
from cofire.lab.names import data_name, method_name
from cofire.lab.paper.cells import Cells, Gathered
from cofire.lab.paper.item import Figures
from cofire.lab.report import plots
from cofire.lab.report.plots import Line, Panel

X_AXES = {
    "": ("Epoch", lambda gathered: None),
    "-seconds": (
        "Seconds of training and rewiring",
        lambda gathered: _spent(gathered, "train_seconds", "rewire_seconds"),
    ),
    "-multiply-adds": (
        "Multiply-adds of training and growth",
        lambda gathered: _spent(gathered, "multiply_adds"),
    ),
}


def _spent(gathered: Gathered, *names: str) -> np.ndarray:
    """Return the sum up to the end of each epoch, as the mean over seeds."""
    total = sum(gathered.curves(name).mean(axis=0) for name in names)
    return np.cumsum(total)


def accuracy_curves(cells: Cells, title: Callable[[Gathered], str]) -> Figures:
    """Draw test accuracy against epochs, against seconds and against multiply-adds."""
    return {
        ending: plots.curves(
            _panels(cells, "selected_score", title, x, percent=True),
            x_label=label,
            log_x=bool(ending),
        )
        for ending, (label, x) in X_AXES.items()
    }


def loss_curves(cells: Cells, title: Callable[[Gathered], str]) -> Figures:
    """Draw test loss (cross-entropy, without the L2 term) against epochs."""
    panels = _panels(cells, "test_loss", title, X_AXES[""][1])
    return {"": plots.curves(panels, y_label="Test loss")}


def by_data(gathered: Gathered) -> str:
    """Return the title of a panel for a data set."""
    return data_name(gathered.cell.data)


def by_size(gathered: Gathered) -> str:
    """Return the title of a panel for a width and a density."""
    return f"n = {gathered.cell.hidden}, ε = {gathered.cell.epsilon:g}"


def _panels(
    cells: Cells,
    curve: str,
    title: Callable[[Gathered], str],
    x: Callable[[Gathered], np.ndarray | None],
    *,
    percent: bool = False,
) -> list[Panel]:
    panels: dict[str, dict[str, Line]] = {}
    for cell, gathered in cells.items():
        values = gathered.curves(curve) * (100 if percent else 1)
        lines = panels.setdefault(title(gathered), {})
        lines[cell.method] = Line(values, x(gathered))
    return [Panel(name, lines) for name, lines in panels.items()]


def tradeoff(cells: Cells) -> Figures:
    """Draw accuracy against density, one panel per data set."""
    points: dict[str, dict[str, list[Gathered]]] = {}
    for cell, gathered in cells.items():
        lines = points.setdefault(by_data(gathered), {})
        lines.setdefault(cell.method, []).append(gathered)
    panels = [
        Panel(name, {method: _tradeoff_line(own) for method, own in lines.items()})
        for name, lines in points.items()
    ]
    return {"": plots.tradeoff(panels)}


def _tradeoff_line(own: list[Gathered]) -> Line:
    own = sorted(own, key=lambda g: g.results[0].density)
    n = min(len(g.results) for g in own)  # as many seeds at every density
    x = [100 * g.results[0].density for g in own]
    return Line(np.array([g.percent[:n] for g in own]).T, x)


def removal(cells: Cells) -> Figures:
    """Draw accuracy while connections are removed: a row per network."""
    panels = []
    for cell, gathered in cells.items():
        for epoch in CHECKPOINTS:
            found = [n for n in gathered.results[0].curves if f"removal {epoch} " in n]
            lines = {
                tuple(name.split()[2:]): Line(
                    100 * gathered.curves(name), np.arange(101)
                )
                for name in found
            }
            if lines:
                title = f"{method_name(cell.method)}, {epoch} epochs"
                panels.append(Panel(title, lines))
    return {"": plots.removal(panels)}


def rewiring_losses(cells: Cells) -> Figures:
    """Draw the change of the training loss by a rewiring, in per cent."""
    panels: dict[str, dict[str, Line]] = {}
    for cell, gathered in cells.items():
        before = gathered.curves("loss_before_rewiring")[:, 1:]
        after = gathered.curves("loss_after_rewiring")[:, 1:]
        x = np.arange(2, before.shape[1] + 2)
        lines = panels.setdefault(by_data(gathered), {})
        lines[cell.method] = Line(100 * (after / before - 1), x)
    drawn = [Panel(name, lines) for name, lines in panels.items()]
    return {"": plots.curves(drawn, y_label="Change of the training loss (%)")}


def rank_diagram(cells: Cells, methods: Iterable[str]) -> Figures:
    """Draw average ranks over data sets and sizes, with the critical difference."""
    methods = list(methods)
    groups: dict[tuple[object, ...], dict[str, float]] = {}
    for cell, gathered in cells.items():
        key = cell.data, cell.hidden, cell.epsilon
        groups.setdefault(key, {})[cell.method] = float(gathered.percent.mean())
    full = [means for means in groups.values() if all(m in means for m in methods)]
    if len(full) < 2:
        return {}
    test = friedman([[means[m] for m in methods] for means in full])
    difference = nemenyi_critical_difference(len(methods), len(full))
    ranks = dict(zip(methods, test.ranks, strict=True))
    return {"-ranks": plots.critical_difference(ranks, difference)}
