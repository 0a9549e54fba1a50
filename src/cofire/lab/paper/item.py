"""What a table or figure is: the runs that it needs, and what is made of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cofire.lab.experiments import Result, Run, Store
from cofire.lab.paper.blocks import Block, Choice, as_the_program
from cofire.lab.paper.captions import caption, reductions
from cofire.lab.paper.cells import Cells, gather
from cofire.lab.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Mapping[str, "Figure"]
"""By the ending of the file's name: "" for the figure itself."""


@dataclass(frozen=True, eq=False)
class Found:
    """What the store has of an item: finished runs by cell, and those that are missing.

    about: what captions say of the runs. items: what an overview is made of.
    """

    item: "Item"
    choice: Choice
    cells: Cells
    n_runs: int = 0
    missing: Sequence[Run] = ()
    about: str = ""
    items: Sequence["Item"] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure: its title, the runs that it needs, and what makes its files.

    tables and figures are called with finished runs only, unless the item needs none.
    page: writes a page of its own, NAME.md. published: the file that has the paper's
    accuracies for it. alone: its runs are timed, so they run one after the other.
    scores_only: it does not use curves.
    """

    name: str
    title: str
    blocks: tuple[Block, ...] = ()
    tables: Callable[[Found], list[Table]] | None = None
    figures: Callable[[Cells], Figures] | None = None
    page: Callable[[Found], str] | None = None
    published: str | None = None
    alone: bool = False
    scores_only: bool = False

    @property
    def needs_runs(self) -> bool:
        """Whether nothing can be made of it without runs."""
        return bool(self.blocks)

    def runs(self, choice: Choice) -> list[Run]:
        """Return the runs it needs, a few seeds of every cell first."""
        runs = [run for block in self.blocks for run in choice.of(block).runs()]
        if choice.program:
            runs = [as_the_program(run) for run in runs]
        order = {run: i for i, run in enumerate(dict.fromkeys(runs))}
        return sorted(order, key=lambda run: (run.seed // 3, order[run]))

    def later_runs(
        self, choice: Choice, store: Store, done: Sequence[Result]
    ) -> list[Run]:
        """Return further runs that depend on the results of the first ones."""
        return []

    def stages(self, choice: Choice, store: Store) -> Iterator[list[Run]]:
        """Yield the runs in the order they are run; a later stage may need results."""
        yield self.runs(choice)

    def find(self, store: Store, choice: Choice) -> Found:
        """Look up which of the runs are done."""
        wanted = self.runs(choice)
        done = self.results(store, wanted)
        wanted = wanted + self.later_runs(choice, store, done)
        there = {result.run for result in done}
        missing = [run for run in wanted if run not in there]
        about = caption(choice, wanted, missing, accuracies=self.published is not None)
        return Found(self, choice, gather(done, wanted), len(wanted), missing, about)

    def results(self, store: Store, runs: Sequence[Run]) -> list[Result]:
        """Return what is done of the data sets and methods of these runs.

        A run that was imported has no curves: it counts for scores only.
        """
        found = store.results(
            curves=() if self.scores_only else None,
            data=sorted({run.data for run in runs}),
            method=sorted({run.method for run in runs}),
        )
        return [result for result in found if self.scores_only or result.curves]


@dataclass(frozen=True)
class Overview(Item):
    """An item that is made from whatever is done of other items."""

    of: tuple[Item, ...] = field(default=(), kw_only=True)

    @property
    def needs_runs(self) -> bool:
        return True

    def find(self, store: Store, choice: Choice) -> Found:
        cells = self.cells(store, choice)
        n_runs = len(self._all_runs(choice))
        about = reductions(choice)
        return Found(self, choice, cells, n_runs, about=about, items=self.of)

    def cells(self, store: Store, choice: Choice) -> Cells:
        """Return everything that is done of the other items."""
        return gather(store.results(), self._all_runs(choice))

    def _all_runs(self, choice: Choice) -> set[Run]:
        return {run for item in self.of for run in item.runs(choice)}
