"""Fitted models as programs and files that do not need cofire."""

from cofire.export.c.write import CExport, to_c
from cofire.export.onnx.model import OnnxExport, to_onnx
from cofire.export.onnx.sklearn import register_skl2onnx

__all__ = ["CExport", "OnnxExport", "register_skl2onnx", "to_c", "to_onnx"]
