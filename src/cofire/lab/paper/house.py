"""The test of the house method against CTRE and SET, with settings fixed beforehand."""

from dataclasses import replace
from typing import Any

import numpy as np

from cofire.data import paper_parts
from cofire.data.catalog import locate
from cofire.lab.experiments.effect_sizes import mean_difference
from cofire.lab.experiments.grid import Cell
from cofire.lab.experiments.statistics import holm, mean_and_spread, p_of_equal_means
from cofire.lab.names import data_name, method_name
from cofire.lab.paper import published
from cofire.lab.paper.blocks import EPSILONS, WIDTHS, Block
from cofire.lab.paper.cells import Cells, Gathered
from cofire.lab.paper.item import Found
from cofire.lab.paper.published import Printed, PrintedCell
from cofire.lab.table import MeanSpread, Table, Value
from cofire.topology.density import connections_per_layer

TABULAR = ("madelon", "isolet")
IMAGES = ("mnist", "fashion_mnist")
TEXT = ("pcmac", "basehock")
OURS = "cofire"
RIVALS = ("set", "ctre_seq", "ctre_sim")
SIGNIFICANT = 0.05
STANDARD: dict[str, Any] = {"scale": "standard"}
FIRST_SEED = 15  # the first test, with other settings, used those before


def _ours(
    data: tuple[str, ...],
    methods: tuple[str, ...] = (OURS,),
    hidden: tuple[int, ...] = (1000,),
    epsilon: tuple[float, ...] = (1,),
) -> Block:
    """Return runs by our own protocol: standardised features, the last network."""
    return Block(
        *(data, methods, 15, hidden, epsilon),
        profile="house",
        options=STANDARD,
        first_seed=FIRST_SEED,
    )


BLOCKS = (
    _ours(TABULAR, hidden=WIDTHS, epsilon=EPSILONS),
    _ours(IMAGES),
    _ours(TEXT),
    _ours((*TABULAR, *IMAGES, *TEXT), epsilon=(0.5,)),
    _ours(TABULAR, RIVALS, hidden=WIDTHS),
    _ours((*IMAGES, *TEXT), RIVALS),
    _ours(IMAGES, epsilon=(13,)),
    Block(TABULAR, RIVALS, 15),
)


def house_tables(found: Found) -> list[Table]:
    """Compare with the best that the paper prints, and with our runs of its methods."""
    cells, about = found.cells, found.about
    return [_beside_paper(cells, about), _beside_rivals(cells, about)]


def _tested(cells: Cells) -> list[Gathered]:
    return [found for cell, found in cells.items() if cell.method not in RIVALS]


# ---- the paper's numbers -------------------------------------------------------------


def best_printed(data: str, hidden: int, epsilon: float) -> tuple[str, Printed] | None:
    """Return the paper's best sparse method of a cell in its two tables.

    >>> best_printed("madelon", 1000, 1.0)
    ('CTRE_w/oRandom (table 8)', Printed(mean=88.2, spread=0.6, seeds=3))
    """
    found = [
        (f"{method_name(cell.method)} (table {table})", printed)
        for table, file in ((2, published.MAIN_TABLE), (8, published.SPARSE_TABLE))
        for cell, printed in published.accuracies(file).items()
        if cell == PrintedCell(data, cell.method, hidden, epsilon)
    ]
    # Of equal means the one with more spread: to be clearly above it is harder.
    return max(found, key=lambda one: (one[1].mean, one[1].spread), default=None)


def _beside_paper(cells: Cells, about: str) -> Table:
    tested = _tested(cells)
    printed = [
        best_printed(own.cell.data, own.cell.hidden, own.cell.epsilon or 0.0)
        for own in tested
    ]
    differences = [
        None if best is None else float(own.percent.mean() - best[1].mean)
        for own, best in zip(tested, printed, strict=True)
    ]
    welch, student = (
        holm(
            [
                None
                if best is None
                else p_of_equal_means(own.percent, *best[1], equal_var=equal)
                for own, best in zip(tested, printed, strict=True)
            ]
        )
        for equal in (False, True)
    )
    marks = [_mark(d, p) for d, p in zip(differences, welch, strict=True)]
    rows = [
        [*_own(own), *_theirs(best), *rest]
        for own, best, *rest in zip(
            tested, printed, differences, welch, student, marks, strict=True
        )
    ]
    tabular = [own.cell.data in TABULAR for own in tested]
    clear, by_student = (
        sum(
            t and _mark(d, p) == "above"
            for t, d, p in zip(tabular, differences, p_values, strict=True)
        )
        for p_values in (welch, student)
    )
    there = [d for d in differences if d is not None]
    tally = (
        f"{sum(d >= 0 for d in there)} of {len(there)} cells are at or above the "
        f"paper's best, {marks.count('above')} of them significantly; "
        f"{marks.count('below')} are significantly below. Of the cells of Madelon and "
        f"Isolet, {clear} are significantly above, by Student's test {by_student}."
    )
    return Table(
        "house",
        "The house method beside the paper's best",
        (
            *("data", "n", "eps", "cofire", "lowest", "best validated", "seeds"),
            *("connections", "budget", "paper's best", "there"),
            *("difference", "p, Holm", "p, equal spread", "mark"),
        ),
        rows,
        f"{about} cofire: test accuracy in per cent after the last epoch, mean ± "
        "population standard deviation, and the lowest of all seeds; best validated: "
        "the mean of the epochs that validated best. connections: in the mean, at the "
        "end. The paper's best is that of all sparse methods in its tables 2 and 8. p "
        "and mark: Welch's test, Holm-corrected over the table. Table 8 has three "
        "seeds, and Welch's test has hardly more than two degrees of freedom there; "
        "with equal spread: Student's test, which takes both for equally variable, "
        "Holm-corrected, too; it errs towards a difference where the three are the "
        f"more variable ones. n.s.: no significant difference. {tally}",
        digits_of={
            **dict.fromkeys(("connections", "budget"), 0),
            **dict.fromkeys(("p, Holm", "p, equal spread"), 4),
            "eps": 1,
        },
    )


def _own(own: Gathered) -> list[Value]:
    cell, sizes = own.cell, own.results[0].notes["sizes"]
    assert cell.epsilon is not None
    return [
        *(data_name(cell.data), cell.hidden, cell.epsilon),
        MeanSpread.of(own.percent),
        float(own.percent.min()),
        _best_validated(own),
        len(own.results),
        round(float(np.mean([result.connections for result in own.results]))),
        sum(int(n) for n in connections_per_layer(sizes, cell.epsilon)),
    ]


def _theirs(best: tuple[str, Printed] | None) -> list[Value]:
    if best is None:
        return [None, None]
    name, printed = best
    return [name, MeanSpread(printed.mean, printed.spread)]


def _best_validated(own: Gathered) -> float:
    scores = [result.notes["best_validated_score"] for result in own.results]
    return 100 * float(np.mean(scores))


def _mark(difference: float | None, p: float | None) -> str | None:
    if difference is None:
        return None
    if p is None or p >= SIGNIFICANT:
        return "n.s."
    return "above" if difference > 0 else "below"


# ---- our own runs --------------------------------------------------------------------


def _beside_rivals(cells: Cells, about: str) -> Table:
    rows: list[list[Value]] = []
    p_values: list[float | None] = []
    for own in _tested(cells):
        same = {m: cells.get(replace(own.cell, method=m)) for m in RIVALS}
        papers = {m: cells.get(_by_the_paper(own.cell, m)) for m in RIVALS}
        others = [*same.values(), *papers.values()]
        logistic = logistic_regression(own.cell.data)
        if not any(others) and logistic is None:
            continue
        best = max(
            (o for o in others if o), key=lambda o: o.percent.mean(), default=None
        )
        effect, p = None, None
        if best is not None:
            effect = str(mean_difference(own.percent, best.percent))
            rival = mean_and_spread(best.percent)
            p = p_of_equal_means(own.percent, *rival, len(best.percent))
        p_values.append(p)
        rows.append(
            [
                *(data_name(own.cell.data), own.cell.hidden, own.cell.epsilon),
                *(_mean(own), *map(_mean, same.values())),
                *map(_mean, papers.values()),
                *(logistic, effect, None),
            ]
        )
    for row, p in zip(rows, holm(p_values), strict=True):
        row[-1] = p
    return Table(
        "house-rivals",
        "The house method beside SET and CTRE, as we ran them",
        (
            *("data", "n", "eps", "cofire"),
            *(f"{method_name(m)}, same settings" for m in RIVALS),
            *(f"{method_name(m)}, paper's settings" for m in RIVALS),
            *("logistic regression", "cofire - best of these", "p, Holm"),
        ),
        rows,
        f"{about} Test accuracy in per cent, mean ± population standard deviation "
        "(number of seeds). Same settings: all but the method as for cofire "
        "(`profiles.HOUSE`, standardised features, the last epoch). The difference to "
        "the best of those that were run (where none has the same settings, method and "
        "settings both differ) has Welch's interval of 95 %; p is that of his test, "
        "Holm-corrected over the table. Runs that diverged have no accuracy and are "
        "not in it. Logistic regression is scikit-learn's, with "
        "its defaults, on the same rows, by the better of the two scales.",
        digits_of={"eps": 1, "p, Holm": 4},
    )


def _by_the_paper(cell: Cell, method: str) -> Cell:
    return replace(cell, method=method, profile="masked", options="{}")


def _mean(own: Gathered | None) -> Value:
    if own is None:
        return None
    mean, spread = mean_and_spread(own.percent)
    shown = f"{mean:.1f} ± {spread:.1f}" if len(own.results) > 1 else f"{mean:.1f}"
    return f"{shown} ({len(own.results)})"


def logistic_regression(data: str) -> float | None:
    """Return its test accuracy in per cent, for text data on this machine.

    Features have the paper's scale or are standardised, whichever is better.
    """
    if data not in TEXT:
        return None
    from sklearn.linear_model import LogisticRegression

    try:
        locate(data)
    except FileNotFoundError:
        return None
    scores = []
    for scale in (None, STANDARD["scale"]):
        (X, y), _, (X_test, y_test) = paper_parts(data, scale=scale)
        model = LogisticRegression(max_iter=2000).fit(X, y)
        scores.append(100 * float(model.score(X_test, y_test)))
    return max(scores)
