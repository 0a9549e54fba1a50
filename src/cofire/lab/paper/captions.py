"""What captions say of the runs behind a table: how they differ, which are missing."""

from collections import Counter
from collections.abc import Sequence

from cofire.lab.experiments import Run
from cofire.lab.paper.blocks import Choice

PROGRAM_NOTE = (
    "With three details of the authors' program: an update before training has begun, "
    "places of equal similarity by their index, and RigL's gradients from another "
    "batch each time."
)
REDUCED = "REDUCED: --quick, far fewer epochs, seeds and cells than the paper's."
MOST_CELLS = 8  # that a caption names


def caption(
    choice: Choice,
    runs: Sequence[Run],
    missing: Sequence[Run],
    *,
    accuracies: bool = False,
) -> str:
    """Describe the protocol of the runs, what was reduced, and which are missing.

    accuracies: the table has accuracies, and the caption says what they are.
    """
    profiles = sorted({run.profile for run in runs})
    epochs = sorted({run.epochs for run in runs})
    words = [
        "Test accuracy in per cent at the epoch that validated best, mean ± population "
        "standard deviation over seeds."
        if accuracies
        else "",
        f"Profile {' and '.join(profiles)}, {'/'.join(map(str, epochs))} epochs, "
        f"similarity {choice.similarity}."
        if runs
        else "",
        PROGRAM_NOTE if choice.program else "",
        REDUCED if choice.quick and runs else "",
        f"{len(missing)} of {len(runs)} runs are missing: {_cells(missing)}."
        if missing
        else "",
    ]
    return " ".join(word for word in words if word)


def reductions(choice: Choice) -> str:
    """Say in what way the runs of an overview are fewer or other than the paper's."""
    words = [
        REDUCED if choice.quick else "",
        f"Of {choice.epochs} epochs instead of 500." if choice.epochs else "",
        PROGRAM_NOTE if choice.program else "",
    ]
    return " ".join(word for word in words if word)


def _cells(missing: Sequence[Run]) -> str:
    """Name the data sets, widths and densities of the missing runs."""
    found: Counter[str] = Counter()
    for run in missing:
        eps = "dense" if run.epsilon is None else f"eps {run.epsilon:g}"
        found[f"{run.data} n = {run.hidden} {eps}"] += 1
    named = [f"{name} ({n})" for name, n in found.items()]
    n_more = len(named) - MOST_CELLS
    more = f" and {n_more} more cells" if n_more > 0 else ""
    return ", ".join(named[:MOST_CELLS]) + more
