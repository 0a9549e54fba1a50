"""SGD and Adam: settings, and the state that stays aligned with the connections."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

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
class Optimizer(ABC):
    """What SGD and Adam share: the learning rate, the decay, and their moments.

    `alpha` is lambda in lambda / 2 * ||W||^2, over weights and not biases.
    """

    kind: ClassVar[str]
    n_moments: ClassVar[int]
    non_negative_moments: ClassVar[tuple[int, ...]] = ()

    learning_rate: float = 0.01
    alpha: float = 1e-4
    steps_done: int = field(default=0, init=False)
    state: list[LayerState] = field(default_factory=list, init=False, repr=False)

    @classmethod
    @abstractmethod
    def from_parameters(cls, parameters: Any) -> Self:
        """Take the settings from the parameters of an estimator."""

    def start(self, network: SparseNetwork) -> None:
        """Begin from rest: all moments zero."""
        self.steps_done = 0
        self.state = [
            LayerState(
                [np.zeros_like(layer.weights) for _ in range(self.n_moments)],
                [np.zeros_like(layer.bias) for _ in range(self.n_moments)],
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
        }


@dataclass
class SGD(Optimizer):
    """v <- momentum v + g; w <- w - rate v, or (Nesterov) w - rate (g + momentum v)."""

    kind = "sgd"
    n_moments = 1
    momentum: float = 0.9
    nesterov: bool = True

    @classmethod
    def from_parameters(cls, parameters: Any) -> Self:
        return cls(
            learning_rate=parameters.learning_rate_init,
            alpha=parameters.alpha,
            momentum=parameters.momentum,
            nesterov=parameters.nesterovs_momentum,
        )

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
    non_negative_moments = (1,)  # a mean of squares
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8

    @classmethod
    def from_parameters(cls, parameters: Any) -> Self:
        return cls(
            learning_rate=parameters.learning_rate_init,
            alpha=parameters.alpha,
            beta_1=parameters.beta_1,
            beta_2=parameters.beta_2,
            epsilon=parameters.adam_epsilon,
        )

    def settings(self) -> dict[str, float | bool]:
        return super().settings() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam}
"""The solvers there are."""
