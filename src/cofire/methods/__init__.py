"""How a topology changes: one small file a method, one row in this table."""

from cofire.errors import unknown_name
from cofire.methods.base import Grown, Method, UpdateContext
from cofire.methods.ctre import CTRESimultaneous
from cofire.methods.dense import Dense
from cofire.methods.set import SET
from cofire.methods.static import Static

__all__ = ["METHODS", "Grown", "Method", "UpdateContext", "make_method"]

METHODS: dict[str, type[Method]] = {
    "ctre_sim": CTRESimultaneous,
    "dense": Dense,
    "set": SET,
    "static": Static,
}


def make_method(method: str | Method) -> Method:
    """Return the method of this name with its defaults, or the object as it came.

    >>> make_method("set")
    SET(new_values='normal', returning='fresh')
    """
    if isinstance(method, Method):
        return method
    if method not in METHODS:
        raise unknown_name("method", method, METHODS)
    return METHODS[method]()
