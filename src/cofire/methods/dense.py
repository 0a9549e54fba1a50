"""Dense: every connection exists; the twin that sparse networks are compared with."""

from dataclasses import dataclass

from cofire.methods.static import Static


@dataclass(frozen=True)
class Dense(Static):
    """Train the full network; epsilon and density have no effect."""

    title = "Dense"
    full = True
