"""The native door: refuses what it was not made for, converts and breaks nothing."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from cofire import Augmentation, engine
from cofire.core.network import ACTIVATIONS, OUTPUTS
from cofire.core.optimizers import OPTIMIZERS, SGD, Adam
from cofire.engine import _native
from cofire.engine.networks import native_network
from helpers.engine_cases import Case, Samples, random_network
from helpers.engine_checks import all_bits

N_ROWS, N_IN, N_OUT = 43, 9, 3


def arguments(output="softmax"):
    """What engine.train_epoch takes, all in order."""
    case = Case.random(0, sizes=(N_IN, 8, N_OUT), output=output, weighted=True)
    return {
        "network": case.network,
        "optimizer": case.optimizer,
        "rows": case.samples.rows,
        "targets": case.targets,
        "order": case.order,
        "batch_size": 16,
        "sample_weight": case.sample_weight,
        "augmentation": None,
        "label_smoothing": 0.0,
        "input_dropout": 0.0,
    }


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    return np.repeat(array, 2)[::2]


def put(array, value):
    array = array.copy()
    array[5] = value
    return array


def wide(array):
    return array.astype(f"{array.dtype.kind}8")


def assert_refused(arguments):
    before = all_bits(arguments["network"])
    with pytest.raises((TypeError, ValueError)):
        engine.train_epoch(**arguments)
    assert all_bits(arguments["network"]) == before


WRONG = {
    "order of int32": ("order", lambda a: a.astype(np.int32)),
    "order of floats": ("order", lambda a: a.astype(np.float64)),
    "order with gaps": ("order", strided),
    "order in two dimensions": ("order", lambda a: a[:, None]),
    "a negative row": ("order", lambda a: put(a, -1)),
    "a row too far": ("order", lambda a: put(a, N_ROWS)),
    "labels of int64": ("targets", wide),
    "labels of floats": ("targets", lambda a: a.astype(np.float32)),
    "labels with gaps": ("targets", strided),
    "labels in two dimensions": ("targets", lambda a: a[:, None]),
    "too few labels": ("targets", lambda a: a[:-1]),
    "too many labels": ("targets", lambda a: np.append(a, a[:1])),
    "a negative label": ("targets", lambda a: put(a, -1)),
    "a label without an output": ("targets", lambda a: put(a, N_OUT)),
    "a label far off": ("targets", lambda a: put(a, 2**31 - 1)),
    "weights of float64": ("sample_weight", wide),
    "weights with gaps": ("sample_weight", strided),
    "too few weights": ("sample_weight", lambda a: a[:-1]),
    "no batch": ("batch_size", lambda n: 0),
    "half a batch": ("batch_size", lambda n: 16.5),
    "images of another size": ("augmentation", lambda _: Augmentation(8, 2)),
    "images of other channels": ("augmentation", lambda _: Augmentation(3, 3, 2)),
    "images without end": ("augmentation", lambda _: Augmentation(2**62, 3, 3)),
    "all of a label": ("label_smoothing", lambda _: 1.0),
    "less than no smoothing": ("label_smoothing", lambda _: -0.1),
    "smoothing that is no number": ("label_smoothing", lambda _: float("nan")),
    "all inputs dropped": ("input_dropout", lambda _: 1.0),
    "less than none dropped": ("input_dropout", lambda _: -0.1),
    "a dropout that is no number": ("input_dropout", lambda _: float("nan")),
    "other rows": ("rows", lambda r: engine.Rows(np.zeros((N_ROWS, 8), np.float32))),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_refused(name):
    right = arguments()
    argument, wrong = WRONG[name]
    assert_refused(right | {argument: wrong(right[argument])})


@pytest.mark.parametrize("moves", [(3, 0), (0, 3), (-1, 0), (0, -1), (0, 2**62)])
def test_a_shift_beyond_the_image_is_refused(moves, monkeypatch):
    monkeypatch.setattr(Augmentation, "pixels", moves)
    assert_refused(arguments() | {"augmentation": Augmentation(3, 3)})


def test_numbers_are_not_smoothed():
    with pytest.raises(
        ValueError, match="label_smoothing: must be 0 for .* 'identity'"
    ):
        engine.train_epoch(**arguments("identity") | {"label_smoothing": 0.1})


WRONG_TARGETS = {
    "float64": wide,
    "by columns": np.asfortranarray,
    "a column short": lambda a: a[:, 1:].copy(),
    "a row short": lambda a: a[1:],
    "labels": lambda a: a[:, 0].astype(np.int32),
}


@pytest.mark.parametrize("name", WRONG_TARGETS)
@pytest.mark.parametrize("output", ["sigmoid", "identity"])
def test_wrong_targets_are_refused(output, name):
    right = arguments(output)
    assert_refused(right | {"targets": WRONG_TARGETS[name](right["targets"])})


@pytest.mark.parametrize("change", [read_only, strided, wide, lambda a: a[:-1]])
@pytest.mark.parametrize("name", ["weights", "bias"])
def test_wrong_parameters_are_refused(name, change):
    right = arguments()
    layers = right["network"].layers
    layers[0] = replace(layers[0], **{name: change(getattr(layers[0], name))})
    assert_refused(right)


@pytest.mark.parametrize(
    "change", [strided, lambda a: a[:-1], lambda a: a - 1, lambda a: a * 2.0, np.flip]
)
@pytest.mark.parametrize("name", ["indptr", "indices"])
def test_a_wrong_topology_is_refused(name, change):
    right = arguments()
    layers = right["network"].layers
    layers[0] = replace(layers[0], **{name: change(getattr(layers[0], name))})
    assert_refused(right)


@pytest.mark.parametrize("change", [read_only, strided, wide, lambda a: a[:-1]])
@pytest.mark.parametrize("name", ["weights", "bias"])
def test_a_wrong_moment_is_refused(name, change):
    right = arguments()
    moments = getattr(right["optimizer"].state[0], name)
    moments[0] = change(moments[0])
    assert_refused(right)


@pytest.mark.parametrize("optimizer", [SGD(), Adam()])
def test_an_optimizer_that_was_not_started_is_refused(optimizer):
    assert_refused(arguments() | {"optimizer": optimizer})


def test_the_state_of_another_optimizer_is_refused():
    right = arguments()
    adam = Adam()
    adam.state = right["optimizer"].state
    assert_refused(right | {"optimizer": adam})


def test_unknown_functions_are_refused():
    for name in ("activation", "output"):
        right = arguments()
        setattr(right["network"], name, "elu")
        assert_refused(right)


def test_python_and_the_engine_have_the_same_names():
    assert _native.ACTIVATIONS == ACTIVATIONS
    assert _native.OUTPUTS == OUTPUTS
    assert _native.OPTIMIZERS == tuple(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_says_what_it_keeps_and_takes(name):
    optimizer = OPTIMIZERS[name]()
    assert optimizer.kind == name
    settings = optimizer.settings()
    native = _native.Optimizer(kind=name, settings=settings, steps_done=7)
    assert native.steps_done == 7
    for left_out in settings:
        rest = {k: v for k, v in settings.items() if k != left_out}
        with pytest.raises(ValueError, match=f"^settings: {name} needs '{left_out}'$"):
            _native.Optimizer(kind=name, settings=rest, steps_done=0)
    with pytest.raises(ValueError, match=f"^settings: {name} takes .*; got .*'rho'"):
        more = settings | {"rho": 1.0}
        _native.Optimizer(kind=name, settings=more, steps_done=0)
    with pytest.raises(TypeError, match="^settings: 'alpha' must be a number, got str"):
        wrong = settings | {"alpha": "none"}
        _native.Optimizer(kind=name, settings=wrong, steps_done=0)


def change_layer(i, **changes):
    def change(right):
        layer = right["network"].layers[i]
        parts = {name: made(getattr(layer, name)) for name, made in changes.items()}
        right["network"].layers[i] = replace(layer, **parts)

    return change


def change(name, made):
    return lambda right: right.update({name: made(right[name])})


def rename(name):
    return lambda right: setattr(right["network"], name, "elu")


MESSAGES = {
    r"^layer 2: n_in: expected 8, the number of neurons in layer 1, got 9$": (
        change_layer(1, n_in=lambda n: 9)
    ),
    r"^layer 1: indptr: must start with 0, but indptr\[0\] = -1$": (
        change_layer(0, indptr=lambda a: a - 1)
    ),
    r"^layer 1: indptr: must not decrease, but indptr\[5\] = 99 > indptr\[6\] = ": (
        change_layer(0, indptr=lambda a: put(a, 99))
    ),
    r"^layer 1: indices: must lie in \[0, 9\), but indices\[5\] = 9$": (
        change_layer(0, indices=lambda a: put(a, 9))
    ),
    r"^layer 2: weights: expected a contiguous float32 array with 1 dimension, "
    r"got float64 of shape \(\d+,\)$": change_layer(1, weights=wide),
    r"^layer 2: bias: expected 3, one per neuron, got 2$": (
        change_layer(1, bias=lambda a: a[:-1])
    ),
    r"^layer 1: weights: is read-only": change_layer(0, weights=read_only),
    r"^optimizer: adam needs 2 moments of each parameter, got 0; start\(\)": (
        change("optimizer", lambda _: Adam())
    ),
    r"^activation: unknown 'elu'; expected one of relu, leaky_relu, tanh, identity$": (
        rename("activation")
    ),
    r"^output: unknown 'elu'; expected one of softmax, sigmoid, identity$": (
        rename("output")
    ),
    r"^order: must lie in \[0, 43\), but order\[5\] = 43$": (
        change("order", lambda a: put(a, N_ROWS))
    ),
    r"^targets: must lie in \[0, 3\), but targets\[5\] = -1$": (
        change("targets", lambda a: put(a, -1))
    ),
    r"^sample_weight: expected 43, one per row, got 42$": (
        change("sample_weight", lambda a: a[:-1])
    ),
    r"^rows: expected 9 features, one per input neuron, got 8$": (
        change("rows", lambda _: engine.Rows(np.zeros((N_ROWS, 8), np.float32)))
    ),
    r"^batch_size: must be at least 1, got 0$": change("batch_size", lambda _: 0),
    r"^input_dropout: must lie in \[0, 1\), got nan$": (
        change("input_dropout", lambda _: float("nan"))
    ),
    r"^augmentation: height \* width \* channels must be the number of features, 9, "
    r"got 8 \* 2 \* 1$": change("augmentation", lambda _: Augmentation(8, 2)),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_an_error_says_what_was_expected_and_what_came(message):
    right = arguments()
    MESSAGES[message](right)
    with pytest.raises((TypeError, ValueError), match=message):
        engine.train_epoch(**right)


def test_what_is_only_read_may_be_read_only():
    right = arguments()
    for name in ("targets", "order", "sample_weight"):
        right[name] = read_only(right[name])
    assert engine.train_epoch(**right).n_steps == 3


def test_a_read_only_network_predicts():
    """As a worker process gets it, mapped from a file."""
    network = arguments()["network"]
    rows = engine.Rows(read_only(np.ones((4, N_IN), np.float32)))
    expected = engine.predict(network, rows)
    for i, layer in enumerate(network.layers):
        frozen = {"weights": read_only(layer.weights), "bias": read_only(layer.bias)}
        network.layers[i] = replace(layer, **frozen)
    assert np.array_equal(engine.predict(network, rows), expected)


def test_an_empty_order_trains_nothing():
    right = arguments() | {"order": np.empty(0, np.int64)}
    before = all_bits(right["network"], right["optimizer"])
    stats = engine.train_epoch(**right)
    assert (stats.n_steps, stats.loss) == (0, 0.0)
    assert all_bits(right["network"], right["optimizer"]) == before


@pytest.mark.parametrize("batch_size", [41, 10**6, 2**40, 2**63 - 1])
def test_a_batch_larger_than_the_rows_is_one_batch(batch_size):
    assert engine.train_epoch(**arguments() | {"batch_size": batch_size}).n_steps == 1


# ---- rows ----------------------------------------------------------------------------

BYTES, ONES = np.zeros((4, 3), np.uint8), np.ones(3, np.float32)
SPARSE = {
    "indptr": np.array([0, 2, 3]),
    "indices": np.array([0, 4, 1], np.int32),
    "values": ONES,
    "n_features": 5,
}


def floats(values):
    return _native.float_rows(values)


def bytes_with(values=BYTES, scale=ONES, offset=ONES):
    return _native.byte_rows(values, scale, offset)


def sparse_with(**other):
    return _native.sparse_rows(*(SPARSE | other).values())


WRONG_ROWS = {
    "float64": lambda: floats(np.ones((4, 3))),
    "by columns": lambda: floats(np.ones((3, 4), np.float32).T),
    "one dimension": lambda: floats(ONES),
    "bytes as floats": lambda: floats(BYTES),
    "signed bytes": lambda: bytes_with(BYTES.astype(np.int8)),
    "scale of float64": lambda: bytes_with(scale=wide(ONES)),
    "offset of float64": lambda: bytes_with(offset=wide(ONES)),
    "short scale": lambda: bytes_with(scale=ONES[1:]),
    "short offset": lambda: bytes_with(offset=ONES[1:]),
    "indptr of int32": lambda: sparse_with(indptr=np.array([0, 2, 3], np.int32)),
    "indices of int64": lambda: sparse_with(indices=np.array([0, 4, 1])),
    "values of float64": lambda: sparse_with(values=wide(ONES)),
    "too few values": lambda: sparse_with(values=ONES[1:]),
    "too few indices": lambda: sparse_with(indices=np.array([0, 4], np.int32)),
    "a feature too far": lambda: sparse_with(n_features=4),
    "a negative feature": lambda: sparse_with(indices=np.array([0, 4, -1], np.int32)),
    "a falling indptr": lambda: sparse_with(indptr=np.array([0, 4, 3])),
    "a late indptr": lambda: sparse_with(indptr=np.array([1, 2, 3])),
    "no indptr": lambda: sparse_with(indptr=np.empty(0, np.int64)),
}


@pytest.mark.parametrize("name", WRONG_ROWS)
def test_wrong_rows_are_refused(name):
    with pytest.raises((TypeError, ValueError)):
        WRONG_ROWS[name]()


def test_right_rows_are_taken():
    assert floats(np.ones((4, 3), np.float32)).n_features == 3
    assert bytes_with().n_rows == 4
    assert sparse_with().n_rows == 2


def test_rows_keep_their_arrays_alive():
    rng = np.random.default_rng(0)
    network = random_network(rng, (N_IN, N_OUT))
    rows = [Samples.random(rng, "floats", 500, N_IN).rows for _ in range(20)]
    first = [engine.predict(network, r) for r in rows]
    in_their_place = [np.full((500, N_IN), 7, np.float32) for _ in range(40)]
    assert np.array_equal(first, [engine.predict(network, r) for r in rows])
    del in_their_place


@pytest.mark.parametrize("form", ["csc", "coo"])
def test_sparse_rows_in_another_form_are_not_misread(form):
    """Refused, or read as what they are; a square matrix fits either way."""
    X = np.random.default_rng(0).normal(size=(N_IN, N_IN)).astype(np.float32)
    network = arguments()["network"]
    expected = engine.predict(network, engine.Rows(X))
    try:
        rows = engine.Rows(scipy.sparse.csr_array(X).asformat(form))
    except (TypeError, ValueError):
        return
    assert np.array_equal(engine.predict(network, rows), expected)


def test_entries_of_a_sparse_row_that_meet_are_summed():
    """SciPy's meaning of a CSR matrix that names a place twice."""
    twice = scipy.sparse.csr_array(
        (np.ones(3, np.float32), np.array([2, 5, 2]), np.array([0, 3])), shape=(1, N_IN)
    )
    network = arguments()["network"]
    expected = engine.predict(network, engine.Rows(twice.toarray()))
    assert np.array_equal(engine.predict(network, engine.Rows(twice)), expected)


OUT = np.empty((4, N_OUT), np.float32)


@pytest.mark.parametrize(
    "out",
    [wide(OUT), np.asfortranarray(OUT), OUT[1:], OUT[:, 1:].copy(), read_only(OUT)],
)
def test_a_wrong_place_for_predictions_is_refused(out):
    network = native_network(arguments()["network"])
    with pytest.raises((TypeError, ValueError), match="^out: expected "):
        _native.predict(
            networks=[network],
            rows=engine.Rows(np.ones((4, N_IN), np.float32)).native,
            out=out,
            n_threads=1,
        )
