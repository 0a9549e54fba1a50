"""ONNX files run by ONNX Runtime, and rows as they take them."""

import numpy as np

from helpers.needs import needs_package

HOW = "pip install onnx onnxruntime skl2onnx"


def session(proto, n_threads=1, level=None):
    """A checked file, loaded; level: of ONNX Runtime's own changes to it."""
    onnx, runtime = needs_package("onnx", HOW), needs_package("onnxruntime", HOW)
    onnx.checker.check_model(proto, full_check=True)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = n_threads
    if level is not None:
        options.graph_optimization_level = level
    providers = ["CPUExecutionProvider"]
    return runtime.InferenceSession(proto.SerializeToString(), options, providers)


def feeds(proto, X):
    """Rows as a file takes them: one array, or an array per column."""
    names = [value.name for value in proto.graph.input]
    if names == ["X"]:
        return {"X": X.to_numpy() if hasattr(X, "to_numpy") else X}
    return {name: _column(X[[name]]) for name in names}


def _column(frame):
    if frame.dtypes.iloc[0].kind in "iuf":
        return frame.to_numpy(np.float64)
    return frame.astype(object).where(frame.notna(), "").to_numpy(object)


def outputs(proto, X, **how):
    """What a file gives, by name."""
    run = session(proto, **how)
    names = [value.name for value in run.get_outputs()]
    return dict(zip(names, run.run(None, feeds(proto, X)), strict=True))
