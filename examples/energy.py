"""Joules of training and predicting, beside dense networks; measured or estimated."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cofire import SparseMLPClassifier, energy

X, y = load_breast_cancer(return_X_y=True)
X, X_val, y, y_val = train_test_split(X, y, random_state=0, stratify=y)
model = SparseMLPClassifier(random_state=0).fit(X, y)

# The smallest dense network that is as accurate: no fit can know it by itself.
dense = energy.smallest_dense(model, X, y, X_val, y_val)
print(model.receipt_.beside(dense))

print("\n1,000 predictions, row by row")
print("  this model:", energy.of_predictions(model, X_val, batch_size=1))
if dense is not None:
    alone = energy.of_predictions(dense.model, X_val, batch_size=1)
    print("  dense, same accuracy:", alone)

# Anything else: a block of your own, measured in the same way.
with energy.measure() as spent:
    model.predict(X_val)
    model.feature_importances_.argsort()
print("\nthis block:", spent.energy)
print("measured" if spent.energy.source == "rapl" else "estimated, not measured")
