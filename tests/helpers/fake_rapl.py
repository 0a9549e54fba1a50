"""A folder like /sys/class/powercap, with counters that tests set."""

LIMIT = 262_143_328_850  # a usual max_energy_range_uj of Intel; AMD's is a quarter


class FakeRapl:
    """Zones by the names of their folders: "intel-rapl:0", "intel-rapl:0:2"."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "intel-rapl").mkdir(parents=True)  # as in a real one: without files

    def add(self, zone, name, energy=0, limit=LIMIT):
        """Add a zone with a counter of microjoules."""
        (self.folder / zone).mkdir()
        (self.folder / zone / "name").write_text(f"{name}\n")
        (self.folder / zone / "max_energy_range_uj").write_text(f"{limit}\n")
        self.set(zone, energy)
        return self

    def set(self, zone, energy):
        """Let a counter show a number, or a text."""
        new = self.folder / zone / "new"
        new.write_text(f"{energy}\n")
        new.replace(self.folder / zone / "energy_uj")  # a reader never sees half of it


def server(folder):
    """Two processors with memory, cores, and the zones that count things twice."""
    fake = FakeRapl(folder)
    for i in (0, 1):
        fake.add(f"intel-rapl:{i}", f"package-{i}", energy=1_000_000 * i)
        fake.add(f"intel-rapl:{i}:0", "core")
        fake.add(f"intel-rapl:{i}:1", "dram", energy=500)
    fake.add("intel-rapl:2", "psys")
    fake.add("intel-rapl-mmio:0", "package-0")
    return fake
