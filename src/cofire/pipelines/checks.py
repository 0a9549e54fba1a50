"""What transformers need beside their attributes: checks, and stand-ins."""

from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectFromModel

from cofire.persistence.values import demand
from cofire.pipelines.contents import Place

_MOST_FACTORS = 64
"""Of a polynomial, different ones in a product: more make more terms than 2**64."""

# ---- before a transformer is written -------------------------------------------------


class Chosen(BaseEstimator):
    """Stands for the model by which a SelectFromModel chose: only the choice is left.

    Its importances are 1 for the features that were chosen, else 0.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    n_features_in_: int
    feature_importances_: np.ndarray

    def __sklearn_clone__(self) -> "Chosen":
        """It cannot learn: a pipeline that is cross-validated keeps the choice."""
        return self

    def fit(self, X: Any, y: Any = None) -> "Chosen":
        raise RuntimeError(
            "this SelectFromModel was read from a model file, which holds the features "
            "that it chose, not the model by which it chose: make a new one to fit it."
        )


def only_the_choice(selector: Any, place: Place) -> Any:
    chosen = Chosen()
    support = selector.get_support()
    chosen.n_features_in_ = len(support)
    chosen.feature_importances_ = support.astype(np.float64)
    simple = SelectFromModel(chosen, threshold=0.5, prefit=True)
    simple.estimator_ = chosen
    for name in ("feature_names_in_", "_sklearn_output_config"):
        if name in vars(selector):
            setattr(simple, name, getattr(selector, name))
    place.note("of the model by which it chose, only the choice was kept")
    return simple


def with_known_columns(transformer: Any, place: Place) -> Any:
    """A function that chose columns has done so: they are what it chose."""
    if not hasattr(transformer, "_columns"):
        return transformer
    simple = copy(transformer)
    simple.transformers = [
        (name, step, known if callable(columns) else columns)
        for (name, step, columns), known in zip(
            transformer.transformers, transformer._columns, strict=True
        )
    ]
    return simple


# ---- after it was read ---------------------------------------------------------------


def check_one_hot(encoder: Any) -> None:
    """Its codes become indices of a sparse matrix, which SciPy does not check."""
    n = len(encoder.categories_)
    grouped = _groups(encoder) if encoder._infrequent_enabled else [None] * n
    n_categories = [len(categories) for categories in encoder.categories_]
    n_codes = [
        size - (0 if rare is None else len(rare) - 1)
        for size, rare in zip(n_categories, grouped, strict=True)
    ]
    demand(all(n_categories), "categories_: expected at least one")
    for dropped, sizes in (
        (encoder._drop_idx_after_grouping, n_codes),
        (encoder.drop_idx_, n_categories),
    ):
        for index, size in zip(() if dropped is None else dropped, sizes, strict=False):
            right = index is None or (type(index) is int and 0 <= index < size)
            demand(right, "a category that does not exist is dropped")
    encoder._n_features_outs = encoder._compute_n_features_outs()


def _groups(encoder: Any) -> list[np.ndarray | None]:
    """Return the rare categories, whose codes are checked."""
    rare = encoder._infrequent_indices
    mappings = encoder._default_to_infrequent_mappings
    for categories, own, mapping in zip(
        encoder.categories_, rare, mappings, strict=True
    ):
        demand((own is None) == (mapping is None), "rare categories: one is missing")
        if own is None:
            continue
        n, ascending = len(categories), bool((own[1:] > own[:-1]).all())
        inside = len(own) > 0 and 0 <= own[0] <= own[-1] < n
        demand(ascending and bool(inside), "rare categories: not among the categories")
        expected = np.full(n, n - len(own))
        expected[np.delete(np.arange(n), own)] = np.arange(n - len(own))
        demand(np.array_equal(mapping, expected), "rare categories: wrong codes")
    return rare


def check_standard(scaler: Any) -> None:
    """What it is told to do, it must have the numbers for."""
    demand(not scaler.with_mean or scaler.mean_ is not None, "mean_: expected numbers")
    demand(not scaler.with_std or scaler.scale_ is not None, "scale_: expected numbers")


def check_robust(scaler: Any) -> None:
    centred, scaled = scaler.center_ is not None, scaler.scale_ is not None
    demand(centred or not scaler.with_centering, "center_: expected numbers")
    demand(scaled or not scaler.with_scaling, "scale_: expected numbers")


def check_power(transformer: Any) -> None:
    scaled = hasattr(transformer, "_scaler")
    demand(scaled or not transformer.standardize, "_scaler is missing")


def check_imputer(imputer: Any) -> None:
    flagged = imputer.indicator_ is not None
    demand(flagged == imputer.add_indicator, "indicator_: not as add_indicator says")
    if not hasattr(imputer, "_fill_dtype"):  # written by scikit-learn before 1.8
        imputer._fill_dtype = imputer._fit_dtype


def check_indicator(indicator: Any) -> None:
    features, n = indicator.features_, indicator._n_features
    demand(n == indicator.n_features_in_, "_n_features: expected the same number")
    inside = len(features) == 0 or 0 <= features.min() <= features.max() < n
    demand(bool(inside), "features_: expected features of X")


def check_ordinal(encoder: Any) -> None:
    if encoder._infrequent_enabled:
        mappings = encoder._default_to_infrequent_mappings
        for categories, mapping in zip(encoder.categories_, mappings, strict=True):
            right = mapping is None or len(mapping) == len(categories)
            demand(right, "rare categories: expected a code for each category")


def fit_polynomial(polynomial: Any) -> None:
    """All that it learns is the number of features."""
    n, degree = polynomial.n_features_in_, polynomial.degree
    highest = degree if isinstance(degree, int) else degree[-1]
    small = type(highest) is int and min(n, highest) <= _MOST_FACTORS and n <= 2**20
    demand(small, "PolynomialFeatures: too many features")
    names = getattr(polynomial, "feature_names_in_", None)
    polynomial.fit(np.zeros((1, n)))
    if names is not None:
        polynomial.feature_names_in_ = names


def check_columns(transformer: Any) -> None:
    """Which columns each part gets must exist, by number or by name."""
    n = transformer.n_features_in_
    names = set(getattr(transformer, "feature_names_in_", ()))

    def exists(column: Any) -> bool:
        return column in names if isinstance(column, str) else -n <= column < n

    for _, _, columns in [*transformer.transformers_, transformer._remainder]:
        if isinstance(columns, slice):
            ends = [end for end in (columns.start, columns.stop) if end is not None]
            known = all(type(end) is int or end in names for end in ends)
            right = known and len({*map(type, ends)}) <= 1
            demand(right and columns.step in (None, 1), "columns: a strange slice")
            continue
        given = columns if isinstance(columns, list) else [columns]
        demand(len({*map(type, given)}) <= 1, "columns: of different kinds")
        if given and type(given[0]) is bool:
            demand(len(given) == n, "columns: expected true or false for each")
        else:
            demand(all(map(exists, given)), "columns: some do not exist")
    for indices in transformer._transformer_to_input_indices.values():
        demand(all(i < n for i in indices), "columns: some do not exist")
