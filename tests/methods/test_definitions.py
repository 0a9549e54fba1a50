"""Every update beside its definition."""

from dataclasses import fields, replace

import numpy as np
import pytest

from cofire.core.layer import SparseLayer
from cofire.methods import make_method
from cofire.methods.snip import SNIP
from cofire.training.rewiring import begin
from helpers import naive, naive_methods
from helpers.method_cases import in_training, whole_layer
from helpers.training_cases import rewire_now


@pytest.mark.parametrize("name", sorted(naive_methods.DEFINITIONS))
@pytest.mark.parametrize("variant", ["", "signed", "index"])
def test_every_update_equals_the_definition(name, variant):
    """On at least 1,000 layers for each method (a third of them for each variant)."""
    method = make_method(
        name,
        {
            "drop_rule": "signed" if variant == "signed" else "magnitude",
            "ties": "index" if variant == "index" else "random",
        },
    )
    index = variant == "index" and any(f.name == "ties" for f in fields(method))
    n_layers = seed = 0
    while n_layers < 400:
        seed += 1
        # Before and after the switch of the sequential ones.
        moment = {"longest_stall": 45 * (seed % 2), "epoch": 3 + 4 * (seed % 2)}
        progress, data, how = in_training(seed, method, **moment)
        expected = naive_methods.update(
            name,
            progress,
            data,
            how,
            signed=variant == "signed",
            ties="index" if index else "random",
        )
        rewiring = rewire_now(progress, data, how)
        for i, (dropped, grown) in enumerate(expected):
            assert set(rewiring.dropped[i].tolist()) == dropped, (seed, i)
            assert set(rewiring.grown[i].tolist()) == grown, (seed, i)
        n_layers += len(expected)


def test_snip_equals_the_definition():
    """The largest |w g|, layer by layer, on 1,000 layers."""
    n_layers = seed = 0
    while n_layers < 1000:
        seed += 1
        progress, data, how = in_training(seed, SNIP())
        rng = np.random.default_rng(seed)
        for i, layer in enumerate(progress.network.layers):
            n = layer.n_in * layer.n_out
            weights = rng.integers(-4, 5, size=n)
            progress.network.layers[i] = SparseLayer.from_flat_indices(
                range(n), weights, layer.bias, layer.n_in, layer.n_out
            )
        progress.optimizer.start(progress.network)
        data = replace(data, sample_weight=None)
        counts = [
            int(rng.integers(1, x.n_in * x.n_out + 1)) for x in progress.network.layers
        ]
        network = progress.network.copy()
        begin(progress, data, replace(how, shuffle=False), counts)

        used = data.row_ids[:7]
        gradients = naive_methods.gradients(network, data, used)
        for layer, gradient, kept, n in zip(
            network.layers, gradients, progress.network.layers, counts, strict=True
        ):
            saliency = np.abs(naive.to_dense(layer) * gradient).ravel()
            assert kept.nnz == n
            chosen, rest = (
                kept.flat_indices,
                np.setdiff1d(layer.flat_indices, kept.flat_indices),
            )
            # Sums of whole numbers over seven rows: equal up to the division by 7.
            if len(rest):
                lowest, highest = saliency[chosen].min(), saliency[rest].max()
                assert lowest >= highest - 1e-5 * max(1, highest)
            n_layers += 1


def test_layers_of_whole_numbers_are_of_all_kinds():
    kinds = {
        (layer.nnz == 0, layer.is_full)
        for layer in (whole_layer(np.random.default_rng(s), 3, 2) for s in range(200))
    }
    assert kinds == {(False, False), (True, False), (False, True)}
