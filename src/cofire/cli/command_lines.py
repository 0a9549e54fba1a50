"""Commands that one command tells the user to run next, ready to be copied."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from inspect import signature
from typing import Any

Options = dict[str, Any]
_NAMES = {"as_json": "json"}
"""Arguments of commands whose option has another name."""
_OPPOSITES = {"day_first": "--month-first", "baselines": "--no-baselines"}
"""Options that say no."""

FILE_OPTIONS = (
    *("target", "samples", "test", "task", "scale", "missing", "categorical"),
    *("drop", "no_header", "separator", "decimal", "id", "na", "day_first"),
)
"""How a file is read: `train` and `compare` have the same options for it."""


def command_line(command: str, data: str, options: Mapping[str, Any]) -> str:
    """Return a command with these options; those that were not given are left out.

    >>> command_line("train", "my data.csv", {"drop": ["id"], "epsilon": None})
    "cofire train 'my data.csv' --drop id"
    """
    words = ["cofire", command, data]
    for name, value in options.items():
        if value is False and name in _OPPOSITES:
            words.append(_OPPOSITES[name])
        words += _words(f"--{name.replace('_', '-')}", value)
    return shlex.join(words)


def given_options(command: Callable[..., None], given: Mapping[str, Any]) -> Options:
    """Pick the options of a command that are not at their defaults, as they are named.

    given: all arguments of the command; those without a default are left out.
    """
    defaults = {
        name: parameter.default
        for name, parameter in signature(command).parameters.items()
        if parameter.default is not parameter.empty
    }
    changed = {n: given[n] for n, default in defaults.items() if given[n] != default}
    return {_NAMES.get(name, name): value for name, value in changed.items()}


def repaired(options: Options, remedy: Mapping[str, Any]) -> Options:
    """Add what a faulty table needs to the options that were given."""
    added = {
        name: [*(options.get(name) or []), *value] if isinstance(value, list) else value
        for name, value in remedy.items()
    }
    return {**options, **added}


def file_options_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the options that say how a file is read, without defaults."""
    found = {name: given[name] for name in FILE_OPTIONS}
    return found | {"task": None if found["task"] == "auto" else found["task"]}


def _words(option: str, value: Any) -> Iterator[str]:
    if value is None or value is False or value == []:
        return
    for one in value if isinstance(value, list | tuple) else [value]:
        yield option
        if one is not True:
            yield _text(one)


def _text(value: Any) -> str:
    short = isinstance(value, float) and float(f"{value:g}") == value
    return f"{value:g}" if short else str(value)  # 2.0 becomes 2
