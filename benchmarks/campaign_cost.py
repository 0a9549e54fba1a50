"""What campaigns of runs take on 1 to 1,000 workers: a model, fitted and tested here.

A campaign of R runs of t seconds each on W workers takes about

    T = start + max(R * command, ceil(R / W) * (t + worker))

command: what the one command spends on each run (claim, message, store); more workers
do not help there. worker: what a worker waits between two runs. The three constants are
fitted to campaigns of runs that sleep, on Dask workers of this machine: such runs need
no core, so there may be more workers than cores. One campaign is held out, with more
workers than all others, and shows how far the model can be trusted. What the first runs
take longer, since workers import cofire, is measured apart.
"""

import argparse
import json
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from bench_cluster import Cluster, nothing, ready
from cofire.lab.experiments import Run, Store
from cofire.lab.experiments.runner import run_all
from cofire.lab.workers.dask_cluster import DaskCluster
from harness import machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "distributed")
SECONDS = (0.0, 0.1, 0.4)  # of a run
WORKERS = (1, 2, 4, 8)
HELD_OUT = (16, 0.2)  # workers, seconds of a run
ROUNDS = 12  # runs per worker, at least 30 runs
UNTIL = 1000  # workers in the picture
CAMPAIGNS = {
    "compare: 100 runs of 2 s": (100, 2.0),
    "tables of all models: 5,000 fits of 10 s": (5000, 10.0),
    "table 2 of the paper: 4,050 runs of 120 s": (4050, 120.0),
}
"""Number of runs and seconds of each: assumptions of the picture, not measured here."""


@dataclass(frozen=True)
class Model:
    """Three constants, in seconds."""

    start: float
    command: float
    worker: float

    def seconds(self, n_runs, n_workers, run_seconds):
        """Return what a campaign takes.

        >>> Model(1.0, 0.01, 0.1).seconds(100, 10, 0.9)
        11.0
        >>> Model(1.0, 0.01, 0.1).seconds(100, 1000, 0.0)  # the command is the limit
        2.0
        """
        workers = math.ceil(n_runs / n_workers) * (run_seconds + self.worker)
        return self.start + max(n_runs * self.command, workers)

    def most_workers(self, run_seconds):
        """Return how many workers a command can keep busy.

        >>> Model(1.0, 0.01, 0.1).most_workers(0.9)
        100
        """
        return max(1, round((run_seconds + self.worker) / self.command))


def fitted(points):
    """Fit a model to points (n_runs, n_workers, run_seconds, seconds).

    Relative errors count, so that short campaigns are as important as long ones.
    """

    def errors(logarithms):
        model = Model(*np.exp(logarithms))
        return [model.seconds(*point[:3]) / point[3] - 1 for point in points]

    starts = [
        np.log([s, c, w])
        for s in (0.02, 0.5)
        for c in (0.002, 0.02)
        for w in (0.002, 0.02)
    ]
    tries = [
        least_squares(errors, start, x_scale=1.0, diff_step=1e-4) for start in starts
    ]
    return Model(*np.exp(min(tries, key=lambda found: found.cost).x).tolist())


# ---- measuring -----------------------------------------------------------------------


@dataclass(frozen=True)
class Nap:
    """A run that sleeps."""

    seconds: float

    def __call__(self, run, n_threads):
        time.sleep(self.seconds)
        return nothing(run, n_threads)


def measured(executor, n_workers, run_seconds, seed):
    """Return the point of one campaign."""
    n_runs = max(30, ROUNDS * n_workers)
    runs = [Run("none", "set", 100, 1.0, seed + k) for k in range(n_runs)]
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder) / "runs.sqlite") as store:
            begun = time.perf_counter()
            done = run_all(runs, store, execute=Nap(run_seconds), executor=executor)
            seconds = time.perf_counter() - begun
    assert done.done == n_runs, done
    point = (n_runs, n_workers, run_seconds, seconds)
    print(
        "runs {}, workers {}, seconds of a run {}: {:.2f} s".format(*point), flush=True
    )
    return point


def campaigns(n_workers, seconds):
    """Return a point per length of a run, and what the first campaign took longer."""
    with Cluster(n_workers) as cluster:
        address = f"tcp://127.0.0.1:{cluster.port}"
        with DaskCluster(address) as executor:
            ready(executor, n_workers)
            first = measured(executor, n_workers, 0.0, 10_000_000)
            again = measured(executor, n_workers, 0.0, 20_000_000)
            points = [
                measured(executor, n_workers, each, 100_000 * (k + 1))
                for k, each in enumerate(seconds)
            ]
            return points, first[-1] - again[-1]


# ---- the page ------------------------------------------------------------------------


def page(points, held_out, first, about):
    model = fitted(points)
    lines = [line(model, point) for point in points]
    n_runs, n_workers, run_seconds, seconds = held_out
    said = model.seconds(n_runs, n_workers, run_seconds)
    return "\n".join(
        [
            "# What campaigns take",
            "",
            "<!-- written by benchmarks/campaign_cost.py -->",
            "",
            "Runs that sleep, on Dask workers of this machine. The model: "
            "T = start + max(R × command, ⌈R / W⌉ × (t + worker)), with "
            f"start {model.start:.2f} s, command {1000 * model.command:.1f} ms, "
            f"worker {1000 * model.worker:.1f} ms. The first campaign took "
            f"{min(first):.1f} to {max(first):.1f} s longer, while all workers import "
            "cofire, on the cores of one machine.",
            "",
            f"**Held out:** {n_runs} runs of {run_seconds:g} s on {n_workers} workers "
            f"took {seconds:.2f} s; the model says {said:.2f} s "
            f"({100 * (said / seconds - 1):+.0f} %).",
            "",
            "| runs | workers | seconds of a run | took | the model says | |",
            "|---:|---:|---:|---:|---:|---:|",
            *lines,
            "",
            "How many workers one command keeps busy, and what campaigns take:",
            "",
            "| campaign | 1 worker | 10 | 100 | 1,000 | most useful workers |",
            "|---|---:|---:|---:|---:|---:|",
            *(row(model, name, *of) for name, of in CAMPAIGNS.items()),
            "",
            "![Time of campaigns against the number of workers](campaigns.png)",
            "",
            f"{about['processor']}, {about['cores']} cores, {about['system']}, Python "
            f"{about['python']}; {', '.join(about['packages'])}; commit "
            f"{about['commit']}, {about['date']}. Sending data comes on top: its bytes "
            "times the workers that do not have them, divided by the bandwidth of the "
            "command's machine.",
            "",
        ]
    )


def line(model, point):
    n_runs, n_workers, run_seconds, seconds = point
    said = model.seconds(n_runs, n_workers, run_seconds)
    cells = [n_runs, n_workers, f"{run_seconds:g}", f"{seconds:.2f}", f"{said:.2f}"]
    cells.append(f"{100 * (said / seconds - 1):+.0f} %")
    return f"| {' | '.join(map(str, cells))} |"


def row(model, name, n_runs, run_seconds):
    times = [words(model.seconds(n_runs, n, run_seconds)) for n in (1, 10, 100, 1000)]
    most = min(n_runs, model.most_workers(run_seconds))
    return f"| {name} | {' | '.join(times)} | {most:,} |"


def words(seconds):
    """Write seconds for people.

    >>> words(42.0), words(600.0), words(36000.0)
    ('42 s', '10 min', '10 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


def draw(model, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    workers = np.unique(np.geomspace(1, UNTIL, 200).astype(int))
    for name, (n_runs, run_seconds) in CAMPAIGNS.items():
        times = [model.seconds(n_runs, int(n), run_seconds) for n in workers]
        (drawn,) = axes.loglog(workers, times, label=name)
        most = min(n_runs, model.most_workers(run_seconds))
        if most <= UNTIL:
            at = model.seconds(n_runs, most, run_seconds)
            axes.plot(most, at, "o", color=drawn.get_color())
    axes.set(
        xlabel="workers",
        ylabel="seconds",
        title="The model; dots: more workers do not help",
    )
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few workers; print only")
    parser.add_argument(
        "--page", action="store_true", help="write the page again, from campaigns.json"
    )
    arguments = parser.parse_args()
    if arguments.page:
        kept = json.loads((RESULTS / "campaigns.json").read_text())
    else:
        kept = measured_now(arguments.quick) | {"machine": machine(PACKAGES)}
    about = kept["machine"]
    text = page(kept["points"], kept["held_out"], kept["first"], about)
    print(text)
    if not arguments.quick:
        (RESULTS / "campaigns.json").write_text(json.dumps(kept, indent=1) + "\n")
        (RESULTS / "campaigns.md").write_text(text)
        draw(fitted(kept["points"]), RESULTS / "campaigns.png")


def measured_now(quick):
    found = [campaigns(n, SECONDS) for n in ((1, 2) if quick else WORKERS)]
    n_workers, run_seconds = (4, 0.2) if quick else HELD_OUT
    (held_out,), _ = campaigns(n_workers, [run_seconds])
    points = [point for points, _ in found for point in points]
    return {"points": points, "held_out": held_out, "first": [x for _, x in found]}


if __name__ == "__main__":
    main()
