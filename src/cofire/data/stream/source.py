"""Source: where the chunks of a stream come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

from cofire.data.stream.chunks import Chunk


class Source(ABC):
    """Chunks of rows, by number where they can be read in any order.

    A chunk may come in several parts, one after the other, each with its number.
    """

    n_chunks: int | None = None
    """None: chunks can only be read in the order in which they come."""
    reading_bytes: int = 0
    """Memory that reading takes, beside the parts of chunks that it yields."""

    @abstractmethod
    def read(self, order: Sequence[int] | None) -> Iterator[tuple[int, Chunk]]:
        """Yield chunks, each part with the number of its chunk; None: all of them."""
