"""TableFaults: all that is wrong with a user's table, told at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_SHOWN = 20
"""Faults that are told one by one."""


@dataclass(frozen=True)
class Fault:
    """What is wrong, with what to do about it, and arguments that are a way out."""

    text: str
    remedy: Mapping[str, Any] | None = None
    """Such as {"drop": ["note"]}; None: only a change of the file helps."""


@dataclass(eq=False)
class TableFaults(ValueError):
    """The faults of one table; with one, its text is the message.

    >>> print(TableFaults([Fault("a is bad: `drop=['a']`.", {"drop": ["a"]}),
    ...                    Fault("b is bad: `drop=['b']`.", {"drop": ["b"]})]))
    2 faults:
      a is bad: `drop=['a']`.
      b is bad: `drop=['b']`.
    All of it at once: `drop=['a', 'b']`.
    """

    faults: Sequence[Fault]
    path: Path | None = None
    notes: Sequence[str] = field(default_factory=tuple)
    X: Any = None
    """The other columns, if it is the target that is at fault."""

    def __str__(self) -> str:
        return self.told(remedy=True)

    def told(self, *, remedy: bool) -> str:
        """Tell all faults; remedy: and what lets the table be used, if there is one."""
        named = "" if self.path is None else f"{self.path}: "
        hints = "".join(f" Note: {note}." for note in self.notes)
        texts = [fault.text for fault in self.faults]
        if len(texts) == 1:
            text = texts[0]
            path = "" if self.path is not None and str(self.path) in text else named
            return path + text + hints
        lines = [
            f"{named}{len(texts)} faults:",
            *(f"  {t}" for t in texts[:MOST_SHOWN]),
        ]
        if len(texts) > MOST_SHOWN:
            lines.append(f"  ... and {len(texts) - MOST_SHOWN} more of them")
        if remedy and self.remedy:
            ways = (f"`{name}={value!r}`" for name, value in self.remedy.items())
            lines.append(f"All of it at once: {', '.join(ways)}.")
        return "\n".join(lines) + hints

    @property
    def remedy(self) -> dict[str, Any] | None:
        """Arguments with which the table can be used; None if there are none."""
        merged: dict[str, Any] = {}
        for fault in self.faults:
            if fault.remedy is None:
                return None
            for name, value in fault.remedy.items():
                if isinstance(value, list):
                    value = list(dict.fromkeys([*merged.get(name, []), *value]))
                merged.setdefault(name, value)
                merged[name] = value if isinstance(value, list) else merged[name]
        dropped = set(merged.get("drop", ()))
        if dropped and "categorical" in merged:
            merged["categorical"] = [
                name for name in merged["categorical"] if name not in dropped
            ]
        return merged


def refuse(faults: Iterable[Fault]) -> None:
    """Raise all faults at once, if there are any."""
    found = list(faults)
    if found:
        raise TableFaults(found)
