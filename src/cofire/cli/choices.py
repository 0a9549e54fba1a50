"""Help that names the choices of an option, taken from the library's tables."""

from collections.abc import Iterable
from importlib import import_module
from string import Formatter
from typing import Any

from typer.core import TyperCommand

CHOICES = {
    "activation": "cofire.core.network.ACTIVATIONS",
    "drop_schedule": "cofire.training.schedules.DROP_SCHEDULES",
    "file": "cofire.data.tables.READERS",
    "item": "cofire.lab.paper.ITEMS",
    "layers": "cofire.export.onnx.layers.LAYERS",
    "missing": "cofire.data.preprocessing.scales.MISSING",
    "profile": "cofire.lab.experiments.grid.PROFILES",
    "scale": "cofire.data.preprocessing.scales.SCALES",
    "similarity": "cofire.search.SIMILARITIES",
    "solver": "cofire.core.optimizers.OPTIMIZERS",
    "tables": "cofire.export.c.tables.TABLES",
    "target": "cofire.export.targets.TARGETS",
    "task": "cofire.data.tables.labels.TASKS",
}
"""The table of the library that holds the choices, by the name used in help texts."""


class NamesChoices(TyperCommand):
    """A command whose help has names such as {solver} replaced by the choices.

    The tables are imported only when this help is asked for.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the choices, then write the help."""
        for parameter in self.get_params(ctx):
            text = getattr(parameter, "help", None) or ""
            names = [name for _, name, _, _ in Formatter().parse(text) if name]
            if names:
                named = {name: _listed(choices(name)) for name in names}
                parameter.help = text.format(**named)  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


class NamesMethods(NamesChoices):
    """A command whose help ends with the names of the methods."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the names of all methods, with those of other packages."""
        from cofire.methods import METHODS

        with formatter.section("Methods"):
            formatter.write_text(", ".join(METHODS))


def choices(name: str) -> list[str]:
    """Return the choices of this name, in the order of their table.

    >>> choices("scale")
    ['standard', 'minmax', 'none']
    """
    module, _, table = CHOICES[name].rpartition(".")
    return list(getattr(import_module(module), table))


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
