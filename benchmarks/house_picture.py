"""Draw what the house method does while it trains: docs/results/house.png.

Madelon, three hidden layers of 1000 neurons, epsilon 1, one seed. Left: how far from 0
the correlations of the first layer's pairs are, with the gate. Middle: connections.
Right: neurons that fire and are heard, beside SET and CTRE_sim with the same settings.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from cofire import SparseMLPClassifier, profiles
from cofire.callbacks import Callback
from cofire.data import paper_parts
from cofire.methods.cofire import Cofire

OUT = Path(__file__).parent.parent / "docs" / "results" / "house.png"
EPOCHS, LOOKED_AT = 500, 100
METHODS = {"cofire": "C0", "ctre_sim": "C1", "set": "C2"}


class Watch(Callback):
    """Connections of each layer after each epoch, and the first layer of one epoch."""

    def __init__(self):
        self.connections, self.first = [], None

    def on_epoch_end(self, progress, record):
        """Note them."""
        self.connections.append([layer.nnz for layer in progress.network.layers])
        if record["epoch"] == LOOKED_AT:
            self.first = (
                progress.network.layers[0].to_scipy(),
                (progress.network.layers[0].bias.copy()),
            )


def train(method):
    """A model and what was watched."""
    (X, y), (X_val, y_val), _ = paper_parts("madelon")
    watch = Watch()
    model = SparseMLPClassifier(
        (1000,) * 3,
        epsilon=1,
        method=method,
        random_state=0,
        callbacks=[watch],
        **profiles.HOUSE | {"max_iter": EPOCHS},
    ).fit(X, y, X_val=X_val, y_val=y_val)
    return model, watch


def distances(watch):
    """|correlation| in standard errors, of all pairs of the first layer that fire."""
    (X, _), *_ = paper_parts("madelon")
    rows = np.random.default_rng(0).choice(len(X), Cofire().rows, replace=False)
    weights, bias = watch.first
    below = np.asarray(X[rows], np.float64)
    above = np.maximum(below @ weights.toarray().T + bias, 0)
    above = above[:, above.std(axis=0) > 0]
    r = np.corrcoef(below.T, above.T)[: below.shape[1], below.shape[1] :]
    return np.abs(r).ravel() * np.sqrt(len(rows))


def draw():
    """Train three models and draw."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6))
    for method, colour in METHODS.items():
        model, watch = train(method)
        alive = np.array([sum(record["alive"]) for record in model.history_])
        right.plot(alive, colour, label=method)
        if method != "cofire":
            continue
        z = distances(watch)
        gate = -norm.ppf(Cofire().false_alarms / (500 * 1000) / 2)
        bins = np.linspace(0, 16, 81)
        left.hist(z, bins, color="0.75", label="pairs of the first layer")
        chance = 2 * np.diff(norm.cdf(bins)) * len(z)
        left.stairs(chance, bins, color="k", label="by chance alone")
        left.axvline(gate, color="C3", label=f"the gate, {gate:.1f}")
        left.set_yscale("log", nonpositive="clip")
        left.set_ylim(0.5)
        left.set_xlabel(f"|correlation| in standard errors, epoch {LOOKED_AT}")
        left.set_ylabel("pairs")
        left.legend(frameon=False, fontsize=8)
        for i, counts in enumerate(np.array(watch.connections).T):
            middle.plot(counts, f"C{i + 4}", label=f"layer {i + 1}")
        middle.set_xlabel("epoch")
        middle.set_ylabel("connections")
        middle.set_ylim(0)
        middle.legend(frameon=False, fontsize=8)
    right.set_xlabel("epoch")
    right.set_ylabel("hidden neurons that fire and are heard")
    right.set_ylim(0)
    right.legend(frameon=False, fontsize=8)
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(OUT, dpi=110)
    print(f"wrote {OUT}")


if __name__ == "__main__":
    draw()
