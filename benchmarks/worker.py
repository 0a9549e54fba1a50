"""One contestant in its own process, which times a window whenever it is asked to.

Own processes keep the thread pools of the libraries apart: nothing of one contestant
runs, or spins, while another is timed. The first line on standard input describes the
contestant; every further line asks for a window; each answer is one line of JSON.
"""

import json
import os
import sys
import warnings
from time import perf_counter

import numpy as np

from data import Task
from peers import CONTESTANTS

FEWEST_STEPS = 20


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    warnings.simplefilter("ignore")  # torch calls its CSR layout a beta
    asked = json.loads(sys.stdin.readline())
    task = Task(**asked["task"] | {"sizes": tuple(asked["task"]["sizes"])})
    contestant = CONTESTANTS[asked["contestant"]]()
    contestant.prepare(task)
    window = Window(contestant, task, asked["window_seconds"])
    answer(answers, "ready")
    for _ in sys.stdin:
        answer(answers, window.time())


def answer(answers, what):
    print(json.dumps(what), file=answers, flush=True)


class Window:
    """As many rows as take about `seconds`: some batches, or some whole epochs."""

    def __init__(self, contestant, task, seconds):
        self.contestant, self.task, self.seconds = contestant, task, seconds
        self.rng = np.random.default_rng(0)
        self.epoch_seconds = float("inf")
        self.time()  # pays for thread pools and page faults
        self.time()

    def time(self):
        """Rows trained on, and the seconds of an epoch at the speed of this window."""
        n_rows = self.rows()
        starts = range(0, n_rows, self.task.rows)
        orders = [self.rng.permutation(self.task.rows) for _ in starts]
        orders[-1] = orders[-1][: n_rows - starts[-1]]
        start = perf_counter()
        for order in orders:
            self.contestant.train(order)
        seconds = (perf_counter() - start) * self.task.rows / n_rows
        self.epoch_seconds = min(self.epoch_seconds, seconds)
        return {"rows": n_rows, "seconds": seconds}

    def rows(self):
        epochs = self.seconds / self.epoch_seconds
        if epochs > 1 or self.contestant.whole_epochs:
            return max(1, round(epochs)) * self.task.rows
        batches = max(FEWEST_STEPS, int(epochs * self.task.rows / self.task.batch))
        return min(self.task.rows, batches * self.task.batch)


if __name__ == "__main__":
    main()
