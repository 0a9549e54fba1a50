import hashlib
import io
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from sklearn.model_selection import train_test_split

from cofire.data import (
    CATALOG,
    Dataset,
    load,
    min_max_scaled,
    paper_data,
    paper_parts,
    paper_split,
    standardised,
)
from cofire.data.catalog import lookup as catalog

DATA_FOLDER = os.environ.get("COFIRE_DATA", "")

# Table 1 of the paper: dimensions, train, test, classes. (It prints 7737 samples for
# Isolet, which are 7797: its own 6237 + 1560.)
TABLE_1 = {
    "isolet": (617, 6237, 1560, 26),
    "madelon": (500, 2000, 600, 2),
    "mnist": (784, 60000, 10000, 10),
    "fashion_mnist": (784, 60000, 10000, 10),
    "cifar10": (3072, 50000, 10000, 10),
    "cifar100": (3072, 50000, 10000, 100),
    "pcmac": (3289, 1554, 389, 2),
    "basehock": (4862, 1594, 399, 2),
}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("COFIRE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def data_folder(monkeypatch):
    """The real files, where there are some; the test is skipped where one is not."""
    monkeypatch.setenv("COFIRE_DATA", DATA_FOLDER)

    def needs(name):
        if not (Path(DATA_FOLDER) / f"{name}.npz").is_file() and name != "madelon":
            pytest.skip(f"{name}.npz is not in the folder that COFIRE_DATA names")
        return name

    return needs


def test_madelon_is_what_its_readme_says():
    madelon = load("madelon")
    assert madelon.X_train.shape == (2000, 500)
    assert madelon.X_test.shape == (600, 500)
    assert madelon.X_train.dtype == madelon.X_test.dtype == np.float32
    assert (madelon.X_train.min(), madelon.X_train.max()) == (0, 999)
    assert (madelon.X_test.min(), madelon.X_test.max()) == (37, 822)
    assert np.bincount(madelon.y_train).tolist() == [1000, 1000]
    assert np.bincount(madelon.y_test).tolist() == [300, 300]


def test_unknown_data_set_gets_a_suggestion():
    with pytest.raises(ValueError, match="unknown data set 'Madelom'.*'madelon'"):
        load("Madelom")


def test_the_data_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    assert catalog.locate("madelon").parent == catalog.BUNDLED
    copy = tmp_path / "madelon.npz"
    copy.write_bytes((catalog.BUNDLED / "madelon.npz").read_bytes())
    assert catalog.locate("madelon") == copy
    assert load("madelon").name == "madelon"


def test_a_damaged_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    (tmp_path / "madelon.npz").write_bytes(b"damaged")
    with pytest.raises(
        ValueError, match="madelon.npz is not the expected file.*sha256"
    ):
        load("madelon")


def test_a_file_that_is_nowhere_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path / "here"))
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path / "there")
    with pytest.raises(FileNotFoundError, match="here and .*there.*COFIRE_DATA"):
        catalog.locate("madelon")


def test_the_cache_comes_last(tmp_path, monkeypatch):
    cache = tmp_path / "cache" / "cofire"
    assert catalog.folders() == [catalog.BUNDLED, cache]
    cache.mkdir(parents=True)
    (cache / "madelon.npz").write_bytes(b"")
    assert catalog.locate("madelon").parent == catalog.BUNDLED
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path)
    assert catalog.locate("madelon").parent == cache


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ".cache/cofire"),
        ("darwin", "Library/Caches/cofire"),
        ("win32", "local/cofire/Cache"),
    ],
)
def test_every_system_has_its_cache(platform, expected, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(catalog.sys, "platform", platform)
    assert catalog.cache_folder() == tmp_path / expected


def test_the_same_values_in_other_bytes_are_accepted(tmp_path, monkeypatch):
    with np.load(catalog.BUNDLED / "madelon.npz") as arrays:
        np.savez(tmp_path / "madelon.npz", **arrays)
        changed = dict(arrays)
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    assert load("madelon").digest() == CATALOG["madelon"].content
    changed["X_test"][5, 7] += 1
    np.savez(tmp_path / "madelon.npz", **changed)
    with pytest.raises(ValueError, match="its values are not those of madelon"):
        load("madelon")


def test_no_pickle_is_ever_read(tmp_path, monkeypatch):
    file = io.BytesIO()
    np.savez(file, X_train=np.array([{"a": 1}], dtype=object))
    (tmp_path / "madelon.npz").write_bytes(file.getvalue())
    entry = CATALOG["madelon"]
    sha256 = hashlib.sha256(file.getvalue()).hexdigest()
    forged = type(entry)(**{**vars(entry), "sha256": sha256})
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path))
    monkeypatch.setitem(CATALOG, "madelon", forged)
    with pytest.raises(ValueError, match="allow_pickle"):
        load("madelon")


def test_standardised_is_fitted_on_the_training_rows_alone():
    X = np.array([[1, 5, 7], [3, 5, 9], [5, 5, 11]], np.float32)
    test = np.array([[3, 6, 13]], np.float32)
    raw = Dataset("toy", X, np.zeros(3), test, np.zeros(1), "", "")
    scaled = standardised(raw)
    sd = np.sqrt(8 / 3)  # divided by n, not n - 1
    expected = np.array([[-2, 0, -2], [0, 0, 0], [2, 0, 2]]) / [sd, 1, sd]
    np.testing.assert_allclose(scaled.X_train, expected, rtol=1e-6)
    np.testing.assert_allclose(scaled.X_test, [[0, 1, 4 / sd]], rtol=1e-6)
    assert scaled.X_train.dtype == np.float32
    assert raw.X_train[0, 0] == 1


@pytest.mark.parametrize("n", [2, 9, 10, 11, 1943, 2000])
def test_paper_split_is_scikit_learns(n):
    expected = train_test_split(np.arange(n), test_size=0.1, random_state=42)
    for ours, theirs in zip(paper_split(n), expected, strict=True):
        assert np.array_equal(ours, theirs)


def test_min_max_scaling_is_fitted_on_the_training_set():
    X = np.array([[1, 7, 0], [3, 7, 4]], np.float32)
    new = np.array([[5, 8, 2]], np.float32)
    y = np.array([0, 1])
    scaled = min_max_scaled(Dataset("x", X, y, new, y[:1], "", ""))
    assert scaled.X_train.tolist() == [[0, 0, 0], [1, 0, 1]]
    assert scaled.X_test.tolist() == [[2, 1, 0.5]]
    assert scaled.X_train.dtype == scaled.X_test.dtype == np.float32


def test_madelon_as_the_paper_has_it():
    data = paper_data("madelon")
    assert np.abs(data.X_train.mean(axis=0)).max() < 1e-6
    assert np.abs(data.X_train.std(axis=0) - 1).max() < 1e-5


@pytest.mark.parametrize("low", [0, 2])
def test_sparse_counts_are_scaled_like_dense_ones(low):
    rng = np.random.default_rng(0)
    X, new = (rng.poisson(0.5, (n, 9)).astype(np.uint8) for n in (30, 20))
    X[:, 3] += low  # a word that every text has; in one of the new ones it is missing
    new[0, 3] = 0
    X[:, 5] = 4
    y = np.zeros(30, int)
    dense = min_max_scaled(Dataset("x", X, y, new, y[:20], "", ""))
    rows = [scipy.sparse.csr_array(part) for part in (X, new)]
    sparse = min_max_scaled(Dataset("x", rows[0], y, rows[1], y[:20], "", ""))
    assert sparse.X_train.format == "csr" and sparse.X_train.dtype == np.float32
    assert np.array_equal(sparse.X_train.toarray(), dense.X_train)
    assert np.array_equal(sparse.X_test.toarray(), dense.X_test)
    assert sparse.X_train.nnz == np.count_nonzero(dense.X_train)


def test_pixels_are_scaled_without_wrapping_around():
    X = np.array([[10, 0], [250, 0]], np.uint8)
    new = np.array([[0, 3]], np.uint8)
    y = np.array([0, 1])
    scaled = min_max_scaled(Dataset("x", X, y, new, y[:1], "", ""))
    assert scaled.X_train.tolist() == [[0, 0], [1, 0]]
    np.testing.assert_allclose(scaled.X_test, [[-10 / 240, 3]], rtol=1e-6)


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_of_the_paper(name, data_folder):
    dimensions, n_train, n_test, n_classes = TABLE_1[name]
    data, entry = load(data_folder(name)), CATALOG[name]
    assert data.digest() == entry.content
    assert data.X_train.shape == (entry.n_train, entry.n_features)
    assert data.X_test.shape == (entry.n_test, entry.n_features)
    assert entry.n_features == dimensions
    assert entry.n_train + entry.n_test == n_train + n_test
    assert len(np.unique(data.y_train)) == entry.n_classes == n_classes
    if name != "isolet":  # the paper does not use its official split
        assert (entry.n_train, entry.n_test) == (n_train, n_test)
    if "pixels" in entry.features:
        assert data.X_train.dtype == data.X_test.dtype == np.uint8
        assert (data.X_train.min(), data.X_train.max()) == (0, 255)


def test_the_papers_data_can_be_split_anew():
    parts, same, other, paper = (
        paper_parts("madelon", split) for split in (3, 3, 4, None)
    )
    assert [len(y) for _, y in parts] == [len(y) for _, y in paper]
    for (X, y), (X_same, y_same) in zip(parts, same, strict=True):
        assert np.array_equal(X, X_same) and np.array_equal(y, y_same)
        assert X.dtype == np.float32
    assert not np.array_equal(parts[2][0], other[2][0])
    X = np.concatenate([parts[0][0], parts[1][0]])  # what the scale was fitted on
    assert np.allclose(X.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(X.std(axis=0), 1, atol=1e-3)


def test_the_papers_rows_can_have_another_scale():
    paper, standard, minmax = (
        paper_parts("madelon", scale=scale) for scale in (None, "standard", "minmax")
    )
    for (X, y), (X_same, y_same), (X_other, _) in zip(
        paper, standard, minmax, strict=True
    ):
        assert np.array_equal(X, X_same) and np.array_equal(y, y_same)
        assert X_other.dtype == np.float32 and not np.array_equal(X, X_other)
    fitted_on = np.concatenate([minmax[0][0], minmax[1][0]])
    assert (fitted_on.min(axis=0) == 0).all() and (fitted_on.max(axis=0) == 1).all()
    with pytest.raises(ValueError, match="scale"):
        paper_parts("madelon", scale="log")


@pytest.mark.parametrize("name", ["pcmac", "basehock"])
def test_standardised_texts_stay_sparse(name, data_folder):
    raw = load(data_folder(name))
    (X, _), (X_val, _), _ = paper_parts(name, scale="standard")
    X = scipy.sparse.vstack([X, X_val])
    assert X.nnz == raw.X_train.nnz
    spread = np.sqrt((X**2).mean(axis=0) - X.mean(axis=0) ** 2)
    used = X.max(axis=0).toarray().ravel() > 0
    assert np.allclose(spread[used], 1, atol=1e-4)


@pytest.mark.parametrize("name", ["pcmac", "basehock"])
def test_texts_as_the_paper_has_them(name, data_folder):
    raw, data = load(data_folder(name)), paper_data(name)
    assert raw.X_train.format == data.X_train.format == "csr"
    assert raw.X_train.dtype == np.uint8 and data.X_train.dtype == np.float32
    assert data.X_train.nnz <= raw.X_train.nnz
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    (X, y), (X_val, y_val), _ = paper_parts(name)
    assert X.shape[0] + X_val.shape[0] == data.X_train.shape[0] == len(y) + len(y_val)


def test_pictures_as_the_paper_has_them(data_folder):
    data = paper_data(data_folder("mnist"))
    assert data.X_train.dtype == np.float32
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    assert (data.X_train.max(axis=0) == 0).sum() == 67  # never inked, in MNIST


def test_isolet_as_the_paper_has_it(data_folder):
    isolet = load(data_folder("isolet"))
    assert isolet.X_train.shape == (6238, 617) and isolet.X_test.shape == (1559, 617)
    assert (isolet.X_train.min(), isolet.X_train.max()) == (-1, 1)
    data = paper_data("isolet")
    assert data.X_train.shape == (6237, 617) and data.X_test.shape == (1560, 617)
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    assert len(np.unique(data.y_train)) == 26
