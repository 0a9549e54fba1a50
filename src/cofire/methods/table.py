"""The methods there are: ours, and those that installed packages add."""

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points

from cofire.methods.contract import Method

GROUP = "cofire.methods"


class MethodTable(Mapping[str, type[Method]]):
    """Method classes by name; one of another package is imported when asked for."""

    def __init__(self, own: dict[str, type[Method]]) -> None:
        self._loaded = dict(own)
        self._own = frozenset(own)

    def __getitem__(self, name: str) -> type[Method]:
        if name not in self._loaded:
            self._loaded[name] = _load(self._added[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._added

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self._loaded if name in self._own)
        yield from sorted(self._added)

    def __len__(self) -> int:
        return len(self._own) + len(self._added)

    def __repr__(self) -> str:
        return f"<{len(self)} methods: {', '.join(self)}>"

    def loaded(self) -> dict[str, type[Method]]:
        """Those whose code is here already: ours, and the added ones in use."""
        return dict(self._loaded)

    def usable(self) -> dict[str, type[Method]]:
        """All of them but those that cannot be imported."""
        for name in self:
            with contextlib.suppress(Exception):
                self[name]
        return self.loaded()

    @cached_property
    def _added(self) -> dict[str, EntryPoint]:
        added: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
            if point.name in self._own or point.name in added:
                taken = "cofire" if point.name in self._own else added[point.name].value
                warnings.warn(
                    f"the method {point.name!r} of {point.value} is left out: "
                    f"{taken} has one of that name",
                    stacklevel=2,
                )
            else:
                added[point.name] = point
        return added


def _load(point: EntryPoint) -> type[Method]:
    found = point.load()
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise TypeError(
            f"the entry point {point.name} = {point.value} in the group {GROUP} must "
            f"name a subclass of cofire.methods.Method, got {found!r}"
        )
    return found
