import hashlib
import io
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from cofire.data import (
    CATALOG,
    Dataset,
    catalog,
    load,
    min_max_scaled,
    paper_data,
    paper_split,
    standardised,
)

DATA_FOLDER = os.environ.get("COFIRE_DATA", "")


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("COFIRE_DATA", raising=False)


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
    with pytest.raises(ValueError, match="madelon.npz is not the file.*sha256"):
        load("madelon")


def test_a_file_that_is_nowhere_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", str(tmp_path / "here"))
    monkeypatch.setattr(catalog, "BUNDLED", tmp_path / "there")
    with pytest.raises(FileNotFoundError, match="here and .*there.*COFIRE_DATA"):
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


@pytest.mark.skipif(
    not (Path(DATA_FOLDER) / "isolet.npz").is_file(),
    reason="isolet.npz is not in the folder that COFIRE_DATA names",
)
def test_isolet_as_the_paper_has_it(monkeypatch):
    monkeypatch.setenv("COFIRE_DATA", DATA_FOLDER)
    isolet = load("isolet")
    assert isolet.X_train.shape == (6238, 617) and isolet.X_test.shape == (1559, 617)
    assert (isolet.X_train.min(), isolet.X_train.max()) == (-1, 1)
    data = paper_data("isolet")
    assert data.X_train.shape == (6237, 617) and data.X_test.shape == (1560, 617)
    assert (data.X_train.min(), data.X_train.max()) == (0, 1)
    assert len(np.unique(data.y_train)) == 26
