"""The errors of the library, and functions that word messages."""

import difflib
from collections.abc import Collection, Sequence

__all__ = ["DivergenceError", "ModelFormatError"]


class DivergenceError(ValueError):
    """Training diverged: values are not finite. The last finite network was kept.

    `layer` is an index from 0; the message counts layers from 1.
    """

    def __init__(self, *, layer: int, epoch: int | None = None) -> None:
        self.layer, self.epoch = layer, epoch
        when = "" if epoch is None else f" in epoch {epoch}"
        super().__init__(
            f"training diverged{when}: layer {layer + 1} has values that are not "
            "finite. "
            "The last finite network was kept. "
            "Scale the inputs (standardize=True) or lower learning_rate_init."
        )

    def __reduce__(self) -> tuple:
        return _divergence, (self.layer, self.epoch)


def _divergence(layer: int, epoch: int | None) -> DivergenceError:
    return DivergenceError(layer=layer, epoch=epoch)


class ModelFormatError(ValueError):
    """A file is not a model that this version can read."""


def listed(names: Sequence[object]) -> str:
    """Format a list: the first eight, and how many there are.

    >>> listed(["a", "b"]), listed(range(9))
    ("'a', 'b'", '0, 1, 2, 3, 4, 5, 6, 7, ... (9 in all)')
    """
    more = f", ... ({len(names)} in all)" if len(names) > 8 else ""
    return ", ".join(repr(name) for name in names[:8]) + more


def unknown_name(kind: str, name: object, known: Collection[str]) -> ValueError:
    """Return an error: what came, what was probably meant, what exists.

    >>> unknown_name("method", "SETT", {"set", "static"})
    ValueError("unknown method 'SETT'. Did you mean 'set'? Known: set, static.")
    """
    return ValueError(f"unknown {kind} {name!r}. {suggestion(name, known)}")


def suggestion(name: object, known: Collection[str]) -> str:
    """Word what was probably meant, and what exists.

    >>> suggestion("SETT", {"set", "static"})
    "Did you mean 'set'? Known: set, static."
    """
    known = sorted(known)
    # A long name is not a typing error, and difflib is slow on it.
    guess = str(name).lower()[:50]
    close = difflib.get_close_matches(guess, known, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(known)}."
