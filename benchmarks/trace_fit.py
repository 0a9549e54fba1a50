"""Trace one default fit: how many calls cross from one file to another before training.

    python benchmarks/trace_fit.py            the calls, in order, and their number
    python benchmarks/trace_fit.py --quiet    the number only

A call counts if it enters a function of cofire from code of another of its files, also
where scikit-learn or the standard library stand in between. Counting ends where the
first epoch begins. The script looks at nothing but file names, so that it runs on any
version of cofire: install one, or put its `src` first in PYTHONPATH.
"""

import argparse
import os
import sys

from sklearn.datasets import load_digits

import cofire

ROOT = os.path.dirname(cofire.__file__)


class FirstEpoch(BaseException):
    """Raised when training begins."""


def crossings():
    """Count the calls of one fit: {(from file, from function, file, function): n}."""
    X, y = load_digits(return_X_y=True)
    # Imports happen once, in a fit that is not traced.
    cofire.SparseMLPClassifier(max_iter=1, random_state=0).fit(X / 16, y)
    found = {}

    def trace(frame, event, argument):
        code = frame.f_code
        if event != "call" or not ours(frame) or code.co_name == "<module>":
            return
        if code.co_name == "train_epoch" and "engine" in code.co_filename:
            raise FirstEpoch
        caller = frame.f_back
        while caller is not None and not ours(caller):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            key = (*place(caller), *place(frame))
            found[key] = found.get(key, 0) + 1

    model = cofire.SparseMLPClassifier(random_state=0)
    sys.setprofile(trace)
    try:
        model.fit(X / 16, y)
    except FirstEpoch:
        pass
    finally:
        sys.setprofile(None)
    return found


def ours(frame):
    return frame.f_code.co_filename.startswith(ROOT)


def place(frame):
    code = frame.f_code
    return os.path.relpath(code.co_filename, ROOT), code.co_qualname


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quiet", action="store_true", help="print the totals only")
    quiet = parser.parse_args().quiet
    found = crossings()
    if not quiet:
        for (source, caller, target, function), n in found.items():
            print(f"{n:3d}  {source} {caller} -> {target} {function}")
    files = {key[i] for key in found for i in (0, 2)}
    print(
        f"{sum(found.values())} calls cross from one file to another before the first "
        f"epoch, {len(found)} of them different, in {len(files)} files."
    )


if __name__ == "__main__":
    main()
