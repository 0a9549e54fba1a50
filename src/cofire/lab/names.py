"""The names of methods and data sets in print, and the order of methods in tables."""

from cofire.data import CATALOG
from cofire.methods import METHODS, Method

DATA_NAMES = {name: entry.print_name for name, entry in CATALOG.items()}
"""In the order of the paper's tables."""

BASELINES = {
    "logistic_regression": "Logistic regression",
    "ridge": "Ridge regression",
    "random_forest": "Random forest",
    "gradient_boosting": "Gradient boosting",
}
"""Models of scikit-learn that methods are compared with, and their titles."""


def method_class(method: str) -> type[Method] | None:
    """Return the class of a method; None if its package is missing or broken here.

    A store may hold runs of such a method.
    """
    try:
        return METHODS[method]
    except Exception:  # whatever the import of somebody's package may raise
        return None


def method_name(method: str) -> str:
    """Return the title of a method or baseline, or the name that it has in `METHODS`.

    A subclass does not inherit the title: it is another method.

    >>> method_name("ctre_wo_random"), method_name("mine"), method_name("ridge")
    ('CTRE_w/oRandom', 'mine', 'Ridge regression')
    """
    if method in BASELINES:
        return BASELINES[method]
    title: str | None = vars(method_class(method) or object).get("title")
    return title or method


def method_position(method: str) -> tuple[int, str]:
    """Sort methods as `METHODS` has them, then baselines; unknown ones last, by name.

    >>> sorted(["mine", "ridge", "set", "a", "ctre_sim"], key=method_position)
    ['ctre_sim', 'set', 'ridge', 'a', 'mine']
    """
    known = [*METHODS, *BASELINES]
    return (known.index(method) if method in known else len(known)), method


def is_full(method: str) -> bool:
    """Whether the networks of a method have every connection, and so no epsilon."""
    known = method_class(method)
    return known is not None and known.full


def data_name(data: str) -> str:
    """Return the print name of a data set; a file keeps its own name.

    >>> data_name("fashion_mnist")
    'Fashion-MNIST'
    """
    return DATA_NAMES.get(data, data)
