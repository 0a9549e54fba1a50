"""Too little memory is a MemoryError, never a crash, and the next call is right.

A child process imports what it needs, warms up, and then forks once per limit: each
fork starts from the same memory, is allowed a share of what the call takes, and when
the limit is lifted calls again.
"""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest

from helpers import processes
from helpers.reliability import figures

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits as Linux has them"
)

FITS = {
    "fit, screened": {"method": "ctre_sim", "similarity": "screened"},
    "fit, exact": {"method": "ctre_sim", "similarity": "exact"},
    "fit, linear": {"method": "ctre_sim", "similarity": "linear"},
    "fit, rigl": {"method": "rigl"},
    "fit, set": {"method": "set"},
    "fit, dense": {"method": "dense"},
    "fit, snip": {"method": "snip"},
}
CALLS = (*FITS, "partial_fit", "predict", "save", "load")

# ---- in a process of its own ---------------------------------------------------------


def digest(*arrays):
    """What identifies arrays to the bit."""
    all_bytes = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
    return hashlib.sha256(all_bytes).hexdigest()


def of_model(model):
    layers = model.network_.layers
    return digest(
        *[a for x in layers for a in (x.indptr, x.indices, x.weights, x.bias)]
    )


def make_call(name, folder, n_rows=2000, n_features=300, n_hidden=600):
    """A call that takes some tens of megabytes, and says what came out."""
    import cofire
    from helpers.estimator_cases import earlier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))  # float64: a copy is made
    y = rng.integers(0, 5, size=n_rows)

    def new_model(**how):
        return earlier(
            **{"hidden_layer_sizes": (n_hidden, n_hidden), "epsilon": 30, "max_iter": 2}
            | {"batch_size": 500, "n_jobs": 4, "random_state": 0}
            | how
        )

    if name in FITS:
        return lambda: of_model(new_model(**FITS[name]).fit(X, y))
    model, path = new_model(method="set", solver="adam").fit(X, y), folder / f"{n_rows}"
    if name == "predict":
        many = np.concatenate([X] * 5)
        return lambda: digest(model.predict_proba(many), model.predict(many))
    if name == "save":
        return lambda: (model.save(path), digest(np.fromfile(path, np.uint8)))[1]
    model.save(path)
    if name == "load":
        return lambda: of_model(cofire.load(path))
    models = []

    def go_on():
        # A model whose last call failed is whole, and goes on.
        for model in models:
            model.partial_fit(X, y).network_.check()
        models[:] = [cofire.load(path)]
        return of_model(models[0].partial_fit(X, y))

    return go_on


def address_space(name):
    """Bytes this process has mapped: VmSize now, VmPeak at most so far."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) * 1024


def allow(n_bytes):
    """Limit the address space of this process; returns the limit that cannot change."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, hard))
    return hard


def grow_stack():
    """Map more of the stack: one that cannot grow later ends any program."""
    nested = []
    for _ in range(5000):
        nested = [nested]
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    repr(nested)  # recursion in C
    sys.setrecursionlimit(usual)


def in_a_fork(work, seconds=100):
    """What `work` returns or raises, or how the fork ended; a hang ends by a signal."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            said = work()
        except BaseException:
            said = traceback.format_exc()
        os.write(writes, json.dumps(said).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    ended = os.waitstatus_to_exitcode(status)
    return json.loads(said) if ended == 0 else f"crashed: {ended}"


def under_limits(name, n_levels):
    """Print as JSON how the call fared with more and more of the memory it takes."""
    with tempfile.TemporaryDirectory() as folder:
        call = make_call(name, Path(folder))
        make_call(name, Path(folder), 50, 10, 10)()  # imports what is imported late

        def alone():
            before = address_space("VmSize")
            return call(), address_space("VmPeak") - before

        expected, need = in_a_fork(alone)

        def limited(level):
            # From nothing to half as much again as it takes; closer steps where it is
            # little, for threads take much and can be done without.
            n_bytes = int(1.5 * need * (level / n_levels) ** 2)
            grow_stack()
            unlimited = allow(address_space("VmSize") + n_bytes)
            try:
                outcome = ENOUGH if call() == expected else "other numbers"
            except MemoryError:
                outcome = REFUSED
            except BaseException:
                outcome = traceback.format_exc()
            allow(unlimited)
            return outcome if call() == expected else f"{outcome}, then other numbers"

        levels = range(n_levels + 1)
        outcomes = [in_a_fork(lambda level=n: limited(level)) for n in levels]
    sys.stdout.write(json.dumps(outcomes))


# ---- and its parent ------------------------------------------------------------------

ENOUGH, REFUSED = "enough", "MemoryError"
# What is freed goes back at once, so that a limit is one; else forks live on what the
# warm-up left behind.
SHARP = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MALLOC_TOP_PAD_": "0",
}


def outcomes_of(name, n_levels):
    done = subprocess.run(
        [sys.executable, __file__, name, str(n_levels)],
        env=processes.environment(**SHARP),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    wrong = [outcome for outcome in outcomes if outcome not in (ENOUGH, REFUSED)]
    assert wrong == [], done.stderr
    assert len(outcomes) == n_levels + 1
    return outcomes


@pytest.mark.parametrize("name", ["fit, screened", "partial_fit", "save"])
def test_too_little_memory_is_an_error_and_no_crash(name):
    assert REFUSED in outcomes_of(name, 2)  # else nothing was tried


@pytest.mark.slow
def test_all_calls_survive_50_limits():
    outcomes = [outcome for name in CALLS for outcome in outcomes_of(name, 49)]
    n_refused, n_right = outcomes.count(REFUSED), outcomes.count(ENOUGH)
    figures.report(
        "memory limit (RLIMIT_AS)",
        "50 limits for each call: a MemoryError or the right result, no crash, and the "
        "next call right to the bit",
        f"{len(CALLS)} calls, {len(outcomes)} limits: {n_refused} MemoryErrors, "
        f"{n_right} right results, 0 crashes; the next call right",
        met=n_refused > 0 and n_right > 0,
    )
    assert n_refused > 0 and n_right > 0


if __name__ == "__main__":
    under_limits(sys.argv[1], int(sys.argv[2]))
