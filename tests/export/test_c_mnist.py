"""MNIST at eps 1, as the CTRE paper has it, in C: the whole test set, and its bytes."""

import ctypes
import subprocess

import numpy as np
import pytest

from cofire import SparseMLPClassifier
from cofire.data import load
from cofire.export import to_c
from helpers.c_programs import CModel
from helpers.needs import missing, needs_tool

LIMITS = {"float": 64_000, "int16": 40_000, "int8": 24_000}
"""Bytes of code and constants on a Cortex-M4F."""


@pytest.mark.slow
def test_mnist_at_eps_1(tmp_path):
    try:
        data = load("mnist")
    except OSError:
        missing("MNIST", "cofire data fetch mnist, or COFIRE_DATA")
    gcc = needs_tool("arm-none-eabi-gcc", "apt-get install gcc-arm-none-eabi")
    model = SparseMLPClassifier((1000,) * 3, epsilon=1, n_networks=1, random_state=0)
    model.fit(data.X_train, data.y_train)
    expected = model.predict_proba(data.X_test)
    for tables, limit in LIMITS.items():
        path = tmp_path / f"mnist_{tables}.c"
        done = to_c(model, path, tables=tables, X=data.X_test, y=data.y_test)
        program = CModel(done, 10)
        outputs = program.each(data.X_test, "predict_proba", ctypes.c_float)
        labels = program.one(data.X_test, ctypes.c_int)
        accuracy = np.mean(labels == data.y_test)
        assert accuracy == pytest.approx(done.loss.after, abs=2e-4)
        assert accuracy > 0.97
        if tables == "float":
            assert (labels == expected.argmax(axis=1)).all()
            assert abs(outputs - expected).max() < 1e-5
        obj = str(tmp_path / "model.o")
        core = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -O2".split()
        subprocess.run([gcc, *core, "-c", str(path), "-o", obj], check=True)
        size = subprocess.run(
            ["arm-none-eabi-size", obj], check=True, capture_output=True, text=True
        )
        assert int(size.stdout.splitlines()[1].split()[0]) < limit
