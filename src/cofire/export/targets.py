"""TARGETS: what a model can be exported to, and which function does it."""

from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from typing import Any

from cofire.errors import unknown_name
from cofire.export.c.words import as_name


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
    is_code: bool = False
    """Whether the file's name is one of the language too."""

    def file_name(self, stem: str) -> str:
        """Return how the file is called if the user does not say.

        >>> TARGETS["torch"].file_name("my-net"), TARGETS["onnx"].file_name("my-net")
        ('my_net.py', 'my-net.onnx')
        """
        return (as_name(stem) if self.is_code else stem) + self.suffix

    def write(self, model: Any, path: str | PathLike[str], **options: Any) -> Any:
        """Write a model to a file."""
        module, name = self.function.rsplit(".", 1)
        return getattr(import_module(module), name)(model, path, **options)


TARGETS = {
    "c": Target(
        ".c",
        "cofire.export.c.write.to_c",
        ("name", "tables", "features"),
        is_code=True,
    ),
    "onnx": Target(".onnx", "cofire.export.onnx.model.to_onnx", ("layers", "features")),
    "torch": Target(".py", "cofire.export.torch.model.write_torch", is_code=True),
}
"""By name."""


def target_of(name: str) -> Target:
    """Return a target; a ValueError that suggests one if there is none."""
    if name not in TARGETS:
        raise unknown_name("target", name, TARGETS)
    return TARGETS[name]
