"""Users' own files: CSV, Parquet, NPZ, MAT and libsvm, read into a Table."""

import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from cofire.data.hints import hinted, of_decimal_commas, of_header
from cofire.errors import unknown_name

MOST_WORDS = 400
"""Characters of what a parser says of a file."""
MOST_CLASSES = 20
"""Whole numbers of more different values than these are taken for quantities."""


@dataclass(frozen=True)
class Reading:
    """How a file is to be read, beyond what its name says."""

    target: str | None = None
    """Column of CSV and Parquet, by name or number; key of NPZ and MAT."""
    labelled: bool = True
    """Whether there must be a target; else it is left aside where there is one."""
    header: bool = True
    """Whether the first line of a CSV file holds the names of its columns."""
    separator: str | None = None
    """Between the values of a CSV file; None: a comma, in .tsv files a tab."""
    text: Collection[str] = field(default_factory=frozenset)
    """Columns whose values are words even where they look like numbers."""
    first_index: int | None = None
    """Number of the first feature of a libsvm file; None: 0 if that occurs, else 1."""
    n_columns: int | None = None
    """Columns that a CSV file without a header must have, its target among them; it may
    lack the target where that is not asked for. None: any number."""
    by_name: bool = False
    """Whether the target is a name even where it looks like a column's number."""
    decimal: str | None = None
    """Before the decimals of a CSV file; None: a point."""
    samples: str | None = None
    """Key of the samples in NPZ and MAT; None: X."""


@dataclass(frozen=True, eq=False)
class Table:
    """Samples as a file has them: X and, where they were asked for, labels y.

    X is a pandas DataFrame (CSV, Parquet), an array (NPZ, MAT), or sparse in CSR form.
    """

    X: Any
    y: np.ndarray | None
    target: str | None = None
    first_index: int | None = None
    n_columns: int | None = None
    """Of a CSV file without a header: these alone go by their number."""
    samples: str | None = None
    """Key of X in NPZ and MAT, if it was named."""
    dropped: tuple[str, ...] = ()
    """Columns that X had in the file, and that were left out."""
    notes: tuple[str, ...] = ()
    """What looks odd in the file."""


def read_table(path: Path, reading: Reading | None = None) -> Table:
    """Read a file by the kind that its name says.

    The target of CSV and Parquet files is the last column unless another one is named,
    that of NPZ and MAT files the array `y` beside the array `X` unless other ones are
    named, that of libsvm files the label. Text labels stay text.
    """
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in READERS:
        raise unknown_name("kind of file", suffix, READERS)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file.")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    with _naming(path):
        table = READERS[suffix.lower()](path, reading or Reading())
    if table.X.shape[0] == 0:
        raise ValueError(f"{path} has no rows.")
    if table.X.shape[1] == 0:
        raise ValueError(f"{path} has no column beside the target.")
    return table


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in one line which file it was; a parser may meet nonsense with any error."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ImportError) or str(path) in str(error):
            raise
        words = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, UnicodeDecodeError):
            words = f"this is not text in UTF-8 ({words})."
        raise ValueError(f"{path}: {words[:MOST_WORDS]}") from error


def _read_csv(path: Path, reading: Reading) -> Table:
    pandas = _pandas(path)
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
            _refuse_twice(path, named)  # pandas would call the second another name
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
    table = replace(_from_frame(path, frame, reading), notes=tuple(notes))
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
        target = _target_name(path, names, reading)
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


def _read_parquet(path: Path, reading: Reading) -> Table:
    try:
        frame = _pandas(path).read_parquet(path)
    except ImportError as error:
        raise _missing_package(path, "pyarrow") from error
    return _from_frame(path, frame.rename(columns=str), reading)


def _from_frame(path: Path, frame: Any, reading: Reading) -> Table:
    names = list(frame.columns)
    _refuse_twice(path, names)
    target = _target_name(path, names, reading)
    if target is None:
        return Table(frame, None)
    X = frame.drop(columns=target)
    if not reading.labelled:
        return Table(X, None, target)
    return Table(X, _labels(frame[target].to_numpy(dtype=object), target), target)


def _refuse_twice(path: Path, names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{path}: the name {twice!r} stands above two columns.")


def _target_name(path: Path, names: list[str], reading: Reading) -> str | None:
    target = reading.target
    if target is None:
        return names[-1] if reading.labelled else None
    if target in names:
        return target
    is_number = target.lstrip("-").isdecimal() and not reading.by_name
    if is_number and -len(names) <= int(target) < len(names):
        return names[int(target)]
    if reading.labelled:
        raise unknown_name(f"column (target, in {path})", target, names)
    return None


def _read_npz(path: Path, reading: Reading) -> Table:
    # Else numpy takes it for a pickle, and advises to trust it.
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not a whole .npz file.")
    with np.load(path) as arrays:
        return _from_arrays(path, arrays, reading)


def _read_mat(path: Path, reading: Reading) -> Table:
    from scipy.io.matlab import loadmat, matfile_version

    if matfile_version(path)[0] == 2:  # HDF5, which SciPy does not read
        raise ValueError(
            f"{path}: MAT files of version 7.3 are not read. In MATLAB, save(..., "
            "'-v7') writes one that is."
        )
    found = loadmat(path)
    arrays = {key: v for key, v in found.items() if not key.startswith("__")}
    return _from_arrays(path, arrays, reading)


def _from_arrays(path: Path, arrays: Mapping[str, Any], reading: Reading) -> Table:
    samples = reading.samples or "X"
    X = _pick(path, arrays, samples, "--samples")
    X = X if scipy.sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or (X.dtype.kind not in "iufb"):
        raise ValueError(
            f"{path}: {samples} must be a table of numbers with 2 dimensions (rows, "
            f"features), got {X.dtype} with {X.ndim}."
        )
    X = scipy.sparse.csr_array(X) if scipy.sparse.issparse(X) else X
    if not reading.labelled:
        return Table(X, None, reading.target, samples=reading.samples)
    name = reading.target or "y"
    y = np.asarray(_pick(path, arrays, name, "--target")).squeeze()
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise ValueError(
            f"{path}: {name} must hold one label for each of the {X.shape[0]} rows of "
            f"{samples}, got shape {y.shape}."
        )
    return Table(X, _labels(y, name), name, samples=reading.samples)


def _pick(path: Path, arrays: Mapping[str, Any], name: str, option: str) -> Any:
    for key in arrays:
        if key.lower() == name.lower():
            return _unpickled(path, arrays, key)
    raise ValueError(
        f"{path} has no array {name!r}; it has {', '.join(arrays)}. Say {option} NAME."
    )


def _unpickled(path: Path, arrays: Mapping[str, Any], key: str) -> Any:
    try:
        return arrays[key]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(
            f"{path}: the array {key!r} holds Python objects, which are not read: they "
            "may hold programs. Save it as numbers, or words with "
            f"np.savez(..., {key}={key}.astype(str))."
        ) from error


def _read_libsvm(path: Path, reading: Reading) -> Table:
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), zero_based=True, dtype=np.float64)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{path} is not in libsvm's form: {error}") from error
    X, first = scipy.sparse.csr_array(X), reading.first_index
    uses_0 = bool((X.indices == 0).any())
    if first is None:
        first = 0 if uses_0 else 1
    elif first == 1 and uses_0:
        raise ValueError(f"{path} has a feature 0; those of the model begin with 1.")
    y = _labels(y, "label") if reading.labelled else None
    return Table(X[:, first:], y, None, first)


def task_of(y: np.ndarray) -> str:
    """Guess what labels are for: few whole numbers, or words, are classes.

    >>> [task_of(np.array(y)) for y in (["no", "yes"], [0, 1, 1], [0.5, 1, 2])]
    ['classification', 'classification', 'regression']
    """
    few = y.dtype.kind == "i" and len(np.unique(y)) <= MOST_CLASSES
    return "classification" if few or y.dtype.kind == "U" else "regression"


def _labels(values: np.ndarray, name: str) -> np.ndarray:
    """Whole numbers as int64, other numbers as float64, all else as text."""
    missing = np.array([_is_missing(value) for value in values])
    if missing.any():
        raise ValueError(
            f"target {name!r}: {missing.sum()} of {len(values)} rows have no value. "
            "Remove these rows: a target is not guessed."
        )
    if not all(isinstance(v, int | float | np.number) for v in values) or any(
        isinstance(v, bool | np.bool_) for v in values
    ):
        return np.array([str(value) for value in values])
    try:
        numbers = values.astype(np.float64)
    except OverflowError:
        numbers = np.array([np.inf])
    if not np.isfinite(numbers).all():
        raise ValueError(f"target {name!r} has values that are not finite.")
    if (numbers != np.rint(numbers)).any() or (np.abs(numbers) >= 2**53).any():
        # Beyond 2**53 float64 does not tell neighbours apart: exact only as integers.
        exact = all(isinstance(value, int | np.integer) for value in values)
        fits = exact and all(-(2**63) <= value < 2**63 for value in values)
        return values.astype(np.int64) if fits else numbers
    return numbers.astype(np.int64)


def _is_missing(value: Any) -> bool:
    # pandas' own missing values compare to nothing, not even to themselves.
    return value is None or type(value).__name__ == "NAType" or value != value


def _pandas(path: Path) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise _missing_package(path, "pandas") from error
    return pandas


def _missing_package(path: Path, package: str) -> ImportError:
    return ImportError(
        f"{path}: reading {path.suffix} files needs {package}: pip install "
        "'cofire[data]'."
    )


READERS: dict[str, Callable[[Path, Reading], Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".parquet": _read_parquet,
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".libsvm": _read_libsvm,
    ".svm": _read_libsvm,
    ".svmlight": _read_libsvm,
}
