"""The paper's claims, one by one, tested on our runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from cofire.lab.experiments import Cell, Store
from cofire.lab.experiments.effect_sizes import mean_difference
from cofire.lab.experiments.removal import CHECKPOINTS
from cofire.lab.experiments.statistics import training_delay
from cofire.lab.names import data_name, is_full
from cofire.lab.paper.blocks import (
    EPSILONS,
    FIVE_METHODS,
    SIX,
    VARIANTS,
    WIDTHS,
    Choice,
    is_ctre,
)
from cofire.lab.paper.cells import Cells, Gathered
from cofire.lab.paper.item import Found, Overview
from cofire.lab.table import Table, Value

MISSING = "not tested"


@dataclass(frozen=True)
class Verdict:
    """holds, holds in part, does not hold or not tested; and the numbers behind it."""

    word: str
    figures: str


def _verdict(good: int, all_of: int, figures: str) -> Verdict:
    if all_of == 0:
        return Verdict(MISSING, "no run of it is done")
    word = "holds" if good == all_of else "holds in part" if good else "does not hold"
    return Verdict(word, figures)


class Evidence:
    """Finished cells, looked up by what distinguishes them in the paper."""

    def __init__(self, cells: Cells, epochs: int = 500) -> None:
        self.cells, self.epochs = cells, epochs

    def get(
        self,
        data: str,
        method: str,
        hidden: int,
        epsilon: float | None = 1,
        options: str = "{}",
        epochs: int | None = None,
        curves: Iterable[str] = (),
    ) -> Gathered | None:
        """Return a cell of the masked profile, of the runs that have these curves."""
        eps = None if epsilon is None or is_full(method) else float(epsilon)
        epochs = epochs or self.epochs
        cell = Cell(data, method, hidden, eps, epochs=epochs, options=options)
        found = self.cells.get(cell)
        return None if found is None else found.recorded(*curves)

    def mean(self, *where: object) -> float | None:
        """Return the mean test accuracy of a cell in per cent."""
        found = self.get(*where)  # type: ignore[arg-type]
        return None if found is None else float(found.percent.mean())

    def pairs(
        self,
        data: Iterable[str],
        a: str,
        b: str,
        epsilons: Iterable[float] = EPSILONS,
    ) -> list[tuple[str, Gathered, Gathered]]:
        """Return the cells in which both methods were run."""
        found = []
        for name in data:
            for hidden in WIDTHS:
                for epsilon in epsilons:
                    one = self.get(name, a, hidden, epsilon)
                    other = self.get(name, b, hidden, epsilon)
                    if one is not None and other is not None:
                        label = f"{data_name(name)} n = {hidden} eps {epsilon:g}"
                        found.append((label, one, other))
        return found


def sparser_is_better(evidence: Evidence) -> Verdict:
    """On Madelon accuracy falls with density, for both variants of CTRE."""
    good, lines = 0, []
    for method in VARIANTS:
        for hidden in WIDTHS:
            means = [evidence.mean("madelon", method, hidden, e) for e in EPSILONS]
            dense = evidence.mean("madelon", "dense", hidden)
            known = [m for m in (*means, dense) if m is not None]
            if len(known) < 2:
                continue
            falls = known[0] == max(known)
            good += falls
            shown = " > ".join(f"{m:.1f}" for m in known)
            lines.append(f"{method} n = {hidden}: {shown.replace(' > ', ', ')}")
    return _verdict(
        good,
        len(lines),
        f"sparsest is best in {good} of {len(lines)} (eps 1, 5, 13, dense as far as "
        f"run: {'; '.join(lines)})",
    )


def best_when_very_sparse(evidence: Evidence) -> Verdict:
    """Below 0.5 % density a CTRE variant has the best mean."""
    good, words = 0, []
    for data in SIX:
        for hidden in WIDTHS:
            for epsilon in EPSILONS:
                found = {
                    m: evidence.get(data, m, hidden, epsilon) for m in FIVE_METHODS
                }
                own = {m: g for m, g in found.items() if g is not None}
                if len(own) < len(found) or own["set"].results[0].density >= 0.005:
                    continue
                means = {m: float(g.percent.mean()) for m, g in own.items()}
                best = max(means, key=lambda m: means[m])
                good += is_ctre(best)
                words.append(f"{data_name(data)} n = {hidden} eps {epsilon:g}: {best}")
    return _verdict(
        good, len(words), f"{good} of {len(words)} cells ({'; '.join(words)})"
    )


def lowest_delay(evidence: Evidence) -> Verdict:
    """A CTRE variant has the lowest training delay at epsilon 1."""
    good, total, scores = 0, 0, ("validation_score", "test_score")
    for data in SIX:
        for hidden in WIDTHS:
            found = {
                m: evidence.get(data, m, hidden, 1, curves=scores) for m in FIVE_METHODS
            }
            own = {m: g.curves("selected_score") for m, g in found.items() if g}
            if len(own) < len(found):
                continue
            delays = training_delay(own)
            known = {m: d for m, d in delays.items() if d is not None}
            total += 1
            best = min(known.values())
            good += best in {d for m, d in known.items() if is_ctre(m)}
    return _verdict(good, total, f"{good} of {total} cells (paper: 13 of 18)")


def samples_lose_nothing(evidence: Evidence) -> Verdict:
    """Half or a quarter of the rows for the similarity cost no accuracy."""
    words, good, total = [], 0, 0
    for method in ("ctre_sample2", "ctre_sample4"):
        pairs = evidence.pairs(SIX[:5], method, "ctre_sim")
        if not pairs:
            continue
        differences = [a.percent.mean() - b.percent.mean() for _, a, b in pairs]
        total += len(pairs)
        good += sum(d > -1 for d in differences)
        words.append(
            f"{method}: {np.mean(differences):+.2f} points in the mean of {len(pairs)} "
            f"cells, from {min(differences):+.1f} to {max(differences):+.1f}"
        )
    return _verdict(
        good, total, f"{'; '.join(words)}; lost less than a point in {good} of {total}"
    )


def hebb_is_worse(evidence: Evidence) -> Verdict:
    """On Madelon Hebb's product is worse than the cosine, in every cell."""
    words, good, total = [], 0, 0
    for variant in ("seq", "sim"):
        pairs = evidence.pairs(["madelon"], f"ctre_{variant}_hebb", f"ctre_{variant}")
        for label, hebb, cosine in pairs:
            difference = hebb.percent.mean() - cosine.percent.mean()
            good += difference < 0
            total += 1
            words.append(
                f"{variant}, {label.removeprefix('Madelon ')}: {difference:+.1f}"
            )
    return _verdict(good, total, f"worse in {good} of {total} ({'; '.join(words)})")


def lth_is_like_set(evidence: Evidence) -> Verdict:
    """Growing where neurons fire least alike is about as good as growing at random."""
    pairs = evidence.pairs(SIX[:5], "ctre_sim_lth", "set")
    differences = [a.percent.mean() - b.percent.mean() for _, a, b in pairs]
    good = sum(abs(d) <= 3 for d in differences)
    words = [
        f"{label}: {d:+.1f}"
        for (label, _, _), d in zip(pairs, differences, strict=True)
    ]
    return _verdict(
        good,
        len(pairs),
        f"within 3 points in {good} of {len(pairs)} ({'; '.join(words)})",
    )


def removal_holds(evidence: Evidence) -> Verdict:
    """The weakest 70 % may go, of the least similar only 30 %."""
    words, good, total = [], 0, 0
    last = max(CHECKPOINTS)
    for method in ("dense", "set"):
        for score, share in (("magnitude", 70), ("cosine", 30)):
            name = f"removal {last} {score} ascending"
            found = evidence.get(
                *("mnist", method, 1000, 13, '{"study":"removal"}', last),
                curves=[name],
            )
            if found is None:
                continue
            curve = 100 * found.curves(name).mean(axis=0)
            held = int(np.flatnonzero(curve >= curve[0] - 1)[-1])
            total += 1
            good += abs(held - share) <= 15
            words.append(f"{method}: {score} holds (within a point) to {held} %")
    return _verdict(good, total, "; ".join(words) + " (paper: 70 and 30 %)")


def loss_stalls(evidence: Evidence) -> Verdict:
    """Without random growth the test loss on Isolet stops falling after epoch 200."""
    words, good, total = [], 0, 0
    for hidden in WIDTHS:
        falls = {}
        for method in ("ctre_wo_random", "ctre_seq", "ctre_sim"):
            found = evidence.get("isolet", method, hidden, 1, curves=["test_loss"])
            if found is not None:
                loss = found.curves("test_loss").mean(axis=0)
                if len(loss) > 200:
                    falls[method] = 100 * (1 - loss[-1] / loss[199])
        if len(falls) == 3:
            total += 1
            others = min(falls["ctre_seq"], falls["ctre_sim"])
            good += falls["ctre_wo_random"] < others and others > 0
            words.append(
                f"n = {hidden}: fall from epoch 200 to the last "
                + ", ".join(f"{m} {f:.0f} %" for m, f in falls.items())
            )
    return _verdict(
        good,
        total,
        f"falls less than both others, which still fall, in {good} of {total} "
        f"({'; '.join(words)})",
    )


def seq_beats_its_reverses(evidence: Evidence) -> Verdict:
    """Similarity first, then random growth, is better than the other way round."""
    words, good, total = [], 0, 0
    for other in ("ctre_seq_abl1", "ctre_seq_abl2"):
        pairs = evidence.pairs(SIX, "ctre_seq", other)
        better = sum(a.percent.mean() > b.percent.mean() for _, a, b in pairs)
        good, total = good + better, total + len(pairs)
        cells = [
            f"{label} {a.percent.mean() - b.percent.mean():+.1f}"
            for label, a, b in pairs
        ]
        words.append(
            f"{other}: better in {better} of {len(pairs)} ({'; '.join(cells)})"
        )
    return _verdict(good, total, "; ".join(words))


def rewiring_is_quiet(evidence: Evidence) -> Verdict:
    """A rewiring does not disturb the loss."""
    words, good, total = [], 0, 0
    losses = "loss_before_rewiring", "loss_after_rewiring"
    for data in SIX:
        for method in ("set", "ctre_seq", "ctre_sim"):
            found = evidence.get(
                *(data, method, 1000, 1, '{"study":"rewiring"}'), curves=losses
            )
            if found is None:
                continue
            before, after = (found.curves(name)[:, 1:] for name in losses)
            rise = 100 * (after / before - 1)
            total += 1
            good += float(np.median(rise)) < 1
            words.append(
                f"{data_name(data)} {method}: median {np.median(rise):+.2f} %, 95th "
                f"percentile {np.percentile(rise, 95):+.1f} %"
            )
    return _verdict(good, total, f"rise of the training loss: {'; '.join(words)}")


def as_good_as_dense(evidence: Evidence) -> Verdict:
    """A hundredth of the connections is about as accurate as the dense network."""
    words, good, total = [], 0, 0
    for data in SIX:
        for hidden in WIDTHS:
            dense = evidence.get(data, "dense", hidden)
            for epsilon in EPSILONS:
                own = [evidence.get(data, m, hidden, epsilon) for m in VARIANTS]
                known = [g for g in own if g is not None]
                if dense is None or not known or known[0].results[0].density > 0.015:
                    continue
                best = max(known, key=lambda g: float(g.percent.mean()))
                gap = mean_difference(best.percent, dense.percent)
                total += 1
                good += gap.value > -2
                density = f"{100 * best.results[0].density:.2f} %"
                words.append(
                    f"{data_name(data)} n = {hidden} at {density}: {gap.value:+.1f}"
                )
    return _verdict(
        good,
        total,
        f"no more than 2 points below in {good} of {total} ({'; '.join(words)})",
    )


CLAIMS: dict[str, Callable[[Evidence], Verdict]] = {
    "On Madelon, sparser is better": sparser_is_better,
    "CTRE is best below 0.5 % density": best_when_very_sparse,
    "CTRE has the lowest training delay (13 of 18)": lowest_delay,
    "A half or a quarter of the rows loses nothing": samples_lose_nothing,
    "Hebb's product is worse in all nine cells": hebb_is_worse,
    "Dissimilar neurons (LTH) are about as good as random ones": lth_is_like_set,
    "Magnitude holds to 70 % removal, cosine to 30 %": removal_holds,
    "Without random growth the loss stalls after 200 epochs": loss_stalls,
    "CTRE_seq beats both reversed orders": seq_beats_its_reverses,
    "Rewiring does not disturb the loss": rewiring_is_quiet,
    "A hundredth of the connections does as well as dense": as_good_as_dense,
}


def claims_table(cells: Cells, about: str = "", epochs: int = 500) -> Table:
    """Return one row per claim, from runs of this many epochs."""
    evidence = Evidence(cells, epochs)
    rows: list[list[Value]] = []
    for claim, judge in CLAIMS.items():
        verdict = judge(evidence)
        rows.append([claim, verdict.word, verdict.figures])
    caption = (
        f"{about} Written from the runs that are done. A claim about several cells "
        "holds if all of them bear it out, holds in part if some do. Accuracies are "
        "means over seeds in per cent, differences are points, whether significant or "
        "not; where a claim is vague, the figures say how it was read. Where the exact "
        "search was not run, the screened one stands in."
    )
    columns = ("claim", "verdict", "figures")
    return Table("claims", "The paper's claims", columns, rows, caption.strip())


def claims_tables(found: Found) -> list[Table]:
    """Return the table of claims, from runs of as many epochs as were chosen."""
    return [claims_table(found.cells, found.about, found.choice.epochs_of(500))]


@dataclass(frozen=True)
class Claims(Overview):
    """The overview of the claims: the screened search stands in for the exact one."""

    def cells(self, store: Store, choice: Choice) -> Cells:
        screened = super().cells(store, replace(choice, similarity="screened"))
        return with_any_options(super().cells(store, choice) | screened)


def with_any_options(cells: Cells) -> Cells:
    """Use cells of the screened search where there is none of the exact search."""
    found = dict(cells)
    for cell, gathered in cells.items():
        if cell.options == '{"similarity":"screened"}':
            found.setdefault(replace(cell, options="{}"), gathered)
    return found
