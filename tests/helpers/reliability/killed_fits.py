"""Cut fits off and let them go on: a program for test_checkpoints_last.py.

    LD_PRELOAD=faults.so python -m helpers.reliability.killed_fits \\
        FOLDER N_KILLED N_AIMED N_SIGNALS

N_KILLED with signal 9 at a random moment, N_AIMED with it at a call on a file,
N_SIGNALS by Ctrl-C or SIGTERM at a random moment.

Prints one JSON object. Processes are forked from one that has imported everything.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

from helpers.reliability.checkpoint_cases import (
    FITS,
    HALF_AND_KILL,
    KILL,
    X,
    arm,
    estimator,
    faults,
    sha256,
    y,
)


def in_a_child(job):
    """Fork; the child does the job and writes what it returns as JSON into a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as pipe:
                json.dump(job(), pipe)
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(writing)
    return child, os.fdopen(reading)


def told(job, *arguments):
    """What the job returned in its child, or None if it was killed."""
    child, pipe = in_a_child(lambda: job(*arguments))
    with pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(answer) if status == 0 else None


def fitted(name, folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model = estimator(name, folder).fit(X, y)
    return {
        "sha256": sha256(model),
        "resumed_after": model.resumed_after_,
        "seconds": time.perf_counter() - start,
        "warnings": [str(warning.message) for warning in caught],
    }


def calls_of(name, folder):
    """How many calls a whole fit makes on files in its folder."""
    arm(folder, 0, 0)
    fitted(name, folder)
    return faults().faults_calls()


def cut_off_at_random(name, folder, seconds, with_signal):
    """Seconds from the signal to the end of the process."""
    child, pipe = in_a_child(lambda: fitted(name, folder))
    time.sleep(random.uniform(0, seconds))
    start = time.perf_counter()
    os.kill(child, with_signal)
    os.waitpid(child, 0)
    pipe.close()
    return time.perf_counter() - start


def killed_in_a_write(name, folder, n_calls):
    what = random.choice([KILL, KILL, HALF_AND_KILL])
    # Writes are a fifth of the calls, and only they can be done by half.
    n = random.randint(1, n_calls // 5 if what == HALF_AND_KILL else n_calls)

    def job():
        arm(folder, n, what)
        return fitted(name, folder)

    return told(job) is None


def main(folder, n_killed, n_aimed, n_signals):
    random.seed(0)
    folder = Path(folder)
    plain = {name: told(fitted, name, None) for name in FITS}
    calls = {name: told(calls_of, name, folder / name) for name in FITS}
    counts = {"right": 0, "cut_off": 0, "resumed": 0, "leftovers": 0, "slowest": 0}
    for trial in range(n_killed + n_aimed + n_signals):
        name = list(FITS)[trial % len(FITS)]
        own, seconds = folder / str(trial), 1.5 * plain[name]["seconds"]
        if n_killed <= trial < n_killed + n_aimed:
            counts["cut_off"] += killed_in_a_write(name, own, calls[name])
        else:
            soft = random.choice([signal.SIGINT, signal.SIGTERM])
            which = signal.SIGKILL if trial < n_killed else soft
            took = cut_off_at_random(name, own, seconds, which)
            counts["slowest"] = max(counts["slowest"], took)
            counts["cut_off"] += 1
        again = told(fitted, name, own)
        counts["right"] += bool(again) and again["sha256"] == plain[name]["sha256"]
        counts["resumed"] += bool(again) and again["resumed_after"] > 0
        counts["leftovers"] += len(list(own.rglob(".*")))
        shutil.rmtree(own)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
