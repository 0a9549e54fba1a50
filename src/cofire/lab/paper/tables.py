"""The paper's tables from finished runs, beside the numbers that it prints."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from cofire.lab.experiments import Cell
from cofire.lab.experiments.effect_sizes import Estimate, cliffs_delta, mean_difference
from cofire.lab.experiments.statistics import (
    PARTNER_NOTE,
    Agreement,
    KSTest,
    agreement,
    better_variant,
    holm,
    ks_test,
    training_delay,
)
from cofire.lab.names import data_name, method_class, method_name
from cofire.lab.paper import published
from cofire.lab.paper.blocks import FIVE_METHODS, VARIANTS, is_ctre
from cofire.lab.paper.cells import Cells, Gathered
from cofire.lab.paper.item import Found
from cofire.lab.paper.published import Printed, PrintedCell
from cofire.lab.table import MeanSpread, Table, Value, with_best_bold

AGREES = (
    "A cell agrees if the means differ by at most 2 sqrt(sd_paper² + sd_ours²) + 0.5 "
    "points; else ours is above or below. p: Welch's test of equal means, with Holm's "
    "correction over the cells of the table."
)


def printed_cell(cell: Cell) -> PrintedCell:
    """Return the entry of the paper's tables that a cell of ours stands beside."""
    return PrintedCell(cell.data, cell.method, cell.hidden, cell.epsilon)


def accuracy_tables(found: Found) -> list[Table]:
    """Return one row per cell: ours, the paper's, their difference and a mark."""
    item, cells = found.item, found.cells
    assert item.published is not None
    printed = published.accuracies(item.published)
    compared = [
        (gathered, _beside(gathered, printed.get(printed_cell(cell))))
        for cell, gathered in cells.items()
    ]
    corrected = holm([beside.p if beside else None for _, beside in compared])
    rows: list[list[Value]] = []
    for (gathered, beside), p in zip(compared, corrected, strict=True):
        cell = gathered.cell
        theirs = printed.get(printed_cell(cell))
        rows.append(
            [
                data_name(cell.data),
                cell.hidden,
                cell.epsilon,
                method_name(cell.method),
                MeanSpread.of(gathered.percent),
                len(gathered.results),
                MeanSpread(theirs.mean, theirs.spread) if theirs else None,
                theirs.seeds if theirs else None,
                beside.difference if beside else None,
                p,
                beside.mark if beside else None,
            ]
        )
    table = Table(
        item.name,
        f"{_number(item.name)}: {item.title}",
        (
            *("data", "n", "eps", "method", "ours", "seeds"),
            *("paper", "seeds there", "difference", "p", "mark"),
        ),
        rows,
        f"{found.about} {AGREES} {tally(b.mark for _, b in compared if b)}",
        digits_of={"eps": 0, "p": 4},
    )
    table = with_best_bold(table, ["ours"], group=["data", "n", "eps"])
    column = list(table.columns).index("paper")
    best = {
        (i, column)
        for i, cell in enumerate(cells)
        if printed_cell(cell) in printed and _is_best(printed_cell(cell), printed)
    }
    return [replace(table, bold=table.bold | best)]


def main_tables(found: Found) -> list[Table]:
    """Return the accuracies, and the densities of the networks."""
    return [*accuracy_tables(found), density_table(found.cells)]


def _is_best(where: PrintedCell, printed: dict[PrintedCell, Printed]) -> bool:
    """Whether the paper prints no better mean there, of any method."""
    rivals = (
        p.mean for w, p in printed.items() if w._replace(method=where.method) == where
    )
    return printed[where].mean == max(rivals)


def _beside(gathered: Gathered, theirs: Printed | None) -> Agreement | None:
    return None if theirs is None else agreement(gathered.percent, *theirs)


def tally(marks: Iterable[str]) -> str:
    """Say how many cells agree.

    >>> tally(["agrees", "above", "agrees"])
    '2 of 3 cells agree, 1 above, 0 below.'
    """
    counts = Counter(marks)
    return (
        f"{counts['agrees']} of {counts.total()} cells agree, {counts['above']} above, "
        f"{counts['below']} below."
    )


def density_table(cells: Cells) -> Table:
    """Return connections and density, ours and those that the paper prints."""
    printed = {published.cell_of(row): row for row in published.rows("density")}
    rows: list[list[Value]] = []
    seen = set()
    for cell, gathered in cells.items():
        where = PrintedCell(cell.data, "", cell.hidden, cell.epsilon)
        if where in seen or _starts_full(cell.method):
            continue
        seen.add(where)
        result, theirs = gathered.results[0], printed.get(where)
        rows.append(
            [
                data_name(cell.data),
                cell.hidden,
                cell.epsilon,
                100 * result.density,
                result.connections / 1000,
                float(theirs["density_percent"]) if theirs else None,
                float(theirs["connections_k"]) if theirs else None,
            ]
        )
    return Table(
        "table2-density",
        "Table 2: density",
        (
            *("data", "n", "eps", "density %", "connections (thousands)"),
            *("paper: density %", "paper: connections (thousands)"),
        ),
        rows,
        "The paper does not cap a layer at its full size, ours is what there is: where "
        "a layer is full, the paper prints more connections than the network has.",
        digits_of={"eps": 0, "density %": 2},
    )


def _starts_full(method: str) -> bool:
    """Whether `begin` chooses the connections; then their number may differ."""
    known = method_class(method)
    return known is not None and known.starts_full


def significance_tables(found: Found) -> list[Table]:
    """Compare each method with the better variant of CTRE: KS test, effect, Holm."""
    cells = found.cells
    printed = {published.cell_of(row): row for row in published.rows("significance")}
    compared = []
    for cell, gathered in cells.items():
        rival = _ctre(cells, cell)
        if rival is None:
            continue
        name, ctre = rival
        test = ks_test(gathered.percent, ctre)
        effect = mean_difference(ctre, gathered.percent)
        delta = cliffs_delta(ctre, gathered.percent)
        row = printed.get(printed_cell(cell))
        compared.append((cell, gathered, name, test, effect, delta, row))
    corrected = holm(
        [test.p if test.can_reject else None for *_, test, _, _, _ in compared]
    )
    rows = [
        [
            data_name(cell.data),
            cell.hidden,
            cell.epsilon,
            method_name(cell.method),
            name,
            len(gathered.results),
            test.statistic,
            test.p,
            _decision(test),
            row["ks_result"] if row else None,
            p,
            effect.value,
            _interval(effect),
            str(delta),
        ]
        for (cell, gathered, name, test, effect, delta, row), p in zip(
            compared, corrected, strict=True
        )
    ]
    decided = [row for row in rows if row[8] and row[9]]
    same = sum(row[8] == row[9] for row in decided)
    table = Table(
        "table3",
        "Table 3: Kolmogorov-Smirnov test against CTRE",
        (
            *("data", "n", "eps", "method", "CTRE is", "seeds", "KS", "p", "ours"),
            *("paper", "p, Holm", "CTRE - method", "95 % interval", "Cliff's delta"),
        ),
        rows,
        f"{found.about} Two-sample, two-sided, exact. As the paper words it, "
        "the hypothesis of no difference is rejected (Reject) below 0.05, else it is "
        f"kept (True). {PARTNER_NOTE} "
        "With three seeds against three it cannot reject, whatever the figures: such "
        "rows have no decision and do not count for Holm's correction, which is over "
        "the others; differences are in points with Welch's interval. "
        f"{same} of {len(decided)} decisions are the paper's.",
        digits_of={"eps": 0, "KS": 2, "p": 4, "p, Holm": 4},
    )
    return [table]


def _decision(test: KSTest) -> str | None:
    """Return the decision in the paper's words; None if so few seeds cannot reject."""
    if not test.can_reject:
        return None
    return "Reject" if test.rejected else "True"


def _ctre(cells: Cells, cell: Cell) -> tuple[str, np.ndarray] | None:
    """Return the better variant of the same size: its print name and accuracies."""
    own = {
        method_name(m): cells[replace(cell, method=m)].percent
        for m in VARIANTS
        if replace(cell, method=m) in cells
    }
    if len(own) < 2 or cell.method in VARIANTS:
        return None
    return better_variant(own)


def _interval(estimate: Estimate) -> str | None:
    low, high = estimate.low, estimate.high
    return None if low is None or high is None else f"{low:.1f} to {high:.1f}"


def delay_tables(found: Found) -> list[Table]:
    """Return the per cent of the epochs until 90 % of the best accuracy is reached."""
    printed = {published.cell_of(row): row for row in published.rows("training_delay")}
    groups: dict[tuple[str, int, float | None], dict[str, Gathered]] = {}
    for cell, gathered in found.cells.items():
        key = cell.data, cell.hidden, cell.epsilon
        groups.setdefault(key, {})[cell.method] = gathered
    # The reference is the best of the five: all of them must be there.
    complete = {
        key: own for key, own in groups.items() if set(FIVE_METHODS) <= set(own)
    }
    lowest = 0
    rows: list[list[Value]] = []
    for (data, hidden, epsilon), own in complete.items():
        delays = training_delay(
            {m: g.curves("selected_score") for m, g in own.items()}, FIVE_METHODS
        )
        reached = {m: d for m, d in delays.items() if d is not None}
        best = min(reached.values())
        lowest += any(is_ctre(m) and d == best for m, d in reached.items())
        for method, delay in delays.items():
            theirs = printed.get(PrintedCell(data, method, hidden, epsilon))
            td = float(theirs["td_percent"] or "nan") if theirs else math.nan
            paper = None if math.isnan(td) else td
            rows.append(
                [
                    *(data_name(data), hidden, method_name(method)),
                    *(delay, paper),
                    None if delay is None or paper is None else delay - paper,
                    _same_emptiness(delay, paper) if theirs else None,
                ]
            )
    table = Table(
        "table6",
        "Table 6: training delay in per cent of the epochs",
        ("data", "n", "method", "ours", "paper", "difference", "reached as there"),
        rows,
        f"{found.about} The share of the epochs, in per cent, after which the mean "
        "curve of the test accuracy chosen so far reaches 90 % of the best final one "
        "among the five methods, epsilon 1; "
        f"- is never. CTRE is lowest (ties count) in {lowest} of {len(complete)} "
        f"cells. {len(groups) - len(complete)} more cells lack runs of a method, so "
        "that the best of the five is not known.",
    )
    return [table]


def _same_emptiness(ours: float | None, theirs: float | None) -> str:
    return "yes" if (ours is None) == (theirs is None) else "no"


def _number(name: str) -> str:
    return name.replace("table", "Table ")
