"""The table of items: what can be reproduced, from which runs, and by what."""

from functools import partial
from typing import Any

from cofire.lab.experiments.removal import CHECKPOINTS
from cofire.lab.paper import (
    claims,
    costs,
    details,
    fair,
    figures,
    house,
    published,
    summary,
    tables,
)
from cofire.lab.paper.blocks import FIVE, FIVE_METHODS, SIX, VARIANTS, Block
from cofire.lab.paper.data_sets import data_tables
from cofire.lab.paper.item import Item, Overview

accuracies_by_data = partial(figures.accuracy_curves, title=figures.by_data)
accuracies_by_size = partial(figures.accuracy_curves, title=figures.by_size)
losses_by_data = partial(figures.loss_curves, title=figures.by_data)
losses_by_size = partial(figures.loss_curves, title=figures.by_size)


def _main(data: tuple[str, ...] = SIX, **less: Any) -> Block:
    """Return a part of the main table's runs."""
    return Block(data, less.pop("methods", FIVE_METHODS), 15, **less)


def _accuracies(
    name: str, title: str, published: str, *blocks: Block, **more: Any
) -> Item:
    """Return a table of accuracies, beside those that the paper has in a file."""
    makers = {"tables": tables.accuracy_tables} | more
    return Item(name, title, blocks, published=published, scores_only=True, **makers)


def _curves(number: int, data: str, title: str) -> Item:
    return Item(
        f"figure{number}",
        f"Test accuracy against epochs, {title}",
        (_main((data,)),),
        figures=accuracies_by_size,
    )


_PAPER = (
    Item("table1", "The data sets", tables=data_tables),
    _accuracies(
        "table2",
        "Test accuracy",
        published.MAIN_TABLE,
        Block(SIX, FIVE_METHODS, 15),
        Block(SIX, ("dense",), 3),
        tables=tables.main_tables,
        figures=partial(figures.rank_diagram, methods=FIVE_METHODS),
    ),
    Item(
        "table3",
        "Kolmogorov-Smirnov test against CTRE",
        (_main(),),
        tables=tables.significance_tables,
        scores_only=True,
    ),
    _accuracies(
        "table4",
        "Random growth or none, similar or dissimilar neurons",
        "ablation_cosine",
        _main(FIVE, methods=VARIANTS),
        Block(FIVE, ("ctre_wo_random", "ctre_sim_lth"), 3),
    ),
    _accuracies(
        "table5",
        "Cosine similarity against Hebb's product",
        "ablation_hebb",
        _main(("madelon",), methods=VARIANTS),
        Block(("madelon",), ("ctre_seq_hebb", "ctre_sim_hebb"), 3),
    ),
    Item(
        "table6",
        "Training delay, epsilon 1",
        (_main(epsilon=(1,)),),
        tables=tables.delay_tables,
    ),
    _accuracies(
        "table7",
        "Similarity from all rows, a half or a quarter of them",
        "ablation_sampling",
        _main(FIVE, methods=("ctre_sim",)),
        Block(FIVE, ("ctre_sample2", "ctre_sample4"), 3),
    ),
    _accuracies(
        "table8",
        "The pure sparse program",
        published.SPARSE_TABLE,
        Block(FIVE, ("set", *VARIANTS, "ctre_wo_random"), 3, profile="sparse"),
    ),
    _accuracies(
        "table9",
        "Cosine similarity against Euclidean distance",
        "ablation_euclidean",
        _main(methods=("ctre_sim",)),
        Block(SIX, ("ctre_sim_euclidean",), 3),
    ),
    _accuracies(
        "table10",
        "Similarity first or random growth first",
        "ablation_seq_order",
        _main(methods=("ctre_seq",)),
        Block(SIX, ("ctre_seq_abl1", "ctre_seq_abl2"), 3),
    ),
    Item(
        "figure2",
        "Test accuracy against epochs, n = 1000, epsilon 1",
        (_main(hidden=(1000,), epsilon=(1,)),),
        figures=accuracies_by_data,
    ),
    Item(
        "figure3",
        "Test accuracy against density",
        (
            Block(("pcmac",), FIVE_METHODS, 3, (1000,), (1, 2, 3, 4, 5)),
            Block(("basehock",), FIVE_METHODS, 3, (1000,), (1, 2, 3, 4, 5, 6)),
            Block(
                ("cifar100",),
                ("snip", "rigl", "set", "ctre_sim"),
                3,
                (3000,),
                tuple(range(1, 14)),
                options={"learning_rate_init": 0.05, "augment": True},
            ),
        ),
        figures=figures.tradeoff,
    ),
    Item(
        "figure4",
        "Accuracy while connections are removed, MNIST, n = 1000",
        tuple(
            Block(
                ("mnist",),
                (method,),
                3,
                (1000,),
                (13,),
                epochs=max(CHECKPOINTS),
                options={"study": "removal"},
            )
            for method in ("dense", "set")
        ),
        figures=figures.removal,
    ),
    Item(
        "figure5",
        "Cosine similarity against Hebb's product: accuracy against epochs, Madelon",
        (
            _main(("madelon",), methods=VARIANTS),
            Block(("madelon",), ("ctre_seq_hebb", "ctre_sim_hebb"), 3),
        ),
        figures=accuracies_by_size,
    ),
    Item(
        "figure6",
        "Test loss against epochs, n = 1000, epsilon 1",
        (_main(hidden=(1000,), epsilon=(1,)),),
        figures=losses_by_data,
    ),
    Item(
        "figure7",
        "Test loss against epochs, Isolet, epsilon 1",
        (
            _main(("isolet",), methods=VARIANTS, epsilon=(1,)),
            Block(("isolet",), ("ctre_wo_random",), 3, epsilon=(1,)),
        ),
        figures=losses_by_size,
    ),
    _curves(8, "madelon", "Madelon"),
    _curves(9, "isolet", "Isolet"),
    _curves(10, "mnist", "MNIST"),
    _curves(11, "fashion_mnist", "Fashion-MNIST"),
    _curves(12, "cifar10", "CIFAR10"),
    _curves(13, "cifar100", "CIFAR100"),
)
_TEXT = (
    Item(
        "rewiring",
        "The training loss just before and just after each rewiring",
        (
            Block(
                ("madelon", "isolet"),
                ("set", *VARIANTS),
                1,
                (1000,),
                (1,),
                options={"study": "rewiring"},
            ),
        ),
        figures=figures.rewiring_losses,
    ),
    Item(
        "cost",
        "What an epoch costs: training, growth, evaluation (appendix B, measured)",
        (
            Block(
                ("madelon", "isolet"),
                ("set", "rigl", "ctre_sim", "ctre_sample2", "ctre_sample4"),
                1,
                (1000,),
                (1,),
                epochs=30,
            ),
            Block(
                ("madelon", "isolet"),
                ("ctre_sim",),
                1,
                (1000,),
                (1,),
                epochs=30,
                options={"similarity": "screened"},
            ),
        ),
        tables=costs.cost_tables,
        figures=costs.cost_figures,
        alone=True,
    ),
)
_OVERVIEWS = (
    claims.Claims(
        "claims",
        "The paper's claims, one by one, from all runs that are done",
        tables=claims.claims_tables,
        of=_PAPER + _TEXT,
    ),
    Overview(
        "summary",
        "How faithful the reproduction is, from all runs that are done",
        page=summary.summary_page,
        of=_PAPER + _TEXT,
    ),
)
_BEYOND = (
    details.Details(
        "details",
        "CTRE with single details of the authors' program (beyond the paper)",
        details.BLOCKS,
        tables=details.details_tables,
        scores_only=True,
    ),
    fair.Fair(
        "fair",
        "Every method with settings chosen for it (beyond the paper)",
        tables=fair.fair_tables,
        scores_only=True,
    ),
    Item(
        "house",
        "The house method beside CTRE and SET (beyond the paper)",
        house.BLOCKS,
        tables=house.house_tables,
        scores_only=True,
    ),
)

ITEMS: dict[str, Item] = {
    item.name: item for item in (*_PAPER, *_OVERVIEWS, *_TEXT, *_BEYOND)
}
"""By name: the paper's tables and figures, what its text says, and what goes beyond."""

NOT_MADE = {"figure1": "a drawing of the method: there is nothing to run"}
