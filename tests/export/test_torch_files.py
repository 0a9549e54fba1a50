"""Files for torch, read without torch: their arrays give what the estimator does.

The arithmetic of the module is repeated here in NumPy, so that a wrong array is found
where torch is not installed. What torch makes of them: test_torch.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, softmax

from cofire import SparseMLPClassifier
from cofire.export.reading import rows_of
from cofire.export.torch.model import write_torch
from helpers.exported import CASES, case
from helpers.needs import needs_package

safetensors = needs_package("safetensors", "pip install safetensors")
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "tanh": np.tanh,
    "identity": lambda x: x,
}


def evaluated(path, rows):
    """What the module is to compute, from the file alone."""
    with safetensors.safe_open(path, "np") as file:
        of = {name: file.get_tensor(name) for name in list(file.keys())}
        about = json.loads(file.metadata()["cofire"])
    x, outputs = inputs(of, about, rows), []
    for k, n_layers in enumerate(about["layers"]):
        value = x
        for i in range(n_layers):
            start, read, weights, bias = (
                of[f"networks.{k}.{i}.{part}"]
                for part in ("start", "inputs", "weights", "bias")
            )
            shape = len(bias), value.shape[1]
            value = value @ csr_array((weights, read, start), shape=shape).T + bias
            if i < n_layers - 1:
                value = ACTIVATIONS[about["activation"]](value)
        outputs.append(value)
    scores = np.array(outputs)
    if about["output"] == "softmax":
        return softmax(scores, axis=-1).mean(axis=0)
    if about["output"] == "sigmoid":
        return expit(scores).mean(axis=0)
    return scores.mean(axis=0) * of["scale"] + of["mean"]


def inputs(of, about, rows):
    own = {name[7:]: values for name, values in of.items() if name[:7] == "inputs."}
    rows = np.clip(rows, own["least"], own["most"])
    whole = (rows >= 0) & (rows < own["n_levels"]) & (rows == np.floor(rows))
    known = (own["n_levels"] == 0) | whole
    rows = np.where(known | np.isnan(rows), rows, own["other"])
    rows = np.where(np.isnan(rows), own["fill"], rows)
    values, kind = rows[:, own["column"]], own["kind"]
    flag = np.where(kind == 2, values == own["level"], np.isnan(values))
    flags = np.where(flag, own["present"], own["absent"])
    pieces = np.clip((values - own["low"]) / own["width"], 0, 1)
    values = np.where(kind == 3, pieces, values)
    values = np.nan_to_num((values - own["centre"]) / own["scale"])
    if about["bent"]:
        straight = np.clip(values, -4, 4)
        more = np.log1p(np.abs(values - straight)) * np.sign(values)
        values = np.clip(straight + more, -10, 10)
    return np.where((kind == 1) | (kind == 2), flags, values).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_the_arrays_give_what_the_estimator_does(name, tmp_path):
    own = case(name)
    written = write_torch(own.model, tmp_path / "net.py")
    found = evaluated(written.tensors, rows_of(own.model, own.X))
    np.testing.assert_allclose(found, own.expected, rtol=2e-6, atol=1e-6)


def test_all_connections_are_there_in_their_order(tmp_path):
    own = case("several networks")
    written = write_torch(own.model, tmp_path / "folder" / "net.py")
    assert written.n_connections == own.model.n_connections_
    with safetensors.safe_open(written.tensors, "np") as file:
        for k, network in enumerate(own.model.networks_):
            for i, layer in enumerate(network.layers):
                found = file.get_tensor(f"networks.{k}.{i}.weights")
                np.testing.assert_array_equal(found, layer.weights)


def test_the_module_does_not_know_cofire(tmp_path):
    written = write_torch(case("digits").model, tmp_path / "net.py")
    lines = written.module.read_text().splitlines()
    imports = [line for line in lines if line.lstrip().startswith(("import", "from"))]
    packages = {line.split()[1].split(".")[0] for line in imports}
    assert packages == {"json", "typing", "torch", "safetensors"}


def test_it_says_what_was_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = write_torch(case("digits").model, "net.py")
    assert written.n_bytes == Path("net.safetensors").stat().st_size
    assert "from net import load; model = load('net.safetensors')" in str(written)


def test_mistakes_are_told(tmp_path):
    model = case("digits").model
    for name in ("net.pt", "my-net.py", "net"):
        with pytest.raises(ValueError, match="a name that Python can import"):
            write_torch(model, tmp_path / name)
    with pytest.raises(ValueError, match="is not fitted yet"):
        write_torch(SparseMLPClassifier(), tmp_path / "net.py")
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    from cofire.export import to_torch

    modules = __import__("sys").modules
    monkeypatch.setitem(modules, "torch", None)
    with pytest.raises(ImportError, match="needs the package torch: pip install torch"):
        to_torch(case("digits").model)
    monkeypatch.setitem(modules, "safetensors", None)
    with pytest.raises(ImportError, match="needs the package safetensors"):
        write_torch(case("digits").model, tmp_path / "net.py")


def test_the_command_line_writes_them_without_torch(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from cofire.cli import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    own = case("digits")
    own.model.save("digits.cofire")
    said = CliRunner().invoke(app, ["export", "digits.cofire", "--to", "torch"])
    assert said.exit_code == 0, said.output
    assert "digits.safetensors: " in said.stdout and Path("digits.py").exists()
    found = evaluated("digits.safetensors", rows_of(own.model, own.X))
    np.testing.assert_allclose(found, own.expected, rtol=2e-6, atol=1e-6)
