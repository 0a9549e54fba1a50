"""Rows that are not trained on: checked, held out, scored."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import _check_sample_weight, validate_data

from cofire import engine
from cofire.core.machine import n_threads
from cofire.core.network import SparseNetwork
from cofire.engine.checks import check_sparse, check_width
from cofire.estimators.inputs import naming, refuse_disguised
from cofire.estimators.parameters import SparseMLPParameters

Scorer = Callable[[SparseNetwork], tuple[float, float]]
"""Score and mean loss of a network."""
Checked = tuple[Any, np.ndarray, np.ndarray | None]
"""Rows, targets and weights as the engine takes them."""
GIVEN = "validation data (X_val, y_val, sample_weight_val)"


# How scikit-learn is to check and convert rows.
ROWS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float32, np.uint8],
    "order": "C",
}


class ValidationSupport(SparseMLPParameters):
    """How rows are checked, and how a network is scored on some that are held out."""

    seed_: int

    @abstractmethod
    def _encode_targets(self, y: Any) -> np.ndarray:
        """Turn y into what the engine takes: int32 class numbers or float32 rows."""

    @abstractmethod
    def _score_and_loss(
        self, outputs: np.ndarray, targets: np.ndarray, weight: np.ndarray | None
    ) -> tuple[float, float]:
        """Score (accuracy or R^2) and mean loss of predictions."""

    def _strata(self, targets: np.ndarray) -> np.ndarray | None:
        """Groups that a validation split should keep in proportion."""
        return None

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        refuse_disguised("X", X)
        refuse_disguised("y", y)
        with naming("X, y"):
            X, y = validate_data(
                self,
                X,
                y,
                reset=reset,
                **ROWS,
                multi_output=True,
                y_numeric=self._output_is_numeric,
            )
            _check_rows(X)
        return X, y

    def _validate_rows(self, X: Any) -> Any:
        refuse_disguised("X", X)
        with naming("X"):
            X = validate_data(self, X, reset=False, **ROWS)
            _check_rows(X)
        return X

    def _validate_weight(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        if sample_weight is None:
            return None
        refuse_disguised("sample_weight", sample_weight)
        with naming("sample_weight"):
            return _check_sample_weight(
                sample_weight, X, dtype=np.float32, ensure_non_negative=True
            )

    _output_is_numeric = False

    def _given_validation(
        self, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> Checked | None:
        """The validation data that came with the call, checked."""
        if X_val is not None:
            if y_val is None:
                raise ValueError("y_val is missing: X_val came without it.")
            return self._checked(X_val, y_val, sample_weight_val, of=GIVEN)
        if y_val is not None or sample_weight_val is not None:
            raise ValueError(
                "X_val is missing: y_val or sample_weight_val came without it."
            )
        return None

    def _validation(
        self,
        X: Any,
        targets: np.ndarray,
        weight: np.ndarray | None,
        row_ids: np.ndarray,
        given: Checked | None,
    ) -> tuple[Scorer | None, np.ndarray]:
        """How to validate, if at all, and the rows that are left to train on."""
        if given is not None:
            return self._scorer(*given, GIVEN), row_ids
        needed = "validation" in self._method().needs
        if not (self.early_stopping or needed):
            return None, row_ids
        strata = self._strata(targets)
        n_rows = len(row_ids)
        try:
            row_ids, held_out = train_test_split(
                row_ids,
                test_size=self.validation_fraction,
                random_state=self.seed_,
                stratify=None if strata is None else strata[row_ids],
            )
            held_out_weight = None if weight is None else weight[held_out]
            validate = self._scorer(
                X[held_out], targets[held_out], held_out_weight, "X, rows held out"
            )
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {n_rows} rows: "
                f"too few to hold out. {error}"
            ) from error
        return validate, np.sort(row_ids)

    def _evaluator(self, X: Any, y: Any, sample_weight: Any, *, of: str) -> Scorer:
        """How to score a network on data of a user; `of` names them in errors."""
        return self._scorer(*self._checked(X, y, sample_weight, of=of), of)

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, of: str) -> Checked:
        try:
            X, y = self._validate(X, y, reset=False)
            weight = self._validate_weight(sample_weight, X)
            targets = self._encode_targets(y)
            self._check_scorable(targets)
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{of}: {error}") from error
        return X, targets, weight

    def _check_scorable(self, targets: np.ndarray) -> None:
        """Refuse too few rows for a score."""

    def _scorer(
        self, X: Any, targets: np.ndarray, weight: np.ndarray | None, of: str
    ) -> Scorer:
        self._check_scorable(targets)
        rows = engine.Rows(X)

        def score(network: SparseNetwork) -> tuple[float, float]:
            outputs = self._outputs(network, rows, of)
            return self._score_and_loss(outputs, targets, weight)

        return score

    def _outputs(self, network: SparseNetwork, rows: engine.Rows, of: str) -> Any:
        """Outputs of a network for rows; an error where they are beyond float32."""
        outputs = engine.predict(network, rows, n_threads=n_threads(self.n_jobs))
        n_bad = len(outputs) - int(np.isfinite(outputs).all(axis=1).sum())
        if n_bad:
            raise ValueError(
                f"{of}: {n_bad} of {len(outputs)} rows have values so large that the "
                "network's outputs are not finite. Scale them (StandardScaler), as the "
                "rows that it learnt from."
            )
        return outputs


def _check_rows(X: Any) -> None:
    check_width(X)
    if scipy.sparse.issparse(X):
        check_sparse(X)
