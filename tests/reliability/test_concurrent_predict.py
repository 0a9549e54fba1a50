"""Many threads ask one model, while others train a clone of it and save it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from helpers.estimator_cases import classes, earlier
from helpers.reliability import figures

N_THREADS = 16


class Together:
    """One model; what 16 threads may ask of it, and what two others do meanwhile."""

    def __init__(self, folder):
        self.X, self.y = classes(n=3000, n_features=20, n_classes=4)
        self.model = earlier(
            hidden_layer_sizes=(60, 60), max_iter=3, n_jobs=2, random_state=0
        ).fit(self.X, self.y)
        self.parts = [slice(None), slice(0, 1), slice(7, 1500), slice(0, 3000, 3)]
        self.expected = [self.answers(part) for part in self.parts]
        self.trained = self.bits(clone(self.model).fit(self.X, self.y))
        self.path, self.saved = folder / "model", folder / "alone"
        self.model.save(self.saved)
        self.n_calls, self.is_over = [0] * N_THREADS, threading.Event()

    @staticmethod
    def bits(model):
        return [a.tobytes() for x in model.network_.layers for a in (x.weights, x.bias)]

    def answers(self, part):
        X = self.X[part]
        return self.model.predict_proba(X).tobytes(), self.model.predict(X).tobytes()

    def ask(self, thread):
        rng = np.random.default_rng(thread)
        while not self.is_over.is_set() or self.n_calls[thread] == 0:
            k = rng.integers(len(self.parts))
            assert self.answers(self.parts[k]) == self.expected[k]
            self.n_calls[thread] += 2

    def train_clones(self):
        n = 0
        while not self.is_over.is_set() or n == 0:
            assert self.bits(clone(self.model).fit(self.X, self.y)) == self.trained
            n += 1
        return n

    def save(self):
        n = 0
        while not self.is_over.is_set() or n == 0:
            self.model.save(self.path)
            assert self.path.read_bytes() == self.saved.read_bytes()
            n += 1
        return n

    def run(self, seconds):
        """All of them at once; the number of predictions, of clones and of files."""
        with ThreadPoolExecutor(N_THREADS + 2) as pool:
            asked = [pool.submit(self.ask, thread) for thread in range(N_THREADS)]
            trained, saved = pool.submit(self.train_clones), pool.submit(self.save)
            time.sleep(seconds)
            self.is_over.set()
            for future in asked:
                future.result()
            return sum(self.n_calls), trained.result(), saved.result()


def test_all_threads_get_the_answers_of_one(tmp_path):
    n_calls, _, _ = Together(tmp_path).run(seconds=1)
    assert n_calls >= N_THREADS


@pytest.mark.slow
def test_all_threads_get_the_answers_of_one_for_minutes(tmp_path):
    n_calls, n_clones, n_files = Together(tmp_path).run(seconds=120)
    figures.report(
        "one model, many threads",
        "16 threads predict while a clone trains and the model is saved: equal results",
        f"{n_calls:,} predictions beside {n_clones} trainings and {n_files} files, all "
        "equal to the bit, in 120 s",
        met=True,
    )
