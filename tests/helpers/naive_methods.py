"""One update of every method, restated over all indices: dense, slow, never optimised.

What the methods are is written down here a second time, from their definitions. Only
random draws are taken the way the library takes them, so that equal sets can be asked.
"""

import numpy as np

from cofire.core.random import stream
from cofire.topology.indices import distinct
from helpers import naive
from helpers.oracle import DenseNetwork, activate, finish

# name: how it grows, by which score, from which rows
DEFINITIONS = {
    "set": ("random", None, None),
    "rigl": ("best", "gradient", "next_batch"),
    "rigl_uniform": ("best", "gradient", "next_batch"),
    "ctre_sim": ("sim", "cosine", "all"),
    "ctre_sim_lth": ("sim", "lowest_cosine", "all"),
    "ctre_sim_hebb": ("sim", "hebb", "all"),
    "ctre_sim_euclidean": ("sim", "euclidean", "all"),
    "ctre_sample2": ("sim", "cosine", 1 / 2),
    "ctre_sample4": ("sim", "cosine", 1 / 4),
    "ctre_wo_random": ("best", "cosine", "all"),
    "ctre_seq": ("best until stalled", "cosine", "all"),
    "ctre_seq_hebb": ("best until stalled", "hebb", "all"),
    "ctre_seq_abl1": ("random until stalled", "cosine", "all"),
    "ctre_seq_abl2": ("random until half", "cosine", "all"),
}
PATIENCE = 40


def update(name, progress, data, settings, *, signed=False, ties="random"):
    """Per layer what is dropped and what is grown, as two sets of indices."""
    how, score, rows = DEFINITIONS[name]
    switched = {
        "stalled": progress.longest_stall >= PATIENCE,
        "half": progress.epoch > settings.max_epochs // 2,
    }.get(how.split()[-1])
    if how.startswith("best until"):
        how = "random" if switched else "best"
    elif how.startswith("random until"):
        how = "best" if switched else "random"
    result = []
    for i, layer in enumerate(progress.network.layers):
        fraction = settings.drop_fraction
        rng = stream(progress.seed, "drop", i, progress.epoch)
        dropped = (drop_signed if signed else drop_smallest)(layer, fraction, rng)
        n, grow_rng = len(dropped), stream(progress.seed, "grow", i, progress.epoch)
        if how == "random":
            grown = random_growth(layer, dropped, n, grow_rng)
        else:
            used = rows_used(rows, progress, data, settings)
            ranks = all_ranks(score, progress.network, data, used, i)
            best = top(ranks, layer, dropped, n, progress, i, ties)
            grown = best
            if how == "sim":
                grown = sim_growth(layer, dropped, best, grow_rng)
        result.append((set(dropped), set(grown)))
    return result


# ---- drop ----------------------------------------------------------------------------


def drop_smallest(layer, fraction, rng):
    """The floor(fraction * nnz) smallest |w|, no more than there are free indices."""
    weight = dict(
        zip(sorted(naive.flat_indices(layer)), np.abs(layer.weights), strict=True)
    )
    n = min(int(fraction * len(weight)), layer.n_in * layer.n_out - len(weight))
    if n == 0:
        return []
    limit = sorted(weight.values())[n - 1]
    below = [p for p, w in weight.items() if w < limit]
    tied = [p for p, w in weight.items() if w == limit]
    return below + [tied[k] for k in distinct(len(tied), n - len(below), rng)]


def drop_signed(layer, fraction, rng):
    """SETsp: from the value at (1 - f) P to the value at Q + f (nnz - Q), inclusive."""
    weight = dict(zip(sorted(naive.flat_indices(layer)), layer.weights, strict=True))
    free = layer.n_in * layer.n_out - len(weight)
    if min(int(fraction * len(weight)), free) == 0:
        return []
    values = sorted(weight.values())
    nearest = min(values, key=abs)
    p = values.index(nearest)
    q = len(values) - values[::-1].index(nearest)
    low = values[int((1 - fraction) * p)]
    high = values[min(int(q + fraction * (len(values) - q)), len(values) - 1)]
    return [index for index, w in weight.items() if low <= w <= high]


# ---- grow ----------------------------------------------------------------------------


def random_growth(layer, dropped, n, rng):
    """n indices outside layer-minus-dropped."""
    kept = naive.flat_indices(layer) - set(dropped)
    free = [p for p in range(layer.n_in * layer.n_out) if p not in kept]
    return [free[k] for k in distinct(len(free), n, rng)]


def sim_growth(layer, dropped, best, rng):
    """The best; random free indices for just-dropped ones, or those if none is left."""
    added = [p for p in best if p not in set(dropped)]
    taken = naive.flat_indices(layer) | set(added)
    pool = [p for p in range(layer.n_in * layer.n_out) if p not in taken]
    n_random = len(best) - len(added)
    new = [pool[k] for k in distinct(len(pool), min(n_random, len(pool)), rng)]
    back = rng.choice(sorted(dropped), n_random - len(new), replace=False)
    return [*added, *new, *back.tolist()]


def top(ranks, layer, dropped, n, progress, i, ties):
    """The n highest ranks outside layer-minus-dropped."""
    kept = sorted(naive.flat_indices(layer) - set(dropped))
    return naive.best_indices(
        ranks, kept, n, seed=progress.seed, layer=i, epoch=progress.epoch, ties=ties
    ).tolist()


# ---- scores --------------------------------------------------------------------------


def rows_used(rows, progress, data, settings):
    """Row numbers that a score looks at."""
    m = len(data.row_ids)
    if rows == "all":
        return data.row_ids
    if rows == "next_batch":
        rng = stream(progress.seed, "order", epoch=progress.epoch)
        return rng.permutation(data.row_ids)[: settings.batch_size]
    rng = stream(progress.seed, "rows", epoch=progress.epoch)
    return rng.choice(data.row_ids, max(1, int(m * rows)), replace=False)


def all_ranks(score, network, data, used, i):
    """(n_out, n_in) of whole numbers, the higher the better."""
    x = data.dense[used]
    sums = DenseNetwork(network).sums(x)
    shown = [x, *(activate(z, network.activation) for z in sums[:-1])]
    shown.append(finish(sums[-1], network.output))
    weight = np.ones(len(used))
    if data.sample_weight is not None:
        weight = data.sample_weight[used].astype(np.float64)
    a, b = shown[i], shown[i + 1]
    if score == "gradient":
        b = deltas(network, shown, data.targets[used])[i + 1]
    return naive.ranks(score, a, b, weight)


def deltas(network, shown, targets):
    """Half the squared error's gradient before each level's activation; ReLU only."""
    delta = [None] * len(shown)
    delta[-1] = shown[-1] - targets
    for i in range(len(shown) - 2, 0, -1):
        back = delta[i + 1] @ naive.to_dense(network.layers[i])
        delta[i] = back * (shown[i] > 0)
    return delta


def gradients(network, data, used):
    """Gradient of half the mean squared error for every index: (n_out, n_in) each."""
    x = data.dense[used]
    sums = DenseNetwork(network).sums(x)
    shown = [x, *(activate(z, network.activation) for z in sums[:-1]), sums[-1]]
    delta = deltas(network, shown, data.targets[used])
    return [delta[i + 1].T @ shown[i] / len(used) for i in range(len(network.layers))]
