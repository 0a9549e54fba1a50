"""The demo's page: one self-contained HTML file, light and dark."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import cofire
from cofire.lab.names import is_full
from cofire.persistence.atomic import write_atomically

_TEMPLATE = Path(__file__).parent / "demo.html"

Summary = dict[str, Any]
"""What `training.summary` returns."""


def write_demo_page(path: str | Path, summary: Summary) -> None:
    """Write the summary as a page that needs no other file."""
    write_atomically(path, demo_page(summary).encode())


def demo_page(summary: Summary) -> str:
    """Return the page as text."""
    ctre = summary["methods"]["ctre_sim"]
    parts = {
        "headline": escape(
            f"{_percent(ctre['mean'])} right with {_percent(ctre['density'])} "
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
        "panels": "".join(_panel(summary, method) for method in ("set", "ctre_sim")),
        "shape": "-".join(map(str, summary["sizes"])),
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
    dense, random, ctre = (summary["methods"][m] for m in ("dense", "set", "ctre_sim"))
    return escape(
        f"Madelon hides {len(summary['informative_features'])} useful inputs among "
        f"{summary['sizes'][0]}. CTRE connects neurons that fire alike and gets "
        f"{_percent(ctre['mean'])} of the test rows right. The same network with all "
        f"{dense['connections']:,} connections gets {_percent(dense['mean'])}, and one "
        f"with {random['connections']:,} that are rewired at random (SET) "
        f"{_percent(random['mean'])}."
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
    return (
        f"<tr><td>{_chip(method)}{escape(row['title'])}</td>"
        f"<td><b>{100 * row['mean']:.1f}{spread} %</b><small>{each}</small></td>"
        f"<td>{row['connections']:,}"
        f"<small>{_percent(row['density'])} of all</small></td>"
        f"<td>{row['seconds']:.1f} s</td></tr>"
    )


def _curves(summary: Summary) -> dict[str, Any]:
    """Return what the script draws, rounded, and nothing that is not shown."""

    def rounded(values: list[float], digits: int) -> list[float]:
        return [round(v, digits) for v in values]

    methods = {}
    for method, row in summary["methods"].items():
        methods[method] = {"title": row["title"]}
        methods[method] |= {key: rounded(v, 4) for key, v in row["curve"].items()}
        if not is_full(method):
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
