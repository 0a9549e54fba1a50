"""`make bench`: every speed figure of cofire beside its peers, as one table.

Each figure is a ratio within one interleaved run. A full run writes speed.md,
speed.json and speed.png to docs/results; --quick and --only just print.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import process
from data import Task, mlp
from harness import Probe, interleave, machine

RESULTS = Path(__file__).parent.parent / "docs" / "results"
PACKAGES = ("cofire", "numpy", "scipy", "scikit-learn", "torch", "sparselab")
LARGE = Task((20_000, 50_000, 50_000, 10), epsilon=5, rows=2_000)
SGEMM = Task((2048, 2048, 2048), rows=8, batch=1)

# {group: {key: (contestant, task, beside a busy core)}}: a group takes turns together
GROUPS = {
    "eps1": {
        "cofire": ("cofire", mlp(1000, 1), False),
        "torch masked-dense": ("torch masked-dense", mlp(1000, 1), False),
        "sparselab": ("sparselab", mlp(1000, 1), False),
        "torch CSR": ("torch CSR", mlp(1000, 1), False),
        "torch CSR by hand": ("torch CSR by hand", mlp(1000, 1), False),
        "scikit-learn": ("scikit-learn", mlp(1000, 1), False),
        "cofire, 1 thread": ("cofire", mlp(1000, 1, threads=1), False),
        "cofire, 1 thread, batch 64": (
            "cofire",
            mlp(1000, 1, batch=64, threads=1),
            False,
        ),
        "cofire, batch 100": ("cofire", mlp(1000, 1, batch=100), False),
        "cofire, batch 32": ("cofire", mlp(1000, 1, batch=32), False),
        "cofire, busy core": ("cofire", mlp(1000, 1), True),
    },
    "eps5": {
        "cofire": ("cofire", mlp(1000, 5), False),
        "torch masked-dense": ("torch masked-dense", mlp(1000, 5), False),
        "sparselab": ("sparselab", mlp(1000, 5), False),
    },
    "eps13": {
        "cofire": ("cofire", mlp(1000, 13), False),
        "torch masked-dense": ("torch masked-dense", mlp(1000, 13), False),
        "sparselab": ("sparselab", mlp(1000, 13), False),
        "torch CSR": ("torch CSR", mlp(1000, 13), False),
        "torch CSR by hand": ("torch CSR by hand", mlp(1000, 13), False),
        "cofire, 1 thread": ("cofire", mlp(1000, 13, threads=1), False),
        "cofire, eps 64": ("cofire", mlp(1000, 64), False),
        "sgemm, 8 x 2048^3": ("sgemm", SGEMM, False),
    },
    "small1": {
        "cofire": ("cofire", mlp(100, 1), False),
        "torch dense": ("torch dense", mlp(100, 1), False),
    },
    "small13": {
        "cofire": ("cofire", mlp(100, 13), False),
        "torch dense": ("torch dense", mlp(100, 13), False),
    },
    "large": {
        "cofire": ("cofire", LARGE, False),
        "torch CSR": ("torch CSR", LARGE, False),
        "torch CSR by hand": ("torch CSR by hand", LARGE, False),
    },
}
PROCESS = "process"  # memory and start-up: fresh processes, no turns


@dataclass(frozen=True)
class Figure:
    """One row of the table; `values` has None for what was not measured."""

    name: str
    goal: str
    prototype: str
    values: list
    limits: list = field(default_factory=list)
    at_most: bool = False
    format: str = "{:.1f}"

    def empty(self):
        return all(value is None for value in self.values)

    def measured(self):
        return " / ".join(
            "-" if value is None else self.format.format(value) for value in self.values
        )

    def met(self):
        if not self.limits or None in self.values:
            return ""
        pairs = zip(self.values, self.limits, strict=True)
        reached = [v <= goal if self.at_most else v >= goal for v, goal in pairs]
        return " / ".join("yes" if one else "no" for one in reached)


class Times:
    """Best seconds an epoch by group and key; nothing where no window was quiet."""

    def __init__(self, timings, limit):
        self.seconds = {
            group: {
                key: timing.seconds(limit)
                for key, timing in members.items()
                if timing.kept(limit)
            }
            for group, members in timings.items()
        }

    def get(self, group, key):
        return self.seconds.get(group, {}).get(key)

    def ratio(self, group, key, to="cofire"):
        return divide(self.get(group, key), self.get(group, to))


def divide(a, b):
    return a / b if a is not None and b else None


def speed_figures(times):
    """The rows about time, in the order of the table."""

    def of(key, *groups, to="cofire"):
        return [times.ratio(group, key, to) for group in groups]

    return [
        Figure(
            "torch masked-dense / cofire, n = 1000, eps 1 / 5 / 13",
            ">= 100 / 50 / 25",
            "85 / 42 / 22",
            of("torch masked-dense", "eps1", "eps5", "eps13"),
            [100, 50, 25],
        ),
        Figure(
            "sparselab 0.2.2 / cofire, n = 1000, eps 1 / 5 / 13",
            ">= 14 / 9 / 6",
            "10.7 / 6.9 / 4.7",
            of("sparselab", "eps1", "eps5", "eps13"),
            [14, 9, 6],
        ),
        Figure(
            "torch sparse CSR with a hand-written SGD on its values / cofire, "
            "n = 1000, eps 1 / 13",
            ">= 13 / 10",
            "10.2 / 8.6",
            of("torch CSR", "eps1", "eps13"),
            [13, 10],
        ),
        Figure(
            "the same with the backward pass written by hand too",
            "none",
            "-",
            of("torch CSR by hand", "eps1", "eps13"),
        ),
        Figure(
            "torch dense / cofire, n = 100, eps 1 / 13",
            ">= 12 / 7",
            "9.8 / 5.3",
            of("torch dense", "small1", "small13"),
            [12, 7],
        ),
        Figure(
            "torch sparse CSR / cofire, 20,000-50,000-50,000-10, eps 5, 2,000 rows",
            ">= 4",
            "2.5",
            of("torch CSR", "large"),
            [4],
        ),
        Figure(
            "the same with the backward pass written by hand too",
            "none",
            "-",
            of("torch CSR by hand", "large"),
        ),
        Figure(
            "scikit-learn MLPClassifier / cofire, n = 1000, eps 1",
            ">= 100",
            "94",
            of("scikit-learn", "eps1"),
            [100],
        ),
        *sgemm_figures(times),
        Figure(
            "speed-up of 2 threads over 1, n = 1000, eps 1 / 13",
            ">= 1.8",
            "2.1",
            of("cofire, 1 thread", "eps1", "eps13"),
            [1.8, 1.8],
            format="{:.2f}",
        ),
        Figure(
            "the same as the prototype was measured: its batch was 64 a thread, so "
            "1 thread at 64 beside 2 at 128, eps 1",
            "none",
            "2.1",
            of("cofire, 1 thread, batch 64", "eps1"),
            format="{:.2f}",
        ),
        Figure(
            "time per sample at batch 100 / at 128; at 32 / at 128, n = 1000, eps 1",
            "<= 1.15; <= 2",
            "-",
            of("cofire, batch 100", "eps1") + of("cofire, batch 32", "eps1"),
            [1.15, 2],
            at_most=True,
            format="{:.2f}",
        ),
        Figure(
            "slow-down of a 2-thread epoch while another process keeps one core busy",
            "<= 2.5",
            "10",
            of("cofire, busy core", "eps1"),
            [2.5],
            at_most=True,
            format="{:.2f}",
        ),
    ]


def sgemm_figures(times):
    """Shares of the speed that BLAS reaches, by the two ways to count.

    The goals and the prototype count 6 flops a connection and sample (forward, dX, dW);
    the first layer needs no dX, so the work really done is its 4 flops and 6 elsewhere.
    """
    few, many = times.get("eps13", "cofire"), times.get("eps13", "cofire, eps 64")
    m, k, n = SGEMM.sizes
    sgemm = divide(2 * m * k * n * SGEMM.rows, times.get("eps13", "sgemm, 8 x 2048^3"))
    more = None if few is None or many is None else many - few

    def shares(flops):
        rate = divide(flops(13), few)
        marginal = divide(flops(64) - flops(13), more)
        return [percent(rate, sgemm), percent(marginal, sgemm)]

    return [
        Figure(
            "share of BLAS sgemm's GFLOP/s, n = 1000, eps 13; marginal from 13 to 64",
            ">= 40 %; >= 45 %",
            "41 %",
            shares(nominal_flops),
            [40, 45],
            format="{:.0f} %",
        ),
        Figure(
            "the same without the dX that the first layer does not need",
            "none",
            "-",
            shares(needed_flops),
            format="{:.0f} %",
        ),
    ]


def percent(a, b):
    share = divide(a, b)
    return None if share is None else 100 * share


def nominal_flops(epsilon, n=1000):
    """Flops of an epoch at 6 a connection and sample."""
    task = mlp(n, epsilon)
    return 6 * sum(task.connections()) * task.rows


def needed_flops(epsilon, n=1000):
    """Flops of an epoch without dX in the first layer."""
    task = mlp(n, epsilon)
    return nominal_flops(epsilon, n) - 2 * task.connections()[0] * task.rows


def process_figures(quick):
    """The rows about memory and start-up, each in fresh processes."""
    repeats = 2 if quick else 7
    return [
        Figure(
            "peak memory above data and imports, n = 1000, eps 1, X float32, "
            "`static` / `ctre_sim`",
            "<= 60 MB",
            "15 MB (static)",
            [attempt(process.peak_megabytes, m) for m in ("static", "ctre_sim")],
            [60, 60],
            at_most=True,
            format="{:.0f} MB",
        ),
        Figure(
            "`import cofire` beyond scikit-learn's own import; `cofire --help`",
            "< 0.4 s; < 0.4 s",
            "",
            [
                attempt(process.import_seconds, "import cofire", repeats),
                attempt(process.help_seconds, repeats),
            ],
            [0.4, 0.4],
            at_most=True,
            format="{:.2f} s",
        ),
        Figure(
            "`from cofire import SparseMLPClassifier` beyond scikit-learn's own import",
            "none",
            "-",
            [
                attempt(
                    process.import_seconds,
                    "from cofire import SparseMLPClassifier",
                    repeats,
                )
            ],
            format="{:.2f} s",
        ),
    ]


def attempt(measure, *arguments):
    """The measurement, or None, said on stderr, where it cannot be made."""
    try:
        return measure(*arguments)
    except (OSError, process.Failed) as error:
        say(f"{measure.__name__}{arguments}: {error}")


def say(text):
    print(text, file=sys.stderr, flush=True)


def report(figures, timings, limit, where, settings):
    """The Markdown page: figures, then the seconds behind them."""
    lines = [
        "# Speed",
        "",
        "<!-- written by benchmarks/bench_epoch.py; run `make bench` to renew it -->",
        "",
        "784-n-n-n-10 with a fixed random topology of eps x (n_in + n_out) connections "
        "a layer, 54,000 rows, batch 128, 2 threads, unless a row says otherwise.",
        "",
        "| figure | goal | prototype reached | measured | met |",
        "|---|---|---|---|---|",
    ]
    for f in figures:
        lines.append(
            f"| {f.name} | {f.goal} | {f.prototype} | **{f.measured()}** | {f.met()} |"
        )
    lines += ["", caption(where, settings), ""]
    if timings:
        lines += ["## Seconds an epoch", "", *seconds_table(timings, limit), ""]
    return "\n".join(lines)


def seconds_table(timings, limit):
    yield "| group | contestant | seconds an epoch | windows kept | rejected |"
    yield "|---|---|---|---|---|"
    for group, members in timings.items():
        for key, timing in members.items():
            kept = len(timing.kept(limit))
            seconds = f"{timing.seconds(limit):.4g}" + ("" if kept else " (noisy)")
            rejected = len(timing.windows) - kept
            yield f"| {group} | {key} | {seconds} | {kept} | {rejected} |"


def caption(where, settings):
    return (
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python "
        f"{where['python']}; {', '.join(where['packages'])}; commit {where['commit']}, "
        f"{where['date']}. The contestants of a group take turns, {settings['rounds']} "
        "rounds, each in its own process; a time is the best of its windows (beside a "
        f"busy core the median) of about {settings['window_seconds']:g} s: whole "
        "epochs, or at least 20 steps scaled to an epoch by their rows where an epoch "
        "takes longer. Drawing the order of the rows is not timed; gathering the "
        "batches is. A window next to which a fixed probe took more than 1.15 times "
        "its best is rejected. Peers use SGD with momentum; cofire also does "
        "Nesterov's step and L2 decay."
    )


def chart(times, path):
    """Samples a second at n = 1000, eps 1 and 13: the chart of the README."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = ["scikit-learn", "torch masked-dense", "sparselab", "torch CSR"]
    names += ["torch CSR by hand", "cofire"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), constrained_layout=True)
    for ax, group, epsilon in zip(axes, ("eps1", "eps13"), (1, 13), strict=True):
        shown = [name for name in names if times.get(group, name)]
        speeds = [54 / times.get(group, name) for name in shown]
        colours = ["#d1495b" if name == "cofire" else "#8d99ae" for name in shown]
        bars = ax.barh(shown, speeds, color=colours)
        ax.bar_label(bars, [f"{speed:,.0f}" for speed in speeds], padding=3, fontsize=8)
        ax.set_xlim(0, 1.2 * max(speeds))
        ax.set_title(f"784-1000-1000-1000-10, eps {epsilon}", fontsize=9)
        ax.set_xlabel("thousand training samples a second", fontsize=8)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 rounds, short windows")
    parser.add_argument(
        "--only", nargs="+", choices=[*GROUPS, PROCESS], help="just these groups"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, not the page")
    parser.add_argument("--out", type=Path, help="write the files to this folder")
    parser.add_argument("--rounds", type=int, help="windows a contestant (7)")
    parser.add_argument(
        "--patience",
        type=float,
        default=300,
        help="seconds that the run may lose to waiting for a quiet machine (300)",
    )
    return parser.parse_args()


def main():
    args = arguments()
    chosen = args.only or [*GROUPS, PROCESS]
    settings = {
        "rounds": args.rounds or (2 if args.quick else 7),
        "window_seconds": 0.2 if args.quick else 0.5,
    }
    probe, timings = Probe(args.patience), {}
    for group in GROUPS:
        if group in chosen:
            say(f"group {group}: {', '.join(GROUPS[group])}")
            timings[group] = interleave(GROUPS[group], probe, **settings, say=say)
    times = Times(timings, probe.limit)
    figures = [f for f in speed_figures(times) if not f.empty()]
    if PROCESS in chosen:
        figures += process_figures(args.quick)

    where = machine(PACKAGES)
    page = report(figures, timings, probe.limit, where, settings)
    data = {
        "machine": where,
        "settings": settings | {"probe_seconds": probe.best},
        "figures": [vars(f) | {"met": f.met()} for f in figures],
        "seconds": times.seconds,
        "windows": {
            g: {k: t.windows for k, t in m.items()} for g, m in timings.items()
        },
    }
    print(json.dumps(data, indent=1) if args.json else page)

    out = args.out or (None if args.quick or args.only else RESULTS)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "speed.md").write_text(page)
        (out / "speed.json").write_text(json.dumps(data, indent=1) + "\n")
        if times.get("eps1", "cofire") and times.get("eps13", "cofire"):
            chart(times, out / "speed.png")


if __name__ == "__main__":
    main()
