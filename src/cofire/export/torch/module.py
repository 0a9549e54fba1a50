"""A network of cofire in torch. This file needs torch and safetensors, not cofire.

    model = load("net.safetensors")
    model(torch.tensor([[5.1, 3.5, 1.4, 0.2]]))     # probabilities, or numbers
    model.scores(rows)                              # before softmax, of each network

Connections that do not exist have no weight, no gradient and take no time. Rows are as
they were measured: scaling is part of the model. `model.columns` says what they hold; a
category is the number of its level, NaN is a missing value.
"""

import json
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

BEND, MOST = 4.0, 10.0  # standardised values beyond BEND grow like a logarithm
NUMBER, MISSING, LEVEL, PIECE = range(4)  # what an input says of its column
PARTS = ("start", "inputs", "weights", "bias")
ACTIVATIONS: dict[str, Any] = {
    "relu": functional.relu,
    "leaky_relu": functional.leaky_relu,  # its slope is 0.01
    "tanh": torch.tanh,
    "identity": lambda values: values,
}


class SparseLinear(torch.nn.Module):
    """A layer: neuron o reads inputs[start[o]:start[o + 1]], with weights of its own.

    The sums are those of `embedding_bag`: they and their gradients take time and memory
    for the existing connections alone.
    """

    start: Tensor
    inputs: Tensor

    def __init__(
        self, start: Tensor, inputs: Tensor, weights: Tensor, bias: Tensor
    ) -> None:
        super().__init__()
        self.register_buffer("start", start)
        self.register_buffer("inputs", inputs)
        self.weights = torch.nn.Parameter(weights)
        self.bias = torch.nn.Parameter(bias)

    def forward(self, x: Tensor) -> Tensor:
        """Weighted sums: (n_rows, n_inputs) -> (n_rows, n_neurons)."""
        sums = functional.embedding_bag(
            self.inputs,
            x.T.contiguous(),
            self.start,
            mode="sum",
            per_sample_weights=self.weights,
            include_last_offset=True,
        )
        return sums.T + self.bias

    def extra_repr(self) -> str:
        """Say how large the layer is."""
        return f"{len(self.bias)} neurons, {len(self.weights)} connections"


class Inputs(torch.nn.Module):
    """The columns of rows become the inputs of the networks."""

    def __init__(self, arrays: dict[str, Tensor], bent: bool) -> None:
        super().__init__()
        self.bent = bent
        for name, values in arrays.items():
            self.register_buffer(name, values)

    def forward(self, rows: Tensor) -> Tensor:
        """Inputs: (n_rows, n_columns) -> (n_rows, n_inputs)."""
        of: Any = self
        rows = rows.to(of.centre.dtype)  # float64: columns may have large offsets
        rows = torch.minimum(torch.maximum(rows, of.least), of.most)
        whole = (rows >= 0) & (rows < of.n_levels) & (rows == rows.floor())
        known = (of.n_levels == 0) | whole
        rows = torch.where(known | rows.isnan(), rows, of.other)
        rows = torch.where(rows.isnan(), of.fill, rows)
        values = rows[:, of.column]
        flag = torch.where(of.kind == LEVEL, values == of.level, values.isnan())
        is_flag = (of.kind == LEVEL) | (of.kind == MISSING)
        flags = torch.where(flag, of.present, of.absent)
        return torch.where(is_flag, flags, self._measured(values))

    def _measured(self, values: Tensor) -> Tensor:
        of: Any = self
        pieces = ((values - of.low) / of.width).clamp(0, 1)
        values = torch.where(of.kind == PIECE, pieces, values)
        values = (values - of.centre) / of.scale
        values = torch.where(values.isnan(), 0.0, values)
        if self.bent:
            straight = values.clamp(-BEND, BEND)
            more = torch.log1p((values - straight).abs()) * values.sign()
            values = (straight + more).clamp(-MOST, MOST)
        return values.to(of.present.dtype)


class SparseModel(torch.nn.Module):
    """Networks whose outputs are averaged.

    about: what a file has in its metadata; tensors: by their names in `state_dict`.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, about: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        super().__init__()
        self.about = about
        self.columns, self.classes = about["columns"], about["classes"]
        arrays = {n[7:]: own for n, own in tensors.items() if n[:7] == "inputs."}
        self.inputs = Inputs(arrays, about["bent"])
        self.networks = torch.nn.ModuleList()
        for k, n_layers in enumerate(about["layers"]):
            names = [f"networks.{k}.{i}" for i in range(n_layers)]
            parts = [[tensors[f"{name}.{part}"] for part in PARTS] for name in names]
            layers = [SparseLinear(*own) for own in parts]
            self.networks.append(torch.nn.ModuleList(layers))
        self.register_buffer("mean", tensors["mean"])
        self.register_buffer("scale", tensors["scale"])

    def forward(self, rows: Tensor) -> Tensor:
        """Probabilities (n_rows, n_classes), or numbers in units of the target."""
        scores = self.scores(rows)
        if self.about["output"] == "softmax":
            return scores.softmax(-1).mean(0)
        if self.about["output"] == "sigmoid":
            return scores.sigmoid().mean(0)
        return scores.mean(0) * self.scale + self.mean

    def scores(self, rows: Tensor) -> Tensor:
        """What comes before softmax or sigmoid: (n_networks, n_rows, n_outputs)."""
        x = self.inputs(rows)
        return torch.stack([self._scores(layers, x) for layers in self.networks])

    def _scores(self, layers: Any, x: Tensor) -> Tensor:
        for layer in layers[:-1]:
            x = ACTIVATIONS[self.about["activation"]](layer(x))
        return layers[-1](x)

    def predict(self, rows: Tensor) -> Any:
        """Classes (a list), 0 and 1 per label, or numbers."""
        with torch.no_grad():
            outputs = self(rows)
        if self.about["output"] == "softmax":
            return [self.classes[i] for i in outputs.argmax(1).tolist()]
        return (outputs > 0.5).long() if self.about["output"] == "sigmoid" else outputs


def load(path: str) -> SparseModel:
    """Read a model that `save` or `cofire export --to torch` wrote; no code is run."""
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in list(file.keys())}
        return SparseModel(json.loads(file.metadata()["cofire"]), tensors)


def save(model: SparseModel, path: str) -> None:
    """Write a model, trained further or not."""
    from safetensors.torch import save_file

    tensors = {name: own.contiguous() for name, own in model.state_dict().items()}
    save_file(tensors, path, {"cofire": json.dumps(model.about)})
