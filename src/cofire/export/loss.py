"""Loss: what rounding of weights does to the predictions of some rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.export.plain import Numbers, PlainModel


@dataclass(frozen=True)
class Loss:
    """Predictions before and after."""

    n_rows: int
    measure: str | None
    """ "accuracy" or "R^2"; None if there are no targets."""
    before: float | None
    after: float | None
    n_other: int | None
    """Rows whose predicted class, or set of labels, is another one; None: numbers."""
    difference: float
    """The largest, of probabilities or of numbers in units of the target's scale."""

    def __str__(self) -> str:
        what = "probabilities" if self.n_other is not None else "standardised numbers"
        text = f"on {self.n_rows} rows: largest difference of {what} "
        text += f"{self.difference:.2g}"
        if self.n_other is not None:
            text += f", {self.n_other} predictions changed"
        if self.measure is not None:
            text += f"; {self.measure} {self.before:.4f} before, {self.after:.4f} after"
        return text


def loss_of(
    before: PlainModel, after: PlainModel, rows: np.ndarray, y: Any = None
) -> Loss:
    """Compare the predictions of two models; y: the targets of the rows, if known."""
    if rows.ndim != 2 or rows.shape[1] != len(before.columns) or not len(rows):
        raise ValueError(
            f"X: expected one row or more of {len(before.columns)} columns, those that "
            f"the model takes, got {' x '.join(map(str, rows.shape))}."
        )
    first, second = before.evaluate(rows), after.evaluate(rows)
    n_other, unit = None, np.ones(1)
    if isinstance(before.target, Numbers):
        unit = before.target.scale
    else:
        other = before.predictions(first) != after.predictions(second)
        n_other = int(other.reshape(len(rows), -1).any(axis=1).sum())
    measure = score_before = score_after = None
    if y is not None:
        measure = "R^2" if isinstance(before.target, Numbers) else "accuracy"
        score_before, score_after = (
            _score(own, outputs, y)
            for own, outputs in ((before, first), (after, second))
        )
    difference = float((np.abs(first - second) / unit).max())
    return Loss(len(rows), measure, score_before, score_after, n_other, difference)


def _score(model: PlainModel, outputs: np.ndarray, y: Any) -> float:
    from sklearn.metrics import accuracy_score, r2_score

    predicted = model.predictions(outputs)
    score = r2_score if isinstance(model.target, Numbers) else accuracy_score
    return float(score(y, predicted))
