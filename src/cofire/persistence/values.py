"""Python values as canonical JSON, and back: what JSON lacks is tagged with a `$`."""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import fields
from reprlib import repr as shortened
from typing import Any

import numpy as np

# The dtypes of labels and arrays of numbers; others are neither written nor read.
_DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|[US]\d{1,8})|O")
MAX_ARRAY_BYTES = 2**23
"""A fixed-width dtype needs its width per element, however short the strings are.

For the same reason an array is never inside a list or a dict, which could hold any
number of them.
"""


Document = dict[str, Any]
"""What JSON holds."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def encode(value: Any, name: str) -> Any:
    """Turn a value into what JSON holds; a ValueError names what cannot be stored.

    >>> canonical(encode((1, [0.5, None], float("inf")), "x"))
    '{"$tuple":[1,[0.5,null],{"$float":"inf"}]}'
    """
    if isinstance(value, np.ndarray):
        return _encode_array(value, name)
    return _encode(value, name)


def decode(value: Any) -> Any:
    """Undo `encode`; a ValueError or TypeError for what it never writes."""
    if is_array(value):
        return _decode_array(**value["$array"])
    return _decode(value)


def is_array(value: Any) -> bool:
    """Whether `decode` will make an array of it."""
    return isinstance(value, dict) and value.keys() == {"$array"}


def array_bytes(plain: Any) -> int:
    """Return the memory that an array will take; a ValueError if it is none."""
    demand(is_array(plain), "expected an array")
    entry = plain["$array"]
    demand(bool(_DTYPE.fullmatch(entry["dtype"])), "unknown dtype")
    return np.dtype(entry["dtype"]).itemsize * len(entry["values"])


def _encode(value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        finite = math.isfinite(value)
        return float(value) if finite else {"$float": repr(float(value))}
    if isinstance(value, np.bool_ | np.integer | np.str_):
        return value.item()
    if isinstance(value, np.floating) and value.dtype.itemsize <= 8:
        return _encode(value.item(), name)
    if isinstance(value, list):
        return [_encode(v, name) for v in value]
    if isinstance(value, tuple):
        return {"$tuple": [_encode(v, name) for v in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and key[:1] != "$" for key in value):
            return {key: _encode(v, name) for key, v in value.items()}
        _check_keys(value, name)
        pairs = [[_encode(k, name), _encode(v, name)] for k, v in value.items()]
        return {"$pairs": pairs}
    kind = type(value).__name__
    raise ValueError(
        f"{name}: {kind} cannot be stored in a model file. Use numbers, text, lists, "
        "dicts or None."
    )


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    tag = next((key for key in value if key[:1] == "$"), None)
    if tag is None:
        return {key: _decode(v) for key, v in value.items()}
    if len(value) != 1:
        raise ValueError(f"the tag {tag} must be the only key")
    if tag == "$float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value[tag]]
    if tag == "$tuple":
        return tuple(_decode(v) for v in value[tag])
    if tag == "$pairs":
        keys = [_decode(key) for key, _ in value[tag]]
        _check_keys(keys, "a dict")
        return dict(zip(keys, (_decode(v) for _, v in value[tag]), strict=True))
    raise ValueError(f"unknown tag {tag}")


def _check_keys(keys: Iterable[Any], name: str) -> None:
    """Refuse huge whole numbers, of which any number may have the same hash."""
    if any(isinstance(key, int) and abs(key) > 2**64 for key in keys):
        raise ValueError(
            f"{name}: a key beyond 2**64 cannot be stored in a model file."
        )


def _encode_array(array: np.ndarray, name: str) -> dict[str, Any]:
    dtype = "O" if array.dtype == object else array.dtype.str
    if not _DTYPE.fullmatch(dtype) or array.ndim != 1:
        raise ValueError(
            f"{name}: an array of {array.dtype} with {array.ndim} dimensions cannot be "
            "stored in a model file. Use one dimension of numbers or text."
        )
    if array.nbytes > MAX_ARRAY_BYTES:
        raise ValueError(
            f"{name}: an array of {array.nbytes} bytes is too large for a model file. "
            f"At most {MAX_ARRAY_BYTES} are stored: use shorter texts."
        )
    values = array.tolist()
    if array.dtype.kind == "S":
        values = [v.decode("latin-1") for v in values]
    return {"$array": {"dtype": dtype, "values": _encode(values, name)}}


def _decode_array(dtype: str, values: list[Any]) -> np.ndarray:
    if not _DTYPE.fullmatch(dtype):
        raise ValueError(f"unknown dtype {dtype!r}")
    kind = np.dtype(dtype)
    if kind.itemsize * len(values) > MAX_ARRAY_BYTES:
        raise ValueError("an array larger than a model file may hold")
    items = _decode(values)
    if any(isinstance(v, list | tuple | dict | np.ndarray) for v in items):
        raise ValueError("an array inside an array")
    if kind.kind == "S":
        items = [v.encode("latin-1") for v in items]
    array = np.empty(len(items), dtype=kind)
    array[:] = items
    if array.tolist() != items:  # out of range, cut off, or of another type
        raise ValueError(f"values that an array of {dtype} does not hold")
    return array


# ---- checks of what was read ---------------------------------------------------------


def demand(condition: bool, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def whole(value: Any, below: int = 2**63) -> int:
    """Return the value if it is a whole number >= 0; a ValueError if not."""
    fits = type(value) is int and 0 <= value < below
    demand(fits, f"expected a whole number >= 0, got {shortened(value)}")
    return value


def field_names(known: type) -> set[str]:
    """Names that a dataclass takes as arguments."""
    return {field.name for field in fields(known) if field.init}
