"""Fits over streams: the same bits as in memory, in whatever chunks rows come."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning

from cofire import Augmentation, SparseMLPClassifier, SparseMLPRegressor
from cofire.data import Stream
from cofire.estimators.plan import check_parameters
from cofire.estimators.streaming.prepare import PreparedStream, prepare_stream
from helpers.streams import all_bits, chunked, make_frame, make_rows, naive_fit

SMALL = {"hidden_layer_sizes": (20, 20), "n_networks": 2, "random_state": 3}
QUICK = SMALL | {"max_iter": 4, "update_interval": 10}
HOW = {
    "steps": {},
    "passes": {"max_iter": 4},
    "drop": {"max_iter": 4, "last_batch": "drop"},
    "batches": {"max_iter": 3, "batch_size": 100, "update_interval": "epoch"},
    "plain": {"max_iter": 3, "standardize": False, "input_dropout": 0},
    "set": {"max_iter": 3, "method": "set"},
    "ctre": {"max_iter": 3, "method": "ctre_seq", "similarity": "exact"},
    "rigl": {"max_iter": 3, "method": "rigl"},
    "adam": {"max_iter": 3, "solver": "adam"},
    "static": {"max_iter": 3, "method": "snip"},
}


def both(kind, data, stream, **how):
    """The same fit of arrays and of a stream."""
    how = SMALL | how
    return kind(**how).fit(*data), kind(**how).fit(stream)


# ---- the same bits as in memory ------------------------------------------------------


@pytest.mark.parametrize("how", HOW.values(), ids=HOW)
def test_in_the_same_order_the_bits_are_those_of_arrays(how):
    X, y = make_rows()
    if not how.get("standardize", True):
        X = np.nan_to_num(X)
    stream = Stream(X, y, buffer_rows=250)
    how = SMALL | how | {"shuffle": False}
    given = {"X_val": X[:200], "y_val": y[:200]}  # CTRE would hold rows out
    a = SparseMLPClassifier(**how).fit(X, y, **given)
    b = SparseMLPClassifier(**how).fit(stream, **given)
    assert all_bits(a) == all_bits(b)
    assert a.chosen_parameters_ == b.chosen_parameters_
    assert len(a.history_) == len(b.history_)
    for one, other in zip(a.history_, b.history_, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], rel=1e-12)
        for name in ("rows", "replaced", "connections", "learning_rate"):
            assert one[name] == other[name]
    assert (a.predict_proba(X) == b.predict_proba(X)).all()


@pytest.mark.parametrize("how", [HOW["steps"], HOW["passes"]], ids=["steps", "passes"])
def test_the_same_holds_for_numbers_weights_and_several_targets(how):
    X, _ = make_rows(900)
    y = np.stack([X[:, 0] * 3 + 1, np.sin(X[:, 1])], axis=1)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    data = X, y, weight
    how = how | {"shuffle": False}
    a, b = both(SparseMLPRegressor, data, Stream(*data, buffer_rows=200), **how)
    assert all_bits(a) == all_bits(b)
    assert (a.predict(X) == b.predict(X)).all()
    data = X, y[:, 1], weight + 0.5
    a, b = both(SparseMLPRegressor, data, Stream(*data, buffer_rows=200), **how)
    assert all_bits(a) == all_bits(b)


@pytest.mark.parametrize("spread", [1e-3, 0.0], ids=["far from 0", "constant"])
def test_targets_are_scaled_as_in_memory_where_a_sample_lacks_rows(spread):
    X, _ = make_rows(900)
    y = 1e8 + spread * np.nan_to_num(X[:, 0])
    stream = Stream(X, y, buffer_rows=200, sample_rows=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the constant
        a, b = both(SparseMLPRegressor, (X, y), stream, max_iter=1)
    assert b.target_mean_ == pytest.approx(a.target_mean_, rel=1e-15)
    assert b.target_scale_ == pytest.approx(a.target_scale_, rel=1e-4)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0}, {2: 0.0}])
def test_the_same_holds_for_weights_of_classes(class_weight):
    X, y = make_rows(900)
    y[:50] = 2
    stream = Stream(X, y, buffer_rows=200)
    how = QUICK | {"shuffle": False, "class_weight": class_weight}
    a, b = both(SparseMLPClassifier, (X, y), stream, **how)
    assert all_bits(a) == all_bits(b)


def test_the_same_holds_for_bytes_that_are_images():
    X = np.random.default_rng(0).integers(0, 255, (700, 12)).astype(np.uint8)
    y = (X[:, 0] > X[:, 5]).astype(int)
    how = QUICK | {"augmentation": Augmentation(3, 4, shift=0.4), "shuffle": False}
    stream = Stream(X, y, buffer_rows=200)
    a, b = both(SparseMLPClassifier, (X, y), stream, **how)
    assert all_bits(a) == all_bits(b)


def test_the_same_holds_for_sparse_rows():
    X = scipy.sparse.random_array((700, 40), density=0.1, rng=0, format="csr")
    y = (np.asarray(X.sum(axis=1)).ravel() > 2).astype(int)
    stream = Stream(X, y, buffer_rows=200)
    a, b = both(SparseMLPClassifier, (X, y), stream, **QUICK, shuffle=False)
    assert all_bits(a) == all_bits(b)


def test_the_same_holds_for_categories_dates_and_words():
    X, y = make_frame(700)
    stream = Stream(chunked(X, y), buffer_rows=200)
    a, b = both(SparseMLPClassifier, (X, y), stream, **QUICK, shuffle=False)
    assert all_bits(a) == all_bits(b)
    assert b.classes_.tolist() == ["no", "yes"]
    assert a.input_names_ == b.input_names_
    assert (a.predict(X) == b.predict(X)).all()


def test_the_same_holds_for_several_labels_and_given_validation_data():
    X, y = make_rows(900)
    labels = np.stack([y, 1 - y, X[:, 0] > 0], axis=1).astype(int)
    how = QUICK | {"shuffle": False, "early_stopping": True, "n_iter_no_change": 2}
    given = {"X_val": X[:100], "y_val": labels[:100]}
    a = SparseMLPClassifier(**how).fit(X, labels, **given)
    b = SparseMLPClassifier(**how).fit(Stream(X, labels, buffer_rows=200), **given)
    assert all_bits(a) == all_bits(b)
    assert a.validation_scores_ == b.validation_scores_


@pytest.mark.parametrize("kind", [SparseMLPClassifier, SparseMLPRegressor])
def test_a_buffer_that_holds_all_rows_is_a_fit_of_arrays(kind):
    X, y = make_rows(700)
    weight = np.arange(700) % 3
    whole = Stream(chunked(X, y, weight), buffer_rows=700)
    by_budget = Stream(chunked(X, y, weight), memory_budget="1GB")
    fits = [
        kind(**QUICK, early_stopping=True).fit(*data)
        for data in ((X, y, weight), (whole,), (by_budget,))
    ]
    assert all_bits(fits[0]) == all_bits(fits[1]) == all_bits(fits[2])


def test_few_rows_are_merged_as_in_memory():
    X, y = np.repeat(make_rows(20)[0], 2, axis=0), np.repeat(make_rows(20)[1], 2)
    a, b = both(SparseMLPClassifier, (X, y), Stream(X, y, buffer_rows=8), **QUICK)
    assert all_bits(a) == all_bits(b)


# ---- shuffled ------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"max_iter": 5}], ids=["steps", "passes"])
@pytest.mark.parametrize("kind", ["chunks", "arrays"])
def test_a_shuffled_fit_is_what_the_oracle_trains(kind, how, monkeypatch):
    X, y = make_rows(1100)
    stream = Stream(chunked(X, y, size=130), buffer_rows=200, sample_rows=300)
    lengths = [1100]  # what comes in one order is one chunk to the oracle
    if kind == "arrays":
        stream = Stream(X, y, buffer_rows=200, sample_rows=300)
        stream._source._rows, stream._source.n_chunks = 64, 18
        lengths = [64] * 17 + [12]
    model = SparseMLPClassifier(**SMALL | how)
    prepared = prepare_stream(model, check_parameters(model), stream)
    assert isinstance(prepared, PreparedStream)
    assert len(prepared.facts.numbers) == 300 and prepared.layout.size == 256
    model.fit(stream)
    for i, network in enumerate(model.networks_):
        expected = naive_fit(prepared, X, y, lengths, index=i)
        for ours, theirs in zip(network.layers, expected.layers, strict=True):
            assert ours.indices.tobytes() == theirs.indices.tobytes()
            assert ours.weights.tobytes() == theirs.weights.tobytes()


def test_rows_are_shuffled_differently_by_seed_and_pass():
    X, y = make_rows(1100)
    fits = [
        SparseMLPClassifier(**QUICK | {"random_state": seed}).fit(
            Stream(X, y, buffer_rows=200)
        )
        for seed in (1, 2)
    ]
    assert all_bits(fits[0]) != all_bits(fits[1])
    in_order = SparseMLPClassifier(**QUICK | {"random_state": 1}, shuffle=False)
    assert all_bits(in_order.fit(Stream(X, y, buffer_rows=200))) != all_bits(fits[0])


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("prefetch", [False, True])
def test_threads_and_prefetching_change_no_bit(n_jobs, prefetch):
    X, y = make_rows(900)
    how = QUICK | {"n_networks": 3}
    a = SparseMLPClassifier(**how, n_jobs=1).fit(
        Stream(X, y, buffer_rows=200, prefetch=False)
    )
    b = SparseMLPClassifier(**how, n_jobs=n_jobs).fit(
        Stream(X, y, buffer_rows=200, prefetch=prefetch)
    )
    assert all_bits(a) == all_bits(b)
    assert a.history_[0]["alive"] == b.history_[0]["alive"]


def test_the_chunks_of_an_iterator_change_no_bit():
    X, y = make_rows(900)
    fits = [
        SparseMLPClassifier(**QUICK).fit(
            Stream(chunked(X, y, size=size), buffer_rows=200, sample_rows=150)
        )
        for size in (1, 77, 900)
    ]
    assert all_bits(fits[0]) == all_bits(fits[1]) == all_bits(fits[2])


class Counting(Stream):
    """Counts how often its rows are read."""

    def chunks(self, order=None):
        self.n_read = getattr(self, "n_read", 0)
        for number, chunk in super().chunks(order):
            self.n_read += chunk.n_rows
            yield number, chunk


@pytest.mark.parametrize("n_networks", [1, 4])
def test_several_networks_share_the_passes(n_networks):
    X, y = make_rows(1000)
    stream = Counting(X, y, buffer_rows=256, prefetch=False)
    SparseMLPClassifier(**QUICK | {"n_networks": n_networks, "n_jobs": 2}).fit(stream)
    n_passes = stream.n_read / 1000  # the first one, and one per epoch
    assert 4.9 < n_passes <= 5.1


def test_it_learns_what_it_can_learn_from_sorted_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    stream = Stream(X, y, buffer_rows=512, sample_rows=1000)
    model = SparseMLPClassifier((50,), n_networks=1, random_state=0).fit(stream)
    assert model.score(X, y) > 0.97


# ---- validation, callbacks, checkpoints ----------------------------------------------


def test_rows_are_held_out_to_decide_the_end():
    X, y = make_rows(2000)
    stream = Stream(X, y, buffer_rows=256)
    how = SMALL | {"early_stopping": True, "max_iter": 60, "n_iter_no_change": 2}
    model = SparseMLPClassifier(**how).fit(stream)
    assert model.n_iter_ < 60 and len(model.validation_scores_) == model.n_iter_
    a, method = SparseMLPClassifier(**how), check_parameters(model)
    prepared = prepare_stream(a, method, stream)
    n_held = len(prepared.held.targets)
    assert 170 < n_held <= 200
    assert prepared.layout.n_rows == 2000 - n_held
    first = next(prepared.reader.pieces(0)).numbers
    assert len(first) == len(set(first.tolist()))


def test_a_callback_watches_the_first_network_and_ends_all():
    from cofire.callbacks import Callback

    class Ends(Callback):
        def on_epoch_end(self, progress, record):
            return progress.epoch == 2

    X, y = make_rows(900)
    how = QUICK | {"callbacks": [Ends()], "shuffle": False}
    a, b = both(SparseMLPClassifier, (X, y), Stream(X, y, buffer_rows=200), **how)
    assert [len(history) for history in b.histories_] == [2, 2]
    assert all_bits(a) == all_bits(b)


class Stops(Exception):
    pass


def test_a_fit_that_was_interrupted_resumes_to_the_bit(tmp_path):
    from cofire.callbacks import Callback

    class Interrupts(Callback):
        epoch = 3

        def on_epoch_end(self, progress, record):
            if progress.epoch == self.epoch:
                raise Stops

    X, y = make_rows(900)
    how = QUICK | {"max_iter": 5}
    whole = SparseMLPClassifier(**how).fit(Stream(X, y, buffer_rows=200))
    from cofire.callbacks import Checkpoint

    interrupts = Interrupts()
    often = {"callbacks": [Checkpoint(tmp_path, every=1), interrupts]}
    with pytest.raises(Stops):
        SparseMLPClassifier(**how, **often).fit(Stream(X, y, buffer_rows=200))
    interrupts.epoch = -1
    again = SparseMLPClassifier(**how, **often).fit(Stream(X, y, buffer_rows=200))
    assert again.resumed_after_ == 2
    assert all_bits(again) == all_bits(whole)


@pytest.mark.parametrize("prefetch", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_was_trained_before_an_error_can_be_used(prefetch, error):
    X, y = make_rows(900)
    make, passes = chunked(X, y), []

    def breaks():
        passes.append(1)
        for i, chunk in enumerate(make()):
            if len(passes) == 4 and i == 5:
                raise error("gone")
            yield chunk

    model = SparseMLPClassifier(**QUICK | {"n_networks": 3, "n_jobs": 2})
    with pytest.raises(error, match="gone"):
        model.fit(Stream(breaks, buffer_rows=200, prefetch=prefetch))
    assert 1 <= model.n_iter_ <= 2 and model.predict(X).shape == (900,)


def test_checkpoints_of_other_rows_are_not_taken(tmp_path):
    X, y = make_rows(900)
    how = QUICK | {"checkpoint": str(tmp_path)}
    SparseMLPClassifier(**how).fit(Stream(X, y, buffer_rows=200))
    same = SparseMLPClassifier(**how).fit(Stream(X, y, buffer_rows=200))
    assert same.resumed_after_ == 4
    X[501, 0] += 1e-9
    with pytest.warns(UserWarning, match="No checkpoint"):
        other = SparseMLPClassifier(**how).fit(Stream(X, y, buffer_rows=200))
    assert other.resumed_after_ == 0


def test_a_warm_start_continues_with_the_columns_it_learnt():
    X, y = make_rows(900)
    how = QUICK | {"shuffle": False, "warm_start": True}
    a, b = both(SparseMLPClassifier, (X, y), Stream(X, y, buffer_rows=200), **how)
    a.fit(X + 1, y)
    b.fit(Stream(X + 1, y, buffer_rows=200))
    assert b.n_iter_ == 8 and all_bits(a) == all_bits(b)


def test_networks_that_fail_start_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32) * 6.5
    y = X @ [1.0, -2.0, 0.5, 0.0]
    how = {"hidden_layer_sizes": (), "density": 1.0, "method": "dense"}
    how |= {"solver": "sgd", "input_dropout": 0.0, "standardize": False}
    how |= {"max_iter": 40, "batch_size": 100, "shuffle": False, "n_networks": 3}
    a, b = both(SparseMLPRegressor, (X, y), Stream(X, y, buffer_rows=100), **how)
    assert all_bits(a) == all_bits(b)
    factors = [progress.rate_factor for progress in b._fitted.trainings]
    assert factors == [progress.rate_factor for progress in a._fitted.trainings]
    assert max(factors) < 1


# ---- predictions ---------------------------------------------------------------------


def test_predictions_come_chunk_by_chunk():
    X, y = make_rows(900)
    model = SparseMLPClassifier(**QUICK).fit(X, y)
    stream = Stream(chunked(X, y, size=100))
    parts = list(model.predict(stream))
    assert [len(part) for part in parts] == [100] * 9
    assert (np.concatenate(parts) == model.predict(X)).all()
    parts = np.concatenate(list(model.predict_proba(Stream(X))))
    assert (parts == model.predict_proba(X)).all()
    regressor = SparseMLPRegressor(**QUICK).fit(X, y)
    found = np.concatenate(list(regressor.predict(Stream(X))))
    assert (found == regressor.predict(X)).all()


# ---- what is refused -----------------------------------------------------------------


def refused(stream, message, *args, kind=ValueError, **how):
    with pytest.raises(kind, match=message):
        SparseMLPClassifier(**QUICK | how).fit(stream, *args)


def test_what_does_not_belong_to_a_stream_is_refused():
    X, y = make_rows(300)
    stream = Stream(X, y, buffer_rows=100)
    refused(stream, "y was given beside a stream", y)
    refused(stream, "sample_weight was given beside a stream", None, y)
    refused(Stream(X, buffer_rows=100), "y: the stream has no targets")
    refused(Stream(lambda: [], target="a"), "the stream has no rows")
    with pytest.raises(TypeError, match="partial_fit takes rows in memory"):
        SparseMLPClassifier(**QUICK).partial_fit(stream, None)
    several = Stream(X, np.stack([y, y], axis=1), buffer_rows=100)
    refused(several, "class_weight: not for several columns", class_weight="balanced")


@pytest.mark.parametrize(
    ("chunk", "kind", "message"),
    [
        (
            lambda X, y: (X[:, :-1], y),
            ValueError,
            "chunk 2 of the stream: X has 5 feat",
        ),
        (lambda X, y: (X, y, y + 1.0), ValueError, "chunk 2 of the stream has weights"),
        (lambda X, y: (X, y[:-1]), ValueError, "chunk 2 of the stream: .*inconsistent"),
        (
            lambda X, y: (scipy.sparse.csr_array(np.nan_to_num(X)), y),
            TypeError,
            "chunk 2 of the stream has sparse rows, the first one dense",
        ),
        (lambda X, y: (X, y + 0.5), ValueError, "Unknown label type"),
        (lambda X, y: "no rows", TypeError, "a chunk must be"),
    ],
)
def test_a_chunk_unlike_the_first_is_refused(chunk, kind, message):
    X, y = make_rows(300)
    chunks = [(X[:200], y[:200]), chunk(X[200:], y[200:])]
    refused(Stream(chunks, buffer_rows=100), message, kind=kind)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda chunks: chunks[:-1], "there are fewer chunks"),
        (lambda chunks: [*chunks, chunks[0]], "there are more chunks"),
        (lambda chunks: [chunks[1], chunks[0], *chunks[2:]], "has other values"),
        (
            lambda chunks: [tuple(v[:-1] for v in chunks[0]), *chunks[1:]],
            "chunk 1 has 99 rows, it had 100",
        ),
    ],
)
def test_a_stream_that_changes_is_refused(change, message):
    X, y = make_rows(500)
    chunks = list(chunked(X, y)())
    passes = []

    def changing():
        passes.append(1)
        return chunks if len(passes) < 4 else change(chunks)

    refused(Stream(changing, buffer_rows=128), message)
    passes.clear()
    refused(Stream(changing, buffer_rows=128, prefetch=False), message)


def test_too_small_a_budget_names_the_least_that_works():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 400)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    how = QUICK | {"max_iter": 1}
    with pytest.raises(ValueError, match="memory_budget=2MB is too small") as error:
        SparseMLPClassifier(**how).fit(Stream(X, y, memory_budget="2MB"))
    least = str(error.value).split(": ")[1].split(" is the least")[0]
    SparseMLPClassifier(**how).fit(Stream(X, y, memory_budget=least))
    with pytest.raises(ValueError, match="buffer_rows=4900: two buffers") as error:
        stream = Stream(X, y, memory_budget=least, buffer_rows=4900)
        SparseMLPClassifier(**how).fit(stream)
    enough = str(error.value).split("at least ")[1].split(",")[0]
    stream = Stream(X, y, memory_budget=enough, buffer_rows=4900)
    SparseMLPClassifier(**how).fit(stream)
