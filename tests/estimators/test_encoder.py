"""How columns become inputs, beside NumPy and pandas."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.preprocessing import StandardScaler

from cofire.estimators.encoder import Encoder
from cofire.estimators.encoder_storing import from_plain, to_plain
from cofire.estimators.inputs import ScaledBytes
from cofire.estimators.scaling import BEND, LEAST, MOST

N = 300


def numbers(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 6)) * 10.0 ** np.arange(-3, 3) + 7


def with_gaps(X, columns=(1, 4), seed=0):
    X = X.copy()
    for j in columns:
        X[np.random.default_rng(seed + j).random(len(X)) < 0.2, j] = np.nan
    return X


def table(n=N, seed=0):
    """Numbers and categories, of which some are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], n),
            "age": rng.normal(40, 10, n),
            "size": pd.Categorical(rng.choice(["S", "M"], n, p=[0.9, 0.1])),
            "owner": rng.random(n) < 0.3,
            "income": rng.lognormal(8, 1, n).round(),
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = None
    return frame


def bent(z):
    far = np.abs(z) > BEND
    tail = np.minimum(BEND + np.log1p(np.maximum(np.abs(z) - BEND, 0)), MOST)
    return np.where(far, np.sign(z) * tail, z)


def flags(ones, weight=None):
    """A column of 0 and 1, standardised."""
    f = np.average(ones, weights=weight)
    return bent((ones - f) / max(np.sqrt(f * (1 - f)), LEAST))


# ---- numbers -------------------------------------------------------------------------


def test_plain_numbers_are_those_of_StandardScaler():
    X = numbers()
    encoder = Encoder.learn(X, None)
    expected = StandardScaler().fit_transform(X)
    got = encoder.encode(X)
    assert got.dtype == np.float32 and got.flags.c_contiguous
    np.testing.assert_allclose(got, bent(expected), rtol=1e-5, atol=1e-6)
    assert encoder.n_inputs == encoder.n_features == 6


FORMS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "frame": pd.DataFrame,
    "frame of several types": lambda X: pd.DataFrame(X).astype({0: object, 3: object}),
    "nullable frame": lambda X: pd.DataFrame(X).astype("Float64"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_layout_does_not_change_a_bit(form, dtype):
    X = with_gaps(numbers()).astype(dtype)
    if form == "nullable frame" and dtype == np.float32:
        pytest.skip("its values are float64")
    encoder, other = Encoder.learn(X, None), Encoder.learn(FORMS[form](X), None)
    assert np.array_equal(encoder.centre, other.centre)
    if form == "frame of several types":  # an object has the rounding of float64
        np.testing.assert_array_equal(encoder.scale, other.scale)
    assert np.array_equal(encoder.encode(X), other.encode(FORMS[form](X)))
    assert np.array_equal(encoder.encode(X[:7]), encoder.encode(X)[:7])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint16, np.float16])
def test_other_types_are_numbers(dtype):
    X = np.random.default_rng(0).integers(0, 2, (N, 4)).astype(dtype)
    encoder = Encoder.learn(X, None)
    expected = StandardScaler().fit_transform(X.astype(float))
    np.testing.assert_allclose(encoder.encode(X), expected, rtol=1e-5, atol=1e-6)


def test_large_whole_numbers_keep_their_digits():
    X = (10**15 + np.arange(N))[:, None]
    z = Encoder.learn(X, None).encode(X)
    expected = StandardScaler().fit_transform(np.arange(N)[:, None].astype(float))
    np.testing.assert_allclose(z, expected, atol=1e-6)


def test_many_columns_are_read_in_parts():
    X = np.random.default_rng(0).normal(size=(900, 1000))
    encoder = Encoder.learn(X, None)
    for j in (0, 144, 145, 146, 999):
        alone = Encoder.learn(X[:, [j]], None)
        assert alone.centre[0] == encoder.centre[j]
        assert alone.scale[0] == encoder.scale[j]


# ---- missing values ------------------------------------------------------------------


def test_a_missing_number_is_the_mean_and_sets_an_input():
    X = with_gaps(numbers())
    encoder = Encoder.learn(X, None)
    assert encoder.missing.tolist() == [1, 4]
    got = encoder.encode(X)
    gaps = np.isnan(X)
    theirs = StandardScaler().fit(X)  # which leaves missing values out, too
    expected = np.nan_to_num(theirs.transform(X))
    np.testing.assert_allclose(got[:, :6], expected, rtol=1e-5, atol=1e-6)
    assert (got[:, :6][gaps] == 0).all()
    for i, j in enumerate((1, 4)):
        np.testing.assert_allclose(got[:, 6 + i], flags(gaps[:, j]), rtol=1e-5)
    names = encoder.input_names(list("abcdef"))
    assert names == [*"abcdef", "b missing", "e missing"]


def test_a_gap_that_fit_did_not_see_is_the_mean():
    X = numbers()
    encoder = Encoder.learn(X, None)
    got = encoder.encode(with_gaps(X))
    assert got.shape == X.shape
    assert (got[np.isnan(with_gaps(X))] == 0).all()


def test_a_column_that_is_missing_is_harmless():
    X = numbers()
    X[:, 2] = np.nan
    encoder = Encoder.learn(X, None)
    got = encoder.encode(X)
    assert got.shape == (N, 7)
    assert (got[:, [2, 6]] == 0).all()
    assert (encoder.encode(np.full((1, 6), 1e300))[:, [2, 6]] == 0).all()


# ---- weights -------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, scipy.sparse.csr_array])
def test_rows_of_weight_0_do_not_count(form):
    X = numbers() if form is scipy.sparse.csr_array else with_gaps(numbers())
    weight = np.random.default_rng(0).integers(0, 3, N).astype(np.float32)
    broken = X.copy()
    broken[weight == 0] = 1e10 if form is scipy.sparse.csr_array else np.nan
    used = weight > 0
    ours = Encoder.learn(form(broken), weight)
    theirs = Encoder.learn(form(X[used]), weight[used])
    assert np.array_equal(ours.centre, theirs.centre)
    assert np.array_equal(ours.scale, theirs.scale)
    assert np.array_equal(ours.missing, theirs.missing)


def test_categories_of_weight_0_do_not_count():
    frame = table()
    weight = np.random.default_rng(0).integers(0, 3, N).astype(np.float32)
    ours = Encoder.learn(frame, weight)
    theirs = Encoder.learn(frame[weight > 0], weight[weight > 0])
    assert ours.categories == theirs.categories
    assert np.array_equal(ours.scale, theirs.scale)
    unweighted = Encoder.learn(frame, None)
    assert not np.array_equal(ours.scale, unweighted.scale)


# ---- categories ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_is_what_pandas_makes_of_it(weighted):
    frame = table()
    weight = np.random.default_rng(1).random(N) if weighted else None
    encoder = Encoder.learn(frame, weight)
    names = encoder.input_names(list(frame.columns))
    got = pd.DataFrame(encoder.encode(frame), columns=names)
    assert names == [
        *("age", "owner", "income", "income missing"),
        *("colour=blue", "colour=green", "colour=red", "colour missing"),
        *("size=M", "size=S"),
    ]
    ones = pd.get_dummies(frame[["colour", "size"]], prefix_sep="=", dtype=float)
    ones["colour missing"] = frame["colour"].isna().astype(float)
    ones["income missing"] = frame["income"].isna().astype(float)
    ones["owner"] = frame["owner"].astype(float)
    for name in ones:
        expected = flags(ones[name].to_numpy(), weight)
        np.testing.assert_allclose(got[name], expected, rtol=1e-5, atol=1e-7)
    plain = StandardScaler().fit(frame[["age"]].to_numpy(), sample_weight=weight)
    np.testing.assert_allclose(
        got["age"], plain.transform(frame[["age"]].to_numpy())[:, 0], rtol=1e-4
    )


def test_levels_that_fit_did_not_see_are_all_absent():
    frame = table()
    encoder = Encoder.learn(frame.assign(colour="red"), None)
    mixed = Encoder.learn(frame.dropna(), None)
    new = frame.iloc[:2].assign(colour=["new", None])
    assert encoder.encode(new).shape == (2, encoder.n_inputs)
    got = mixed.encode(new)
    start = mixed.input_names(list(frame.columns)).index("colour=blue")
    absent = mixed.encode(frame[frame.colour == "red"].iloc[:1])[0, start : start + 2]
    assert np.array_equal(got[:, start : start + 2], [absent, absent])
    red = mixed.encode(frame[frame.colour == "blue"].iloc[:1])[0, start + 2]
    assert (got[:, start + 2] == red).all()


def wide_table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = table(n, seed)
    for name in ("street", "shop"):
        frame[name] = rng.choice([f"{name} {i}" for i in range(200)], n)
    frame.loc[3, "shop"] = None
    return frame


def test_a_wide_table_is_sparse_and_its_levels_are_not_centred():
    frame = wide_table()
    encoder = Encoder.learn(frame, None)
    assert encoder.sparse
    got = encoder.encode(frame)
    assert got.format == "csr" and got.dtype == np.float32
    assert got.has_canonical_format
    assert got.shape == (400, encoder.n_inputs)
    names = encoder.input_names(list(frame.columns))
    dense = pd.DataFrame(got.toarray(), columns=names)
    for column in ("colour", "street", "shop"):
        for level in frame[column].dropna().unique():
            ones = (frame[column] == level).to_numpy(float)
            deviation = max(ones.std(), LEAST)
            expected = bent(ones / deviation)
            np.testing.assert_allclose(dense[f"{column}={level}"], expected, rtol=1e-5)
    missing = bent(frame["shop"].isna().to_numpy(float) / LEAST)
    np.testing.assert_allclose(dense["shop missing"], missing, rtol=1e-5)
    expected = StandardScaler().fit_transform(frame[["age"]].to_numpy())[:, 0]
    np.testing.assert_allclose(dense["age"], expected, rtol=1e-4, atol=1e-6)
    unseen = frame.iloc[:3].assign(street="new", shop=None)
    entries = encoder.encode(unseen).toarray()
    start = names.index(next(name for name in names if name.startswith("street=")))
    assert not entries[:, start : start + 200].any()


def test_a_level_whose_column_has_no_input_is_harmless():
    frame = wide_table().assign(empty=pd.Categorical([None] * 400, ["a"]))
    frame["empty"] = frame["empty"].cat.add_categories("b")
    encoder = Encoder.learn(frame, None)
    known = frame.assign(empty=pd.Categorical(["a"] * 400))
    got = encoder.encode(known)
    assert got.shape == (400, encoder.n_inputs)
    assert encoder.input_names(list(frame.columns))[-1] == "empty missing"
    assert not got.toarray()[:, -1].any()


# ---- sparse rows ---------------------------------------------------------------------


def sparse_rows(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((500, 40), density=0.2, format="csr", rng=rng)
    X.data += 0.5
    return X.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_divided_alone(dtype):
    X = sparse_rows(dtype)
    encoder = Encoder.learn(X, None)
    got = encoder.encode(X)
    assert got.dtype == np.float32
    assert np.array_equal(got.indices, X.indices)
    expected = StandardScaler(with_mean=False).fit_transform(X).toarray()
    np.testing.assert_allclose(got.toarray(), bent(expected), rtol=1e-5)


def test_dense_rows_are_those_of_sparse_ones():
    X = sparse_rows()
    encoder = Encoder.learn(X, None)
    assert np.array_equal(encoder.encode(X.toarray()), encoder.encode(X).toarray())
    gaps = X.toarray()
    gaps[0] = np.nan
    assert not encoder.encode(gaps)[0].any()


def test_sparse_rows_after_dense_ones_are_refused():
    X = sparse_rows()
    with pytest.raises(ValueError, match="X is sparse.*from a dense X.*toarray"):
        Encoder.learn(X.toarray(), None).encode(X)


def test_large_sparse_values_are_bent():
    X = sparse_rows()
    changed = X.copy()
    changed.data[11] = 1e30
    row, column = 0, X.indices[11]
    while X.indptr[row + 1] <= 11:
        row += 1
    got = Encoder.learn(changed, None).encode(changed).toarray()
    assert got[row, column] == MOST
    others = np.arange(500) != row
    expected = Encoder.learn(X, None).encode(X).toarray()
    np.testing.assert_allclose(got[others], expected[others], rtol=0.1)


def test_a_huge_sparse_matrix_is_never_made_dense():
    rng = np.random.default_rng(0)
    shape, n = (100_000, 50_000), 200_000
    at = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    X = scipy.sparse.csr_array((rng.normal(3, 1, n), at), shape=shape)
    encoder = Encoder.learn(X, None)
    got = encoder.encode(X)
    assert got.nnz == X.nnz and np.isfinite(got.data).all()
    assert np.abs(got.data).max() <= MOST


# ---- bytes ---------------------------------------------------------------------------


def bytes_(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 256, (n, 5), dtype=np.uint8)
    X[:, 1] = 9
    X[:, 2] = 0
    X[3, 2] = 200
    return X


def values_of(rows: ScaledBytes):
    return rows.bytes * rows.scale + rows.offset


def test_bytes_stay_bytes():
    X = bytes_()
    encoder = Encoder.learn(X, None)
    got = encoder.encode(X)
    assert got.bytes is X and got.shape == X.shape
    expected = StandardScaler().fit_transform(X.astype(float))
    np.testing.assert_allclose(
        values_of(got)[:, [0, 3, 4]], expected[:, [0, 3, 4]], rtol=1e-4, atol=1e-5
    )
    assert not values_of(got)[:, 1].any()
    assert np.abs(values_of(got)).max() <= MOST * (1 + 1e-5)
    np.testing.assert_allclose(
        encoder.encode(X.astype(np.float32)), values_of(got), rtol=1e-4, atol=1e-5
    )
    some = got.rows(np.array([2, 5]))
    assert np.array_equal(values_of(some), values_of(got)[[2, 5]])


def test_bytes_that_fit_did_not_see_are_cut_off():
    X = bytes_()
    X[:, 3] = X[:, 3] % 2
    encoder = Encoder.learn(X, None)
    new = np.full((2, 5), 255, np.uint8)
    got = encoder.encode(new)
    assert np.abs(values_of(got)).max() <= MOST * (1 + 1e-5)
    assert values_of(got)[0, 3] > MOST - 2
    assert (new == 255).all()
    np.testing.assert_allclose(encoder.encode(new / 1.0), values_of(got), atol=2)


# ---- storing -------------------------------------------------------------------------

STORED = {
    "numbers": lambda: with_gaps(numbers()),
    "table": table,
    "wide table": wide_table,
    "sparse": sparse_rows,
    "bytes": bytes_,
}


def encoded_values(encoder, X):
    got = encoder.encode(X)
    if isinstance(got, ScaledBytes):
        return values_of(got)
    return got.toarray() if scipy.sparse.issparse(got) else got


@pytest.mark.parametrize("n_pieces", [0, None])
@pytest.mark.parametrize("kind", STORED)
def test_an_encoder_comes_back_to_the_bit(kind, n_pieces):
    X = STORED[kind]()
    encoder = Encoder.learn(X, None, n_pieces=n_pieces)
    tensors = {}
    plain = to_plain(encoder, tensors)
    back = from_plain(plain, tensors, encoder.n_features)
    assert tensors == {}
    for copy in (back, pickle.loads(pickle.dumps(encoder))):
        assert copy.categories == encoder.categories
        assert np.array_equal(encoded_values(copy, X), encoded_values(encoder, X))


def change(name, value):
    def changed(plain, tensors):
        if name in plain:
            plain[name] = value
        else:
            tensors[f"encoder.{name}"] = value(tensors[f"encoder.{name}"])

    return changed


def levels(*values):
    return change("categories", [[0, *values], [2, ["a"], False, False]])


def with_last(value):
    return lambda array: np.append(array[:-1], np.array(value, array.dtype))


MALFORMED = {
    "a scale that is not finite": change("scale", with_last(np.nan)),
    "a negative scale": change("scale", with_last(-1)),
    "a centre that is not finite": change("centre", with_last(np.inf)),
    "too few scales": change("scale", lambda a: a[:-1]),
    "too many centres": change("centre", lambda a: np.append(a, 1.0)),
    "single precision": change("scale", lambda a: a.astype(np.float32)),
    "a column twice": change("missing", lambda a: np.array([3, 3], np.int32)),
    "a column outside": change("missing", lambda a: np.array([5], np.int32)),
    "a column before": change("missing", lambda a: np.array([-1], np.int32)),
    "a missing category": change("missing", lambda a: np.array([0], np.int32)),
    "wide columns": change("missing", lambda a: a.astype(np.int64)),
    "a flag that is none": change("sparse", 1),
    "a text for a flag": change("bounded", "no"),
    "no list": change("categories", 3),
    "levels that are no text": levels(["a", 3], True, True),
    "levels twice": levels(["a", "a"], True, True),
    "levels in a wrong order": levels(["b", "a"], True, True),
    "levels that are a text": levels("abc", True, False),
    "too many levels": levels([f"{i:03}" for i in range(256)], True, False),
    "a level too few": levels(["blue", "red"], False, True),
    "a number for a flag": levels(["blue", "green", "red"], 0, True),
    "a part too few": levels(["blue", "green", "red"], True),
    "columns in a wrong order": change(
        "categories",
        [[2, ["M", "S"], False, False], [0, ["b", "g", "r"], False, True]],
    ),
    "a column beyond": change(
        "categories",
        [[0, ["b", "g", "r"], False, True], [9, ["M", "S"], False, False]],
    ),
    "a piece of a category": change("piece_column", lambda a: a * 0),
    "a piece of a column beyond": change("piece_column", lambda a: a + 9),
    "pieces in a wrong order": change("piece_column", lambda a: a[::-1]),
    "too few pieces": change("piece_column", lambda a: a[:-1]),
    "wide piece columns": change("piece_column", lambda a: a.astype(np.int64)),
    "a piece that is not finite": change("piece_high", with_last(np.inf)),
    "a piece that ends first": change("piece_high", with_last(-1e9)),
    "a gap between pieces": change("piece_low", with_last(1e-9)),
    "pieces in single precision": change("piece_low", lambda a: a.astype(np.float32)),
    "pieces of no size": change("piece_size", 0.0),
    "pieces of a size that is no number": change("piece_size", "1"),
    "pieces of bytes": change("bounded", True),
    "pieces without a size": lambda plain, tensors: plain.pop("piece_size"),
    "a column that is no number": change(
        "categories",
        [["0", ["b", "g", "r"], False, True], [2, ["M", "S"], False, False]],
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_malformed_is_refused(kind):
    encoder, tensors = Encoder.learn(table(), None, n_pieces=4), {}
    plain = to_plain(encoder, tensors)
    MALFORMED[kind](plain, tensors)
    with pytest.raises((ValueError, TypeError, LookupError)):
        from_plain(plain, tensors, 5)


@pytest.mark.parametrize(
    "name", ["missing", "centre", "scale", "piece_column", "piece_low", "piece_high"]
)
def test_every_array_is_needed(name):
    encoder, tensors = Encoder.learn(table(), None, n_pieces=4), {}
    plain = to_plain(encoder, tensors)
    del tensors[f"encoder.{name}"]
    with pytest.raises(LookupError):
        from_plain(plain, tensors, 5)
