"""The demo's page: one self-contained HTML file, light and dark."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import cofire
from cofire.persistence.atomic import write_atomically

_TEMPLATE = Path(__file__).parent / "demo.html"

PANELS = ("set", "ctre_sim")
"""Methods whose input connections are drawn, to one scale."""

Summary = dict[str, Any]
"""What `training.summary` returns."""


def write_demo_page(path: str | Path, summary: Summary) -> None:
    """Write the summary as a page that needs no other file."""
    write_atomically(path, demo_page(summary).encode())


def demo_page(summary: Summary) -> str:
    """Return the page as text."""
    default = summary["methods"]["default"]
    parts = {
        "headline": escape(
            f"{_percent(default['mean'])} right with {_percent(default['density'])} "
            "of the connections"
        ),
        "lead": _lead(summary),
        "n_seeds": _counted(len(summary["seeds"]), "seed"),
        "n_features": str(summary["sizes"][0]),
        "n_informative": str(len(summary["informative_features"])),
        "keys": "".join(
            f"<span>{_chip(method)}{escape(row['title'])}</span>"
            for method, row in summary["methods"].items()
        ),
        "panels": "".join(_panel(summary, method) for method in PANELS),
        "shape": "-".join(map(str, summary["sizes"])),
        "default_shape": "-".join(map(str, summary["default_sizes"])),
        "default_networks": _counted(summary["default_networks"], "network"),
        "epochs": str(summary["epochs"]),
        "rows": "".join(_row(*item) for item in summary["methods"].items()),
        "receipt": escape(summary["receipt"]),
        "version": escape(cofire.__version__),
        "seconds": _counted(round(summary["seconds"]), "second"),
        "command": escape(
            f"cofire demo --epochs {summary['epochs']} --seeds {len(summary['seeds'])}"
        ),
        "figures": _script_json(_curves(summary)),
    }
    template = _TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _lead(summary: Summary) -> str:
    rows = summary["methods"]
    dense, random, ctre = (rows[m] for m in ("dense", "set", "ctre_sim"))
    default, boosting = (rows[m] for m in ("default", "gradient_boosting"))
    return escape(
        f"Madelon hides {len(summary['informative_features'])} useful inputs among "
        f"{summary['sizes'][0]}. Without any setting, cofire gets "
        f"{_percent(default['mean'])} of the test rows right, and scikit-learn's "
        f"gradient boosting {_percent(boosting['mean'])}. What the connections do, "
        "one small network shows: with all "
        f"{dense['connections']:,} of them it gets {_percent(dense['mean'])}, with "
        f"{random['connections']:,} that are rewired at random (SET) "
        f"{_percent(random['mean'])}, and with as many between neurons that fire "
        f"alike (CTRE) {_percent(ctre['mean'])}."
    )


def _panel(summary: Summary, method: str) -> str:
    row, useful = summary["methods"][method], summary["informative_features"]
    counts = row["input_connections"]
    share = sum(counts[i] for i in useful) / sum(counts)
    chance = len(useful) / len(counts)
    return (
        f"<div><h3>{_chip(method)}{escape(row['title'])}</h3>"
        f"<p>{_percent(share)} of its input connections are on the {len(useful)} "
        f"useful inputs; even shares would be {_percent(chance)}.</p>"
        f'<div class="chart inputs" data-method="{escape(method)}"></div></div>'
    )


def _row(method: str, row: dict[str, Any]) -> str:
    each = ", ".join(f"{100 * a:.1f}" for a in row["accuracies"])
    spread = f" ± {100 * row['sd']:.1f}" if len(row["accuracies"]) > 1 else ""
    model = f"<small>{escape(row['model'])}</small>" if row["model"] else ""
    connections = "\N{EN DASH}"
    if row["connections"] is not None:
        connections = (
            f"{row['connections']:,}<small>{_percent(row['density'])} of all</small>"
        )
    return (
        f"<tr><td>{_chip(method)}{escape(row['title'])}{model}</td>"
        f"<td><b>{100 * row['mean']:.1f}{spread} %</b><small>{each}</small></td>"
        f"<td>{connections}</td>"
        f"<td>{row['seconds']:.1f} s</td></tr>"
    )


def _curves(summary: Summary) -> dict[str, Any]:
    """Return what the script draws, rounded, and nothing that is not shown."""

    def rounded(values: list[float], digits: int) -> list[float]:
        return [round(v, digits) for v in values]

    methods = {}
    for method, row in summary["methods"].items():
        methods[method] = {"title": row["title"], "final": round(row["mean"], 4)}
        curve = row["curve"] or {}
        methods[method] |= {key: rounded(v, 4) for key, v in curve.items()}
        if method in PANELS:
            methods[method]["inputs"] = rounded(row["input_connections"], 2)
    return {
        "epochs": summary["epochs"],
        "informative": summary["informative_features"],
        "methods": methods,
    }


def _script_json(value: dict[str, Any]) -> str:
    # Inside <script> nothing is unescaped: only "</" and "<!--" could end it early.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _chip(method: str) -> str:
    return f'<span class="chip" style="background:var(--{escape(method)})"></span>'


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"
