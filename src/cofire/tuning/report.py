"""The front as a table, and in words."""

from typing import Any

from cofire.lab.table import MeanSpread, Table, Value

Row = dict[str, Any]
NAMES = {
    "hidden_layer_sizes": "hidden",
    "learning_rate_init": "rate",
    "input_dropout": "dropout",
    "n_pieces": "pieces",
}
"""Short names of parameters in the table."""


def front_table(tuning: Any, name: str = "tune", about: str = "") -> Table:
    """Return the front, with the default and the best even if they are not on it.

    name: of the table's files; about: the data, for the title.
    """
    in_points = tuning.score_name == "accuracy"
    unit, digits = (100, 1) if in_points else (1, 3)
    score = "accuracy %" if in_points else tuning.score_name
    rows: list[list[Value]] = [
        [
            mark(tuning, row),
            MeanSpread(unit * row["score"], _scaled(row["standard_error"], unit)),
            row["connections"],
            row["bytes"],
            row["microseconds"],
            row["n_networks"],
            settings_text(row["params"]),
            row["fits"],
        ]
        for row in shown_rows(tuning)
    ]
    counts = ("connections", "bytes")
    return Table(
        name,
        f"How small it can get{f': {about}' if about else ''}",
        ("model", score, *counts, "µs per row", "networks", "settings", "fits"),
        rows,
        f"Mean {score.split()[0]} on rows held out, ± its standard error over folds. "
        "A row stands here if no other has a higher score with as few connections; the "
        "default and the best stand here too. Connections and bytes of all networks "
        "(the arrays that predict needs), µs: median time of predict with one row as "
        "it was measured in the search. Fits: models behind the score.",
        digits_of={score: digits, "µs per row": 0},
        grouped=frozenset(counts),
    )


def shown_rows(tuning: Any) -> list[Row]:
    """Return the front and the rows that count, the smallest first."""
    found = list(tuning.front_)
    for row in (tuning.default_, tuning.best_, tuning.smallest_):
        if not any(row is other for other in found):
            found.append(row)
    return sorted(found, key=lambda row: (row["connections"], row["score"]))


def mark(tuning: Any, row: Row) -> str:
    """Return what a row is called: default, best, smallest; most have no name."""
    names = {
        "default": tuning.default_,
        "best": tuning.best_,
        "smallest": tuning.smallest_,
    }
    return ", ".join(name for name, own in names.items() if own is row)


def settings_text(params: Row) -> str:
    """Return settings in few words.

    >>> settings_text({"hidden_layer_sizes": [20, 20], "epsilon": 0.5, "n_pieces": 0})
    'hidden 20 20, epsilon 0.5, pieces 0'
    >>> settings_text({})
    'by the recipe'
    """
    order = ("hidden_layer_sizes", "epsilon")
    names = [*(n for n in order if n in params), *(n for n in params if n not in order)]
    words = []
    for name in names:
        value = params[name]
        text = " ".join(map(str, value)) if isinstance(value, list) else f"{value:g}"
        words.append(f"{NAMES.get(name, name)} {text}")
    return ", ".join(words) or "by the recipe"


def _scaled(value: float | None, unit: float) -> float | None:
    return None if value is None else unit * value
