"""Images that training sees flipped and shifted, against copies made by loops."""

import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import cofire
from cofire import Augmentation, engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.core.optimizers import SGD
from helpers import naive
from helpers.engine_cases import Case, examples
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

KINDS = ("floats", "bytes")
IMAGES = Augmentation(3, 4, shift=0.4)  # what the 12 features of data_for may be


# ---- how a row is seen ---------------------------------------------------------------


def seen(X, row, augmentation, **when):
    """The row that one step of training saw: the weights it left, begun from 0."""
    n = X.shape[1]
    layer = SparseLayer.from_flat_indices(
        np.arange(n), np.zeros(n), [0], n_in=n, n_out=1
    )
    network = SparseNetwork([layer], "relu", "identity")
    optimizer = SGD(1.0, alpha=0, momentum=0)
    optimizer.start(network)
    engine.train_epoch(
        network,
        optimizer,
        engine.Rows(X),
        np.ones((len(X), 1), np.float32),  # the output is 0: the gradient is -row
        order=np.array([row]),
        batch_size=1,
        augmentation=augmentation,
        **when,
    )
    return layer.weights


@st.composite
def augmentations(draw):
    sides = [draw(st.integers(1, 7)) for _ in range(2)]
    return Augmentation(
        *sides,
        draw(st.sampled_from([1, 2, 3, 4])),
        shift=draw(st.sampled_from([0, 0.1, 0.34, 0.5, 0.99])),
        flip=draw(st.booleans()),
    )


@pytest.mark.parametrize("kind", KINDS)
@examples(60)
@given(
    augmentation=augmentations(),
    row=st.integers(0, 40),
    seed=st.integers(0, 2**31 - 1),
    epoch=st.integers(0, 2**31),
)
def test_a_row_is_seen_as_the_oracle_moves_it(kind, augmentation, row, seed, epoch):
    rng = np.random.default_rng(0)
    shape = (41, augmentation.n_features)
    X = rng.integers(0, 256, size=shape, dtype=np.uint8)
    X = X if kind == "bytes" else (X / 8).astype(np.float32)
    when = {"seed": seed, "epoch": epoch}
    expected = naive.augmented(X, augmentation, **when)[row]
    assert np.array_equal(seen(X, row, augmentation, **when), expected)


def test_moves_by_hand():
    image = np.arange(1, 7).reshape(2, 3, 1)  # 1 2 3 / 4 5 6
    assert naive.moved(image, False, 0, 1).ravel().tolist() == [1, 1, 2, 4, 4, 5]
    assert naive.moved(image, False, 1, 0).ravel().tolist() == [1, 2, 3, 1, 2, 3]
    assert naive.moved(image, True, 0, 0).ravel().tolist() == [3, 2, 1, 6, 5, 4]
    assert naive.moved(image, True, -1, -1).ravel().tolist() == [5, 4, 4, 5, 4, 4]
    colours = np.arange(6).reshape(1, 2, 3)
    assert naive.moved(colours, True, 0, 0).ravel().tolist() == [3, 4, 5, 0, 1, 2]


def test_all_looks_occur_about_equally_often():
    height, width, n_rows = 10, 21, 3000
    augmentation = Augmentation(height, width)
    assert augmentation.pixels == (1, 2)
    image = np.arange(height * width, dtype=np.float32)
    X = np.tile(image, (n_rows, 1))
    counts = {}
    for row in range(n_rows):
        middle = seen(X, row, augmentation, seed=3, epoch=5).reshape(height, width)[5]
        flipped = bool(middle[11] < middle[10])
        y, x = divmod(int(middle[10]), width)
        how = (flipped, 5 - y, x - 10 if flipped else 10 - x)
        counts[how] = counts.get(how, 0) + 1
    assert len(counts) == 2 * 3 * 5
    expected = n_rows / len(counts)
    assert all(abs(n - expected) < 4 * expected**0.5 for n in counts.values())
    n_flipped = sum(n for how, n in counts.items() if how[0])
    assert abs(n_flipped / n_rows - 0.5) < 4 * 0.5 / n_rows**0.5


def test_every_epoch_seed_and_row_has_its_own_look():
    augmentation = Augmentation(16, 16, shift=0.9)
    X = np.tile(np.arange(256, dtype=np.float32), (50, 1))

    def bits(row, seed, epoch):
        return seen(X, row, augmentation, seed=seed, epoch=epoch).tobytes()

    one = [bits(row, 0, 0) for row in range(50)]
    for other in ((0, 1), (1, 0), (2**31 - 1, 0), (0, 500)):
        assert sum(bits(r, *other) == one[r] for r in range(50)) < 5
    assert len(set(one)) > 40
    assert one == [bits(row, 0, 0) for row in range(50)]


# ---- one epoch -----------------------------------------------------------------------


def train(case, rows, n_threads=1, **how):
    network, optimizer = case.network.copy(), deepcopy(case.optimizer)
    stats = engine.train_epoch(
        network,
        optimizer,
        rows,
        case.targets,
        order=case.order,
        batch_size=case.batch_size,
        sample_weight=case.sample_weight,
        drop_last=case.drop_last,
        n_threads=n_threads,
        **how,
    )
    return network, optimizer, stats


def rows_and_copy(rng, kind, n_rows, augmentation, **when):
    """Rows as they come, and an augmented copy of them in floats."""
    shape = (n_rows, augmentation.n_features)
    if kind == "floats":
        X = rng.normal(size=shape).astype(np.float32)
        return engine.Rows(X), naive.augmented(X, augmentation, **when)
    X = rng.integers(0, 256, size=shape, dtype=np.uint8)
    # Numbers that float32 adds and multiplies without rounding.
    scale = (rng.integers(1, 9, size=shape[1]) / 1024).astype(np.float32)
    offset = (rng.integers(-8, 9, size=shape[1]) / 16).astype(np.float32)
    copy = naive.augmented(X, augmentation, **when) * scale + offset
    return engine.Rows(X, scale=scale, offset=offset), copy.astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [1, 7, 8, 9, 16, 65, 129, 200, 513])
@examples(5)
@given(
    augmentation=augmentations(),
    seed=st.integers(0, 2**31 - 1),
    epoch=st.integers(0, 1000),
    n_batches=st.sampled_from([0.4, 1, 1.3, 2.9]),
    weighted=st.booleans(),
    n_threads=st.sampled_from([1, 2, 3]),
    mute=st.sampled_from([0.0, 0.4]),
)
def test_an_epoch_equals_one_on_an_augmented_copy(
    kind, batch_size, augmentation, seed, epoch, n_batches, weighted, n_threads, mute
):
    case = Case.random(
        seed,
        sizes=(augmentation.n_features, 6, 3),
        batch_size=batch_size,
        n_used=max(1, int(n_batches * batch_size)),
        weighted=weighted,
        mute=mute,
    )
    when = {"seed": seed, "epoch": epoch}
    rng = np.random.default_rng(seed)
    rows, copy = rows_and_copy(rng, kind, len(case.targets), augmentation, **when)
    trained = train(case, rows, n_threads, augmentation=augmentation, **when)
    assert_same_bits(trained, train(case, engine.Rows(copy)))


@pytest.mark.parametrize("n_threads", [2, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [3, 91])  # 91 x 91 features: narrower tiles
def test_any_number_of_threads_gives_the_same_bits(kind, size, n_threads):
    augmentation = Augmentation(size, size)
    case = Case.random(1, sizes=(size * size, 7, 3), batch_size=300, n_used=750)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(len(case.targets), size * size), dtype=np.uint8)
    rows = engine.Rows(X if kind == "bytes" else (X / 255).astype(np.float32))
    how = {"augmentation": augmentation, "seed": 3, "epoch": 2}
    assert_same_bits(train(case, rows, n_threads, **how), train(case, rows, 1, **how))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [9, 1000])
def test_an_augmentation_that_does_nothing_is_none(kind, batch_size):
    case = Case.random(5, sizes=(30, 7, 3), kind=kind, batch_size=batch_size, n_used=80)
    nothing = Augmentation(5, 2, 3, shift=0, flip=False)
    trained = train(case, case.samples.rows, augmentation=nothing, seed=1, epoch=1)
    assert_same_bits(trained, case.train())


def test_in_one_batch_the_order_of_rows_does_not_matter():
    case = Case.random(5, sizes=(12, 7, 3), batch_size=1000, n_used=300)
    how = {"augmentation": IMAGES, "seed": 4, "epoch": 2}
    expected = train(case, case.samples.rows, **how)
    np.random.default_rng(0).shuffle(case.order)
    network, optimizer, _ = train(case, case.samples.rows, **how)
    assert_same_bits((network, optimizer, None), (*expected[:2], None))


def test_the_engine_refuses_sparse_rows():
    case = Case.random(0, sizes=(12, 5, 3), kind="sparse")
    with pytest.raises(ValueError, match="augmentation: expected dense rows"):
        train(case, case.samples.rows, augmentation=IMAGES)


# ---- estimators ----------------------------------------------------------------------


def images(of, kind="floats"):
    X, y = data_for(of)
    return X if kind == "floats" else (32 * X).clip(0, 255).astype(np.uint8), y


def rate_for(kind):
    return {"learning_rate_init": 0.05 if kind == "floats" else 1e-5}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of", ESTIMATORS)
def test_partial_fits_are_a_fit_and_so_are_reloads(of, kind, tmp_path):
    X, y = images(of, kind)
    how = {"augmentation": IMAGES, "method": "set"} | rate_for(kind)
    whole = small(of, n_jobs=2, **how).fit(X, y)
    parts = small(of, n_jobs=1, **how)
    for _ in range(4):
        parts.partial_fit(X, y).save(tmp_path / "m")
        parts = pickle.loads(pickle.dumps(cofire.load(tmp_path / "m")))
        assert parts.augmentation == IMAGES
    assert same_training(parts, whole)
    plain = small(of, **how | {"augmentation": None}).fit(X, y)
    assert not same_training(whole, plain)


@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_fit_is_its_epochs_on_augmented_copies(of):
    X, y = images(of)
    whole = small(of, augmentation=IMAGES, method="set").fit(X, y)
    steps = small(of, method="set")
    for epoch in range(4):
        copy = naive.augmented(X, IMAGES, seed=whole.seed_, epoch=epoch)
        steps.partial_fit(copy, y)
    assert same_training(steps, whole)


@pytest.mark.parametrize("method", METHODS_ALONE)
def test_only_training_sees_it(method):
    """At a rate of 0 nothing is learnt: then topologies come from plain rows alone."""
    X, y = images(ESTIMATORS[0])
    still = {"method": method, "learning_rate_init": 1e-60}
    augmented = small(augmentation=IMAGES, **still).fit(X, y)
    plain = small(**still).fit(X, y)
    assert same(network_bits(augmented.network_), network_bits(plain.network_))
    assert augmented.loss_curve_ != plain.loss_curve_


@pytest.mark.parametrize("of", ESTIMATORS)
def test_validation_and_prediction_see_plain_rows(of):
    X, y = images(of)
    model = small(of, augmentation=IMAGES, restore_best=False)
    model.fit(X, y, X_val=X, y_val=y)
    scores = model.validation_scores_
    assert scores[-1] == pytest.approx(model.score(X, y), rel=1e-5)
    expected = engine.predict(model.network_, engine.Rows(X))
    assert np.array_equal(model._predict_outputs(X), expected)


def test_held_out_rows_stay_plain():
    X, y = images(ESTIMATORS[0])
    still = {"early_stopping": True, "learning_rate_init": 1e-60, "method": "static"}
    augmented = small(augmentation=IMAGES, **still).fit(X, y)
    assert augmented.validation_scores_ == small(**still).fit(X, y).validation_scores_


@pytest.mark.parametrize("of", ESTIMATORS)
def test_it_is_a_parameter_like_any_other(of):
    model = small(of, augmentation=IMAGES)
    assert model.get_params()["augmentation"] is IMAGES
    assert of().get_params()["augmentation"] is None
    assert clone(model).augmentation == IMAGES
    assert "augmentation=Augmentation(height=3," in repr(model)
    X, y = images(of)
    search = GridSearchCV(small(of), {"augmentation": [None, IMAGES]}, cv=2)
    assert len(search.fit(X, y).cv_results_["params"]) == 2


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_a_sparse_X_is_refused(of, form):
    X, y = images(of)
    model = small(of, augmentation=IMAGES)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="augmentation .* sparse X; give a dense"):
            fit(form(X), y)
    model.fit(X, y).predict(form(X))  # where nothing is moved, sparse rows are welcome


@pytest.mark.parametrize("of", ESTIMATORS)
def test_images_of_another_size_are_refused(of):
    X, y = images(of)
    message = (
        r"augmentation=Augmentation\(height=4, .* height \* width \* channels = 24 "
        "features, X has 12"
    )
    with pytest.raises(ValueError, match=message):
        small(of, augmentation=Augmentation(4, 2, 3)).fit(X, y)


# ---- the object ----------------------------------------------------------------------


def test_its_defaults_are_those_of_the_paper():
    augmentation = Augmentation(32, 32, 3)
    assert augmentation == Augmentation(32, 32, channels=3, shift=0.1, flip=True)
    assert augmentation.pixels == (3, 3)
    assert augmentation.n_features == 3072
    assert Augmentation(28, 8).pixels == (2, 0)
    assert Augmentation(28, 8).channels == 1


def test_it_is_frozen_and_pickles():
    assert pickle.loads(pickle.dumps(IMAGES)) == IMAGES
    assert hash(IMAGES) == hash(Augmentation(3, 4, shift=0.4))
    with pytest.raises(FrozenInstanceError):
        IMAGES.height = 5
    with pytest.raises(TypeError, match="positional"):
        Augmentation(3, 4, 1, 0.4)


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "height": [0, -1, 2.0, "3", None, True],
        "width": [0, -1, 2.5, "3", None, [3]],
        "channels": [0, -3, 1.0, "rgb", None, False],
        "shift": [-0.1, 1, 1.5, float("nan"), float("inf"), "0.1", None],
        "flip": [None, 0, 1, "yes"],
    }.items(),
)
def test_an_argument_out_of_its_range_is_named(name, values):
    for value in values:
        with pytest.raises(ValueError, match=rf"^{name} must .* got "):
            Augmentation(**{"height": 3, "width": 4} | {name: value})


def test_numpy_numbers_are_taken_and_stored(tmp_path):
    augmentation = Augmentation(
        np.int32(3), np.uint8(4), shift=np.float32(0.5), flip=np.True_
    )
    X, y = images(ESTIMATORS[0])
    model = small(augmentation=augmentation).fit(X, y)
    plain = small(augmentation=Augmentation(3, 4, shift=0.5)).fit(X, y)
    assert same_training(model, plain)
    model.save(tmp_path / "m")
    assert cofire.load(tmp_path / "m").augmentation == plain.augmentation
