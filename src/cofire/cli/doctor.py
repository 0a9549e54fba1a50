"""`cofire doctor`: is this installation well?"""

import json
from typing import Annotated, Any

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say what is installed; prove that training is deterministic."""
    from cofire.checkup import doctor as look_over

    found = look_over()
    print(json.dumps(found, indent=1) if as_json else _text(found))
    if not found["deterministic"]:
        raise typer.Exit(1)


def _text(found: dict[str, Any]) -> str:
    def packages(kind: str) -> str:
        versions = found[kind].items()
        return ", ".join(f"{name} {v or 'not installed'}" for name, v in versions)

    lines = [
        f"cofire {found['cofire']}, Python {found['python']}, {found['platform']}",
        f"required      {packages('required')}",
        f"optional      {packages('optional')}",
        f"SIMD level    {found['simd_level']}",
        f"cores         {found['cores']}",
        *(f"data          {n}: {p or 'not here'}" for n, p in found["data"].items()),
        "",
        "sha256 of the weights of a small network trained here",
    ]
    for method, proofs in found["weights_sha256"].items():
        for threads, digest in proofs.items():
            lines.append(f"  {method:<10}{threads} threads   {digest[:32]}")
    verdict = (
        "equal: the number of threads does not change a bit"
        if found["deterministic"]
        else "NOT EQUAL: please report this, with the lines above"
    )
    return "\n".join([*lines, f"{verdict} ({found['seconds']:.1f} s)"])
