"""Which solver should SparseMLPRegressor have? R^2 in 5-fold cross-validation.

Each data set is tried with scaled inputs, and as it comes plus an offset of 100: a
default should survive a user who forgot to scale. "-" means that some fold diverged.
"""

from sklearn.datasets import load_diabetes, make_friedman1, make_regression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cofire import SparseMLPRegressor
from cofire.errors import DivergenceError

DATA = {
    "diabetes": load_diabetes(return_X_y=True),
    "friedman1": make_friedman1(500, noise=1.0, random_state=0),
    "linear": make_regression(300, 20, noise=10.0, random_state=0),
}
CHOICES = [("sgd", 0.01), ("sgd", 0.001), ("adam", 0.01), ("adam", 0.001)]


def r2(model, X, y):
    """Mean over five folds, or "-"."""
    try:
        return f"{cross_val_score(model, X, y, cv=5, error_score='raise').mean():.2f}"
    except DivergenceError:
        return "-"


def main():
    print("| solver | rate | " + " | ".join(f"{d} | {d} + 100" for d in DATA) + " |")
    print("|---" * (2 + 2 * len(DATA)) + "|")
    for solver, rate in CHOICES:
        cells = []
        for X, y in DATA.values():
            model = SparseMLPRegressor(
                (200, 200), solver=solver, learning_rate_init=rate, random_state=0
            )
            cells.append(r2(make_pipeline(StandardScaler(), model), X, y))
            cells.append(r2(model, X + 100, y))
        print(f"| {solver} | {rate} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
