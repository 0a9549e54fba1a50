"""The paper's tables and figures as data: what each shows, and which runs it needs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cofire.errors import unknown_name
from cofire.lab.experiments import Store
from cofire.lab.experiments.grid import Run, grid
from cofire.lab.experiments.removal import CHECKPOINTS
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
# training has begun, places of equal similarity by their index, and RigL's gradients
# from another batch at each update.
PROGRAM = {"first_update": "index_order", "ties": "index", "batch": "random_batch"}


@dataclass(frozen=True)
class Block:
    """A grid of runs; `seeds` is their number, from `first_seed` on."""

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
        if not self.epsilon:  # else dense networks, which have none, would stay
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
    """The run with this search in place of the exact one, if its method has a use.

    A run of SET is the same whatever CTRE searches by, and is not to be run twice. What
    the run's own options say stands.
    """
    if similarity == "exact" or not is_ctre(run.method):
        return run
    options = {"similarity": similarity} | json.loads(run.options)
    return replace(run, options=canonical(options))


def as_the_program(run: Run) -> Run:
    """The run with the details of `PROGRAM` that its method has."""
    known = {own.name for own in fields(METHODS[run.method])}
    details = {name: value for name, value in PROGRAM.items() if name in known}
    if not details:
        return run
    options = json.loads(run.options)
    options["method_options"] = details | options.get("method_options", {})
    return replace(run, options=canonical(options))


@dataclass(frozen=True)
class Choice:
    """What is asked for of an item; None is all of it."""

    data: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    hidden: tuple[int, ...] | None = None
    epsilon: tuple[float, ...] | None = None
    seeds: int | None = None
    epochs: int | None = None
    similarity: str = "exact"
    program: bool = False
    """As the authors' program did it: see `PROGRAM`."""
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
        """How the runs differ from the paper's, as the end of a file's name."""
        ways = [
            f"-{self.similarity}" if self.similarity != "exact" else "",
            "-program" if self.program else "",
            "-quick" if self.quick else "",
            f"-{self.epochs}-epochs" if self.epochs else "",
        ]
        return "".join(ways)

    def of(self, block: Block) -> Block:
        """The block without what is not asked for."""
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
        """For how many epochs runs are trained that have so many in the paper."""
        return self.epochs or (min(epochs, 60) if self.quick else epochs)

    def smallest(self, block: Block) -> "Choice":
        """Where nothing was said: the first data set, width and density of a block."""
        return replace(
            self,
            data=self.data or block.data[:1],
            hidden=self.hidden or block.hidden[:1],
            epsilon=self.epsilon or block.epsilon[:1],
        )


def _common(all_of: tuple[Any, ...], some: Iterable[Any] | None) -> tuple[Any, ...]:
    return all_of if some is None else tuple(x for x in all_of if x in set(some))


@dataclass(frozen=True)
class Item:
    """A table or figure: its title, and the runs that it is made of.

    published: the file that has the paper's accuracies for it. alone: its runs are
    timed, so they run one after the other. scores_only: it has no use for curves.
    """

    name: str
    title: str
    blocks: tuple[Block, ...] = ()
    published: str | None = None
    alone: bool = False
    scores_only: bool = False

    @property
    def needs_runs(self) -> bool:
        """Whether there is nothing to say without any."""
        return bool(self.blocks)

    def runs(self, choice: Choice) -> list[Run]:
        """The runs it needs, a few seeds of every cell first."""
        runs = [run for block in self.blocks for run in choice.of(block).runs()]
        if choice.program:
            runs = [as_the_program(run) for run in runs]
        order = {run: i for i, run in enumerate(dict.fromkeys(runs))}
        return sorted(order, key=lambda run: (run.seed // 3, order[run]))

    def stages(self, choice: Choice, store: Store) -> Iterator[list[Run]]:
        """The runs in the order they are run; a later stage may depend on results."""
        yield self.runs(choice)


_MAIN = (Block(SIX, FIVE_METHODS, 15), Block(SIX, ("dense",), 3))


def _main(data: tuple[str, ...] = SIX, **less: Any) -> Block:
    """Part of the main table's runs."""
    return Block(data, less.pop("methods", FIVE_METHODS), 15, **less)


def _curves(number: int, data: str, title: str) -> Item:
    return Item(
        f"figure{number}", f"Test accuracy against epochs, {title}", (_main((data,)),)
    )


_ITEMS = (
    Item("table1", "The data sets"),
    Item("table2", "Test accuracy", _MAIN, "results_main", scores_only=True),
    Item(
        "table3",
        "Kolmogorov-Smirnov test against CTRE",
        (_main(),),
        scores_only=True,
    ),
    Item(
        "table4",
        "Random growth or none, similar or dissimilar neurons",
        (
            _main(FIVE, methods=("ctre_seq", "ctre_sim")),
            Block(FIVE, ("ctre_wo_random", "ctre_sim_lth"), 3),
        ),
        "ablation_cosine",
        scores_only=True,
    ),
    Item(
        "table5",
        "Cosine similarity against Hebb's product",
        (
            _main(("madelon",), methods=("ctre_seq", "ctre_sim")),
            Block(("madelon",), ("ctre_seq_hebb", "ctre_sim_hebb"), 3),
        ),
        "ablation_hebb",
        scores_only=True,
    ),
    Item("table6", "Training delay, epsilon 1", (_main(epsilon=(1,)),)),
    Item(
        "table7",
        "Similarity from all rows, a half or a quarter of them",
        (
            _main(FIVE, methods=("ctre_sim",)),
            Block(FIVE, ("ctre_sample2", "ctre_sample4"), 3),
        ),
        "ablation_sampling",
        scores_only=True,
    ),
    Item(
        "table8",
        "The pure sparse program",
        (
            Block(
                FIVE,
                ("set", "ctre_seq", "ctre_sim", "ctre_wo_random"),
                3,
                profile="sparse",
            ),
        ),
        "pure_sparse",
        scores_only=True,
    ),
    Item(
        "table9",
        "Cosine similarity against Euclidean distance",
        (_main(methods=("ctre_sim",)), Block(SIX, ("ctre_sim_euclidean",), 3)),
        "ablation_euclidean",
        scores_only=True,
    ),
    Item(
        "table10",
        "Similarity first or random growth first",
        (
            _main(methods=("ctre_seq",)),
            Block(SIX, ("ctre_seq_abl1", "ctre_seq_abl2"), 3),
        ),
        "ablation_seq_order",
        scores_only=True,
    ),
    Item(
        "figure2",
        "Test accuracy against epochs, n = 1000, epsilon 1",
        (_main(hidden=(1000,), epsilon=(1,)),),
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
    ),
    Item(
        "figure5",
        "Cosine similarity against Hebb's product: accuracy against epochs, Madelon",
        (
            _main(("madelon",), methods=("ctre_seq", "ctre_sim")),
            Block(("madelon",), ("ctre_seq_hebb", "ctre_sim_hebb"), 3),
        ),
    ),
    Item(
        "figure6",
        "Test loss against epochs, n = 1000, epsilon 1",
        (_main(hidden=(1000,), epsilon=(1,)),),
    ),
    Item(
        "figure7",
        "Test loss against epochs, Isolet, epsilon 1",
        (
            _main(("isolet",), methods=("ctre_seq", "ctre_sim"), epsilon=(1,)),
            Block(("isolet",), ("ctre_wo_random",), 3, epsilon=(1,)),
        ),
    ),
    _curves(8, "madelon", "Madelon"),
    _curves(9, "isolet", "Isolet"),
    _curves(10, "mnist", "MNIST"),
    _curves(11, "fashion_mnist", "Fashion-MNIST"),
    _curves(12, "cifar10", "CIFAR10"),
    _curves(13, "cifar100", "CIFAR100"),
    Item("claims", "The paper's claims, one by one, from all runs that are done"),
    Item("summary", "How faithful the reproduction is, from all runs that are done"),
    Item(
        "rewiring",
        "The training loss just before and just after each rewiring",
        (
            Block(
                ("madelon", "isolet"),
                ("set", "ctre_seq", "ctre_sim"),
                1,
                (1000,),
                (1,),
                options={"study": "rewiring"},
            ),
        ),
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
        alone=True,
    ),
)
PAPER_ITEMS = {item.name: item for item in _ITEMS}
