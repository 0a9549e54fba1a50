"""Correlations: found as NumPy finds them, told from chance, drawn by their size."""

import numpy as np
import pytest
import scipy.sparse

from cofire import engine
from cofire.engine import PairSearch, best_pairs, hashed_pairs, screened_pairs
from helpers import naive
from helpers.engine_cases import random_network
from helpers.oracle import DenseNetwork, activate, finish

SIZES = (40, 30, 20, 5)
ROUNDING = 2e-5  # of a correlation, in float32 and to multiples of 2**-16


def oracle(network, X, weight=None):
    """Per layer |correlation| of all pairs: (n_out, n_in), 0 where one is constant."""
    X = X.astype(np.float64)
    sums = DenseNetwork(network).sums(X)
    hidden = [activate(z, network.activation) for z in sums[:-1]]
    levels = [X, *hidden, finish(sums[-1], network.output)]
    weight = np.ones(len(X)) if weight is None else weight.astype(np.float64)

    def standardised(a):
        a = a - weight @ a / weight.sum()
        a *= np.sqrt(weight)[:, None]
        norm = np.linalg.norm(a, axis=0)
        return np.divide(a, norm, out=np.zeros_like(a), where=norm > 1e-5)

    units = [standardised(level) for level in levels]
    pairs = zip(units[:-1], units[1:], strict=True)
    return [np.abs(b.T @ a) for a, b in pairs]


def case(seed=0, n_rows=300, *, kind="floats", weight=None, **more):
    rng = np.random.default_rng(seed)
    network = random_network(rng, SIZES, densities=[0.1] * 3)
    X = rng.normal(size=(n_rows, SIZES[0])).astype(np.float32)
    X[:, 5] += 50
    X[rng.random(X.shape) < 0.3] = 0.0
    X[:, 6] = 3.25
    rows = scipy.sparse.csr_array(X) if kind == "sparse" else X
    search = PairSearch(
        network=network,
        rows=engine.Rows(rows),
        row_ids=np.arange(n_rows),
        kept=[layer.flat_indices[::2].copy() for layer in network.layers],
        n_wanted=more.pop("n_wanted", [60, 50, 20]),
        seed=3,
        epoch=2,
        score="pearson",
        sample_weight=weight,
        **more,
    )
    return search, oracle(network, X, weight)


def free(search, layer):
    """Mark the indices that may be found."""
    marks = np.ones(search.network.layers[layer].n_in * SIZES[layer + 1], bool)
    marks[search.kept[layer]] = False
    return marks


def assert_best(search, scores, indices):
    for i, (found, score) in enumerate(zip(indices, scores, strict=True)):
        allowed, flat = free(search, i), score.ravel()
        assert allowed[found].all()
        assert len(found) == len(set(found)) == search.n_wanted[i]
        missed = np.setdiff1d(np.flatnonzero(allowed), found)
        assert flat[found].min() >= flat[missed].max() - ROUNDING


@pytest.mark.parametrize("kind", ["floats", "sparse"])
@pytest.mark.parametrize("n_rows", [2, 17, 64, 100, 300, 900, 2000])
def test_the_best_are_those_of_numpy(n_rows, kind):
    search, scores = case(n_rows=n_rows, kind=kind)
    assert_best(search, scores, best_pairs(search)[0])


def test_weights_count_rows():
    weight = np.random.default_rng(1).integers(0, 4, 300).astype(np.float32)
    search, scores = case(weight=weight)
    assert_best(search, scores, best_pairs(search)[0])


def test_a_mean_far_from_zero_hides_nothing():
    search, _ = case()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, SIZES[0])).astype(np.float32)
    shifted = PairSearch(
        **{**search.__dict__, "rows": engine.Rows(X + np.float32(1000))}
    )
    moved = oracle(search.network, X + np.float32(1000))[0]
    found = best_pairs(shifted)[0][0]
    missed = np.setdiff1d(np.flatnonzero(free(search, 0)), found)
    # Activations differ with the inputs, and float32 has three digits less for them.
    assert moved.ravel()[found].min() >= moved.ravel()[missed].max() - 2e-3


def test_what_is_constant_correlates_with_nothing():
    search, scores = case(n_wanted=[1000, 0, 0], gate=[0.0, None, None])
    found = best_pairs(search)[0][0]
    assert not np.isin(found % SIZES[0], 6).any()
    assert (scores[0][:, 6] == 0).all()
    assert len(found) > 500


@pytest.mark.parametrize("gate", [0.5, 2.0, 4.0])
def test_behind_the_gate_is_what_chance_does_not_explain(gate):
    everything = [int(free(case()[0], i).sum()) for i in range(3)]
    search, scores = case(n_wanted=everything, gate=[gate, gate, None])
    indices = best_pairs(search)[0]
    limit = gate / np.sqrt(300)
    for i in (0, 1):
        passing = (scores[i].ravel() > limit + ROUNDING) & free(search, i)
        close = (np.abs(scores[i].ravel() - limit) <= ROUNDING) & free(search, i)
        assert set(np.flatnonzero(passing)) <= set(indices[i])
        assert set(indices[i]) <= set(np.flatnonzero(passing | close))
        assert 0 < len(indices[i]) < everything[i]
    assert len(indices[2]) == everything[2]


@pytest.mark.parametrize("sharpness", [1, 4, 9])
def test_drawn_are_the_highest_scores_over_chances(sharpness):
    search, scores = case(sharpness=sharpness)
    indices = best_pairs(search)[0]
    for i, (found, score) in enumerate(zip(indices, scores, strict=True)):
        allowed = np.flatnonzero(free(search, i))
        stream = 3 * 2**28 + i
        lot = naive.lots(allowed, search.seed, stream, search.epoch)
        exponential = -np.log((lot + 0.5) / 2**32)
        drawn = score.ravel()[allowed] / exponential ** (1 / sharpness)
        taken = np.isin(allowed, found)
        assert taken.sum() == search.n_wanted[i]
        assert drawn[taken].min() >= drawn[~taken].max() * (1 - 1e-3)


def test_chances_go_by_the_power_of_the_score():
    search, scores = case(n_wanted=[1, 0, 0], sharpness=4)
    counts = np.zeros(scores[0].size)
    n = 6000
    for epoch in range(n):
        found = best_pairs(PairSearch(**{**search.__dict__, "epoch": epoch}))[0][0]
        counts[found] += 1
    chance = np.where(free(search, 0), scores[0].ravel() ** 4, 0)
    chance /= chance.sum()
    # Chi-squared, over the indices that are expected at least five times.
    often = n * chance >= 5
    seen = np.append(counts[often], counts[~often].sum())
    expected = n * np.append(chance[often], chance[~often].sum())
    chi2 = ((seen - expected) ** 2 / expected).sum()
    freedom = len(seen) - 1
    assert freedom >= 5
    assert chi2 < freedom + 5 * np.sqrt(2 * freedom)


def test_a_draw_takes_others_than_the_best_and_passes_the_gate():
    search, scores = case(n_wanted=[60, 50, 20], gate=[2.0, 2.0, None], sharpness=4)
    indices = best_pairs(search)[0]
    best = best_pairs(PairSearch(**{**search.__dict__, "sharpness": 0}))[0]
    assert set(indices[0]) != set(best[0])
    assert scores[0].ravel()[indices[0]].min() > 2 / np.sqrt(300) - ROUNDING
    again = best_pairs(PairSearch(**{**search.__dict__, "epoch": 9}))[0]
    assert set(indices[0]) != set(again[0])


@pytest.mark.parametrize("sharpness", [0, 1, 4])
@pytest.mark.parametrize("n_rows", [100, 384, 900])
def test_any_number_of_threads_finds_the_same(sharpness, n_rows):
    found = []
    for n_threads in (1, 2, 5):
        search, _ = case(
            n_rows=n_rows,
            gate=[2.0, 2.0, None],
            sharpness=sharpness,
            n_threads=n_threads,
        )
        found.append(best_pairs(search)[0])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_screened_finds_most_of_the_best():
    search, scores = case(n_rows=3000)
    rng = np.random.default_rng(0)
    indices, recall, *_ = screened_pairs(
        search,
        sample_ids=rng.permutation(3000),
        row_weight=None,
        factor=[4, 4, 4],
        recall=0.99,
    )
    for i, (found, score) in enumerate(zip(indices, scores, strict=True)):
        flat = np.where(free(search, i), score.ravel(), -1)
        best = np.argsort(-flat)[: len(found)]
        assert len(np.intersect1d(best, found)) >= 0.95 * len(found)
        assert recall[i] > 0.95


def test_screened_pairs_are_not_drawn():
    search, _ = case(sharpness=2)
    how = {"sample_ids": np.arange(9), "row_weight": None, "factor": [4] * 3}
    with pytest.raises(ValueError, match="gate and sharpness: cannot be screened"):
        screened_pairs(search, recall=0.9, **how)


def test_hashed_pairs_pass_the_gate_too():
    search, scores = case(n_rows=2000, gate=[4.0, 4.0, None], n_wanted=[80, 50, 20])
    indices, _ = hashed_pairs(search, row_weight=None, n_tables=16)
    for i in (0, 1):
        assert free(search, i)[indices[i]].all()
        # Told by a sketch of 256 columns: far above chance, not above every limit.
        assert np.median(scores[i].ravel()[indices[i]]) > 4 / np.sqrt(256)
    drawn = PairSearch(**{**search.__dict__, "sharpness": 4})
    assert len(hashed_pairs(drawn, row_weight=None, n_tables=16)[0][0]) > 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"score": "cosine", "sharpness": 2},
            "gate and sharpness: are for the score 'pearson' only",
        ),
        (
            {"score": "hebb", "gate": [1.0, None, None]},
            "gate and sharpness: are for the score 'pearson' only",
        ),
        ({"gate": [1.0]}, "gate: expected 3, one per layer, got 1"),
        ({"sharpness": -1}, "sharpness: must be at least 0, got -1"),
    ],
)
def test_bad_searches_are_refused(wrong, words):
    search, _ = case()
    with pytest.raises(ValueError, match=words):
        best_pairs(PairSearch(**{**search.__dict__, **wrong}))
