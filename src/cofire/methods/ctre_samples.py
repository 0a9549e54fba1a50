"""CTRE that looks at a part of the rows, drawn afresh at each update."""

from dataclasses import dataclass

from cofire.methods.ctre_sim import CTRESimultaneous


@dataclass(frozen=True)
class CTRESample2(CTRESimultaneous):
    """CTRE_sim with similarities from half of the rows."""

    rows: str | float = 0.5


@dataclass(frozen=True)
class CTRESample4(CTRESimultaneous):
    """CTRE_sim with similarities from a quarter of the rows."""

    rows: str | float = 0.25
