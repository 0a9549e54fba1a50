"""Export runs to CSV and Parquet, and import them."""

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from cofire.lab.experiments.grid import Run
from cofire.lab.experiments.results import COLUMNS, EPOCH_CURVES, plain_type
from cofire.lab.experiments.store import RUN_FIELDS, Store, run_of
from cofire.persistence.atomic import write_atomically

RUN_COLUMNS = (
    *RUN_FIELDS,
    *COLUMNS,
    *("finished", "cofire", "notes", "machine"),
)
EPOCH_COLUMNS = (*RUN_FIELDS, "epoch", *EPOCH_CURVES)
_RUN_TYPES = {name: plain_type(hint) for name, hint in get_type_hints(Run).items()}
_KINDS: dict[str, type] = {
    **dict.fromkeys(EPOCH_CURVES, float),
    **{name: kind for name, (kind, _) in _RUN_TYPES.items()},
    **{name: column.kind for name, column in COLUMNS.items()},
    "epoch": int,
}
"""What is in a column; in those that are not here: text."""
_MAY_BE_EMPTY = {
    *(name for name, (_, optional) in _RUN_TYPES.items() if optional),
    *(name for name, column in COLUMNS.items() if column.optional),
}


def export_runs(store: Store, file: Path, *, curves: bool = False) -> int:
    """Write the finished runs, one line per run or per epoch; return how many lines."""
    if file.suffix not in (".csv", ".parquet"):
        raise ValueError(
            f"{file}: the name must end in .csv or .parquet, got {file.suffix!r}."
        )
    columns = EPOCH_COLUMNS if curves else RUN_COLUMNS
    rows = _epochs(store) if curves else _runs(store)
    write = _parquet if file.suffix == ".parquet" else _csv
    content, n = write(rows, columns)
    if n == 0:
        what = "curves of finished runs" if curves else "finished runs"
        raise ValueError(f"{store.path} has no {what}.")
    write_atomically(file, content)
    return n


def _runs(store: Store) -> Iterator[dict[str, Any]]:
    for row in store.rows(status="done"):
        yield {name: row[name] for name in RUN_COLUMNS}


def _epochs(store: Store) -> Iterator[dict[str, Any]]:
    for row in store.rows(status="done"):
        run = {name: row[name] for name in RUN_FIELDS}
        found = store.curves(row["id"], EPOCH_CURVES)
        n_epochs = max(map(len, found.values()), default=0)
        for epoch in range(n_epochs):
            values = {name: float(curve[epoch]) for name, curve in found.items()}
            yield run | {"epoch": epoch + 1} | values


def _csv(rows: Iterator[dict[str, Any]], columns: tuple[str, ...]) -> tuple[bytes, int]:
    text, n = io.StringIO(), 0
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row)
        n += 1
    return text.getvalue().encode(), n


def _parquet(
    rows: Iterator[dict[str, Any]], columns: tuple[str, ...]
) -> tuple[bytes, int]:
    pa, pq = _pyarrow()
    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    schema = pa.schema([(name, types[_KINDS.get(name, str)]) for name in columns])
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for row in rows:
        for name, column in values.items():
            column.append(row.get(name))
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pydict(values, schema=schema), file)
    return file.getvalue(), len(values["data"])


def read_runs(file: Path) -> list[dict[str, Any]]:
    """Read what `export_runs` wrote, a row per run; refuse values that are wrong.

    An export by an older cofire may lack columns that were added later.
    """
    if file.suffix == ".parquet":
        names, lines = _parquet_lines(file)
    else:
        names, lines = _csv_lines(file)
    added = {name for name, column in COLUMNS.items() if column.since > 1}
    missing = set(RUN_COLUMNS) - set(names) - added
    if missing:
        raise ValueError(
            f"{file} is not an export of runs: it lacks {', '.join(sorted(missing))}."
        )
    typed = (_typed(row, f"{file}, line {number}") for number, row in lines)
    return [_with_old_defaults_named(row) for row in typed]


def _with_old_defaults_named(row: dict[str, Any]) -> dict[str, Any]:
    """Rename what version 0.1 called the default, as the store's migration does."""
    if row["profile"] != "default" or "networks" in json.loads(row["notes"] or "{}"):
        return row
    return row | {"profile": "defaults_0_1"}


def take_over(store: Store, rows: list[dict[str, Any]]) -> tuple[int, int]:
    """Put finished runs into a store, without curves; return how many are new to it.

    A run that the store has already stays as it is; the second number counts those
    that have another score there.
    """
    there = {row["key"]: row["score"] for row in store.rows(status="done")}
    keyed = {run_of(row).key: row for row in rows}
    new = [row for key, row in keyed.items() if key not in there]
    other = sum(
        there.get(key, row["score"]) != row["score"] for key, row in keyed.items()
    )
    store.take_over(new)
    return len(new), other


Lines = list[tuple[int, dict[str, str]]]


def _csv_lines(file: Path) -> tuple[list[str], Lines]:
    # A spreadsheet may have put a byte order mark before the first name.
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        lines = [(reader.line_num, row) for row in reader]
        return list(reader.fieldnames or ()), lines


def _parquet_lines(file: Path) -> tuple[list[str], Lines]:
    pa, pq = _pyarrow()
    try:
        table = pq.read_table(file)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{file} is not a Parquet file: {error}") from None
    lines = [
        (i, {name: "" if v is None else str(v) for name, v in row.items()})
        for i, row in enumerate(table.to_pylist(), start=1)
    ]
    return table.column_names, lines


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("Parquet needs pyarrow: pip install 'cofire[data]'") from None
    return pa, pq


def _typed(row: dict[str, str], where: str) -> dict[str, Any]:
    return {name: _value(name, row.get(name), where) for name in RUN_COLUMNS}


def _value(name: str, text: str | None, where: str) -> Any:
    if not text:
        if name in _MAY_BE_EMPTY:
            return None
        raise ValueError(f"{where}: {name} is empty.")
    try:
        kind = _KINDS.get(name, str)
        if kind is int:
            return int(text)
        if kind is float:
            value = float(text)
            # Accuracies and R² are never above 1.
            if not math.isfinite(value) or (name.endswith("score") and value > 1):
                raise ValueError
            return value
        if name in ("options", "notes", "machine") and not isinstance(
            json.loads(text), dict
        ):
            raise ValueError
    except ValueError:
        raise ValueError(f"{where}: {name} cannot be {text!r}.") from None
    return text
