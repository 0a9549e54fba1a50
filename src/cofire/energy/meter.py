"""measure(): the energy of what a `with` block does."""

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from cofire.energy.counters import FOLDER, NoCounter, Zone, find_zones
from cofire.energy.joules import (
    RAPL,
    Energy,
    checked_watts,
    estimated,
    watts_per_core,
)

# The counters of AMD's processors start from 0 again after 65 kJ: 2 minutes at 500 W.
_SECONDS_BETWEEN_READINGS = 20.0


def measure(
    *, watts_per_core: float | None = None, folder: str | Path = FOLDER
) -> "Meter":
    """Measure the energy of a `with` block, or estimate it where that is impossible.

    watts_per_core: what an estimate takes; None: the environment variable
    COFIRE_WATTS_PER_CORE, else 12. folder: where Linux shows the counters.

    Counters see whole processors: all threads, all processes, other programs too. An
    estimate sees the time that cores worked for this process, and no other process.

    >>> from cofire import energy
    >>> with energy.measure(watts_per_core=10, folder="nowhere") as spent:
    ...     _ = sum(range(1_000_000))
    >>> spent.energy.assumption
    '10 W per core; this machine shows no RAPL counters'
    """
    return Meter(watts_per_core, Path(folder))


class Meter:
    """Counts joules from the beginning of its `with` block to the end.

    `energy` is what was used so far, and once the block has ended, in it.
    """

    def __init__(self, watts: float | None, folder: Path = FOLDER) -> None:
        self._watts = watts_per_core() if watts is None else checked_watts(watts)
        self._folder = folder
        self._zones: list[Zone] = []
        self._counted: list[int] = []  # microjoules of each zone
        self._last: list[int] = []
        self._reason = "its measurement has not begun"
        self._lock, self._over = threading.Lock(), threading.Event()
        self._final: Energy | None = None
        self._began = self._clocks()

    def __enter__(self) -> Self:
        self._reason = ""
        try:
            self._zones = find_zones(self._folder)
            self._last = [zone.read() for zone in self._zones]
        except NoCounter as reason:
            self._give_up(reason)
        self._counted = [0] * len(self._zones)
        self._began = self._clocks()
        if self._zones:
            self._start_reading()
        return self

    def _start_reading(self) -> None:
        reader = threading.Thread(
            target=self._read_now_and_then, name="cofire energy", daemon=True
        )
        try:
            reader.start()
        except RuntimeError:  # as many threads as there may be
            self._give_up(NoCounter("no thread was left to read the RAPL counters"))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._final = self._so_far()

    @property
    def energy(self) -> Energy:
        """What was used."""
        return self._so_far() if self._final is None else self._final

    def _so_far(self) -> Energy:
        seconds, core_seconds = (
            now - then for now, then in zip(self._clocks(), self._began, strict=True)
        )
        self._read()
        with self._lock:
            zones, counted, reason = self._zones, self._counted, self._reason
            # A counter moves every millisecond; a machine may show one that never does.
            if zones and not all(
                n > 0
                for n, zone in zip(counted, zones, strict=True)
                if zone.name.startswith("package")
            ):
                reason = "the RAPL counters did not move"
            if not reason:
                covered = ", ".join(zone.name for zone in zones)
                return Energy(
                    sum(counted) / 1e6,
                    RAPL,
                    f"{covered}, with all that ran there",
                    seconds,
                    core_seconds,
                )
        return estimated(core_seconds, seconds, self._watts, reason=reason)

    def _read_now_and_then(self) -> None:
        while not self._over.wait(_SECONDS_BETWEEN_READINGS):
            self._read()

    def _read(self) -> None:
        """Add up what the counters counted since the last reading."""
        with self._lock:
            try:
                readings = [zone.read() for zone in self._zones]
            except NoCounter as reason:
                self._give_up(reason)
                return
            for i, (zone, now) in enumerate(zip(self._zones, readings, strict=True)):
                self._counted[i] += zone.passed(self._last[i], now)
            self._last = readings

    def _give_up(self, reason: NoCounter) -> None:
        """From now on the whole is an estimate: a part of the joules is not known."""
        self._zones, self._reason = [], str(reason)

    @staticmethod
    def _clocks() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()
