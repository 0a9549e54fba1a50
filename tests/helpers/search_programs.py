"""Searches that tests make in processes of their own.

python -m helpers.search_programs indices     what is found, at a SIMD level
python -m helpers.search_programs memory     the memory that a huge layer takes
"""

import resource
import sys
import zlib

import numpy as np
import scipy.sparse

from cofire import engine
from cofire.core.layer import SparseLayer
from cofire.core.network import SparseNetwork
from cofire.search import Linear, screened
from helpers.search_cases import Case
from helpers.similarity_cases import SCORES, assert_indices, find


def indices():
    """Tell for each search of some whole numbers what was found."""
    for n_rows in (640, 2048):
        case = Case.random(9, sizes=(40, 130, 90, 5), n_rows=n_rows, wish=0.03)
        for mode in ("screened", "linear"):
            for case.score in SCORES:
                found = find(case, mode)
                sums = [zlib.crc32(indices.tobytes()) for indices in found.indices]
                yield f"{mode} {sums} {found.factor}"


def huge_layer(n=100_000, n_rows=64):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array(
        (n_rows, n), density=0.05, format="csr", dtype=np.float32, rng=rng
    )
    indices = np.arange(n) * (n + 1)
    layer = SparseLayer.from_flat_indices(indices, np.ones(n), np.zeros(n), n, n)
    network = SparseNetwork([layer], "relu", "identity")
    ids, dense = np.arange(n_rows), None
    return Case(network, engine.Rows(X), dense, ids, None, [indices], [n])


def memory():
    """Tell by how many megabytes the search of such a layer raises the peak."""

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    find(huge_layer(100), "linear")
    case = huge_layer()
    before = peak()
    found = find(case, Linear(tables=2))
    yield peak() - before
    assert_indices(case, found.indices)


if __name__ == "__main__":
    screened.FEW_PRODUCTS = 0  # screen small networks too
    for line in {"indices": indices, "memory": memory}[sys.argv[1]]():
        sys.stdout.write(f"{line}\n")
