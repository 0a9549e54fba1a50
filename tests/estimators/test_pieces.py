"""Pieces of columns of numbers, beside NumPy's interpolation."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import cofire
from cofire import Augmentation, SparseMLPClassifier, SparseMLPRegressor
from cofire.estimators.column_parts import columns_as_one
from cofire.estimators.encoder import Encoder
from cofire.estimators.pieces import Learner
from cofire.estimators.recipe import choose_pieces
from cofire.explain import directions

N = 400


def rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 1e-3, 1e5]
    X[:, 2] = np.exp(X[:, 2] / 1e5)
    return X


def learnt(X, n_pieces, weight=None):
    learner = Learner(n_pieces)
    learner.look(np.array(X.T), np.arange(X.shape[1]), weight)
    return learner.found(len(X))


# ---- pieces --------------------------------------------------------------------------


def test_a_piece_is_a_ramp_between_two_quantiles():
    X = rows()
    pieces = learnt(X, 5)
    got = pieces.encode(X)
    assert got.shape == (N, 15)
    for k, j in enumerate(pieces.column):
        ramp = np.interp(X[:, j], [pieces.low[k], pieces.high[k]], [0.0, 1.0])
        np.testing.assert_allclose(got[:, k], ramp, atol=1e-12)
    for j in range(3):
        own = pieces.of(j)
        assert np.array_equal(pieces.low[own][1:], pieces.high[own][:-1])
        assert pieces.low[own][0] == X[:, j].min()
        assert pieces.high[own][-1] == X[:, j].max()
        counts = np.histogram(X[:, j], np.r_[pieces.low[own], X[:, j].max()])[0]
        assert (np.abs(counts - N / 5) <= 1).all()


def test_pieces_of_a_column_tell_its_value():
    """The sum of the ramps, each by its width, is the number again."""
    X = rows()
    pieces = learnt(X, 7)
    got = pieces.encode(X)
    for j in range(3):
        own = pieces.of(j)
        width = pieces.high[own] - pieces.low[own]
        np.testing.assert_allclose(
            pieces.low[own][0] + got[:, own] @ width, X[:, j], rtol=1e-9, atol=1e-12
        )


def test_a_weight_counts_as_so_many_rows():
    X, weight = rows(60), np.random.default_rng(1).integers(1, 4, 60)
    one = learnt(X, 4, weight.astype(float))
    many = learnt(np.repeat(X, weight, axis=0), 4)
    assert np.array_equal(one.low, many.low)
    assert np.array_equal(one.high, many.high)


def test_few_values_are_all_edges_and_three_are_too_few():
    X = np.random.default_rng(0).integers(0, [2, 3, 4, 5], (200, 4)).astype(float)
    pieces = learnt(X, 8)
    assert pieces.column.tolist() == [2] * 3 + [3] * 4
    assert pieces.low.tolist() == [0, 1, 2, 0, 1, 2, 3]


def test_a_value_that_is_frequent_is_one_edge():
    X = np.r_[np.zeros(300), np.arange(1.0, 101)][:, None]
    pieces = learnt(X, 8)
    assert pieces.low[0] == 0
    assert (pieces.low < pieces.high).all()
    assert len(pieces) < 8


def test_missing_values_and_huge_ones_do_no_harm():
    X = rows()
    X[::3, 0] = np.nan
    X[:, 1] = np.linspace(-1, 1, N) * 1.7e308
    X[:, 2] *= 1e-320
    pieces = learnt(X, 4)
    assert set(pieces.column) == {0, 2}
    with np.errstate(all="raise"):
        got = pieces.encode(np.vstack([X, [[1e308, 0, -1e308]]]))
    assert np.isnan(got[::3, pieces.of(0)][: N // 3]).all()
    assert np.nanmax(got) == 1
    assert np.nanmin(got) == 0


# ---- the encoder ---------------------------------------------------------------------


def test_pieces_follow_the_other_inputs_and_are_standardised():
    X = rows(2000)
    X[::4, 1] = np.nan
    plain = Encoder.learn(X, None)
    encoder = Encoder.learn(X, None, n_pieces=4)
    got = encoder.encode(X)
    assert np.array_equal(got[:, : plain.n_inputs], plain.encode(X))
    last = got[:, plain.n_inputs :]
    assert last.shape[1] == 12
    size = encoder.pieces.size
    assert size == pytest.approx(0.3)
    there = ~np.isnan(X[:, encoder.pieces.column])
    assert not last[~there].any()  # missing: the mean
    for column, own in zip(last.T, there.T, strict=True):
        assert column[own].mean() == pytest.approx(0, abs=1e-3)
        assert column[own].std() == pytest.approx(size, rel=1e-3)
    assert encoder.input_sizes()[plain.n_inputs :].tolist() == [size] * 12


@pytest.mark.parametrize("n_levels", [3, 400])
def test_frames_have_the_pieces_of_arrays(n_levels):
    """Also in rows that are sparse, for the levels of their categories."""
    X = rows(2000)
    word = np.random.default_rng(0).integers(0, n_levels, 2000).astype(str)
    frame = pd.DataFrame({"a": X[:, 0], "word": word, "b": X[:, 1], "c": X[:, 2]})
    encoder = Encoder.learn(frame, None, n_pieces=6)
    assert encoder.sparse == (n_levels == 400)
    got = encoder.encode(frame)
    if encoder.sparse:
        got.check_format()
        assert (np.diff(got.indices.reshape(2000, -1)) > 0).all()
        got = got.toarray()
    expected = Encoder.learn(X, None, n_pieces=6).encode(X)
    assert np.array_equal(got[:, -18:], expected[:, -18:])
    assert np.array_equal(got[:, :3], expected[:, :3])
    names = encoder.input_names(list(frame.columns))
    assert len(names) == encoder.n_inputs
    assert names[-1].startswith("c from ")
    assert encoder.input_columns()[-18:].tolist() == [0] * 6 + [2] * 6 + [3] * 6


def test_neither_bytes_nor_sparse_rows_have_pieces():
    X = np.random.default_rng(0).integers(0, 255, (100, 4))
    for own in (X.astype(np.uint8), scipy.sparse.csr_array(X.astype(float))):
        assert len(Encoder.learn(own, None, n_pieces=4).pieces) == 0


def test_columns_that_differ_by_rounding_have_no_pieces():
    """They are constant: pieces would make inputs of the rounding."""
    X = rows()
    X[:, 1] = 1 + np.arange(N) % 9 * (np.finfo(float).eps / 2)
    model = SparseMLPClassifier(max_iter=2, random_state=0).fit(X, X[:, 0] > 0)
    assert np.unique(model._state.encoder.pieces.column).tolist() == [0, 2]
    assert np.isfinite(model.feature_importances_).all()
    assert model.feature_importances_[1] == 0


def test_names_tell_pieces_apart():
    """Also of columns whose values have their first digits in common, and of dates."""
    X = np.random.default_rng(0).normal(size=(N, 2)) + [1e8, 0]
    frame = pd.DataFrame(X, columns=["far", "near"])
    frame["day"] = pd.date_range("2020-01-01", periods=N)
    frame["hour"] = pd.date_range("2020-01-01", periods=N, freq="min")
    encoder = Encoder.learn(frame, None, n_pieces=2)
    names = encoder.input_names(list(frame.columns))
    assert len(set(names)) == len(names)
    low, middle, high = (f"{value:.9g}" for value in np.sort(X[:, 0])[[0, 199, -1]])
    assert names[-8] == f"far from {low} to {middle}"
    assert names[-7] == f"far from {middle} to {high}"
    assert names[-4:] == [
        "day from 2020-01-01 to 2020-07-18",
        "day from 2020-07-18 to 2021-02-03",
        "hour from 2020-01-01T00:00:00 to 2020-01-01T03:19:00",
        "hour from 2020-01-01T03:19:00 to 2020-01-01T06:39:00",
    ]


# ---- how many ------------------------------------------------------------------------


def test_the_number_of_pieces_follows_from_the_rows_and_columns():
    assert [choose_pieces(n, 5) for n in (10, 1000, 2000, 8000, 10**6)] == [
        *(4, 4, 8, 32),
        26,  # memory
    ]
    assert choose_pieces(10**6, 128) == 0
    assert choose_pieces(400, 128) == 4
    assert choose_pieces(400, 129) == 0
    assert len(learnt(np.random.default_rng(0).random((50, 129)), None)) == 0
    assert len(learnt(np.random.default_rng(0).random((50, 129)), 4)) == 4 * 129


@pytest.mark.parametrize("n_pieces", [0, 3, None])
def test_an_estimator_takes_their_number_and_tells_it(n_pieces, tmp_path):
    X = rows()
    model = SparseMLPRegressor(n_pieces=n_pieces, max_iter=3, random_state=0)
    model.fit(X, np.sin(3 * X[:, 0]))
    used = 4 if n_pieces is None else n_pieces
    assert model.chosen_parameters_["n_pieces"] == used
    assert len(model.input_names_) == 3 + 3 * used
    model.save(tmp_path / "model.cofire")
    again = cofire.load(tmp_path / "model.cofire")
    assert np.array_equal(again.predict(X), model.predict(X))


def test_images_that_are_moved_have_no_pieces():
    X = np.random.default_rng(0).random((40, 16)).astype(np.float32)
    model = SparseMLPClassifier(augmentation=Augmentation(4, 4, shift=0.25), max_iter=1)
    model.fit(X, X[:, 0] > 0.5)
    assert model.chosen_parameters_["n_pieces"] == 0


def test_without_standardize_there_are_none():
    X = rows()
    model = SparseMLPClassifier(standardize=False, max_iter=1, n_pieces=9)
    model.fit(X[:, :2], X[:, 0] > 0)
    assert model.chosen_parameters_["n_pieces"] == 0


# ---- what they are for ---------------------------------------------------------------


def test_a_saw_is_learnt():
    """Sharp steps in one column, which a few smooth inputs cannot follow."""
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    y = np.floor(10 * X[:, 0]) % 2 + 0.1 * X[:, 1]
    scores = [
        SparseMLPRegressor(n_pieces=n, random_state=0, n_networks=1)
        .fit(X[:2000], y[:2000])
        .score(X[2000:], y[2000:])
        for n in (0, None)
    ]
    assert scores[0] < 0.5 < 0.7 < scores[1]


# ---- which inputs matter -------------------------------------------------------------


def test_columns_of_the_same_worth_are_as_important_with_pieces_as_without():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000) - 0.5]
    y = X[:, 0] - X[:, 1] + 2 * X[:, 2]  # the last column has no pieces
    model = SparseMLPRegressor(random_state=0).fit(X, y)
    assert [model.input_names_[i].split()[0] for i in (3, 6, 7)] == ["x0", "x0", "x1"]
    np.testing.assert_allclose(model.feature_importances_, 1 / 3, atol=0.05)
    towards = directions(model)[0]
    assert not towards[3:].any()
    np.testing.assert_allclose(towards[:3], [1, -1, 1], atol=0.1)


def test_what_a_column_gives_is_measured_over_its_quantiles():
    """Beside many evenly spaced values: variance and slope of what neurons get."""
    X = np.random.default_rng(0).random((4000, 2))
    model = SparseMLPRegressor(hidden_layer_sizes=(60,), n_networks=1, random_state=0)
    model.fit(X, np.abs(X[:, 0] - 0.5))
    own = model.network_
    encoder = model._state.encoder
    grid = np.repeat(np.linspace(0, 1, 20_001)[:, None], 2, axis=1)
    inputs = encoder.encode(grid)
    weights = own.layers[0].to_scipy()
    variances = columns_as_one(model, own, squared=True).toarray()
    slopes = columns_as_one(model, own, squared=False).toarray()
    for j in (0, 1):
        mine = encoder.input_columns() == j
        given = inputs[:, mine] @ weights.toarray()[:, mine].T
        z = inputs[:, j]
        np.testing.assert_allclose(variances[:, j], given.var(axis=0) / z.var(), 0.06)
        slope = (given * (z - z.mean())[:, None]).mean(axis=0) / z.var()
        np.testing.assert_allclose(slopes[:, j], slope, rtol=0.02, atol=0.02)
    assert not variances[:, 2:].any()
    assert not slopes[:, 2:].any()


@pytest.mark.parametrize("kind", [SparseMLPRegressor, SparseMLPClassifier])
def test_without_hidden_layers_importances_are_deviations_of_the_functions(kind):
    """The model is a sum of functions of a column: their spread is what they matter."""
    X = np.random.default_rng(0).random((4000, 3))
    f = np.c_[np.abs(X[:, 0] - 0.5), np.where(X[:, 1] > 0.7, 0.2, 0), 0.1 * X[:, 2]]
    y = f.sum(axis=1)
    model = kind((), method="dense", n_networks=1, random_state=0)
    model.fit(X, y if kind is SparseMLPRegressor else y > np.median(y))
    grid = np.repeat(np.linspace(0, 1, 20_001)[:, None], 3, axis=1)
    inputs = model._state.encoder.encode(grid)
    columns = model._state.encoder.input_columns()
    weights = model.network_.layers[0].to_scipy().toarray()
    if kind is SparseMLPClassifier:
        weights = weights[1] - weights[0]
    outputs = [
        inputs[:, columns == j] @ weights.reshape(-1)[columns == j] for j in range(3)
    ]
    deviations = np.std(outputs, axis=1)
    expected = deviations / deviations.sum()
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=0.05)
