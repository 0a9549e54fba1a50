"""Exported C predicts what the estimator does, on all rows, for all kinds of models."""

import ctypes
import subprocess
from itertools import cycle

import numpy as np
import pytest
from sklearn.datasets import load_digits

from cofire import SparseMLPClassifier
from cofire.export.c.write import to_c
from cofire.export.plain import Classes, Labels
from cofire.export.reading import plain_model, rows_of
from helpers.c_programs import CModel, compiled
from helpers.exported import CASES, Case, case
from helpers.needs import needs_tool

KINDS = {"float": ctypes.c_float, "double": ctypes.c_double}


def in_c(own, folder, **how):
    """Return probabilities, or numbers, and predictions of the C file."""
    done, plain = to_c(own.model, folder / "model.c", **how), plain_model(own.model)
    program, rows = CModel(done, plain.n_outputs), rows_of(own.model, own.X)
    if isinstance(plain.target, Classes):
        outputs = program.each(rows, "predict_proba", ctypes.c_float)
        predicted = plain.target.labels[program.one(rows, ctypes.c_int)]
        names = [str(label) for label in plain.target.labels.tolist()]
        assert program.class_names() == names
    elif isinstance(plain.target, Labels):
        outputs = program.each(rows, "predict_proba", ctypes.c_float)
        predicted = program.each(rows, "predict", ctypes.c_ubyte)
    else:
        double = "typedef double model_result" in done.header.read_text()
        kind = KINDS["double" if double else "float"]
        if plain.n_outputs == 1:
            predicted = program.one(rows, kind)
        else:
            predicted = program.each(rows, "predict", kind)
        outputs = predicted.reshape(len(rows), -1)
    return done, outputs, predicted


@pytest.mark.parametrize("name", CASES)
def test_c_predicts_what_the_estimator_does(name, tmp_path):
    own = case(name)
    _, outputs, predicted = in_c(own, tmp_path)
    scale = getattr(own.model, "target_scale_", 1.0)
    assert (abs(outputs - own.expected) / scale).max() < 1e-5
    if hasattr(own.model, "classes_"):
        np.testing.assert_array_equal(predicted, own.model.predict(own.X))


@pytest.mark.parametrize(
    ("name", "tables"), [*zip(CASES, cycle(["int8", "int16"]), strict=False)]
)
def test_integers_lose_what_is_said(name, tables, tmp_path):
    own = case(name)
    expected = own.model.predict(own.X)
    done, outputs, predicted = in_c(own, tmp_path, tables=tables, X=own.X, y=expected)
    scale = getattr(own.model, "target_scale_", 1.0)
    difference = (abs(outputs - own.expected) / scale).max()
    assert difference == pytest.approx(done.loss.difference, abs=1e-4)
    assert difference < {"int16": 2e-3, "int8": 0.15}[tables]
    if hasattr(own.model, "classes_"):
        changed = (predicted != expected).reshape(len(expected), -1).any(axis=1)
        assert abs(changed.sum() - done.loss.n_other) <= 1  # one may be a tie
        assert done.loss.after == pytest.approx(1 - changed.mean(), abs=0.01)
        assert done.loss.after > 0.95


def test_tables_take_the_bytes_that_are_said(tmp_path):
    own = case("several networks")
    sizes = {}
    for tables, n_bytes in (("float", 4), ("int16", 2), ("int8", 1)):
        done = to_c(own.model, tmp_path / f"in_{tables}.c", tables=tables)
        sizes[tables] = done.table_bytes
        assert f"{done.table_bytes}" in done.header.read_text()
        assert f"{done.table_bytes:,} bytes" in str(done)
        obj = tmp_path / "model.o"
        subprocess.run(["cc", "-c", str(done.source), "-o", str(obj)], check=True)
        rodata = subprocess.run(
            ["size", "-A", str(obj)], check=True, capture_output=True, text=True
        ).stdout
        found = sum(
            int(line.split()[1])
            for line in rodata.splitlines()
            if line.startswith(".rodata")
        )
        assert done.table_bytes <= found < 1.1 * done.table_bytes + 500
        assert done.n_connections * n_bytes < done.table_bytes
    assert sizes["int8"] < sizes["int16"] < sizes["float"]


def test_large_offsets_take_doubles_and_bytes_stay_bytes(tmp_path):
    kinds = {"large offset": "double", "bytes": "unsigned char", "digits": "float"}
    for name, kind in kinds.items():
        assert to_c(case(name).model, tmp_path / "model.c").feature == kind
    own = case("large offset")
    done, outputs, _ = in_c(own, tmp_path, features="float")
    assert done.feature == "float"
    assert abs(outputs - own.expected).max() > 1e-3  # what double is needed for
    with pytest.raises(ValueError, match="trained on bytes, and takes bytes"):
        to_c(case("bytes").model, tmp_path / "model.c", features="float")


def test_calls_may_overlap(tmp_path):
    """There is nothing to write to outside the stack."""
    done = to_c(case("several networks").model, tmp_path / "model.c")
    obj = tmp_path / "model.o"
    # Not position-independent: else pointers in constants are filled in when it starts.
    plain = ["-fno-pic", "-fno-pie"]
    subprocess.run(["cc", *plain, "-c", str(done.source), "-o", str(obj)], check=True)
    size = subprocess.run(
        ["size", str(obj)], check=True, capture_output=True, text=True
    )
    _, data, bss = map(int, size.stdout.splitlines()[1].split()[:3])
    assert (data, bss) == (0, 0)
    used = subprocess.run(["nm", "-u", str(obj)], check=True, capture_output=True)
    names = set(used.stdout.decode().split()) - {"U", "_GLOBAL_OFFSET_TABLE_"}
    assert names <= {"expf", "log1pf", "memset", "__stack_chk_fail"}


@pytest.mark.parametrize("tables", ["float", "int8"])
def test_it_runs_without_undefined_behaviour(tables, tmp_path):
    """With sanitizers, in a program of its own, at the edges of what rows may hold."""
    own = case("categories")
    done = to_c(own.model, tmp_path / "model.c", tables=tables)
    main = tmp_path / "main.c"
    main.write_text(
        '#include "model.h"\n#include <math.h>\n#include <stdio.h>\n'
        "int main(void) {\n"
        "    const model_feature edge[] = {NAN, INFINITY, -INFINITY, -1, 0.5f, 1e30f,\n"
        "                                  3e38f, 2};\n"
        "    int i, k, n = 0;\n"
        "    for (i = 0; i < 8; i++) {\n"
        "        model_feature row[MODEL_FEATURES];\n"
        "        for (k = 0; k < MODEL_FEATURES; k++) row[k] = edge[(i + k) % 8];\n"
        "        n += model_predict(row) >= 0;\n    }\n"
        '    printf("%d\\n", n);\n    return 0;\n}\n'
    )
    program = tmp_path / "program"
    flags = "-std=c99 -g -fsanitize=address,undefined -fno-sanitize-recover=all".split()
    subprocess.run(
        ["cc", *flags, str(main), str(done.source), "-o", str(program), "-lm"],
        check=True,
    )
    ran = subprocess.run([str(program)], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "8\n"), ran.stderr


@pytest.mark.parametrize("tables", ["float", "int8"])
def test_one_hidden_neuron_is_activated(tables, tmp_path):
    X, y = load_digits(n_class=2, return_X_y=True)
    model = SparseMLPClassifier(
        (1,), method="dense", max_iter=20, n_networks=1, random_state=0, n_jobs=1
    )
    own = Case(model.fit(X, y), X)
    _, outputs, _ = in_c(own, tmp_path, tables=tables)
    assert (outputs == outputs[0]).all(axis=1).any()  # where it is off
    assert np.ptp(outputs) > 0.1
    assert abs(outputs - own.expected).max() < (1e-5 if tables == "float" else 0.1)


HOSTILE = [
    '*/ int evil; /*"',
    "??/",
    'a\\"; int evil; //',
    "\n#error evil\n",
    "%s%n",
    "µ ☃ \U0001f600",
    "",
]


def test_names_cannot_break_out_of_texts_and_comments(tmp_path):
    import pandas as pd

    X, y = load_digits(n_class=7, return_X_y=True)
    X, y = X[:300], np.array(HOSTILE, dtype=object)[y[:300]]
    frame = pd.DataFrame(X[:, :8], columns=[*HOSTILE, HOSTILE[0].upper()])
    frame["worst"] = pd.Categorical(y)
    model = SparseMLPClassifier((20,), max_iter=5, n_networks=1, random_state=0)
    model.fit(frame, y)
    done = to_c(model, tmp_path / "model.c")
    program, rows = CModel(done, 7), rows_of(model, frame)
    assert sorted(program.class_names()) == sorted(HOSTILE)
    predicted = np.array(program.class_names(), dtype=object)
    predicted = predicted[program.one(rows, ctypes.c_int)]
    np.testing.assert_array_equal(predicted, model.predict(frame))
    text = done.header.read_text() + done.source.read_text()
    assert all(ord(letter) < 128 for letter in text)


@pytest.mark.parametrize("name", ["9lives", "a-b", "", "while", "é", "main", "x" * 41])
def test_names_that_c_does_not_take_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="cannot begin the names of a C file"):
        to_c(case("digits").model, tmp_path / "model.c", name=name)
    assert not list(tmp_path.iterdir())


def test_a_name_begins_all_names(tmp_path):
    own = case("digits")
    done = to_c(own.model, tmp_path / "digits-net.c", name="Net2")
    assert done.header == tmp_path / "digits-net.h"
    program = CModel(done, 10, "Net2")
    labels = program.one(rows_of(own.model, own.X), ctypes.c_int)
    np.testing.assert_array_equal(labels, own.model.predict(own.X))
    assert "#define NET2_FEATURES 64\n" in done.header.read_text()


def test_wrong_arguments_say_what_to_do(tmp_path):
    model = case("digits").model
    path = tmp_path / "model.c"
    with pytest.raises(ValueError, match="unknown tables 'int4'.*float, int16, int8"):
        to_c(model, path, tables="int4")
    with pytest.raises(ValueError, match="unknown features 'half'"):
        to_c(model, path, features="half")
    with pytest.raises(ValueError, match="ends in .c"):
        to_c(model, tmp_path / "model.h")
    with pytest.raises(ValueError, match="y is given without X"):
        to_c(model, path, y=[1])
    with pytest.raises(TypeError, match="model must be a fitted SparseMLPClassifier"):
        to_c(object(), path)


@pytest.mark.parametrize("name", ["missing values", "large offset", "categories"])
def test_clang_has_nothing_to_say(name, tmp_path):
    clang = needs_tool("clang", "apt-get install clang")
    for tables in ("float", "int8"):
        done = to_c(case(name).model, tmp_path / "model.c", tables=tables)
        compiled(done.source, cc=clang)


def test_the_header_can_be_read_from_cpp(tmp_path):
    done = to_c(case("categories").model, tmp_path / "model.c")
    main = tmp_path / "main.cpp"
    main.write_text(
        f'#include "{done.header.name}"\n'
        "int call(const model_feature *row) { return model_predict(row); }\n"
    )
    cpp = needs_tool("c++", "apt-get install g++", "g++")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run([cpp, *flags, str(main)], check=True)


def test_names_of_constants_differ(tmp_path):
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "level": rng.choice(["a", "b"], 90),
            "level_a": rng.choice(["b", "A", "a"], 90),
            "feature": rng.choice(["level", "x-y"], 90),
            "x y": rng.normal(size=90),
            "x_y": rng.normal(size=90),
            "s": rng.normal(size=90),
        }
    )
    model = SparseMLPClassifier((9,), max_iter=1, n_networks=1, random_state=0)
    model.fit(frame, (frame["level"] == "a").astype(int))
    done = to_c(model, tmp_path / "model.c")
    compiled(done.source)
    text = done.header.read_text()
    assert "MODEL_FEATURE_X_Y = 3," in text and "MODEL_FEATURE_X_Y_2 = 4," in text
    assert (
        "MODEL_LEVEL_LEVEL_A_A = 0," in text and "MODEL_LEVEL_LEVEL_A_A_2 = 1" in text
    )


@pytest.mark.parametrize(
    ("file", "name"), [("my-net.v2.c", "my_net_v2"), ("2026.c", "model_2026")]
)
def test_a_file_whose_name_is_not_one_of_c(file, name, tmp_path):
    own = case("digits")
    program = CModel(to_c(own.model, tmp_path / file), 10, name)
    labels = program.one(rows_of(own.model, own.X), ctypes.c_int)
    np.testing.assert_array_equal(labels, own.model.predict(own.X))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("digits", "NAN is a missing value"),
        ("not standardised", "a finite number: the model was trained with"),
        ("bytes", "a byte, since the model was trained on bytes"),
    ],
)
def test_the_header_says_what_a_feature_may_be(name, words, tmp_path):
    done = to_c(case(name).model, tmp_path / "model.c")
    assert words in " ".join(done.header.read_text().replace(" * ", "").split())
