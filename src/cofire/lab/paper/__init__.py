"""The CTRE paper, table by table and figure by figure."""

from cofire.errors import unknown_name
from cofire.lab.paper.fair import FAIR
from cofire.lab.paper.house import HOUSE
from cofire.lab.paper.items import PAPER_ITEMS, Choice, Item

__all__ = ["ITEMS", "Choice", "Item", "item_named"]

ITEMS: dict[str, Item] = {**PAPER_ITEMS, FAIR.name: FAIR, HOUSE.name: HOUSE}
"""By name: the paper's tables and figures, and some that go beyond it."""


def item_named(name: str) -> Item:
    """The item; an error names what was probably meant."""
    if name == "figure1":
        raise ValueError(
            "figure1 is a drawing of the method: there is nothing to run. See "
            "`cofire reproduce --list`."
        )
    if name not in ITEMS:
        raise unknown_name("table or figure", name, ITEMS)
    return ITEMS[name]
