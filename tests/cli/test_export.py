"""`cofire export`: from a CSV file to C that predicts what `cofire predict` does."""

import csv
import ctypes
import io
import re
from pathlib import Path

import numpy as np
import pytest

import cofire
from cofire import SparseMLPClassifier
from cofire.export.reading import rows_of
from cofire.export.targets import TARGETS
from helpers.c_programs import CModel
from helpers.commands import done, run
from helpers.exported import case, table

SMALL = ("--hidden", 30, "--epochs", 5, "--networks", 2, "--n-jobs", 1, "--seed", 0)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("cofire: ")
    return result.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a model that `cofire train` wrote, and rows."""
    folder = tmp_path_factory.mktemp("files")
    X, y = table()
    X["kind"] = np.array(["low", "middle", "high"])[y]
    X[:700].to_csv(folder / "train.csv", index=False)
    X[700:].to_csv(folder / "rows.csv", index=False)
    model = folder / "net.cofire"
    how = ("--missing", "median", "--no-baselines", "--test-fraction", 0, *SMALL)
    done("train", folder / "train.csv", "--out", model, *how)
    return folder


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_c_predicts_what_the_command_line_does(files):
    import pandas as pd

    model, rows = files / "net.cofire", files / "rows.csv"
    said = done("export", model, rows, "--to", "c").stdout
    assert "net.c, net.h: " in said
    assert re.search(
        r"on 200 rows: .*, 0 predictions changed; accuracy 0\.\d{4} be", said
    )
    predicted = list(csv.DictReader(io.StringIO(done("predict", model, rows).stdout)))
    loaded = cofire.load(model)
    program = CModel(_exported("net.c"), 3)
    own = rows_of(loaded, pd.read_csv(rows, keep_default_na=True))
    names = np.array(program.class_names())
    found = names[program.one(own, ctypes.c_int)]
    assert found.tolist() == [row["prediction"] for row in predicted]


def _exported(path):
    """Return what `CModel` looks at, of a file that is there."""
    kind = re.search(r"typedef (.*) net_feature;", Path(path[:-1] + "h").read_text())[1]

    class Exported:
        source, feature = Path(path), kind

    return Exported


def test_integers_say_what_is_lost(files):
    how = ("--to", "c", "--tables", "int8", "--out", "deep/er/small.c", "--name", "n2")
    said = done("export", files / "net.cofire", files / "rows.csv", *how).stdout
    before, after = map(
        float, re.search(r"accuracy (\S+) be\w+, (\S+) aft", said).groups()
    )
    assert abs(before - after) < 0.03
    assert "tables in int8: " in said
    assert "n2_predict(" in Path("deep/er/small.h").read_text()


def test_without_rows_it_says_how_to_measure(files):
    said = done("export", files / "net.cofire", "--to", "c").stdout
    assert "To measure what is lost, name labelled rows" in said
    assert "accuracy" not in said


def test_a_model_that_was_saved_in_python():
    own = case("digits")
    own.model.save("digits.cofire")
    np.savez("rows.npz", X=own.X, y=own.model.predict(own.X))
    said = done("export", "digits.cofire", "rows.npz", "--to", "c").stdout
    assert "accuracy 1.0000 before, 1.0000 after" in said


def test_named_columns_come_in_any_order():
    X, y = table()
    X = X[["size", "age"]].fillna(0)
    model = SparseMLPClassifier((9,), max_iter=2, n_networks=1, random_state=0)
    model.fit(X, y).save("m.cofire")
    X[["age", "size"]].assign(y=model.predict(X)).to_csv("rows.csv", index=False)
    said = done("export", "m.cofire", "rows.csv", "--to", "c").stdout
    assert "accuracy 1.0000 before, 1.0000 after" in said
    X[["age"]].assign(y=y).to_csv("rows.csv", index=False)
    text = refused("export", "m.cofire", "rows.csv", "--to", "c")
    assert "columns that the model needs are missing: 'size'" in text


def test_mistakes_are_told(files):
    model = files / "net.cofire"
    assert "unknown target 'cc'. Did you mean 'c'?" in refused(
        "export", model, "--to", "cc"
    )
    assert "unknown tables 'int4'" in refused(
        "export", model, "--to", "c", "--tables", "int4"
    )
    assert "cannot begin the names" in refused(
        "export", model, "--to", "c", "--name", "1st"
    )
    assert "ends in .c" in refused("export", model, "--to", "c", "--out", "net.h")
    assert "there is no such file" in refused("export", "no.cofire", "--to", "c")
    assert "neither a file nor" in refused("export", model, "mnits", "--to", "c")
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_options_of_other_targets_are_refused(name, files):
    foreign = {o for t in TARGETS.values() for o in t.options} - {
        *TARGETS[name].options
    }
    for option in foreign:
        text = refused("export", files / "net.cofire", "--to", name, f"--{option}", "x")
        assert f"--{option} is not for --to {name}" in text


@pytest.mark.parametrize(
    ("to", "stem", "written"),
    [
        ("c", "my net-2", "my_net_2.c"),
        ("torch", "class", "model_class.py"),
        ("onnx", "my net-2", "my net-2.onnx"),
    ],
)
def test_any_model_file_has_a_name_to_export_to(files, to, stem, written):
    model = Path(f"{stem}.cofire")
    model.write_bytes((files / "net.cofire").read_bytes())
    done("export", model, "--to", to)
    assert Path(written).exists()
