"""CSV files: values between separators, with or without a line of names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cofire.data.tables.frame import (
    from_frame,
    import_pandas,
    refuse_twice,
    target_name,
)
from cofire.data.tables.hints import hinted, of_decimal_commas, of_header
from cofire.data.tables.table import Reading, Table


def read_csv(path: Path, reading: Reading) -> Table:
    pandas = import_pandas(path)
    default = "\t" if ".tsv" in path.suffixes else ","
    decimal = reading.decimal or "."
    if len(decimal) != 1 or decimal.isalnum():
        raise ValueError(f"--decimal must be one sign, such as ',', got {decimal!r}.")
    how: dict[str, Any] = {"sep": reading.separator or default, "decimal": decimal}
    notes: list[str] = []
    first = _first_line(pandas, path, how)
    if reading.header:
        if _looks_like_data(first):
            raise ValueError(
                f"{path}: the first line holds numbers only. Say --no-header if it is "
                "data; else give the columns names."
            )
        named = [str(name) for name in first.iloc[0].dropna()]
        notes += of_header(named)
        with hinted(path, notes):
            refuse_twice(path, named)  # pandas would call the second another name
        words: Any = {name: str for name in reading.text}
        frame = pandas.read_csv(path, dtype=words, **how).rename(columns=str)
    else:
        names = _numbers_as_names(path, first.shape[1], reading)
        words = {i: str for i, name in enumerate(names) if name in reading.text}
        frame = pandas.read_csv(path, dtype=words, header=None, **how)
        frame.columns = names
        if len(names) < (reading.n_columns or 0):
            reading = replace(reading, target=None)  # the file is without it
    if frame.shape[1] == 1 and reading.labelled:
        raise ValueError(
            f"{path} has one column only, {frame.columns[0]!r}: a target and at least "
            "one feature were expected. Say --separator if it is not "
            f"{how['sep']!r}."
        )
    notes += of_decimal_commas(frame, reading.text)
    table = replace(from_frame(path, frame, reading), notes=tuple(notes))
    return table if reading.header else replace(table, n_columns=frame.shape[1])


def _first_line(pandas: Any, path: Path, how: dict[str, Any]) -> Any:
    try:
        return pandas.read_csv(path, header=None, nrows=1, **how)
    except pandas.errors.EmptyDataError as error:
        raise ValueError(
            f"{path} is empty: a table of rows and columns was expected."
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
        f"{path} has {n_found} columns; the file that the model was trained on had "
        f"{n_columns}, the target (column {reading.target}) among them: as many were "
        f"expected{but}. Columns without names go by their number."
    )


def _looks_like_data(first: Any) -> bool:
    return all(kind.kind in "iuf" for kind in first.dtypes) and not any(
        first.isna().any()
    )
