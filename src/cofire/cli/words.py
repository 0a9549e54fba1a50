"""The words of the command line: options instead of the arguments of Python functions.

Errors and notes of the library name arguments between backquotes: `header=False`,
`drop=['id']`, `test_fraction`. Here, and nowhere else, they become options.
"""

import ast
import errno
import re
import shlex
from typing import Any

PARAMETERS = {
    "hidden": "hidden_layer_sizes",
    "epochs": "max_iter",
    "learning_rate": "learning_rate_init",
    "networks": "n_networks",
    "seed": "random_state",
}
"""Options of `train` that are named differently from the estimator's parameter."""

OPTIONS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("target", "samples", "test", "test_fraction", "task", "scale"),
            *("missing", "categorical", "drop", "separator", "decimal"),
            *("id", "na", "day_first"),
        )
    },
    "header": "--no-header",
    "cv": "--folds",
    "n_trials": "--trials",
    "max_connections": "--max-connections",
}
"""Arguments that messages name, and the options for them."""

REMEDIES = {
    errno.ENOENT: ". Check the name and the folder",
    errno.EACCES: ". Check who may read and write it, or name another place",
    errno.EPERM: ". Check who may read and write it, or name another place",
    errno.EROFS: ". Name a place that can be written to",
    errno.ENOSPC: ". Make room, or name a place on another disk",
    errno.EISDIR: ". Name a file in it",
    errno.ENOTDIR: ". A part of the path is a file: name another place",
}
"""What to do about an error of the system."""

_ARGUMENT = re.compile(r"`(\w+)(?:=([^`]+))?`")
_EXTRA = re.compile(r"(?<!')\bcofire\[(\w+)\](?!')")
_FETCH = re.compile(r"`cofire\.data\.fetch\('(\w+)'\)`")


def in_options(text: str) -> str:
    """Translate the arguments in a message into options.

    >>> in_options("Pass `header=False`, `drop=['my id']` or `test_fraction=0`.")
    "Pass --no-header, --drop 'my id' or --test-fraction 0."
    >>> in_options("`scale` is for files; `alpha` is not translated.")
    '--scale is for files; `alpha` is not translated.'
    """
    text = _FETCH.sub(r"`cofire data fetch \1`", text)
    return _ARGUMENT.sub(_as_option, text)


def message(error: BaseException) -> str:
    """Word an error for the terminal; one of the system as PATH: REASON."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        remedy = REMEDIES.get(error.errno or 0, "")
        return f"{error.filename}: {error.strerror}{remedy}"
    # Shells take brackets for patterns.
    return _EXTRA.sub(r"'cofire[\1]'", in_options(str(error)))


def _as_option(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in OPTIONS:
        return found[0]
    if value is None:
        return OPTIONS[name]
    if name == "day_first" and value == "False":
        return "--month-first"
    try:
        return " ".join([OPTIONS[name], *_values(ast.literal_eval(value))])
    except (ValueError, SyntaxError):  # a name with a backquote in it
        return found[0]


def _values(value: Any) -> list[str]:
    if isinstance(value, bool):  # a flag
        return []
    values = value if isinstance(value, list | tuple) else [value]
    return [shlex.quote(str(one)) for one in values]
