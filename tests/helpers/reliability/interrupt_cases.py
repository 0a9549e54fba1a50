"""An interrupt at any line of ours, and what an estimator must be like after it."""

import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import cofire
from cofire.callbacks import Callback
from cofire.diagnostics.proofs import fingerprint
from helpers.estimator_cases import classes, moments, network_bits, small

OURS = str(Path(cofire.__file__).parent)
FITTED = {
    *("network_", "history_", "n_iter_", "loss_curve_", "loss_", "receipt_"),
    *("validation_scores_", "best_validation_score_", "seed_", "n_features_in_"),
}


class Lines:
    """Counts the lines that our code executes; interrupts at one of them, if told."""

    def __init__(self, at=None):
        self.at, self.count, self.where = at, 0, None

    def _trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if event == "line":
            self.count += 1
            if self.count == self.at:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._trace

    @contextmanager
    def traced(self):
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            yield
        finally:
            sys.settrace(before)


class States(Callback):
    """The bits of network and moments at every point where a training may stop."""

    def __init__(self):
        self.seen = set()

    def _see(self, progress):
        self.seen.add(state_bits(progress.network, progress.optimizer))

    def on_train_begin(self, estimator, progress, n_epochs):
        self._see(progress)

    def on_rewired(self, progress, rewiring, record):
        self._see(progress)

    def on_epoch_end(self, progress, record):
        self._see(progress)


def state_bits(network, optimizer):
    arrays = network_bits(network)
    arrays += [a for s in optimizer.state for a in (*s.weights, *s.bias)]
    return b"".join(array.tobytes() for array in arrays)


class Trial:
    """A training that is interrupted and then looked at from all sides."""

    def __init__(self, folder, **how):
        self.path = folder / "interrupted.cofire"
        self.X, self.y = classes(n=120, n_features=9)
        self.val = {"X_val": self.X[:40], "y_val": self.y[:40]}
        self.how = {"max_iter": 3, "hidden_layer_sizes": (7, 6), "n_jobs": 1} | how
        states = States()
        whole = self.fit(small(callbacks=[states], **self.how))
        self.right = fingerprint(whole, self.X)
        self.states = states.seen | {
            state_bits(whole.network_, whole._progress.optimizer)
        }

    def fit(self, model):
        return model.fit(self.X, self.y, **self.val)

    def n_lines(self):
        lines = Lines()
        with lines.traced():
            self.fit(small(**self.how))
        return lines.count

    def interrupt(self, at):
        """Interrupt a first fit, or one of an estimator with another fit behind it."""
        model = small(**self.how)
        if at % 2:
            model.fit(self.X[:60, :5], np.where(self.y[:60] > 0, "a", "b"))
        before = fingerprint(model, self.X[:, :5]) if at % 2 else None
        lines = Lines(at)
        try:
            with lines.traced():
                self.fit(model)
        except KeyboardInterrupt:
            pass
        self.check(model, before, lines.where)
        assert fingerprint(self.fit(model), self.X) == self.right, lines.where

    def check(self, model, before, where):
        """As it was before, or as some step of the training has left it."""
        try:
            check_is_fitted(model)
        except NotFittedError:
            assert before is None, where
            return
        assert all(hasattr(model, name) for name in FITTED), where
        if model.n_features_in_ == 5:
            assert fingerprint(model, self.X[:, :5]) == before, where
            return
        model.network_.check()
        assert model.network_ is model._progress.network, where
        state = state_bits(model.network_, model._progress.optimizer)
        assert state in self.states, where
        assert len(model.history_) == model.n_iter_, where
        model.save(self.path)
        loaded = cofire.load(self.path)
        assert fingerprint(loaded, self.X) == fingerprint(model, self.X), where
        assert [m.tobytes() for m in moments(loaded)] == [
            m.tobytes() for m in moments(model)
        ]
