"""Make a table or figure of the paper from the run store, and write its files."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cofire.data import paper_data
from cofire.data.catalog import locate
from cofire.lab.experiments import Result, Run, Store
from cofire.lab.paper import figures, tables
from cofire.lab.paper.cells import gather
from cofire.lab.paper.claims import claims_table, with_any_options
from cofire.lab.paper.costs import cost_figures, cost_table
from cofire.lab.paper.fair import Fair, diverged, fair_table
from cofire.lab.paper.figures import Figures
from cofire.lab.paper.house import house_tables
from cofire.lab.paper.items import FIVE_METHODS, Choice, Item
from cofire.lab.paper.published import rows
from cofire.lab.paper.summary import all_cells, all_runs, summary_page
from cofire.lab.paper.tables import Cells
from cofire.lab.table import Table, write_table
from cofire.persistence.atomic import write_atomically

PROGRAM_NOTE = (
    "With three details of the authors' program: an update before training has begun, "
    "places of equal similarity by their index, and RigL's gradients from another "
    "batch each time."
)
OVERVIEWS = ("claims", "summary")  # written from everything that is done
REDUCED = "REDUCED: --quick, far fewer epochs, seeds and cells than the paper's."


@dataclass
class Made:
    """What there is of an item: its tables, and the runs that are missing.

    undrawn: why its figures could not be made.
    """

    item: Item
    choice: Choice
    tables: list[Table] = field(default_factory=list)
    cells: Cells = field(default_factory=dict)
    missing: list[Run] = field(default_factory=list)
    n_runs: int = 0
    undrawn: str | None = None


def tabulate(item: Item, store: Store, choice: Choice) -> Made:
    """The tables of an item, out of those of its runs that are done."""
    if item.name in OVERVIEWS:
        made = Made(item, choice, cells=all_cells(store, choice))
        made.n_runs = len(all_runs(choice))
        if item.name == "claims":
            screened = all_cells(store, replace(choice, similarity="screened"))
            made.cells = with_any_options(made.cells | screened)
            about = reductions(choice)
            epochs = choice.epochs_of(500)
            table = claims_table(made.cells, about, epochs)
            made.tables = [table] if made.cells else []
        return made
    wanted = item.runs(choice)
    done = _results(item, wanted, store)
    if isinstance(item, Fair):
        wanted = wanted + item.fresh(choice, done, diverged(store))
    there = {result.run for result in done}
    made = Made(item, choice, cells=gather(done, wanted), n_runs=len(wanted))
    made.missing = [run for run in wanted if run not in there]
    if made.cells or not item.needs_runs:
        about = caption(item, choice, wanted, made.missing)
        made.tables = _tables(item, choice, made.cells, about)
    return made


def _results(item: Item, runs: list[Run], store: Store) -> list[Result]:
    """What is done of the runs; one that was imported has no curves to draw."""
    found = store.results(
        curves=() if item.scores_only else None,
        data=sorted({run.data for run in runs}),
        method=sorted({run.method for run in runs}),
    )
    return [result for result in found if item.scores_only or result.curves]


def write(made: Made, folder: Path) -> list[Path]:
    """Write the files of an item: its tables, its figures."""
    # What was made in another way must not take the place of the paper's way.
    ways = made.choice.ways()
    tables = [replace(table, name=table.name + ways) for table in made.tables]
    files = [file for table in tables for file in write_table(table, folder)]
    if made.item.name == "summary" and made.cells:
        n_done = sum(len(gathered.results) for gathered in made.cells.values())
        missing = made.n_runs - n_done
        about = reductions(made.choice)
        page = summary_page(made.cells, made.choice, about, missing, made.n_runs)
        files.append(folder / f"summary{ways}.md")
        write_atomically(files[-1], page.encode())
    try:
        drawn = _figures(made.item, made.cells) if made.cells else {}
        for ending, figure in drawn.items():
            from cofire.lab.report.panels import note_below
            from cofire.lab.report.plots import save_figure

            if made.choice.quick:
                note_below(figure, "REDUCED: --quick, a part of the runs.")
            files += save_figure(figure, folder, f"{made.item.name}{ending}{ways}")
    except ImportError as error:  # matplotlib is not everywhere; tables are
        made.undrawn = f"no figures: {error}"
    return files


def caption(item: Item, choice: Choice, runs: list[Run], missing: list[Run]) -> str:
    """How the figures came about, what was left out and what is missing."""
    profiles = sorted({run.profile for run in runs})
    epochs = sorted({run.epochs for run in runs})
    words = [
        "Test accuracy in per cent at the epoch that validated best, mean ± population "
        "standard deviation over seeds."
        if item.published
        else "",
        f"Profile {' and '.join(profiles)}, {'/'.join(map(str, epochs))} epochs, "
        f"similarity {choice.similarity}."
        if runs
        else "",
        PROGRAM_NOTE if choice.program else "",
        REDUCED if choice.quick and runs else "",
        f"{len(missing)} of {len(runs)} runs are missing: {_cells(missing)}."
        if missing
        else "",
    ]
    return " ".join(word for word in words if word)


def reductions(choice: Choice) -> str:
    """In what an overview's runs are less than the paper's, or otherwise."""
    words = [
        REDUCED if choice.quick else "",
        f"Of {choice.epochs} epochs instead of 500." if choice.epochs else "",
        PROGRAM_NOTE if choice.program else "",
    ]
    return " ".join(word for word in words if word)


def _cells(missing: list[Run]) -> str:
    """Which data sets, widths and densities the missing runs are of."""
    found: dict[str, int] = {}
    for run in missing:
        eps = "dense" if run.epsilon is None else f"eps {run.epsilon:g}"
        name = f"{run.data} n = {run.hidden} {eps}"
        found[name] = found.get(name, 0) + 1
    named = [f"{name} ({n})" for name, n in found.items()]
    more = f" and {len(named) - 8} more cells" if len(named) > 8 else ""
    return ", ".join(named[:8]) + more


def _tables(item: Item, choice: Choice, cells: Cells, about: str) -> list[Table]:
    if item.name == "table1":
        return [tables.data_table(_data_facts(choice))]
    if isinstance(item, Fair):
        own = [result for found in cells.values() for result in found.results]
        return [fair_table(own, about)]
    if item.name == "house":
        return house_tables(cells, about)
    if item.published is not None:
        made = [tables.accuracy_table(item, cells, about)]
        return made + [tables.density_table(cells)] if item.name == "table2" else made
    own_way = {
        "table3": tables.significance_table,
        "table6": tables.delay_table,
        "cost": cost_table,
    }
    return [own_way[item.name](cells, about)] if item.name in own_way else []


def _data_facts(choice: Choice) -> dict[str, dict[str, int]]:
    """Of the data sets that are on this machine."""
    facts = {}
    for row in rows("datasets"):
        name = row["dataset"].lower().replace("-", "_")
        if choice.data is not None and name not in choice.data:
            continue
        try:
            locate(name)
        except FileNotFoundError:
            continue
        data = paper_data(name)
        train, test = len(data.y_train), len(data.y_test)
        facts[name] = {
            "dimensions": data.X_train.shape[1],
            "samples": train + test,
            "train": train,
            "test": test,
            "classes": len(set(data.y_train.tolist())),
        }
    return facts


def _figures(item: Item, cells: Cells) -> Figures:
    make = _DRAWN.get(item.name)
    return {} if make is None else make(cells)


_DRAWN: dict[str, Callable[[Cells], Figures]] = {
    "table2": lambda cells: figures.rank_diagram(cells, FIVE_METHODS),
    "figure2": lambda cells: figures.accuracy_curves(cells, figures.by_data),
    "figure3": figures.tradeoff,
    "figure4": figures.removal,
    "figure6": lambda cells: figures.loss_curves(cells, figures.by_data),
    "figure7": lambda cells: figures.loss_curves(cells, figures.by_size),
    "rewiring": figures.rewiring_losses,
    "cost": cost_figures,
    **{
        f"figure{k}": lambda cells: figures.accuracy_curves(cells, figures.by_size)
        for k in (5, 8, 9, 10, 11, 12, 13)
    },
}
