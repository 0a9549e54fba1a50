"""Rows that come as they are: what is taken, what is refused and how."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone

from cofire import SparseMLPClassifier
from helpers.estimator_cases import (
    ESTIMATORS,
    classes,
    data_for,
    same_training,
    small,
)

NAN = float("nan")


def raw(of=SparseMLPClassifier, **how):
    return small(of, standardize=True, **how)


def with_gap(X, value=NAN):
    X = X.astype(np.float64)
    X[3, 1] = value
    return X


def table():
    X, y = classes()
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    return frame.assign(d=np.array(["x", "y", "z"])[y]), y


# ---- forms ---------------------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
def test_forms_of_the_same_numbers_give_the_same_bits(of):
    X, y = data_for(of)
    X = X.astype(np.float64)
    model = raw(of).fit(X, y)
    for other in (
        np.asfortranarray(X),
        X.tolist(),
        X.astype(object),
        X.astype(str),
        pd.DataFrame(X, columns=[f"x{i}" for i in range(12)]),
        pd.DataFrame(X, columns=[f"x{i}" for i in range(12)]).astype({"x3": object}),
    ):
        fitted = raw(of).fit(other, y)
        assert same_training(fitted, model)
        assert np.array_equal(fitted.predict(other), model.predict(X))


def test_missing_values_come_as_None_too():
    X, y = classes()
    gaps = with_gap(X)
    model = raw().fit(gaps, y)
    assert model.network_.sizes[0] == 13 + 12 * 4  # pieces
    named = X.astype(object)
    named[3, 1] = None
    assert same_training(raw().fit(named, y), model)
    frame = pd.DataFrame(gaps).astype("Float64").set_axis(list("abcdefghijkl"), axis=1)
    assert frame.iloc[3, 1] is pd.NA
    fitted = raw().fit(frame, y)
    assert fitted.input_names_[:13] == [*"abcdefghijkl", "b missing"]
    assert np.array_equal(fitted.predict(frame), model.predict(gaps))


def test_frames_of_other_libraries_are_converted():
    frame, y = table()

    class Frame:  # as Polars and Arrow have it
        def to_pandas(self):
            return frame

    model, other = raw().fit(frame, y), raw().fit(Frame(), y)
    assert same_training(other, model)
    assert other.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(other.predict(Frame()), model.predict(frame))


def test_a_frame_of_sparse_columns_is_sparse():
    X, y = classes()
    X[np.abs(X) < 1] = 0
    names = [f"x{i}" for i in range(12)]
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_matrix(X), columns=names)
    model = raw().fit(frame, y)
    assert model._fitted.encoder.sparse
    assert same_training(raw().fit(scipy.sparse.csr_array(X), y), model)


def test_an_array_of_text_is_taken_where_fit_saw_a_table():
    frame, y = table()
    model = raw().fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        got = model.predict_proba(frame.to_numpy(dtype=object))
    assert np.array_equal(got, model.predict_proba(frame))


def test_names_and_their_order_are_checked():
    frame, y = table()
    model = raw().fit(frame, y)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    message = "The feature names should match those that were passed during fit"
    for other in (frame[["d", "c", "b", "a"]], frame.rename(columns={"a": "e"})):
        with pytest.raises(ValueError, match=message):
            model.predict(other)
        with pytest.raises(ValueError, match=f"X_val.*{message}"):
            raw().fit(frame, y, X_val=other, y_val=y)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(other, y)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X has 3 features, but .* expecting 4"),
    ):
        model.predict(frame.to_numpy(dtype=object)[:, :3])


# ---- what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("of", ESTIMATORS)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame])
def test_infinity_is_refused(of, form):
    X, y = data_for(of)
    model = raw(of).fit(form(X), y)
    for value in (np.inf, -np.inf):
        bad = form(with_gap(X, value))
        with pytest.raises(ValueError, match="Input X contains infinity"):
            raw(of).fit(bad, y)
        with pytest.raises(ValueError, match="Input X contains infinity"):
            model.predict(bad)


def test_infinity_in_a_table_is_refused():
    frame, y = table()
    bad = frame.assign(b=np.inf)
    with pytest.raises(ValueError, match="Input X contains infinity.*column 'b'"):
        raw().fit(bad, y)
    with pytest.raises(ValueError, match="Input X contains infinity.*column 'b'"):
        raw().fit(frame, y).predict(bad)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_gaps_in_sparse_rows_are_refused(of):
    X, y = data_for(of)
    bad = scipy.sparse.csr_array(with_gap(X))
    message = "Input X contains NaN: 1 entries. A sparse X must not have missing values"
    with pytest.raises(ValueError, match=message):
        raw(of).fit(bad, y)
    model = raw(of).fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match=message):
        model.predict(bad)
    with pytest.raises(ValueError, match=f"X_val.*{message}"):
        raw(of).fit(scipy.sparse.csr_array(X), y, X_val=bad, y_val=y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_without_standardize_gaps_and_text_are_refused_with_a_hint(of):
    X, y = data_for(of)
    model = small(of, standardize=False)
    fitted = clone(model).fit(X, y)
    for call in (lambda X: model.fit(X, y), fitted.predict):
        with pytest.raises(ValueError, match="Input X contains NaN. standardize=True"):
            call(with_gap(X))
        text = pd.DataFrame(X).astype(object)
        text.iloc[3, 1] = "red"
        message = "could not convert string to float: 'red'. standardize=True takes"
        with pytest.raises(ValueError, match=message):
            call(text)


def test_the_missing_value_of_pandas_is_one_in_an_array_too():
    X, y = classes()
    gap = with_gap(X)
    marked = gap.astype(object)
    marked[np.isnan(gap)] = pd.NA
    model = raw().fit(marked, y)
    assert same_training(model, raw().fit(gap, y))
    assert np.array_equal(model.predict_proba(marked), model.predict_proba(gap))


def test_a_table_without_columns_is_refused():
    y = classes()[1]
    with pytest.raises(ValueError, match=r"0 feature\(s\) .*Give X columns"):
        raw().fit(pd.DataFrame(index=range(len(y))), y)


def test_text_in_an_array_is_refused():
    X, y = classes()
    text = X.astype(object)
    text[3, 1] = "red"
    message = "X: could not convert string to float: 'red'. Pass a DataFrame"
    for bad in (text, text.astype(str), text.tolist()):
        with pytest.raises(ValueError, match=message):
            raw().fit(bad, y)
        with pytest.raises(ValueError, match=message):
            raw().fit(X, y).predict(bad)


def test_one_row_of_a_table_comes_as_a_table():
    frame, y = table()
    model = raw().fit(frame, y)
    for row in (frame.iloc[0], [frame.iloc[0].to_dict()]):
        with pytest.raises(
            ValueError, match=r"Expected 2D array, got 1D.*iloc\[\[0\]\]"
        ):
            model.predict(row)
    assert model.predict(frame.iloc[[0]]) == model.predict(frame)[0]


def test_text_in_a_column_of_numbers_is_refused():
    frame, y = table()
    model = raw().fit(frame, y)
    with pytest.raises(ValueError, match="column 'b' must hold numbers, as in fit"):
        model.predict(frame.assign(b="red"))
    with pytest.raises(ValueError, match="column 'a' must hold numbers"):
        raw().fit(frame[["a", "b"]], y).predict(frame[["a", "b"]].assign(a="red"))


def test_where_dates_are_refused():
    frame, y = table()
    dates = frame.assign(b=pd.Timestamp("2020-01-01"))
    with pytest.raises(TypeError, match="column 'b' holds dates, but did not in fit"):
        raw().fit(frame, y).predict(dates)
    with pytest.raises(TypeError, match="are taken with standardize=True"):
        small(standardize=False).fit(dates, y)
    message = r"X: column 'b' holds durations: .* \.dt\.total_seconds\(\)"
    with pytest.raises(TypeError, match=message):
        raw().fit(frame.assign(b=pd.Timedelta("1h")), y)
    with pytest.raises(TypeError, match="X holds dates or durations: convert them"):
        raw().fit(np.full((150, 2), "2020-01-01", "datetime64[D]"), y)
    days = frame.assign(b=pd.Categorical(dates["b"]))
    with pytest.raises(TypeError, match="column 'b' holds Timestamp values"):
        raw().fit(days, y)


def test_a_table_is_as_long_as_its_targets():
    frame, y = table()
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: .150, 149"):
        raw().fit(frame, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        raw().fit(frame, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        raw().fit(frame, np.where(y == 0, NAN, y))
    with pytest.raises(ValueError, match=r"sample_weight.shape == \(149,\)"):
        raw().fit(frame, y, sample_weight=np.ones(149))
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        raw().fit(frame.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="[Ss]ample.weight"):
        raw().fit(frame, y, sample_weight=np.zeros(150))


def test_sparse_rows_after_a_table_are_refused():
    frame, y = table()
    model = raw().fit(frame, y)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(TypeError, match="X is sparse.*DataFrame with columns of cat"),
    ):
        model.predict(scipy.sparse.csr_array((5, 4)))


def test_other_values_of_the_wrong_kind():
    X, y = classes()
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        raw().fit(X[:, 0], y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        raw().fit(X * 1j, y)
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        raw().fit(X[:, :0], y)
    with pytest.raises(ValueError, match="masked array that hides 1 of 1800"):
        raw().fit(np.ma.masked_invalid(with_gap(X)), y)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_refusal_leaves_an_estimator_as_it_was(of):
    X, y = data_for(of)
    model = raw(of)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(with_gap(X, np.inf), y)
    assert vars(model) == before
    model.fit(X, y)
    predicted, before = model.predict(X), dict(vars(model))
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X[:, :3] * 5, y, X_val=X)
    assert all(vars(model)[name] is value for name, value in before.items())
    assert np.array_equal(model.predict(X), predicted)
