"""Figures that tests/reliability measures, for the table in docs/reliability.md.

A check says what it measured with `report`, which prints it. `make reliability` runs
the checks at full length, keeps what they say in docs/results/reliability.json, and
writes the table anew:

    python -m helpers.reliability.figures    only the table, from what was kept
"""

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "docs" / "results" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- figures: written by make reliability -->", "<!-- end of figures -->"


def report(check: str, goal: str, measured: str, *, met: bool) -> None:
    """Say what a check measured; kept where COFIRE_FIGURES names a file."""
    verdict = "met" if met else "MISSED"
    sys.stderr.write(f"\n{check}: {measured} (goal: {goal}; {verdict})\n")
    name = os.environ.get("COFIRE_FIGURES")
    if name:
        path = Path(name)
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept[check] = {"goal": goal, "measured": measured, "met": met}
        path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def table(kept: dict) -> str:
    """The figures as a Markdown table."""
    lines = ["| check | goal | measured | |", "|---|---|---|---|"]
    for check, figure in sorted(kept.items()):
        verdict = "met" if figure["met"] else "**missed**"
        lines.append(
            f"| {check} | {figure['goal']} | {figure['measured']} | {verdict} |"
        )
    return "\n".join(lines)


def write_page() -> None:
    """Put the table of the kept figures between the marks of the page."""
    before, rest = PAGE.read_text().split(START)
    _, after = rest.split(END)
    kept = json.loads(KEPT.read_text())
    PAGE.write_text(f"{before}{START}\n\n{table(kept)}\n\n{END}{after}")


if __name__ == "__main__":
    write_page()
