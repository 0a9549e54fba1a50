"""Streams: rows that are read again and again, because memory cannot hold them."""

from cofire.data.stream.chunks import Chunk
from cofire.data.stream.stream import Stream

__all__ = ["Chunk", "Stream"]
