"""The scores that `cofire train` prints: the model's, and those it has to beat."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofire.data.preprocessing.training_rows import TrainingRows

Figures = dict[str, Any]


def scores_of(rows: "TrainingRows", model: Any) -> Figures:
    """Return the scores of a fitted model; None for test rows that do not exist."""
    return {
        "training_score": float(model.score(rows.X, rows.y)),
        "test_score": rows.test_score(model),
    }


def baseline_scores(rows: "TrainingRows", seed: int) -> list[Figures]:
    """Return what always guessing and a linear model score on the same rows."""
    from cofire.core.machine import available_cores
    from cofire.lab.experiments.baselines import BASELINES, GUESS, baselines_of
    from cofire.lab.names import method_name

    guess = GUESS.fit(rows.X, rows.y, rows.task)
    found = [{"name": "guess", "title": _guess_title(rows.task, guess)}]
    found[0] |= scores_of(rows, guess)
    linear = baselines_of(rows.task)[0]
    try:
        model = BASELINES[linear].fit(
            *(rows.X, rows.y, rows.task),
            seed=seed,
            n_threads=available_cores(),
            gaps=rows.kept_gaps,
        )
        found.append(
            {"name": linear, "title": method_name(linear), **scores_of(rows, model)}
        )
    except (ValueError, MemoryError):  # such as rows of one class only
        pass
    return found


def _guess_title(task: str, guess: Any) -> str:
    if task == "regression":
        return "Always the mean"
    return f"Always {str(guess.predict([[0]])[0])!r}"


def not_beaten(figures: Figures) -> list[str]:
    """Return the names of the baselines that are as good as the model, or better.

    Test rows decide. Without any, a model that only guesses is found out; how well a
    linear model repeats its training rows says nothing.
    """
    tested = figures["test_score"] is not None
    name = "test_score" if tested else "training_score"
    own = figures[name]
    rivals = figures["baselines"] if tested else figures["baselines"][:1]
    # `not >`: a score may be NaN, as R^2 of one row is.
    return [rival["name"] for rival in rivals if not own > rival[name]]


def score_table(figures: Figures) -> str:
    """Return the scores as a table, the model first."""
    tested = figures["test_score"] is not None
    rows = [{"title": "This model", **figures}, *figures["baselines"]]
    width = max(len(row["title"]) for row in rows) + 4
    columns = ["training", "test"] if tested else ["training"]
    lines = [figures["score"].ljust(width) + "".join(f"{c:>10}" for c in columns)]
    for row in rows:
        values = (row[f"{column}_score"] for column in columns)
        lines.append(row["title"].ljust(width) + "".join(f"{v:>10.4f}" for v in values))
    lines += [] if tested else ["no rows were held out to test with"]
    return "\n".join(lines)


def verdict(figures: Figures, compare: str) -> str:
    """Say in words if the model does not beat the baselines; "" if it does.

    compare: the command that says how sure that is.
    """
    titles = {row["name"]: _within(row["title"]) for row in figures["baselines"]}
    names = figures["not_beaten"]
    if not names:
        return ""
    n = figures["test_rows"]
    where = f"the {n} test rows" if n else "the rows it was trained on"
    if "guess" in names:
        than = f"a guess ({titles['guess']}): it learnt nothing that holds there"
    else:
        than = " and ".join(titles[name] for name in names)
    return (
        f"On {where} this model is no better than {than}.\n"
        f"How sure that is, and what other methods learn: {compare}"
    )


def _within(title: str) -> str:
    """Return a title as it is written within a sentence."""
    return title[:1].lower() + title[1:]
