"""Commands that one command tells the user to run next, ready to be copied."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

FILE_OPTIONS = (
    *("target", "samples", "test", "task", "scale", "missing", "categorical"),
    *("drop", "no_header", "separator", "decimal"),
)
"""How a file is read: `train` and `compare` have the same options for it."""


def command_line(command: str, data: str, options: Mapping[str, Any]) -> str:
    """Return a command with these options; those that were not given are left out.

    >>> command_line("train", "my data.csv", {"drop": ["id"], "epsilon": None})
    "cofire train 'my data.csv' --drop id"
    """
    words = ["cofire", command, data]
    for name, value in options.items():
        words += _words(f"--{name.replace('_', '-')}", value)
    return shlex.join(words)


def file_options_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the options that say how a file is read, without defaults."""
    found = {name: given[name] for name in FILE_OPTIONS}
    return found | {"task": None if found["task"] == "auto" else found["task"]}


def _words(option: str, value: Any) -> Iterator[str]:
    if value is None or value is False or value == []:
        return
    yield option
    if value is not True:
        many = isinstance(value, list | tuple)
        yield from map(_text, value if many else [value])


def _text(value: Any) -> str:
    short = isinstance(value, float) and float(f"{value:g}") == value
    return f"{value:g}" if short else str(value)  # 2.0 becomes 2
