"""Dense: every connection exists; the twin that sparse networks are measured by."""

from dataclasses import dataclass

from cofire.methods.static import Static


@dataclass(frozen=True)
class Dense(Static):
    """Train the full network: epsilon and density have no say."""

    full = True
