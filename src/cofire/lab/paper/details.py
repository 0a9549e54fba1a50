"""Which single detail of the authors' program decides CTRE's cells at chance."""

import json
from dataclasses import dataclass
from typing import Any

from cofire.lab.experiments import Run
from cofire.lab.experiments.statistics import agreement
from cofire.lab.names import data_name, method_name
from cofire.lab.paper import published
from cofire.lab.paper.blocks import VARIANTS, Block, Choice
from cofire.lab.paper.item import Found, Item
from cofire.lab.paper.tables import printed_cell
from cofire.lab.table import MeanSpread, Table, Value

DETAILS: dict[str, dict[str, Any]] = {
    "none": {},
    "update before training": {"first_update": "index_order"},
    "ties by index": {"ties": "index"},
    "similarity from the last batch": {"rows": "last_batch"},
}
"""Options of CTRE, by the name in the table. RigL has one detail alone: `--program`."""


BLOCKS = tuple(
    Block(
        *(("madelon",), (*VARIANTS, "ctre_wo_random"), 5, (1000,), (1,)),
        options={"method_options": detail} if detail else {},
    )
    for detail in DETAILS.values()
)


@dataclass(frozen=True)
class Details(Item):
    """Runs with one detail each; there are none with all of them."""

    def runs(self, choice: Choice) -> list[Run]:
        return [] if choice.program else super().runs(choice)


def details_tables(found: Found) -> list[Table]:
    """Return one row per cell and detail: ours, the paper's, and whether they agree."""
    printed = published.accuracies("ablation_cosine") | published.accuracies(
        published.MAIN_TABLE
    )
    rows: list[list[Value]] = []
    order = {cell: i for i, cell in enumerate(map(printed_cell, found.cells))}
    for cell in sorted(
        found.cells, key=lambda c: (order[printed_cell(c)], _position(c.options))
    ):
        gathered, theirs = found.cells[cell], printed[printed_cell(cell)]
        beside = agreement(gathered.percent, *theirs)
        rows.append(
            [
                *(data_name(cell.data), cell.hidden, cell.epsilon),
                *(method_name(cell.method), _detail(cell.options)),
                *(MeanSpread.of(gathered.percent), len(gathered.results)),
                *(MeanSpread(theirs.mean, theirs.spread), theirs.seeds),
                *(beside.difference, beside.p, beside.mark),
            ]
        )
    table = Table(
        "details",
        "CTRE with single details of the authors' program",
        (
            *("data", "n", "eps", "method", "detail", "ours", "seeds"),
            *("paper", "seeds there", "difference", "p", "mark"),
        ),
        rows,
        f"{found.about} Each run has at most one detail of the authors' program, so "
        "that its effect can be seen alone. A cell agrees if the means differ by at "
        "most 2 sqrt(sd_paper² + sd_ours²) + 0.5 points. p: Welch's test of equal "
        "means, not corrected.",
        digits_of={"eps": 0, "p": 4},
    )
    return [table]


def _position(options: str) -> int:
    own = json.loads(options).get("method_options", {})
    return list(DETAILS.values()).index(own)


def _detail(options: str) -> str:
    return list(DETAILS)[_position(options)]
