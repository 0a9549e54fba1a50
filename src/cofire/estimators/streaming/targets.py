"""What the targets of a stream are, learnt chunk by chunk."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from cofire.estimators.inputs import naming
from cofire.estimators.streaming.moments import Moments
from cofire.estimators.streaming.tables import Recut
from cofire.estimators.targets import ClassTargets, NumberTargets

MOST_CLASSES = 2**16


@dataclass(eq=False)
class Labels:
    """The classes that came, and how often."""

    classes: Any = None
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0))
    n_columns: int = 0

    def add(self, y: Any) -> None:
        """Take in the labels of a chunk."""
        if scipy.sparse.issparse(y) or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
            if self.n_columns not in (0, y.shape[1]):
                raise ValueError(
                    f"y: expected {self.n_columns} columns, got {y.shape[1]}."
                )
            self.n_columns = y.shape[1]
            return
        with naming("y"):
            with warnings.catch_warnings():
                # A small chunk may have as many classes as rows.
                warnings.simplefilter("ignore")
                check_classification_targets(y)
            labels, counts = np.unique(column_or_1d(y), return_counts=True)
            if self.classes is None:
                self.classes, self.counts = labels, counts
                return
            before, every = self.counts, np.concatenate([self.classes, labels])
            self.classes, place = np.unique(every, return_inverse=True)
        if len(self.classes) > MOST_CLASSES:
            raise ValueError(
                f"y has more than {MOST_CLASSES} classes: numbers to predict are for "
                "SparseMLPRegressor."
            )
        both = np.concatenate([before, counts])
        self.counts = np.bincount(place, both).astype(np.int64)

    def targets(self) -> ClassTargets:
        """Return what the classes mean."""
        if self.n_columns:
            return ClassTargets.learn(np.repeat([[0], [1]], self.n_columns, 1), None)
        # Each of them several times, as scikit-learn expects of classes.
        return ClassTargets.learn(np.repeat(self.classes, 4), None)

    def weights(self, class_weight: Any) -> np.ndarray | None:
        """Return the weight of each class."""
        if class_weight is None:
            return None
        if self.n_columns:
            raise ValueError(
                "class_weight: not for several columns of y in a stream. Give the rows "
                "weights instead."
            )
        if class_weight == "balanced":
            return self.counts.sum() / (len(self.classes) * self.counts)
        weights = compute_class_weight(
            class_weight, classes=self.classes, y=self.classes
        )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(
                "class_weight must be finite numbers >= 0, not all of them 0, got "
                f"{class_weight!r}."
            )
        return weights


class Numbers:
    """Mean and deviation of targets that are numbers."""

    def __init__(self) -> None:
        self.moments, self.recut = Moments(), Recut(2**14)
        self.one_column = True

    def add(self, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Take in the numbers of a chunk."""
        columns = y.reshape(len(y), -1)
        self.one_column = columns.shape[1] == 1
        for block, own in self.recut.add(columns, weight):
            self.moments.add(block.copy(), own)

    def targets(self) -> NumberTargets:
        """Return how the numbers are scaled."""
        for block, own in self.recut.rest():
            self.moments.add(block.copy(), own)
        return NumberTargets.of_moments(
            self.moments.centre, self.moments.deviation, one_column=self.one_column
        )
