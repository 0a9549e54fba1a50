"""RigL, by known answers."""

from dataclasses import replace

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.optimizers import SGD
from cofire.methods.rigl import RigL
from cofire.training.progress import Progress
from helpers.method_cases import in_training
from helpers.training_cases import rewire_now


def test_rigl_grows_where_the_gradient_is():
    # x = (1, 0, 2), target - output = (0, 3): the gradient is largest at index 5.
    progress, data, how = in_training(0, RigL())
    layer = SparseLayer.from_flat_indices([0, 4], [1, 5], [0, 0], n_in=3, n_out=2)
    X = np.array([[1, 0, 2]], np.float32)
    data = replace(
        data,
        rows=type(data.rows)(X),
        targets=np.array([[1, 3]], np.float32),
        sample_weight=None,
        row_ids=np.array([0]),
    )
    network = replace(progress.network, layers=[layer])
    progress = Progress(network, SGD(), 1)
    progress.optimizer.start(network)
    rewiring = rewire_now(progress, data, replace(how, drop_fraction=0.5))
    assert rewiring.dropped[0].tolist() == [0]
    assert rewiring.grown[0].tolist() == [5]
    assert network.layers[0].weights.tolist() == [5, 0]
