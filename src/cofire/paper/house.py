"""The proof of the house method: beside CTRE and SET, by settings fixed beforehand."""

from cofire.paper.items import EPSILONS, WIDTHS, Block, Item

TABULAR = ("madelon", "isolet")
IMAGES = ("mnist", "fashion_mnist")
TEXT = ("pcmac", "basehock")
RIVALS = ("set", "ctre_seq", "ctre_sim")


def _ours(
    data: tuple[str, ...],
    methods: tuple[str, ...] = ("cofire",),
    hidden: tuple[int, ...] = (1000,),
    epsilon: tuple[float, ...] = (1,),
) -> Block:
    """Runs under our own protocol."""
    return Block(data, methods, 15, hidden, epsilon, profile="house")


HOUSE = Item(
    "house",
    "The house method beside CTRE and SET (beyond the paper)",
    (
        _ours(TABULAR, hidden=WIDTHS, epsilon=EPSILONS),
        _ours(IMAGES),
        _ours(TEXT),
        _ours((*TABULAR, *IMAGES, *TEXT), epsilon=(0.5,)),
        _ours(TABULAR, RIVALS, hidden=WIDTHS),
        _ours((*IMAGES, *TEXT), RIVALS),
        _ours(IMAGES, epsilon=(13,)),
    ),
    scores_only=True,
)
