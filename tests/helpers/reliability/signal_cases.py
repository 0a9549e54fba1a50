"""Long calls in a process of their own, interrupted at any moment, then looked at.

    python -m helpers.reliability.signal_cases CASE

makes one call for each line that comes in.
"""

import signal
import sys
import traceback

import numpy as np
from sklearn.exceptions import NotFittedError

from cofire.data import catalog
from cofire.diagnostics.proofs import fingerprint
from helpers.estimator_cases import earlier

FOR_EVER = 100_000  # epochs

SETTINGS = {
    "small batches, Adam": {"method": "set", "solver": "adam", "batch_size": 20},
    "all rows in a batch": {"method": "rigl", "batch_size": 2000},
    "screened search": {"method": "ctre_sim", "hidden_layer_sizes": (1500, 1500)},
    "exact search": {
        "method": "ctre_sim",
        "similarity": "exact",
        "hidden_layer_sizes": (1500, 1500),
        "batch_size": 2000,
    },
    "linear search": {
        "method": "ctre_sim",
        "similarity": "linear",
        "hidden_layer_sizes": (3000, 3000),
    },
    "one thread": {"method": "ctre_wo_random", "n_jobs": 1},
    "from a full network": {"method": "snip", "hidden_layer_sizes": (1000, 1000)},
    "much validation": {"method": "ctre_seq", "batch_size": 1000},
    "predict": {"method": "set", "hidden_layer_sizes": (1000, 1000), "epsilon": 20},
}


class LongCall:
    """A fit that does not end by itself, or predictions of many rows."""

    def __init__(self, name):
        self.name = name
        self.settings = {"n_jobs": 2, "random_state": 0, "epsilon": 3} | SETTINGS[name]
        data = catalog.load("madelon")
        self.X, self.y = ((data.X_train - 480) / 30).astype(np.float32), data.y_train
        self.many = np.tile(self.X, (50, 1)) if name == "predict" else None
        self.val = {}
        if name == "much validation":
            self.val = {"X_val": np.tile(self.X, (20, 1)), "y_val": np.tile(self.y, 20)}
        self.short = self.fit(earlier(max_iter=1, **self.settings))
        self.right = fingerprint(self.short, self.X[:200])
        self.model = None

    def fit(self, model):
        return model.fit(self.X, self.y, **self.val)

    def run(self):
        if self.name == "predict":
            self.model = self.short
            while True:
                self.model.predict(self.many)
        self.model = earlier(max_iter=FOR_EVER, **self.settings)
        self.fit(self.model)

    def check(self):
        """The model can be used, or was not begun; fitted again it has its bits."""
        if self.model is None:
            return
        try:
            assert np.isfinite(self.model.predict_proba(self.X[:50])).all()
            progress = self.model._progress
            progress.network.check()
            states = zip(progress.network.layers, progress.optimizer.state, strict=True)
            for layer, state in states:
                assert all(len(m) == layer.nnz for m in state.weights)
                assert all(np.isfinite(m).all() for m in (*state.weights, *state.bias))
            assert len(self.model.history_) == self.model.n_iter_
        except NotFittedError:
            pass
        again = self.fit(self.model.set_params(max_iter=1))
        assert fingerprint(again, self.X[:200]) == self.right, "other bits"


def say(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(name):
    # As the command line has it; and some shells turn the first off.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    call = LongCall(name)
    say("ready")
    while sys.stdin.readline():
        try:
            say("started")
            call.run()
        except KeyboardInterrupt:
            say("interrupted")
        try:
            call.check()
            say("well")
        except Exception:
            say(repr(traceback.format_exc()))


if __name__ == "__main__":
    main(sys.argv[1])
