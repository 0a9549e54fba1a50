"""Ascending index arrays as sets: draw, merge, find, remove.

NumPy's own set functions sort or hash again; these use the order that is there.
"""

import numpy as np


def distinct(total: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n of the numbers 0 ... total - 1 without replacement: ascending int64.

    Every set of n numbers is equally likely. Memory and time grow with n, not total.

    >>> distinct(10**12, 3, np.random.default_rng(0)).shape
    (3,)
    >>> distinct(3, 3, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if not 0 <= n <= total:
        raise ValueError(f"cannot draw {n} distinct numbers out of {total}")
    if 2 * n > total:
        chosen = np.ones(total, dtype=bool)
        chosen[distinct(total, total - n, rng)] = False
        return np.flatnonzero(chosen)
    drawn = np.empty(0, dtype=np.int64)
    # Only the shortfall is drawn: cutting a surplus off sorted numbers would prefer
    # small ones.
    while len(drawn) < n:
        more = rng.integers(total, size=n - len(drawn))
        drawn = merge(drawn, np.sort(more))
    return drawn


def merge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Merge two arrays into an ascending one, each value once.

    >>> merge(np.array([1, 4]), np.array([2, 4, 4]))
    array([1, 2, 4])
    """
    both = np.concatenate([a, b])
    both.sort(kind="stable")  # merges sorted runs in linear time; np.unique hashes
    first = np.ones(len(both), dtype=bool)
    np.not_equal(both[1:], both[:-1], out=first[1:])
    return both[first]


def find(indices: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Find the position of each wanted index in the ascending `indices`; -1 if absent.

    >>> find(np.array([2, 5, 9]), np.array([9, 3, 2]))
    array([ 2, -1,  0])
    """
    if len(indices) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.searchsorted(indices, wanted)
    at[at == len(indices)] = 0
    return np.where(indices[at] == wanted, at, -1)


def without(indices: np.ndarray, unwanted: np.ndarray) -> np.ndarray:
    """Remove the unwanted ones, given in any order, from the ascending `indices`.

    >>> without(np.array([2, 5, 9]), np.array([9, 3]))
    array([2, 5])
    """
    at = find(indices, unwanted)
    return np.delete(indices, at[at >= 0])
