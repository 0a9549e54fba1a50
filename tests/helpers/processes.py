"""Python programs that tests start in processes of their own."""

import os
import sys
from pathlib import Path

import cofire

TESTS = Path(__file__).parents[1]
SOURCE = Path(cofire.__file__).parents[1]


def environment(**changes):
    """The environment of a child that imports the same cofire, and our helpers."""
    paths = [str(SOURCE), str(TESTS), os.environ.get("PYTHONPATH", "")]
    paths = os.pathsep.join(path for path in paths if path)
    return os.environ | {"PYTHONPATH": paths} | changes


def program(name, *arguments):
    """The command that runs a module of helpers, such as "reliability.bits_cases"."""
    return [sys.executable, "-m", f"helpers.{name}", *map(str, arguments)]
