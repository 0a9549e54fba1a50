"""Runs on a Dask cluster: here one of two workers on this machine."""

import subprocess
import sys

import joblib
from dask.distributed import Client, LocalCluster
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

import cofire

COMPARE = "compare madelon --methods set static --seeds 2 --epochs 3 --no-baselines"


def main():
    X, y = load_breast_cancer(return_X_y=True)
    model = cofire.SparseMLPClassifier(max_iter=20, n_networks=2, random_state=0)
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster:
        address = cluster.scheduler_address

        # A search: each fold of a trial is fitted by a worker.
        found = cofire.tune(model, X, y, n_trials=4, cv=3, cluster=address)
        print(found)

        # scikit-learn's own searches, by joblib's backend for Dask.
        with Client(address) as client, joblib.parallel_config("dask", client=client):
            scores = cross_val_score(model, X, y, cv=3)
        print(f"cross-validated: {scores.mean():.3f}")

        # The command line: each run goes to a worker, results come to one store.
        command = [sys.executable, "-c", "from cofire.cli import main; main()"]
        command += [*COMPARE.split(), "--cluster", address]
        subprocess.run(command, check=True)


if __name__ == "__main__":  # workers are processes, which import this file
    main()
