"""Fits and predictions over rows that memory does not hold (docs/stream.md).

The estimators know a stream by its attributes alone: `cofire.data.Stream` is one.
"""

from typing import Any


def is_stream(X: Any) -> bool:
    """Whether X is a stream of chunks."""
    return bool(getattr(type(X), "is_cofire_stream", False))
