"""Graph: operators and constants of an ONNX graph, as they are added one by one."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ML = "ai.onnx.ml"
"""The domain of the operators for labels and text."""
OPSET, ML_OPSET, IR_VERSION = 18, 3, 8
"""Operators are used as these versions define them: ONNX Runtime 1.14 and later."""


@dataclass(frozen=True)
class Node:
    """One operator, with the names of the values that it takes and gives."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    domain: str
    attributes: dict[str, Any]


@dataclass
class Graph:
    """Nodes in an order in which they can be computed, and constants by name."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    """Names that values from outside have."""
    _known: dict[Any, str] = field(default_factory=dict)

    def add(
        self,
        kind: str,
        *inputs: str,
        output: str = "",
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operator; return the name of what it gives."""
        output = output or self._new_name()
        self.nodes.append(Node(kind, inputs, output, domain, attributes))
        return output

    def constant(self, values: Any, kind: Any = None) -> str:
        """Return the name of a constant; equal ones are stored once."""
        array = np.ascontiguousarray(np.asarray(values, dtype=kind))
        key = array.shape, array.dtype.str, array.tobytes()
        if array.dtype == object or key not in self._known:
            name = self._known[key] = self._new_name()
            self.constants[name] = array.reshape(np.shape(values))
        return self._known[key]

    def _new_name(self) -> str:
        name = f"cofire/{len(self.nodes) + len(self.constants)}"
        while name in self.taken:
            name += "_"
        return name
