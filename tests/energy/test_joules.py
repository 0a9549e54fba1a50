"""Energy: sums and their labels, and the way through a file."""

import json

import pytest

from cofire.energy import Energy
from cofire.energy.joules import energy_from, joules_in_words

MEASURED = Energy(5.0, "rapl", "package-0, with all that ran there", 2.0, 1.0)
GUESSED = Energy(24.0, "estimate", "12 W per core; no counters", 1.5, 2.0)


def test_a_sum_with_an_estimate_is_an_estimate():
    total = MEASURED + GUESSED
    assert (total.joules, total.seconds, total.core_seconds) == (29.0, 3.5, 3.0)
    assert total.source == "estimate"
    assert "package-0" in total.assumption and "12 W per core" in total.assumption
    assert (MEASURED + MEASURED).source == "rapl"


def test_an_assumption_is_said_once_however_often_it_is_added():
    total = GUESSED
    for _ in range(50):
        total = total + GUESSED
    assert total.assumption == GUESSED.assumption
    both = MEASURED + GUESSED
    assert (both + both).assumption == both.assumption


def test_a_part_that_is_missing_is_not_forgotten():
    missing = MEASURED.with_a_part_missing()
    assert not (missing + MEASURED).complete and not (MEASURED + missing).complete
    assert "without the part that was not recorded" in str(missing)
    assert "not recorded" not in str(MEASURED)


def test_times():
    twice = GUESSED.times(2)
    assert (twice.joules, twice.seconds, twice.core_seconds) == (48.0, 3.0, 4.0)
    assert twice.assumption == GUESSED.assumption


def test_watts_per_core_are_those_of_the_work():
    assert MEASURED.watts_per_core == 5.0
    assert GUESSED.watts_per_core == 12.0
    nothing = Energy(0.0, "estimate", "", 0.0, 0.0)
    assert nothing.watts_per_core > 0


@pytest.mark.parametrize(
    "joules, words",
    [
        (0.0, "0 J"),
        (2e-9, "0.002 µJ"),
        (0.999, "999 mJ"),
        (1.0, "1 J"),
        (3e6, "3e+06 J"),
    ],
)
def test_joules_in_words(joules, words):
    assert joules_in_words(joules) == words


@pytest.mark.parametrize("energy", [MEASURED, GUESSED.with_a_part_missing()])
def test_it_comes_back_from_json(energy):
    plain = json.loads(json.dumps(energy.to_dict()))
    assert energy_from(plain) == energy
    assert energy_from(plain | {"of_a_later_version": 1}) == energy
    assert energy_from(None) is None


@pytest.mark.parametrize(
    "change",
    [
        *({"joules": value} for value in (-1.0, float("nan"), float("inf"), 1, "1")),
        *({"joules": True}, {"joules": None}, {"seconds": -1.0}, {"core_seconds": "1"}),
        *({"source": "guess"}, {"source": None}, {"source": ["rapl"]}),
        *({"assumption": None}, {"assumption": 1}, {"complete": None}, {"complete": 1}),
    ],
)
def test_what_is_not_energy_is_refused(change):
    with pytest.raises(ValueError, match="energy: "):
        energy_from(MEASURED.to_dict() | change)


@pytest.mark.parametrize("plain", [{}, [], 0, "5 J", False])
def test_what_is_not_even_a_dict_is_refused(plain):
    with pytest.raises(ValueError, match="energy: "):
        energy_from(plain)
