"""Native calls that take long, for a process of its own that is interrupted."""

import signal
import sys
from copy import deepcopy

import numpy as np
import scipy.sparse

from cofire import engine
from cofire.engine import _native
from helpers.engine_cases import Case, random_network
from helpers.engine_checks import all_bits


def ends_early(call):
    """Do what takes long; say when it starts and when an interrupt came through."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells turn it off
    sys.stdout.write("started\n")
    sys.stdout.flush()
    try:
        call()
    except KeyboardInterrupt:
        sys.stdout.write("interrupted\n")
        sys.stdout.flush()


def train_long(optimizer, batch_size, n_threads):
    """Train for a minute or so; then the network must be that of some whole steps."""
    case = Case.random(
        0,
        sizes=(300, 300, 10),
        densities=[1.0, 1.0],
        optimizer=optimizer,
        batch_size=batch_size,
        n_used=1000,
    )
    start, started = case.network.copy(), deepcopy(case.optimizer)
    case.order = np.resize(case.order, 4_000_000)

    def train():
        engine.train_epoch(
            case.network,
            case.optimizer,
            case.samples.rows,
            case.targets,
            order=case.order,
            batch_size=batch_size,
            drop_last=True,
            n_threads=n_threads,
        )

    ends_early(train)
    case.network.check()
    n_steps = case.optimizer.steps_done
    after = all_bits(case.network, case.optimizer)
    case.network, case.optimizer = start, started
    # One row more, which is dropped: one batch that holds all rows is summed otherwise.
    case.order = case.order[: n_steps * batch_size + 1]
    if n_steps > 0:
        train()
    assert all_bits(case.network, case.optimizer) == after
    sys.stdout.write(f"{n_steps} of {4_000_000 // batch_size} steps\n")


def predict_long(n_threads):
    """Predict 400,000 empty rows with a million connections each."""
    network = random_network(
        np.random.default_rng(0), (1000, 1000, 1), densities=[1, 1]
    )
    rows = engine.Rows(scipy.sparse.csr_array((400_000, 1000), dtype=np.float32))
    outputs, native = [], _native.predict

    def predict(*, out, **more):
        out[:] = np.nan
        outputs.append(out)
        return native(out=out, **more)

    _native.predict = predict
    ends_early(lambda: engine.predict(network, rows, n_threads=n_threads))
    n_done = int(np.isfinite(outputs[0]).all(axis=1).sum())
    sys.stdout.write(f"{n_done} of {len(rows)} rows\n")
