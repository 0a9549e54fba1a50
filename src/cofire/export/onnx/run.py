"""OnnxRun: a model whose outputs come from ONNX Runtime, to compare it with others."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from cofire.export.plain import Column, PlainModel


@dataclass(frozen=True, eq=False)
class OnnxRun(PlainModel):
    """A plain model, and an ONNX file that is to compute the same."""

    session: Any = None

    @classmethod
    def of(cls, plain: PlainModel, proto: Any) -> Self:
        """Load a file that was made of a model."""
        try:
            from onnxruntime import InferenceSession
        except ImportError as error:
            raise ImportError(
                "X is for comparing predictions, which needs the package onnxruntime: "
                "pip install onnxruntime, or leave X out."
            ) from error
        providers = ["CPUExecutionProvider"]
        session = InferenceSession(proto.SerializeToString(), providers=providers)
        return cls(**vars(plain), session=session)

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Return what the file gives for rows as a plain model takes them."""
        given = self.session.get_inputs()
        if any(column.levels is not None for column in self.columns):
            columns = zip(self.columns, rows.T, strict=True)
            values = [_column(column, own)[:, None] for column, own in columns]
            feeds = {g.name: own for g, own in zip(given, values, strict=True)}
        else:
            kinds = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}
            feeds = {"X": rows.astype(kinds.get(given[0].type, np.float64))}
        return np.asarray(self.session.run(None, feeds)[-1], np.float64)


def _column(column: Column, values: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and the texts of the levels of categories."""
    if column.levels is None:
        return values
    unknown = "?"
    while unknown in column.levels:
        unknown += "?"
    by_code = dict(enumerate(column.texts))
    if column.fill is not None:
        by_code.setdefault(int(column.fill), "")
    texts = ["" if np.isnan(v) else by_code.get(int(v), unknown) for v in values]
    return np.array(texts, dtype=object)
