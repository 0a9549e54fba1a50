"""A dense network of bytes as plain C: matrices and loops, nothing left out.

It computes as exported networks do: in float, or with weights in int8, a scale per
neuron, and inputs of layers rounded to 16 bits.
"""

from pathlib import Path
from string import Template

import numpy as np

from cofire.export.c import templates
from cofire.export.c.words import table

_HEADER = "int dense_predict(const unsigned char *features);\n"
_FLOAT = """\
static void layer(const float *weights, const float *bias, const float *in,
    float *out, unsigned n_in, unsigned n_out)
{
    unsigned i;
    unsigned k;
    for (i = 0; i < n_out; i++) {
        float sum = bias[i];
        for (k = 0; k < n_in; k++) {
            sum += *weights++ * in[k];
        }
        out[i] = sum;
    }
}
"""
_WHOLE = """\
static void layer(const signed char *weights, const float *scale, const float *bias,
    const short *in, float unit, float *out, unsigned n_in, unsigned n_out)
{
    unsigned i;
    unsigned k;
    for (i = 0; i < n_out; i++) {
        long sum = 0;
        for (k = 0; k < n_in; k++) {
            sum += (long)*weights++ * in[k];
        }
        out[i] = bias[i] + scale[i] * unit * (float)sum;
    }
}
"""
_PREDICT = """\
int dense_predict(const unsigned char *features)
{{
    {kind} inputs[{n_in}];
    float hidden[{n_hidden}];
    float scores[{n_out}];
    int found = 0;
    unsigned i;
{shorts}\
    for (i = 0; i < {n_in}; i++) {{
        inputs[i] = ({kind})features[i];
    }}
    layer({first}, hidden, {n_in}, {n_hidden});
    for (i = 0; i < {n_hidden}; i++) {{
        hidden[i] = hidden[i] > 0.0f ? hidden[i] : 0.0f;
    }}
{shorten}\
    layer({second}, scores, {n_hidden}, {n_out});
    for (i = 1; i < {n_out}; i++) {{
        found = scores[i] > scores[found] ? (int)i : found;
    }}
    return found;
}}
"""


def of_sklearn(network, scaler) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return weights (n_out, n_in) and biases that take features as they are."""
    layers = [
        (weights.T.astype(np.float64), bias)
        for weights, bias in zip(network.coefs_, network.intercepts_, strict=True)
    ]
    weights, bias = layers[0]
    weights = weights / scaler.scale_
    return [(weights, bias - weights @ scaler.mean_), *layers[1:]]


def of_plain(plain) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the same of a dense network of cofire that takes bytes as they are."""
    (network,) = plain.networks
    n_columns = len(plain.columns)
    layers = [(own.to_scipy().toarray(), own.bias) for own in network.layers]
    first = np.zeros((len(layers[0][1]), n_columns))
    first[:, plain.inputs.column] = layers[0][0]
    return [(first, layers[0][1]), *layers[1:]]


def rounded(layers, tables: str):
    """Return whole numbers (or floats), their scales and biases, per layer."""
    found = []
    for weights, bias in layers:
        scale = np.ones(len(weights))
        if tables == "int8":
            scale = np.abs(weights).max(axis=1) / 127
            weights = np.rint(weights / scale[:, None])
        found.append((weights, scale, bias))
    return found


def predict(layers, X: np.ndarray) -> np.ndarray:
    """Return the numbers of the classes that the C file predicts."""
    values = X.astype(np.float64)
    for i, (weights, scale, bias) in enumerate(layers):
        values = values @ weights.T * scale + bias
        values = np.maximum(values, 0) if i < len(layers) - 1 else values
    return values.argmax(axis=1)


def write(layers, folder: Path, tables: str) -> None:
    """Write dense.c and dense.h, of a network with one hidden layer."""
    whole = tables == "int8"
    names = ("weights", "scale", "bias") if whole else ("weights", "bias")
    texts = []
    for i, (weights, scale, bias) in enumerate(layers):
        kind = "signed char" if whole else "float"
        texts.append(table(kind, f"weights_{i}", weights.ravel()))
        texts += [table("float", f"scale_{i}", scale)] if whole else []
        texts.append(table("float", f"bias_{i}", bias))
    calls = [", ".join(f"{name}_{i}" for name in names) for i in range(2)]
    n_hidden, n_in = layers[0][0].shape
    filled = _PREDICT.format(
        kind="short" if whole else "float",
        n_in=n_in,
        n_hidden=n_hidden,
        n_out=len(layers[1][0]),
        first=f"{calls[0]}, inputs" + (", 1.0f" if whole else ""),
        second=f"{calls[1]}, " + ("values, unit" if whole else "hidden"),
        shorts=f"    short values[{n_hidden}];\n    float unit;\n" if whole else "",
        shorten=f"    unit = shorten(hidden, {n_hidden}, 32767 / 4, values);\n"
        if whole
        else "",
    )
    shorten = Template(templates.SHORTEN).substitute(size="unsigned") if whole else ""
    code = [*texts, _WHOLE if whole else _FLOAT, shorten, filled]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dense.h").write_text(_HEADER)
    (folder / "dense.c").write_text('#include "dense.h"\n\n' + "\n".join(code))
