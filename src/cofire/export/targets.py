"""TARGETS: what a model can be exported to, and which function does it."""

from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any

from cofire.errors import unknown_name


@dataclass(frozen=True)
class Target:
    """A kind of file.

    The function takes a model, a path, the options and X and y, rows on which to
    measure what is lost; what it returns says what was written (`str`).
    """

    suffix: str
    function: str
    """Module and name: imported when it is asked for."""
    options: tuple[str, ...] = ()
    """Its other arguments."""

    def write(self, model: Any, path: str | PathLike[str], **options: Any) -> Any:
        """Write a model to a file."""
        module, name = self.function.rsplit(".", 1)
        return getattr(import_module(module), name)(model, path, **options)


TARGETS = {
    "c": Target(".c", "cofire.export.c.write.to_c", ("name", "tables", "features")),
    "onnx": Target(".onnx", "cofire.export.onnx.model.to_onnx", ("layers", "features")),
    "torch": Target(".py", "cofire.export.torch.model.write_torch"),
}
"""By name."""


def target_of(name: str) -> Target:
    """Return a target; a ValueError that suggests one if there is none."""
    if name not in TARGETS:
        raise unknown_name("target", name, TARGETS)
    return TARGETS[name]
