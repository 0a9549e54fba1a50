"""The page of bench_energy.py, from its figures.

python benchmarks/energy_page.py    writes docs/results/energy.md from energy.json
"""

import json
import statistics
from pathlib import Path

RESULTS = Path(__file__).parent.parent / "docs" / "results"
DEFAULT, SPARSER = "cofire, the default", "cofire, epsilon 1, one network"
SCIKIT_TWIN = "dense, the default's shape, one network, scikit-learn"
TORCH_TWIN = "dense, the default's shape, one network, torch"
SAME_ACCURACY = "dense, the default's accuracy, scikit-learn"
DENSE = (SCIKIT_TWIN, TORCH_TWIN, SAME_ACCURACY)
WORK = {
    "training": "training",
    "alone": "predicting row by row",
    "together": "predicting 1,000 rows in one call",
}
HEADS = (
    "test accuracy",
    "connections",
    "bytes",
    "training: core-seconds",
    "J",
    "1,000 predictions, row by row: core-ms",
    "J",
    "in one call: core-ms",
    "J",
)


def page(facts):
    tables = facts["tables"]
    used = [runs[0][DEFAULT]["training"] for runs in tables.values()]
    measured = all(one["source"] == "rapl" for one in used)
    return "\n".join(
        [
            "# Energy",
            "",
            "<!-- written by benchmarks/bench_energy.py -->",
            "",
            "**Where a dense network takes less energy than cofire's default:**",
            "",
            *cheaper_dense(tables),
            "",
            f"All joules are **{'measured' if measured else 'estimated'}**: "
            f"{used[0]['assumption']}. What that means: [../energy.md](../energy.md).",
            "",
            *(line for name, runs in tables.items() for line in table(name, runs)),
            *estimates(tables),
            "## The rates",
            "",
            "Billion multiply-adds per core-second. `receipt_` takes 50 for dense "
            "networks and 15 for ours.",
            "",
            "| | |",
            "|---|---:|",
            *(f"| {name} | {n / 1e9:.1f} |" for name, n in facts["rates"].items()),
            "",
            caption(facts["machine"]),
            "",
        ]
    )


def cheaper_dense(tables):
    """Where we lose, first."""
    for table_name, runs in tables.items():
        for name in DENSE:
            for key, work in WORK.items():
                ours = middle(runs, DEFAULT, key, "joules")
                theirs = middle(runs, name, key, "joules")
                if theirs is not None and theirs < ours:
                    points = [
                        100 * middle(runs, n, "accuracy") for n in (name, DEFAULT)
                    ]
                    yield (
                        f"- {table_name}, {work}: {name}, {ours / theirs:.1f} times "
                        f"less (test accuracy {points[0]:.1f}, cofire {points[1]:.1f})."
                    )


def table(name, runs):
    yield from (f"## {name}", "", f"| | {' | '.join(HEADS)} |")
    yield "|---|" + "---:|" * len(HEADS)
    for model in (DEFAULT, SPARSER, *DENSE):
        accuracy = middle(runs, model, "accuracy")
        if accuracy is None:
            continue
        cells = [f"{100 * accuracy:.1f}"]
        cells += [shown(middle(runs, model, key)) for key in ("connections", "bytes")]
        for work, unit in (("training", 1), ("alone", 1000), ("together", 1000)):
            cells.append(shown(unit * middle(runs, model, work, "core_seconds")))
            cells.append(shown(middle(runs, model, work, "joules")))
        yield f"| {model} | " + " | ".join(cells) + " |"
    yield from ("", search(runs), "")


def search(runs):
    """Say which dense networks were as accurate."""
    found = [run[SAME_ACCURACY] for run in runs if run[SAME_ACCURACY]]
    text = (
        "A single dense network (MLPClassifier with its defaults, two hidden layers of "
        "up to 512 neurons) reached the accuracy of the default's four on validation "
        f"rows for {len(found)} of {len(runs)} seeds"
    )
    if not found:
        return f"{text}."
    widths = ", ".join(str(one["sizes"][1]) for one in found)
    joules = shown(middle(runs, SAME_ACCURACY, "search", "joules"))
    return f"{text}: with layers of {widths} neurons. To find it took {joules} J."


def estimates(tables):
    """How good the receipt's estimates are."""
    yield "## The receipt's estimates"
    yield ""
    yield (
        "Core-seconds that `receipt_` estimates from counts, beside those that were "
        "taken: by one dense network of the default's shape, and by the default."
    )
    yield ""
    yield "| | estimated | taken, scikit-learn | taken, torch | taken, cofire |"
    yield "|---|---:|---:|---:|---:|"
    for name, runs in tables.items():
        for work, key in (("training", "training"), ("1,000 predictions", "together")):
            cells = [middle(runs, "receipt", key, "core_seconds")]
            for twin in (SCIKIT_TWIN, TORCH_TWIN):
                cells.append(middle(runs, twin, key, "core_seconds"))
            yield f"| {name}, {work} | {' | '.join(map(shown, cells))} | |"
        estimate = shown(middle(runs, "receipt", "ours", "core_seconds"))
        ours = shown(middle(runs, DEFAULT, "together", "core_seconds"))
        yield f"| {name}, 1,000 predictions of the default | {estimate} | | | {ours} |"
    yield ""


def middle(runs, name, *path):
    """Median over the seeds that have it; None if none has."""
    values = []
    for run in runs:
        value = run.get(name)
        for key in path:
            value = None if value is None else value[key]
        if value is not None:
            values.append(value)
    return statistics.median(values) if values else None


def shown(number):
    if number is None:
        return "-"
    return f"{number:.3g}" if number < 100 else f"{number:,.0f}"


def caption(where):
    return (
        f"{where['processor']}, {where['cores']} cores, {where['system']}, Python "
        f"{where['python']}; {', '.join(where['packages'])}; commit {where['commit']}, "
        f"{where['date']}. One thread; medians over the seeds; load average at the "
        f"beginning: {where['load']:.1f}. A fifth of the training rows are validation "
        "rows, on which the dense network of the default's accuracy was chosen. "
        "Networks of the default's shape get its encoded inputs: their figures are "
        "without the encoding. The default has four networks, of whose shape one "
        "was trained: four take four times as much."
    )


if __name__ == "__main__":
    figures = json.loads((RESULTS / "energy.json").read_text())
    (RESULTS / "energy.md").write_text(page(figures))
