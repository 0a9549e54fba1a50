"""How pairs of similar neurons are searched: values for `similarity=`.

>>> from cofire import SparseMLPClassifier, similarity
>>> model = SparseMLPClassifier(similarity=similarity.Screened(recall=0.95))
"""

from cofire.search import Exact, Linear, Screened, Similarity

__all__ = ["Exact", "Linear", "Screened", "Similarity"]
