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

Figures = dict[str, Any]


def write_demo_page(path: str | Path, figures: Figures) -> None:
    """Write what `summary` found as a page that needs nothing else."""
    write_atomically(path, demo_page(figures).encode())


def demo_page(figures: Figures) -> str:
    """Return the page as text."""
    ctre = figures["methods"]["ctre_sim"]
    parts = {
        "headline": escape(
            f"{_percent(ctre['mean'])} right with {_percent(ctre['density'])} "
            "of the connections"
        ),
        "lead": _lead(figures),
        "n_seeds": _counted(len(figures["seeds"]), "seed"),
        "n_features": str(figures["sizes"][0]),
        "n_informative": str(len(figures["informative_features"])),
        "keys": "".join(
            f"<span>{_chip(method)}{escape(row['title'])}</span>"
            for method, row in figures["methods"].items()
        ),
        "panels": "".join(_panel(figures, method) for method in ("set", "ctre_sim")),
        "shape": "-".join(map(str, figures["sizes"])),
        "epochs": str(figures["epochs"]),
        "rows": "".join(_row(*item) for item in figures["methods"].items()),
        "receipt": escape(figures["receipt"]),
        "version": escape(cofire.__version__),
        "seconds": _counted(round(figures["seconds"]), "second"),
        "command": escape(
            f"cofire demo --epochs {figures['epochs']} --seeds {len(figures['seeds'])}"
        ),
        "figures": _script_json(_curves(figures)),
    }
    template = _TEMPLATE.read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _lead(figures: Figures) -> str:
    dense, random, ctre = (figures["methods"][m] for m in ("dense", "set", "ctre_sim"))
    return escape(
        f"Madelon hides {len(figures['informative_features'])} useful inputs among "
        f"{figures['sizes'][0]}. CTRE connects neurons that fire alike and gets "
        f"{_percent(ctre['mean'])} of the test rows right. The same network with all "
        f"{dense['connections']:,} connections gets {_percent(dense['mean'])}, and one "
        f"with {random['connections']:,} that are rewired at random (SET) "
        f"{_percent(random['mean'])}."
    )


def _panel(figures: Figures, method: str) -> str:
    row, useful = figures["methods"][method], figures["informative_features"]
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


def _curves(figures: Figures) -> Figures:
    """What the script draws: rounded, and nothing that the page does not show."""

    def rounded(values: list[float], digits: int) -> list[float]:
        return [round(v, digits) for v in values]

    methods = {}
    for method, row in figures["methods"].items():
        methods[method] = {"title": row["title"]}
        methods[method] |= {key: rounded(v, 4) for key, v in row["curve"].items()}
        if not is_full(method):
            methods[method]["inputs"] = rounded(row["input_connections"], 2)
    return {
        "epochs": figures["epochs"],
        "informative": figures["informative_features"],
        "methods": methods,
    }


def _script_json(value: Figures) -> str:
    # Inside <script> nothing is unescaped: only "</" and "<!--" could end it early.
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _chip(method: str) -> str:
    return f'<span class="chip" style="background:var(--{escape(method)})"></span>'


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"
