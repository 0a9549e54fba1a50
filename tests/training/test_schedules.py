import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire.training.schedules import (
    DROP_SCHEDULES,
    RATE_SCHEDULES,
    drop_fraction,
    learning_rate,
)
from helpers.estimator_cases import ESTIMATORS, classes, data_for, same_training, small

losses = st.lists(st.floats(0.01, 10), max_size=30)
rates = st.floats(1e-6, 10)


@pytest.mark.parametrize("schedule", RATE_SCHEDULES)
@given(initial=rates, max_epochs=st.integers(1, 50))
def test_every_schedule_begins_with_the_initial_rate(schedule, initial, max_epochs):
    assert learning_rate(schedule, initial, 0, max_epochs, []) == initial


@pytest.mark.parametrize("schedule", RATE_SCHEDULES)
@given(initial=rates, past=losses, max_epochs=st.integers(1, 50))
def test_no_schedule_ever_rises(schedule, initial, past, max_epochs):
    course = [
        learning_rate(schedule, initial, epoch, max_epochs, past[:epoch])
        for epoch in range(len(past) + 1)
    ]
    assert course == sorted(course, reverse=True)
    assert course[-1] >= 0


@given(initial=rates, past=losses)
def test_constant_stays(initial, past):
    assert learning_rate("constant", initial, len(past), 10, past) == initial


def test_cosine_is_half_way_down_in_the_middle_and_nothing_at_the_end():
    course = [learning_rate("cosine", 0.4, epoch, 8, []) for epoch in range(12)]
    assert course[2] == pytest.approx(0.2 * (1 + math.cos(math.pi / 4)))
    assert course[4] == pytest.approx(0.2)
    assert course[8:] == [0.0] * 4


@pytest.mark.parametrize(
    ("past", "divisions"),
    [
        ([], 0),
        ([3.0, 2.0, 1.0], 0),
        ([1.0, 1.0], 0),  # stalled once
        ([1.0, 1.0, 1.0], 1),  # stalled twice
        ([1.0, 2.0, 1.5], 1),  # lower than the last is not lower than the best
        ([1.0, 2.0, 0.9, 1.0], 0),  # a new best in between
        ([1.0, 1.0, 1.0, 1.0], 1),  # counted anew after a division
        ([1.0, 1.0, 1.0, 1.0, 1.0], 2),
    ],
)
def test_adaptive_is_divided_by_five_when_two_epochs_brought_nothing(past, divisions):
    rate = learning_rate("adaptive", 1.0, len(past), 99, past)
    assert rate == pytest.approx(5.0**-divisions)


def test_the_estimator_trains_with_the_schedule_it_was_given():
    X, y = classes()
    how = {"max_iter": 5, "learning_rate_init": 0.1}
    constant, cosine, adaptive = (
        small(learning_rate=name, **how).fit(X, y) for name in RATE_SCHEDULES
    )
    assert [r["learning_rate"] for r in constant.history_] == [0.1] * 5
    assert [r["learning_rate"] for r in cosine.history_] == pytest.approx(
        [0.05 * (1 + math.cos(math.pi * epoch / 5)) for epoch in range(5)]
    )
    assert [r["learning_rate"] for r in adaptive.history_] == [
        learning_rate("adaptive", 0.1, epoch, 5, adaptive.loss_curve_[:epoch])
        for epoch in range(5)
    ]
    # The first epoch is the same, then the smaller steps show.
    assert constant.loss_curve_[0] == cosine.loss_curve_[0]
    assert constant.loss_curve_[2] != cosine.loss_curve_[2]


def test_adaptive_falls_in_a_fit_that_does_not_get_better():
    X, y = classes()
    model = small(learning_rate="adaptive", learning_rate_init=1e-12, max_iter=12)
    rates = [r["learning_rate"] for r in model.fit(X, y).history_]
    assert rates[-1] < rates[0]


def test_a_mapping_gives_the_factors_of_the_epochs():
    X, y = classes()
    model = small(
        learning_rate={2: 0.5, 3: 0.1}, learning_rate_init=0.1, max_iter=5
    ).fit(X, y)
    rates = [r["learning_rate"] for r in model.history_]
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.005, 0.005])


# ---- how many connections move -------------------------------------------------------


@given(initial=st.floats(0, 0.99), max_epochs=st.integers(1, 50))
def test_the_share_falls_as_a_cosine_rate_does(initial, max_epochs):
    for epoch in range(max_epochs + 3):
        share = drop_fraction("cosine", initial, epoch, max_epochs)
        assert share == learning_rate("cosine", initial, epoch, max_epochs, [])
        assert drop_fraction("constant", initial, epoch, max_epochs) == initial


def replaced(model):
    return [record["replaced"] for record in model.history_]


@pytest.mark.parametrize("method", ["set", "ctre_sim", "rigl"])
@pytest.mark.parametrize("of", ESTIMATORS)
def test_so_many_connections_are_replaced_as_the_schedule_says(of, method):
    X, y = data_for(of)
    how = {"method": method, "epsilon": 2, "drop_fraction": 0.3, "max_iter": 6}
    for schedule in DROP_SCHEDULES:
        model = small(of, drop_schedule=schedule, **how).fit(X, y)
        shares = [drop_fraction(schedule, 0.3, epoch, 6) for epoch in range(6)]
        if method != "rigl":
            shares[0] = 0.0
        sizes = [
            (layer.nnz, layer.n_in * layer.n_out - layer.nnz)
            for layer in model.network_.layers
        ]
        assert replaced(model) == [
            [min(int(share * n), free) for n, free in sizes] for share in shares
        ]


def test_methods_are_told_the_share_of_the_moment():
    X, y = classes()
    how = {"method": "set", "method_options": {"drop_rule": "signed"}}
    model = small(drop_schedule="cosine", max_iter=8, **how).fit(X, y)
    counts = [sum(n) for n in replaced(model)]
    assert counts[1] > counts[4] > counts[7]


def test_a_warm_start_begins_the_schedule_anew_and_a_partial_fit_goes_on():
    X, y = classes()
    how = {"method": "set", "drop_schedule": "cosine", "max_iter": 5}
    model = small(warm_start=True, **how).fit(X, y)
    counts = [sum(n) for n in replaced(model.fit(X, y))]
    assert counts[6:] == counts[1:5] and counts[5] > counts[6] > counts[9]
    whole, parts = small(**how).fit(X, y), small(**how)
    for _ in range(5):
        parts.partial_fit(X, y)
    assert same_training(parts, whole)
    parts.partial_fit(X, y)
    assert replaced(parts)[5] == [0, 0, 0]
