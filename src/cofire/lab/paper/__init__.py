"""The CTRE paper, table by table and figure by figure."""

from cofire.errors import unknown_name
from cofire.lab.paper.blocks import Choice
from cofire.lab.paper.item import Item
from cofire.lab.paper.items import ITEMS, NOT_MADE

__all__ = ["ITEMS", "Choice", "Item", "item_named"]


def item_named(name: str) -> Item:
    """Return the item; an error names what was probably meant."""
    if name in NOT_MADE:
        raise ValueError(f"{name} is {NOT_MADE[name]}. See `cofire reproduce --list`.")
    if name not in ITEMS:
        raise unknown_name("table or figure", name, ITEMS)
    return ITEMS[name]
