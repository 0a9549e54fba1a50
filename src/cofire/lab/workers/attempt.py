"""What a worker does: call a function, and report what came of it."""

import pickle
import platform
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from cofire import engine
from cofire.core.machine import available_cores

Report = tuple[Any, str | None, dict[str, Any]]
"""The value, or the error as a traceback; and the machine."""


def attempt(function: Callable, arguments: tuple[Any, ...], n_threads: int) -> bytes:
    """Call the function; return the report.

    As bytes: what cannot be pickled is then an error of the task, for any executor.

    >>> reported(attempt(divmod, (7,), 2))[0]
    (3, 1)
    """
    here = machine(n_threads)
    try:
        return pickle.dumps((function(*arguments, n_threads), None, here))
    except (Exception, SystemExit):
        return pickle.dumps((None, traceback.format_exc(), here))


def reported(content: bytes) -> Report:
    """Return the report that `attempt` made of a call."""
    report: Report = pickle.loads(content)
    return report


def machine(n_threads: int) -> dict[str, Any]:
    """Describe the machine that the seconds of a run were measured on."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "simd_level": engine.simd_level(),
        "cores": available_cores(),
        "threads": n_threads,
    }
