"""What `cofire tune` says at its end."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofire.tuning import Tuning

Row = dict[str, Any]


def conclusion(found: "Tuning", figures: Row) -> list[str]:
    """Compare default, best and smallest; say how to train the smallest."""
    default, best, smallest = (figures[n] for n in ("default", "best", "smallest"))
    points = _points(found)
    lines = [
        _line("Default", default, found, figures),
        _line("Best", best, found, figures),
        _line(f"Smallest within {points} of the best", smallest, found, figures),
    ]
    if found.best_ is found.default_:
        lines.append("No settings validated better than the default.")
    error = found.best_["standard_error"]
    if error is not None and error > found.within:
        lines.append(
            f"These rows tell scores apart only roughly: the standard error of the "
            f"best, {_score(error, found)}, is more than {points}."
        )
    if smallest["connections"] < default["connections"]:
        times = default["connections"] / smallest["connections"]
        lines.append(
            f"The default has {times:.3g} times as many connections as the smallest."
        )
    lines.append("To train exactly the smallest:")
    return [*lines, f"  {smallest['command']}", f"  {smallest['code']}"]


def _points(found: "Tuning") -> str:
    """Return how far below the best a model may be."""
    if found.score_name != "accuracy":
        return f"{found.within:g}"
    return "1 point" if found.within == 0.01 else f"{100 * found.within:g} points"


def _line(title: str, row: Row, found: "Tuning", figures: Row) -> str:
    error = row["standard_error"]
    spread = "" if error is None else f" ± {_score(error, found)}"
    text = (
        f"{title}: {_score(row['score'], found)}{spread}, "
        f"{row['connections']:,} connections"
    )
    if row["test_score"] is not None:
        n = figures["test_rows"]
        text += f"; {_score(row['test_score'], found)} on the {n} test rows"
    return f"{text}."


def _score(value: float, found: "Tuning") -> str:
    if found.score_name == "accuracy":
        return f"{100 * value:.1f} %"
    return f"{value:.3f}"
