"""PlainModel: a fitted model as arrays and names, which all exporters start from.

A row is one number per column: a number as it was measured, or the number of a level of
a column of categories. Columns become the inputs of the networks, whose outputs are
averaged. `evaluate` does so in the slowest and plainest way: what an exporter writes is
tested against it, and it is tested against `predict`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.estimators.scaling import BEND, MOST

LEAKY_SLOPE = 0.01
"""What leaky_relu multiplies values below 0 by."""


@dataclass(frozen=True)
class Column:
    """A column of the rows that an exported model takes."""

    name: str
    levels: tuple[str, ...] | None = None
    """Names of the levels of a column of categories; None: it holds numbers."""
    fill: float | None = None
    """What takes the place of a missing value (NaN), if anything does."""
    other: int = -1
    """The level of a category that has none of its own; -1: it is in none."""
    n_stand_ins: int = 0
    """How many of the last levels stand for rare texts, or for missing ones: what a row
    says is never one of their names."""
    least: float = -np.inf
    most: float = np.inf
    """Where numbers are cut off before anything else is done with them."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The levels that are texts of rows."""
        levels = self.levels or ()
        return levels[: len(levels) - self.n_stand_ins]


class Kind(IntEnum):
    """What an input of the networks says of its column."""

    NUMBER = 0
    """The number, standardised."""
    MISSING = 1
    """Whether it is missing."""
    LEVEL = 2
    """Whether it has a certain level."""
    PIECE = 3
    """How far it is in a part of its range, from 0 to 1, standardised."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of the networks, one entry of each array per input.

    Arrays that a kind of input does not need have zeros there.
    """

    kind: np.ndarray
    """`Kind`: int8."""
    column: np.ndarray
    """The column: int32."""
    centre: np.ndarray
    scale: np.ndarray
    """Of numbers and pieces, float64: (value - centre) / scale; a scale of 0 says that
    the input is always 0. A missing value becomes 0."""
    low: np.ndarray
    width: np.ndarray
    """Of pieces, float64: the value is (number - low) / width, cut off at 0 and 1."""
    level: np.ndarray
    """Of levels, int32: the number of the level."""
    absent: np.ndarray
    present: np.ndarray
    """Of flags and levels, float32: the input where it is not so, and where it is."""
    bent: bool
    """Whether numbers and pieces are bent: see `bend` in cofire.estimators.scaling."""

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, eq=False)
class Classes:
    """One class of several: `predict` gives the one of the largest output."""

    labels: np.ndarray
    """Of any type, in the order of the outputs."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Several labels: `predict` gives 1 for each whose output is above 0.5."""

    n: int


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers: `predict` gives output * scale + mean."""

    mean: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True, eq=False)
class PlainModel:
    """A fitted model: columns, inputs, networks, targets."""

    columns: tuple[Column, ...]
    takes_bytes: bool
    """Whether rows are bytes (uint8)."""
    inputs: Inputs
    networks: tuple[SparseNetwork, ...]
    """All with as many inputs; their outputs are averaged."""
    target: Classes | Labels | Numbers
    rounding: Callable[[int, SparseLayer, np.ndarray], np.ndarray] | None = field(
        default=None, kw_only=True
    )
    """What the layer of an index makes of its inputs first, if anything."""

    @property
    def takes_missing(self) -> bool:
        """Whether numbers may be missing (NaN)."""
        filled = any(own.fill is not None for own in self.columns)
        return not self.takes_bytes and (self.inputs.bent or filled)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.networks[0].sizes[-1]

    @property
    def n_connections(self) -> int:
        """Number of connections in all networks."""
        return sum(network.n_connections for network in self.networks)

    # ---- slow and plain, for tests --------------------------------------------------

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Return probabilities, or numbers in units of y: (n_rows, n_outputs) float64.

        rows: (n_rows, n_columns) float64; categories by the number of their level, -1
        for those that have none; NaN is a missing value.
        """
        encoded = self.encode(rows)
        outputs = np.mean([self._run(own, encoded) for own in self.networks], axis=0)
        if isinstance(self.target, Numbers):
            outputs = outputs * self.target.scale + self.target.mean
        return outputs

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Turn what `evaluate` returns into what `predict` does."""
        if isinstance(self.target, Classes):
            return self.target.labels[outputs.argmax(axis=1)]
        if isinstance(self.target, Labels):
            return (outputs > 0.5).astype(int)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def encode(self, rows: np.ndarray) -> np.ndarray:
        """Return the inputs of the networks: (n_rows, n_inputs) float64."""
        values = np.column_stack(
            [_prepared(rows[:, j], own) for j, own in enumerate(self.columns)]
        )
        inputs = [self._input(i, values) for i in range(len(self.inputs))]
        return np.column_stack(inputs).astype(np.float32).astype(np.float64)

    def _input(self, i: int, values: np.ndarray) -> np.ndarray:
        of = self.inputs
        value = values[:, of.column[i]]
        if of.kind[i] == Kind.MISSING:
            return np.where(np.isnan(value), of.present[i], of.absent[i])
        if of.kind[i] == Kind.LEVEL:
            return np.where(value == of.level[i], of.present[i], of.absent[i])
        if of.scale[i] == 0:
            return np.zeros(len(values))
        if of.kind[i] == Kind.PIECE:
            value = np.clip((value - of.low[i]) / of.width[i], 0, 1)
        value = np.nan_to_num((value - of.centre[i]) / of.scale[i])
        if of.bent:
            size = np.abs(value)
            bent = BEND + np.log1p(np.maximum(size - BEND, 0))
            value = np.sign(value) * np.where(size > BEND, np.minimum(bent, MOST), size)
        return value

    def _run(self, network: SparseNetwork, values: np.ndarray) -> np.ndarray:
        """Return the outputs of a network."""
        for i, layer in enumerate(network.layers):
            if i > 0:
                values = activated(network.activation, values)
            if self.rounding is not None:
                values = self.rounding(i, layer, values)
            values = values @ layer.to_scipy().T + layer.bias
        if network.output == "softmax":
            powers = np.exp(values - values.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)
        if network.output == "sigmoid":
            return 1 / (1 + np.exp(-values))
        return values


def _prepared(values: np.ndarray, column: Column) -> np.ndarray:
    values = np.clip(values, column.least, column.most)  # NaN stays NaN
    if column.levels is not None:
        known = np.isin(values, np.arange(len(column.levels)))
        values = np.where(known | np.isnan(values), values, column.other)
    if column.fill is not None:
        values = np.where(np.isnan(values), column.fill, values)
    return values


def activated(name: str, sums: np.ndarray) -> np.ndarray:
    """Return what a hidden layer makes of its sums."""
    if name == "relu":
        return np.maximum(sums, 0)
    if name == "leaky_relu":
        return np.where(sums < 0, LEAKY_SLOPE * sums, sums)
    return np.tanh(sums) if name == "tanh" else sums
