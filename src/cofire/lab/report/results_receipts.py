"""What each run took, packed for the results page: rows of values, texts named once."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cofire.lab.experiments import Result, Run
from cofire.lab.experiments.labels import Subject, own_file, subject
from cofire.lab.experiments.results import task_of
from cofire.lab.names import data_name
from cofire.lab.report.results_curves import rounded

# Of a receipt; the figures of the dense twin stand beside those of the network.
COSTS = (
    "dense_connections",
    "bytes",
    "dense_bytes",
    "multiply_adds",
    "dense_multiply_adds",
    "train_seconds",
    "rewire_seconds",
    "evaluate_seconds",
)
FIGURES = (
    "score",
    "validation_score",
    "best_epoch",
    "connections",
    "density",
    "seconds",
)
SETTINGS = ("hidden", "epsilon", "seed", "epochs", "split")
TEXTS = (
    *("data", "profile", "options", "task"),
    *("machine", "cofire", "notes", "finished"),
)


def receipts(
    results: Sequence[Result],
    methods: Mapping[str, int],
    titles: Mapping[Subject, str],
) -> dict[str, Any]:
    """The names of the fields, a list of values a run, and the texts these point to."""
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    rows = []
    for result in results:
        texts = {
            "data": data_name(titles[subject(result.run)]),
            "profile": result.run.profile,
            "options": _settings(json.loads(result.run.options) | _path(result.run)),
            "task": task_of(result.notes),
            "machine": machine_text(result.machine),
            "cofire": result.cofire,
            "notes": _settings(result.notes),
            "finished": result.finished,
        }
        trained = result.curves.get("multiply_adds")
        rows.append(
            [
                methods[result.run.method],
                *(getattr(result.run, name) for name in SETTINGS),
                *(_short(getattr(result, name)) for name in FIGURES),
                *(_short(result.receipt.get(name)) for name in COSTS),
                None if trained is None else _short(float(trained.sum(dtype=float))),
                *(number(texts[name]) for name in TEXTS),
            ]
        )
    fields = ["method", *SETTINGS, *FIGURES, *COSTS, "training_multiply_adds", *TEXTS]
    return {"fields": fields, "rows": rows, "texts": list(numbers), "named": TEXTS}


def machine_text(machine: Mapping[str, Any]) -> str:
    """What seconds depend on; the name of the host stays out of a page that travels."""
    parts = [
        machine.get("cpu"),
        machine.get("device"),
        machine.get("platform"),
        machine.get("simd_level"),
        _with(machine, "cores", "{} cores"),
        _with(machine, "threads", "threads a run: {}"),
        _with(machine, "python", "Python {}"),
        _with(machine, "numpy", "NumPy {}"),
    ]
    return ", ".join(str(part) for part in parts if part)


def _path(run: Run) -> dict[str, str]:
    return {} if own_file(run) is None else {"path": run.data}


def _with(machine: Mapping[str, Any], name: str, text: str) -> str:
    return text.format(machine[name]) if machine.get(name) else ""


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {json.dumps(value)}"
        for name, value in values.items()
        if value is not None
    )


def _short(value: Any) -> Any:
    # Whole numbers are counts, and stay exact.
    return rounded([value])[0] if isinstance(value, float) else value
