"""Columns of a DataFrame: which hold numbers, which hold categories, and their values.

pandas is not imported before a frame came.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from cofire.estimators.scaling import eps_of

MOST_LEVELS = 255
"""Levels of a column that have an input of their own."""
_LARGE = 1000
"""Rows from which on a level that occurs once has no input of its own."""
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame of pandas."""
    return all(hasattr(X, name) for name in ("dtypes", "columns", "iloc"))


def as_pandas(X: Any) -> Any:
    """Turn a frame of another library (Polars, Arrow) into one of pandas."""
    if is_frame(X) or not hasattr(X, "to_pandas"):
        return X
    return X.to_pandas()


def is_uniform(frame: Any) -> bool:
    """Whether it is an array of numbers with names: one plain dtype, or all sparse."""
    kinds = list(frame.dtypes)
    if kinds and all(hasattr(kind, "fill_value") for kind in kinds):  # SparseDtype
        return True
    plain = all(isinstance(k, np.dtype) and k.kind in "biufc" for k in kinds)
    return plain and len(set(kinds)) == 1


def number_columns(frame: Any) -> np.ndarray:
    """Say of each column whether it holds numbers; the others hold categories."""
    return np.array([_is_number(frame.iloc[:, j]) for j in range(frame.shape[1])], bool)


def _is_number(column: Any) -> bool:
    from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype

    if column.dtype == object:
        return infer_dtype(column, skipna=True) in _NUMBERS
    if isinstance(column.dtype, np.dtype):
        return True  # numbers stand for dates
    categorical = hasattr(column, "cat")
    number = is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype)
    return number and not categorical


def rounding(frame: Any, j: int) -> float:
    """Relative rounding of the numbers of a column."""
    return eps_of(getattr(frame.dtypes.iloc[j], "numpy_dtype", frame.dtypes.iloc[j]))


def numbers(frame: Any, j: int) -> np.ndarray:
    """Return a column as float64; what is missing is NaN."""
    column = frame.iloc[:, j]
    if getattr(column.dtype, "kind", None) == "M":
        raise TypeError(
            f"X: column {_named(frame, j)} holds dates, but did not in fit: convert "
            "them to what it held there."
        )
    if getattr(column.dtype, "kind", None) == "c":
        raise ValueError(f"X: Complex data not supported (column {_named(frame, j)}).")
    try:
        if column.dtype == object:
            column = column.where(column.notna(), np.nan)
        values = column.to_numpy(dtype=np.float64, copy=True, na_value=np.nan)
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"X: column {_named(frame, j)} must hold numbers, as in fit: {error}"
        ) from error
    if np.isinf(values).any():
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float64'), in "
            f"column {_named(frame, j)}."
        )
    return values


def texts(frame: Any, j: int) -> tuple[np.ndarray, list[str]]:
    """Return the categories of a column, and for each row which; -1 if it is missing.

    >>> import pandas as pd
    >>> texts(pd.DataFrame({"a": ["x", None, "y", "x"]}), 0)
    (array([ 0, -1,  1,  0]), ['x', 'y'])
    """
    import pandas as pd

    try:
        codes, found = pd.factorize(frame.iloc[:, j])
    except TypeError:  # not hashable: a list, an array
        values = frame.iloc[:, j].tolist()
        raise _neither(frame, j, next(v for v in values if not _hashable(v))) from None
    return codes, [_text(value, frame, j) for value in found.tolist()]


def _text(value: Any, frame: Any, j: int) -> str:
    """Word a category; equal numbers have the same text: 1, 1.0."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    raise _neither(frame, j, value)


def _neither(frame: Any, j: int, value: Any) -> TypeError:
    return TypeError(
        f"X: column {_named(frame, j)} holds {type(value).__name__} values, such as "
        f"{value!r}: convert them to numbers or text."
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _named(frame: Any, j: int) -> str:
    return repr(frame.columns[j])


@dataclass(frozen=True)
class Levels:
    """The categories of a column, each an input of 0 and 1."""

    column: int
    levels: tuple[str, ...]
    """Those with an input of their own, ascending."""
    rare: bool
    """Whether one more input stands for all others, also those that fit did not see."""
    missing: bool
    """Whether the last input stands for a missing value."""

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.levels) + self.rare + self.missing

    @classmethod
    def learn(cls, frame: Any, j: int, used: np.ndarray | None) -> Self:
        """Learn the levels of a column from the rows in use.

        The most frequent ones are kept; of those that are as frequent the first.
        """
        codes, found = texts(frame, j)
        codes = codes if used is None else codes[used]
        counts: dict[str, int] = {}
        for text, n in zip(
            found, np.bincount(codes[codes >= 0], minlength=len(found)), strict=True
        ):
            counts[text] = counts.get(text, 0) + int(n)
        seen = [text for text in counts if counts[text] > 0]
        least = 2 if len(codes) >= _LARGE else 1
        ranked = sorted(seen, key=lambda text: (-counts[text], text))[:MOST_LEVELS]
        kept = sorted(text for text in ranked if counts[text] >= least)
        return cls(j, tuple(kept), len(kept) < len(seen), bool((codes < 0).any()))

    def codes(self, frame: Any) -> np.ndarray:
        """Return which input of the column each row sets; -1 if none."""
        codes, found = texts(frame, self.column)
        known = {text: i for i, text in enumerate(self.levels)}
        other = len(self.levels) if self.rare else -1
        missing = self.n_inputs - 1 if self.missing else -1
        # The last one is what code -1 finds.
        inputs = np.array([*(known.get(t, other) for t in found), missing], np.int64)
        return inputs[codes]

    def names(self, column: str) -> list[str]:
        """Names of the inputs."""
        names = [f"{column}={level}" for level in self.levels]
        names += [f"{column}=(rare)"] * self.rare
        return names + [f"{column} missing"] * self.missing
