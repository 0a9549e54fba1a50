"""Boring oracles: dense, slow, never optimised."""

import numpy as np


def to_dense(layer):
    """Weights of shape (n_out, n_in), 0 where no connection is."""
    dense = np.zeros((layer.n_out, layer.n_in), dtype=np.float32)
    for o in range(layer.n_out):
        for k in range(layer.indptr[o], layer.indptr[o + 1]):
            dense[o, layer.indices[k]] = layer.weights[k]
    return dense


def flat_indices(layer):
    """The set of indices that hold a connection."""
    return {
        o * layer.n_in + int(layer.indices[k])
        for o in range(layer.n_out)
        for k in range(layer.indptr[o], layer.indptr[o + 1])
    }


def rewire(layer, dropped, grown, new_weights, returning):
    """Places, weights and origin after the rewiring, as three lists."""
    old = {p: (layer.weights[k], k) for k, p in enumerate(sorted(flat_indices(layer)))}
    new = {p: connection for p, connection in old.items() if p not in set(dropped)}
    for p, weight in zip(grown, new_weights, strict=True):
        returns = p in set(dropped) and returning == "kept"
        new[p] = old[p] if returns else (weight, -1)
    connections = [new[p] for p in sorted(new)]
    weights = [weight for weight, _ in connections]
    return sorted(new), weights, [origin for _, origin in connections]


# ---- the search: all pairs at once, ranks and lots included --------------------------


def stir(x):
    """The finaliser of splitmix64, in uint64 arithmetic."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def lots(indices, seed, layer, epoch):
    """A random number for each index, which decides among equal ranks."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        state = np.uint64(0)
        for word in (seed, layer, epoch):
            state = stir(state + step + np.uint64(word))
        return stir(state + step * indices.astype(np.uint64)) >> np.uint64(32)


def cosine_ranks(a, b, weight):
    """Rounded |cosine| of columns: (n_out, n_in), from 0 to 2**16."""

    def inverse_norm(x):
        return 1 / np.sqrt(np.maximum((weight[:, None] * x * x).sum(axis=0), 1e-12))

    products = (weight[:, None] * b).T @ a
    cosine = np.abs(products) * inverse_norm(a) * inverse_norm(b)[:, None]
    return np.floor(cosine * 65536 + 0.5).astype(np.int64)


def best_indices(ranks, kept, n, *, seed, layer, epoch, ties="random"):
    """The n indices outside `kept` with the highest (n_out, n_in) ranks, ascending."""
    candidates = np.setdiff1d(np.arange(ranks.size), kept)
    lot = lots(candidates, seed, layer, epoch)
    if ties == "random":
        among_equals = candidates, -lot.astype(np.int64)
    else:
        n_out, n_in = ranks.shape
        among_equals = (np.arange(ranks.size).reshape(n_in, n_out).T.flat[candidates],)
    order = np.lexsort((*among_equals, -ranks.flat[candidates]))
    return np.sort(candidates[order[:n]])


def significant(x):
    """Numbers >= 0 as float32, then to 17 significant binary digits, halves upwards."""
    mantissa, exponent = np.frexp(np.float32(x).astype(np.float64))
    return np.ldexp(np.floor(mantissa * 2**17 + 0.5), exponent - 17)


def products(a, b, weight):
    """Weighted sums over the rows of a times b, for all columns: (n_out, n_in)."""
    return (weight[:, None] * b).T @ a


def square_distances(a, b, weight):
    """Weighted sums of squared differences of all columns: (n_out, n_in)."""
    return np.stack(
        [(weight[:, None] * (a - column[:, None]) ** 2).sum(axis=0) for column in b.T]
    )


def ranks(score, a, b, weight):
    """How good each pair of columns is, the higher the better: (n_out, n_in)."""
    if score == "cosine":
        return cosine_ranks(a, b, weight)
    if score == "lowest_cosine":
        return 2**16 - np.minimum(cosine_ranks(a, b, weight), 2**16)
    if score == "euclidean":
        return significant(1 / (1 + np.sqrt(square_distances(a, b, weight))))
    return significant(np.abs(products(a, b, weight)))


def with_zeros(layer):
    """A full layer that does the same: weight 0 where there was no connection."""
    indices = np.arange(layer.n_in * layer.n_out)
    weights = to_dense(layer).ravel()
    return layer.from_flat_indices(
        indices, weights, layer.bias, layer.n_in, layer.n_out
    )


def rarity(X):
    """For each row, in how many rows its rarest feature is not 0; all without one."""
    count = (X != 0).sum(axis=0)
    return [min((int(count[f]) for f in np.flatnonzero(x)), default=len(X)) for x in X]


# ---- rows as training sees them ------------------------------------------------------


def kept(n_rows, n_features, share, seed, epoch, first=None):
    """Which values of all rows are seen in an epoch, by `input_dropout`.

    first: the epoch in which the call begins, if that is another.
    """
    ids, mod = np.arange(n_rows), np.uint64(2**32)
    begun = epoch if first is None else first
    key = lots(np.arange(n_features), seed, 2**29 + 1, begun)
    factor, summand = (lots(2 * ids + k, seed, 2**29 + 2, epoch) for k in (0, 1))
    lot = (factor[:, None] * key + summand[:, None]) % mod
    # As the engine counts, from the middle: the lower half of the numbers comes last.
    lot = (lot + mod // np.uint64(2)) % mod
    return lot >= np.uint64(int(share * 2**32))


def dropped_out(X, share, seed, epoch, first=None):
    """A copy of all rows as they are seen in an epoch: float32 stays float32."""
    factor = np.float32(1 / (1 - share))
    seen = kept(*X.shape, share, seed, epoch, first)
    return np.where(seen, X * factor, X.dtype.type(0))


def look(row, augmentation, seed, epoch):
    """How a row is seen in an epoch: whether flipped, pixels down, pixels right."""
    lot = [int(n) for n in lots(3 * row + np.arange(3), seed, 2**29, epoch)]
    down, right = (
        lot[k] * (2 * most + 1) // 2**32 - most
        for k, most in ((1, augmentation.pixels[0]), (2, augmentation.pixels[1]))
    )
    return augmentation.flip and lot[0] % 2 == 1, down, right


def moved(image, flipped, down, right):
    """An image (height, width, channels), flipped, then moved, the edges repeated."""
    height, width, channels = image.shape
    result = np.empty_like(image)
    for y in range(height):
        for x in range(width):
            from_y = min(max(y - down, 0), height - 1)
            from_x = min(max(x - right, 0), width - 1)
            if flipped:
                from_x = width - 1 - from_x
            for c in range(channels):
                result[y, x, c] = image[from_y, from_x, c]
    return result


def augmented(X, augmentation, seed, epoch):
    """A copy of all rows as they are seen in an epoch."""
    shape = (augmentation.height, augmentation.width, augmentation.channels)
    looks = [look(row, augmentation, seed, epoch) for row in range(len(X))]
    seen = [moved(x.reshape(shape), *how) for x, how in zip(X, looks, strict=True)]
    return np.stack(seen).reshape(X.shape)
