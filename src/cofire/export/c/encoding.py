"""The part of a C file that turns features into the inputs of the networks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cofire.estimators.scaling import BEND, MOST
from cofire.export.c.words import comment, table
from cofire.export.plain import Kind, PlainModel

FLOAT_ERROR = 1e-6
"""How far rounding features to float may move the sum of a neuron."""
_FAR = 1e30
"""Larger numbers, or 1 over them, may leave the range of float."""


def feature_type(model: PlainModel) -> str:
    """Return the type of features in C that predicts what Python does.

    A feature such as 100000.01 loses in float what the network may look at: how far a
    neuron's sum may be moved by that decides.
    """
    if model.takes_bytes:
        return "unsigned char"
    of, eps = model.inputs, np.finfo(np.float32).eps / 2
    parts = np.abs(np.concatenate([of.centre, of.scale, of.low, of.width]))
    if parts.max() > _FAR or parts[parts > 0].min(initial=1) < 1 / _FAR:
        return "double"
    scale = np.where(of.scale == 0, 1.0, of.scale)
    number = eps * (np.abs(of.centre) + scale) / scale
    reach = np.abs(of.low) + of.width
    piece = eps * reach / np.where(of.width == 0, 1.0, of.width) / scale
    error = np.select([of.kind == Kind.NUMBER, of.kind == Kind.PIECE], [number, piece])
    layers = [own.layers[0] for own in model.networks]
    moved = [
        np.sqrt(np.bincount(own.rows, (own.weights * error[own.indices]) ** 2, 1))
        for own in layers
    ]
    return "double" if max(map(np.max, moved)) > FLOAT_ERROR else "float"


BENDING = {
    "bend": int(BEND),
    "most": int(MOST),
    "end": int(np.ceil(np.expm1(MOST - BEND) + BEND)),
}
"""What words of the templates stand for; from `end` on, a value is `most`."""


@dataclass(frozen=True)
class Encoding:
    """The parts of a C file; words with $ in `functions` are to be filled in."""

    tables: list[str]
    n_bytes: int
    """Of the tables."""
    functions: str
    """The function `encode`, and those that it calls."""


def encoding(model: PlainModel, kind: str) -> Encoding:
    """Return how features of a type become inputs."""
    made = _Writer(model, kind)
    for write in (made.numbers, made.flags, made.levels, made.pieces):
        write()
    body = "\n".join(made.parts)
    encode = f"{_ENCODE}{{\n    $size i;\n\n{body}}}\n"
    return Encoding(made.tables, made.n_bytes, "\n".join([*made.helpers, encode]))


_BYTES = {"unsigned char": 1, "unsigned short": 2, "unsigned": 4, "short": 2, "int": 4}
_BYTES |= {"float": 4, "double": 8}

_ENCODE = """\
/* From features to the inputs of the networks. */
static void encode(const $feature *features, $input *inputs)
"""
_MISSING = """\
/* Whether a feature is missing, that is NaN, which alone does not equal itself. */
static int is_missing($feature value)
{
    return value != value;
}
"""
_BEND = """\
/* Beyond $bend a standardised value grows like a logarithm, up to $most. */
static float bend($feature value)
{
    const $feature size = value < 0 ? -value : value;
    float bent = $most.0f;
    if (size <= $bend) {
        return (float)value;
    }
    if (size < $end) {
        bent = $bend.0f + log1pf((float)size - $bend.0f);
    }
    return value < 0 ? -bent : bent;
}
"""
_PART = """\
/* A value within 0 and 1. */
static float part($feature value)
{
    return value < 0 ? 0.0f : value > 1 ? 1.0f : (float)value;
}
"""
_LEVEL = """\
/* The level of a category: a whole number below n_levels, or the one that stands for
 * others, or for a missing value; -1 for none. */
static int level_of($feature value, int n_levels, int other, int missing)
{
    int level;
    if (is_missing(value)) {
        return missing;
    }
    if (!(value >= 0 && value < ($feature)n_levels)) {
        return other;
    }
    level = (int)value;
    return ($feature)level < value ? other : level;
}
"""


class _Writer:
    """Collects tables and statements."""

    def __init__(self, model: PlainModel, kind: str) -> None:
        self.model, self.of, self.kind = model, model.inputs, kind
        self.tables: list[str] = []
        self.parts: list[str] = []
        self.n_bytes = 0

    @property
    def helpers(self) -> list[str]:
        text = "\n".join(self.parts)
        levels = _LEVEL if "level_of(" in text else ""
        missing = _MISSING if "is_missing(" in text + levels else ""
        bends = _BEND if "bend(" in text else ""
        parts = _PART if "part(" in text else ""
        return [own for own in (missing, parts, bends, levels) if own]

    def numbers(self) -> None:
        which = np.flatnonzero(self.of.kind == Kind.NUMBER)
        if not len(which):
            return
        centre, scale = self.of.centre[which], self.of.scale[which]
        column = self._column("number", which)
        if not centre.any() and (scale == 1).all() and not self.of.bent:
            value = "($input)value"
        else:
            self._table(self.kind, "number_centre", centre)
            self._table(self.kind, "number_factor", 1 / scale)
            value = self._bent("(value - number_centre[i]) * number_factor[i]")
        value = self._or_blank("number", which, value)
        self._loop("Numbers.", which, column, value)
        self._cut(which)

    def _cut(self, which: np.ndarray) -> None:
        """Cut bytes off that are further from the others than any in training."""
        columns = [self.model.columns[j] for j in self.of.column[which]]
        least = np.array([own.least for own in columns])
        most = np.array([own.most for own in columns])
        cut = np.flatnonzero((least > 0) | (most < 255))
        if not (self.model.takes_bytes and len(cut)):
            return
        self._index("cut_input", which[cut])
        self._table("unsigned char", "cut_least", least[cut])
        self._table("unsigned char", "cut_most", most[cut])
        self.parts.append(
            comment("Bytes far from all that training saw are cut off.", "    ")
            + f"    for (i = 0; i < {len(cut)}; i++) {{\n"
            "        $input *const input = inputs + cut_input[i];\n"
            "        const $input least = ($input)cut_least[i];\n"
            "        const $input most = ($input)cut_most[i];\n"
            "        *input = *input < least ? least : *input > most ? most : *input;\n"
            "    }\n"
        )

    def flags(self) -> None:
        which = np.flatnonzero(self.of.kind == Kind.MISSING)
        if not len(which):
            return
        column = self._column("flag", which)
        self._table("float", "flag_present", self.of.present[which])
        self._table("float", "flag_absent", self.of.absent[which])
        value = "is_missing(value) ? flag_present[i] : flag_absent[i]"
        self._loop("Whether numbers are missing.", which, column, value)

    def levels(self) -> None:
        which = np.flatnonzero(self.of.kind == Kind.LEVEL)
        if not len(which):
            return
        columns, first, counts = np.unique(
            self.of.column[which], return_index=True, return_counts=True
        )
        known = [self.model.columns[j] for j in columns]
        fill = [-1 if own.fill is None else own.fill for own in known]
        self._index("category_column", columns)
        self._levels("category_levels", [len(own.levels or ()) for own in known])
        self._levels("category_other", [own.other for own in known])
        self._levels("category_missing", fill)
        self._index("category_start", np.append(first, len(which)))
        assert (np.diff(first) == counts[:-1]).all()
        self._levels("level_number", self.of.level[which])
        self._table("float", "level_present", self.of.present[which])
        self._table("float", "level_absent", self.of.absent[which])
        start = f"{which[0]} + " if which[0] else ""
        self.parts.append(
            comment("Categories: an input for each level.", "    ")
            + f"    for (i = 0; i < {len(columns)}; i++) {{\n"
            "        const int own = level_of(features[category_column[i]],\n"
            "            category_levels[i], category_other[i], category_missing[i]);\n"
            "        $size k;\n"
            "        for (k = category_start[i]; k < category_start[i + 1]; k++) {\n"
            f"            inputs[{start}k] = own == level_number[k]\n"
            "                ? level_present[k]\n"
            "                : level_absent[k];\n"
            "        }\n"
            "    }\n"
        )

    def pieces(self) -> None:
        which = np.flatnonzero(self.of.kind == Kind.PIECE)
        if not len(which):
            return
        column = self._column("piece", which)
        scale = self.of.scale[which]
        self._table(self.kind, "piece_low", self.of.low[which])
        self._table(self.kind, "piece_slope", 1 / self.of.width[which])
        self._table("float", "piece_gain", 1 / scale)
        self._table("float", "piece_offset", -self.of.centre[which] / scale)
        part = "part((value - piece_low[i]) * piece_slope[i])"
        value = f"{part}\n                * piece_gain[i] + piece_offset[i]"
        value = self._bent(f"($feature)({value})")
        value = self._or_blank("piece", which, value)
        self._loop("Parts of the ranges of numbers.", which, column, value)

    # ---- what they share ------------------------------------------------------------

    def _bent(self, value: str) -> str:
        return f"bend({value})" if self.of.bent else f"(float)({value})"

    def _loop(self, title: str, which: np.ndarray, column: str, value: str) -> None:
        """Write a loop over inputs that are neighbours."""
        first = f"{which[0]} + " if which[0] else ""
        self.parts.append(
            comment(title, "    ")
            + f"    for (i = 0; i < {len(which)}; i++) {{\n"
            + f"        const $feature value = {column};\n"
            + f"        inputs[{first}i] = {value};\n"
            + "    }\n"
        )

    def _or_blank(self, group: str, which: np.ndarray, value: str) -> str:
        """Return the input, and what a missing number becomes, if it may be missing."""
        if not self.model.takes_missing:
            return value
        fill = [np.nan if own.fill is None else own.fill for own in self.model.columns]
        blanks = self.model.encode(np.array([fill]))[0, which]
        blank = "0.0f"
        if blanks.any():
            self._table("float", f"{group}_blank", blanks)
            blank = f"{group}_blank[i]"
        return f"is_missing(value)\n            ? {blank}\n            : {value}"

    def _column(self, group: str, which: np.ndarray) -> str:
        """Return the feature of input i, and write its table unless it is plain."""
        column = self.of.column[which]
        if (column == np.arange(len(column))).all():
            return "features[i]"
        self._index(f"{group}_column", column)
        return f"features[{group}_column[i]]"

    def _index(self, name: str, values: np.ndarray) -> None:
        fits = [kind for kind, top in _INDICES.items() if values.max() <= top]
        self._table(fits[0], name, values)

    def _levels(self, name: str, values: Any) -> None:
        self._table("short" if max(values) < 2**15 else "int", name, values)

    def _table(self, kind: str, name: str, values: Any) -> None:
        self.tables.append(table(kind, name, values))
        self.n_bytes += _BYTES[kind] * len(values)


_INDICES = {"unsigned char": 255, "unsigned short": 2**16 - 1, "unsigned": 2**32 - 1}
