"""What a `with` block used: by counters that tests set, or by core-seconds."""

import threading
import time

import pytest

from cofire import energy
from cofire.energy import meter as meters
from helpers.fake_rapl import LIMIT, FakeRapl, server


def names_of_threads():
    return [thread.name for thread in threading.enumerate()]


def test_counters_of_all_packages_and_their_memory_are_added(tmp_path):
    fake = server(tmp_path / "powercap")
    with energy.measure(folder=fake.folder) as spent:
        fake.set("intel-rapl:0", 3_000_000)
        fake.set("intel-rapl:1", 5_000_000)
        fake.set("intel-rapl:1:1", 250_500)
        fake.set("intel-rapl:2", 9_000_000)  # psys
        fake.set("intel-rapl:0:0", 9_000_000)  # core
    used = spent.energy
    assert used.joules == 3.0 + 4.0 + 0.25
    assert (used.source, used.complete) == ("rapl", True)
    assert str(used) == (
        "7.25 J, measured by RAPL: package-0, dram of package-0, package-1, "
        "dram of package-1, with all that ran there"
    )
    fake.set("intel-rapl:0", 8_000_000)
    assert spent.energy is used  # over is over


def test_a_counter_that_starts_from_0_again(tmp_path):
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0", LIMIT - 1_000_000)
    with energy.measure(folder=fake.folder) as spent:
        fake.set("intel-rapl:0", 2_000_000)
    assert spent.energy.joules == 3.0


def test_reading_now_and_then_sees_every_new_start(tmp_path, monkeypatch):
    """Each reading is less than the one before: three limits passed, and a bit."""
    monkeypatch.setattr(meters, "_SECONDS_BETWEEN_READINGS", 0.001)
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0", 900, limit=1000)
    with energy.measure(folder=fake.folder) as spent:
        for value in (600, 300, 100):
            fake.set("intel-rapl:0", value)
            end = time.monotonic() + 10
            while spent._last != [value] and time.monotonic() < end:
                time.sleep(0.001)
        assert "cofire energy" in names_of_threads()
    assert spent.energy.joules == pytest.approx((3 * 1000 - 800) / 1e6)
    end = time.monotonic() + 10
    while "cofire energy" in names_of_threads() and time.monotonic() < end:
        time.sleep(0.001)
    assert "cofire energy" not in names_of_threads()


def test_energy_so_far_grows(tmp_path):
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0")
    with energy.measure(folder=fake.folder) as spent:
        fake.set("intel-rapl:0", 1_000_000)
        assert spent.energy.joules == 1.0
        fake.set("intel-rapl:0", 4_000_000)
    assert spent.energy.joules == 4.0


def test_a_counter_that_vanishes_leaves_an_estimate_of_the_whole(tmp_path):
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0")
    with energy.measure(folder=fake.folder, watts_per_core=10) as spent:
        fake.set("intel-rapl:0", 5_000_000)
        assert spent.energy.source == "rapl"
        (fake.folder / "intel-rapl:0" / "energy_uj").unlink()
        assert spent.energy.source == "estimate"
        fake.set("intel-rapl:0", 9_000_000)  # too late: a part is not known
    used = spent.energy
    assert used.source == "estimate"
    assert used.assumption == "10 W per core; the RAPL counters here cannot be read"
    assert used.joules == 10 * used.core_seconds


def test_a_counter_that_stands_still_is_not_zero_joules(tmp_path):
    fake = server(tmp_path / "powercap")
    with energy.measure(folder=fake.folder) as spent:
        fake.set("intel-rapl:0", 3_000_000)  # and package-1 does not move
        sum(range(100_000))
    assert spent.energy.source == "estimate" and spent.energy.joules > 0
    assert "did not move" in spent.energy.assumption


def test_an_estimate_is_core_seconds_times_watts(tmp_path, monkeypatch):
    monkeypatch.delenv("COFIRE_WATTS_PER_CORE", raising=False)
    clocks = iter([(5.0, 1.0), (5.0, 1.0), (7.0, 4.0)])
    monkeypatch.setattr(meters.Meter, "_clocks", staticmethod(lambda: next(clocks)))
    with energy.measure(folder=tmp_path) as spent:
        pass
    assert spent.energy == energy.Energy(
        36.0, "estimate", "12 W per core; this machine shows no RAPL counters", 2.0, 3.0
    )
    assert str(spent.energy) == (
        "about 36 J, estimated: 3 core-seconds, 12 W per core; this machine shows no "
        "RAPL counters"
    )


def test_the_time_of_all_threads_counts(tmp_path):
    def work():
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    with energy.measure(folder=tmp_path) as spent:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert spent.energy.core_seconds >= 0.2


def test_without_a_thread_to_read_with_it_is_an_estimate(tmp_path, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    fake = FakeRapl(tmp_path / "p").add("intel-rapl:0", "package-0")
    with energy.measure(folder=fake.folder) as spent:
        fake.set("intel-rapl:0", 5_000_000)
    assert spent.energy.source == "estimate"
    assert "no thread was left" in spent.energy.assumption


def test_an_error_in_the_block_is_not_lost(tmp_path):
    with (
        pytest.raises(KeyError),
        energy.measure(folder=server(tmp_path / "p").folder) as spent,
    ):
        raise KeyError("mine")
    assert spent._over.is_set() and spent.energy is spent.energy


def test_a_meter_that_has_not_begun_measures_nothing(tmp_path):
    spent = energy.measure(folder=server(tmp_path / "p").folder)
    assert spent.energy.source == "estimate"
    assert "not begun" in spent.energy.assumption


def test_the_environment_says_what_a_core_draws(tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_WATTS_PER_CORE", "4.5")
    with energy.measure(folder=tmp_path) as spent:
        pass
    assert spent.energy.assumption.startswith("4.5 W per core; ")
    with energy.measure(folder=tmp_path, watts_per_core=7) as spent:
        pass
    assert spent.energy.assumption.startswith("7 W per core; ")


@pytest.mark.parametrize("text", ["", "many", "0", "-3", "nan", "inf"])
def test_an_environment_that_makes_no_sense(text, tmp_path, monkeypatch):
    monkeypatch.setenv("COFIRE_WATTS_PER_CORE", text)
    with pytest.raises(ValueError, match=r"COFIRE_WATTS_PER_CORE=.*such as 12\."):
        energy.measure(folder=tmp_path)


@pytest.mark.parametrize("watts", [0, -1.0, float("nan"), float("inf"), "7"])
def test_watts_that_make_no_sense(watts, tmp_path):
    with pytest.raises(ValueError, match="watts_per_core=.*greater than 0"):
        energy.measure(folder=tmp_path, watts_per_core=watts)
