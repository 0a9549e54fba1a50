"""One call that walks through the rows several times."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cofire import Augmentation, engine
from helpers import naive
from helpers.engine_cases import Case, examples
from helpers.engine_checks import all_bits, assert_same_bits

IMAGES = Augmentation(3, 4, shift=0.4)
N_ROWS = 12
KINDS = {"dropout": {"input_dropout": 0.4}, "images": {"augmentation": IMAGES}}


def make_case(seed, n_rows=N_ROWS, **how):
    """A case of 12 features whose rows are all in use."""
    case = Case.random(seed, sizes=(12, 7, 3), n_used=n_rows, **how)
    X = np.random.default_rng(seed).normal(size=(n_rows, 12)).astype(np.float32)
    return case, X, case.targets[:n_rows]


def passes(seed, n, n_rows=N_ROWS):
    """All rows n times, each time in another order."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n_rows) for _ in range(n)])


def train(case, X, targets, calls):
    """What several calls, one after the other, make of the case's network."""
    network, optimizer = case.network.copy(), deepcopy(case.optimizer)
    for how in calls:
        stats = engine.train_epoch(
            network, optimizer, engine.Rows(X), targets, seed=case.seed, **how
        )
    return network, optimizer, stats


def copies(kind, X, seed, first, n):
    """The rows as each of n passes sees them, one copy after the other."""
    if kind == "dropout":
        how = KINDS[kind]["input_dropout"], seed
        seen = [naive.dropped_out(X, *how, first + k, first) for k in range(n)]
    else:
        seen = [naive.augmented(X, IMAGES, seed, first + k) for k in range(n)]
    return np.concatenate(seen)


@pytest.mark.parametrize("kind", KINDS)
@examples(25)
@given(
    seed=st.integers(0, 1000),
    batch_size=st.sampled_from([1, 3, 5, 8, 12, 20, 65]),
    first=st.sampled_from([0, 1, 700]),
    offset=st.integers(0, N_ROWS - 1),
    n_used=st.integers(1, 3 * N_ROWS),
    n_threads=st.sampled_from([1, 3]),
)
def test_a_call_sees_in_each_pass_what_the_oracle_sees(
    kind, seed, batch_size, first, offset, n_used, n_threads
):
    case, X, targets = make_case(seed)
    order = passes(seed, 5)[offset : offset + n_used]
    number = (offset + np.arange(n_used)) // N_ROWS  # of the pass
    shared = {"batch_size": batch_size, "pass_size": N_ROWS, "n_threads": n_threads}
    when = {"epoch": first, "pass_offset": offset}
    one = train(case, X, targets, [shared | when | KINDS[kind] | {"order": order}])
    seen = copies(kind, X, case.seed, first, 5)
    plain = [shared | {"order": order + N_ROWS * number}]
    assert_same_bits(one, train(case, seen, np.tile(targets, 5), plain))


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_seen_differently_in_each_pass(kind):
    case, X, targets = make_case(3)
    order = passes(3, 2)
    shared = {"order": order, "batch_size": 4} | KINDS[kind]
    two = train(case, X, targets, [shared | {"pass_size": N_ROWS}])
    one = train(case, X, targets, [shared | {"pass_size": 2 * N_ROWS}])
    assert all_bits(*two[:2]) != all_bits(*one[:2])
    # In one pass, however long, a row is seen in one way.
    seen = copies(kind, X, case.seed, 0, 1)
    plain = train(case, seen, targets, [{"order": order, "batch_size": 4}])
    assert_same_bits(one, plain)


@pytest.mark.parametrize("weighted", [False, True])
@examples(25)
@given(
    seed=st.integers(0, 1000),
    batch_size=st.sampled_from([1, 2, 3, 4, 6, 12]),  # which divide a pass
    cuts=st.sets(st.integers(1, 35)),
    first=st.sampled_from([0, 9]),
)
def test_one_call_is_several_calls(weighted, seed, batch_size, cuts, first):
    case, X, targets = make_case(seed, weighted=weighted, batch_size=batch_size)
    weight = None if case.sample_weight is None else case.sample_weight[:N_ROWS]
    if weight is not None:
        weight[weight == 0] = 1  # no batch of zeros, in any order
    order = passes(seed, 3)
    shared = {"batch_size": batch_size, "pass_size": N_ROWS, "sample_weight": weight}
    shared |= {"augmentation": IMAGES}
    ends = sorted({min(-(-c // batch_size) * batch_size, 36) for c in cuts} | {36})
    calls, begin = [], 0
    for end in ends:
        number, offset = divmod(begin, N_ROWS)
        when = {"epoch": first + number, "pass_offset": offset}
        calls.append(shared | when | {"order": order[begin:end]})
        begin = end
    one = train(case, X, targets, [shared | {"epoch": first, "order": order}])
    several = train(case, X, targets, calls)
    assert all_bits(*one[:2]) == all_bits(*several[:2])


def test_calls_within_one_pass_drop_the_same_inputs():
    case, X, targets = make_case(5)
    order = passes(5, 1)
    shared = {"batch_size": 3, "pass_size": N_ROWS, "epoch": 4} | KINDS["dropout"]
    whole = train(case, X, targets, [shared | {"order": order}])
    halves = [
        shared | {"order": order[:6]},
        shared | {"order": order[6:], "pass_offset": 6},
    ]
    assert all_bits(*whole[:2]) == all_bits(*train(case, X, targets, halves)[:2])
    at_the_start = [halves[0], shared | {"order": order[6:]}]
    again = train(case, X, targets, at_the_start)  # still the same pass
    assert all_bits(*whole[:2]) == all_bits(*again[:2])


@pytest.mark.parametrize("kind", KINDS)
@examples(15)
@given(
    seed=st.integers(0, 1000),
    batch_size=st.sampled_from([1, 2, 3, 4]),
    n_batches=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    offset=st.sampled_from([0, 1, 7]),
)
def test_parts_of_the_rows_are_seen_by_their_numbers(
    kind, seed, batch_size, n_batches, offset
):
    """Calls that have some of the rows each are one call that has all."""
    case, X, targets = make_case(seed)
    cuts = np.cumsum([0, *n_batches]) * batch_size
    order = passes(seed, 1 + cuts[-1] // N_ROWS)[: cuts[-1]]
    shared = {"batch_size": batch_size, "pass_size": N_ROWS, "epoch": 3} | KINDS[kind]
    one = train(case, X, targets, [shared | {"order": order, "pass_offset": offset}])
    network, optimizer = case.network.copy(), deepcopy(case.optimizer)
    for begin, end in zip(cuts[:-1], cuts[1:], strict=True):
        numbers, own = np.unique(order[begin:end], return_inverse=True)
        how = shared | {"order": own, "row_numbers": numbers, "seed": case.seed}
        # It may lie beyond the first pass, whose features' keys all calls share.
        how["pass_offset"] = offset + int(begin)
        rows = engine.Rows(X[numbers])
        engine.train_epoch(network, optimizer, rows, targets[numbers], **how)
    assert all_bits(*one[:2]) == all_bits(network, optimizer)


@pytest.mark.parametrize("n_rows", [5, 64])
def test_a_batch_of_all_rows_is_summed_exactly_in_each_pass(n_rows):
    case, X, targets = make_case(7, n_rows=n_rows)
    orders = [passes(seed, 3, n_rows) for seed in (1, 2)]
    found = [
        train(
            case, X, targets, [{"order": o, "batch_size": n_rows, "pass_size": n_rows}]
        )
        for o in orders
    ]
    assert not np.array_equal(*orders)
    assert all_bits(*found[0][:2]) == all_bits(*found[1][:2])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"pass_size": 0}, "pass_size: must be at least 1, got 0"),
        ({"pass_size": 3, "pass_offset": -1}, r"pass_offset: .* got -1"),
        (
            {"row_numbers": np.arange(3)},
            "row_numbers: expected one for each of 12 rows, got 3",
        ),
        ({"row_numbers": np.arange(12.0)}, "row_numbers"),
    ],
)
def test_a_pass_that_cannot_be_is_refused(how, message):
    case, X, targets = make_case(1)
    with pytest.raises((ValueError, TypeError), match=message):
        train(case, X, targets, [{"order": np.arange(6), "batch_size": 3} | how])
