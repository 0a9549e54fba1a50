"""Inputs that training does not see, against copies made by a slow oracle."""

import pickle

import numpy as np
import pytest
import scipy.sparse

import cofire
from cofire import Augmentation, engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import SGD
from helpers import naive
from helpers.engine_cases import Case
from helpers.engine_checks import assert_same_bits
from helpers.estimator_cases import (
    ESTIMATORS,
    METHODS_ALONE,
    data_for,
    network_bits,
    same,
    same_training,
    small,
)

SHARE = 0.3
IMAGES = Augmentation(3, 4, shift=0.4)  # what the 12 features of data_for may be


# ---- how a row is seen ---------------------------------------------------------------


def seen(rows, n_features, share, **when):
    """All rows as one epoch saw them: an output each learns its row, begun from 0."""
    n = len(rows)
    indices = np.arange(n * n_features)
    layer = SparseLayer.from_flat_indices(
        indices, np.zeros(len(indices)), np.zeros(n), n_features, n
    )
    network = SparseNetwork([layer], "relu", "identity")
    optimizer = SGD(1.0, alpha=0, momentum=0)
    optimizer.start(network)
    targets = np.eye(n, dtype=np.float32) * n  # outputs are 0: a gradient is -row
    how = {"order": np.arange(n), "batch_size": n, "input_dropout": share} | when
    engine.train_epoch(network, optimizer, rows, targets, **how)
    return layer.weights.reshape(n, n_features)


@pytest.mark.parametrize("share", [0.05, SHARE, 0.5, 0.9])
def test_it_hides_its_share_of_the_values_and_keeps_the_mean(share):
    X = np.ones((200, 500), np.float32)
    found = seen(engine.Rows(X), 500, share, seed=3, epoch=5)
    assert set(np.unique(found)) == {0, np.float32(1 / (1 - share))}
    spread = (share * (1 - share) / X.size) ** 0.5
    assert abs((found == 0).mean() - share) < 4 * spread
    assert abs(found.mean() - 1) < 4 * spread / (1 - share)
    # Of each feature and of each row, too, and of any two independently.
    for axis, n in ((0, 200), (1, 500)):
        counts = (found == 0).sum(axis=axis)
        assert counts.var() == pytest.approx(n * share * (1 - share), rel=0.5)
        off = np.corrcoef(found, rowvar=bool(axis))[np.triu_indices(700 - n, 1)]
        assert off.std() == pytest.approx(n**-0.5, rel=0.1)


@pytest.mark.parametrize("share", [2**-40, SHARE, 1 - 2**-20])
def test_a_row_is_seen_as_the_oracle_shows_it(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 33)).astype(np.float32)
    when = {"seed": 2**31 - 1, "epoch": 7}
    expected = naive.dropped_out(X, share, **when)
    assert np.array_equal(seen(engine.Rows(X), 33, share, **when), expected)


def test_every_epoch_and_seed_hides_others():
    X = np.ones((20, 50), np.float32)

    def hidden(seed, epoch):
        return seen(engine.Rows(X), 50, 0.5, seed=seed, epoch=epoch) == 0

    one = hidden(0, 0)
    assert np.array_equal(one, hidden(0, 0))
    for other in ((0, 1), (1, 0), (2**31 - 1, 0), (0, 500)):
        assert 0.4 < (hidden(*other) == one).mean() < 0.6


# ---- one epoch -----------------------------------------------------------------------


def trained(case, rows, n_threads=1):
    case.samples.rows = rows
    return case.train(n_epochs=2, n_threads=n_threads)


@pytest.mark.parametrize("batch_size", [1, 7, 65, 129, 1000])
def test_bytes_floats_and_sparse_rows_are_seen_alike(batch_size):
    how = {"batch_size": batch_size, "n_used": 300, "mute": 0.3}
    case = Case.random(1, sizes=(17, 9, 3), input_dropout=SHARE, **how)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(len(case.targets), 17), dtype=np.uint8)
    # Numbers that float32 adds and multiplies without rounding.
    scale = (rng.integers(1, 9, size=17) / 1024).astype(np.float32)
    offset = (rng.integers(-8, 9, size=17) / 16).astype(np.float32)
    dense = X * scale + offset
    dense[rng.random(dense.shape) < 0.5] = 0
    expected = trained(case, engine.Rows(dense))
    sparse = scipy.sparse.csr_array(dense)
    assert_same_bits(trained(case, engine.Rows(sparse)), expected)
    as_bytes = engine.Rows(X, scale=scale, offset=offset)
    expected = trained(case, engine.Rows(X * scale + offset))
    assert_same_bits(trained(case, as_bytes, n_threads=3), expected)


def test_entries_of_a_sparse_row_that_meet_are_one_value():
    X = np.array([[0.1, 0.7, 0.0], [0.3, 0.3, 0.5]], np.float32)
    twice = scipy.sparse.csr_array(X)
    parts = [np.repeat(a, 2) for a in (twice.indices, twice.data)]
    parts[1] /= 2
    twice = scipy.sparse.csr_array((parts[1], parts[0], 2 * twice.indptr), X.shape)
    for epoch in range(5):
        both = [seen(engine.Rows(x), 3, 0.5, epoch=epoch) for x in (X, twice)]
        assert np.array_equal(*both)


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize("kind", ["floats", "bytes", "sparse"])
def test_any_number_of_threads_gives_the_same_bits(kind, n_threads):
    how = {"batch_size": 300, "n_used": 750, "kind": kind}
    case = Case.random(1, sizes=(40, 7, 3), input_dropout=SHARE, **how)
    assert_same_bits(case.train(2, n_threads), case.train(2))


def test_augmented_images_are_hidden_where_they_came_to():
    case = Case.random(1, sizes=(12, 7, 3), batch_size=50, n_used=120)
    X = np.random.default_rng(0).normal(size=(len(case.targets), 12))
    X, when = X.astype(np.float32), {"seed": 2, "epoch": 3}
    copy = naive.augmented(X, IMAGES, **when)
    how = {"order": case.order, "batch_size": 50, "input_dropout": SHARE} | when

    def train(X, augmentation):
        network = case.network.copy()
        optimizer = SGD(0.1)
        optimizer.start(network)
        rows = engine.Rows(X)
        stats = engine.train_epoch(
            network, optimizer, rows, case.targets, augmentation=augmentation, **how
        )
        return network, optimizer, stats

    assert_same_bits(train(X, IMAGES), train(copy, None))


# ---- estimators ----------------------------------------------------------------------


@pytest.mark.parametrize("images", [None, IMAGES])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fits_are_a_fit_and_so_are_reloads(of, images, tmp_path):
    X, y = data_for(of)
    how = {"input_dropout": SHARE, "augmentation": images}
    whole = small(of, n_jobs=2, **how).fit(X, y)
    parts = small(of, n_jobs=1, **how)
    for _ in range(4):
        parts.partial_fit(X, y).save(tmp_path / "m")
        parts = pickle.loads(pickle.dumps(cofire.load(tmp_path / "m")))
        assert parts.input_dropout == SHARE
    assert same_training(parts, whole)
    plain = small(of, **how | {"input_dropout": 0}).fit(X, y)
    assert not same_training(whole, plain)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_fit_is_its_epochs_on_copies(of):
    X, y = data_for(of)
    whole = small(of, input_dropout=SHARE, method="set").fit(X, y)
    steps = small(of, method="set")
    for epoch in range(4):
        steps.partial_fit(naive.dropped_out(X, SHARE, whole.seed_, epoch), y)
    assert same_training(steps, whole)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_the_form_of_X_does_not_matter(of):
    X, y = data_for(of)
    X = (8 * X).clip(0, 255).astype(np.uint8)
    how = {"input_dropout": SHARE, "learning_rate_init": 1e-4, "method": "set"}
    one, two, three = (
        small(of, **how).fit(form(X), y)
        for form in (np.asarray, np.float32, scipy.sparse.csr_array)
    )
    assert same_training(one, two)
    assert same_training(one, three)


@pytest.mark.parametrize(
    ("images", "form"),
    [
        *((None, form) for form in (np.float32, np.uint8, scipy.sparse.csr_array)),
        *((IMAGES, form) for form in (np.float32, np.uint8)),
    ],
)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_rows_of_weight_zero_are_not_counted(of, images, form):
    """What chance does to a row follows from its number among those that exist."""
    X, y = data_for(of)
    X = (8 * X).clip(0, 255).astype(np.uint8)
    weight = np.ones(len(y))
    weight[::4] = 0
    there = weight > 0
    wild = X.copy()
    wild[~there] = 255
    for how in ({"shuffle": False}, {"early_stopping": True}):
        how |= {"input_dropout": SHARE, "augmentation": images}
        how |= {"learning_rate_init": 1e-4}
        weighted = small(of, **how).fit(form(wild), y, sample_weight=weight)
        fewer = small(of, **how).fit(form(X[there]), y[there])
        assert same_training(weighted, fewer)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_images_of_weight_zero_are_not_counted(of):
    X, y = data_for(of)
    weight = np.ones(len(y))
    weight[:50] = 0
    how = {"augmentation": IMAGES, "shuffle": False}
    weighted = small(of, **how).fit(X, y, sample_weight=weight)
    assert same_training(weighted, small(of, **how).fit(X[50:], y[50:]))


@pytest.mark.parametrize("method", METHODS_ALONE)
def test_only_training_sees_it(method):
    """At a rate of 0 nothing is learnt: then topologies come from plain rows alone."""
    X, y = data_for(ESTIMATORS[0])
    still = {"method": method, "learning_rate_init": 1e-60}
    hidden = small(input_dropout=SHARE, **still).fit(X, y)
    plain = small(**still).fit(X, y)
    assert same(network_bits(hidden.network_), network_bits(plain.network_))
    assert hidden.loss_curve_ != plain.loss_curve_


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_and_prediction_see_whole_rows(of):
    X, y = data_for(of)
    model = small(of, input_dropout=SHARE, restore_best=False)
    model.fit(X, y, X_val=X, y_val=y)
    assert model.validation_scores_[-1] == pytest.approx(model.score(X, y), rel=1e-5)
    expected = engine.predict(model.network_, engine.Rows(X))
    assert np.array_equal(model._predict_outputs(X), expected)
