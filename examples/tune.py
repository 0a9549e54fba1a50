"""How small can a network get at this accuracy? A short search, and its answer."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import cofire

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# Short: fewer epochs than the default has, few networks, folds and trials.
model = cofire.SparseMLPClassifier(max_iter=80, n_networks=2)
found = cofire.tune(model, X, y, n_trials=8, cv=3, store="cofire-results")
print(found)  # the front as a table; the test rows had no part in it

for name in ("default", "best", "smallest"):
    row = getattr(found, f"{name}_")
    score = found.estimator(row).fit(X, y).score(X_test, y_test)
    print(f"{name:<9} {row['connections']:>6,} connections, test {score:.3f}")

print("\nThe smallest within a point of the best is")
print(found.code(found.smallest_))

found.plot().figure_.savefig("front.png", dpi=120)
found.best_estimator_.save("best.cofire")

# The same call takes all trials from the store, and two more are all that is run.
more = cofire.tune(model, X, y, n_trials=10, cv=3, store="cofire-results")
print(f"\nbest of 8 trials {found.best_score_:.4f}, of 10 {more.best_score_:.4f}")
