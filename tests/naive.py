"""Boring oracles: dense, slow, never optimised."""

import numpy as np


def to_dense(layer):
    """Weights of shape (n_out, n_in), 0 where no connection is."""
    dense = np.zeros((layer.n_out, layer.n_in), dtype=np.float32)
    for o in range(layer.n_out):
        for k in range(layer.indptr[o], layer.indptr[o + 1]):
            dense[o, layer.indices[k]] = layer.weights[k]
    return dense


def places(layer):
    """The set of places that hold a connection."""
    return {
        o * layer.n_in + int(layer.indices[k])
        for o in range(layer.n_out)
        for k in range(layer.indptr[o], layer.indptr[o + 1])
    }


def rewire(layer, dropped, grown, new_weights, returning):
    """Places, weights and origin after the rewiring, as three lists."""
    old = {p: (layer.weights[k], k) for k, p in enumerate(sorted(places(layer)))}
    new = {p: connection for p, connection in old.items() if p not in set(dropped)}
    for p, weight in zip(grown, new_weights, strict=True):
        returns = p in set(dropped) and returning == "kept"
        new[p] = old[p] if returns else (weight, -1)
    connections = [new[p] for p in sorted(new)]
    weights = [weight for weight, _ in connections]
    return sorted(new), weights, [origin for _, origin in connections]


def most_similar(layer, dropped, similarity, n):
    """The n best places outside layer-minus-dropped by a (n_out, n_in) similarity."""
    kept = places(layer) - set(dropped)
    candidates = [p for p in range(similarity.size) if p not in kept]
    candidates.sort(key=lambda p: -similarity.flat[p])
    return np.array(candidates[:n], dtype=np.int64)


def ctre_sim(layer, dropped, similarity, n):
    """What must be grown, how many come at random, and from where."""
    best = set(most_similar(layer, dropped, similarity, n).tolist())
    added = best - set(dropped)
    n_random = len(best & set(dropped))
    pool = set(range(similarity.size)) - places(layer) - added
    return added, n_random, pool


# ---- the similarity search: all pairs at once, ranks and lots included ---------------


def stir(x):
    """The finaliser of splitmix64, in uint64 arithmetic."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def lots(places, seed, layer, epoch):
    """A random number for each place, which decides among equal ranks."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        state = np.uint64(0)
        for word in (seed, layer, epoch):
            state = stir(state + step + np.uint64(word))
        return stir(state + step * places.astype(np.uint64)) >> np.uint64(32)


def cosine_ranks(a, b, weight):
    """Rounded |cosine| of columns: (n_out, n_in), from 0 to 2**16."""

    def inverse_norm(x):
        return 1 / np.sqrt(np.maximum((weight[:, None] * x * x).sum(axis=0), 1e-12))

    products = (weight[:, None] * b).T @ a
    cosine = np.abs(products) * inverse_norm(a) * inverse_norm(b)[:, None]
    return np.floor(cosine * 65536 + 0.5).astype(np.int64)


def best_places(ranks, kept, n, *, seed, layer, epoch):
    """The n places outside `kept` with the highest ranks, ascending."""
    candidates = np.setdiff1d(np.arange(ranks.size), kept)
    lot = lots(candidates, seed, layer, epoch)
    order = np.lexsort((candidates, -lot.astype(np.int64), -ranks.flat[candidates]))
    return np.sort(candidates[order[:n]])
