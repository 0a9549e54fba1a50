"""Several methods on one data set: the runs, and the table that compares them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cofire.data import CATALOG
from cofire.data.training_rows import FileOptions
from cofire.experiments.effect_sizes import mean_difference
from cofire.experiments.grid import Run
from cofire.experiments.names import data_name, method_name
from cofire.experiments.parts import file_option
from cofire.experiments.ranks import signed_rank
from cofire.experiments.results import Result
from cofire.experiments.statistics import holm, mean_and_spread
from cofire.report.table import MeanSpread, Table, Value, with_best_bold


def comparison_runs(
    data: str,
    options: FileOptions,
    methods: Sequence[str],
    seeds: int,
    *,
    hidden: int,
    epsilon: float,
    epochs: int,
    more: Mapping[str, Any],
) -> list[Run]:
    """All methods with the same seeds; of a file, each seed has rows of its own."""
    named = data in CATALOG
    path = data if named else str(Path(data).resolve())
    return [
        Run.of(
            data=path,
            method=method,
            hidden=hidden,
            epsilon=epsilon,
            seed=seed,
            profile="default",
            epochs=epochs,
            split=None if named else seed,
            options={**more, **file_option(Path(path), options)},
        )
        for seed in range(seeds)
        for method in methods
    ]


def comparison_table(results: Sequence[Result], data: str, score: str) -> Table:
    """Best first; each other method's distance to it, paired by seed."""
    scores: dict[str, dict[int, float]] = {}
    last: dict[str, Result] = {}
    for result in results:
        own = scores.setdefault(result.run.method, {})
        own[result.run.seed] = 100 * result.score
        last[result.run.method] = result
    order = sorted(scores, key=lambda m: -mean_and_spread([*scores[m].values()])[0])
    rows: list[list[Value]] = []
    p_values: list[float | None] = []
    for method in order:
        best, own = scores[order[0]], scores[method]
        shared = sorted(set(best) & set(own))
        a, b = [best[s] for s in shared], [own[s] for s in shared]
        rival = method != order[0] and len(shared) > 1
        test = signed_rank(a, b) if rival else None
        p_values.append(test.p if test else None)
        mean = sum(r.seconds for r in results if r.run.method == method) / len(own)
        rows.append(
            [
                method_name(method),
                MeanSpread.of(list(own.values())),
                len(own),
                str(mean_difference(a, b, paired=True)) if rival else None,
                None,
                last[method].connections,
                100 * last[method].density,
                mean,
            ]
        )
    for row, p in zip(rows, holm(p_values), strict=True):
        row[4] = p
    table = Table(
        "compare",
        f"Methods on {data_name(data)}",
        (
            *("method", f"{score} %", "seeds", "behind the best", "p, Holm"),
            *("connections", "density %", "seconds a run"),
        ),
        rows,
        f"Test {score} at the epoch that validated best, mean ± population standard "
        "deviation over seeds; runs of one seed share their rows. Behind the best: "
        "mean difference paired by seed, with a t interval of 95 %. p: Wilcoxon's "
        "signed-rank test against the best, Holm-corrected; with n seeds it cannot be "
        "less than 2^(1-n), and the best was chosen by these very runs.",
        digits_of={"p, Holm": 4, "density %": 2},
    )
    return with_best_bold(table, [f"{score} %"])
