"""How an estimator declares its parameters: each is written once.

A parameter is a dataclass field made by a `Group`: its type, what is allowed, its words
and its default. `with_parameters` turns the fields into `__init__`, scikit-learn's
constraints and the section of the docstring that `help` shows.
"""

import textwrap
from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)
_KEY = "cofire"
_MARK = "{parameters}"  # in the docstring of a class: here the parameters are listed


@dataclass(frozen=True)
class _Declared:
    group: str
    kind: str
    allowed: tuple[Any, ...]
    text: str


class Group:
    """Parameters that belong together, under one heading.

    >>> network = Group("Network")
    >>> isinstance(network("int", [int], "Number of layers.", default=3), Field)
    True
    """

    def __init__(self, title: str) -> None:
        self.title = title

    def __call__(
        self,
        kind: str,
        allowed: Iterable[Any],
        text: str,
        *,
        default: Any,
        by_name: bool = True,
    ) -> Any:
        """Declare a parameter.

        kind: its type, in words; allowed: constraints as scikit-learn has them;
        by_name: whether it must be given by name.
        """
        declared = _Declared(self.title, kind, tuple(allowed), " ".join(text.split()))
        return field(default=default, kw_only=by_name, metadata={_KEY: declared})


def choice(names: Iterable[str]) -> str:
    """Word a choice among names.

    >>> choice(["a", "b"])
    '{"a", "b"}'
    """
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


@dataclass_transform()
def with_parameters(cls: Class) -> Class:
    """Give a class the `__init__`, constraints and docstring of its parameters."""
    dataclass(eq=False, repr=False, kw_only=True)(cls)  # changes the class itself
    declared = [(f, _declaration(cls, f.name)) for f in fields(cls)]
    constraints = {f.name: list(d.allowed) for f, d in declared}
    cls._parameter_constraints = constraints  # type: ignore[attr-defined]
    if cls.__doc__:  # None with python -OO
        cls.__doc__ = cls.__doc__.replace(_MARK, _listing(declared))
    return cls


def _declaration(cls: type, name: str) -> _Declared:
    """Find the declaration of a parameter; a subclass may change the default alone."""
    for base in cls.__mro__:
        found = base.__dict__.get("__dataclass_fields__", {}).get(name)
        if found is not None and _KEY in found.metadata:
            return found.metadata[_KEY]
    raise TypeError(f"{cls.__name__}.{name} must be declared by a Group")


def _listing(declared: list[tuple[Field, _Declared]]) -> str:
    groups: dict[str, list[str]] = {}
    for one, words in declared:
        default = f'"{one.default}"' if isinstance(one.default, str) else one.default
        head = f"{one.name} : {words.kind}, default={default}"
        entry = f"{head}\n{textwrap.indent(textwrap.fill(words.text, 76), '    ')}"
        groups.setdefault(words.group, []).append(entry)
    parts = [f"**{title}**\n\n" + "\n".join(all_) for title, all_ in groups.items()]
    return textwrap.indent("\n\n".join(parts), "    ").lstrip()
