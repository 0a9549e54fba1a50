"""prepare_stream(): a fit over a stream, made ready to begin."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from cofire.core.machine import check_memory, in_words, release_memory
from cofire.core.network import SparseNetwork
from cofire.estimators.encoder import Encoder
from cofire.estimators.holdout import outputs_of, scorer_of, subset
from cofire.estimators.inputs import Rows, ScaledBytes, engine_rows
from cofire.estimators.plan import Plan, make_plan
from cofire.estimators.prepare import (
    COLUMNS,
    VALIDATION,
    Prepared,
    begin_trainings,
    check_images,
    given_validation,
    kept_encoder,
    prepare,
)
from cofire.estimators.streaming.data import StreamedData
from cofire.estimators.streaming.feed import Feed
from cofire.estimators.streaming.first_pass import Facts, first_pass
from cofire.estimators.streaming.layout import Layout, StreamSteps
from cofire.estimators.streaming.memory import Memory, network_bytes
from cofire.estimators.streaming.moments import with_moments
from cofire.estimators.streaming.reader import Loader, Reader
from cofire.estimators.streaming.tables import joined, row_bytes
from cofire.methods import Method
from cofire.topology.density import full_counts
from cofire.training.progress import TrainingData


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedStream(Prepared):
    """A fit over a stream; `rows` are those of its sample."""

    facts: Facts
    reader: Reader
    layout: Layout
    held: Rows | None
    """Rows held out, to validate with."""

    @property
    def arrays(self) -> list[Any]:
        layout, stream = self.layout, self.X
        numbers = [layout.n_rows, layout.size, stream.seed, *self.facts.marks]
        digest = np.frombuffer(self.facts.digest, np.uint8)
        own = [digest, np.array(numbers, np.int64), self.facts.numbers]
        return [*own, *self.rows, *(self.validation or ())]

    @cached_property
    def feed(self) -> Feed:
        """The blocks, which all networks share."""
        settings = self.plan.settings
        steps = StreamSteps(self.row_ids, settings, 0, self.layout)
        first = min(progress.first_epoch for progress in self.trainings)
        n_epochs = first + settings.max_epochs
        return Feed(
            Loader(self.reader, self.layout).load,
            limit=self.layout.n_blocks(n_epochs, steps),
            prefetch=self.X.prefetch,
            n_running=settings.n_threads,
        )

    def data(self, seed: int) -> TrainingData:
        targets, n_threads = self.targets, self.plan.settings.n_threads
        validate = None
        if self.validation is not None:
            validate = scorer_of(targets, self.validation, n_threads, VALIDATION)
        elif self.held is not None:
            validate = scorer_of(targets, self.held, n_threads, "X, held-out rows")
        X, encoded, weight = self.rows
        rows = engine_rows(X)

        def measure(network: SparseNetwork) -> tuple[float, float]:
            outputs = outputs_of([network], rows, n_threads, "X")
            return targets.score_and_loss(outputs, encoded, weight)

        return StreamedData(
            rows,
            encoded,
            weight,
            self.row_ids,
            validate,
            measure,
            self.outputs,
            feed=self.feed,
            layout=self.layout,
        )


def prepare_stream(
    estimator: Any,
    method: Method,
    stream: Any,
    y: Any = None,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
) -> Prepared:
    """Read a stream once, and say how to train on it; a small one is read to memory."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ValueError(
                f"{name} was given beside a stream, whose chunks have their own: leave "
                f"{name} out, and pass it to Stream."
            )
    continues = "_fitted" in vars(estimator) and estimator.warm_start
    encoder = kept_encoder(estimator) if continues else None
    facts = first_pass(estimator, stream, encoder=encoder, continues=continues)
    release_memory()
    targets = facts.targets
    weight = _weights_of(facts, targets)
    if estimator.standardize and encoder is None:
        encoder = _learnt(estimator, facts, weight)
    if encoder is not None:
        facts.checker.encoder = encoder
    encoded = facts.X if encoder is None else encoder.encode(facts.X)
    check_images(estimator.augmentation, encoded)
    plan = _plan(estimator, method, facts, encoder, encoded)
    sizes = [encoded.shape[1], *plan.hidden_sizes, targets.n_outputs]
    counts = plan.connection_counts(sizes)
    starts = full_counts(sizes) if plan.settings.method.starts_full else counts
    check_memory(sizes, starts, plan.n_networks)
    memory = Memory(
        stream.memory_budget,
        network_bytes(sizes, starts, plan.n_networks) + stream.reading_bytes,
        _encoded_bytes(encoded, targets),
        facts.raw_bytes,
    )
    size = _buffer_rows(stream, memory, plan, facts.n_rows)
    if size is None:
        data = _whole(stream)
        return prepare(estimator, method, *data, X_val, y_val, sample_weight_val)
    rows = Rows(encoded, targets.encode(facts.y), weight)
    rows = _within(rows, facts, memory)
    validation = given_validation(
        facts.checker.estimator, targets, encoder, X_val, y_val, sample_weight_val
    )
    reader, held = _held(
        estimator, method, stream, facts, encoder, plan, memory, validation
    )
    columns = vars(facts.checker.estimator)
    prepared = PreparedStream(
        plan=plan,
        X=stream,
        y=None,
        columns={name: columns[name] for name in COLUMNS if name in columns},
        encoder=encoder,
        targets=targets,
        rows=rows,
        row_ids=np.arange(len(rows.targets)),
        n_counted=None,
        validation=validation,
        trainings=[],
        sizes=sizes,
        counts=counts,
        continues=continues,
        chosen_rate=estimator.learning_rate_init is None,
        facts=facts,
        reader=reader,
        layout=Layout(
            reader.n_rows, size, by_pass=plan.settings.steps_per_epoch is None
        ),
        held=held,
    )
    begin_trainings(prepared, estimator, partial=False)
    facts.X = facts.y = facts.weight = facts.moments = None  # it is encoded now
    release_memory()
    return prepared


def _weights_of(facts: Facts, targets: Any) -> np.ndarray | None:
    """Return the weights of the rows of the sample."""
    if facts.class_weight is None:
        return facts.weigh(np.empty(0), facts.weight)
    return facts.weigh(targets.encode(facts.y), facts.weight)


def _learnt(estimator: Any, facts: Facts, weight: np.ndarray | None) -> Encoder:
    n_pieces = 0 if estimator.augmentation is not None else estimator.n_pieces
    encoder = Encoder.learn(facts.X, weight, n_pieces=n_pieces, n_rows=facts.n_rows)
    if facts.complete or facts.moments is None:
        return encoder
    return with_moments(encoder, facts.X, weight, facts.moments)


def _plan(
    estimator: Any, method: Method, facts: Facts, encoder: Encoder | None, encoded: Any
) -> Plan:
    return make_plan(
        estimator,
        method,
        facts.n_rows,
        numeric=facts.targets.is_numeric,
        n_pieces=0 if encoder is None else encoder.pieces.per_column,
        n_inputs=encoded.shape[1],
    )


def _encoded_bytes(encoded: Any, targets: Any) -> float:
    """Bytes of a row in a buffer: its inputs, its target, a weight, its number."""
    own = encoded.bytes if isinstance(encoded, ScaledBytes) else encoded
    inputs = row_bytes(own)
    if scipy.sparse.issparse(own):
        inputs = 2 * inputs + 16  # parts of a block are joined
    return inputs + 4 * max(1, targets.n_outputs) + 4 + 8 + 8


def _buffer_rows(stream: Any, memory: Memory, plan: Plan, n_rows: int) -> int | None:
    """Return the rows of a buffer, whole batches; None: memory holds all rows."""
    batch, asked = plan.settings.batch_size, stream.buffer_rows
    least = memory.least(batch)
    if stream.memory_budget < least:
        raise ValueError(
            f"memory_budget={in_words(stream.memory_budget)} is too small for rows of "
            f"{memory.encoded:.0f} bytes, these networks and this source: "
            f"{in_words(least)} is the least that works. Give more, or use a smaller "
            "batch_size or network (of Parquet, smaller row groups)."
        )
    if asked is None:
        if memory.holds_all(n_rows):
            return None
        return max(1, memory.buffer_rows // batch) * batch
    size = -(-asked // batch) * batch
    if n_rows <= size:
        return None
    if size > memory.buffer_rows:
        need = 6 * size * memory.encoded + (stream.memory_budget - memory.usable)
        raise ValueError(
            f"buffer_rows={asked}: two buffers of that size do not fit into "
            f"memory_budget={in_words(stream.memory_budget)}; give at least "
            f"{in_words(need)}, or at most buffer_rows={memory.buffer_rows}."
        )
    return size


def _within(rows: Rows, facts: Facts, memory: Memory) -> Rows:
    """Leave out rows of the sample that memory does not hold beside the buffers."""
    n, most = len(rows.targets), memory.sample_rows()
    if n <= most:
        return rows
    facts.numbers = facts.numbers[:: -(-n // most)]
    return subset(rows, np.arange(0, n, -(-n // most)))


def _held(
    estimator: Any,
    method: Method,
    stream: Any,
    facts: Facts,
    encoder: Encoder | None,
    plan: Plan,
    memory: Memory,
    validation: Rows | None,
) -> tuple[Reader, Rows | None]:
    """Return the reader, and the rows that it holds out if validation needs some."""
    wanted = plan.early_stopping or method.needs_validation
    if validation is not None or not wanted:
        return Reader(stream, facts, encoder, 0.0), None
    fraction = min(plan.validation_fraction, memory.held_rows / facts.n_rows)
    reader = Reader(stream, facts, encoder, fraction)
    if sum(reader.n_held) < 2:
        raise ValueError(
            f"validation_fraction={plan.validation_fraction} of {facts.n_rows} rows: "
            "too few to hold out. Give more, or pass X_val and y_val."
        )
    return reader, reader.held_rows()


def _whole(stream: Any) -> tuple[Any, Any, Any]:
    """Read all rows to memory: X, y and weights."""
    chunks = [chunk for _, chunk in stream.chunks()]
    X, y, weight = (joined(values) for values in zip(*chunks, strict=True))
    return X, y, weight
