"""A model as an ONNX file: the same predictions in ONNX Runtime, without cofire."""

import numpy as np
import onnxruntime
from skl2onnx import to_onnx as pipeline_to_onnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cofire import SparseMLPClassifier
from cofire.export import register_skl2onnx, to_onnx

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = SparseMLPClassifier(random_state=0).fit(X, y)

print(to_onnx(model, "digits.onnx", X=X_test, y=y_test))

# From here on, neither cofire nor scikit-learn is needed.
session = onnxruntime.InferenceSession("digits.onnx")
label, probabilities = session.run(None, {"X": X_test})
assert (label == model.predict(X_test)).all()
assert np.abs(probabilities - model.predict_proba(X_test)).max() < 1e-5

# A pipeline: skl2onnx converts it, once it knows our estimators.
register_skl2onnx()
pipeline = make_pipeline(StandardScaler(), SparseMLPClassifier(max_iter=20)).fit(X, y)
proto = pipeline_to_onnx(pipeline, X[:1], options={"zipmap": False})
session = onnxruntime.InferenceSession(proto.SerializeToString())
label, _ = session.run(None, {"X": X_test})
print(f"the pipeline: {(label == pipeline.predict(X_test)).mean():.1%} the same labels")
