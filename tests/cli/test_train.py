"""train, predict, evaluate, info, data: what a user does on the command line."""

import csv
import io
import json
import os

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.preprocessing import StandardScaler

import cofire
from cofire import profiles
from cofire.cli.evaluate import of_classes
from cofire.cli.scores import not_beaten, verdict
from cofire.data import CATALOG, catalog
from cofire.data.preprocessing.preprocess import Preprocessing
from cofire.data.tables import Table
from cofire.persistence import model_file as container
from cofire.saving import load_with_document, save
from helpers.commands import done, run

SMALL = ("--hidden", 20, "--hidden", 20, "--epochs", 15, "--n-jobs", 1)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("cofire: ") and "Traceback" not in result.stderr
    return result.stderr


def fruit(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "length": rng.normal(5, 2, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "weight": rng.normal(50, 9, n),
        }
    )
    score = frame.length + 3 * (frame.colour == "red")
    frame["kind"] = np.select([score > 7, score > 5], ["large", "middle"], "small")
    frame.loc[rng.choice(n, 9, False), "weight"] = np.nan
    frame.loc[rng.choice(n, 5, False), "colour"] = None
    return frame


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COFIRE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fruit().to_csv("fruit.csv", index=False)
    fruit(50, seed=1).to_csv("new.csv", index=False)
    return tmp_path


def predictions(*arguments):
    return list(csv.DictReader(io.StringIO(done("predict", *arguments).stdout)))


def test_the_round_trip_of_a_csv_file():
    """Text labels, a column of words, gaps: the file's model is the one in memory."""
    done("train", "fruit.csv", "--missing", "mean", "--test-fraction", 0, *SMALL)
    frame, new = fruit(), fruit(50, seed=1)
    table = Table(frame.drop(columns="kind"), frame.kind.to_numpy(), "kind")
    steps = Preprocessing.fit(table, missing="mean")
    model = cofire.SparseMLPClassifier((20, 20), max_iter=15, random_state=0)
    model.fit(steps.transform(table.X)[0], frame.kind.to_numpy().astype(str))
    X = steps.transform(new)[0]

    rows = predictions("fruit.cofire", "new.csv", "--proba")
    assert [row["prediction"] for row in rows] == model.predict(X).tolist()
    for i, label in enumerate(model.classes_):
        found = [float(row[f"probability_{label}"]) for row in rows]
        assert found == [float(f"{p:.6g}") for p in model.predict_proba(X)[:, i]]
    figures = json.loads(done("evaluate", "fruit.cofire", "new.csv", "--json").stdout)
    assert figures["accuracy"] == model.score(X, new.kind.to_numpy().astype(str))
    assert figures["rows"] == 50 and len(figures["confusion"]) == 3


def test_train_says_how_good_it_is_and_what_it_costs(own_folder):
    result = done("train", "fruit.csv", "--missing", "median", *SMALL)
    for text in (
        "target 'kind': classification, 3 classes",
        "160 rows to train on, 40 to test",
        "2 columns of numbers, 1 of words",
        "accuracy                 training      test\nThis model ",
        "Logistic regression ",
        "Always 'small' ",
        "dense twin",
        "saved: fruit.cofire",
    ):
        assert text in result.stdout
    assert "\x1b" not in result.stdout
    shown = done("info", "fruit.cofire").stdout
    assert "missing values filled with the median" in shown and "kind" in shown
    facts = json.loads(done("info", "fruit.cofire", "--json").stdout)
    assert facts["target"] == "kind" and "1 of words" in facts["preprocessing"]


def test_train_in_json_and_again_with_the_same_bits():
    arguments = ("train", "fruit.csv", "--missing", "mean", *SMALL, "--json")
    first = json.loads(done(*arguments, "--out", "deep/a.cofire").stdout)
    second = json.loads(done(*arguments, "--out", "b.cofire").stdout)
    assert first["model"] == os.path.join("deep", "a.cofire")
    assert first["test_score"] == second["test_score"]
    assert first["test_rows"] == 40 and first["task"] == "classification"
    assert first["receipt"]["epochs"] == 15
    (a, weights), (_, again) = (container.read(r["model"]) for r in (first, second))
    assert all(np.array_equal(weights[name], again[name]) for name in weights)
    assert a["preprocessing"]["columns"][1]["categories"] == ["blue", "green", "red"]


def test_train_goes_on_from_its_checkpoints(own_folder):
    arguments = ("train", "fruit.csv", "--missing", "mean", *SMALL, "--json")
    plain = json.loads(done(*arguments).stdout)
    kept = json.loads(done(*arguments, "--checkpoint", "kept").stdout)
    files = list((own_folder / "kept").rglob("*.cofire"))
    newest = [file for file in files if file.name == "epoch-00000015.cofire"]
    assert len(newest) == 4 and len(files) == 8  # two of each network
    for file in newest:
        file.unlink()
    again = json.loads(done(*arguments, "--checkpoint", "kept").stdout)
    assert plain["test_score"] == kept["test_score"] == again["test_score"]
    assert all(file.exists() for file in newest)
    assert cofire.load("fruit.cofire").resumed_after_ == 10


@pytest.mark.parametrize("epochs", [0, 15])
def test_breaking_off_says_how_to_go_on(epochs, monkeypatch):
    whole = cofire.SparseMLPClassifier.fit

    def interrupted(estimator, X, y):
        if epochs:
            whole(estimator, X, y)
        raise KeyboardInterrupt

    monkeypatch.setattr(cofire.SparseMLPClassifier, "fit", interrupted)
    arguments = ("train", "fruit.csv", "--missing", "mean", *SMALL)
    result = run(*arguments, "--checkpoint", "kept")
    assert result.exit_code == 130
    says = "cofire: the same command resumes from its checkpoint in kept\n"
    assert result.stderr == (says if epochs else "")
    assert "with --checkpoint FOLDER the same command" in run(*arguments).stderr


def test_it_learns():
    arguments = ("--missing", "mean", *SMALL, "--epochs", 150, "--learning-rate", 0.05)
    found = json.loads(done("train", "fruit.csv", *arguments, "--json").stdout)
    assert found["test_score"] > 0.75


def test_the_rows_to_test_with_may_be_a_file():
    arguments = ("--missing", "mean", *SMALL, "--json")
    found = json.loads(
        done("train", "fruit.csv", "--test", "new.csv", *arguments).stdout
    )
    assert (found["train_rows"], found["test_rows"]) == (200, 50)
    scored = json.loads(done("evaluate", "fruit.cofire", "new.csv", "--json").stdout)
    assert scored["accuracy"] == found["test_score"]
    both = ("--test", "new.csv", "--test-fraction", 0.1)
    assert "leave one" in refused("train", "fruit.csv", *both)


def test_a_regressor():
    arguments = ("train", "fruit.csv", "--target", "length", "--missing", "mean")
    result = done(*arguments, *SMALL)
    assert "target 'length': regression" in result.stdout
    assert "R^2                   training      test" in result.stdout
    assert "Ridge regression" in result.stdout and "Always the mean" in result.stdout
    figures = json.loads(done("evaluate", "fruit.cofire", "new.csv", "--json").stdout)
    assert figures.keys() == {"rows", "r2", "rmse"}
    assert "RMSE" in done("evaluate", "fruit.cofire", "new.csv").stdout
    rows = predictions("fruit.cofire", "new.csv")
    assert len(rows) == 50 and isinstance(float(rows[0]["prediction"]), float)
    assert "--proba" in refused("predict", "fruit.cofire", "new.csv", "--proba")


# ---- is it any good, and by which settings -------------------------------------------


def trained(*arguments):
    return json.loads(done("train", *arguments, "--json").stdout)


def test_the_scores_are_those_of_the_same_rows():
    found = trained("fruit.csv", "--test", "new.csv", "--missing", "mean", *SMALL)
    frame, new = fruit(), fruit(50, seed=1)
    table = Table(frame.drop(columns="kind"), frame.kind.to_numpy(), "kind")
    steps = Preprocessing.fit(table, missing="mean")
    X, X_test = steps.transform(table.X)[0], steps.transform(new)[0]
    model = cofire.load("fruit.cofire")
    assert found["training_score"] == model.score(X, frame.kind)
    assert found["test_score"] == model.score(X_test, new.kind)
    guess, linear = found["baselines"]
    commonest = frame.kind.mode()[0]
    assert guess["title"] == f"Always '{commonest}'"
    assert guess["training_score"] == pytest.approx((frame.kind == commonest).mean())
    assert guess["test_score"] == pytest.approx((new.kind == commonest).mean())
    scaler = StandardScaler().fit(X)
    theirs = LogisticRegression(max_iter=1000).fit(scaler.transform(X), frame.kind)
    assert linear["name"] == "logistic_regression"
    assert linear["test_score"] == pytest.approx(
        theirs.score(scaler.transform(X_test), new.kind), abs=0.021
    )
    own = found["test_score"]
    assert found["not_beaten"] == [
        one["name"] for one in (guess, linear) if one["test_score"] >= own
    ]


def test_a_model_that_is_no_better_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    straight = (X.sum(axis=1) > 0).astype(int)  # a line tells them apart
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=straight)
    frame.to_csv("a.csv", index=False)
    short = ("--hidden", 5, "--epochs", 2, "--target", "y", "--drop", "d")
    text = done("train", "a.csv", *short, "--networks", 1).stdout
    assert "On the 24 test rows this model is no better than" in text


def figures(own, guess, linear, n_test=30):
    def both(score):
        return {
            "training_score": score,
            "test_score": score if n_test else None,
        }

    return {
        **both(own),
        "score": "accuracy",
        "test_rows": n_test,
        "baselines": [
            {"name": "guess", "title": "Always 'B'", **both(guess)},
            {"name": "ridge", "title": "Ridge regression", **both(linear)},
        ],
    }


@pytest.mark.parametrize(
    ("scores", "names", "words"),
    [
        ((0.9, 0.5, 0.8), [], ""),
        ((0.8, 0.5, 0.8), ["ridge"], "no better than ridge regression.\nHow sure"),
        ((0.5, 0.5, 0.4), ["guess"], "no better than a guess (always 'B')"),
        ((0.4, 0.5, 0.6), ["guess", "ridge"], "On the 30 test rows this model is no"),
        ((0.8, 0.5, 0.9, 0), [], ""),  # how well a line fits its own rows
        ((0.5, 0.5, 0.9, 0), ["guess"], "On the rows it was trained on this model"),
        ((float("nan"), 0.5, 0.4), ["guess", "ridge"], "no better than a guess"),
    ],
)
def test_what_a_model_does_not_beat(scores, names, words):
    found = figures(*scores)
    assert not_beaten(found) == names
    said = verdict(found | {"not_beaten": names}, "cofire compare a.csv")
    assert words in said and bool(said) == bool(names)
    assert said.endswith("cofire compare a.csv" if names else "")


def test_the_next_command_reads_the_file_as_this_one_did():
    frame = fruit().dropna()
    frame.to_csv("my fruit.csv", index=False, sep=";")
    more = ("--target", "kind", "--drop", "weight", "--separator", ";")
    weak = ("--hidden", 4, "--epochs", 1, "--networks", 1)
    text = done("train", "my fruit.csv", *more, *weak, "--out", "m.cofire").stdout
    assert (
        "cofire compare 'my fruit.csv' --target kind --drop weight --separator ';'"
    ) in text


def test_baselines_can_be_left_out():
    found = trained("fruit.csv", "--missing", "mean", *SMALL, "--no-baselines")
    assert found["baselines"] == [] == found["not_beaten"]
    more = ("--missing", "mean", *SMALL, "--no-baselines", "--test-fraction", 0)
    text = done("train", "fruit.csv", *more).stdout
    assert "This model" in text and "regression" not in text
    assert "no rows were held out to test with" in text


def test_without_options_it_is_the_default_estimator():
    trained("fruit.csv", "--missing", "mean", "--test-fraction", 0, "--n-jobs", 1)
    model = cofire.load("fruit.cofire")
    default = cofire.SparseMLPClassifier(random_state=0, n_jobs=1)
    assert model.get_params() == default.get_params()
    trained("fruit.csv", "--missing", "mean", "--networks", 2, "--epochs", 3)
    model = cofire.load("fruit.cofire")
    assert len(model.networks_) == 2 and model.n_iter_ == 3
    assert "networks                2" in done("info", "fruit.cofire").stdout


@pytest.mark.parametrize(
    ("profile", "settings"),
    [
        ("masked", {"method": "ctre_sim", **profiles.MASKED}),
        ("sparse", {"method": "ctre_sim", **profiles.SPARSE}),
        ("house", {"method": "cofire", **profiles.HOUSE}),
        ("defaults_0_1", profiles.DEFAULTS_0_1),
    ],
)
def test_a_profile_is_what_to_begin_with(profile, settings):
    short = ("--missing", "mean", "--epochs", 2, "--hidden", 30, "--batch-size", 40)
    trained("fruit.csv", "--profile", profile, *short)
    model = cofire.load("fruit.cofire")
    own = {"hidden_layer_sizes": (30,), "max_iter": 2, "batch_size": 40, "epsilon": 5.0}
    found = model.get_params()
    assert {k: found[k] for k in settings | own} == settings | own


def test_a_profile_for_numbers():
    short = ("--missing", "mean", "--epochs", 2, "--hidden", 30, "--target", "length")
    trained("fruit.csv", "--profile", "house", *short)
    assert cofire.load("fruit.cofire").init == "small_normal"
    trained("fruit.csv", "--profile", "defaults_0_1", *short)
    model = cofire.load("fruit.cofire")
    assert (model.solver, model.learning_rate_init) == ("adam", 0.001)


def test_evaluate_says_why_a_model_of_quantities_cannot_be_measured():
    fruit()[["length", "weight"]].dropna().to_csv("a.csv", index=False)
    done("train", "a.csv", "--test-fraction", 0, *SMALL)
    one = fruit()[["length", "weight"]].dropna().head(1)
    one.to_csv("one.csv", index=False)
    assert "two rows or more" in refused("evaluate", "a.cofire", "one.csv")
    one.assign(weight="heavy").to_csv("words.csv", index=False)
    said = refused("evaluate", "a.cofire", "words.csv")
    assert "the model predicts numbers; the labels are 'heavy'" in said


def test_evaluate_shows_every_class():
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    text = done("evaluate", "fruit.cofire", "new.csv").stdout
    assert text.startswith("accuracy 0.") and "predicted" in text
    for name in ("large", "middle", "small"):
        assert text.count(name) == 3  # a row of figures, a row and a column of counts


def test_evaluate_counts_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    classes = np.array(["a", "b", "c", "never"])
    y, predicted = rng.choice(classes[:3], 60), rng.choice(classes[1:3], 60)
    figures = of_classes(y, predicted, classes)
    theirs = precision_recall_fscore_support(
        y, predicted, labels=classes, zero_division=0
    )
    ours = [list(of.values()) for of in figures["classes"].values()]
    np.testing.assert_allclose(np.array(ours).T, theirs)
    assert [type(of["rows"]) for of in figures["classes"].values()] == [int] * 4
    matrix = confusion_matrix(y, predicted, labels=classes)
    assert figures["confusion"] == matrix.tolist()
    assert figures["accuracy"] == (y == predicted).mean()


def test_evaluate_shows_the_classes_that_a_file_does_not_have():
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    frame = fruit(50, seed=1)
    frame[frame.kind == "small"].to_csv("x.csv", index=False)
    result = done("evaluate", "fruit.cofire", "x.csv", "--json")
    figures = json.loads(result.stdout)
    assert list(figures["classes"]) == ["large", "middle", "small"]
    assert figures["classes"]["large"]["rows"] == 0 and len(figures["confusion"]) == 3
    assert result.stderr == ""


def test_evaluate_says_which_labels_the_model_does_not_know():
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    frame = fruit(50, seed=1)
    frame.assign(kind=range(50)).to_csv("x.csv", index=False)
    said = refused("evaluate", "fruit.cofire", "x.csv")
    assert "x.csv: the model knows none of the labels '0', '1'" in said
    assert "its classes are 'large', 'middle', 'small'" in said
    frame.loc[:2, "kind"] = "huge"
    frame.to_csv("x.csv", index=False)
    result = done("evaluate", "fruit.cofire", "x.csv", "--json")
    assert "3 of 50 rows have a label that the model does not know ('huge')" in (
        result.stderr
    )
    of_huge = json.loads(result.stdout)["classes"]["huge"]
    assert of_huge == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "rows": 3}
    assert type(of_huge["rows"]) is int


def test_evaluate_of_a_model_whose_classes_are_numbers():
    frame = fruit().dropna().assign(kind=lambda f: (f.length > 5).astype(int))
    frame.to_csv("a.csv", index=False)
    done("train", "a.csv", *SMALL)
    frame.assign(kind="yes").to_csv("x.csv", index=False)
    assert "its classes are 0, 1" in refused("evaluate", "a.cofire", "x.csv")
    frame.assign(kind=[0.5, *frame.kind[1:]]).to_csv("x.csv", index=False)
    result = done("evaluate", "a.cofire", "x.csv", "--json")
    assert list(json.loads(result.stdout)["classes"]) == ["0", "0.5", "1"]
    assert "does not know (0.5)" in result.stderr


def test_a_file_to_predict_for_need_not_have_the_target():
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    expected = predictions("fruit.cofire", "new.csv")
    pd.read_csv("new.csv")[["weight", "colour", "length"]].to_csv("x.csv", index=False)
    assert predictions("fruit.cofire", "x.csv") == expected
    assert "'kind'" in refused("evaluate", "fruit.cofire", "x.csv")
    pd.read_csv("new.csv").drop(columns="weight").to_csv("x.csv", index=False)
    assert "'weight'" in refused("predict", "fruit.cofire", "x.csv")


def unnamed(name, columns):
    frame = fruit().dropna()
    numbers = frame.assign(noise=range(len(frame)))
    numbers[columns.split()].to_csv(name, index=False, header=False)


def test_columns_without_names_may_come_without_the_target():
    """The target is the first column: the others keep their numbers without it."""
    more = (*SMALL, "--epochs", 60, "--learning-rate", 0.1, "--no-header")
    unnamed("a.csv", "kind length weight noise")
    unnamed("x.csv", "length weight noise")
    done("train", "a.csv", "--target", 0, "--drop", 3, *more)
    expected = predictions("a.cofire", "a.csv", "--no-header")
    assert len({row["prediction"] for row in expected}) > 1
    for target in ((), ("--target", 0), ("--target", -4)):
        result = done("predict", "a.cofire", "x.csv", "--no-header", *target)
        assert list(csv.DictReader(io.StringIO(result.stdout))) == expected
    assert "assumed to be the target (column 0)" in result.stderr
    said = refused("evaluate", "a.cofire", "x.csv", "--no-header")
    assert "x.csv has 3 columns" in said and "expected 4" in said
    assert "'2'" in refused("predict", "a.cofire", "x.csv", "--no-header", "--target=2")

    unnamed("b.csv", "kind length weight")
    unnamed("x.csv", "length weight")
    done("train", "b.csv", "--target", 0, *more)
    expected = predictions("b.cofire", "b.csv", "--no-header")
    result = done("predict", "b.cofire", "x.csv", "--no-header")
    assert list(csv.DictReader(io.StringIO(result.stdout))) == expected
    assert result.stderr == ""


def test_columns_without_names_that_are_too_many_or_too_few_are_refused():
    unnamed("a.csv", "length kind weight")
    done("train", "a.csv", "--target", 1, *SMALL, "--no-header")
    for columns in ("length", "length weight kind noise"):
        unnamed("x.csv", columns)
        said = refused("predict", "a.cofire", "x.csv", "--no-header")
        assert f"x.csv has {len(columns.split())} columns" in said
        assert "expected 3" in said and "its target is column 1" in said
        assert "or 2 without the target" in said
        test = ("--target", 1, "--test", "x.csv", "--no-header")
        assert "x.csv has" in refused("train", "a.csv", *test)


def test_a_target_whose_name_is_a_number_is_no_number_of_a_column():
    frame = fruit().dropna().rename(columns={"kind": "1"})
    frame.to_csv("a.csv", index=False)
    done("train", "a.csv", *SMALL, "--test-fraction", 0)
    frame.drop(columns="1").to_csv("x.csv", index=False)
    assert predictions("a.cofire", "x.csv") == predictions("a.cofire", "a.csv")


def test_columns_that_were_dropped_are_known():
    more = ("--missing", "mean", "--drop", "weight", *SMALL)
    assert done("train", "fruit.csv", "--test", "new.csv", *more).stderr == ""
    assert done("predict", "fruit.cofire", "new.csv").stderr == ""
    assert done("evaluate", "fruit.cofire", "new.csv").stderr == ""


def test_models_of_before_columns_were_counted_are_read():
    done("train", "fruit.csv", "--missing", "mean", "--drop", "weight", *SMALL)
    expected = predictions("fruit.cofire", "new.csv")
    document, tensors = container.read("fruit.cofire")
    for name in ("format", "tensors"):
        document.pop(name)
    for name in ("n_columns", "samples", "dropped"):
        document["preprocessing"].pop(name)
    container.write("old.cofire", document, tensors)
    result = done("predict", "old.cofire", "new.csv")
    assert list(csv.DictReader(io.StringIO(result.stdout))) == expected
    assert "does not know: 'weight'" in result.stderr


@pytest.mark.parametrize("target", [0, 2])
def test_a_model_that_did_not_count_its_columns_says_so(target):
    columns = ["length", "weight"]
    columns.insert(target, "kind")
    unnamed("a.csv", " ".join(columns))
    done("train", "a.csv", "--target", target, *SMALL, "--no-header")
    model, document = load_with_document("a.cofire")
    document["preprocessing"].pop("n_columns")
    save(model, "old.cofire", preprocessing=document["preprocessing"])
    said = done("predict", "old.cofire", "a.csv", "--no-header").stderr
    assert ("must have the target, as column 0" in said) == (target == 0)
    said = done("evaluate", "old.cofire", "a.csv", "--no-header").stderr
    assert "must have the target" not in said
    assert done("predict", "a.cofire", "a.csv", "--no-header").stderr == ""


def test_a_first_line_that_looks_like_data_is_noted():
    frame = fruit().dropna()[["length", "weight", "kind"]]
    frame.to_csv("a.csv", index=False, header=False)
    result = done("train", "a.csv", *SMALL)
    assert "note: the first line looks like data ('" in result.stderr
    assert "pass --no-header if it is.\n" in result.stderr
    frame[5:].to_csv("x.csv", index=False, header=False)
    said = refused("predict", "a.cofire", "x.csv")
    assert "x.csv: columns that the model needs are missing" in said
    assert "pass --no-header" in said
    said = refused("predict", "a.cofire", "x.csv", "--no-header")
    assert "the model was trained without --no-header" in said

    done("train", "a.csv", "--no-header", *SMALL)
    assert "was trained with --no-header" in refused("predict", "a.cofire", "x.csv")
    assert done("predict", "a.cofire", "x.csv", "--no-header").stderr == ""


def test_names_that_stand_twice_may_be_data():
    (pd.DataFrame({"a": [1.5] * 9, "b": 1.5, "y": "a"})).to_csv(
        "a.csv", index=False, header=False
    )
    said = refused("train", "a.csv")
    assert "two columns have the name '1.5'" in said and "--no-header" in said


def test_decimal_commas():
    frame = fruit().dropna().head(80)
    frame.round(1).to_csv("a.csv", index=False, sep=";", decimal=",")
    frame.round(1).to_csv("b.csv", index=False)
    semi = ("--separator", ";")
    result = done("train", "a.csv", *semi, *SMALL)
    assert "--decimal , reads them as numbers (in 'length', 'weight')" in result.stderr
    # With fewer epochs it would not learn, and say so.
    enough = (*SMALL, "--epochs", 100)
    result = done("train", "a.csv", *semi, "--decimal", ",", *enough)
    assert "2 columns of numbers, 1 of words" in result.stdout and not result.stderr
    expected = predictions("a.cofire", "b.csv")
    assert predictions("a.cofire", "a.csv", *semi, "--decimal", ",") == expected
    scores = [
        done("evaluate", "a.cofire", "a.csv", *semi, "--decimal", ",").stdout,
        done("evaluate", "a.cofire", "b.csv").stdout,
    ]
    assert scores[0] == scores[1]
    assert "--decimal ," in refused("predict", "a.cofire", "a.csv", *semi)
    # What follows from the commas is an error that says so too.
    fruit().dropna().to_csv("a.csv", index=False, sep=";", decimal=",")
    said = refused("train", "a.csv", *semi)
    assert "different words" in said and "--decimal ," in said


def test_values_that_hide_the_others_are_noted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    frame["kind"] = np.where(frame.a > 0, "high", "low")
    frame.to_csv("plain.csv", index=False)
    assert "far from" not in done("train", "plain.csv", *SMALL).stderr
    frame.loc[3, "a"] = 1e30
    frame.to_csv("far.csv", index=False)
    said = done("train", "far.csv", "--test-fraction", 0, *SMALL).stderr
    assert "note: column 'a': 1e+30 is so far from the other values that most" in said
    assert "pass --scale none: the default network scales features itself" in said
    again = done("train", "far.csv", "--scale", "none", "--json")
    assert "far from" not in again.stderr
    assert json.loads(again.stdout)["test_score"] > 0.9
    np.savez("far.npz", X=frame[["a", "b"]], y=frame["kind"].to_numpy(str))
    said = done("train", "far.npz", "--test-fraction", 0, *SMALL).stderr
    assert "note: feature 0: 1e+30 is so far from the other values" in said


def test_values_beyond_float32_are_refused():
    frame = fruit().assign(weight=1.0)
    frame.loc[[2, 5], "length"] = 1e300
    frame["colour"] = "red"
    frame.to_csv("large.csv", index=False)
    said = refused("train", "large.csv", *SMALL)
    assert "column 'length' has values beyond 3.4e+38, in row 3, 6." in said
    np.savez("large.npz", X=frame[["length", "weight"]], y=np.arange(200) % 2)
    assert "X has values beyond 3.4e+38: correct" in refused("train", "large.npz")


def test_a_class_that_only_test_rows_have_is_noted():
    frame = fruit().dropna()
    frame.to_csv("rows.csv", index=False)
    frame.assign(kind=frame["kind"].replace("large", "huge")).to_csv("more.csv")
    how = ("--target", "kind", *SMALL)
    said = done("train", "rows.csv", "--test", "more.csv", *how).stderr
    assert "test rows are of a class that no training row has ('huge')" in said
    assert "no training row has" not in done("train", "rows.csv", *how).stderr


def test_columns_that_count_the_rows_are_noted():
    frame = fruit().dropna()
    frame.insert(0, "id", range(1, len(frame) + 1))
    frame.to_csv("a.csv", index=False)
    result = done("train", "a.csv", *SMALL)
    assert "note: column 'id' counts the rows; --drop id leaves it out." in (
        result.stderr
    )
    assert done("train", "a.csv", *SMALL, "--drop", "id").stderr == ""
    frame.drop(columns="id").to_csv("a.csv")  # rows were left out: it has gaps
    said = done("train", "a.csv", *SMALL).stderr
    assert "'Unnamed: 0' has no name in the file; --drop 'Unnamed: 0' leaves" in said
    frame.sample(frac=1, random_state=0).to_csv("a.csv", index=False)
    assert done("train", "a.csv", *SMALL).stderr == ""


def test_a_model_of_arrays_says_what_it_wants_of_a_table():
    frame = fruit().dropna()
    numbers = frame[["length", "weight"]]
    np.savez("a.npz", X=numbers, y=frame.kind.to_numpy().astype(str))
    done("train", "a.npz", *SMALL)
    table = numbers.assign(kind=frame.kind)
    table.to_csv("x.csv", index=False)
    said = refused("predict", "a.cofire", "x.csv")
    assert "x.csv: column 'kind' holds words, such as '" in said
    assert "expects 2 columns of numbers" in said and "Pass --target kind" in said
    expected = predictions("a.cofire", "a.npz")
    assert predictions("a.cofire", "x.csv", "--target", "kind") == expected
    table.assign(kind=1).to_csv("x.csv", index=False)
    said = refused("predict", "a.cofire", "x.csv")
    assert "x.csv: the model expects 2 columns" in said and "there are 3" in said


def test_what_is_new_in_a_file_is_said():
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    frame = pd.read_csv("new.csv").assign(price=3)
    frame.loc[0, "colour"] = "mauve"
    frame.to_csv("x.csv", index=False)
    result = done("predict", "fruit.cofire", "x.csv")
    assert "'mauve'" in result.stderr and "'price'" in result.stderr
    assert len(result.stdout.splitlines()) == 51


def test_words_that_look_like_numbers_stay_words():
    frame = pd.DataFrame({"code": ["1", "2", "x"] * 20, "size": range(60)})
    frame.assign(y=["1", "2", "b"] * 20).to_csv("a.csv", index=False)
    done("train", "a.csv", *SMALL, "--test-fraction", 0)
    pd.DataFrame({"code": [1, 2], "size": [1, 2], "y": [1, 2]}).to_csv("b.csv")
    assert "mauve" not in done("predict", "a.cofire", "b.csv").stderr
    result = done("evaluate", "a.cofire", "b.csv", "--json")
    assert json.loads(result.stdout)["classes"].keys() >= {"1", "2"}
    assert "did not see" not in result.stderr


def test_other_options_of_the_estimator(own_folder):
    arguments = ("--method", "set", "--option", "shuffle=false", "--epsilon", 2)
    more = ("--early-stopping", "--drop", "weight", "--missing", "most_frequent")
    more += ("--option", "momentum=0.5", "--option", "init=glorot")
    more += ("--drop-schedule", "cosine", "--label-smoothing", 0.1)
    more += ("--input-dropout", 0.2)
    done("train", "fruit.csv", *SMALL, *arguments, *more)
    model, _ = load_with_document(own_folder / "fruit.cofire")
    assert (model.momentum, model.shuffle, model.method) == (0.5, False, "set")
    assert model.init == "glorot"
    assert (model.drop_schedule, model.label_smoothing) == ("cosine", 0.1)
    assert model.input_dropout == 0.2
    assert model.early_stopping and model.epsilon == 2 and model.n_features_in_ == 4
    assert model.verbose == 0 and model.random_state == 0


def test_libsvm_and_npz_files():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.5)
    y = (X[:, 0] > 0).astype(int)
    dump_svmlight_file(X, y, "a.libsvm", zero_based=False)
    dump_svmlight_file(X[:5, :3], y[:5], "b.libsvm", zero_based=False)
    done("train", "a.libsvm", *SMALL)
    assert len(predictions("a.cofire", "b.libsvm")) == 5
    np.savez("c.npz", X=X, y=y)
    done("train", "c.npz", *SMALL, "--scale", "minmax")
    assert "accuracy" in done("evaluate", "c.cofire", "c.npz").stdout


def test_arrays_that_are_not_called_X_and_y():
    X = np.random.default_rng(0).normal(size=(60, 5))
    np.savez("a.npz", data=X, target=(X[:, 0] > 0).astype(int))
    named = ("--samples", "data", "--target", "target")
    assert "--samples NAME" in refused("train", "a.npz")
    result = done("train", "a.npz", *named, "--test", "a.npz", *SMALL, "--json")
    score = json.loads(result.stdout)["test_score"]
    for more in (named, ()):  # the model knows their names
        result = done("evaluate", "a.cofire", "a.npz", *more, "--json")
        assert json.loads(result.stdout)["accuracy"] == score
        assert len(predictions("a.cofire", "a.npz", *more)) == 60
    np.savez("b.npz", X=X)
    assert "it has X. Name the right one with --samples NAME" in refused(
        "predict", "a.cofire", "b.npz"
    )
    assert len(predictions("a.cofire", "b.npz", "--samples", "X")) == 60


def test_a_named_data_set_gets_the_papers_preprocessing():
    result = done("train", "madelon", *SMALL, "--json")
    found = json.loads(result.stdout)
    assert (found["train_rows"], found["test_rows"]) == (2000, 600)
    assert "paper" in found["preprocessing"] and found["model"] == "madelon.cofire"
    scored = json.loads(done("evaluate", "madelon.cofire", "madelon", "--json").stdout)
    assert scored["accuracy"] == found["test_score"]
    assert len(predictions("madelon.cofire", "madelon")) == 600
    raw = catalog.load("madelon")
    np.savez("raw.npz", X=raw.X_test, y=raw.y_test)
    scored = json.loads(done("evaluate", "madelon.cofire", "raw.npz", "--json").stdout)
    assert scored["accuracy"] == found["test_score"]


def test_models_that_were_saved_in_python():
    frame = fruit().dropna()[["length", "weight", "kind"]]
    X, y = frame[["length", "weight"]], frame.kind.to_numpy().astype(str)
    model = cofire.SparseMLPClassifier((9,), epsilon=1, max_iter=2, random_state=0)
    model.fit(X, y).save("names.cofire")
    model.fit(X.to_numpy(), y).save("none.cofire")
    frame.to_csv("a.csv", index=False)
    for name in ("names.cofire", "none.cofire"):
        rows = predictions(name, "a.csv", "--target", "kind")
        assert [row["prediction"] for row in rows] == model.predict(
            X.to_numpy()
        ).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.csv",), "nothing.csv: there is no such file"),
        (("madelom",), "Did you mean 'madelon'?"),
        (
            ("fruit.csv", "--profile", "masked"),
            "missing in 'colour' (5 rows), 'weight' (9 rows). Fill",
        ),
        (
            ("fruit.csv", "--missing", "keep", "--option", "standardize=false"),
            "--missing keep: a model with standardize=False takes no missing values",
        ),
        (("fruit.csv", "--decimal", "1"), "--decimal must be one punctuation"),
        (("empty.csv",), "empty.csv is empty: expected a table"),
        (("one.csv",), "one.csv: --test-fraction 0.2 leaves none of 1 rows to train"),
        (
            ("one.csv", "--test-fraction", "0.9"),
            "pass --test (a file of test rows), or pass --test-fraction 0",
        ),
        (("fruit.csv", "--missing", "zero"), "unknown missing 'zero'"),
        (("fruit.csv", "--target", "kinds"), "Did you mean 'kind'?"),
        (("fruit.csv", "--task", "guess"), "unknown task 'guess'"),
        (("fruit.csv", "--task", "regression"), "is text, such as"),
        (("fruit.csv", "--drop", "wait"), "unknown column (--drop) 'wait'"),
        (("fruit.csv", "--test-fraction", "1.5"), "--test-fraction must be"),
        (("fruit.csv", "--missing", "mean", "--option", "a"), "expected name=value"),
        (("fruit.csv", "--missing", "mean", "--option", "moment=1"), "'momentum'"),
        (("fruit.csv", "--missing", "mean", "--option", "profile=x"), "--profile x"),
        (("fruit.csv", "--missing", "mean", "--method", "sett"), "'set'"),
        (("fruit.csv", "--missing", "mean", "--profile", "hause"), "'house'"),
        (("fruit.csv", "--missing", "mean", "--networks", "0"), "n_networks"),
        (("fruit.csv", "--missing", "mean", "--epsilon", "-1"), "epsilon"),
        (("fruit.csv", "--epsilon", "3", "--density", "0.1"), "leave one of them out"),
        (("madelon", "--scale", "minmax"), "--scale is for files"),
        (
            ("fruit.csv", "--missing", "mean", "--target", "length")
            + ("--label-smoothing", "0.1"),
            "--label-smoothing is for classes: this task is regression",
        ),
    ],
)
def test_train_refuses_in_words_and_writes_nothing(arguments, message, own_folder):
    (own_folder / "empty.csv").write_text("")
    (own_folder / "one.csv").write_text("x,y\n1,a\n")
    before = sorted(own_folder.iterdir())
    assert message in refused("train", *arguments)
    assert sorted(own_folder.iterdir()) == before


def test_an_old_file_survives_a_failure(own_folder):
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    (own_folder / "out.csv").write_text("old")
    (own_folder / "bad.csv").write_text("length\n1\n")
    refused("predict", "fruit.cofire", "bad.csv", "--out", "out.csv")
    assert (own_folder / "out.csv").read_text() == "old"
    done("predict", "fruit.cofire", "new.csv", "--out", "out.csv")
    assert len((own_folder / "out.csv").read_text().splitlines()) == 51
    assert not list(own_folder.glob(".*"))


@pytest.mark.parametrize("command", ["predict", "evaluate", "info"])
def test_a_model_that_is_not_there(command, own_folder):
    data = () if command == "info" else ("fruit.csv",)
    said = refused(command, "no.cofire", *data)
    assert "no.cofire: there is no such file. Check its name; `cofire train` " in said
    assert "is a folder, not a model file" in refused(command, own_folder, *data)


def test_a_forged_preprocessing_is_refused(own_folder):
    done("train", "fruit.csv", "--missing", "mean", *SMALL)
    document, tensors = container.read("fruit.cofire")
    for name in ("format", "tensors"):
        document.pop(name)
    for change in ([], {"columns": 3}, {**document["preprocessing"], "columns": []}):
        container.write("x.cofire", document | {"preprocessing": change}, tensors)
        assert "its preprocessing" in refused("predict", "x.cofire", "new.csv")
        assert "its preprocessing" in refused("info", "x.cofire")


def test_data_list():
    text = done("data", "list").stdout
    assert "madelon.npz" in text and text.count("not here") == 7
    rows = json.loads(done("data", "list", "--json").stdout)
    assert [row["name"] for row in rows] == list(CATALOG)
    assert rows[0]["bytes"] == 1133294 and rows[1]["path"] is None
    assert (rows[1]["rows"], rows[1]["features"], rows[1]["classes"]) == (7797, 617, 26)


def test_data_fetch(own_folder, monkeypatch):
    assert "madelon.npz" in done("data", "fetch", "madelon").stdout
    assert "unknown data set 'madelom'" in refused("data", "fetch", "madelom")
    asked = []
    monkeypatch.setattr(
        "cofire.data.fetch", lambda name, to, watch: asked.append((name, to)) or "x"
    )
    done("data", "fetch", "all", "--to", own_folder)
    assert asked == [(name, own_folder) for name in CATALOG]
