"""The curves of the results page: means over seeds, thinned and rounded."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cofire.data import CATALOG
from cofire.lab.experiments import Result

MOST_POINTS = 120
MOST_INPUTS = 1000


def cell_curves(results: Sequence[Result]) -> dict[str, Any]:
    """Return the curves of one cell: `x` by unit, `y` as mean, lowest and highest seed.

    A seed that ended early keeps its last value. What no seed recorded is left out.
    """
    selected = [_selected(result.curves) for result in results]
    lines = {
        "selected": [curve for curve in selected if curve is not None],
        "test": _recorded(results, "test_score"),
        "loss": _recorded(results, "test_loss"),
    }
    lines = {name: curves for name, curves in lines.items() if curves}
    if not lines:
        return {}
    n_epochs = max(len(curve) for curves in lines.values() for curve in curves)
    chosen = thinned(n_epochs)
    x = {"epoch": (chosen + 1).tolist()}
    spent = {
        "seconds": [_seconds(result.curves) for result in results],
        "multiply_adds": [result.curves.get("multiply_adds") for result in results],
    }
    for name, each in spent.items():
        known = [np.cumsum(c, dtype=np.float64) for c in each if c is not None]
        if known:
            x[name] = rounded(_side_by_side(known, n_epochs).mean(axis=0)[chosen])
    y = {}
    for name, curves in lines.items():
        stacked = _side_by_side(curves, n_epochs)[:, chosen]
        mean, low, high = stacked.mean(axis=0), stacked.min(axis=0), stacked.max(axis=0)
        y[name] = [rounded(line) for line in (mean, low, high)]
    return {"x": x, "y": y}


def input_connections(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return the connections per input, mean over seeds; images summed over colours.

    For a wide table only the inputs with most connections, with their numbers. None if
    no seed recorded them, or if seeds have different ones: a category may occur in the
    training rows of some only.
    """
    counts = _recorded(results, "inputs")
    if len({len(own) for own in counts}) != 1:
        return None
    stacked = np.array(counts)
    mean = stacked.mean(axis=0)
    fullest = np.sort(mean)[::-1][: max(1, round(len(mean) / 10))]
    found: dict[str, Any] = {
        "n": len(mean),
        "connected": rounded([(stacked > 0).sum(axis=1).mean()])[0],
        "fullest_tenth": rounded([fullest.sum() / max(mean.sum(), 1)])[0],
    }
    entry = CATALOG.get(results[0].run.data)
    shape = entry.image_shape if entry else None
    if shape and np.prod(shape) == len(mean):
        image = mean.reshape(shape).sum(axis=2)
        return found | {"shape": shape[:2], "counts": rounded(image.ravel(), 3)}
    if len(mean) <= MOST_INPUTS:
        return found | {"counts": rounded(mean, 3)}
    kept = np.sort(np.argsort(-mean, kind="stable")[:MOST_INPUTS])
    return found | {"numbers": kept.tolist(), "counts": rounded(mean[kept], 3)}


def thinned(n: int) -> np.ndarray:
    """Choose at most MOST_POINTS of n epochs, closer together early, where curves bend.

    >>> thinned(3).tolist(), thinned(500)[:6].tolist(), len(thinned(500)) <= 120
    ([0, 1, 2], [0, 1, 2, 3, 4, 5], True)
    """
    if n <= MOST_POINTS:
        return np.arange(n)
    early = np.geomspace(1, n, MOST_POINTS // 3)
    even = np.linspace(1, n, MOST_POINTS - len(early))
    return np.unique(np.rint(np.concatenate([early, even])).astype(int)) - 1


def rounded(values: Iterable[float], digits: int = 4) -> list[float | int | None]:
    """Round to significant digits; None replaces what is not finite: JSON has no NaN.

    >>> rounded([0.123456, 2.0, float("nan")])
    [0.1235, 2, None]
    """
    return [_rounded(float(value), digits) for value in values]


def _rounded(value: float, digits: int) -> float | int | None:
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def _selected(curves: Any) -> np.ndarray | None:
    """Return the test score of the best validated epoch so far, after each epoch."""
    if not len(curves.get("test_score", ())):
        return None
    test = np.asarray(curves["test_score"], np.float64)
    if not was_validated(curves):
        return test
    validation = np.nan_to_num(curves["validation_score"], nan=-np.inf)
    best_so_far = np.maximum.accumulate(validation)
    is_new = np.append(True, validation[1:] > best_so_far[:-1])
    return test[np.maximum.accumulate(np.where(is_new, np.arange(len(test)), 0))]


def was_validated(curves: Any) -> bool:
    """Return whether rows were held out in training, to choose an epoch by them."""
    return bool(np.isfinite(curves.get("validation_score", np.nan)).any())


def _seconds(curves: Any) -> np.ndarray | None:
    if "train_seconds" not in curves:
        return None
    return curves["train_seconds"] + curves.get("rewire_seconds", 0)


def _recorded(results: Sequence[Result], name: str) -> list[np.ndarray]:
    return [
        np.asarray(result.curves[name], np.float64)
        for result in results
        if len(result.curves.get(name, ()))
    ]


def _side_by_side(curves: list[np.ndarray], length: int) -> np.ndarray:
    return np.stack([np.pad(c, (0, length - len(c)), mode="edge") for c in curves])
