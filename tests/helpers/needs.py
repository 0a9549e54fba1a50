"""Programs and packages that some tests need.

Where one is missing, these tests are skipped. With CI=true they fail: there everything
is to be installed, and a skipped test would go unnoticed.
"""

import importlib
import os
import shutil

import pytest


def missing(what, how_to_install):
    """Skip this test, or fail it with CI=true."""
    message = f"needs {what}, which is missing here: {how_to_install}"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message, allow_module_level=True)


def needs_tool(name, how_to_install, *other_names):
    """The path of a program, by the first of its names that is found."""
    paths = map(shutil.which, (name, *other_names))
    return next(filter(None, paths), None) or missing(name, how_to_install)


def needs_package(name, how_to_install):
    """A module of an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(name, how_to_install)
