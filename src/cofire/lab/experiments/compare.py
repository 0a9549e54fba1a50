"""Several methods on one data set: the runs, and the table that compares them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from cofire.data import CATALOG
from cofire.data.preprocessing.training_rows import FileOptions
from cofire.lab.experiments.effect_sizes import Estimate, mean_difference
from cofire.lab.experiments.grid import Run, n_hidden_layers
from cofire.lab.experiments.labels import own_file, subject
from cofire.lab.experiments.ranks import signed_rank
from cofire.lab.experiments.results import Result
from cofire.lab.experiments.run_data import file_option
from cofire.lab.experiments.statistics import holm
from cofire.lab.experiments.store import Store, run_of
from cofire.lab.names import BASELINES, data_name, is_full, method_name
from cofire.lab.table import MeanSpread, Table, Value, with_best_bold
from cofire.persistence.values import canonical

LEVEL = 0.05
HIDDEN = 200  # neurons in each hidden layer of the default recipe


def comparison_runs(
    data: str,
    options: FileOptions,
    methods: Sequence[str],
    seeds: int,
    *,
    hidden: int = HIDDEN,
    epsilon: float | None = None,
    epochs: int | None = None,
    more: Mapping[str, Any] | None = None,
    task: str = "auto",
) -> list[Run]:
    """Return runs of all methods with the same seeds; a file is split by the seed.

    All train by the default recipe: it chooses epsilon and the epochs that are None.
    Methods may be baselines, which take none of the settings.
    """
    named = data in CATALOG
    path = data if named else str(Path(data).resolve())
    file = file_option(Path(path), options, task)
    return [
        Run.of(
            data=path,
            method=method,
            hidden=hidden,
            epsilon=epsilon,
            seed=seed,
            profile="default",
            epochs=epochs or 0,
            split=None if named else seed,
            options={**_own_options(method, more or {}), **file},
        )
        for seed in range(seeds)
        for method in methods
    ]


def _own_options(method: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out a density for methods that have every connection."""
    if method in BASELINES:
        return {}
    full = is_full(method)
    return {k: v for k, v in more.items() if not (full and k == "density")}


def with_target(run: Run, target: str | None) -> Run:
    """Return the run with its target by name, however the user chose it."""
    options = json.loads(run.options)
    if target is None or "file" not in options:
        return run
    options["file"]["target"] = target
    return replace(run, options=canonical(options))


def with_gaps(run: Run, kept: bool) -> Run:
    """Return the run with `missing` as it came out, however the user chose it.

    Kept gaps are named; for a file without any, keeping and refusing are the same.
    """
    options = json.loads(run.options)
    file = options.get("file", {})
    if file.get("missing", "keep") != "keep" or "file" not in options:
        return run
    file.pop("missing", None)
    file |= {"missing": "keep"} if kept else {}
    return replace(run, options=canonical(options))


def stored_as(
    runs: Sequence[Run], store: Store, *, usual_target: str | None = None
) -> dict[Run, Run]:
    """Return for each run the one under which the store has its result, or itself.

    A copy of a file in another folder has the same rows, and its runs need not be run
    again. usual_target: that of older runs, which noted only a target that was given.
    """
    done = [run_of(row) for row in store.rows(status="done")]
    known = {}
    for run in done:
        file = own_file(run)
        if file is not None:
            named = run if "target" in file else with_target(run, usual_target)
            known[_content(named)] = run
    as_it_is = set(done)
    return {
        run: run if run in as_it_is else known.get(_content(run), run) for run in runs
    }


def _content(run: Run) -> Run:
    """Return the run without its folder; name and checksum identify the content."""
    options = json.loads(run.options)
    if "file" not in options:
        return run
    name, _, options["reading"] = subject(run)
    options["file"] = options["file"]["sha256"]
    return replace(run, data=name, options=canonical(options))


@dataclass(frozen=True)
class Standing:
    """How a method did: statistics over its seeds, and its distance to the best one.

    mean and sd: of the test scores; sd is the population standard deviation, None for
    one seed. behind: the best score minus this one, paired by seed. p and p_holm: of
    Wilcoxon's test, plain and corrected. connections, density, seconds: means; a
    baseline has no connections.
    """

    method: str
    mean: float
    sd: float | None
    seeds: int
    behind: Estimate | None
    p: float | None
    p_holm: float | None
    connections: float | None
    density: float | None
    seconds: float


def standings(results: Sequence[Result]) -> list[Standing]:
    """Return the methods, the best first."""
    by_method: dict[str, dict[int, Result]] = {}
    for result in results:
        by_method.setdefault(result.run.method, {})[result.run.seed] = result
    order = sorted(
        by_method, key=lambda m: -fmean(r.score for r in by_method[m].values())
    )
    found = []
    for method in order:
        own, best = by_method[method], by_method[order[0]]
        shared = sorted(set(best) & set(own))
        a, b = [best[s].score for s in shared], [own[s].score for s in shared]
        rival = method != order[0] and len(shared) > 1
        test = signed_rank(a, b) if rival else None
        score = MeanSpread.of([result.score for result in own.values()])
        network = method not in BASELINES
        found.append(
            Standing(
                method,
                mean=score.mean,
                sd=score.spread,
                seeds=len(own),
                behind=mean_difference(a, b, paired=True) if rival else None,
                p=test.p if test else None,
                p_holm=None,
                connections=_mean(r.connections for r in own.values() if network),
                density=_mean(r.density for r in own.values() if network),
                seconds=fmean(r.seconds for r in own.values()),
            )
        )
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def not_surely_worse(found: Sequence[Standing]) -> list[str]:
    """Return the methods that these seeds do not tell from the best one."""
    return [
        one.method for one in found[1:] if one.p_holm is None or one.p_holm >= LEVEL
    ]


def verdict(found: Sequence[Standing], task: str = "classification") -> str:
    """Say in a sentence which method is best, and how surely."""
    best = found[0]
    is_share = task == "classification"
    score = f"{100 * best.mean:.1f} % right" if is_share else f"R² {best.mean:.3f}"
    names = [method_name(one.method) for one in found]
    equal = [method_name(one.method) for one in found if one.mean == best.mean]
    seeds = "1 seed" if best.seeds == 1 else f"{best.seeds} seeds"
    if len(found) == 1:
        return f"{names[0]}: {score}"
    if len(equal) > 1:
        return f"{_listed(equal)} are equally good: {score}"
    close = [method_name(method) for method in not_surely_worse(found)]
    if len(close) == len(found) - 1:
        return f"{names[0]} is best: {score}, not significant with {seeds}"
    if close:
        return f"{names[0]} is best: {score}; {_listed(close)} may be as good"
    return f"{names[0]} is best: {score}, significantly with {seeds}"


def _listed(names: Sequence[str], most: int = 3) -> str:
    """Return names as a sentence has them.

    >>> _listed(["a", "b"]), _listed(list("abcde"))
    ('a and b', 'a, b and 3 others')
    """
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} others"]
    first, last = names[:-1], names[-1]
    return f"{', '.join(first)} and {last}" if first else last


def same_networks(results: Sequence[Result]) -> list[str]:
    """Return the methods whose runs are the same, to the last bit of every loss.

    So it is if the runs are too short for a connection to move.
    """
    losses: dict[str, dict[int, bytes]] = {}
    for result in results:
        if "loss" in result.curves:
            own = losses.setdefault(result.run.method, {})
            own[result.run.seed] = np.asarray(result.curves["loss"]).tobytes()
    equal = [
        [name for name in losses if losses[name] == own] for own in losses.values()
    ]
    most = max(equal, key=len, default=[])
    return most if len(most) > 1 else []


def _not_moved(results: Sequence[Result]) -> str:
    same = [method_name(method) for method in same_networks(results)]
    if not same:
        return ""
    return f" No connection moved: {_listed(same)} are the same networks in all runs."


def seeds_needed(n_rivals: int, level: float = LEVEL) -> int:
    """Return how many seeds a test against `n_rivals` needs to find anything.

    If all n pairs differ in the same direction, p is 2^(1-n), and Holm multiplies the
    smallest p by the number of rivals.

    >>> seeds_needed(1), seeds_needed(5)
    (6, 8)
    """
    n = 2
    while n_rivals * 2.0 ** (1 - n) >= level:
        n += 1
    return n


def comparison_table(
    results: Sequence[Result],
    data: str,
    task: str = "classification",
    name: str = "compare",
) -> Table:
    """Return a table of the methods, the best first, with their distances to the best.

    data: for the title. name: of the files.
    """
    is_share = task == "classification"
    unit = 100 if is_share else 1
    score = "accuracy %" if is_share else "R²"
    found = standings(results)
    rows: list[list[Value]] = [
        [
            method_name(one.method),
            MeanSpread(unit * one.mean, None if one.sd is None else unit * one.sd),
            one.seeds,
            None if one.behind is None else str(_scaled(one.behind, unit)),
            one.p_holm,
            None if one.connections is None else round(one.connections),
            None if one.density is None else 100 * one.density,
            one.seconds,
        ]
        for one in found
    ]
    table = Table(
        name,
        f"Methods on {data_name(data)}",
        (
            *("method", score, "seeds", "behind the best", "p"),
            *("connections", "density %", "seconds per run"),
        ),
        rows,
        f"Test {score.split()[0]}, mean ± population standard deviation over seeds. "
        f"{_same_terms(results)} Behind the best: mean difference paired by seed, with "
        "a t interval of 95 %. p: Wilcoxon's signed-rank test against the best, "
        "Holm-corrected; the best was chosen by these very runs. "
        f"{_power(found)}{_settings(results)}{_not_moved(results)}",
        digits_of={score: 1 if is_share else 3, "p": 4, "density %": 2},
        grouped=frozenset({"connections"}),
    )
    return with_best_bold(table, [score])


def file_stem(data: str, target: str | None, command: str = "compare") -> str:
    """Return the name of a comparison's files, which depends on the data.

    >>> file_stem("a/my data.csv", "the label"), file_stem("madelon", None, "tune")
    ('compare-my-data-the-label', 'tune-madelon')
    """
    words = [command, Path(data).name.partition(".")[0], target or ""]
    plain = (re.sub(r"[^\w-]+", "-", word).strip("-") for word in words)
    return "-".join(word for word in plain if word)


def _scaled(of: Estimate, unit: float) -> Estimate:
    if of.low is None or of.high is None:
        return Estimate(unit * of.value)
    return Estimate(unit * of.value, unit * of.low, unit * of.high)


def _power(found: Sequence[Standing]) -> str:
    """Say how small p can be with this number of seeds and rivals."""
    n_rivals = len(found) - 1
    if n_rivals < 1:
        return ""
    n, needed = max(one.seeds for one in found), seeds_needed(n_rivals)
    rivals = "1 rival" if n_rivals == 1 else f"{n_rivals} rivals"
    if n < needed:
        return (
            f"With {rivals} it takes {needed} seeds for a p below {LEVEL:g}; here "
            f"there are {n}: no difference can be significant. "
        )
    return f"With {n} seeds and {rivals} p is {n_rivals * 2.0 ** (1 - n):.2g} or more. "


def _same_terms(results: Sequence[Result]) -> str:
    """Say what the methods share, and what the baselines are."""
    said = (
        "Runs of one seed share their rows: methods train on all that are not test "
        "rows, by the recipe of cofire train."
    )
    models = {
        method_name(result.run.method): result.notes.get("model", "")
        for result in results
        if result.run.method in BASELINES
    }
    named = "; ".join(f"{title}: {model}" for title, model in models.items())
    return f"{said} Of scikit-learn, with fixed settings: {named}." if named else said


def _settings(results: Sequence[Result]) -> str:
    """Say what the networks share, as far as it was not left to the recipe."""
    runs = [result.run for result in results if result.run.method not in BASELINES]
    if not runs:
        return ""
    layers = {2: "two", 3: "three"}[n_hidden_layers(runs[0].profile)]
    words = [f"{runs[0].hidden} neurons in each of {layers} hidden layers"]
    words += [
        f"epsilon = {epsilon:g}" for epsilon in {run.epsilon for run in runs} - {None}
    ]
    words += [f"{runs[0].epochs} epochs"] if runs[0].epochs else []
    return f"{', '.join(words)}; connections: of all networks of a model."
