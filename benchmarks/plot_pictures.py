"""Draw the pictures of docs/plots.md and of the README: docs/pictures/."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

import cofire
from cofire import SparseMLPClassifier, profiles
from cofire.data import paper_parts
from cofire.plot import (
    AccuracyConnectionsDisplay,
    ConnectivityDisplay,
    DegreeDisplay,
    GateDisplay,
    ImportancesDisplay,
    InputTimelapse,
    LearningCurveDisplay,
    RewiringDisplay,
)

OUT = Path(__file__).parent.parent / "docs" / "pictures"
SHOWN = (0, 5, 60)


def save(display, name):
    """Write a picture, small enough for a page."""
    display.figure_.savefig(OUT / f"{name}.png", dpi=100, metadata={"Software": None})
    plt.close(display.figure_)


def noisy_digits():
    """Digits of 8 x 8 pixels in the middle of 16 x 16 pixels of noise."""
    X, y = load_digits(return_X_y=True)
    images = np.random.default_rng(0).integers(0, 17, (len(X), 16, 16))
    images[:, 4:12, 4:12] = X.reshape(-1, 8, 8)
    return images.reshape(len(X), 256).astype(float), y


def time_lapse():
    """The input layer finds the digits: a GIF, and three of its epochs side by side."""
    timelapse = InputTimelapse()
    settings = profiles.HOUSE | {"max_iter": SHOWN[-1], "standardize": True}
    SparseMLPClassifier(
        (200, 200), epsilon=2, random_state=0, callbacks=[timelapse], **settings
    ).fit(*noisy_digits())
    timelapse.save(OUT / "input-layer.gif", image_shape=(16, 16), dpi=55)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    most = timelapse.counts.max()
    for epoch, ax in zip(SHOWN, axes, strict=True):
        display = ConnectivityDisplay(timelapse.counts[epoch], image_shape=(16, 16))
        display.plot(ax=ax, max_value=most)
        ax.set_title(f"Epoch {epoch}" if epoch else "Before training", loc="left")
    for bar in figure.axes[3:5]:
        bar.remove()
    save(display, "input-layer")


def digits():
    """Curves, rewiring, degrees and scores of models of digits."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = SparseMLPClassifier(early_stopping=True, random_state=0).fit(X, y)
    save(LearningCurveDisplay.from_estimator(model), "learning")
    save(DegreeDisplay.from_estimator(model), "degrees")
    how = {"max_iter": 30, "n_networks": 1, "random_state": 0}
    models = [
        SparseMLPClassifier(method=method, epsilon=epsilon, **how).fit(X, y)
        for method in ("cofire", "set")
        for epsilon in (1, 2, 4, 8)
    ]
    models.append(SparseMLPClassifier(method="dense", **how).fit(X, y))
    display = AccuracyConnectionsDisplay.from_estimators(models, X_test, y_test)
    save(display, "accuracy-connections")


def madelon():
    """The gate and the rewiring, where most features are noise."""
    (X, y), *_ = paper_parts("madelon")
    settings = profiles.HOUSE | {"max_iter": 60}
    model = SparseMLPClassifier((300, 300), epsilon=2, random_state=0, **settings)
    model.fit(X, y)
    save(GateDisplay.from_estimator(model, X), "gate")
    save(RewiringDisplay.from_estimator(model), "rewiring")
    save(ConnectivityDisplay.from_estimator(model), "connectivity")


def front():
    """What a search for settings finds."""
    X, y = load_breast_cancer(return_X_y=True)
    model = SparseMLPClassifier(n_jobs=1)
    save(cofire.tune(model, X, y, n_trials=20, refit=False).plot(), "front")


def importances():
    """Importances of features with names."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = SparseMLPClassifier(random_state=0).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=4, random_state=0)
    save(ImportancesDisplay(found.importances.T, X.columns).plot(top=10), "importances")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    for draw in (time_lapse, digits, madelon, importances, front):
        draw()
        print(f"drawn: {draw.__name__}")
