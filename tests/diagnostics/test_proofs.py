"""The proofs of `cofire doctor` can fail, and their hash sees every array."""

import subprocess
import sys

import pytest

from cofire import engine
from cofire.diagnostics import proofs
from helpers.estimator_cases import classes, small


def arrays_of(model):
    """Every array that a proof is about, by name; to be changed in place."""
    found = {}
    for i, layer in enumerate(model.network_.layers):
        for name in ("indices", "weights", "bias"):
            found[f"{name} {i}"] = getattr(layer, name)
    for i, state in enumerate(model._progress.optimizer.state):
        for name, moments in (("weights", state.weights), ("bias", state.bias)):
            for m, moment in enumerate(moments):
                found[f"moment {m} of {name} {i}"] = moment
    return found


def test_the_hash_sees_every_array():
    X, y = classes()
    model = small(solver="adam").fit(X, y)
    whole = proofs.fingerprint(model, X)
    assert proofs.fingerprint(small(solver="adam").fit(X, y), X) == whole
    arrays = arrays_of(model)
    assert len(arrays) == 3 * (3 + 4)
    for name, array in arrays.items():
        before = array[-1]
        array.view("u4")[-1] ^= 1  # one bit, the last
        assert proofs.fingerprint(model, X) != whole, name
        array[-1] = before
    assert proofs.fingerprint(model, X) == whole
    assert proofs.fingerprint(model, X[:-1]) != whole


def ask(program, right="right"):
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return proofs._ask("so", process, right)


@pytest.mark.parametrize(
    "program, equal, note",
    [
        ("print('right')", True, ""),
        ("print('other')", False, ""),
        ("1 / 0", False, "it ended with 1: ZeroDivisionError: division by zero"),
        ("import time; time.sleep(60)", False, "it did not end within 2 s"),
    ],
)
def test_a_process_that_says_otherwise_or_nothing_is_no_proof(
    program, equal, note, monkeypatch
):
    monkeypatch.setattr(proofs, "PATIENCE", 2.0 if "sleep" in program else 60.0)
    proof = ask(program)
    assert (proof.equal, proof.note) == (equal, note)


def test_what_a_platform_does_not_have_is_no_fault(monkeypatch):
    monkeypatch.setattr(proofs.multiprocessing, "get_all_start_methods", lambda: [])
    monkeypatch.setattr(proofs, "_start", lambda how, **environment: "no processes")
    found = [proofs._ask(way, p, "right") for way, p in proofs._start_processes()]
    assert [proof.equal for proof in found] == [None] * 4
    assert found[-1].note == "this platform does not have it"


def test_the_known_answer_is_that_of_the_level_and_of_x86(monkeypatch):
    known = proofs.KNOWN.get(engine.simd_level(), "?")
    for machine, wrong in (("x86_64", "differs"), ("arm64", "differs from x86-64")):
        monkeypatch.setattr(proofs.platform, "machine", lambda m=machine: m)
        assert proofs.known_answer(known) == ("same" if known != "?" else wrong)
        assert proofs.known_answer("0" * 64) == wrong
