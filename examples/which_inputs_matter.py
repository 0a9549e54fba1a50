"""Which inputs matter: importances, contributions on new rows, and a selection."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cofire import SparseFeatureSelector, SparseMLPClassifier
from cofire.explain import contributions

data = load_breast_cancer(as_frame=True)
random = np.random.default_rng(0)
X = data.data.assign(
    **{f"noise {i}": random.normal(size=len(data.data)) for i in "abc"}
)
X_train, X_test, y_train, y_test = train_test_split(X, data.target, random_state=0)

model = SparseMLPClassifier(random_state=0).fit(X_train, y_train)
helped = contributions(model, X_test, y_test).mean
print("feature                  importance  contribution on test rows")
for i in np.argsort(-model.feature_importances_)[:5]:
    print(f"{X.columns[i]:<24} {model.feature_importances_[i]:>9.1%}  {helped[i]:+.3f}")

selector = SparseFeatureSelector(
    SparseMLPClassifier((50,), max_iter=30, n_networks=1),  # a quick one
    n_features_to_select=8,
    random_state=0,
).set_output(transform="pandas")
print("\nThe best eight:", ", ".join(selector.fit_transform(X_train, y_train).columns))
