"""Files with right checksums that say what no pipeline has: each is refused."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import cofire
from cofire.errors import ModelFormatError
from helpers.pipeline_cases import fitted
from helpers.reliability.file_cases import pack, unpack

WIDE = {"$array": {"dtype": "<U500000", "values": ["a", "b", "c"]}}


@cache
def parts_of(name):
    with TemporaryDirectory() as folder:
        cofire.save(fitted(name), Path(folder, "p"))
        return unpack(Path(folder, "p").read_bytes())


class Forgery:
    """A file whose parts can be changed: the first step, its arrays, the document."""

    def __init__(self, name):
        self.parts = parts_of(name).copy()
        self.pipeline = self.parts.document["pipeline"]
        self.steps = self.pipeline["steps"]["parameters"]["steps"]
        self.step = self.steps[0][1]
        self.parameters, self.defaults = self.step["parameters"], self.step["defaults"]
        self.attributes = self.step["attributes"]

    def tensor(self, end):
        (name,) = (n for n in self.parts.tensors if n.endswith(end))
        return self.parts.tensors[name]


def change(of, **entries):
    """A forgery that puts other values in place of some."""

    def forge(forgery):
        holder = forgery
        for key in of.split("."):
            holder = holder[key] if isinstance(holder, dict) else getattr(holder, key)
        holder.update(entries)

    return forge


def set_in(end, at, value):
    """A forgery that changes a number of an array."""
    return lambda forgery: forgery.tensor(end).__setitem__(at, value)


def shape(f, attribute, **entries):
    f.attributes[attribute]["$tensor"].update(entries)


def without(f, *names):
    for name in names:
        f.attributes.pop(name)


def move_model_first(f):
    f.steps.insert(0, f.steps.pop())


FORGED = {
    # what it is made of
    "a class by its path": ("StandardScaler", change("step", **{"class": "os.system"})),
    "a class of scikit-learn": (
        "StandardScaler",
        change("step", **{"class": "sklearn.tree.DecisionTreeClassifier"}),
    ),
    "another class": ("StandardScaler", change("step", **{"class": "MinMaxScaler"})),
    "a class of no name": ("StandardScaler", change("step", **{"class": [1]})),
    "the class of a model": (
        "StandardScaler",
        change("step", **{"class": "SparseMLPClassifier"}),
    ),
    "more entries": ("StandardScaler", change("step", state={})),
    "an attribute": ("StandardScaler", change("attributes", __class__="dict")),
    "a method": ("StandardScaler", change("attributes", transform="eval")),
    "a dict": ("StandardScaler", change("attributes", __dict__={})),
    "an attribute less": ("StandardScaler", lambda f: without(f, "scale_")),
    "no number of features": ("StandardScaler", lambda f: without(f, "n_features_in_")),
    "no text but numbers": (
        "StandardScaler",
        change("attributes", n_features_in_="5"),
    ),
    "another number of features": (
        "StandardScaler",
        change("attributes", n_features_in_=4),
    ),
    "a parameter": ("StandardScaler", change("parameters", __class__=1)),
    "a parameter of another kind": ("StandardScaler", change("defaults", copy="yes")),
    "a parameter twice": ("StandardScaler", change("parameters", copy=True)),
    "an array as parameter": ("StandardScaler", change("defaults", copy=WIDE)),
    "one array less": (
        "StandardScaler",
        lambda f: f.parts.tensors.pop("pipeline.steps.0.mean_"),
    ),
    "another array": (
        "StandardScaler",
        lambda f: f.parts.tensors.update(more=np.zeros(3)),
    ),
    "another dtype": (
        "StandardScaler",
        lambda f: f.parts.tensors.update({"pipeline.steps.0.mean_": np.zeros(5, int)}),
    ),
    "another shape": (
        "StandardScaler",
        lambda f: shape(f, "mean_", shape=[5, 1]),
    ),
    "no axes": ("StandardScaler", lambda f: shape(f, "mean_", shape=[])),
    "negative axes": ("PCA", lambda f: shape(f, "components_", shape=[-3, -5])),
    "other axes": ("PCA", lambda f: shape(f, "components_", shape=[5, 3])),
    "huge axes": ("PCA", lambda f: shape(f, "components_", shape=[2**62, 4])),
    "an unknown order": ("PCA", lambda f: shape(f, "components_", order="K")),
    "an output of no library": (
        "pandas steps",
        change("attributes", _sklearn_output_config="os"),
    ),
    "no numbers to scale by": (
        "StandardScaler",
        lambda f: (
            f.attributes.update(scale_=None),
            f.parts.tensors.pop("pipeline.steps.0.scale_"),
        ),
    ),
    "no numbers to centre by": (
        "RobustScaler",
        lambda f: (
            f.attributes.update(center_=None),
            f.parts.tensors.pop("pipeline.steps.0.center_"),
        ),
    ),
    "no scaler of powers": (
        "PowerTransformer box-cox",
        change("parameters", standardize=True),
    ),
    "no flags of gaps": ("SimpleImputer", change("defaults", add_indicator=True)),
    # where it stands
    "no model": ("StandardScaler", lambda f: f.steps.pop()),
    "no steps": ("StandardScaler", lambda f: f.steps.clear()),
    "the model first": ("StandardScaler", move_model_first),
    "the model twice": ("StandardScaler", lambda f: f.steps.insert(0, ["x", "model"])),
    "a name that is none": ("StandardScaler", lambda f: f.steps.insert(0, [1, None])),
    "a step of words": ("StandardScaler", lambda f: f.steps.insert(0, ["a", "eval"])),
    "no pipeline": (
        "StandardScaler",
        lambda f: f.pipeline.update(steps=f.step),
    ),
    "words for a pipeline": (
        "StandardScaler",
        lambda f: f.pipeline.update(steps="passthrough"),
    ),
    "a strange version": (
        "StandardScaler",
        change("pipeline", **{"scikit-learn": "1.9\x1b[2J" * 9}),
    ),
    "no version": ("StandardScaler", change("pipeline", **{"scikit-learn": None})),
    "a pipeline in a model": (
        "StandardScaler",
        lambda f: f.parts.document.update(format=1),
    ),
    "a model as pipeline": (
        "StandardScaler",
        lambda f: f.parts.document.pop("pipeline"),
    ),
    "a folder to write to": (
        "StandardScaler",
        lambda f: f.pipeline["steps"]["defaults"].update(memory="/tmp"),
    ),
    "a folder for checkpoints": (
        "StandardScaler",
        change("parts.document.parameters", checkpoint="/tmp"),
    ),
    "a folder for checkpoints of an estimator inside": (
        "SparseFeatureSelector",
        change("parameters", estimator=["SparseMLPClassifier", {"checkpoint": "/tmp"}]),
    ),
    # what compiled code would use as an index
    "a code too large": ("OneHotEncoder rare", set_in("mappings.2", 0, 99)),
    "a code below 0": ("OneHotEncoder rare", set_in("mappings.2", 0, -1)),
    "a rare category of none": ("OneHotEncoder rare", set_in("indices.2", 0, 77)),
    "rare and not rare": (
        "OneHotEncoder rare",
        lambda f: without(f, "_default_to_infrequent_mappings"),
    ),
    "a dropped category of none": (
        "OneHotEncoder first",
        change(
            "attributes",
            _drop_idx_after_grouping={"$array": {"dtype": "O", "values": [-5, 0, 0]}},
        ),
    ),
    "a dropped category of text": (
        "OneHotEncoder first",
        change(
            "attributes",
            _drop_idx_after_grouping={"$array": {"dtype": "O", "values": ["a", 0, 0]}},
        ),
    ),
    "numbers that do not ascend": ("OneHotEncoder numbers", set_in("_.0", 0, 99)),
    "no categories": (
        "OneHotEncoder",
        lambda f: f.attributes["categories_"][0]["$array"].update(values=[]),
    ),
    "fewer categories": ("OneHotEncoder", lambda f: f.attributes["categories_"].pop()),
    "a word twice": (
        "TfidfVectorizer",
        lambda f: f.attributes["vocabulary_"].append(f.attributes["vocabulary_"][0]),
    ),
    "a word that is none": (
        "TfidfVectorizer",
        lambda f: f.attributes["vocabulary_"].append(3),
    ),
    "a gap beyond the columns": (
        "SimpleImputer indicator",
        set_in("indicator_.features_", 0, 9),
    ),
    "a column beyond the columns": (
        "columns by number",
        lambda f: f.attributes["transformers_"][0].__setitem__(2, [0, 99]),
    ),
    "columns of two kinds": (
        "columns by number",
        lambda f: f.attributes["transformers_"][0].__setitem__(2, [0, "a"]),
    ),
    "a degree beyond measure": (
        "PolynomialFeatures",
        lambda f: (f.defaults.pop("degree"), f.parameters.update(degree=10**9)),
    ),
    "features beyond measure": (
        "PolynomialFeatures",
        change("attributes", n_features_in_=2**40),
    ),
    # what would be code, or a file
    "a function by its path": (
        "FunctionTransformer log1p",
        change("parameters", func="os.system"),
    ),
    "a score by its path": ("SelectKBest", change("defaults", score_func="eval")),
    "arguments of a function": (
        "FunctionTransformer log1p",
        change("defaults", kw_args={"out": 1}),
    ),
    "importances by a path": (
        "SelectFromModel",
        change("defaults", importance_getter="fit.__globals__"),
    ),
    "files to read": ("CountVectorizer", change("defaults", input="filename")),
    "a tokenizer": ("CountVectorizer", change("defaults", tokenizer="eval")),
    "an analyzer": ("CountVectorizer", change("defaults", analyzer="eval")),
    "a broken pattern": ("CountVectorizer", change("defaults", token_pattern="(")),
    "terms of no length": (
        "CountVectorizer",
        change("defaults", ngram_range={"$tuple": [0, 1]}),
    ),
    "terms of a text's length": (
        "CountVectorizer",
        change("defaults", ngram_range={"$tuple": [1, "2"]}),
    ),
    "terms of three lengths": (
        "CountVectorizer",
        change("defaults", ngram_range={"$tuple": [1, 1, 1]}),
    ),
    "a long pattern": (
        "CountVectorizer",
        change("defaults", token_pattern="a" * 10**5),
    ),
    "a dtype of objects with code": ("OneHotEncoder", change("defaults", dtype="O,O")),
    "processes": ("ColumnTransformer", change("defaults", n_jobs=64)),
    "weights of no kind": (
        "ColumnTransformer",
        change("defaults", transformer_weights="a"),
    ),
    "another model inside": (
        "SelectFromModel",
        lambda f: f.attributes.update(estimator_=fitted_scaler()),
    ),
    "an estimator of no kind": (
        "SparseFeatureSelector",
        change("parameters", estimator=["os.system", {}]),
    ),
    # what would take much memory
    "wide labels": (
        "OneHotEncoder",
        lambda f: f.attributes.update(categories_=[WIDE] * 3),
    ),
}


def fitted_scaler():
    document = parts_of("StandardScaler").document["pipeline"]
    return document["steps"]["parameters"]["steps"][0][1] | {"attributes": {}}


@pytest.mark.parametrize("name", FORGED)
def test_it_is_refused(name, tmp_path):
    kind, forge = FORGED[name]
    forgery = Forgery(kind)
    forge(forgery)
    (tmp_path / "p").write_bytes(pack(forgery.parts))
    with pytest.raises(ModelFormatError):
        cofire.load(tmp_path / "p")


@pytest.mark.parametrize("name", sorted({kind for kind, _ in FORGED.values()}))
def test_without_a_forgery_it_loads(name, tmp_path):
    (tmp_path / "p").write_bytes(pack(Forgery(name).parts))
    cofire.load(tmp_path / "p")


def test_a_parameter_of_another_release_counts_only_if_it_was_set(tmp_path):
    forgery = Forgery("StandardScaler")
    forgery.defaults["of_tomorrow"] = 3
    (tmp_path / "p").write_bytes(pack(forgery.parts))
    cofire.load(tmp_path / "p")
    forgery.parameters["of_tomorrow"] = forgery.defaults.pop("of_tomorrow")
    (tmp_path / "p").write_bytes(pack(forgery.parts))
    with pytest.raises(ModelFormatError, match="StandardScaler of this scikit-learn"):
        cofire.load(tmp_path / "p")


def test_an_imputer_of_an_older_release_is_completed(tmp_path):
    forgery = Forgery("SimpleImputer")
    without(forgery, "_fill_dtype")
    (tmp_path / "p").write_bytes(pack(forgery.parts))
    loaded, before = cofire.load(tmp_path / "p"), fitted("SimpleImputer")
    rows = np.full((2, 5), np.nan)
    assert loaded.predict_proba(rows).tobytes() == before.predict_proba(rows).tobytes()
