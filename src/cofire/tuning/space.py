"""What is searched: a range around the recipe's value of each parameter left to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from itertools import pairwise
from typing import Any

from cofire.estimators import SparseMLPRegressor
from cofire.estimators.recipe import choose
from cofire.lab.names import is_full

Settings = dict[str, Any]
"""Parameters of an estimator that differ from those it was given."""
Params = dict[str, Any]
"""A point of the space, by the names of its ranges."""

LAYERS = (1, 3)
DROPOUT = (0.0, 0.4)
# By how much the recipe's value is multiplied, at least and at most.
FACTORS = {
    "width": (1 / 16, 2.0),
    "epsilon": (1 / 10, 3.0),
    "learning_rate_init": (1 / 3, 3.0),
    "alpha": (1 / 10, 10.0),
}
VERSION = 1
"""Of the space: trials of another version are not continued."""


@dataclass(frozen=True)
class Range:
    """The values of one parameter: numbers from low to high."""

    low: float
    high: float
    log: bool = True
    whole: bool = False

    def nearest(self, value: float) -> float:
        """Return the value, or the end of the range beyond which it lies."""
        found = min(max(value, self.low), self.high)
        return round(found) if self.whole else found


@dataclass(frozen=True)
class Space:
    """The ranges by name, the recipe's point in them, and how points become settings.

    widths: of the hidden layers of the estimator, which may not be equal.
    """

    ranges: Mapping[str, Range]
    default: Params
    widths: tuple[int, ...]

    @classmethod
    def around(
        cls, estimator: Any, n_rows: int, n_pieces: int, n_inputs: int = 1
    ) -> "Space":
        """Return what is open: a parameter that the user has set stays as it is.

        n_pieces: how many a column has by the recipe; where there are none, whether
        columns enter in pieces is not a question. n_inputs: of the networks.
        """
        numeric = isinstance(estimator, SparseMLPRegressor)
        recipe = choose(
            estimator,
            n_rows,
            n_inputs=n_inputs,
            n_pieces=n_pieces,
            numeric=numeric,
            partial=False,
        ).chosen
        widths = _widths(estimator)
        values = {name: recipe[name] for name in FACTORS if name in recipe}
        values |= {"width": max(widths, default=0), "layers": len(widths)}
        values |= {"input_dropout": recipe["input_dropout"], "pieces": 1}
        given = set(given_parameters(estimator))
        opened = {
            "width": bool(widths) and "hidden_layer_sizes" not in given,
            "layers": bool(widths) and "hidden_layer_sizes" not in given,
            "epsilon": not given & {"epsilon", "density"} and not _has_all(estimator),
            "learning_rate_init": "learning_rate_init" not in given,
            "alpha": "alpha" not in given,
            "input_dropout": "input_dropout" not in given,
            "pieces": "n_pieces" not in given and n_pieces > 0,
        }
        names = [name for name, is_open in opened.items() if is_open]
        if not names:
            raise ValueError(
                "estimator: every parameter that is searched is set already "
                f"({', '.join(sorted(given))}). Leave at least one of "
                "hidden_layer_sizes, epsilon, learning_rate_init, alpha, "
                "input_dropout and n_pieces at its default."
            )
        ranges = {name: _range(name, values[name]) for name in names}
        default = {name: ranges[name].nearest(values[name]) for name in names}
        return cls(ranges, default, widths)

    def settings(self, params: Params) -> Settings:
        """Return the parameters of the estimator at a point, with three digits."""
        at = {name: _rounded(value) for name, value in params.items()}
        found: Settings = {
            name: at[name]
            for name in ("epsilon", "learning_rate_init", "alpha", "input_dropout")
            if name in at
        }
        if "width" in at:
            found["hidden_layer_sizes"] = [int(at["width"])] * int(at["layers"])
        if at.get("pieces") == 0:
            found["n_pieces"] = 0
        return dict(sorted(found.items()))

    def params(self, settings: Settings) -> Params:
        """Return the point of the space that settings belong to; {} is the recipe."""
        if not settings:
            return dict(self.default)
        found = {}
        for name, own in self.ranges.items():
            if name in ("width", "layers"):
                sizes = settings["hidden_layer_sizes"]
                value = sizes[0] if name == "width" else len(sizes)
            elif name == "pieces":
                value = settings.get("n_pieces", 1)
            else:
                value = settings[name]
            found[name] = own.nearest(value)
        return found

    def within(self, settings: Settings, most: int | None, sizes: Sequence[int]) -> Any:
        """Return settings with an epsilon that allows at most `most` connections.

        But for one per layer, which there always are. most: of one network; sizes: of
        the layers of the estimator's network, the inputs first.
        """
        if most is None or "epsilon" not in settings:
            return settings
        hidden = settings.get("hidden_layer_sizes", self.widths)
        layers = [sizes[0], *hidden, sizes[-1]]
        ends = [a + b for a, b in pairwise(layers)]
        epsilon = _rounded(min(settings["epsilon"], most / sum(ends)), ROUND_FLOOR)
        least = _rounded(1 / min(ends), ROUND_CEILING)
        return settings | {"epsilon": max(epsilon, least)}


def _widths(estimator: Any) -> tuple[int, ...]:
    sizes = estimator.hidden_layer_sizes
    return tuple(sizes) if hasattr(sizes, "__len__") else (int(sizes),)


def given_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that are not at their defaults.

    >>> from cofire import SparseMLPClassifier
    >>> given_parameters(SparseMLPClassifier(alpha=0.1))
    {'alpha': 0.1}
    """
    usual = type(estimator)().get_params(deep=False)
    own = estimator.get_params(deep=False)
    return {name: own[name] for name in own if repr(own[name]) != repr(usual[name])}


def _has_all(estimator: Any) -> bool:
    method = estimator.method
    return is_full(method) if isinstance(method, str) else bool(method.full)


def _range(name: str, value: float) -> Range:
    if name == "layers":
        return Range(min(LAYERS[0], value), max(LAYERS[1], value), False, whole=True)
    if name == "pieces":
        return Range(0, 1, log=False, whole=True)
    if name == "input_dropout":
        return Range(*DROPOUT, log=False)
    low, high = (_rounded(value * factor) for factor in FACTORS[name])
    if name == "width":
        return Range(max(2, int(low)), int(high), whole=True)
    return Range(low, high)


def _rounded(value: float, how: str = ROUND_HALF_EVEN) -> float:
    """Return a number with three significant digits.

    >>> _rounded(0.123456), _rounded(98765), _rounded(0)
    (0.123, 98800.0, 0.0)
    """
    return float(Context(prec=3, rounding=how).create_decimal(value))
