"""How faithful the reproduction is: a few lines and a table, from the runs done."""

from collections import Counter
from collections.abc import Collection

import numpy as np

from cofire.data import CATALOG
from cofire.lab.experiments import Run, Store
from cofire.lab.experiments.statistics import Agreement, agreement, holm, near
from cofire.lab.names import is_full, method_name
from cofire.lab.paper import published
from cofire.lab.paper.cells import Gathered, gather
from cofire.lab.paper.items import PAPER_ITEMS, Choice, Item
from cofire.lab.paper.tables import Cells, place
from cofire.lab.table import Table, Value, to_markdown

CHANCE = {name: entry.chance for name, entry in CATALOG.items()}


def all_runs(choice: Choice) -> set[Run]:
    """What all tables and figures need."""
    return {run for item in PAPER_ITEMS.values() for run in item.runs(choice)}


def all_cells(store: Store, choice: Choice) -> Cells:
    """Everything that is done of the paper's tables and figures."""
    return gather(store.results(), all_runs(choice))


def _of(item: Item, cells: Cells, choice: Choice) -> Cells:
    """The cells of one item: others may be of the same place, but trained otherwise."""
    own = {run.cell for run in item.runs(choice)}
    return {cell: gathered for cell, gathered in cells.items() if cell in own}


def faithfulness_table(cells: Cells, choice: Choice) -> Table:
    """One row a table of accuracies: how many cells agree, and how many are missing."""
    rows: list[list[Value]] = []
    total: dict[tuple[str, published.Place], Agreement | None] = {}
    for item in PAPER_ITEMS.values():
        if item.published is None:
            continue
        printed = published.accuracies(item.published)
        profile = item.blocks[0].profile
        found: dict[tuple[str, published.Place], Agreement | None] = dict.fromkeys(
            (profile, where) for where in printed
        )
        for cell, gathered in _of(item, cells, choice).items():
            where = place(cell)
            if where in printed:
                found[profile, where] = agreement(gathered.percent, *printed[where])
        total |= found
        rows.append(_counts(item.name, item.title, found.values()))
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


def chance_cells(cells: Cells, choice: Choice) -> list[str]:
    """The paper's cells at chance level, and ours."""
    lines: dict[published.Place, str] = {}
    for item in PAPER_ITEMS.values():
        if item.published is None:
            continue
        own = {place(c): g for c, g in _of(item, cells, choice).items()}
        for where, printed in published.accuracies(item.published).items():
            if printed.mean <= CHANCE[where.data] + 0.5:
                line = _chance_line(where, printed.mean, own.get(where))
                lines.setdefault(where, line)
    return list(lines.values())


def _chance_line(where: published.Place, theirs: float, ours: Gathered | None) -> str:
    name = f"{where.data} n = {where.hidden} eps {where.epsilon:g} {where.method}"
    if ours is None:
        return f"{name}: {theirs:.1f} in the paper, not run here"
    own = ours.percent.mean()
    at_chance = int(np.sum(ours.percent <= CHANCE[where.data] + 0.5))
    runs = f"{at_chance} of {len(ours.results)} runs at chance"
    return f"{name}: {theirs:.1f} in the paper, {own:.1f} here ({runs})"


def set_like_table(cells: Cells, choice: Choice) -> Table:
    """Each variant of CTRE in the paper beside the paper's own SET, then ours.

    A variant that has SET's figures in every cell, whatever its rule, was perhaps never
    applied: then our SET agrees with it, and our variant does not.
    """
    main = _of(PAPER_ITEMS["table2"], cells, choice)
    ours = {place(cell): gathered for cell, gathered in main.items()}
    rows: list[list[Value]] = []
    for item in PAPER_ITEMS.values():
        if item.published is None or item.blocks[0].profile != "masked":
            continue
        by_method: dict[str, dict[published.Place, published.Printed]] = {}
        for where, printed in published.accuracies(item.published).items():
            by_method.setdefault(where.method, {})[where] = printed
        own = {place(cell): g for cell, g in _of(item, cells, choice).items()}
        rows += [
            [item.name, method_name(method), *_set_like(column, own, ours)]
            for method, column in by_method.items()
            if method not in published.MAIN and not is_full(method)
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
    column: dict[published.Place, published.Printed],
    own: dict[published.Place, Gathered],
    ours: dict[published.Place, Gathered],
) -> list[Value]:
    """A variant's cells against those of SET at the same place: the paper's, ours."""
    main = published.accuracies("results_main")
    at_set = {where: where._replace(method="set") for where in column}
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


def summary_page(
    cells: Cells, choice: Choice, about: str, missing: int, total: int
) -> str:
    """The page as Markdown; about: what its runs are less than the paper's."""
    table = faithfulness_table(cells, choice)
    last = table.rows[-1]
    _, _, _, done, agree, above, below, apart = last
    return "\n".join(
        [
            "# How faithful the reproduction is",
            "",
            "<!-- written by `cofire reproduce summary` -->",
            "",
            *([about, ""] if about else []),
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
            *(f"- {line}" for line in chance_cells(cells, choice)),
            "",
            "Variants of CTRE in the paper, beside the paper's own SET by the same "
            "rule, and beside our runs of the variant and of SET:",
            "",
            to_markdown(set_like_table(cells, choice), heading=0),
        ]
    )
