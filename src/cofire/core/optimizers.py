"""The optimisers: settings, and the state that stays aligned with the connections."""

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
class Optimizer:
    """What all optimisers have: a learning rate, weight decay, and moments.

    `alpha` is lambda in lambda / 2 * ||W||^2, over weights and not biases.

    A new one is a subclass here, listed in `OPTIMIZERS`, with a rule and a row of the
    same name in the native engine (src/native/kernels: steps.hpp, optimizers.hpp).
    """

    kind: ClassVar[str]
    """Its name: the `solver` of the estimators."""
    n_moments: ClassVar[int]
    """Number of arrays that it keeps for each array of parameters."""
    non_negative_moments: ClassVar[tuple[int, ...]] = ()
    """Which of them are never negative."""
    parameters: ClassVar[dict[str, str]] = {
        "learning_rate": "learning_rate_init",
        "alpha": "alpha",
    }
    """Its settings, and the name of the estimators' parameter that each comes from."""

    learning_rate: float = 0.01
    alpha: float = 1e-4
    steps_done: int = field(default=0, init=False)
    state: list[LayerState] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def from_parameters(cls, parameters: Any) -> Self:
        """Make one from the attributes of any object, an estimator's for example.

        >>> from types import SimpleNamespace
        >>> rates = {"learning_rate_init": 0.1, "alpha": 0.0, "momentum": 0.5}
        >>> SGD.from_parameters(SimpleNamespace(**rates, nesterovs_momentum=False))
        SGD(learning_rate=0.1, alpha=0.0, steps_done=0, momentum=0.5, nesterov=False)
        """
        return cls(
            **{own: getattr(parameters, name) for own, name in cls.parameters.items()}
        )

    def settings(self) -> dict[str, float | bool]:
        """Return the numbers of the update rule, as the native engine takes them."""
        return {name: getattr(self, name) for name in self.parameters}

    def start(self, network: SparseNetwork) -> None:
        """Set all moments to zero."""
        self.steps_done = 0
        self.state = [
            LayerState(
                [np.zeros_like(layer.weights) for _ in range(self.n_moments)],
                [np.zeros_like(layer.bias) for _ in range(self.n_moments)],
            )
            for layer in network.layers
        ]

    def at_rest(self, network: SparseNetwork) -> Self:
        """Return an optimiser with the same settings, started for this network."""
        other = copy(self)
        other.start(network)
        return other

    def followed(self, origins: Sequence[np.ndarray]) -> list[LayerState]:
        """Return the state after a rewiring; moments of new connections are zero."""

        def moved(moment: np.ndarray, origin: np.ndarray) -> np.ndarray:
            found, stayed = np.zeros(len(origin), np.float32), origin >= 0
            found[stayed] = moment[origin[stayed]]
            return found

        return [
            LayerState([moved(moment, origin) for moment in state.weights], state.bias)
            for state, origin in zip(self.state, origins, strict=True)
        ]


@dataclass
class SGD(Optimizer):
    """v <- momentum v + g; w <- w - rate v, or (Nesterov) w - rate (g + momentum v)."""

    kind = "sgd"
    n_moments = 1
    parameters = Optimizer.parameters | {
        "momentum": "momentum",
        "nesterov": "nesterovs_momentum",
    }
    momentum: float = 0.9
    nesterov: bool = True


@dataclass
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), its bias correction folded into the learning rate."""

    kind = "adam"
    n_moments = 2
    non_negative_moments = (1,)  # a mean of squares
    parameters = Optimizer.parameters | {
        "beta_1": "beta_1",
        "beta_2": "beta_2",
        "epsilon": "adam_epsilon",
    }
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8


OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam}
"""All optimisers by name."""
