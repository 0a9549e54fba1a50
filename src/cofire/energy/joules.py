"""Energy: an amount of joules, with where the figure comes from."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import Any

RAPL, ESTIMATE = "rapl", "estimate"
VARIABLE = "COFIRE_WATTS_PER_CORE"
# What Green Algorithms (Lannelongue et al., 2021) takes for a core of any processor:
# its thermal design power. 4 W is usual for servers with many cores, 24 W for desktops
# with few (data/latest/TDP_cpu.csv of GreenAlgorithms/green-algorithms-tool).
WATTS_PER_CORE = 12.0


@dataclass(frozen=True)
class Energy:
    """Joules, and how they are known.

    source: "rapl", measured, or "estimate"; a sum with an estimate in it is one.
    assumption: what an estimate rests on; of a measurement, what it covers.
    core_seconds: the time that the cores worked for this process, added up.
    complete: False if a part is missing, such as epochs of a file without energy.

    >>> used = Energy(24.0, "estimate", "12 W per core", seconds=1.5, core_seconds=2.0)
    >>> print(used)
    about 24 J, estimated: 2 core-seconds, 12 W per core
    >>> (used + used).joules
    48.0
    """

    joules: float
    source: str
    assumption: str
    seconds: float
    core_seconds: float
    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict, for JSON."""
        return asdict(self)

    @property
    def watts_per_core(self) -> float:
        """Joules per core-second; the usual figure where there were too few to say."""
        if self.core_seconds > 0 and self.joules > 0:
            return self.joules / self.core_seconds
        return watts_per_core()

    def __add__(self, other: "Energy") -> "Energy":
        parts = [*self.assumption.split("; "), *other.assumption.split("; ")]
        return Energy(
            self.joules + other.joules,
            self.source if self.source == other.source else ESTIMATE,
            "; ".join(dict.fromkeys(parts)),
            self.seconds + other.seconds,
            self.core_seconds + other.core_seconds,
            self.complete and other.complete,
        )

    def times(self, factor: float) -> "Energy":
        """The energy of `factor` times as much of the same work."""
        return replace(
            self,
            joules=factor * self.joules,
            seconds=factor * self.seconds,
            core_seconds=factor * self.core_seconds,
        )

    def with_a_part_missing(self) -> "Energy":
        """The same joules, which are not all."""
        return replace(self, complete=False)

    @property
    def amount(self) -> str:
        """The joules in words: "24 J", or "about 24 J" for an estimate."""
        about = "" if self.source == RAPL else "about "
        return about + joules_in_words(self.joules)

    @property
    def basis(self) -> str:
        """Where the figure comes from, in words."""
        part = "" if self.complete else "without the part that was not recorded; "
        if self.source == RAPL:
            return f"{part}measured by RAPL: {self.assumption}"
        worked = f"{self.core_seconds:.3g} core-seconds"
        return f"{part}estimated: {worked}, {self.assumption}"

    def __str__(self) -> str:
        return f"{self.amount}, {self.basis}"


def joules_in_words(joules: float) -> str:
    """Write joules with a prefix.

    >>> [joules_in_words(j) for j in (0.0, 4.1e-5, 0.0123, 41.23, 52_340.0)]
    ['0 J', '41 µJ', '12.3 mJ', '41.2 J', '52.3 kJ']
    """
    for limit, unit, name in ((1e3, 1e3, "kJ"), (1, 1, "J"), (1e-3, 1e-3, "mJ")):
        if joules >= limit:
            return f"{joules / unit:.3g} {name}" if joules < 1e6 else f"{joules:.3g} J"
    return f"{joules / 1e-6:.3g} µJ" if joules > 0 else "0 J"


def estimated(
    core_seconds: float, seconds: float, watts: float, *, reason: str
) -> Energy:
    """Core-seconds at so many watts; reason: why nothing was measured."""
    assumption = f"{watts:.3g} W per core; {reason}"
    return Energy(core_seconds * watts, ESTIMATE, assumption, seconds, core_seconds)


def watts_per_core() -> float:
    """What a core is assumed to draw: `COFIRE_WATTS_PER_CORE`, or 12 W."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return WATTS_PER_CORE
    try:
        return checked_watts(float(given))
    except ValueError:
        raise ValueError(
            f"{VARIABLE}={given!r}: expected a number of watts greater than 0, such as "
            f"{WATTS_PER_CORE:g}. Correct it, or unset it."
        ) from None


def checked_watts(watts: float) -> float:
    """Return it; a ValueError if no core can draw that."""
    if not isinstance(watts, Real) or not 0 < watts < math.inf:
        raise ValueError(
            f"watts_per_core={watts!r}: expected a number of watts greater than 0, "
            f"such as {WATTS_PER_CORE:g}."
        )
    return float(watts)


def energy_from(plain: Any) -> Energy | None:
    """Undo `Energy.to_dict`; None stays None. A ValueError if it is neither.

    Entries that a later version may have added are left out.
    """
    if plain is None:
        return None
    if not isinstance(plain, Mapping):
        raise ValueError("energy: expected values by name")
    for name in ("joules", "seconds", "core_seconds"):
        value = plain.get(name)
        if type(value) is not float or not 0 <= value < math.inf:
            raise ValueError(f"energy: {name} must be a number that is 0 or more")
    if plain.get("source") not in (RAPL, ESTIMATE):
        raise ValueError(f"energy: source must be {RAPL!r} or {ESTIMATE!r}")
    if type(plain.get("assumption")) is not str:
        raise ValueError("energy: assumption must be a text")
    if type(plain.get("complete")) is not bool:
        raise ValueError("energy: complete must be true or false")
    return Energy(**{name: plain[name] for name in Energy.__dataclass_fields__})
