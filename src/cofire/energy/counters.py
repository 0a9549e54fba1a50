"""RAPL: the energy counters of processors, as Linux shows them in files.

    /sys/class/powercap/intel-rapl:0/name                   package-0
    /sys/class/powercap/intel-rapl:0/energy_uj              a number that only grows,
    /sys/class/powercap/intel-rapl:0/max_energy_range_uj    up to this, then from 0
    /sys/class/powercap/intel-rapl:0:2/name                 dram

Processors of AMD have the same files, of the same names. Counted are packages and their
memory. Cores and graphics are parts of a package; "psys" has packages as its parts; the
zones of intel-rapl-mmio are the same packages once more: none of these is added.
"""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("/sys/class/powercap")


class NoCounter(Exception):
    """Why energy cannot be measured, in words for the user."""


@dataclass(frozen=True)
class Zone:
    """A counter: a processor, or the memory beside it."""

    name: str
    folder: Path
    limit: int
    """Where it starts from 0 again, in microjoules."""

    def read(self) -> int:
        """Microjoules since it was 0."""
        value = _number(self.folder / "energy_uj")
        if value > self.limit:
            raise NoCounter("the RAPL counters here show nonsense")
        return value

    def passed(self, before: int, now: int) -> int:
        """Microjoules between two readings, if it has been 0 once at most."""
        return now - before if now >= before else now + self.limit - before


def find_zones(folder: Path = FOLDER) -> list[Zone]:
    """All packages and their memory; `NoCounter` if one of them cannot be read."""
    zones = []
    for package in sorted(folder.glob("intel-rapl:*")):
        if package.name.count(":") != 1 or not _name(package).startswith("package"):
            continue
        zones.append(_zone(_name(package), package))
        for part in sorted(folder.glob(f"{package.name}:*")):
            if _name(part) == "dram":
                zones.append(_zone(f"dram of {_name(package)}", part))
    if not zones:
        raise NoCounter("this machine shows no RAPL counters")
    for zone in zones:
        zone.read()
    return zones


def in_words(folder: Path = FOLDER) -> str:
    """Whether energy is measured on this machine, by what, or why not."""
    try:
        return f"measured by RAPL: {', '.join(z.name for z in find_zones(folder))}"
    except NoCounter as reason:
        return f"estimated: {reason}"


def _zone(name: str, folder: Path) -> Zone:
    return Zone(name, folder, _number(folder / "max_energy_range_uj"))


def _name(zone: Path) -> str:
    return _text(zone / "name")


def _number(path: Path) -> int:
    text = _text(path)
    if not text.isascii() or not text.isdigit():
        raise NoCounter("the RAPL counters here show nonsense")
    return int(text)


def _text(path: Path) -> str:
    try:
        return path.read_bytes()[:100].decode("ascii", "replace").strip()
    except PermissionError:
        raise NoCounter(
            "the RAPL counters here may not be read, see docs/energy.md"
        ) from None
    except OSError:
        raise NoCounter("the RAPL counters here cannot be read") from None
