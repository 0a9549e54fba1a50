"""Streams: the same rows from every kind of source, again and again."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from cofire.data import Chunk, Stream
from helpers.streams import chunked, make_frame, make_rows, save_csr

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")


def whole(stream, order=None):
    """All rows of a stream, joined."""
    chunks = [chunk for _, chunk in stream.chunks(order)]
    X = [chunk.X for chunk in chunks]
    if scipy.sparse.issparse(X[0]):
        X = scipy.sparse.vstack(X).toarray()
    elif hasattr(X[0], "iloc"):
        X = pd.concat(X, ignore_index=True)
    else:
        X = np.concatenate(X)
    y = None if chunks[0].y is None else np.concatenate([c.y for c in chunks])
    return X, y


def table_of(X, y):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    return frame.assign(y=y)


def arrays(folder, X, y):
    return Stream(X, y, memory_budget="1MB")


def mapped(folder, X, y):
    np.save(folder / "X.npy", X)
    return Stream(np.load(folder / "X.npy", mmap_mode="r"), y, memory_budget="1MB")


def npy(folder, X, y):
    np.save(folder / "X.npy", np.column_stack([X, y]))
    return Stream(folder / "X.npy", memory_budget="1MB")


def npy_first(folder, X, y):
    np.save(folder / "X.npy", np.column_stack([y, X]))
    return Stream(folder / "X.npy", target=0, memory_budget="1MB")


def two_npy(folder, X, y):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    return Stream(folder / "X.npy", target=folder / "y.npy", memory_budget="1MB")


def parquet(folder, X, y):
    path = folder / "rows.parquet"
    table_of(X, y).to_parquet(path, row_group_size=130)
    return Stream(path, target="y", memory_budget="1MB")


def parquets(folder, X, y):
    paths = [folder / "a.parquet", folder / "b.parquet"]
    table_of(X[:300], y[:300]).to_parquet(paths[0])
    table_of(X[300:], y[300:]).to_parquet(paths[1], row_group_size=200)
    return Stream([str(path) for path in paths], target="y")


def arrow(folder, X, y):
    table = pa.Table.from_pandas(table_of(X, y), preserve_index=False)
    return Stream(table, target="y", memory_budget="1MB")


class Speaks:
    """What a table of Polars or a relation of DuckDB shows to others."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def speaks_arrow(folder, X, y):
    table = pa.Table.from_pandas(table_of(X, y), preserve_index=False)
    return Stream(Speaks(table), target="y")


def reader_made_anew(folder, X, y):
    table = pa.Table.from_pandas(table_of(X, y), preserve_index=False)
    return Stream(lambda: table.to_reader(max_chunksize=90), target="y")


def function(folder, X, y):
    return Stream(chunked(X, y))


def listed(folder, X, y):
    return Stream(list(chunked(X, y)()))


def frames(folder, X, y):
    table = table_of(X, y)
    return Stream([table[:333], table[333:]], target="y")


def csr(folder, X, y):
    return Stream(save_csr(folder / "csr", np.nan_to_num(X), y), memory_budget="1MB")


def csr_array(folder, X, y):
    return Stream(scipy.sparse.csr_array(np.nan_to_num(X)), y, memory_budget="1MB")


def libsvm(folder, X, y):
    path = str(folder / "rows.svm")
    dump_svmlight_file(np.nan_to_num(X), y, path, zero_based=False)
    return Stream(folder / "rows.svm", memory_budget="1MB")


SOURCES = [
    arrays,
    mapped,
    npy,
    npy_first,
    two_npy,
    parquet,
    parquets,
    arrow,
    speaks_arrow,
    reader_made_anew,
    function,
    listed,
    frames,
    csr,
    csr_array,
    libsvm,
]


@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_the_rows_of_all_sources_are_the_same_again_and_again(make, tmp_path):
    X, y = make_rows(700)
    stream = make(tmp_path, X, y)
    expected = np.nan_to_num(X) if make in (csr, csr_array, libsvm) else X
    for _ in range(2):
        found, labels = whole(stream)
        tolerance = 1e-15 if make is libsvm else 0  # 16 digits in the text
        found = np.asarray(found)
        assert np.allclose(found, expected, tolerance, tolerance, equal_nan=True)
        assert (labels == y).all()
    numbers = [number for number, _ in stream.chunks()]
    assert numbers == sorted(numbers)
    if stream.n_chunks is not None:
        assert set(numbers) == set(range(stream.n_chunks))


@pytest.mark.parametrize(
    "make",
    [arrays, npy, parquet, parquets, csr, libsvm],
    ids=lambda make: make.__name__,
)
def test_chunks_are_read_in_any_order(make, tmp_path):
    X, y = make_rows(3000)
    stream = make(tmp_path, X, y)
    assert stream.n_chunks > 1
    parts = {}
    for number, chunk in stream.chunks():
        parts.setdefault(number, []).append(np.asarray(chunk.y))
    order = np.random.default_rng(0).permutation(stream.n_chunks)
    expected = np.concatenate([v for number in order for v in parts[number]])
    assert (whole(stream, order)[1] == expected).all()


def test_a_parquet_file_keeps_its_columns_and_kinds(tmp_path):
    X, y = make_frame(500)
    X["whole"] = np.arange(500)
    X["gaps"] = pd.array([None, 1, 2, 3, 4] * 100, dtype="Int64")
    X["flag"] = X["x0"] > 0
    X["level"] = pd.Categorical(X["colour"])
    path = tmp_path / "rows.parquet"
    X.assign(label=y, w=1.5).to_parquet(path, row_group_size=100)
    stream = Stream(path, weight="w", target="label", drop=["x1"])
    chunk = next(iter(stream.chunks()))[1]
    assert list(chunk.X.columns) == [name for name in X.columns if name != "x1"]
    assert set(chunk.y) == {"yes", "no"} and (chunk.weight == 1.5).all()
    found, labels = whole(stream)
    assert (labels == y).all()
    assert (found["day"] == X["day"]).all()
    assert found["colour"].tolist() == found["level"].tolist() == X["colour"].tolist()
    assert found["gaps"].isna().sum() == 100
    assert found["flag"].sum() == X["flag"].sum()
    kinds = {tuple(map(str, chunk.X.dtypes)) for _, chunk in stream.chunks()}
    assert len(kinds) == 1


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("float32", "float32"), ("float64", "float64"), ("uint8", "uint8")],
)
def test_numbers_of_one_kind_stay_what_they_are(kind, expected, tmp_path):
    frame = pd.DataFrame(np.arange(60).reshape(20, 3).astype(kind), columns=list("abc"))
    frame.assign(y=np.arange(20)).to_parquet(tmp_path / "a.parquet")
    chunk = next(iter(Stream(tmp_path / "a.parquet", target="y").chunks()))[1]
    assert {str(k) for k in chunk.X.dtypes} == {expected}
    assert chunk.y.dtype == np.int64


def test_a_line_of_a_libsvm_file_may_be_longer_than_a_chunk(tmp_path):
    path = tmp_path / "long.svm"
    wide = " ".join(f"{i}:{i}.5" for i in range(1, 2000))
    path.write_text(f"1 1:1\n0 {wide}\n1 2:2\n\n# nothing\n0 3:3\n", encoding="utf-8")
    stream = Stream(path, memory_budget=1)
    assert stream.n_chunks > 3
    X, y = whole(stream)
    assert y.tolist() == [1, 0, 1, 0] and X.shape == (4, 1999)
    assert X[1].tolist() == [i + 0.5 for i in range(1, 2000)]


@pytest.mark.parametrize("make", [parquet, function, csr], ids=lambda m: m.__name__)
def test_a_split_takes_each_row_once(make, tmp_path):
    X, y = make_rows(2000)
    y = np.arange(2000)
    stream = make(tmp_path, X, y)
    rest, held = stream.split(0.25, seed=4)
    a, b = whole(rest)[1], whole(held)[1]
    assert sorted([*a, *b]) == y.tolist()
    assert 250 < len(b) < 750
    assert (whole(held)[1] == b).all()
    assert (whole(stream.split(0.25, seed=5)[1])[1].tolist()) != b.tolist()
    with pytest.raises(ValueError, match="is a part of another"):
        rest.split(0.5)
    with pytest.raises(ValueError, match="fraction must lie in"):
        stream.split(1.0)


# ---- what is refused ----------------------------------------------------------------


def test_what_can_be_read_once_is_refused():
    X, y = make_rows(100)
    with pytest.raises(TypeError, match="generator can be read once.*Stream.make_chu"):
        Stream(chunked(X, y)())
    table = pa.Table.from_pandas(table_of(X, y))
    with pytest.raises(TypeError, match="RecordBatchReader can be read once"):
        Stream(table.to_reader(), target="y")


def test_columns_and_arguments_that_do_not_fit_are_refused(tmp_path):
    X, y = make_rows(100)
    path = tmp_path / "a.parquet"
    table_of(X, y).to_parquet(path)
    with pytest.raises(ValueError, match="unknown column 'z'"):
        Stream(path, target="z")
    with pytest.raises(ValueError, match="unknown column 'q'"):
        Stream(path, target="y", drop=["q"])
    with pytest.raises(ValueError, match="y: rows of a file have their targets in it"):
        Stream(path, y)
    with pytest.raises(ValueError, match="y has 99 rows, X has 100"):
        Stream(X, y[1:])
    with pytest.raises(ValueError, match="target: the targets of an array are y"):
        Stream(X, target="y")
    with pytest.raises(ValueError, match="expected rows and columns"):
        Stream(X[0], y)
    with pytest.raises(ValueError, match="only an array has its targets beside it"):
        Stream(chunked(X, y), y)
    with pytest.raises(TypeError, match="cannot read rows from a int"):
        Stream(3)
    with pytest.raises(TypeError, match="in csc format: expected CSR"):
        Stream(scipy.sparse.csc_array(np.nan_to_num(X)), y)
    for name in ("buffer_rows", "sample_rows"):
        for value in (0, 1.5, True, "many"):
            with pytest.raises(ValueError, match=f"{name}=.*expected a number of rows"):
                Stream(X, y, **{name: value})
    with pytest.raises(ValueError, match="memory_budget='much'"):
        Stream(X, y, memory_budget="much")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    X, y = make_rows(100)
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        Stream(tmp_path / "none.parquet")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="of this kind cannot be read as a stream"):
        Stream(tmp_path / "rows.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="data.npy is missing"):
        Stream(tmp_path / "folder")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match="bad.npy is not an NPY file"):
        Stream(tmp_path / "bad.npy")
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="target=9: .* has 6 columns"):
        Stream(tmp_path / "X.npy", target=9)
    with pytest.raises(ValueError, match="has no named columns"):
        Stream(tmp_path / "X.npy", drop=["a"])
    (tmp_path / "bad.svm").write_text("what is this\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not in the format of libsvm"):
        list(Stream(tmp_path / "bad.svm").chunks())
    table_of(X, y).to_parquet(tmp_path / "a.parquet")
    table_of(X[:, 1:], y).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="b.parquet has other columns than"):
        Stream([tmp_path / "a.parquet", tmp_path / "b.parquet"], target="y")


def test_rows_of_a_chunk_are_taken_by_slice_and_mask():
    X, y = make_rows(10)
    chunk = Chunk(X, y)
    assert chunk.rows(slice(2, 5)).n_rows == 3
    assert (chunk.rows(y > 0).y == 1).all()
