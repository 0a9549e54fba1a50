"""`cofire doctor`: check this installation."""

import json
import sys
from typing import Annotated, Any

import typer

KNOWN = {
    "same": "every other x86-64 machine with this SIMD level has the same hash",
    "differs": "NOT THE KNOWN HASH of x86-64: please report this, with the lines above",
    "differs from x86-64": "the hash differs from that of x86-64, as it may on another "
    "architecture",
}


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, for programs.")
    ] = False,
) -> None:
    """Show what is installed; prove that training is deterministic."""
    from cofire.diagnostics.doctor import doctor as look_over

    found = look_over()
    print(json.dumps(found, indent=1) if as_json else _text(found))
    if not found["deterministic"] or found["known_answer"] == "differs":
        raise typer.Exit(1)


def _text(found: dict[str, Any]) -> str:
    def packages(kind: str) -> str:
        versions = found[kind].items()
        return ", ".join(f"{name} {v or 'not installed'}" for name, v in versions)

    data = found["data"].items()
    verdict = (
        "equal: none of this changes a bit"
        if found["deterministic"]
        else "NOT EQUAL: please report this, with the lines above"
    )
    return "\n".join(
        [
            f"cofire {found['cofire']}, Python {found['python']}, {found['platform']}",
            f"required      {packages('required')}",
            f"optional      {packages('optional')}",
            f"SIMD level    {found['simd_level']}",
            f"cores         {found['cores']}",
            f"energy        {found['energy']}",
            *(f"data          {name}: {path or 'not here'}" for name, path in data),
            "",
            "sha256 of topology, weights, biases, moments and predictions of three",
            "small networks, trained here with",
            *map(_line, found["proofs"]),
            verdict,
            KNOWN[found["known_answer"]],
            f"({found['seconds']:.1f} s)",
        ]
    )


def _line(proof: dict[str, Any]) -> str:
    mark = {True: _tick(), False: "NO", None: "--"}[proof["equal"]]
    digest = (proof["sha256"] or "")[:16]
    return f"  {mark:<3}{proof['way']:<48} {digest or proof['note']}"


def _tick() -> str:
    """Return a tick, or ok if the terminal has none."""
    try:
        "✓".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "ok"
    return "✓"
