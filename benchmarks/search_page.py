"""The page and the picture that bench_search.py writes."""

import json
import platform

import numpy as np

import similarity_accuracy
from cofire import engine
from cofire.core.machine import available_cores

LABELLED = (0.95, 0.98, 0.999)  # of the settings of screened: others lie close by


def draw(points, path):
    """Recall against milliseconds, one line a kind of search."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    marks = {"screened": "o-", "a plain sample of rows": "s--", "linear": "^:"}
    for kind in dict.fromkeys(p[0] for p in points):
        own = [p for p in points if p[0] == kind]
        line = axes.plot([1e3 * p[2] for p in own], [p[3] for p in own], marks[kind])
        for p in own:
            if kind == "screened" and p[1] not in LABELLED:
                continue
            exact, above = kind != "linear" and p[3] == 1.0, kind == "screened"
            axes.annotate(
                f"{p[1]:,} (exact)" if exact else f"{p[1]:,}",
                (1e3 * p[2], p[3]),
                textcoords="offset points",
                xytext=(8, 7) if exact else (0, 7) if above else (5, -11),
                ha="right" if exact else "center" if above else "left",
                fontsize=7,
                color=line[0].get_color(),
            )
        line[0].set_label(kind)
    axes.set_xscale("log")
    axes.set_xticks([10, 20, 50, 100, 200, 400], minor=False)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set_ylim(min(p[3] for p in points) - 0.04, 1.03)
    axes.set_xlabel("milliseconds of one search, 54,000 rows of MNIST, n = 1000")
    axes.set_ylabel("recall")
    axes.set_title("Recall against cost", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


def write_page(results, folder):
    """Write similarity.md out of what the parts measured."""
    rows = []

    def row(figure, goal, measured, met):
        rows.append(
            f"| {figure} | {goal} | {measured} | {'yes' if met else '**no**'} |"
        )

    if "price" in results:
        for epsilon, goal in (("1", 0.5), ("13", 0.3)):
            ratio = results["price"][epsilon]["ratio"]
            row(
                f"rewiring / training time per epoch, MNIST, n = 1000, eps {epsilon}, "
                "`screened`, everything included",
                f"<= {goal}",
                f"{ratio:.2f}",
                ratio <= goal,
            )
        for mode, goal in (("screened", 50), ("exact", 3)):
            for epsilon, own in results["price"].items():
                ratio = own["seconds"]["numpy"] / own["seconds"][mode]
                row(
                    f"NumPy's full product and argpartition / `{mode}`, eps {epsilon}",
                    f">= {goal}",
                    f"{ratio:.1f}",
                    ratio >= goal,
                )
    if "recall" in results:
        cells = results["recall"]
        low = {key: float(np.mean(cell["screened"])) for key, cell in cells.items()}
        worst = min(low, key=low.get)
        row(
            "recall of `screened` on trained networks, each a mean of 5 searches",
            ">= 0.99",
            f"{low[worst]:.4f} at the worst ({worst})",
            low[worst] >= 0.99,
        )
    if "linear" in results:
        sizes = sorted(int(n) for n in results["linear"])
        seconds = [results["linear"][str(n)]["seconds"] for n in sizes]
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        row(
            "`linear`: growth exponent of the time of one search, 10^4 to 10^6 neurons",
            "<= 1.1",
            f"{slope:.2f}",
            slope <= 1.1,
        )
        peak = results["linear"][str(sizes[-1])]["peak_megabytes"] / 1024
        row("its peak memory at 10^6 x 10^6", "< 4 GB", f"{peak:.1f} GB", peak < 4)
    if "mnist" in results:
        r = results["mnist"]
        row(
            "MNIST, n = 1000, eps 1, `ctre_sim`, 500 epochs with validation each epoch",
            "<= 90 s",
            f"{r['seconds']:.0f} s (training {r['train']:.0f}, rewiring "
            f"{r['rewire']:.0f}, validation {r['evaluate']:.0f}); test accuracy "
            f"{r['test_accuracy']:.1f} %{torch_ratio(r['seconds'], folder)}",
            r["seconds"] <= 90,
        )
    if "wide" in results:
        r = results["wide"]
        row(
            "20,000 inputs, 3 x 333,334 neurons, eps 5, `ctre_sim`, 2,000 rows",
            "< 12 GB",
            f"{r['peak_gigabytes']:.1f} GB; {r['train']:.1f} s training and "
            f"{r['rewire']:.1f} s rewiring an epoch, {r['connections']:,} connections",
            r["peak_gigabytes"] < 12,
        )
    parts = [
        "# The search for neurons that fire alike",
        "<!-- written by benchmarks/bench_search.py -->",
        "| figure | goal | measured | met |\n|---|---|---|---|\n" + "\n".join(rows),
        f"{platform.machine()}, {available_cores()} threads, SIMD level "
        f"{engine.simd_level()}, numpy {np.__version__}. Searches take turns with each "
        "other, the best of several counts; rewiring and training are medians over the "
        "epochs of one fit.",
    ]
    if "price" in results:
        lines = ["| eps | training | rewiring | NumPy | exact | screened | linear |"]
        lines.append("|---" * 7 + "|")
        for epsilon, r in results["price"].items():
            s = [r["train"], r["rewire"], *r["seconds"].values()]
            cells = " | ".join(f"{1e3 * x:.1f}" for x in s)
            lines.append(f"| {epsilon} | {cells} |")
        parts += ["## Milliseconds an epoch or a search, MNIST", "\n".join(lines)]
    if "recall" in results:
        lines = [
            "| network | screened | its own estimate | linear |",
            "|---|---|---|---|",
        ]
        for key, cell in results["recall"].items():
            means = [np.mean(cell[k]) for k in ("screened", "estimated", "linear")]
            lines.append(f"| {key} | " + " | ".join(f"{m:.4f}" for m in means) + " |")
        parts += ["## Recall", "\n".join(lines)]
    if "linear" in results:
        lines = ["| neurons | connections | seconds | peak MB |", "|---|---|---|---|"]
        for n, r in results["linear"].items():
            lines.append(
                f"| {int(n):,} | {r['connections']:,} | {r['seconds']:.2f} | "
                f"{r['peak_megabytes']:.0f} |"
            )
        parts += ["## `linear` by the width of a layer, eps 5", "\n".join(lines)]
    if similarity_accuracy.runs_on_record():
        parts += [
            "## Test accuracy",
            "`python benchmarks/similarity_accuracy.py`: ctre_sim, n = 1000, eps 1, "
            "the estimator's defaults, 200 epochs; differences are paired by seed.",
            similarity_accuracy.table(),
        ]
    if "picture" in results:
        draw(results["picture"], folder / "similarity.png")
        parts.append("![Recall against cost](similarity.png)")
    (folder / "similarity.md").write_text("\n\n".join(parts) + "\n")


def torch_ratio(seconds, folder):
    """How much longer torch's masked-dense epochs alone would take, by `make bench`."""
    path = folder / "speed.json"
    if not path.exists():
        return ""
    epoch = json.loads(path.read_text())["seconds"]["eps1"]["torch masked-dense"]
    return f"; {500 * epoch / seconds:.0f} times the speed of torch masked-dense"
