"""A network: its layers in order, their shapes and counts."""

from dataclasses import dataclass

from cofire.core.layer import SparseLayer
from cofire.errors import unknown_name

ACTIVATIONS = ("relu", "leaky_relu", "tanh", "identity")
OUTPUTS = ("softmax", "sigmoid", "identity")


@dataclass(eq=False)
class SparseNetwork:
    """Sparse layers from input to output, and the functions that follow them.

    `activation` follows every layer but the last, `output` follows the last.
    """

    layers: list[SparseLayer]
    activation: str
    output: str

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise unknown_name("activation", self.activation, ACTIVATIONS)
        if self.output not in OUTPUTS:
            raise unknown_name("output", self.output, OUTPUTS)

    @property
    def sizes(self) -> list[int]:
        """Number of inputs, then of neurons in each layer."""
        return [self.layers[0].n_in, *(layer.n_out for layer in self.layers)]

    @property
    def n_connections(self) -> int:
        """Number of connections in all layers; biases are not counted."""
        return sum(layer.nnz for layer in self.layers)

    @property
    def density(self) -> float:
        """Fraction of all possible connections that exist."""
        possible = sum(layer.n_in * layer.n_out for layer in self.layers)
        return self.n_connections / possible

    @property
    def is_full(self) -> bool:
        """Whether every connection exists."""
        return all(layer.is_full for layer in self.layers)

    def copy(self) -> "SparseNetwork":
        """Return a network that shares no array with this one."""
        layers = [layer.copy() for layer in self.layers]
        return SparseNetwork(layers, self.activation, self.output)

    def check(self) -> None:
        """Raise a ValueError that names the layer and its broken invariant, if any."""
        if not self.layers:
            raise ValueError("a network needs at least one layer")
        n_before = self.layers[0].n_in
        for i, layer in enumerate(self.layers):
            try:
                layer.check()
            except ValueError as error:
                raise ValueError(f"layer {i + 1}: {error}") from error
            if layer.n_in != n_before:
                raise ValueError(
                    f"layer {i + 1}: expected n_in = {n_before}, got {layer.n_in}"
                )
            n_before = layer.n_out
