"""Methods of other packages: how they are found, and the guide that adds one."""

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import cofire
from cofire import METHODS
from cofire.errors import ModelFormatError
from cofire.estimators.plan import check_parameters
from cofire.methods import make_method
from cofire.methods.set import SET
from cofire.methods.table import GROUP, MethodTable
from helpers.estimator_cases import METHODS_ALONE, classes, small
from helpers.markdown import python_blocks
from helpers.needs import missing

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-method.md"
PLUGIN = Path(__file__).parents[1] / "plugin"
MODULE = "cofire_example_method"
CODE = (PLUGIN / MODULE / "__init__.py").read_text(encoding="utf-8")
TOML = (PLUGIN / "pyproject.toml").read_text(encoding="utf-8")

# ---- the example, installed ----------------------------------------------------------


@pytest.fixture
def example_is_installed():
    if "cooling" not in METHODS:
        missing("the package in tests/plugin", "`make test` installs it")


installed = pytest.mark.usefixtures("example_is_installed")


@installed
def test_the_installed_example_is_the_one_of_this_tree():
    (point,) = entry_points(group=GROUP, name="cooling")
    assert point.dist.name == "cofire-example-method"
    there = sys.modules[METHODS["cooling"].__module__].__file__
    assert Path(there).read_text(encoding="utf-8") == CODE


@installed
def test_the_example_is_a_method_like_ours():
    assert "cooling" in sorted(METHODS)
    assert "cooling" in METHODS_ALONE  # what the tests of all methods run over
    method = make_method("cooling", {"half_life": 4, "patience": 3})
    assert method == METHODS["cooling"](half_life=4)
    assert repr(method) == (
        "Cooling(drop_rule='magnitude', new_values='normal', returning='fresh', "
        "half_life=4)"
    )
    with pytest.raises(ValueError, match="half_life must be above 0, got -2"):
        make_method("cooling", {"half_life": -2})


@installed
@pytest.mark.parametrize("by_name", [True, False])
def test_the_example_trains_and_keeps_the_connection_budget(by_name):
    X, y = classes()
    options = {"half_life": 2}
    if by_name:
        how = {"method": "cooling", "method_options": options}
    else:
        how = {"method": METHODS["cooling"](**options)}
    model = clone(small(max_iter=8, **how)).fit(X, y)

    start = small(max_iter=1, **how).fit(X, y)  # nothing was rewired yet
    pairs = list(zip(model.network_.layers, start.network_.layers, strict=True))
    assert [a.nnz for a, _ in pairs] == [b.nnz for _, b in pairs]
    assert any(not np.array_equal(a.flat_indices, b.flat_indices) for a, b in pairs)
    for record in model.history_[1:]:
        n = np.array(record["replaced"])
        assert (n > 0).all()
        wanted = n * 0.5 ** (record["epoch"] / 2)
        assert np.abs(n * record["random_share"] - wanted).max() <= 0.5 + 1e-9


# ---- the table, and packages made up here --------------------------------------------

GOOD = "from cofire.methods.set import SET\nclass Plugged(SET): pass\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A function that installs a package, of one module, before those there are."""

    def add(module, code=GOOD, name="plugged"):
        assert module.startswith("plugged_")
        folder = tmp_path / module
        folder.mkdir()
        write_dist_info(folder, module, {name: f"{module}:Plugged"})
        if code is not None:
            (folder / f"{module}.py").write_text(code, encoding="utf-8")
        monkeypatch.syspath_prepend(folder)

    yield add
    for module in [name for name in sys.modules if name.startswith("plugged_")]:
        del sys.modules[module]


def write_dist_info(folder, package, points):
    """What an installer leaves beside a package's code."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def use(monkeypatch, table):
    """Let all of cofire look into this table."""
    for module in (
        "methods",
        "estimators.restoring",
        "estimators.plan",
        "estimators.description",
    ):
        monkeypatch.setattr(f"cofire.{module}.METHODS", table)


def new_table():
    """What METHODS is in a fresh process: ours, and nothing looked for yet."""
    return MethodTable({name: METHODS[name] for name in METHODS._own})


def test_a_method_is_imported_when_it_is_asked_for(install, monkeypatch):
    install("plugged_a")
    table = new_table()
    use(monkeypatch, table)

    assert "plugged" in table and "plugged" in list(table)
    assert len(table) == len(list(table)) == len(set(table))
    assert "plugged" in repr(table)
    assert make_method("set") == SET()
    with pytest.raises(ValueError, match="Did you mean 'plugged'"):
        make_method("pluged")
    assert "plugged" not in table.loaded()
    assert "plugged_a" not in sys.modules

    assert make_method("plugged", {"returning": "kept"}).returning == "kept"
    plugged = sys.modules["plugged_a"].Plugged
    assert table["plugged"] is table.loaded()["plugged"] is plugged
    assert len(table) == len(list(table)) == len(set(table))  # still there once
    X, y = classes()
    assert small(method="plugged").fit(X, y).score(X, y) > 0.5


def test_an_option_that_only_an_added_method_has_is_left_out_for_ours(
    install, monkeypatch
):
    install(
        "plugged_a",
        "from dataclasses import dataclass\n"
        "from cofire.methods.set import SET\n"
        "@dataclass(frozen=True)\n"
        "class Plugged(SET):\n"
        "    half_life: float = 3\n",
    )
    install("plugged_b", "import plugged_nowhere", name="broken")
    table = new_table()
    use(monkeypatch, table)
    assert make_method("set", {"half_life": 4}) == SET()
    assert set(table.usable()) == set(table) - {"broken"}


def test_a_name_nobody_has_is_not_there():
    table = new_table()
    assert "nobody" not in table
    with pytest.raises(KeyError, match="nobody"):
        table["nobody"]


def test_a_name_of_ours_is_left_out_with_a_warning(install):
    install("plugged_a", name="set")
    install("plugged_b")
    table = new_table()
    message = "'set' of plugged_a:Plugged is left out: cofire has one of that name"
    with pytest.warns(UserWarning, match=message):
        names = list(table)
    assert names.count("set") == 1
    assert "plugged" in names
    assert table["set"] is SET
    assert "plugged_a" not in sys.modules


@pytest.mark.parametrize(
    "order", [("plugged_a", "plugged_b"), ("plugged_b", "plugged_a")]
)
def test_of_two_packages_with_one_name_the_first_in_the_alphabet_counts(install, order):
    for module in order:
        install(module)
    table = new_table()
    message = "'plugged' of plugged_b:Plugged is left out: plugged_a:Plugged has one"
    with pytest.warns(UserWarning, match=message) as seen:
        names = list(table)
    assert len(seen) == 1
    assert names.count("plugged") == 1
    assert table["plugged"].__module__ == "plugged_a"  # no second warning
    assert "plugged_b" not in sys.modules


@pytest.mark.parametrize(
    "code", ["Plugged = 3", "class Plugged: pass", GOOD + "Plugged = Plugged()"]
)
def test_what_is_no_class_of_methods_is_refused_by_name(install, code):
    install("plugged_a", code)
    table = new_table()
    assert "plugged" in table
    message = f"plugged = plugged_a:Plugged in the group {GROUP} must name a subclass"
    with pytest.raises(TypeError, match=message):
        table["plugged"]
    assert "plugged" not in table.loaded()


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (None, ModuleNotFoundError, "plugged_a"),
        ("import plugged_nowhere", ModuleNotFoundError, "plugged_nowhere"),
        ("1 / 0", ZeroDivisionError, "division"),
        ("", AttributeError, "Plugged"),
    ],
)
def test_a_broken_package_fails_only_when_asked_for(
    install, monkeypatch, code, error, message
):
    install("plugged_a", code)
    install("plugged_b", name="plugged_too")
    table = new_table()
    use(monkeypatch, table)
    assert {"plugged", "plugged_too"} <= set(table)
    assert make_method("plugged_too") == table["plugged_too"]()
    X, y = classes()
    small(method="set").fit(X, y)
    for _ in range(2):
        with pytest.raises(error, match=message):
            small(method="plugged").fit(X, y)


# ---- model files ---------------------------------------------------------------------


@pytest.mark.parametrize("by_name", [True, False])
def test_a_model_file_does_not_import_its_method(
    install, monkeypatch, tmp_path, by_name
):
    install("plugged_a")
    table = new_table()
    use(monkeypatch, table)
    X, y = classes()
    method = "plugged" if by_name else table["plugged"](returning="kept")
    model = small(method=method).fit(X, y)
    model.save(tmp_path / "model.cofire")

    # Another process: nothing was imported there.
    del sys.modules["plugged_a"]
    table = new_table()
    use(monkeypatch, table)
    message = (
        r"Unknown method 'plugged'.* load it first with cofire\.METHODS\['plugged'\]"
    )
    with pytest.raises(ModelFormatError, match=message):
        cofire.load(tmp_path / "model.cofire")
    assert "plugged_a" not in sys.modules

    table["plugged"]
    again = cofire.load(tmp_path / "model.cofire")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    restored = check_parameters(again)
    assert type(restored) is sys.modules["plugged_a"].Plugged
    assert restored.returning == ("fresh" if by_name else "kept")


# ---- the guide -----------------------------------------------------------------------


def test_the_guide_shows_the_package_as_it_is():
    text = GUIDE.read_text(encoding="utf-8")
    assert next(python_blocks(text)).lstrip("\n") == CODE
    (toml,) = re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert toml == TOML


def test_the_guides_code_runs_with_the_package_installed(tmp_path):
    # A process of its own, with the package in an installed layout beside the script.
    project = tomllib.loads(TOML)["project"]
    write_dist_info(tmp_path, project["name"], project["entry-points"][GROUP])
    shutil.copytree(PLUGIN / MODULE, tmp_path / MODULE)

    lines = []  # each line of code where it is in the guide, so that tracebacks fit
    for block in python_blocks(GUIDE.read_text(encoding="utf-8")):
        lines += block.splitlines()[len(lines) :]
    script = tmp_path / GUIDE.with_suffix(".py").name
    script.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 9, done.stdout
