"""What y means: ClassTargets for classes, NumberTargets for numbers.

Targets are learnt from y once and then encode, weigh, score and split it, turn the
network's outputs back into predictions, and can be stored.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from cofire.estimators.inputs import naming, refuse_disguised
from cofire.persistence.values import decode, demand, encode

_ROUNDING = 1e-14
"""Of float64, with room for sums of some numbers."""


@dataclass(frozen=True, eq=False)
class Targets(ABC):
    """What an estimator learnt of its targets."""

    output: str
    """What follows the network's last layer: "softmax", "sigmoid" or "identity"."""
    is_numeric: ClassVar[bool] = False
    """Whether y holds numbers, which scikit-learn is to convert."""

    @staticmethod
    def check(y: Any) -> Any:
        """Refuse what scikit-learn's checks let pass and no network can learn."""
        return y

    @classmethod
    @abstractmethod
    def learn(cls, y: Any, weight: np.ndarray | None, classes: Any = None) -> Self:
        """Learn from y and the rows' weights; `classes` are those a user announces."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of output neurons."""

    @abstractmethod
    def encode(self, y: Any) -> np.ndarray:
        """Turn y into what the engine takes: int32 class numbers or float32 rows."""

    @abstractmethod
    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Turn the network's outputs into what y holds."""

    @abstractmethod
    def score_and_loss(
        self, outputs: np.ndarray, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        """Return the score (accuracy or R^2) and the mean loss of outputs."""

    @abstractmethod
    def to_plain(self) -> dict[str, Any]:
        """Return all of it but the output as JSON holds it."""

    @classmethod
    @abstractmethod
    def from_plain(cls, plain: dict[str, Any], output: str, n_outputs: int) -> Self:
        """Undo `to_plain`; a ValueError, TypeError or LookupError for anything else."""

    def weigh(
        self, y: Any, weight: np.ndarray | None, class_weight: Any
    ) -> np.ndarray | None:
        """Return the rows' weights, with those of their classes."""
        return weight

    def strata(self, encoded: np.ndarray) -> np.ndarray | None:
        """Return the groups that a hold-out split keeps in proportion, if any."""
        return None

    def check_scorable(self, encoded: np.ndarray) -> None:
        """Refuse too few rows for a score."""
        return

    def check_unchanged(self, classes: Any) -> None:
        """Refuse other classes than those that were learnt."""
        return


@dataclass(frozen=True, eq=False)
class ClassTargets(Targets):
    """Classes: one of several ("softmax"), or 0 and 1 in each column ("sigmoid")."""

    classes: np.ndarray

    @staticmethod
    def check(y: Any) -> Any:
        if getattr(getattr(y, "dtype", None), "kind", None) == "O":
            kinds = {type(label) for label in np.ravel(y).tolist()}
            if type(None) in kinds:
                raise ValueError("Input y contains None. Leave these rows out.")
            if len(kinds) > 1 and str in kinds:
                raise ValueError(_unknown_labels(y))
        return y

    @classmethod
    def learn(cls, y: Any, weight: np.ndarray | None, classes: Any = None) -> Self:
        with naming("y"):
            kind = type_of_target(y, input_name="y")
            if kind == "unknown":
                raise ValueError(_unknown_labels(y))
            check_classification_targets(y)
        if kind == "multilabel-indicator":
            return cls("sigmoid", np.arange(y.shape[1]))
        if kind.startswith("multiclass-multioutput"):
            raise ValueError(
                "y: several columns of more than two classes are not supported; "
                "multi-label targets have columns of 0 and 1."
            )
        y = column_or_1d(y, warn=True)
        known = np.unique(y) if classes is None else _distinct(classes)
        if len(known) < 2:
            name = "y" if classes is None else "classes"
            only = ", ".join(map(repr, known.tolist())) or "none"
            raise ValueError(
                f"{name} has one class only ({only}): a classifier needs at least two "
                "classes. Add rows of another class."
            )
        return cls("softmax", known)

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    def encode(self, y: Any) -> np.ndarray:
        return self._columns(y) if self.output == "sigmoid" else self._numbers(y)

    def _columns(self, y: Any) -> np.ndarray:
        columns = y.toarray() if scipy.sparse.issparse(y) else np.asarray(y)
        expected = f"y: expected {len(self.classes)} columns of 0 and 1, got"
        if columns.ndim != 2 or columns.shape[1] != len(self.classes):
            raise ValueError(f"{expected} shape {columns.shape}.")
        if not np.isin(columns, (0, 1)).all():
            raise ValueError(f"{expected} other values too.")
        return np.ascontiguousarray(columns, dtype=np.float32)

    def _numbers(self, y: Any) -> np.ndarray:
        with naming("y"):
            y = column_or_1d(y)
            number = np.searchsorted(self.classes, y)
            number = np.minimum(number, len(self.classes) - 1)
            unknown = self.classes[number] != y
        if unknown.any():
            raise ValueError(
                f"y contains the label {y[unknown].tolist()[0]!r}, which is not among "
                f"the classes {self.classes.tolist()!r}. Leave its rows out, or fit "
                "with them."
            )
        return number.astype(np.int32)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        if self.output == "sigmoid":
            return (outputs > 0.5).astype(int)
        return self.classes[outputs.argmax(axis=1)]

    def score_and_loss(
        self, outputs: np.ndarray, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        # The smallest probability that float32 tells from 0 keeps the loss finite.
        tiny = np.finfo(np.float32).tiny
        if self.output == "sigmoid":
            right = ((outputs > 0.5) == (encoded > 0.5)).all(axis=1)
            of_target = np.where(encoded > 0.5, outputs, 1 - outputs)
            loss = -np.log(np.maximum(of_target, tiny)).sum(axis=1)
        else:
            right = outputs.argmax(axis=1) == encoded
            loss = -np.log(np.maximum(outputs[np.arange(len(encoded)), encoded], tiny))
        return (
            float(np.average(right, weights=weight)),
            float(np.average(loss.astype(np.float64), weights=weight)),
        )

    def weigh(
        self, y: Any, weight: np.ndarray | None, class_weight: Any
    ) -> np.ndarray | None:
        if class_weight is None:
            return weight
        if scipy.sparse.issparse(y):
            y = y.toarray()
        by_class = compute_sample_weight(class_weight, y)
        if not (
            np.isfinite(by_class).all() and (by_class >= 0).all() and by_class.any()
        ):
            raise ValueError(
                "class_weight must be finite numbers >= 0, not all of them 0, got "
                f"{class_weight!r}."
            )
        return by_class if weight is None else by_class * weight

    def strata(self, encoded: np.ndarray) -> np.ndarray | None:
        return encoded if self.output == "softmax" else None

    def check_unchanged(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(_distinct(classes), self.classes):
            raise ValueError(
                f"classes={classes!r} differs from those of the first call: "
                f"{self.classes.tolist()!r}."
            )

    def to_plain(self) -> dict[str, Any]:
        return {"classes_": encode(self.classes, "classes_")}

    @classmethod
    def from_plain(cls, plain: dict[str, Any], output: str, n_outputs: int) -> Self:
        classes = decode(plain["classes_"])
        demand(classes.shape == (n_outputs,), "classes_: expected one per output")
        demand(output in ("softmax", "sigmoid"), f"{output}: not for classes")
        demand(bool((classes[1:] > classes[:-1]).all()), "classes_ must be ascending")
        return cls(output, classes)


@dataclass(frozen=True, eq=False)
class NumberTargets(Targets):
    """Numbers, standardised inside: the network's outputs are (y - mean) / scale."""

    is_numeric = True
    mean: np.ndarray
    scale: np.ndarray
    one_column: bool

    @staticmethod
    def check(y: Any) -> np.ndarray:
        if scipy.sparse.issparse(y):
            raise TypeError(
                "y is sparse: targets of a regressor are a dense array. Pass "
                "y.toarray()."
            )
        with naming("y"):
            y = np.asarray(y, dtype=np.float64, order="C")  # as the engine needs it
        if np.isnan(y).any():
            raise ValueError("Input y contains NaN. Leave these rows out.")
        if np.abs(y).max() > np.finfo(np.float32).max:
            raise ValueError("Input y contains a value too large for dtype('float32').")
        return y

    @classmethod
    def learn(cls, y: Any, weight: np.ndarray | None, classes: Any = None) -> Self:
        columns = y.reshape(len(y), -1)
        mean = np.average(columns, axis=0, weights=weight)
        deviation = columns - mean
        # The square of 1e-200 is 0: so squares are taken of numbers near 1, which a
        # power of 2 makes of any number without rounding.
        power = np.frexp(np.abs(deviation).max(axis=0))[1]
        squares = np.ldexp(deviation, -power) ** 2
        spread = np.ldexp(np.sqrt(np.average(squares, axis=0, weights=weight)), power)
        return cls.of_moments(mean, spread, one_column=columns.shape[1] == 1)

    @classmethod
    def of_moments(
        cls, mean: np.ndarray, spread: np.ndarray, *, one_column: bool
    ) -> Self:
        """Return targets of known means and deviations."""
        # A constant column, or one that differs by rounding alone, keeps its unit.
        constant = spread <= _ROUNDING * np.abs(mean)
        return cls("identity", mean, np.where(constant, 1.0, spread), one_column)

    @property
    def n_outputs(self) -> int:
        return len(self.mean)

    def encode(self, y: Any) -> np.ndarray:
        if self.one_column:
            y = column_or_1d(y, warn=True).reshape(-1, 1)
        if y.ndim != 2 or y.shape[1] != self.n_outputs:
            raise ValueError(
                f"y: expected {self.n_outputs} columns, got shape {y.shape}."
            )
        return ((y - self.mean) / self.scale).astype(np.float32)

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        outputs = outputs * self.scale + self.mean
        return outputs.ravel() if self.one_column else outputs

    def score_and_loss(
        self, outputs: np.ndarray, encoded: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        # In float64: it holds squares of large outputs and sums of large weights.
        outputs, encoded = outputs.astype(np.float64), encoded.astype(np.float64)
        weight = None if weight is None else weight.astype(np.float64)
        loss = np.average(0.5 * ((outputs - encoded) ** 2).sum(axis=1), weights=weight)
        return float(r2_score(encoded, outputs, sample_weight=weight)), float(loss)

    def check_scorable(self, encoded: np.ndarray) -> None:
        if len(encoded) < 2:
            raise ValueError("R^2 needs at least two rows: give more of them.")

    def to_plain(self) -> dict[str, Any]:
        return {
            "target_mean_": encode(self.mean, "target_mean_"),
            "target_scale_": encode(self.scale, "target_scale_"),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any], output: str, n_outputs: int) -> Self:
        mean, scale = (decode(plain[n]) for n in ("target_mean_", "target_scale_"))
        demand(output == "identity", f"{output}: not for numbers")
        for name, values in (("target_mean_", mean), ("target_scale_", scale)):
            right = values.shape == (n_outputs,) and values.dtype == np.float64
            demand(right, f"{name}: expected a float64 per output")
            demand(bool(np.isfinite(values).all()), f"{name} must be finite")
        demand(bool((scale > 0).all()), "target_scale_ must be > 0")
        return cls(output, mean, scale, n_outputs == 1)


def _unknown_labels(y: Any) -> str:
    """Say why scikit-learn does not know what kind of labels these are."""
    kinds = sorted({type(label).__name__ for label in np.ravel(y).tolist()})
    return (
        f"y: Unknown label type: objects of type {', '.join(kinds)}. Make all of them "
        "text, with y.astype(str), or all of them numbers, with y.astype(float)."
    )


def _distinct(classes: Any) -> np.ndarray:
    """The classes that a user announces, ascending and each of them once."""
    refuse_disguised("classes", classes)
    with naming("classes"):
        labels = np.asarray(classes)
        if labels.ndim != 1 or (
            labels.dtype.kind in "fc" and not np.isfinite(labels).all()
        ):
            raise ValueError(f"expected a list of labels, got {classes!r}")
        return np.unique(labels)
