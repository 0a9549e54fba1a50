"""SGD and Adam: settings, and the state that stays aligned with the connections."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from cofire.core.network import SparseNetwork


@dataclass
class LayerState:
    """The moments of one layer: each an array like its weights, one like its bias."""

    weights: list[np.ndarray]
    bias: list[np.ndarray]

    def copy(self) -> "LayerState":
        """Return a state that shares no array with this one."""
        return LayerState(
            [a.copy() for a in self.weights], [a.copy() for a in self.bias]
        )


@dataclass
class Optimizer:
    """What SGD and Adam share: the learning rate, the decay, and their moments.

    `alpha` is lambda in lambda / 2 * ||W||^2, over weights and not biases. With
    `decoupled_decay` every step instead takes the share `alpha` off weights and biases,
    whatever the learning rate (as the SciPy implementation of SET does).
    """

    kind: ClassVar[str]
    n_moments: ClassVar[int]

    learning_rate: float = 0.01
    alpha: float = 1e-4
    decoupled_decay: bool = False
    steps_done: int = field(default=0, init=False)
    state: list[LayerState] = field(default_factory=list, init=False, repr=False)

    def start(self, network: SparseNetwork) -> None:
        """Begin from rest: all moments zero."""
        self.steps_done = 0
        self.state = [
            LayerState(
                [np.zeros(layer.nnz, np.float32) for _ in range(self.n_moments)],
                [np.zeros(layer.n_out, np.float32) for _ in range(self.n_moments)],
            )
            for layer in network.layers
        ]

    def at_rest(self, network: SparseNetwork) -> Self:
        """Return an optimiser with the same settings that begins with this network."""
        other = copy(self)
        other.start(network)
        return other

    def followed(self, origins: Sequence[np.ndarray]) -> list[LayerState]:
        """Return the state after a rewiring; new connections start from rest."""

        def moved(moment: np.ndarray, origin: np.ndarray) -> np.ndarray:
            found, stayed = np.zeros(len(origin), np.float32), origin >= 0
            found[stayed] = moment[origin[stayed]]
            return found

        return [
            LayerState([moved(moment, origin) for moment in state.weights], state.bias)
            for state, origin in zip(self.state, origins, strict=True)
        ]

    def settings(self) -> dict[str, float | bool]:
        """The numbers of the update rule, as the native engine takes them."""
        return {
            "learning_rate": self.learning_rate,
            "alpha": self.alpha,
            "decoupled_decay": self.decoupled_decay,
        }


@dataclass
class SGD(Optimizer):
    """v <- momentum v + g; w <- w - rate v, or (Nesterov) w - rate (g + momentum v)."""

    kind = "sgd"
    n_moments = 1
    momentum: float = 0.9
    nesterov: bool = True

    def settings(self) -> dict[str, float | bool]:
        return super().settings() | {
            "momentum": self.momentum,
            "nesterov": self.nesterov,
        }


@dataclass
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), its bias correction folded into the learning rate."""

    kind = "adam"
    n_moments = 2
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8

    def settings(self) -> dict[str, float | bool]:
        return super().settings() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam}
"""The solvers there are."""
