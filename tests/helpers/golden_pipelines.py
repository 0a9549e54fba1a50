"""Pipelines that are kept as files: what later versions must read (tests/golden)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    StandardScaler,
)

import cofire
from helpers.estimator_cases import small

FOLDER = Path(__file__).parents[1] / "golden" / "pipelines"
EXPECTED = FOLDER / "expected.json"

_draw = np.random.default_rng(9)
TABLE = pd.DataFrame(
    {
        "age": np.where(_draw.random(60) < 0.1, np.nan, _draw.normal(40, 9, 60)),
        "paid": _draw.lognormal(3, 1, 60),
        "size": _draw.choice(["S", "M", "L"], 60),
        "colour": _draw.choice(
            ["rot", "grün", "blau", "gelb"], 60, p=[0.4, 0.4, 0.1, 0.1]
        ),
    }
)
Y = (TABLE["paid"] > 20).to_numpy().astype(int)
TEXTS = [" ".join(_draw.choice(["ein", "zwei", "drei", "vier"], 4)) for _ in Y]


def _table():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    both = FeatureUnion([("power", PowerTransformer()), ("pca", PCA(1))])
    rare = OneHotEncoder(min_frequency=9, handle_unknown="infrequent_if_exist")
    steps = ColumnTransformer(
        [
            ("age", numbers, ["age"]),
            ("paid", make_pipeline(FunctionTransformer(np.log1p), both), ["paid"]),
            ("size", OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]),
        ],
        remainder=rare,
    )
    return make_pipeline(steps, small())


PIPELINES = {
    "table": (_table, TABLE),
    "words": (lambda: make_pipeline(TfidfVectorizer(), small()), TEXTS),
}


def write_missing() -> list[str]:
    """Write the files that are not there yet, and what they predict."""
    known = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    written = []
    for name, (make, rows) in PIPELINES.items():
        path = FOLDER / f"{name}.cofire"
        if not path.exists():
            pipeline = make().fit(rows, Y)
            cofire.save(pipeline, path)
            known[name] = pipeline.predict_proba(rows).astype(float).tolist()
            written.append(name)
    EXPECTED.write_text(json.dumps(known, indent=0) + "\n")
    return written
