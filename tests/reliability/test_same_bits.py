"""The same bits: for any number of threads, in any process, after any pause."""

import platform
import subprocess
import sys
from contextlib import contextmanager

import pytest

import cofire
from cofire.diagnostics.proofs import KNOWN, fingerprint
from helpers import float_modes, processes, simd
from helpers.estimator_cases import METHODS_ALONE
from helpers.reliability import bits_cases, figures
from helpers.reliability.bits_cases import (
    THREADS,
    bits,
    combinations,
    data,
    model,
    sample,
    sample_bits,
)

WITHOUT_VECTORS = (
    "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR AVX2 FMA3"
)
ENVIRONMENTS = {
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4242": {"PYTHONHASHSEED": "4242"},
    "BLAS with 1 thread": {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    "BLAS with 4 threads": {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"},
    "plain locale": {"LC_ALL": "C"},
    "locale with UTF-8": {"LC_ALL": "C.UTF-8"},
    "NumPy without vectors": {"NPY_DISABLE_CPU_FEATURES": WITHOUT_VECTORS},
}


def start(*arguments, **environment):
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=processes.environment(**environment),
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process):
    with process:
        found = process.stdout.read()
    assert process.returncode == 0
    return found.strip()


def elsewhere(how="here", **environment):
    return said(start("-m", "helpers.reliability.bits_cases", how, **environment))


@contextmanager
def busy_machine(n=4):
    """Processes that take all the time they get."""
    burners = [start("-c", "while True: pass") for _ in range(n)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.communicate()


def in_parts(how, n_epochs, stop, path):
    """The hash of a training epoch by epoch, through a file after one of them."""
    X, y = data(how[-1])
    trained = model(*how, max_iter=n_epochs, n_jobs=2)
    for epoch in range(n_epochs):
        trained.partial_fit(X, y)
        if epoch + 1 == stop:
            trained.save(path)
            trained = cofire.load(path)
    return fingerprint(trained, X)


def warm_started(how, path=None):
    """The hash of two fits in a row, through a file between them if there is one."""
    trained = bits_cases.trained(how, max_iter=2, warm_start=True)
    if path is not None:
        trained.save(path)
        trained = cofire.load(path)
    X, y = data(how[-1])
    return fingerprint(trained.fit(X, y), X)


def alone():
    """The sample without the methods that need validation data."""
    return [how for how in sample() if how[0] in METHODS_ALONE]


def test_the_sample_has_something_of_everything():
    chosen = list(sample())
    assert [how[0] for how in chosen] == list(cofire.METHODS)
    for column, values in ((2, 2), (3, 4), (4, 3)):
        assert len({how[column] for how in chosen}) == values
    assert len({how[1] for how in chosen if bits_cases.searches(how[0])}) == 3
    assert len({bits(how) for how in chosen}) == len(chosen)


@pytest.mark.parametrize("how", list(sample()), ids=lambda how: how[0])
def test_threads_and_kinds_of_rows_change_no_bit(how):
    right = bits(how)
    for n_jobs in THREADS[1:]:
        assert bits(how, n_jobs=n_jobs) == right
    for kind in ("uint8", "csr"):
        assert bits(how, kind, n_jobs=2) == right


def test_hash_seeds_and_ways_to_start_a_process_change_no_bit():
    processes = [
        start("-m", "helpers.reliability.bits_cases", "fork", PYTHONHASHSEED="1"),
        start("-m", "helpers.reliability.bits_cases", "loky", PYTHONHASHSEED="2"),
    ]
    right = sample_bits()
    assert [said(process) for process in processes] == [right, right]


@pytest.mark.parametrize("how", alone()[:4], ids=lambda how: how[0])
def test_pauses_change_no_bit(how, tmp_path):
    right = bits(how, max_iter=3)
    assert in_parts(how, 3, 2, tmp_path / "m") == right
    assert warm_started(how, tmp_path / "m") == warm_started(how)


# ---- at full length ------------------------------------------------------------------


@pytest.mark.slow
def test_all_combinations_with_all_numbers_of_threads():
    n = different = 0
    for how in combinations():
        right = bits(how)
        different += sum(bits(how, n_jobs=n_jobs) != right for n_jobs in THREADS[1:])
        n += 1
    figures.report(
        "same bits for 1, 2, 3, 4, 7, 8, 16 threads",
        "all equal: methods x searches x solvers x activations x losses",
        f"{n} combinations, {n * len(THREADS)} trainings, {different} differ",
        met=different == 0,
    )
    assert different == 0


@pytest.mark.slow
def test_all_environments():
    right = sample_bits()
    found = {name: elsewhere(**env) for name, env in ENVIRONMENTS.items()}
    for how in ("fork", "spawn", "loky"):
        found[how] = elsewhere(how)
    with busy_machine():
        for n_jobs in THREADS:
            found[f"busy machine, {n_jobs} threads"] = sample_bits(n_jobs)
    if float_modes.CAN_CHANGE:
        for name, mode in float_modes.MODES.items():
            with float_modes.changed(mode):
                found[f"floats: {name}"] = sample_bits()
    different = [name for name, value in found.items() if value != right]
    figures.report(
        "same bits in other processes and environments",
        "hash seeds, fork, spawn, loky, BLAS threads, locale, float modes, load",
        f"{len(found)} environments, {len(list(sample()))} trainings each, "
        f"{len(different)} differ",
        met=not different,
    )
    assert not different


@pytest.mark.slow
def test_all_pauses_and_all_kinds_of_rows(tmp_path):
    path, n, different = tmp_path / "m", 0, []
    for how in combinations():
        if how[3] != "relu":
            continue
        right = bits(how)
        pairs = [(kind, bits(how, kind, n_jobs=2), right) for kind in ("uint8", "csr")]
        if how[0] in METHODS_ALONE:
            for k in (1, 2, 4):
                whole = bits(how, max_iter=k)
                for stop in range(k + 1):  # 0: no file
                    found = in_parts(how, k, stop, path)
                    pairs.append((f"{stop} of {k}", found, whole))
            pairs.append(("warm start", warm_started(how, path), warm_started(how)))
        n += len(pairs)
        different += [(*how, name) for name, found, right in pairs if found != right]
    figures.report(
        "same bits after save, load, go on; epoch by epoch; for bytes and CSR",
        "all equal to one fit of float32 rows",
        f"{n} trainings, {len(different)} differ",
        met=not different,
    )
    assert not different


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="hashes of x86-64")
def test_the_known_hash_of_every_level():
    """Levels differ among each other; the promise is that each is always itself."""
    found = {}
    for level, known in KNOWN.items():
        if simd.machine_has(level):
            hashes = [
                said(
                    start(
                        "-m",
                        "cofire.diagnostics.proofs",
                        "here",
                        COFIRE_SIMD=level,
                        **more,
                    )
                )
                for more in ({}, {"NPY_DISABLE_CPU_FEATURES": WITHOUT_VECTORS})
            ]
            found[level] = hashes == [known, known]
    figures.report(
        "the hash that is known of each SIMD level",
        "the same on every x86-64 machine that has the level",
        ", ".join(f"{k} {'same' if same else 'DIFFERS'}" for k, same in found.items()),
        met=all(found.values()),
    )
    assert all(found.values())
