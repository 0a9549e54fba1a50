"""Counters in a folder like Linux's: which count, what they count, what cannot."""

from pathlib import Path

import pytest

from cofire.energy.counters import NoCounter, Zone, find_zones, in_words
from helpers.fake_rapl import FakeRapl, server


def test_packages_and_their_memory_count_and_nothing_counts_twice(tmp_path):
    zones = find_zones(server(tmp_path / "powercap").folder)
    names = [zone.name for zone in zones]
    assert names == [
        *("package-0", "dram of package-0", "package-1", "dram of package-1"),
    ]
    assert [zone.read() for zone in zones] == [0, 500, 1_000_000, 500]


def test_more_than_ten_packages_keep_their_own_memory(tmp_path):
    fake = FakeRapl(tmp_path / "powercap")
    for i in (1, 10):
        fake.add(f"intel-rapl:{i}", f"package-{i}")
    fake.add("intel-rapl:10:0", "dram")
    names = [zone.name for zone in find_zones(fake.folder)]
    assert sorted(names) == ["dram of package-10", "package-1", "package-10"]


@pytest.mark.parametrize(
    "before, now, passed",
    [(100, 100, 0), (100, 250, 150), (900, 50, 150), (1000, 0, 0), (0, 1000, 1000)],
)
def test_a_counter_starts_from_0_after_its_limit(before, now, passed):
    assert Zone("package-0", Path("."), limit=1000).passed(before, now) == passed


def test_a_machine_says_whether_it_measures(tmp_path):
    assert in_words(tmp_path) == "estimated: this machine shows no RAPL counters"
    fake = FakeRapl(tmp_path / "powercap").add("intel-rapl:0", "package-0")
    assert in_words(fake.folder) == "measured by RAPL: package-0"


def test_without_the_folder_there_is_no_counter(tmp_path):
    with pytest.raises(NoCounter, match="shows no RAPL counters"):
        find_zones(tmp_path / "powercap")


def test_a_folder_without_packages_has_no_counter(tmp_path):
    fake = FakeRapl(tmp_path / "powercap").add("intel-rapl:0", "psys")
    with pytest.raises(NoCounter, match="shows no RAPL counters"):
        find_zones(fake.folder)


@pytest.mark.parametrize("zone", ["intel-rapl:0", "intel-rapl:1", "intel-rapl:1:1"])
def test_one_that_may_not_be_read_is_enough_to_give_up(zone, tmp_path, monkeypatch):
    fake, read = server(tmp_path / "powercap"), Path.read_bytes

    def refuse(path):  # what a mode of 0400 does to all but root
        if path == fake.folder / zone / "energy_uj":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(NoCounter, match=r"may not be read, see docs/energy\.md"):
        find_zones(fake.folder)


@pytest.mark.parametrize("text", ["", "-5", "1.5", "many", "٣", 10**15, "1 2"])
def test_nonsense_is_not_energy(text, tmp_path):
    fake = server(tmp_path / "powercap")
    fake.set("intel-rapl:1", text)
    with pytest.raises(NoCounter, match="nonsense"):
        find_zones(fake.folder)


@pytest.mark.parametrize("file", ["energy_uj", "max_energy_range_uj", "name"])
def test_a_file_that_is_not_there(file, tmp_path):
    fake = server(tmp_path / "powercap")
    (fake.folder / "intel-rapl:0" / file).unlink()
    with pytest.raises(NoCounter, match="cannot be read"):
        find_zones(fake.folder)
