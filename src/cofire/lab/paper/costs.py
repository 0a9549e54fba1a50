"""The cost of an epoch, measured: the paper's appendix B with numbers."""

import json

import numpy as np

from cofire.lab.experiments import Result
from cofire.lab.names import data_name, method_name
from cofire.lab.paper.cells import Cells, Gathered
from cofire.lab.paper.item import Figures, Found
from cofire.lab.report import plots
from cofire.lab.table import Table, Value
from cofire.training.cost import training_multiply_adds


def cost_tables(found: Found) -> list[Table]:
    """Return seconds and multiply-adds per epoch of training, growth and evaluation."""
    rows: list[list[Value]] = []
    for cell, gathered in found.cells.items():
        seconds, adds = _seconds(gathered), _multiply_adds(gathered)
        rows.append(
            [
                *(data_name(cell.data), cell.hidden, cell.epsilon, _name(gathered)),
                *(1000 * seconds[part] for part in ("training", "growth")),
                1000 * seconds["evaluation"],
                seconds["growth"] / seconds["training"],
                *(adds[part] / 1e6 for part in ("training", "growth")),
                adds["growth"] / adds["training"],
            ]
        )
    table = Table(
        "cost",
        "What an epoch costs (appendix B, measured)",
        (
            *("data", "n", "eps", "method", "training ms", "growth ms"),
            *("evaluation ms", "growth / training"),
            *("training M multiply-adds", "growth M multiply-adds"),
            "growth / training, multiply-adds",
        ),
        rows,
        f"{found.about} One run at a time; medians over the epochs. Evaluation is that "
        "of the validation rows. A training step does three multiply-adds for each "
        "connection and row; those of growth are counted by the search.",
        digits_of={"eps": 0, "growth / training": 2},
    )
    return [table]


def cost_figures(cells: Cells) -> Figures:
    """Draw stacked bars of seconds and of multiply-adds."""
    seconds: dict[str, dict[str, dict[str, float]]] = {}
    adds: dict[str, dict[str, dict[str, float]]] = {}
    for cell, gathered in cells.items():
        title = f"{data_name(cell.data)}, n = {cell.hidden}, ε = {cell.epsilon:g}"
        ms = {part: 1000 * s for part, s in _seconds(gathered).items()}
        seconds.setdefault(title, {})[_name(gathered)] = ms
        adds.setdefault(title, {})[_name(gathered)] = _multiply_adds(gathered)
    return {
        "": plots.cost(seconds, x_label="Milliseconds per epoch"),
        "-multiply-adds": plots.cost(adds, x_label="Multiply-adds per epoch"),
    }


def _name(gathered: Gathered) -> str:
    """Return the method, and its search if it is not the exact one."""
    search = json.loads(gathered.cell.options).get("similarity")
    name = method_name(gathered.cell.method)
    return name if search is None else f"{name}, {search}"


def _seconds(gathered: Gathered) -> dict[str, float]:
    return {
        part: float(np.median(gathered.curves(curve)[:, 1:]))
        for part, curve in (
            ("training", "train_seconds"),
            ("growth", "rewire_seconds"),
            ("evaluation", "evaluate_seconds"),
        )
    }


def _multiply_adds(gathered: Gathered) -> dict[str, float]:
    """Return the medians over epochs; what is not training is growth."""
    training = float(np.median([_of_training(r) for r in gathered.results]))
    total = float(np.median(gathered.curves("multiply_adds")[:, 1:]))
    return {"training": training, "growth": max(0.0, total - training)}


def _of_training(result: Result) -> float:
    rows = result.notes["rows_an_epoch"]
    # Rounded as in the curve, whose numbers are float32.
    return float(np.float32(training_multiply_adds(result.connections, rows)))
