"""plain_model: what a fitted estimator holds, as a `PlainModel`; and its rows."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from cofire.data import Preprocessing
from cofire.data.preprocessing.column import DateColumn, WordColumn
from cofire.data.preprocessing.columns import Columns
from cofire.data.preprocessing.kinds import words
from cofire.errors import listed
from cofire.estimators.base import BaseSparseMLP
from cofire.estimators.encoder import Encoder
from cofire.estimators.frames import as_pandas, is_frame, numbers
from cofire.estimators.scaling import MOST, standardise
from cofire.estimators.targets import ClassTargets, NumberTargets, Targets
from cofire.export.plain import (
    Classes,
    Column,
    Inputs,
    Kind,
    Labels,
    Numbers,
    PlainModel,
)


def plain_model(model: Any) -> PlainModel:
    """Return a fitted estimator as arrays and names.

    A model that `cofire train` wrote takes the columns of the file that it was trained
    on, all others take those of X. Columns of dates are refused, and so are pipelines.
    """
    estimator = _estimator(model)
    state = estimator._state
    columns, inputs, takes_bytes = _of_encoder(estimator, state.encoder)
    if state.preprocessing is not None:
        steps = _steps(Preprocessing.from_dict(state.preprocessing).steps)
        if not takes_bytes:  # which are taken as they are
            columns, inputs = _after(steps, inputs)
    networks = tuple(estimator.networks_)
    return PlainModel(columns, takes_bytes, inputs, networks, _target(state.targets))


def rows_of(model: Any, X: Any) -> np.ndarray:
    """Return rows as a `PlainModel` takes them: (n_rows, n_columns) float64.

    X: what `predict` takes, or for a model that `cofire train` wrote, the columns of
    the file that it was trained on.
    """
    estimator = _estimator(model)
    state, X = estimator._state, as_pandas(X)
    if state.preprocessing is not None:
        steps = Preprocessing.from_dict(state.preprocessing).steps
        if isinstance(steps, Columns):
            X = _in_order(X, [own.name for own in steps.columns])
            return np.column_stack([_values(X, own) for own in steps.columns])
    else:
        names = getattr(estimator, "feature_names_in_", None)
        X = X if names is None or not is_frame(X) else _in_order(X, list(names))
        if state.encoder is not None and state.encoder.categories:
            return _level_rows(X, state.encoder)
    if is_frame(X):
        return np.column_stack([numbers(X, j) for j in range(X.shape[1])])
    X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    return X.astype(np.float64)


def _estimator(model: Any) -> BaseSparseMLP:
    if isinstance(model, BaseSparseMLP):
        check_is_fitted(model)
        return model
    if hasattr(model, "steps"):
        raise TypeError(
            "model is a pipeline: its steps before the last are not exported. Fit "
            "SparseMLPClassifier or SparseMLPRegressor on X itself: it scales numbers, "
            "takes missing values and categories. Or export the last step alone, "
            "model[-1], and give it what the other steps make of a row."
        )
    raise TypeError(
        "model must be a fitted SparseMLPClassifier or SparseMLPRegressor, got "
        f"{type(model).__name__}."
    )


def _in_order(X: Any, names: list[str]) -> Any:
    """Return the columns of a frame that the model takes, in its order."""
    if not is_frame(X):
        raise TypeError(
            f"X: expected a DataFrame with the columns {listed(names)}, as in the file "
            f"that the model was trained on, got {type(X).__name__}."
        )
    absent = [name for name in names if name not in X.columns]
    if absent:
        raise ValueError(
            f"X: columns that the model needs are missing: {listed(absent)}. There are "
            f"{listed(list(X.columns))}. Add or rename them."
        )
    return X[names]


def _no_dates(name: str) -> ValueError:
    return ValueError(
        f"column {name!r} holds dates, which are not exported. Give the model numbers "
        "in its place, such as the day of the year and the hour, and fit again; or "
        "leave the column out."
    )


def _target(targets: Targets) -> Classes | Labels | Numbers:
    if isinstance(targets, NumberTargets):
        return Numbers(targets.mean, targets.scale)
    assert isinstance(targets, ClassTargets)
    if targets.output == "sigmoid":
        return Labels(targets.n_outputs)
    return Classes(targets.classes)


# ---- what the estimator learnt of X --------------------------------------------------


def _of_encoder(
    estimator: BaseSparseMLP, encoder: Encoder | None
) -> tuple[tuple[Column, ...], Inputs, bool]:
    n = estimator.n_features_in_
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    names = names or [f"x{j}" for j in range(n)]
    columns = [Column(name) for name in names]
    if encoder is None:
        index = np.arange(n, dtype=np.int32)
        plain = _empty_inputs(np.zeros(n, np.int8), index, bent=False)
        return tuple(columns), replace(plain, scale=np.ones(n)), False
    if encoder.dates:
        raise _no_dates(names[encoder.dates[0].column])
    for levels in encoder.categories:
        more = ["(rare)"] * levels.rare + ["(missing)"] * levels.missing
        columns[levels.column] = Column(
            names[levels.column],
            (*levels.levels, *more),
            n_stand_ins=len(more),
            fill=levels.n_inputs - 1 if levels.missing else None,
            other=len(levels.levels) if levels.rare else -1,
        )
    if encoder.bounded:
        columns = [_byte_column(encoder, j, own) for j, own in enumerate(columns)]
    return tuple(columns), _inputs(encoder), encoder.bounded


def _byte_column(encoder: Encoder, j: int, column: Column) -> Column:
    """Cut bytes off where the estimator does, that is at whole numbers."""
    centre, most = encoder.centre[j], (1 + 1e-9) * MOST * encoder.scale[j]
    if encoder.scale[j] == 0:
        return column
    least, most = np.ceil(centre - most), np.floor(centre + most)
    return replace(column, least=max(least, 0.0), most=min(most, 255.0))


def _inputs(encoder: Encoder) -> Inputs:
    n_levels = sum(own.n_inputs for own in encoder.categories)
    n_pieces, n_missing = len(encoder.pieces), len(encoder.missing)
    n_numbers = encoder.n_inputs - n_missing - n_levels - n_pieces
    counts = (n_numbers, n_missing, n_levels, n_pieces)
    kind = np.repeat(np.array(Kind, np.int8), counts)
    plain = _empty_inputs(
        kind, encoder.input_columns().astype(np.int32), bent=not encoder.bounded
    )
    measured = (kind == Kind.NUMBER) | (kind == Kind.PIECE)
    plain.centre[measured] = encoder.centre[measured]
    plain.scale[measured] = encoder.scale[measured]
    absent, present = encoder._flag_values
    plain.absent[~measured], plain.present[~measured] = (
        absent[~measured],
        present[~measured],
    )
    levels = [np.arange(own.n_inputs) for own in encoder.categories]
    plain.level[kind == Kind.LEVEL] = np.concatenate([*levels, []])
    plain.low[kind == Kind.PIECE] = encoder.pieces.low
    plain.width[kind == Kind.PIECE] = encoder.pieces.high - encoder.pieces.low
    return plain


def _empty_inputs(kind: np.ndarray, column: np.ndarray, *, bent: bool) -> Inputs:
    n = len(kind)
    centre, scale, low, width = np.zeros((4, n))
    level, (absent, present) = np.zeros(n, np.int32), np.zeros((2, n), np.float32)
    return Inputs(kind, column, centre, scale, low, width, level, absent, present, bent)


def _level_rows(X: Any, encoder: Encoder) -> np.ndarray:
    if not is_frame(X):
        import pandas as pd

        X = pd.DataFrame(np.asarray(X, dtype=object))
    levels = {own.column: own for own in encoder.categories}
    columns = [
        levels[j].codes(X) if j in levels else numbers(X, j) for j in range(X.shape[1])
    ]
    return np.column_stack(columns).astype(np.float64)


# ---- what `cofire train` did to the columns of a file before -------------------------


@dataclass(frozen=True)
class _Step:
    """How a column of a file becomes features: (value - origin) / unit, or levels."""

    name: str
    fill: float | None = None
    origin: float = 0.0
    unit: float = 1.0
    levels: tuple[str, ...] | None = None
    missing: bool = False
    """Whether the last feature, or level, says that the value is missing."""

    @property
    def n_features(self) -> int:
        return 1 + self.missing if self.levels is None else len(self.levels)

    def as_column(self) -> Column:
        n_stand_ins = 0 if self.levels is None else int(self.missing)
        return Column(self.name, self.levels, self.fill, n_stand_ins=n_stand_ins)


def _steps(steps: Any) -> list[_Step]:
    if not isinstance(steps, Columns):
        fill = [None] * steps.n_features if steps.fill is None else steps.fill.tolist()
        unit = np.where(steps.unit == 0, 1.0, steps.unit)
        parts = zip(fill, steps.origin.tolist(), unit.tolist(), strict=True)
        return [_Step(f"x{j}", *part) for j, part in enumerate(parts)]
    return [_column_step(own) for own in steps.columns]


def _column_step(own: Any) -> _Step:
    if isinstance(own, DateColumn):
        raise _no_dates(own.name)
    if isinstance(own, WordColumn):
        fill = None if own.fill is None else float(own.categories.index(own.fill))
        if not own.missing:
            return _Step(own.name, fill, levels=own.categories)
        levels = (*own.categories, "(missing)")
        fill = float(len(own.categories))
        return _Step(own.name, fill, levels=levels, missing=True)
    return _Step(own.name, own.fill, own.origin, own.unit, missing=own.missing)


def _after(steps: list[_Step], inputs: Inputs) -> tuple[tuple[Column, ...], Inputs]:
    """Let inputs come from the columns of a file instead of the features made of them.

    Of two scales after each other one remains. A feature that is 0 or 1, for a level,
    makes the input of a level, one that says "missing" that of a flag.
    """
    columns = tuple(own.as_column() for own in steps)
    widths = [own.n_features for own in steps]
    level = np.concatenate([np.arange(width) for width in widths])[inputs.column]
    column = np.repeat(np.arange(len(steps)), widths)[inputs.column].astype(np.int32)
    is_level = np.array([own.levels is not None for own in steps])[column]
    origin, unit = np.array([[own.origin, own.unit] for own in steps])[column].T
    # A piece keeps centre and scale, which are of its value from 0 to 1.
    is_flag = ~is_level & (level == 1)
    is_truth = is_level | is_flag
    number = (inputs.kind == Kind.NUMBER) & ~is_truth
    kind = np.where(is_level, np.int8(Kind.LEVEL), inputs.kind)
    absent, present = _of_zero_and_one(inputs)
    return columns, replace(
        inputs,
        kind=np.where(is_flag, np.int8(Kind.MISSING), kind),
        column=column,
        centre=np.where(number, origin + unit * inputs.centre, inputs.centre),
        scale=np.where(number, unit * inputs.scale, inputs.scale),
        low=origin + unit * inputs.low,
        width=unit * inputs.width,
        level=np.where(is_level, level, inputs.level).astype(np.int32),
        absent=np.where(is_truth, absent, inputs.absent),
        present=np.where(is_truth, present, inputs.present),
    )


def _of_zero_and_one(inputs: Inputs) -> np.ndarray:
    """Return what inputs of numbers make of 0 and of 1: (2, n_inputs) float32."""
    values = np.repeat([[0.0], [1.0]], len(inputs), axis=1)
    if inputs.bent:
        standardise(values, inputs.centre, inputs.scale, bounded=False)
    return values.astype(np.float32)


def _values(frame: Any, column: Any) -> np.ndarray:
    """Return a column of a file as numbers, or as the numbers of its levels."""
    if not isinstance(column, WordColumn):
        return numbers(frame, frame.columns.get_loc(column.name))
    known = {text: i for i, text in enumerate(column.categories)}
    texts = words(frame, column.name)
    return np.array([np.nan if t is None else known.get(t, -1) for t in texts], float)
