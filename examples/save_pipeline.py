"""A whole pipeline in one file that cannot run code: a table, words, and a refusal."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import cofire

rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.normal(40, 9, 300), "city": rng.choice(list("ab"), 300)})
y = (X["age"] > 40) ^ (X["city"] == "a")
X.loc[::9, "age"] = np.nan
steps = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
    (OneHotEncoder(handle_unknown="ignore"), ["city"]),
)
model = cofire.SparseMLPClassifier((50, 50), n_networks=1, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "pipeline.cofire")
    pipeline = make_pipeline(steps, model).fit(X, y)
    cofire.save(pipeline, path)
    same = np.array_equal(cofire.load(path).predict(X), pipeline.predict(X))
    print("table, the same predictions:", same)

    texts = ["good and kind", "bad and cold", "kind words", "cold rain"] * 20
    cofire.save(make_pipeline(TfidfVectorizer(), model).fit(texts, [1, 0] * 40), path)
    print("words:", cofire.load(path).predict(["kind rain", "good words"]))

    own = make_pipeline(FunctionTransformer(lambda rows: rows * 2), model)
    try:
        cofire.save(own.fit(rng.normal(size=(80, 3)), [0, 1] * 40), path)
    except ValueError as error:
        print("refused:", str(error)[:99], "...")
