"""MNIST at eps 1 in ONNX: the whole test set, and the size of the file."""

import numpy as np
import pytest

from cofire import SparseMLPClassifier
from cofire.data import load
from cofire.export import to_onnx
from cofire.export.onnx.layers import LAYERS
from helpers.needs import missing, needs_package
from helpers.onnx_programs import HOW, outputs

needs_package("onnx", HOW)
needs_package("onnxruntime", HOW)


@pytest.mark.slow
def test_mnist_at_eps_1():
    try:
        data = load("mnist")
    except OSError:
        missing("MNIST", "cofire data fetch mnist, or COFIRE_DATA")
    model = SparseMLPClassifier((1000,) * 3, epsilon=1, n_networks=1, random_state=0)
    model.fit(data.X_train, data.y_train)
    for layers in LAYERS:
        export = to_onnx(model, layers=layers)
        assert export.n_bytes < 100_000  # its matrices have 11 million bytes
        found = outputs(export.proto, data.X_test)
        np.testing.assert_array_equal(found["label"], model.predict(data.X_test))
        expected = model.predict_proba(data.X_test)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5)
