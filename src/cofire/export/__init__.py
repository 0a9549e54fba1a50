"""Fitted models as programs and files that do not need cofire."""

from cofire.export.c.write import CExport, to_c
from cofire.export.onnx.model import OnnxExport, to_onnx
from cofire.export.onnx.sklearn import register_skl2onnx
from cofire.export.torch.model import TorchExport, to_torch, write_torch

__all__ = [
    "CExport",
    "OnnxExport",
    "TorchExport",
    "register_skl2onnx",
    "to_c",
    "to_onnx",
    "to_torch",
    "write_torch",
]
