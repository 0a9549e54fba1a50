"""benchmarks/large_page.py: the exponents, the floor, and what the page says."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MACHINE = {
    "processor": "a processor",
    "cores": 2,
    "system": "Linux",
    "python": "3.11",
    "packages": ["numpy 2"],
    "commit": "abc",
    "date": "2025-01-01",
}


@pytest.fixture(scope="module")
def pages():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("large_page")


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("bench_large")


def run(neurons, seconds, bytes_, load=1.0):
    return {
        "neurons": neurons,
        "connections": 10 * neurons,
        "rows": 200,
        "train_seconds": seconds / 2,
        "rewire_seconds": seconds / 2,
        "peak_bytes": bytes_,
        "load_before": load,
        "threads": 2,
        "groups": 4,
    }


def runs(time_power, memory_power=1.0, sizes=(10**4, 10**5, 10**6), **more):
    return {
        str(n): run(n, 1e-6 * n**time_power, 1e3 * n**memory_power, **more)
        for n in sizes
    }


def results(**growth):
    return {"machine": MACHINE, "growth": growth}


@pytest.mark.parametrize("power", [0.5, 1.0, 1.37, 2.0])
def test_the_exponent_is_that_of_a_power(pages, power):
    sizes = [10, 50, 700, 10**4]
    values = [3.5 * n**power for n in sizes]
    assert pages.exponent(sizes, values) == pytest.approx(power)


def test_the_exponent_is_the_best_line_through_points_off_it(pages):
    # On logarithms: (0, 0), (1, 0), (2, 3) has the slope 3 / 2.
    assert pages.exponent([1, 10, 100], [1, 1, 1000]) == pytest.approx(1.5)


def test_one_size_has_no_exponent(pages):
    with pytest.raises(ValueError, match="two sizes"):
        pages.exponent([5, 5], [1, 2])
    assert pages.exponents(runs(1.0, sizes=(10**4,))) == (None, None)


def test_runs_that_failed_do_not_count(pages):
    some = runs(1.0) | {"10000000": {"failed": "needs more than 23 GB"}}
    whole, last = pages.exponents(some)
    assert whole == pytest.approx((1.0, 1.0))
    assert last == pytest.approx((1.0, 1.0))


def test_the_last_decade_is_of_the_largest_sizes(pages):
    some = runs(1.0) | {"1000000": run(10**6, 10.0, 1e9)}  # a tenth would be linear
    assert pages.exponents(some)[1][0] == pytest.approx(2.0)
    assert pages.exponents(some)[0][0] == pytest.approx(1.5)


def test_a_goal_that_is_missed_is_said(pages):
    page = pages.page(results(set=runs(1.0), cofire=runs(1.2), ctre_sim=runs(1.0, 1.3)))
    lines = {
        line.split(" |")[0]: line for line in page.splitlines() if "<= 1.1" in line
    }
    assert lines["| SET"].endswith("| yes |")
    assert "| 1.20 | 1.20 | 1.00 | 1.00 |" in lines["| cofire"]
    assert lines["| cofire"].endswith("| **no** |")
    assert lines["| CTRE (`ctre_sim`)"].endswith("| **no** |")


def test_a_run_beside_other_load_is_said(pages):
    assert "beside other load" not in pages.page(results(set=runs(1.0, load=2.2)))
    assert "(up to 7.0 on 2 cores)" in pages.page(results(set=runs(1.0, load=7.0)))


def test_the_table_says_how_far_the_floor_is_away_and_why_a_run_failed(pages):
    failed = {"10000000": {"failed": "needs more than 23 GB"}}
    # 10^4 neurons: 16 * 10^5 + 20 * 10^4 bytes are the floor, 5.4 * 10^6 were used.
    some = {"10000": run(10**4, 2.0, 5_400_000)} | failed
    lines = list(pages.table("set", some))
    assert "| 10,000 | 100,000 | 1 | 1 | 0.06 | 0.0054 | 54 | 3.0 | 0.0102 |" in lines
    assert any("| needs more than 23 GB |" in line for line in lines)


def test_ours_stand_beside_the_published_figures(pages):
    ours = {"3000": run(12_317, 2.0, 5e8), "600000": {"failed": "takes more than 9 s"}}
    lines = list(pages.published_lines(ours))
    assert "| 3,000 | 12,317 | 18 | 2 | 9 | 0.5 |" in lines
    assert "| 30,000 | 93,317 | 180 | not run |  |  |" in lines
    assert any("| 6,720 | takes more than 9 s |" in line for line in lines)


def test_the_formula_of_memory_is_near_what_was_measured(bench, pages):
    """Above 8,192 neurons in a layer; the imports' own pages add some megabytes."""
    arguments = type("Arguments", (), {"memory": 23, "limit": 300})
    found = bench.in_own_process("growth", "set", 100_000, arguments)
    assert 0.7 < found["peak_bytes"] / pages.training_bytes(found) < 1.3


@pytest.mark.parametrize("neurons", [10_000, 99_999, 10**7])
def test_layers_have_as_many_neurons_as_asked_for(bench, neurons):
    sizes = bench.layers(neurons)
    assert sum(sizes) == neurons
    assert sizes[1] == sizes[2] == sizes[3]
    assert 0 <= sizes[0] - sizes[1] < 4


def test_rows_are_sparse(bench):
    X = bench.sparse_rows(20, 1000)
    assert X.shape == (20, 1000)
    assert 0 < X.getnnz(axis=1).max() <= 10
    assert X.has_canonical_format


def test_a_small_run_in_its_own_process_measures_rewiring(bench):
    arguments = type("Arguments", (), {"memory": 23, "limit": 300})
    found = bench.in_own_process("growth", "ctre_sim", 2000, arguments)
    assert found["neurons"] == 2000
    assert found["connections"] == pytest.approx(20_000, abs=5)
    assert found["train_seconds"] > 0
    assert found["rewire_seconds"] > 0
    assert found["peak_bytes"] > 8 * found["connections"]


def test_a_run_beyond_a_limit_is_recorded_not_lost(bench):
    arguments = type("Arguments", (), {"memory": 23, "limit": 0.01})
    found = bench.in_own_process("growth", "set", 2000, arguments)
    assert found == {"failed": "takes more than 0.01 s"}
