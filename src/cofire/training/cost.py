"""What a network costs: connections, multiply-adds, bytes, joules.

All but joules are counted. Joules are measured or estimated, and say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from cofire.core.network import SparseNetwork
from cofire.energy import DenseNetwork, Energy
from cofire.energy.joules import estimated
from cofire.training.record import EpochRecord

# Multiply-adds per core-second: of a dense product (BLAS, float32), and of our own
# kernels in a prediction. Measured: docs/results/energy.md, "The rates".
DENSE_RATE, SPARSE_RATE = 50e9, 15e9


@dataclass(frozen=True)
class Receipt:
    """What a fit cost, and what its dense twin costs (same sizes, every connection).

    All networks of the fit are added up: their connections, and the seconds of each.

    Bytes are those of the model: a float32 per weight and bias, and for the sparse one
    an int32 index per connection and an int64 pointer per neuron. Multiply-adds are
    those of one prediction; a training step needs about three times as many.
    `capped_layers` are the indices, from 0, of the layers with every connection; when
    printed, layers are counted from 1.

    `energy` is what the fit used, `dense_energy` an estimate for the dense twin, if it
    sees as many rows at the rate of a dense product; the energies of predictions are
    estimates for 1,000 rows, of the arithmetic alone. Each `Energy` says what it rests
    on (docs/energy.md); None: the model is from before energy was recorded.
    """

    connections: int
    dense_connections: int
    bytes: int
    dense_bytes: int
    multiply_adds: int
    dense_multiply_adds: int
    epochs: int
    train_seconds: float
    rewire_seconds: float
    evaluate_seconds: float
    capped_layers: tuple[int, ...]
    simd_level: str
    threads: int
    rows: int | None = None
    """Rows that all training steps took; None: a model from before that was counted."""
    energy: Energy | None = None
    dense_energy: Energy | None = None
    prediction_energy: Energy | None = None
    dense_prediction_energy: Energy | None = None
    same_accuracy: DenseNetwork | None = None
    """The dense network that `beside` was told of."""
    called_predictions: Energy | None = None
    """Of 1,000 predictions with all that a call does, if `with_predictions` was told.
    """

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.to_dict() if isinstance(value, Energy | DenseNetwork) else value
            for name, value in values.items()
        }

    def beside(self, dense: DenseNetwork | None) -> "Receipt":
        """The same, beside a dense network of the same accuracy; None: there is none.

        `cofire.energy.smallest_dense` finds it: no fit can know it by itself.
        """
        return replace(self, same_accuracy=dense)

    def with_predictions(self, energy: Energy) -> "Receipt":
        """The same, with the energy of 1,000 predictions as they are called.

        `cofire.energy.of_predictions` measures it: no fit can, since it predicts
        nothing.
        """
        return replace(self, called_predictions=energy)

    def __str__(self) -> str:
        seconds = (
            f"{self.train_seconds:.2f} s training, "
            f"{self.rewire_seconds:.2f} s rewiring, "
            f"{self.evaluate_seconds:.2f} s evaluation"
        )
        capped = ", ".join(str(i + 1) for i in self.capped_layers) or "none"
        return "\n".join(
            [
                f"{'':<18}{'this model':>14}{'dense twin':>16}",
                _counts("connections", self.connections, self.dense_connections),
                _counts("bytes", self.bytes, self.dense_bytes),
                _counts("multiply-adds", self.multiply_adds, self.dense_multiply_adds),
                *_joules("energy, training", self.energy, self.dense_energy),
                *_joules(
                    "1,000 predictions",
                    self.prediction_energy,
                    self.dense_prediction_energy,
                ),
                f"{self.epochs} epochs: {seconds}",
                f"{self.threads} threads, SIMD level {self.simd_level}, "
                f"layers with every connection: {capped}",
                *self._where_joules_come_from(),
            ]
        )

    def _where_joules_come_from(self) -> list[str]:
        named = [
            ("energy of training", self.energy),
            ("  its dense twin, as many rows", self.dense_energy),
            ("arithmetic of 1,000 predictions", self.prediction_energy),
            ("  of its dense twin", self.dense_prediction_energy),
        ]
        lines = [f"{name}: {energy.basis}" for name, energy in named if energy]
        if self.called_predictions is not None:
            called = "1,000 predictions, with all that a call does"
            lines.append(f"{called}: {self.called_predictions}")
        beside = self.same_accuracy
        return lines if beside is None else [*lines, str(beside)]


def _counts(name: str, ours: int, dense: int) -> str:
    return f"{name:<18}{ours:>14,}{dense:>16,}{_ratio(ours, dense):>16}"


def _joules(name: str, ours: Energy | None, dense: Energy | None) -> list[str]:
    """Return a line, if our energy is known."""
    if ours is None:
        return []
    if dense is None:
        return [f"{name:<18}{ours.amount:>14}{'-':>16}"]
    ratio = _ratio(ours.joules, dense.joules) if ours.joules and dense.joules else ""
    return [f"{name:<18}{ours.amount:>14}{dense.amount:>16}{ratio:>16}"]


def _ratio(ours: float, dense: float) -> str:
    """Say how many times less or more it is.

    >>> [_ratio(*pair) for pair in [(10, 25), (25, 24), (30, 10)]]
    ['2.5 x less', 'about the same', '3.0 x more']
    """
    less, more = f"{dense / ours:.1f}", f"{ours / dense:.1f}"
    if "1.0" in (less, more):
        return "about the same"
    return f"{less} x less" if ours < dense else f"{more} x more"


def epoch_multiply_adds(model: Any, n_rows: int) -> list[float]:
    """Multiply-adds of training and of searches, per epoch of a fitted estimator.

    Those of the searches are taken from `history_`.
    """
    training = training_multiply_adds(model.network_.n_connections, n_rows)
    return [
        training + (record.get("search_multiply_adds") or 0)
        for record in model.history_
    ]


def training_multiply_adds(connections: int, n_rows: int) -> float:
    """Three for each connection and row: forward, backward to weights and inputs."""
    return 3.0 * connections * n_rows


def receipt(
    networks: Sequence[SparseNetwork],
    histories: Sequence[Sequence[EpochRecord]],
    *,
    simd_level: str,
    threads: int,
    energy: Energy | None = None,
) -> Receipt:
    """Add up the costs of the networks and of the epochs in their histories."""
    layers = [layer for network in networks for layer in network.layers]
    neurons = sum(layer.n_out for layer in layers)
    connections = sum(layer.nnz for layer in layers)
    possible = sum(layer.n_in * layer.n_out for layer in layers)
    pointers = neurons + len(layers)
    records = [record for history in histories for record in history]
    counted = all("rows" in record for record in records)
    rows = sum(record["rows"] for record in records) if counted else None

    return Receipt(
        connections=connections,
        dense_connections=possible,
        bytes=8 * connections + 8 * pointers + 4 * neurons,
        dense_bytes=4 * (possible + neurons),
        multiply_adds=connections,
        dense_multiply_adds=possible,
        epochs=len(histories[0]),
        train_seconds=sum(record["train_seconds"] for record in records),
        rewire_seconds=sum(record["rewire_seconds"] for record in records),
        evaluate_seconds=sum(record["evaluate_seconds"] for record in records),
        capped_layers=tuple(
            i for i, layer in enumerate(networks[0].layers) if layer.is_full
        ),
        simd_level=simd_level,
        threads=threads,
        rows=rows,
        energy=energy,
        dense_energy=_twin(energy, possible // len(networks), rows),
        prediction_energy=_arithmetic(energy, 1000 * connections, SPARSE_RATE),
        dense_prediction_energy=_arithmetic(energy, 1000 * possible, DENSE_RATE),
    )


def _twin(energy: Energy | None, connections: int, rows: int | None) -> Energy | None:
    """Estimate the training of a dense network on so many rows."""
    if rows is None:
        return None
    return _arithmetic(energy, training_multiply_adds(connections, rows), DENSE_RATE)


def _arithmetic(
    energy: Energy | None, multiply_adds: float, rate: float
) -> Energy | None:
    """Estimate multiply-adds, at so many per core-second and the power of the fit."""
    if energy is None:
        return None
    seconds = multiply_adds / rate
    reason = (
        f"{multiply_adds:.2g} multiply-adds at {rate / 1e9:g} billion per core-second"
    )
    return estimated(seconds, seconds, energy.watts_per_core, reason=reason)
