"""The page and the picture that bench_large.py writes, from its figures."""

import math

GOAL = 1.1  # the exponent of seconds and of bytes, at most
TITLES = {"set": "SET", "ctre_sim": "CTRE (`ctre_sim`)", "cofire": "cofire"}
# What no program that trains with momentum can do without, in bytes.
PER_CONNECTION = {"index": 4, "weight": 4, "momentum": 4, "gradient": 4}
PER_NEURON = {"bias": 4, "its momentum": 4, "its gradient": 4, "row start": 8}

# SET's authors: neurons per hidden layer -> (neurons in all, minutes per epoch). From
# the README.md of github.com/dcmocanu/sparse-evolutionary-artificial-neural-networks at
# commit 5590ba9a1681; settings: set_mlp_sparse_data_structures.py there, 15dd0c01292d.
SET_MINUTES = {
    3_000: (12_317, 0.3),
    30_000: (93_317, 3),
    300_000: (903_317, 49),
    600_000: (1_803_317, 112),
}


def exponent(sizes, values):
    """The slope of log(value) against log(size), by least squares.

    >>> exponent([10, 100, 1000], [3, 30, 300])
    1.0
    >>> exponent([1, 4], [1, 2])
    0.5
    """
    if len(set(sizes)) < 2:
        raise ValueError("an exponent needs at least two sizes")
    x, y = [math.log(n) for n in sizes], [math.log(v) for v in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    square = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return round(slope / square, 10)


def finished(runs):
    """The runs that have figures, by their number of neurons."""
    return sorted(
        (run for run in runs.values() if "failed" not in run),
        key=lambda run: run["neurons"],
    )


def seconds(run):
    return run["train_seconds"] + run["rewire_seconds"]


def floor_bytes(run):
    """The least that a training with momentum must hold.

    >>> floor_bytes({"connections": 100, "neurons": 10})
    1800
    """
    connections, neurons = run["connections"], run["neurons"]
    each = sum(PER_CONNECTION.values()), sum(PER_NEURON.values())
    return each[0] * connections + each[1] * neurons


def training_bytes(run):
    """What training holds at its peak, by the formula of docs/scale.md.

    >>> training_bytes({"connections": 100, "neurons": 10, "threads": 2, "groups": 4})
    10160
    """
    per_connection = 12 + 12 + 32 + 4 * run["groups"]
    per_neuron = 4 * 32 * run["threads"] + 40
    return per_connection * run["connections"] + per_neuron * run["neurons"]


def exponents(runs):
    """(seconds, bytes) over all sizes, and over the last decade; None: too few runs."""
    own = finished(runs)

    def of(some):
        if len(some) < 2:
            return None
        sizes = [run["neurons"] for run in some]
        return (
            exponent(sizes, [seconds(run) for run in some]),
            exponent(sizes, [run["peak_bytes"] for run in some]),
        )

    largest = own[-1]["neurons"] if own else 0
    return of(own), of([run for run in own if run["neurons"] >= largest / 10.5])


# ---- the page ------------------------------------------------------------------------


def page(results):
    growth = results.get("growth", {})
    machine = results["machine"]
    return "\n".join(
        [
            "# Very large networks",
            "",
            "<!-- written by benchmarks/bench_large.py -->",
            "",
            *load_lines(results),
            *exponent_lines(growth),
            "",
            "![Seconds and memory against neurons](large.png)",
            "",
            "An epoch is 200 sparse rows (1 % of the values are not zero) in batches "
            "of 100, and one rewiring that replaces as many connections as the method "
            "does by default. Inputs and three hidden layers are equally wide, neurons "
            "are counted with inputs and outputs, and there are ten connections per "
            'neuron. The search is `similarity="linear"`; SET has none. Seconds are '
            "medians over the epochs with a rewiring; memory is the peak of the "
            "process above what it had after its imports, data included.",
            "",
            *floor_lines(),
            "",
            *(line for name, runs in growth.items() for line in table(name, runs)),
            *published_lines(results.get("published", {}).get("set", {})),
            f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
            f"Python {machine['python']}, {', '.join(machine['packages'])}; commit "
            f"{machine['commit']}, {machine['date']}.",
            "",
        ]
    )


def exponent_lines(growth):
    heads = ("seconds", "last decade", "bytes", "last decade", "goal", "met")
    yield "How both grow, as a power of the number of neurons:"
    yield ""
    yield "| method | neurons | " + " | ".join(heads) + " |"
    yield "|---|---:|" + "---:|" * len(heads)
    for name, runs in growth.items():
        whole, last = exponents(runs)
        if whole is None or last is None:
            continue
        powers = [whole[0], last[0], whole[1], last[1]]
        sizes = [run["neurons"] for run in finished(runs)]
        cells = [f"{sizes[0]:,} to {sizes[-1]:,}", *(f"{x:.2f}" for x in powers)]
        cells += [f"<= {GOAL}", "yes" if max(whole) <= GOAL else "**no**"]
        yield f"| {TITLES[name]} | " + " | ".join(cells) + " |"


def load_lines(results):
    """A warning, if other processes ran: our own can make a load of one per core."""
    parts = [results.get(part, {}) for part in ("growth", "published")]
    every = [run for part in parts for runs in part.values() for run in finished(runs)]
    highest = max((run["load_before"] for run in every), default=0.0)
    if highest > results["machine"]["cores"] + 0.5:
        yield (
            f"**Timed beside other load** (up to {highest:.1f} on "
            f"{results['machine']['cores']} cores): the seconds are too high."
        )
        yield ""


def floor_lines():
    def sums(parts):
        return " + ".join(f"{n} ({what})" for what, n in parts.items())

    yield (
        "**The floor.** A program that trains with momentum must hold "
        f"{sums(PER_CONNECTION)} = {sum(PER_CONNECTION.values())} bytes per "
        f"connection, and {sums(PER_NEURON)} = {sum(PER_NEURON.values())} per neuron. "
        '"Of the floor" is how many times that was needed at the peak; the formula '
        "is that of [../scale.md](../scale.md), without what a search needs. "
        "Multiply-adds are three per connection and row, per second of training."
    )


HEADS = (
    "neurons",
    "connections",
    "training, s",
    "rewiring, s",
    "billion multiply-adds per s",
    "peak, GB",
    "bytes per connection",
    "of the floor",
    "training by formula, GB",
)


def table(name, runs):
    yield f"## {TITLES[name]}"
    yield ""
    yield "| " + " | ".join(HEADS) + " |"
    yield "|---:" * len(HEADS) + "|"
    for size, run in runs.items():
        if "failed" in run:
            cells = [f"{int(size):,}", run["failed"], *[""] * (len(HEADS) - 2)]
        else:
            cells = row(run)
        yield "| " + " | ".join(cells) + " |"
    yield ""


def row(run):
    rate = 3 * run["connections"] * run["rows"] / run["train_seconds"] / 1e9
    return [
        f"{run['neurons']:,}",
        f"{run['connections']:,}",
        f"{run['train_seconds']:.3g}",
        f"{run['rewire_seconds']:.3g}",
        f"{rate:.2f}",
        f"{run['peak_bytes'] / 1e9:.3g}",
        f"{run['peak_bytes'] / run['connections']:.0f}",
        f"{run['peak_bytes'] / floor_bytes(run):.1f}",
        f"{training_bytes(run) / 1e9:.3g}",
    ]


def published_lines(runs):
    yield "## Beside published figures"
    yield ""
    yield (
        "**SET.** Its authors give minutes per epoch on a laptop with 16 GB. Their "
        "network has 3,312 inputs, three hidden layers, 5 outputs and epsilon 20; "
        "it trains on two thirds of the rows of the data set `lung`, in batches of "
        "2, and replaces 30 % of the connections after each epoch. Their program is "
        "written in Python, SciPy and Cython, in float64. The times are those of "
        "its first, slower rewiring "
        "(github.com/dcmocanu/sparse-evolutionary-artificial-neural-networks: "
        "`README.md`, commit 5590ba9a1681, and `set_mlp_sparse_data_structures.py`, "
        'commit 15dd0c01292d). We train the same shape with method "set" on 135 '
        "rows of random numbers: two thirds of 203, the number of rows that we "
        "assume for `lung`, since the program does not say it. The machines differ "
        "too, so the ratio does not compare the programs alone."
    )
    yield ""
    heads = ("per layer", "neurons", "theirs, s", "ours, s", "ratio", "ours, peak GB")
    yield "| " + " | ".join(heads) + " |"
    yield "|---:" * len(heads) + "|"
    for hidden, (neurons, minutes) in SET_MINUTES.items():
        run = runs.get(str(hidden), {"failed": "not run"})
        cells = [f"{hidden:,}", f"{neurons:,}", f"{60 * minutes:,.0f}"]
        if "failed" in run:
            cells += [run["failed"], "", ""]
        else:
            ours = seconds(run)
            cells += [f"{ours:.3g}", f"{60 * minutes / ours:,.0f}"]
            cells.append(f"{run['peak_bytes'] / 1e9:.3g}")
        yield "| " + " | ".join(cells) + " |"
    sizes = [neurons for neurons, _ in SET_MINUTES.values()]
    slope = exponent(sizes, [minutes for _, minutes in SET_MINUTES.values()])
    yield ""
    yield (
        f"Their times grow with the {slope:.2f}th power of the neurons. The article on "
        "this (Liu et al., Neural Computing and Applications 33, 2021, doi "
        "10.1007/s00521-020-05136-7) says in its abstract that networks of over one "
        "million neurons are trained on a laptop without a GPU; its tables of times "
        "and memory we could not get hold of."
    )
    yield ""
    yield (
        '**WASAP.** Curci, Mocanu and Pechenizkiy ("Truly Sparse Neural Networks at '
        'Scale", arXiv 2102.01732, 2021) train in parallel with MPI, SciPy and Numba, '
        "on a laptop with 6 cores and 32 GB but for their largest networks "
        "(`README.md` of github.com/SelimaC/large-scale-sparse-neural-networks), and "
        "say in the abstract that the largest has the size of a bat's brain. Neither "
        "the README nor any copy of the abstract gives seconds, bytes or a number of "
        "neurons, and the full text we could not get hold of: no figure of theirs "
        "stands here."
    )
    yield ""


# ---- the picture ---------------------------------------------------------------------


def draw(results, path):
    """Seconds per epoch, and peak memory, against neurons."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for (name, runs), mark in zip(results["growth"].items(), "os^Dv", strict=False):
        own, (whole, _) = finished(runs), exponents(runs)
        if whole is None:
            continue
        sizes, title = [run["neurons"] for run in own], TITLES[name].replace("`", "")
        for axes, values, power in (
            (left, [seconds(run) for run in own], whole[0]),
            (right, [run["peak_bytes"] / 1e9 for run in own], whole[1]),
        ):
            label = f"{title}: exponent {power:.2f}"
            axes.loglog(sizes, values, mark + "-", label=label)
    if own := finished(results.get("published", {}).get("set", {})):
        sizes = [run["neurons"] for run in own]
        label = "the shape of SET's program (40 per neuron, batches of 2), ours"
        left.loglog(
            sizes, [seconds(run) for run in own], "x:", color="0.4", label=label
        )
    theirs = SET_MINUTES.values()
    left.loglog(
        [neurons for neurons, _ in theirs],
        [60 * minutes for _, minutes in theirs],
        "k*--",
        label="SET's own program, as published (40 per neuron)",
    )
    every = [run for runs in results["growth"].values() for run in finished(runs)]
    ends = sorted({run["neurons"]: floor_bytes(run) / 1e9 for run in every}.items())
    right.loglog(*zip(*ends, strict=True), "k:", label="the floor")
    left.set_ylabel("seconds per epoch, rewiring included")
    right.set_ylabel("peak memory above imports, GB")
    for axes in (left, right):
        axes.set_xlabel("neurons (ten connections each)")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def write(results, folder):
    """Write large.md and large.png."""
    (folder / "large.md").write_text(page(results))
    draw(results, folder / "large.png")
