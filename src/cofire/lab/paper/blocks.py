"""The runs of the paper's tables and figures: grids of them, and choices of a part."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cofire.errors import unknown_name
from cofire.lab.experiments import Run, grid
from cofire.lab.names import DATA_NAMES
from cofire.methods import METHODS
from cofire.methods.ctre.base import CTRE
from cofire.persistence.values import canonical
from cofire.search import SIMILARITIES

SIX = ("madelon", "isolet", "mnist", "fashion_mnist", "cifar10", "cifar100")
FIVE = SIX[:5]
VARIANTS = ("ctre_seq", "ctre_sim")
FIVE_METHODS = ("snip", "rigl", "set", *VARIANTS)
"""Those of the main table, in its order."""
WIDTHS = (100, 500, 1000)
EPSILONS = (1, 5, 13)

# Details of the authors' program that decide cells of the paper: CTRE's update before
# the first epoch, ties between equal similarities broken by index, and RigL's gradients
# from another batch at each update.
PROGRAM = {"first_update": "index_order", "ties": "index", "batch": "random_batch"}


@dataclass(frozen=True)
class Block:
    """A grid of runs with `seeds` seeds, counted from `first_seed`."""

    data: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    hidden: tuple[int, ...] = WIDTHS
    epsilon: tuple[float, ...] = EPSILONS
    profile: str = "masked"
    epochs: int = 500
    options: Mapping[str, Any] = field(default_factory=dict)
    similarity: str = "exact"
    first_seed: int = 0

    def runs(self) -> Iterator[Run]:
        """Yield the runs; none if no epsilon is left, not even dense networks."""
        if not self.epsilon:
            return iter(())
        runs = grid(
            data=self.data,
            methods=self.methods,
            hidden=self.hidden,
            epsilon=self.epsilon,
            seeds=range(self.first_seed, self.first_seed + self.seeds),
            profile=self.profile,
            epochs=self.epochs,
            options=self.options,
        )
        return (with_similarity(run, self.similarity) for run in runs)


def is_ctre(method: str) -> bool:
    """Whether it is a variant of CTRE, and so grows by similarity."""
    return issubclass(METHODS[method], CTRE)


def with_similarity(run: Run, similarity: str) -> Run:
    """Return the run with this search instead of the exact one, if its method is CTRE.

    A run of another method is the same with any search, and need not be run twice. The
    run's own options have priority.
    """
    if similarity == "exact" or not is_ctre(run.method):
        return run
    options = {"similarity": similarity} | json.loads(run.options)
    return replace(run, options=canonical(options))


def as_the_program(run: Run) -> Run:
    """Return the run with those details of `PROGRAM` that its method has."""
    known = {own.name for own in fields(METHODS[run.method])}
    details = {name: value for name, value in PROGRAM.items() if name in known}
    if not details:
        return run
    options = json.loads(run.options)
    options["method_options"] = details | options.get("method_options", {})
    return replace(run, options=canonical(options))


@dataclass(frozen=True)
class Choice:
    """Which runs of an item are asked for; None means all."""

    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    hidden: tuple[int, ...] | None = None
    epsilon: tuple[float, ...] | None = None
    seeds: int | None = None
    epochs: int | None = None
    similarity: str = "exact"
    program: bool = False
    """With the details of the authors' program: see `PROGRAM`."""
    quick: bool = False

    def __post_init__(self) -> None:
        for data in self.data or ():
            if data not in DATA_NAMES:
                raise unknown_name("data set", data, DATA_NAMES)
        for method in self.methods or ():
            if method not in METHODS:
                raise unknown_name("method", method, METHODS)
        if self.similarity not in SIMILARITIES:
            raise unknown_name("similarity", self.similarity, SIMILARITIES)

    def ways(self) -> str:
        """Return how the runs differ from the paper's, as the end of a file name."""
        ways = [
            f"-{self.similarity}" if self.similarity != "exact" else "",
            "-program" if self.program else "",
            "-quick" if self.quick else "",
            f"-{self.epochs}-epochs" if self.epochs else "",
        ]
        return "".join(ways)

    def of(self, block: Block) -> Block:
        """Return the part of the block that is asked for."""
        wanted = self.smallest(block) if self.quick else self
        if self.quick:
            block = replace(block, seeds=min(block.seeds, 2))
        return replace(
            block,
            data=_common(block.data, wanted.data),
            methods=_common(block.methods, wanted.methods),
            hidden=_common(block.hidden, wanted.hidden),
            epsilon=_common(block.epsilon, wanted.epsilon),
            seeds=block.seeds if self.seeds is None else min(self.seeds, block.seeds),
            epochs=self.epochs_of(block.epochs),
            similarity=self.similarity,
        )

    def epochs_of(self, epochs: int) -> int:
        """Return the epochs of runs that have `epochs` in the paper."""
        return self.epochs or (min(epochs, 60) if self.quick else epochs)

    def smallest(self, block: Block) -> "Choice":
        """Take the first data set, width and density of a block if none is chosen."""
        return replace(
            self,
            data=self.data or block.data[:1],
            hidden=self.hidden or block.hidden[:1],
            epsilon=self.epsilon or block.epsilon[:1],
        )


def _common(all_of: tuple[Any, ...], some: Iterable[Any] | None) -> tuple[Any, ...]:
    return all_of if some is None else tuple(x for x in all_of if x in set(some))
