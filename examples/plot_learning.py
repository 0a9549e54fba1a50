"""Train on small images of digits and draw how it went: learning.png, rewiring.png."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cofire import SparseMLPClassifier
from cofire.plot import LearningCurveDisplay, RewiringDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# early_stopping holds validation rows out, whose loss and score are drawn too.
model = SparseMLPClassifier(early_stopping=True, random_state=0)
model.fit(X_train, y_train)
print(f"{model.score(X_test, y_test):.1%} right with {model.density_:.1%} of the")
print(f"connections, {model.n_connections_:,} in {len(model.networks_)} networks")

display = LearningCurveDisplay.from_estimator(model)
display.figure_.savefig("learning.png", dpi=120)

display = RewiringDisplay.from_estimator(model)
display.figure_.savefig("rewiring.png", dpi=120)
