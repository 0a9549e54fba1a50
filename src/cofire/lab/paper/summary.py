"""How faithful the reproduction is: a page about all runs that are done."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from cofire.data import CATALOG
from cofire.lab.experiments.statistics import Agreement, agreement, holm, near
from cofire.lab.names import is_full, method_name
from cofire.lab.paper import published
from cofire.lab.paper.blocks import FIVE_METHODS
from cofire.lab.paper.cells import Gathered
from cofire.lab.paper.item import Found, Item
from cofire.lab.paper.published import Printed, PrintedCell
from cofire.lab.paper.tables import printed_cell
from cofire.lab.table import Table, Value, to_markdown

CHANCE = {name: entry.chance for name, entry in CATALOG.items()}


def _own(found: Found, item: Item) -> dict[PrintedCell, Gathered]:
    """Return the cells of one item; runs of others may have had another protocol."""
    own = {run.cell for run in item.runs(found.choice)}
    return {printed_cell(c): g for c, g in found.cells.items() if c in own}


def _printed(found: Found) -> list[tuple[Item, dict[PrintedCell, Printed]]]:
    """Return the items that the paper has accuracies for."""
    return [
        (item, published.accuracies(item.published))
        for item in found.items
        if item.published is not None
    ]


def faithfulness_table(found: Found) -> Table:
    """Count per table of accuracies how many cells are done, and how many agree."""
    rows: list[list[Value]] = []
    total: dict[tuple[str, PrintedCell], Agreement | None] = {}
    for item, printed in _printed(found):
        profile = item.blocks[0].profile
        own = _own(found, item)
        compared = {
            (profile, cell): agreement(own[cell].percent, *theirs)
            if cell in own
            else None
            for cell, theirs in printed.items()
        }
        total |= compared
        rows.append(_counts(item.name, item.title, compared.values()))
    rows.append(_counts("all", "each cell once", total.values()))
    return Table(
        "faithfulness",
        "How many cells agree with the paper",
        (
            *("table", "what it shows", "cells", "done", "agree", "above", "below"),
            "agree, but differ significantly",
        ),
        rows,
    )


def _counts(name: str, title: str, found: Collection[Agreement | None]) -> list[Value]:
    done = [one for one in found if one is not None]
    marks = Counter(one.mark for one in done)
    each = (marks[m] for m in ("agrees", "above", "below"))
    corrected = zip(done, holm([one.p for one in done]), strict=True)
    apart = sum(one.agrees and p is not None and p < 0.05 for one, p in corrected)
    return [name, title, len(found), len(done), *each, apart]


def chance_cells(found: Found) -> list[str]:
    """Describe the cells that the paper has at chance level, and ours."""
    lines: dict[PrintedCell, str] = {}
    for item, printed in _printed(found):
        own = _own(found, item)
        for cell, theirs in printed.items():
            if theirs.mean <= CHANCE[cell.data] + 0.5:
                line = _chance_line(cell, theirs.mean, own.get(cell))
                lines.setdefault(cell, line)
    return list(lines.values())


def _chance_line(cell: PrintedCell, theirs: float, ours: Gathered | None) -> str:
    name = f"{cell.data} n = {cell.hidden} eps {cell.epsilon:g} {cell.method}"
    if ours is None:
        return f"{name}: {theirs:.1f} in the paper, not run here"
    own = ours.percent.mean()
    at_chance = int(np.sum(ours.percent <= CHANCE[cell.data] + 0.5))
    runs = f"{at_chance} of {len(ours.results)} runs at chance"
    return f"{name}: {theirs:.1f} in the paper, {own:.1f} here ({runs})"


def set_like_table(found: Found) -> Table:
    """Compare the paper's variants of CTRE with the paper's own SET, then ours.

    A variant that has SET's accuracies in every cell, whatever its rule, was perhaps
    never applied: then our SET agrees with it, and our variant does not.
    """
    (main,) = [i for i in found.items if i.published == published.MAIN_TABLE]
    ours = _own(found, main)
    rows: list[list[Value]] = []
    for item, printed in _printed(found):
        if item.blocks[0].profile != main.blocks[0].profile:
            continue
        by_method: dict[str, dict[PrintedCell, Printed]] = {}
        for cell, theirs in printed.items():
            by_method.setdefault(cell.method, {})[cell] = theirs
        own = _own(found, item)
        rows += [
            [item.name, method_name(method), *_set_like(column, own, ours)]
            for method, column in by_method.items()
            if method not in FIVE_METHODS and not is_full(method)
        ]
    return Table(
        "set-like",
        "The paper's variants beside its own SET",
        (
            *("table", "method", "cells", "agree with the paper's SET"),
            *("mean difference", "mean distance"),
            *("run here", "our variant agrees", "our SET agrees"),
        ),
        rows,
        digits=2,
    )


def _set_like(
    column: dict[PrintedCell, Printed],
    own: dict[PrintedCell, Gathered],
    ours: dict[PrintedCell, Gathered],
) -> list[Value]:
    """Compare a variant's cells with SET's of the same size: the paper's, then ours."""
    main = published.accuracies(published.MAIN_TABLE)
    at_set = {cell: cell._replace(method="set") for cell in column}
    away = {w: column[w].mean - main[at_set[w]].mean for w in column}
    distances = np.array(list(away.values()))
    run = [w for w in column if w in own and at_set[w] in ours]
    return [
        len(column),
        sum(near(away[w], column[w].spread, main[at_set[w]].spread) for w in column),
        float(distances.mean()),
        float(np.abs(distances).mean()),
        len(run),
        sum(agreement(own[w].percent, *column[w]).agrees for w in run),
        sum(agreement(ours[at_set[w]].percent, *column[w]).agrees for w in run),
    ]


def summary_page(found: Found) -> str:
    """Return the page as Markdown."""
    n_done = sum(len(gathered.results) for gathered in found.cells.values())
    missing, total = found.n_runs - n_done, found.n_runs
    table = faithfulness_table(found)
    _, _, _, done, agree, above, below, apart = table.rows[-1]
    return "\n".join(
        [
            "# How faithful the reproduction is",
            "",
            "<!-- written by `cofire reproduce summary` -->",
            "",
            *([found.about, ""] if found.about else []),
            f"Of the paper's cells that were run, **{agree} of {done} agree**, {above} "
            f"are above and {below} below (two standard deviations of both, and half a "
            "point: a wide gate where single runs spread widely). Of those that agree, "
            f"{apart} differ significantly by Welch's test with Holm's correction, "
            f"which seldom finds anything with three seeds. {missing} of the {total} "
            "runs that all tables and figures need have not been made; every table "
            "says which of its runs are missing.",
            "",
            to_markdown(table, heading=0),
            "Cells that the paper has at chance level:",
            "",
            *(f"- {line}" for line in chance_cells(found)),
            "",
            "Variants of CTRE in the paper, beside the paper's own SET by the same "
            "rule, and beside our runs of the variant and of SET:",
            "",
            to_markdown(set_like_table(found), heading=0),
        ]
    )
