"""Make a table or figure of the paper from the run store, and write its files."""

from dataclasses import dataclass, replace
from pathlib import Path

from cofire.lab.experiments import Store
from cofire.lab.paper.blocks import Choice
from cofire.lab.paper.item import Found, Item
from cofire.lab.report.look import save_figure
from cofire.lab.report.panels import note_below
from cofire.lab.table import Table, write_table
from cofire.persistence.atomic import write_atomically


@dataclass
class Made:
    """What there is of an item: the runs found, and the tables made of them.

    undrawn: why its figures could not be made.
    """

    found: Found
    tables: list[Table]
    undrawn: str | None = None


def tabulate(item: Item, store: Store, choice: Choice) -> Made:
    """Make the tables of an item from those of its runs that are done."""
    found = item.find(store, choice)
    enough = bool(found.cells) or not item.needs_runs
    return Made(found, item.tables(found) if item.tables and enough else [])


def write(made: Made, folder: Path) -> list[Path]:
    """Write the files of an item: its tables, its page, its figures."""
    item, choice = made.found.item, made.found.choice
    # Runs that differ from the paper's must not replace the files of the paper's.
    ways = choice.ways()
    tables = [replace(table, name=table.name + ways) for table in made.tables]
    files = [file for table in tables for file in write_table(table, folder)]
    if not made.found.cells:
        return files
    if item.page is not None:
        files.append(folder / f"{item.name}{ways}.md")
        write_atomically(files[-1], item.page(made.found).encode())
    try:
        drawn = item.figures(made.found.cells) if item.figures else {}
        for ending, figure in drawn.items():
            if choice.quick:
                note_below(figure, "REDUCED: --quick, a part of the runs.")
            files += save_figure(figure, folder, f"{item.name}{ending}{ways}")
    except ImportError as error:  # matplotlib is optional
        made.undrawn = f"no figures: {error}"
    return files
