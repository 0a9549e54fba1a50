"""CSV files: values between separators, with or without a line of names."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from cofire.data.tables.frame import (
    from_frame,
    import_pandas,
    refuse_duplicates,
    target_name,
)
from cofire.data.tables.hints import hinted, of_decimal_commas, of_header
from cofire.data.tables.table import Reading, Table


def read_csv(path: Path, reading: Reading) -> Table:
    """Read a CSV file; `.tsv` in its name makes a tab the default separator."""
    pandas = import_pandas(path)
    default = "\t" if ".tsv" in path.suffixes else ","
    decimal = reading.decimal or "."
    if len(decimal) != 1 or decimal.isalnum():
        raise ValueError(
            f"`decimal` must be one punctuation character, such as ',', got "
            f"{decimal!r}."
        )
    how: dict[str, Any] = {"sep": reading.separator or default, "decimal": decimal}
    if reading.na:
        how["na_values"] = list(reading.na)
    notes: list[str] = []
    first = _first_line(pandas, path, how)
    if reading.header:
        if _looks_like_data(first):
            raise ValueError(
                f"{path}: the first line holds only numbers. Pass `header=False` if it "
                "is data; otherwise add a line with the names of the columns."
            )
        named = [str(name) for name in first.iloc[0].dropna()]
        notes += of_header(named)
        with hinted(path, notes):
            refuse_duplicates(path, named)  # pandas would rename the second one
        frame = _read(pandas, path, reading, how, None)
    else:
        names = _numbers_as_names(path, first.shape[1], reading)
        if len(names) < (reading.n_columns or 0):
            reading = replace(reading, target=None)  # the file lacks it
        frame = _read(pandas, path, reading, how, names)
    if frame.shape[1] == 1 and reading.labelled:
        raise ValueError(
            f"{path} has only one column, {frame.columns[0]!r}: expected a target and "
            f"at least one feature. Pass `separator` if values are not separated by "
            f"{how['sep']!r}."
        )
    notes += of_decimal_commas(frame, reading.text)
    about: dict[str, Any] = {"notes": tuple(notes), "na": tuple(reading.na)}
    table = replace(from_frame(path, frame, reading), **about)
    return table if reading.header else replace(table, n_columns=frame.shape[1])


def _read(
    pandas: Any,
    path: Path,
    reading: Reading,
    how: dict[str, Any],
    names: list[str] | None,
) -> Any:
    """Read the columns; names: theirs, if the file has none."""

    def frame_with(text: Collection[str]) -> Any:
        if names is None:
            given: dict[str, Any] = {"dtype": dict.fromkeys(text, str)}
        else:
            words = {i: str for i, name in enumerate(names) if name in text}
            given = {"dtype": words, "header": None}
        # In parts, a column of words would be numbers in those parts that have no other
        # words. A separator of several characters is read in one part anyway.
        if len(how["sep"]) == 1:
            given["low_memory"] = False
        frame = pandas.read_csv(path, **given, **how)
        return frame.rename(columns=str if names is None else names.__getitem__)

    frame = frame_with(reading.text)
    # pandas reads TRUE as True. Where that is a word, a file is read again as it stands
    # there: a model knows only the words it has seen.
    alone = frame.shape[1] == 1  # of a wrong separator, most likely
    target = None if alone else target_name(path, list(frame.columns), reading)
    booleans = {
        name
        for name, column in frame.items()
        if (column.dtype == object or name == target) and _has_booleans(column)
    }
    return frame_with({*reading.text, *booleans}) if booleans else frame


def _has_booleans(column: Any) -> bool:
    return column.map(type).eq(bool).any()


def _first_line(pandas: Any, path: Path, how: dict[str, Any]) -> Any:
    try:
        return pandas.read_csv(path, header=None, nrows=1, **how)
    except pandas.errors.EmptyDataError as error:
        raise ValueError(
            f"{path} is empty: expected a table of rows and columns. Check that it was "
            "written to the end."
        ) from error


def _numbers_as_names(path: Path, n_found: int, reading: Reading) -> list[str]:
    """Number columns without names as in the file that the model was trained on."""
    n_columns = reading.n_columns or n_found
    names = [str(i) for i in range(n_found)]
    if n_found == n_columns:
        return names
    if n_found == n_columns - 1 and not reading.labelled:
        names.append(str(n_found))
        target = target_name(path, names, reading)
        if target is not None:
            names.remove(target)
            return names
    but = "" if reading.labelled else f", or {n_columns - 1} without the target"
    raise ValueError(
        f"{path} has {n_found} columns; expected {n_columns}{but}, as in the file that "
        f"the model was trained on (its target is column {reading.target}). Columns "
        "without names are told apart by their number: add or remove some, or give "
        "both files a line of names and train again."
    )


def _looks_like_data(first: Any) -> bool:
    return all(kind.kind in "iuf" for kind in first.dtypes) and not any(
        first.isna().any()
    )
