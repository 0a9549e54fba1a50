"""The file of a model: safetensors with canonical JSON in its metadata.

The format is simple enough to be written and read here; the package of that name aborts
the process if there is too little memory.

Whatever a file contains, reading it runs no code and ends with the document and its
arrays, or with a `ModelFormatError`. Whatever happens while writing, the path holds the
old file or the complete new one.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from cofire.errors import ModelFormatError
from cofire.persistence.atomic import replacing
from cofire.persistence.values import Document, canonical

FORMAT, PIPELINE_FORMAT = 1, 2
"""Of a model, and of one with the steps of a pipeline before it.

A cofire that knows no pipelines refuses the second as newer than itself.
"""
DAMAGED = (
    "The file was damaged or edited: copy it again from its source, or train again."
)
Path = str | PathLike[str]

_KEY = "cofire"  # a single key, since safetensors does not keep the order of several
_MAX_HEADER = 100_000_000  # safetensors' own limit
# In the order in which safetensors writes them: wide types first, all are aligned.
_DTYPES = {"I64": "<i8", "F64": "<f8", "F32": "<f4", "I32": "<i4"}
_ENTRY = {"dtype", "shape", "data_offsets"}
_MALFORMED = (
    *(ValueError, TypeError, LookupError),
    *(AttributeError, OverflowError, RecursionError),
)


def write(path: Path, document: Document, tensors: dict[str, np.ndarray]) -> None:
    """Write the file; equal contents give equal bytes."""
    document = document | {
        "format": PIPELINE_FORMAT if "pipeline" in document else FORMAT,
        "tensors": {name: _sha256(array.data) for name, array in tensors.items()},
    }
    document["sha256"] = _sha256(canonical(document).encode())
    header, arrays = _laid_out(canonical(document), tensors)
    if len(header) > _MAX_HEADER or _has_too_many_values(header.decode("ascii")):
        raise ValueError(
            "the model's history, or the vocabulary of its pipeline, is too long for a "
            "model file: train fewer epochs, or keep fewer words (max_features)."
        )
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for array in arrays:
            file.write(array.data)


def _laid_out(
    description: str, tensors: dict[str, np.ndarray]
) -> tuple[bytes, list[np.ndarray]]:
    """Return the header, and the arrays in the order in which they follow it."""
    kinds = {name: _kind(array) for name, array in tensors.items()}
    known = list(_DTYPES)
    names = sorted(tensors, key=lambda name: (known.index(kinds[name]), name))
    header: Document = {"__metadata__": {_KEY: description}}
    end = 0
    for name in names:
        array = tensors[name]
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": kinds[name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    padded = text.ljust(-(-len(text) // 8) * 8)
    return padded, [tensors[name] for name in names]


def _kind(array: np.ndarray) -> str:
    """Return the name of a dtype in safetensors."""
    return f"{array.dtype.kind.upper()}{8 * array.itemsize}"


def read(path: Path) -> tuple[Document, dict[str, np.ndarray]]:
    """Read a file that `write` wrote, every checksum compared.

    Nothing is trusted before it is checked: memory for a tensor is allocated only after
    the length of the file was compared with its header.
    """
    path = os.fspath(path)
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(
                f"{path}: not a regular file. Name a file that a model was saved to."
            )
        try:
            header, n_before = _read_header(file, status.st_size)
            document = _document(header.pop("__metadata__", None))
            regions = _regions(header, document["tensors"], status.st_size - n_before)
            tensors = {
                region.name: _read_array(file, region, document["tensors"][region.name])
                for region in regions
            }
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise ModelFormatError(f"{path}: {_with_remedy(error)}") from error
    return document, tensors


def _with_remedy(error: Exception) -> str:
    """Return what is wrong with a file, and what to do about it."""
    text = reason(error)
    if "newer cofire" in text:
        return f"{text} Update cofire."
    if "not a cofire model" in text and "model, or" not in text:
        return f"{text.rstrip('.')}. Name a file that a model was saved to."
    return f"{text.rstrip('.')}. {DAMAGED}"


def reason(error: Exception) -> str:
    """Return the text of an error, shortened since part of it may come from a file."""
    text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return text if len(text) <= 300 else f"{text[:300]} ..."


@contextmanager
def malformed_is(path: Path) -> Iterator[None]:
    """Turn every error that a malformed document can cause into a ModelFormatError."""
    try:
        yield
    except _MALFORMED as error:
        raise ModelFormatError(
            f"{path}: not a valid cofire model: {reason(error).rstrip('.')}. {DAMAGED}"
        ) from error


class _Region(NamedTuple):
    """The bytes of an array, counted from the end of the header."""

    start: int
    stop: int
    name: str
    dtype: str


def _open_without_waiting(path: str, flags: int) -> int:
    """Open without blocking, even a pipe that no process writes to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_header(file: BufferedReader, size: int) -> tuple[Document, int]:
    """Return the header, and the offset of its end."""
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > min(size - 8, _MAX_HEADER):
        raise ValueError("not a cofire model, or cut off: its header does not fit.")
    try:
        text = file.read(length).decode("ascii")
        if _has_too_many_values(text):
            raise ValueError("its header holds too many values")
        header = json.loads(text, object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not a cofire model, or damaged: byte {8 + error.start} of its header is "
            "no text."
        ) from error
    except ValueError as error:
        raise ValueError(f"not a cofire model: {error}") from error
    if not isinstance(header, dict):
        raise ValueError("not a cofire model: no safetensors header.")
    return header, 8 + length


def _has_too_many_values(text: str) -> bool:
    """Whether a JSON text may hold more values than the description of a model.

    Values need memory, and a short text may hold many: [[],[],[]] needs twenty times
    its length. A million names of features need eleven times theirs.
    """
    most = (
        4 * len(text)  # one wide character makes its whole string wide
        + 72 * text.count(",")
        + 96 * text.count("[")
        + 320 * text.count("{")
    )
    return most > max(12_000_000, 16 * len(text))


def _document(metadata: Any) -> Document:
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ValueError("a safetensors file, but not a cofire model.")
    text = metadata[_KEY]
    document = dict(json.loads(text))
    version = document["format"]
    if type(version) is int and version > PIPELINE_FORMAT:
        raise ValueError(
            f"written by a newer cofire ({document.get('cofire')}, format "
            f"{version}); this one reads up to format {PIPELINE_FORMAT}."
        )
    expected = PIPELINE_FORMAT if "pipeline" in document else FORMAT
    if version != expected or canonical(document) != text:
        raise ValueError("its description is not in the form that cofire writes.")
    sha256 = document.pop("sha256")
    if sha256 != _sha256(canonical(document).encode()):
        raise ValueError("the checksum of its description differs.")
    if not isinstance(document["tensors"], dict):
        raise ValueError("its description has no list of tensors.")
    return document


def _regions(header: Document, listed: Document, n_bytes: int) -> list[_Region]:
    """Return where the tensors are: contiguous, from the first byte to the last."""
    if header.keys() != listed.keys():
        raise ValueError("its tensors are not those that its description lists.")
    regions = sorted(_region(name, entry) for name, entry in header.items())
    end = 0
    for region in regions:
        if region.start != end:
            raise ValueError(f"tensor {region.name} does not follow the one before it.")
        end = region.stop
    if end != n_bytes:
        raise ValueError(f"its tensors have {end} bytes, but the file holds {n_bytes}.")
    return regions


def _region(name: str, entry: Any) -> _Region:
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        raise ValueError(
            f"tensor {name} must have the entries {', '.join(sorted(_ENTRY))}."
        )
    dtype, shape, offsets = (entry[key] for key in ("dtype", "shape", "data_offsets"))
    if dtype not in _DTYPES or not _whole(shape, 1):
        raise ValueError(f"tensor {name} has a wrong dtype or shape.")
    if not _whole(offsets, 2):
        raise ValueError(f"tensor {name} has wrong offsets.")
    start, stop = offsets
    if stop - start != shape[0] * np.dtype(_DTYPES[dtype]).itemsize:
        raise ValueError(
            f"tensor {name} does not have as many bytes as its shape says."
        )
    return _Region(start, stop, name, _DTYPES[dtype])


def _whole(values: Any, n: int) -> bool:
    """Whether it is a list of n whole numbers >= 0."""
    return (
        isinstance(values, list)
        and len(values) == n
        and all(type(value) is int and value >= 0 for value in values)
    )


def _read_array(file: BufferedReader, region: _Region, sha256: str) -> np.ndarray:
    raw = np.empty(region.stop - region.start, dtype=np.uint8)
    if file.readinto(raw.data) != len(raw):
        raise ValueError("the file became shorter while it was read.")
    if _sha256(raw.data) != sha256:
        raise ValueError(f"the checksum of tensor {region.name} differs.")
    return raw.view(region.dtype)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Document:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _sha256(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()
