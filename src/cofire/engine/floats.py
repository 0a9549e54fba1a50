"""The floating-point settings of the processor, which other libraries may change."""

from collections.abc import Iterator
from contextlib import contextmanager

import cofire.engine._native as _native


@contextmanager
def standard_floats() -> Iterator[None]:
    """Round to nearest and keep subnormal numbers; afterwards restore the settings.

    Both are settings of a thread. A library built with -ffast-math changes them in
    every thread that loads it, and with them the bits of a training.
    """
    mode = _native.StandardFloats()
    mode.enter()
    try:
        yield
    finally:
        mode.leave()
