"""The search for similar neurons: three classes with one method, `find`."""

from cofire.errors import unknown_name
from cofire.search.exact import Exact
from cofire.search.linear import Linear
from cofire.search.sample import Deck
from cofire.search.screened import Screened
from cofire.search.strategy import Found, Similarity

__all__ = [
    "SIMILARITIES",
    "Deck",
    "Exact",
    "Found",
    "Linear",
    "Screened",
    "Similarity",
    "make_similarity",
]

SIMILARITIES: dict[str, type[Similarity]] = {
    "exact": Exact,
    "screened": Screened,
    "linear": Linear,
}


def make_similarity(similarity: str | Similarity) -> Similarity:
    """Return the search of this name with its defaults, or the object itself.

    >>> make_similarity("screened")
    Screened(recall=0.99)
    """
    if isinstance(similarity, Similarity):
        return similarity
    if similarity not in SIMILARITIES:
        raise unknown_name("similarity", similarity, SIMILARITIES)
    return SIMILARITIES[similarity]()
