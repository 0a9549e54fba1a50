"""What a search of the house method costs on short, wide data, beside a product.

    python benchmarks/bench_rewiring.py                 1 thread, then 2
    python benchmarks/bench_rewiring.py --threads 1     one of them
    python benchmarks/bench_rewiring.py --fits          whole fits as well

The searches are those that a fit of `method="cofire"` with `profiles.HOUSE` asks for,
recorded in its first epochs. Beside each of them NumPy multiplies the same activations,
those of the neurons that fire, in float32 and on as many threads: one sgemm per layer,
into memory that is already there. Both run in turns; each has its best of several
rounds. OpenBLAS's threads wait busily for their next product, for some 25 ms, and would
take a core from the search: they are told to sleep at once. The activations, the
ranking and the draw are extra work of the search.

`--fits` prints the seconds of rewiring and of training that receipts of fits name.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SIZES = ((82, 6000), (160, 10_000), (768, 500), (2000, 500))
WIDTHS = (200, 1000)
N_HIDDEN, N_CLASSES, N_FACTORS = 3, 5, 5
RECORDED = (1, 4)  # epochs whose searches are timed


def made_up(n_rows, n_features):
    """Standardised rows of a few factors and noise, and classes by the factors."""
    import numpy as np

    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n_rows, N_FACTORS))
    loadings = rng.standard_normal((N_FACTORS, n_features)) * rng.random(n_features)
    X = factors @ loadings + rng.standard_normal((n_rows, n_features))
    y = (factors @ rng.standard_normal((N_FACTORS, N_CLASSES))).argmax(axis=1)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y


def house(n_hidden, width, **settings):
    from cofire import SparseMLPClassifier, profiles

    settings = profiles.HOUSE | {"random_state": 0} | settings
    return SparseMLPClassifier(
        (width,) * n_hidden, method="cofire", epsilon=1, **settings
    )


def recorded_searches(X, y, width, n_threads):
    """The searches of some epochs of a fit, each with a copy of its network."""
    from cofire.search import Exact, Similarity

    @dataclass(frozen=True)
    class Recorder(Similarity):
        searches: list = field(default_factory=list)

        def find(self, search, rarity, factor):
            if search.epoch in RECORDED:
                copy = replace(search, network=search.network.copy())
                self.searches.append(copy)
            return Exact().find(search, rarity, factor)

    recorder = Recorder()
    house(
        N_HIDDEN,
        width,
        max_iter=2 * max(RECORDED),
        similarity=recorder,
        n_jobs=n_threads,
    ).fit(X, y)
    return recorder.searches


def activations(network, X):
    """What each stage shows for the rows, without the neurons that never fire."""
    import numpy as np

    stages = [X]
    for layer in network.layers[:-1]:
        z = np.asarray((layer.to_scipy() @ stages[-1].T).T) + layer.bias
        stages.append(np.maximum(z, 0))
    last = network.layers[-1]
    stages.append(np.asarray((last.to_scipy() @ stages[-1].T).T) + last.bias)
    return [np.ascontiguousarray(a[:, a.any(axis=0)], np.float32) for a in stages]


def products(search, X):
    """A function that multiplies what the search multiplies; and how many products."""
    import numpy as np

    stages = activations(search.network, X[search.row_ids])
    sides = [
        (out, into, np.empty((out.shape[1], into.shape[1]), np.float32))
        for into, out, n in zip(stages, stages[1:], search.n_wanted, strict=False)
        if n > 0
    ]

    def multiply():
        for out, into, result in sides:
            np.matmul(out.T, into, out=result)

    return multiply, len(search.row_ids) * sum(r.size for _, _, r in sides)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def time_searches(n_threads, rounds):
    from cofire.engine import best_pairs

    print(f"{n_threads} thread{'s' * (n_threads > 1)}")
    print("  rows  inputs  width   search ms    sgemm ms   ratio   GFLOP/s of sgemm")
    for n_rows, n_features in SIZES:
        X, y = made_up(n_rows, n_features)
        for width in WIDTHS:
            search_s = sgemm_s = n_products = 0.0
            for search in recorded_searches(X, y, width, n_threads):
                multiply, n = products(search, X)
                find = partial(best_pairs, search)
                times = [(seconds(multiply), seconds(find)) for _ in range(rounds)]
                sgemm, found = (min(column) for column in zip(*times, strict=True))
                sgemm_s, search_s = sgemm_s + sgemm, search_s + found
                n_products += n
            rate = 2e-9 * n_products / sgemm_s
            print(
                f"{n_rows:6,} {n_features:7,} {width:6,} {1e3 * search_s:11.2f} "
                f"{1e3 * sgemm_s:11.2f} {search_s / sgemm_s:7.2f} {rate:10.0f}",
                flush=True,
            )


def time_fits(n_threads):
    from cofire import SparseMLPClassifier

    kinds = {
        "cofire, HOUSE": lambda: house(N_HIDDEN, 1000, max_iter=50, n_jobs=n_threads),
        "defaults": lambda: SparseMLPClassifier(random_state=0, n_jobs=n_threads),
    }
    print("  rows  inputs  estimator        rewiring s   training s   ratio")
    for n_rows, n_features in SIZES:
        X, y = made_up(n_rows, n_features)
        for name, make in kinds.items():
            receipt = make().fit(X, y).receipt_
            rewire, train = receipt.rewire_seconds, receipt.train_seconds
            print(
                f"{n_rows:6,} {n_features:7,}  {name:15} {rewire:11.3f} {train:12.3f} "
                f"{rewire / train:7.2f}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--fits", action="store_true", help="time whole fits as well")
    arguments = parser.parse_args()
    if len(arguments.threads) > 1:  # NumPy's threads are set when it is imported
        for n_threads in arguments.threads:
            once = [sys.executable, __file__, "--threads", str(n_threads)]
            once += ["--rounds", str(arguments.rounds)]
            subprocess.run(once + ["--fits"] * arguments.fits, check=True)
        return
    n_threads = arguments.threads[0]
    os.environ |= dict.fromkeys(THREAD_SETTINGS, str(n_threads))
    os.environ["OPENBLAS_THREAD_TIMEOUT"] = "4"  # 2^4 cycles, the least there is
    time_searches(n_threads, arguments.rounds)
    if arguments.fits:
        time_fits(n_threads)


if __name__ == "__main__":
    main()
