"""Reader: the rows of a stream as training takes them, encoded, pass after pass."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from cofire import engine
from cofire.core.machine import release_memory
from cofire.core.random import RUN, held_out, run_keys
from cofire.core.random import stream as random_stream
from cofire.engine.floats import standard_floats
from cofire.estimators.encoder import Encoder
from cofire.estimators.inputs import Rows, ScaledBytes
from cofire.estimators.streaming.first_pass import Facts, mark
from cofire.estimators.streaming.layout import Layout
from cofire.estimators.streaming.tables import joined, taken

_MANY_RUNS = 2**20
"""With more runs of rows, nearly the right fraction has keys below that fraction."""
CHANGED = (
    "the rows of the stream have changed since the first pass over them: {}. Training "
    "reads them again and again: they must stay the same, in the same chunks."
)


class Piece(NamedTuple):
    """Some rows, encoded."""

    X: Any
    targets: np.ndarray
    weight: np.ndarray | None
    numbers: np.ndarray

    def rows(self, which: Any) -> "Piece":
        """Take some of the rows."""
        return Piece(
            subset_of(self.X, which), *(taken(values, which) for values in self[1:])
        )


def subset_of(X: Any, which: Any) -> Any:
    """Take some encoded rows."""
    return X._replace(bytes=X.bytes[which]) if isinstance(X, ScaledBytes) else X[which]


class Reader:
    """Reads rows in the order of the passes; those held out are left out.

    held: the fraction of the rows that is held out, in runs of a few rows each.
    """

    def __init__(
        self, stream: Any, facts: Facts, encoder: Encoder | None, held: float
    ) -> None:
        self.stream, self.facts, self.encoder = stream, facts, encoder
        self._limit = _limit(stream.seed + 1, facts.lengths, held)
        self.shuffle = bool(facts.checker.estimator.shuffle)
        self.n_held = [
            int(self._is_held(i, 0, n).sum()) for i, n in enumerate(facts.lengths)
        ]
        self._starts = np.concatenate([[0], np.cumsum(facts.lengths)])

    @property
    def n_rows(self) -> int:
        """Rows of a pass: those that are not held out."""
        return self.facts.n_rows - sum(self.n_held)

    def _is_held(self, chunk: int, first: int, n: int) -> np.ndarray:
        rows = np.arange(first, first + n)
        return held_out(self.stream.seed + 1, chunk, rows, self._limit)

    def held_rows(self) -> Rows:
        """Read the rows that are held out."""
        pieces = []
        for piece, held in self._pieces(None):
            if held.any():
                pieces.append(piece.rows(held))
        whole = joined_pieces(pieces)
        return Rows(whole.X, whole.targets, whole.weight)

    def pieces(self, position: int) -> Iterator[Piece]:
        """Yield the rows from a position on, without an end."""
        number, skipped = divmod(position, self.n_rows)
        while True:
            order, skipped = self._order(number, skipped)
            for piece, held in self._pieces(order):
                if held.any():
                    piece = piece.rows(~held)
                n = len(piece.numbers)
                if skipped < n:
                    yield piece.rows(slice(skipped, None)) if skipped else piece
                skipped = max(0, skipped - n)
            number, skipped = number + 1, 0

    def _order(self, number: int, skipped: int) -> tuple[np.ndarray | None, int]:
        """Return the chunks of a pass without those that are skipped; rows to skip."""
        n = self.stream.n_chunks
        if n is None:
            return None, skipped
        order = np.arange(n)
        if self.shuffle:
            rng = random_stream(self.stream.seed, "order", layer=1, epoch=number)
            order = rng.permutation(n)
        lengths = np.zeros(n, np.int64)
        lengths[: len(self.n_held)] = np.subtract(self.facts.lengths, self.n_held)
        ends = np.cumsum(lengths[order])
        first = int(np.searchsorted(ends, skipped, side="right"))
        return order[first:], skipped - int(ends[first - 1] if first else 0)

    def _pieces(self, order: np.ndarray | None) -> Iterator[tuple[Piece, np.ndarray]]:
        """Yield the rows of chunks, and which of them are held out."""
        at, n_rows, found = -1, 0, 0
        for number, chunk in self.stream.chunks(order):
            if number != at:
                self._compare(at, n_rows, found)
                at, n_rows, found = number, 0, 0
            if number >= len(self.facts.lengths):
                raise ValueError(CHANGED.format("there are more chunks"))
            found = mark(chunk, found)
            checked = self.facts.checker.check(number, chunk)
            X, y, weight = self.facts.checker.existing(*checked)
            n, first = X.shape[0], n_rows
            n_rows += n
            if n_rows > self.facts.lengths[number]:
                self._compare(number, n_rows, found)
            if n:
                start = int(self._starts[number]) + first
                piece = self._encoded(X, y, weight, start)
                yield piece, self._is_held(number, first, n)
        self._compare(at, n_rows, found)
        if order is None and any(self.facts.lengths[at + 1 :]):
            raise ValueError(CHANGED.format("there are fewer chunks"))

    def _compare(self, chunk: int, n: int, found: int) -> None:
        """Refuse a chunk that is not what it was in the first pass."""
        if chunk < 0:
            return
        if n != self.facts.lengths[chunk]:
            had = self.facts.lengths[chunk]
            raise ValueError(
                CHANGED.format(f"chunk {chunk + 1} has {n} rows, it had {had}")
            )
        if found != self.facts.marks[chunk]:
            raise ValueError(CHANGED.format(f"chunk {chunk + 1} has other values"))

    def _encoded(self, X: Any, y: Any, weight: np.ndarray | None, start: int) -> Piece:
        targets = self.facts.targets.encode(y)
        weight = self.facts.weigh(targets, weight)
        if self.encoder is not None:
            X = self.encoder.encode(X)
        return Piece(X, targets, weight, np.arange(start, start + len(targets)))


def joined_pieces(pieces: list[Piece]) -> Piece:
    """Put rows one below the other."""
    X = pieces[0].X
    if isinstance(X, ScaledBytes):
        X = X._replace(bytes=joined([piece.X.bytes for piece in pieces]))
    else:
        X = joined([piece.X for piece in pieces])
    rest = zip(*(piece[1:] for piece in pieces), strict=True)
    return Piece(X, *(joined(values) for values in rest))


def _limit(seed: int, lengths: list[int], fraction: float) -> float:
    """Return the key below which runs of rows are held out: a fraction of all runs."""
    n_runs = sum(-(-n // RUN) for n in lengths)
    if fraction == 0 or n_runs > _MANY_RUNS:
        return fraction
    keys = [run_keys(seed, i, np.arange(-(-n // RUN))) for i, n in enumerate(lengths)]
    n_held = min(max(1, round(fraction * n_runs)), n_runs - 1)
    return int(np.partition(np.concatenate(keys), n_held)[n_held])


class Loaded(NamedTuple):
    """A block in memory, as the engine reads it."""

    rows: engine.Rows
    targets: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray


class Loader:
    """Loads blocks, one after the other where it can, into arrays that it keeps."""

    def __init__(self, reader: Reader, layout: Layout, n_places: int = 2) -> None:
        self.reader, self.layout = reader, layout
        self._position = -1
        self._pieces: Iterator[Piece] = iter(())
        self._left: Piece | None = None
        self._places: list[Piece | None] = [None] * n_places

    def load(self, number: int, place: int) -> Loaded:
        """Load a block into a place; what was there is overwritten."""
        position, size = self.layout.block(number)
        with standard_floats():
            if position != self._position:
                self._pieces, self._left = self.reader.pieces(position), None
            self._position = -1
            block = self._filled(size, place)
            self._position = position + size
        release_memory()
        X = block.X
        if isinstance(X, ScaledBytes):
            rows = engine.Rows(X.bytes, scale=X.scale, offset=X.offset)
        else:
            rows = engine.Rows(X)
        return Loaded(rows, block.targets, block.weight, block.numbers)

    def _filled(self, size: int, place: int) -> Piece:
        parts, n = [], 0
        put: Callable[[Piece, int], None] | None = None
        while n < size:
            piece = self._left if self._left is not None else next(self._pieces)
            self._left = None
            if n + len(piece.numbers) > size:
                self._left = piece.rows(slice(size - n, None))
                piece = piece.rows(slice(0, size - n))
            if scipy.sparse.issparse(piece.X):
                parts.append(piece)
            else:
                put = put or self._putting(piece, place)
                put(piece, n)
            n += len(piece.numbers)
        if put is None:
            return joined_pieces(parts)
        kept = self._places[place]
        assert kept is not None
        return kept.rows(slice(0, size)) if size < len(kept.numbers) else kept

    def _putting(self, like: Piece, place: int) -> Callable[[Piece, int], None]:
        """Return a function that copies rows to where they belong in a place."""
        if self._places[place] is None:
            size = self.layout.size
            self._places[place] = _empty(like, size)
        kept = self._places[place]
        assert kept is not None

        def put(piece: Piece, at: int) -> None:
            part = slice(at, at + len(piece.numbers))
            to, X = kept.X, piece.X
            if isinstance(to, ScaledBytes) != isinstance(X, ScaledBytes):
                raise TypeError(CHANGED.format("some are bytes (uint8), some are not"))
            if isinstance(to, ScaledBytes):
                to.bytes[part] = X.bytes
            else:
                to[part] = X
            for own, values in zip(kept[1:], piece[1:], strict=True):
                if own is not None:
                    own[part] = values

        return put


def _empty(like: Piece, size: int) -> Piece:
    """Return room for rows like these."""

    def room(values: Any) -> Any:
        if values is None:
            return None
        return np.empty((size, *values.shape[1:]), values.dtype)

    X = like.X
    X = X._replace(bytes=room(X.bytes)) if isinstance(X, ScaledBytes) else room(X)
    return Piece(X, *(room(values) for values in like[1:]))
