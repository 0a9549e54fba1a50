"""Models of earlier versions: they load, predict the same bits, and train on."""

import json
import platform
import subprocess
import sys
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofire
from cofire import engine
from cofire.estimators.plan import check_parameters
from cofire.estimators.restoring import GONE
from cofire.persistence import model_file as container
from helpers import processes, simd

FOLDER = Path(__file__).parent
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
IS_X86 = platform.machine() in ("x86_64", "AMD64")
NAMES = sorted(EXPECTED["models"])
X = np.array([[float.fromhex(v) for v in row] for row in EXPECTED["X"]], np.float32)


def loaded(name):
    expected = EXPECTED["models"][name]
    gone = [k for k in GONE if expected["parameters"].get(k, "False") != "False"]
    with pytest.warns(UserWarning, match=gone[0]) if gone else nullcontext():
        return cofire.load(FOLDER / f"{name}.cofire"), expected


def rows(model):
    names = getattr(model, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def hexadecimal(array):
    if array.ndim > 1:
        return [hexadecimal(row) for row in array]
    return [float(value).hex() for value in array]


def test_there_is_a_file_for_each_and_they_are_small():
    assert sorted(path.stem for path in FOLDER.glob("*.cofire")) == NAMES
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 500_000


@pytest.mark.parametrize("name", NAMES)
def test_it_comes_back_as_it_was(name):
    model, expected = loaded(name)
    assert type(model).__name__ == expected["estimator"]
    parameters = model.get_params(deep=False)
    # Later versions may have more parameters; those that are gone are named.
    known = {k: v for k, v in expected["parameters"].items() if k not in GONE}
    assert {k: repr(parameters[k]) for k in known} == known
    assert model.network_.sizes == expected["sizes"]
    assert model.n_connections_ == expected["connections"]
    assert model.n_iter_ == expected["epochs"]
    assert model.best_validation_score_ == expected["best_score"]
    assert hexadecimal(np.array(model.loss_curve_)) == expected["losses"]


def floats(rows):
    return np.array([[float.fromhex(value) for value in row] for row in rows])


@pytest.mark.parametrize("name", NAMES)
def test_it_predicts_the_same_bits(name):
    model, expected = loaded(name)
    outputs = model._predict_outputs(rows(model))
    level = engine.simd_level()
    if not IS_X86:  # another kind of machine: its roundings are its own
        known = floats(expected["outputs"]["baseline"])
        np.testing.assert_allclose(outputs, known, rtol=1e-5, atol=1e-6)
    elif level in expected["outputs"]:
        assert hexadecimal(outputs) == expected["outputs"][level]
    else:
        pytest.skip(f"nobody has run `make golden` on a machine with {level} yet")


@cache
def outputs_at(level):
    """What all models say at a SIMD level."""
    simd.need(level)
    child = subprocess.run(
        [sys.executable, FOLDER / "make.py", "--outputs"],
        env=processes.environment(COFIRE_SIMD=level),
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout)


only_x86 = pytest.mark.skipif(not IS_X86, reason="a machine of one SIMD level")


@only_x86
@pytest.mark.parametrize("level", simd.LEVELS)
def test_all_predict_the_same_bits_at_this_level(level):
    found = outputs_at(level)
    known = {name: EXPECTED["models"][name]["outputs"] for name in NAMES}
    known = {name: bits[level] for name, bits in known.items() if level in bits}
    assert len(known) == len(NAMES) or level != "baseline"
    assert {name: found[name] for name in known} == known


@only_x86
def test_levels_with_fused_multiply_adds_agree():
    assert outputs_at("x86_64_v3") == outputs_at("x86_64_v4")


@only_x86
def test_without_fused_multiply_adds_sums_are_rounded_differently_but_are_near():
    found, other = outputs_at("baseline"), outputs_at("x86_64_v3")
    assert found != other
    for name in NAMES:
        ours, theirs = floats(found[name]), floats(other[name])
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_it_predicts_the_same(name):
    model, expected = loaded(name)
    predicted = model.predict(rows(model))
    assert predicted.dtype.str == expected["dtype"]
    if predicted.dtype.kind == "f" and "Regressor" in expected["estimator"]:
        flat = np.array(expected["predictions"]).ravel()
        known = np.array([float.fromhex(v) for v in flat]).reshape(predicted.shape)
        np.testing.assert_allclose(predicted, known, rtol=1e-5, atol=1e-5)
    elif predicted.dtype.kind == "f":
        assert hexadecimal(predicted) == expected["predictions"]
    else:
        assert predicted.tolist() == expected["predictions"]


def arrays(model):
    for layer in model.network_.layers:
        yield from (layer.indptr, layer.indices, layer.weights, layer.bias)


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_from_it(name, tmp_path):
    model, expected = loaded(name)
    again = np.resize(np.arange(len(X)), 40)
    many = rows(model).iloc[again] if hasattr(rows(model), "iloc") else X[again]
    y = model.predict(rows(model))[again]
    if "Classifier" in expected["estimator"] and y.ndim == 1:
        y[: len(model.classes_)] = model.classes_
    before = [array.copy() for array in arrays(model)]
    if model.early_stopping or check_parameters(model).needs_validation:
        model.set_params(warm_start=True, max_iter=1, restore_best=False)
        model.fit(many, y, X_val=many, y_val=y)
    else:
        model.set_params(max_iter=model.max_iter + 1)  # where "cosine" ends
        model.partial_fit(many, y)
    assert model.n_iter_ == expected["epochs"] + 1
    after = list(arrays(model))
    assert any(a.tobytes() != b.tobytes() for a, b in zip(before, after, strict=True))
    model.network_.check()
    model.save(tmp_path / "m")
    assert cofire.load(tmp_path / "m").n_iter_ == expected["epochs"] + 1


@pytest.mark.parametrize("name", NAMES)
def test_saving_it_again_keeps_every_array_and_what_it_says(name, tmp_path):
    model, _ = loaded(name)
    model.save(tmp_path / "m")
    before, old = container.read(FOLDER / f"{name}.cofire")
    after, new = container.read(tmp_path / "m")
    assert old.keys() == new.keys()
    for key, array in old.items():
        assert array.dtype == new[key].dtype and array.tobytes() == new[key].tobytes()
    # Notes tell of the first saving: what was left out then.
    before["progress"]["settings"].pop("decoupled_decay", None)
    before["progress"].setdefault("rate_factor", 1.0)  # not in files of 0.1
    for key in before.keys() - {"cofire", "notes", "parameters"}:
        assert after[key] == before[key]
