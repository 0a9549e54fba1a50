"""How faithful the reproduction is: a few lines and a table, from the runs done."""

from collections import Counter
from collections.abc import Collection

from cofire.experiments import Run, Store
from cofire.experiments.statistics import agreement
from cofire.paper import published
from cofire.paper.cells import Gathered, gather
from cofire.paper.items import PAPER_ITEMS, Choice, Item
from cofire.paper.tables import Cells, place
from cofire.report.table import Table, Value, to_markdown

# The best that guessing does, in per cent: the share of the largest class.
CHANCE = {"madelon": 50.0, "isolet": 4.0, "mnist": 11.4, "fashion_mnist": 10.0}
CHANCE |= {"cifar10": 10.0, "cifar100": 1.0}


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
    total: dict[tuple[str, published.Place], str | None] = {}
    for item in PAPER_ITEMS.values():
        if item.published is None:
            continue
        printed = published.accuracies(item.published)
        profile = item.blocks[0].profile
        marks: dict[tuple[str, published.Place], str | None] = dict.fromkeys(
            (profile, where) for where in printed
        )
        for cell, gathered in _of(item, cells, choice).items():
            if place(cell) in printed:
                found = agreement(gathered.percent, *printed[place(cell)])
                marks[profile, place(cell)] = found.mark
        total |= marks
        rows.append(_counts(item.name, item.title, marks.values()))
    rows.append(_counts("all", "each cell once", total.values()))
    return Table(
        "faithfulness",
        "How many cells agree with the paper",
        ("table", "what it shows", "cells", "done", "agree", "above", "below"),
        rows,
    )


def _counts(name: str, title: str, marks: Collection[str | None]) -> list[Value]:
    counts = Counter(mark for mark in marks if mark is not None)
    each = (counts[m] for m in ("agrees", "above", "below"))
    return [name, title, len(marks), counts.total(), *each]


def chance_cells(cells: Cells, choice: Choice) -> list[str]:
    """The paper's cells at chance level in the main table and table 4, and ours."""
    lines: dict[published.Place, str] = {}
    for name in ("table2", "table4"):
        item = PAPER_ITEMS[name]
        assert item.published is not None
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
    same = own <= CHANCE[where.data] + 0.5
    verdict = "at chance here too" if same else "trains here"
    spread = ours.percent.std()
    return f"{name}: {theirs:.1f} in the paper, {own:.1f} ± {spread:.1f} ({verdict})"


def summary_page(cells: Cells, choice: Choice, missing: int, total: int) -> str:
    """The page as Markdown."""
    table = faithfulness_table(cells, choice)
    last = table.rows[-1]
    _, _, _, done, agree, above, below = last
    return "\n".join(
        [
            "# How faithful the reproduction is",
            "",
            "<!-- written by `cofire reproduce summary` -->",
            "",
            f"Of the paper's cells that were run, **{agree} of {done} agree**, {above} "
            f"are above and {below} below (two standard deviations of both, and half a "
            f"point). {missing} of the {total} runs that all tables and figures need "
            "have not been made; every table says which of its runs are missing.",
            "",
            to_markdown(table, heading=0),
            "Cells that the paper has at chance level:",
            "",
            *(f"- {line}" for line in chance_cells(cells, choice)),
            "",
        ]
    )
