"""What each run needed, packed for the results page: rows of values, texts once."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cofire.lab.experiments import Result, Run
from cofire.lab.experiments.labels import Subject, own_file, subject
from cofire.lab.experiments.results import COLUMNS, noted_task
from cofire.lab.names import data_name
from cofire.lab.report.results_curves import rounded

# Of a receipt; the page puts the costs of the dense twin beside those of the network.
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
    """Return the fields, a list of values per run, and the texts that these point to.

    more: name, heading and unit of the columns that the page lists by their headings.
    """
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    rows = []
    for result in results:
        texts = {
            "data": data_name(titles[subject(result.run)]),
            "profile": result.run.profile,
            "options": _settings(json.loads(result.run.options) | _path(result.run)),
            "task": noted_task(result.notes),
            "machine": machine_text(result.machine),
            "cofire": result.cofire,
            "notes": _settings(result.notes),
            "finished": result.finished,
        }
        # Curves are those of one network, and as good as those of the others.
        trained = result.curves.get("multiply_adds")
        networks = result.notes.get("networks", 1)
        rows.append(
            [
                methods[result.run.method],
                *(getattr(result.run, name) for name in SETTINGS),
                *(_short(getattr(result, name)) for name in COLUMNS),
                *(_short(result.receipt.get(name)) for name in COSTS),
                None
                if trained is None
                else _short(float(networks * trained.sum(dtype=float))),
                *(number(texts[name]) for name in TEXTS),
            ]
        )
    fields = ["method", *SETTINGS, *COLUMNS, *COSTS, "training_multiply_adds", *TEXTS]
    return {
        "fields": fields,
        "rows": rows,
        "texts": list(numbers),
        "named": TEXTS,
        "more": [
            (name, column.heading, column.unit)
            for name, column in COLUMNS.items()
            if column.heading and not column.worded
        ],
    }


def machine_text(machine: Mapping[str, Any]) -> str:
    """Describe a machine, without the host's name: the page may be published."""
    parts = [
        machine.get("cpu"),
        machine.get("device"),
        machine.get("platform"),
        machine.get("simd_level"),
        _with(machine, "cores", "{} cores"),
        _with(machine, "threads", "threads per run: {}"),
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
