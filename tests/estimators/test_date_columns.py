"""Dates in a DataFrame: what the network sees of them, in every form, after loading."""

import pickle

import numpy as np
import pandas as pd
import pytest

import cofire
from cofire import SparseMLPClassifier
from cofire.core.dates import parts_of
from cofire.estimators.date_columns import DateColumn
from cofire.estimators.encoder import Encoder
from cofire.estimators.encoder_storing import from_plain, to_plain
from helpers.estimator_cases import network_bits, same, small


def visits(n=120, seed=0, hours=False):
    rng = np.random.default_rng(seed)
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D")
    if hours:
        when = when + pd.to_timedelta(rng.integers(0, 24, n), "h")
    colour = rng.choice(["red", "blue"], n)
    frame = pd.DataFrame({"x": rng.normal(size=n), "when": when, "colour": colour})
    return frame, (when.month < 7).astype(int)


def raw(**how):
    return small(standardize=True, n_pieces=0, **how)


def as_numbers(frame, hours=False):
    """The same table by hand: days in place of the date, its other parts at the end."""
    parts = parts_of(frame["when"].to_numpy("datetime64[us]"), hours)
    names = [f"p{i}" for i in range(parts.shape[1])]
    added = pd.DataFrame(parts, columns=names, index=frame.index)
    return pd.concat([frame.assign(when=added["p0"]), added.iloc[:, 1:]], axis=1)


@pytest.mark.parametrize("hours", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_dates_train_as_their_parts_do(hours, words):
    frame, y = visits(hours=hours)
    frame = frame if words else frame.drop(columns="colour")
    model = raw().fit(frame, y)
    by_hand = raw().fit(as_numbers(frame, hours), y)
    assert same(network_bits(model.network_), network_bits(by_hand.network_))
    expected = by_hand.predict_proba(as_numbers(frame, hours))
    assert np.array_equal(model.predict_proba(frame), expected)
    assert model.n_features_in_ == frame.shape[1]
    assert model.feature_names_in_.tolist() == list(frame.columns)


def test_the_inputs_have_names():
    frame, y = visits(hours=True)
    frame.loc[3, "when"] = None
    assert raw().fit(frame, y).input_names_ == [
        *("x", "when", "when year sin", "when year cos", "when week sin"),
        *("when week cos", "when day sin", "when day cos", "when missing"),
        *("colour=blue", "colour=red"),
    ]


def test_forms_of_the_same_dates_give_the_same_bits():
    frame, y = visits(hours=True)
    model = raw().fit(frame, y)
    expected = model.predict_proba(frame)
    moments = frame["when"]
    forms = [
        moments.astype("datetime64[s]"),
        moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        moments.dt.to_pydatetime().astype(object)
        if hasattr(moments.dt.to_pydatetime(), "astype")
        else pd.Series(list(moments.dt.to_pydatetime()), dtype=object),
    ]
    for form in forms:
        other = frame.assign(when=form)
        assert np.array_equal(raw().fit(other, y).predict_proba(other), expected)
    text = frame.assign(when=moments.dt.strftime("%Y-%m-%dT%H:%M:%S"))
    assert np.array_equal(model.predict_proba(text), expected)
    shuffled = frame.iloc[::-1].set_index(np.full(len(frame), 7))
    assert np.array_equal(model.predict_proba(shuffled), expected[::-1])


def test_days_are_dates_too():
    frame, y = visits()
    days = frame.assign(when=frame["when"].dt.date)
    found = raw().fit(days, y).predict_proba(days)
    assert np.array_equal(found, raw().fit(frame, y).predict_proba(frame))


def test_what_was_learnt_of_dates_is_kept(tmp_path):
    frame, y = visits(hours=True)
    model = raw(n_networks=2).fit(frame, y)
    model.save(tmp_path / "a.cofire")
    for other in (
        cofire.load(tmp_path / "a.cofire"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert np.array_equal(other.predict_proba(frame), model.predict_proba(frame))
        assert other.input_names_ == model.input_names_


def test_what_is_no_date_is_named():
    frame, y = visits()
    model = raw().fit(frame, y)
    wrong = frame.assign(when=frame["when"].astype(object))
    wrong.loc[4, "when"] = "soon"
    with pytest.raises(
        ValueError, match="column 'when' must hold dates.*'soon' in row 4"
    ):
        model.predict(wrong)
    with pytest.raises(ValueError, match="column 'when' must hold dates, as in fit"):
        model.predict(frame.assign(when=3.5))


def test_without_dates_nothing_of_them_is_stored():
    frame, y = visits()
    tensors = {}
    plain = to_plain(Encoder.learn(frame[["x", "colour"]], None), tensors)
    assert plain.keys() == {"categories", "bounded", "sparse"}


def test_a_file_with_wrong_dates_is_refused():
    frame, _ = visits()
    tensors = {}
    plain = to_plain(Encoder.learn(frame, None), tensors)
    assert plain["dates"] == [[1, False]]
    assert from_plain(plain, dict(tensors), 3).dates == (DateColumn(1, False),)
    for wrong in ([[1, True]], [[2, False]], [[3, False]], [[1, 0]], [[1, False]] * 2):
        with pytest.raises((ValueError, TypeError)):
            from_plain(plain | {"dates": wrong}, dict(tensors), 3)


def test_it_learns_the_season():
    frame, y = visits(400)
    test, y_test = visits(200, seed=1)
    model = SparseMLPClassifier(n_networks=1, random_state=0).fit(frame, y)
    assert model.score(test, y_test) > 0.9
