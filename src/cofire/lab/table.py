"""A table, written as Markdown, CSV and LaTeX."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from cofire.persistence.atomic import write_atomically


def mean_and_spread(values: ArrayLike) -> tuple[float, float]:
    """Return mean and population standard deviation (divided by n), as in the paper.

    >>> mean_and_spread([1, 3])
    (2.0, 1.0)
    """
    sample = np.asarray(values, dtype=float)
    if sample.size == 0:
        raise ValueError("no values: a mean needs at least one.")
    if np.ptp(sample) == 0:  # rounding gives equal values a spread of 1e-17
        return float(sample.flat[0]), 0.0
    return float(sample.mean()), float(sample.std())


@dataclass(frozen=True)
class MeanSpread:
    """A mean and its spread, together in one cell (in CSV: two).

    >>> MeanSpread.of([1.0, 3.0]), MeanSpread.of([2.0])
    (MeanSpread(mean=2.0, spread=1.0), MeanSpread(mean=2.0, spread=None))
    """

    mean: float
    spread: float | None

    @classmethod
    def of(cls, values: ArrayLike) -> "MeanSpread":
        """Compute both from values; a single value has no spread."""
        mean, spread = mean_and_spread(values)
        return cls(mean, spread if np.size(values) > 1 else None)


Value = float | str | MeanSpread | None


@dataclass(frozen=True)
class Table:
    """Rows of numbers and text; None is a cell without a value.

    name: of its files. digits: after the decimal point; digits_of: for single columns;
    whole numbers have none. bold: (row, column), counted from 0. grouped: columns of
    counts, which have a comma from 1,000 on; other whole numbers from 10,000 on.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    caption: str = ""
    digits: int = 1
    digits_of: Mapping[str, int] = field(default_factory=dict)
    bold: frozenset[tuple[int, int]] = frozenset()
    grouped: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w-]+", self.name):
            raise ValueError(f"{self.name!r} cannot be a file's name.")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"{self.name}: {len(self.columns)} columns, but a row has "
                    f"{len(row)} cells: {list(row)}."
                )

    def is_text(self, column: int) -> bool:
        """Whether a column has text; columns of numbers are aligned to the right."""
        return any(isinstance(row[column], str) for row in self.rows)

    def text(self, row: int, column: int) -> str:
        """Return the text of a cell, before anything is escaped."""
        value = self.rows[row][column]
        name = self.columns[column]
        digits = self.digits_of.get(name, self.digits)
        match value:
            case None:
                return "-"
            case float() if name.split(",")[0] == "p" and 0 <= value < 10**-digits:
                return f"< {10**-digits:.{digits}f}"  # no test is certain
            case MeanSpread(mean, None):
                return f"{mean:.{digits}f}"
            case MeanSpread(mean, spread):
                return f"{mean:.{digits}f} ± {spread:.{digits}f}"
            case bool() | str():
                return str(value)
            case Integral():
                least = 1000 if name in self.grouped else 10_000
                return f"{value:,}" if abs(value) >= least else str(value)
            case _:
                return f"{value:.{digits}f}"


def with_best_bold(
    table: Table, columns: Iterable[str], *, group: Iterable[str] = ()
) -> Table:
    """Return the table with the largest number of each of these columns in bold.

    group: columns; the best is the best among rows that are equal in them. If several
    are equally good, all are bold.

    >>> rows = [["a", 1.0], ["a", 2.0], ["b", 0.5], ["b", None]]
    >>> table = Table("t", "", ["g", "x"], rows)
    >>> sorted(with_best_bold(table, ["x"], group=["g"]).bold)
    [(1, 1), (2, 1)]
    """
    where = list(table.columns)
    keys = [where.index(name) for name in group]
    bold = set(table.bold)
    for column in (where.index(name) for name in columns):
        groups: dict[tuple[Value, ...], list[tuple[float, int]]] = {}
        for i, row in enumerate(table.rows):
            number = _number(row[column])
            if number is not None:
                key = tuple(row[k] for k in keys)
                groups.setdefault(key, []).append((number, i))
        for found in groups.values():
            best = max(found)[0]
            bold |= {(i, column) for number, i in found if number == best}
    return replace(table, bold=frozenset(bold))


def to_markdown(table: Table, *, heading: int = 1) -> str:
    """Return heading (of that level; 0: none), caption and table.

    >>> rows = [["SET", MeanSpread(55.04, 2.6)], ["CTRE_sim", None]]
    >>> print(to_markdown(Table("t", "", ["method", "%"], rows), heading=0), end="")
    | method   |          % |
    |:---------|-----------:|
    | SET      | 55.0 ± 2.6 |
    | CTRE_sim |          - |
    """
    n = len(table.columns)
    cells = [[_in_markdown(name) for name in table.columns]]
    for i in range(len(table.rows)):
        line = [_in_markdown(table.text(i, j)) for j in range(n)]
        cells.append(
            [f"**{t}**" if (i, j) in table.bold else t for j, t in enumerate(line)]
        )
    widths = [max(3, *(len(line[j]) for line in cells)) for j in range(n)]
    left = [table.is_text(j) for j in range(n)]
    lines = []
    for line in cells:
        padded = [f"{t:{'<>'[not left[j]]}{widths[j]}}" for j, t in enumerate(line)]
        lines.append(f"| {' | '.join(padded)} |")
    rules = [
        f":{'-' * w}-" if left[j] else f"{'-' * w}-:" for j, w in enumerate(widths)
    ]
    lines.insert(1, f"|{'|'.join(rules)}|")
    parts = [f"{'#' * heading} {_in_markdown(table.title)}"] if heading else []
    if table.caption:
        parts.append(_in_markdown(table.caption))
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def to_csv(table: Table) -> str:
    """Return a line of names, then the rows: all digits, None as an empty field.

    A column with means and spreads becomes two, the second with " sd" in its name.

    >>> table = Table("t", "", ["a", "b"], [[1 / 3, MeanSpread(2.0, 0.5)]])
    >>> print(to_csv(table), end="")
    a,b,b sd
    0.3333333333333333,2.0,0.5
    """
    pairs = [
        any(isinstance(row[j], MeanSpread) for row in table.rows)
        for j in range(len(table.columns))
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    header: list[str] = []
    for name, pair in zip(table.columns, pairs, strict=True):
        header += [name, f"{name} sd"] if pair else [name]
    writer.writerow(header)
    for row in table.rows:
        line: list[float | str | None] = []
        for value, pair in zip(row, pairs, strict=True):
            if isinstance(value, MeanSpread):
                line += [value.mean, value.spread]
            else:
                line += [value, None] if pair else [value]
        writer.writerow(line)
    return file.getvalue()


def to_latex(table: Table) -> str:
    r"""Return a floating table for the LaTeX package booktabs.

    >>> table = Table("t", "Share", ["method", "%"], [["SET", 5.0]], bold={(0, 1)})
    >>> print(to_latex(table), end="")
    % needs \usepackage{booktabs}
    \begin{table}
      \centering
      \caption{Share}
      \label{tab:t}
      \begin{tabular}{lr}
        \toprule
        method & \% \\
        \midrule
        SET & \textbf{5.0} \\
        \bottomrule
      \end{tabular}
    \end{table}
    """
    n = len(table.columns)
    sides = "".join("l" if table.is_text(j) else "r" for j in range(n))
    words = f"{table.title}. {table.caption}" if table.caption else table.title
    lines = [" & ".join(_in_latex(name) for name in table.columns)]
    for i in range(len(table.rows)):
        line = [_in_latex(table.text(i, j)) for j in range(n)]
        marked = [
            rf"\textbf{{{t}}}" if (i, j) in table.bold else t
            for j, t in enumerate(line)
        ]
        lines.append(" & ".join(marked))
    lines = [rf"    {line} \\" for line in lines]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_in_latex(words)}}}",
            rf"  \label{{tab:{table.name}}}",
            rf"  \begin{{tabular}}{{{sides}}}",
            *(r"    \toprule", lines[0], r"    \midrule", *lines[1:]),
            *(r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""),
        ]
    )


def write_table(table: Table, folder: Path | str) -> list[Path]:
    """Write NAME.md, NAME.csv and NAME.tex, each whole or not at all."""
    written = []
    for ending, content in [
        ("md", to_markdown(table)),
        ("csv", to_csv(table)),
        ("tex", to_latex(table)),
    ]:
        written.append(Path(folder) / f"{table.name}.{ending}")
        write_atomically(written[-1], content.encode())
    return written


def _number(value: Value) -> float | None:
    if isinstance(value, MeanSpread):
        return value.mean
    return None if value is None or isinstance(value, str) else value


def _in_markdown(text: str) -> str:
    """Escape markup; underscores within a word are not markup."""
    text = re.sub(r"([\\`*|<\[])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "²": r"$^2$",
    "√": r"$\surd$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "–": "--",
}


def _in_latex(text: str) -> str:
    text = "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", text)  # a minus is not a hyphen
