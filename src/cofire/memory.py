"""Whether a network can fit into the memory of this machine at all."""

import os
from collections.abc import Sequence

_PER_CONNECTION = 16  # its place while it is drawn, its index, its weight
_PER_NEURON = 12  # a pointer to its first connection, its bias


def check_memory(sizes: Sequence[int], counts: Sequence[int]) -> None:
    """Raise a MemoryError that says so if the arrays of a network cannot fit.

    Systems promise memory that they do not have, and end a program that uses it.

    >>> check_memory([784, 1000, 10], [8000, 5000])
    """
    needed = _PER_CONNECTION * sum(counts) + _PER_NEURON * sum(sizes[1:])
    if needed > (there := physical_memory()):
        raise MemoryError(
            f"hidden_layer_sizes, epsilon, density: a network of sizes "
            f"{' x '.join(map(str, sizes))} with {sum(counts)} connections takes "
            f"{needed / 2**30:.3g} GiB or more, this machine has {there / 2**30:.3g}."
        )


def physical_memory() -> int:
    """Bytes of this machine's memory; a very large number where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**62
