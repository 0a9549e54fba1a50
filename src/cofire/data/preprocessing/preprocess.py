"""Preprocessing: how rows become features, learnt from the training rows.

It is kept as numbers and names, so that a model file can hold it without any code.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cofire.data.catalog.dataset import Dataset, Samples
from cofire.data.catalog.lookup import entry_of
from cofire.data.preprocessing.column import DateColumn, NumberColumn, WordColumn
from cofire.data.preprocessing.columns import Columns
from cofire.data.preprocessing.features import Features
from cofire.data.preprocessing.kinds import Kind
from cofire.data.preprocessing.paper import paper_scale
from cofire.data.preprocessing.row_sketch import RowSketch
from cofire.data.tables.table import Table

Plain = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """How the rows of a file become the features that the network takes."""

    steps: Columns | Features
    scale: str
    missing: str | None = None
    target: str | None = None
    dataset: str | None = None
    """Name in the catalogue, if the model was trained on such a data set."""
    first_index: int | None = None
    """Number of the first feature of libsvm files."""
    n_columns: int | None = None
    """Number of columns, with the target, of a CSV file without a header."""
    samples: str | None = None
    """Key of the samples in NPZ and MAT files, if it is not X."""
    dropped: tuple[str, ...] = ()
    """Columns of the file that training left out."""
    ids: tuple[str, ...] = ()
    """Those of them that say which row it is: predictions show them."""
    na: tuple[str, ...] = ()
    """Texts in a CSV file that stand for a missing value."""
    trained_on: RowSketch | None = None
    """What tells rows that the model was trained on from others."""

    @classmethod
    def fit(
        cls,
        table: Table,
        *,
        scale: str = "standard",
        missing: str | None = None,
        text: Collection[str] = (),
        day_first: bool | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> Self:
        """Learn from the rows of a table, which are the ones to train on.

        scale: one of SCALES. missing: how gaps are filled, or "keep", which leaves them
        to an estimator with standardize=True; one of MISSING; None: they are refused.
        text: columns of numbers that are to be taken for words.
        day_first: the order of day and month in dates such as 03/04/2020, where no date
        of a column shows it. kinds: what the columns hold, if that is known already.

        >>> table = Table(np.array([[1.0], [3.0]]), None)
        >>> Preprocessing.fit(table).transform(np.array([[5.0]]))[0]
        array([[3.]], dtype=float32)
        """
        steps: Columns | Features
        if hasattr(table.X, "columns"):
            how: Plain = {"day_first": day_first, "kinds": kinds}
            steps = Columns.fit(table.X, scale, missing, text, **how)
        else:
            steps = Features.fit(table.X, scale, missing)
        return cls(
            steps,
            scale,
            missing,
            target=table.target,
            first_index=table.first_index,
            n_columns=table.n_columns,
            samples=table.samples,
            dropped=table.dropped,
            na=table.na,
        )

    @classmethod
    def of_paper(cls, raw: Dataset) -> Self:
        """Return what the CTRE paper does to a data set of the catalogue."""
        scale = entry_of(raw.name).paper_scale
        features = Features(None, *paper_scale(raw))
        return cls(features, scale, dataset=raw.name)

    @classmethod
    def nothing(cls, estimator: Any) -> Self:
        """Return the preprocessing of a model that takes its features as they are."""
        n, names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", ())
        if len(names):
            return cls(
                Columns(tuple(NumberColumn(n, None, 0, 1) for n in names)), "none"
            )
        return cls(Features(None, np.zeros(n), np.ones(n)), "none")

    def transform(self, X: Any) -> tuple[Samples, list[str]]:
        """Return rows of a file as features, and notes for the user."""
        if isinstance(self.steps, Columns):
            return self.steps.transform(X, {*self.dropped, *self.ids})
        return self.steps.transform(X)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns that it takes; empty if features have no names."""
        columns = self.steps.columns if isinstance(self.steps, Columns) else ()
        return [column.name for column in columns]

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features, such as "colour=red"; None if they have none."""
        if not isinstance(self.steps, Columns):
            return None
        return [name for own in self.steps.columns for name in own.feature_names]

    @property
    def may_be_shifted(self) -> bool:
        """Whether a file without the target would be read with shifted columns."""
        numbers = [*self.column_names, self.target or ""]
        uncounted = self.n_columns is None and all(n.isdecimal() for n in numbers)
        return uncounted and int(numbers[-1]) < max(map(int, numbers))

    @property
    def text_columns(self) -> frozenset[str]:
        """Columns of words, even if a file has only numbers in them."""
        columns = self.steps.columns if isinstance(self.steps, Columns) else ()
        return frozenset(c.name for c in columns if isinstance(c, WordColumn))

    def to_dict(self) -> Plain:
        """Return it as plain values, for JSON.

        >>> table = Table(np.array([[1.0], [3.0]]), None)
        >>> Preprocessing.fit(table).to_dict()["features"]
        {'fill': None, 'origin': [2.0], 'unit': [1.0]}
        """
        steps = self.steps
        return {
            "scale": self.scale,
            "missing": self.missing,
            "target": self.target,
            "dataset": self.dataset,
            "first_index": self.first_index,
            "n_columns": self.n_columns,
            "samples": self.samples,
            "dropped": list(self.dropped),
            **({"ids": list(self.ids)} if self.ids else {}),
            **({"na": list(self.na)} if self.na else {}),
            **({"trained_on": self.trained_on.to_dict()} if self.trained_on else {}),
            "columns": steps.to_list() if isinstance(steps, Columns) else None,
            "features": steps.to_dict() if isinstance(steps, Features) else None,
        }

    @classmethod
    def from_dict(cls, plain: Plain) -> Self:
        """Undo `to_dict`; anything else is a ValueError, TypeError or LookupError."""
        added: Plain = {"n_columns": None, "samples": None, "dropped": []}
        added |= {"ids": [], "na": [], "trained_on": None}
        plain = added | plain  # older files do not have these
        columns, features = plain.pop("columns"), plain.pop("features")
        for name in ("scale", "missing", "target", "dataset", "samples"):
            if not isinstance(plain[name], str | None):
                raise TypeError(f"{name} is not text")
        if plain["first_index"] not in (None, 0, 1):
            raise ValueError("first_index is neither 0 nor 1")
        if plain["n_columns"] is not None and type(plain["n_columns"]) is not int:
            raise TypeError("n_columns is not a number")
        for name in ("dropped", "ids", "na"):
            plain[name] = tuple(plain[name])
            if not all(type(one) is str for one in plain[name]):
                raise TypeError(f"{name}: expected texts")
        if plain["trained_on"] is not None:
            plain["trained_on"] = RowSketch.from_dict(plain["trained_on"])
        keep = plain["missing"] == "keep"
        steps = (
            Features.from_dict(features, keep=keep)
            if columns is None
            else Columns.from_list(columns, keep=keep)
        )
        return cls(steps, **plain)

    def summary(self) -> str:
        """Describe it in one line."""
        if self.dataset:
            return f"as the CTRE paper does with {self.dataset} ({self.scale})"
        kinds = f"{self.steps.n_features} features"
        if isinstance(self.steps, Columns):
            n_words = len(self.text_columns)
            n_dates = sum(isinstance(c, DateColumn) for c in self.steps.columns)
            n_numbers = len(self.steps.columns) - n_words - n_dates
            of_dates = f"{n_dates} of dates, " if n_dates else ""
            columns = "column" if n_numbers == 1 else "columns"
            numbers = f"{n_numbers} {columns} of numbers, {n_words} of words"
            kinds = f"{numbers}, {of_dates}{kinds}"
        treated = {None: "refused", "keep": "kept"}
        missing = treated.get(self.missing, f"filled with the {self.missing}")
        return f"{kinds}; scale {self.scale}; missing values {missing}"
