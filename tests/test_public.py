"""What is public: stated in one place, there, and all that the docs rely on."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import cofire

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TOP = Path(cofire.__file__).parent


def test_every_public_name_is_there():
    for name in cofire.__all__:
        assert getattr(cofire, name) is not None
        assert name in dir(cofire)


@pytest.mark.parametrize("name", cofire.PUBLIC_MODULES)
def test_every_public_module_lists_its_names(name):
    module = importlib.import_module(name)
    assert module.__all__
    for public in module.__all__:
        assert hasattr(module, public), public


def test_modules_at_the_top_are_public():
    found = {f"cofire.{path.stem}" for path in TOP.glob("*.py")} - {"cofire.__init__"}
    assert found <= set(cofire.PUBLIC_MODULES)


def imports(page):
    """What the Python code of a page imports from cofire: (module, name)."""
    for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("cofire"):
                yield from ((node.module, alias.name) for alias in node.names)


def test_the_docs_import_public_names_only():
    used = {found for page in PAGES for found in imports(page)}
    assert len(used) > 5
    for module, name in used:
        if module == "cofire":
            is_module = f"cofire.{name}" in cofire.PUBLIC_MODULES
            assert is_module or name in cofire.__all__, name
        else:
            assert module in cofire.PUBLIC_MODULES, module
            assert name in importlib.import_module(module).__all__, (module, name)
