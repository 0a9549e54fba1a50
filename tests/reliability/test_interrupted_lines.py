"""An interrupt at any line of a fit leaves an estimator that can be used."""

import numpy as np
import pytest

from cofire import METHODS
from helpers.reliability import figures
from helpers.reliability.interrupt_cases import Trial


@pytest.mark.parametrize(
    "how",
    [
        {"method": "ctre_sim"},
        {"method": "ctre_seq", "solver": "adam", "early_stopping": False},
        {"method": "snip", "restore_best": False},
    ],
    ids=lambda how: how["method"],
)
def test_an_interrupt_at_some_lines_leaves_a_usable_estimator(how, tmp_path):
    trial = Trial(tmp_path, **how)
    n_lines = trial.n_lines()
    assert n_lines > 500
    for at in np.random.default_rng(1).choice(n_lines, 25, replace=False):
        trial.interrupt(int(at) + 1)


@pytest.mark.slow
def test_an_interrupt_at_any_line_leaves_a_usable_estimator(tmp_path):
    n_tried = 0
    for number, method in enumerate(sorted(METHODS)):
        solver = ("sgd", "adam")[number % 2]
        trial = Trial(tmp_path, method=method, solver=solver, max_iter=2)
        # Every fifth, and of another method another fifth.
        for at in range(number % 5, trial.n_lines(), 5):
            trial.interrupt(at + 1)
            n_tried += 1
    figures.report(
        "fit interrupted at a line of ours",
        "as before, or as a step left it; the next fit has the right bits",
        f"{n_tried:,} lines of {len(METHODS)} methods, all so",
        met=True,
    )
