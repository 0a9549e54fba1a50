"""A fitted model as an ONNX graph, and as a part of one that skl2onnx makes."""
