"""Random programs of drop and grow: a topology beside a dictionary that remembers."""

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from cofire.methods import METHODS, TrainingPoint, make_method
from cofire.topology.rewire import rewire
from helpers.method_cases import in_training
from helpers.training_cases import rewire_now

AT_1 = TrainingPoint(update=1, epoch=1, max_epochs=10)
REWIRING = sorted(name for name in METHODS if METHODS[name]().rewires(AT_1))


class Programs(RuleBasedStateMachine):
    """`memory` holds per layer what must be there: index -> (weight, momentum)."""

    @initialize(seed=st.integers(0, 2**31 - 1))
    def begin(self, seed):
        self.progress, self.data, self.settings = in_training(seed, None, max_neurons=5)
        self.rng = np.random.default_rng(seed)
        self.memory = [self.seen(i) for i in range(len(self.layers))]

    @property
    def layers(self):
        return self.progress.network.layers

    def seen(self, i):
        momentum = self.progress.optimizer.state[i].weights[0]
        values = zip(self.layers[i].weights.tolist(), momentum.tolist(), strict=True)
        return dict(zip(self.layers[i].flat_indices.tolist(), values, strict=True))

    @rule()
    def train(self):
        """Weights and momentum become others, as an epoch would make them."""
        for i, layer in enumerate(self.layers):
            layer.weights[:] = self.rng.integers(-4, 5, size=layer.nnz)
            momentum = self.progress.optimizer.state[i].weights[0]
            momentum[:] = self.rng.integers(1, 9, size=layer.nnz)
            self.memory[i] = self.seen(i)
        self.progress.epoch += 1

    @rule(
        name=st.sampled_from(REWIRING),
        returning=st.sampled_from(["fresh", "kept"]),
        drop_rule=st.sampled_from(["magnitude", "signed"]),
        fraction=st.sampled_from([0.0, 0.2, 0.5, 0.99]),
        stall=st.sampled_from([0, 40]),
    )
    def update(self, name, returning, drop_rule, fraction, stall):
        """A method drops and grows: the budget stays, who stays is as before."""
        method = make_method(name, {"returning": returning, "drop_rule": drop_rule})
        self.settings = self.settings.__class__(
            **vars(self.settings) | {"method": method, "drop_fraction": fraction}
        )
        self.progress.longest_stall = stall
        rewiring = rewire_now(self.progress, self.data, self.settings)
        for i, memory in enumerate(self.memory):
            n_before, gone = len(memory), rewiring.dropped[i].tolist()
            dropped = {index: memory.pop(index) for index in gone}
            new = dict(
                zip(
                    self.layers[i].flat_indices.tolist(),
                    self.layers[i].weights,
                    strict=True,
                )
            )
            for index in rewiring.grown[i].tolist():
                assert index not in memory
                back = index in dropped and returning == "kept"
                memory[index] = dropped[index] if back else (float(new[index]), 0.0)
            if method.shrinks and i < len(self.memory) - 1:
                assert len(memory) <= n_before
            else:
                assert len(memory) == n_before

    @rule(data=st.data())
    def edit(self, data):
        """Any connections go, any free indices come: the counts may change."""
        i = data.draw(st.sampled_from(range(len(self.layers))))
        layer, memory = self.layers[i], self.memory[i]
        everywhere = range(layer.n_in * layer.n_out)
        gone = data.draw(st.sets(st.sampled_from(sorted(memory)))) if memory else set()
        free = sorted(set(everywhere) - set(memory) | gone)
        come = sorted(data.draw(st.sets(st.sampled_from(free)))) if free else []
        returning = data.draw(st.sampled_from(["fresh", "kept"]))
        weights = self.rng.integers(-4, 5, size=len(come)).astype(np.float32)
        self.layers[i], origin = rewire(
            layer,
            np.array(sorted(gone), np.int64),
            np.array(come, np.int64),
            weights,
            returning=returning,
        )
        origins = [np.arange(other.nnz) for other in self.layers]
        origins[i] = origin
        optimizer = self.progress.optimizer
        optimizer.state = optimizer.followed(origins)
        dropped = {index: memory.pop(index) for index in gone}
        for index, weight in zip(come, weights.tolist(), strict=True):
            back = index in dropped and returning == "kept"
            memory[index] = dropped[index] if back else (weight, 0.0)

    @invariant()
    def the_topology_is_as_remembered(self):
        for i, memory in enumerate(getattr(self, "memory", [])):
            self.layers[i].check()
            assert self.seen(i) == memory


def run(n_programs):
    run_state_machine_as_test(
        Programs,
        settings=settings(
            max_examples=n_programs, stateful_step_count=12, deadline=None
        ),
    )


def test_500_programs():
    run(500)


@pytest.mark.slow
def test_10_000_programs():
    run(10_000)
