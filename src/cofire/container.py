"""The file of a model: safetensors with canonical JSON in its metadata.

Whatever a file contains, reading it runs no code and ends with the document and its
arrays, or with a `ModelFormatError`. Whatever happens while writing, the path holds the
old file or the whole new one.
"""

import hashlib
import json
import os
import stat
from os import PathLike
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as serialize

from cofire.errors import ModelFormatError
from cofire.plain import canonical

FORMAT = 1
Path = str | PathLike[str]
Document = dict[str, Any]

_KEY = "cofire"  # one key only: safetensors keeps several in no fixed order
_MAX_HEADER = 100_000_000  # safetensors' own limit
_DTYPES = {"I64": "<i8", "I32": "<i4", "F32": "<f4"}


def write(path: Path, document: Document, tensors: dict[str, np.ndarray]) -> None:
    """Write the file; equal contents give equal bytes."""
    document = document | {
        "format": FORMAT,
        "tensors": {name: _sha256(array.data) for name, array in tensors.items()},
    }
    document["sha256"] = _sha256(canonical(document).encode())
    content = serialize(tensors, {_KEY: canonical(document)})
    if int.from_bytes(content[:8], "little") > _MAX_HEADER:
        raise ValueError("the model's history is too long for a model file.")
    _replace(os.path.realpath(path), content)


def read(path: Path) -> tuple[Document, dict[str, np.ndarray]]:
    """Read a file that `write` wrote, every checksum compared."""
    content = _content(path)
    header = _header(path, content)
    document = _document(path, header.pop("__metadata__", None))
    if header.keys() != document["tensors"].keys():
        raise ModelFormatError(f"{path}: its tensors are not those it lists.")
    try:
        parts = dict(deserialize(content))
    except SafetensorError as error:
        raise ModelFormatError(f"{path}: {error}") from error
    return document, {
        name: _array(path, name, parts[name], sha256)
        for name, sha256 in document["tensors"].items()
    }


def _content(path: Path) -> bytes:
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFormatError(f"{path}: not a regular file.")
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > min(status.st_size - 8, _MAX_HEADER):
            raise ModelFormatError(
                f"{path}: not a cofire model, or cut off: its header would not fit."
            )
        return start + file.read()


def _header(path: Path, content: bytes) -> Document:
    end = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:end], object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path}: not a cofire model: {error}") from error
    if not isinstance(header, dict):
        raise ModelFormatError(f"{path}: not a cofire model: no safetensors header.")
    return header


def _document(path: Path, metadata: Any) -> Document:
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ModelFormatError(f"{path}: a safetensors file, but not a cofire model.")
    text = metadata[_KEY]
    try:
        document = dict(json.loads(text))
        version = document["format"]
        if type(version) is int and version > FORMAT:
            raise ModelFormatError(
                f"{path}: written by a newer cofire ({document.get('cofire')}, format "
                f"{version}); this one reads up to format {FORMAT}."
            )
        if version != FORMAT or canonical(document) != text:
            raise ValueError("its description is not as cofire writes it")
        sha256 = document.pop("sha256")
        if sha256 != _sha256(canonical(document).encode()):
            raise ValueError("the checksum of its description differs")
        if not isinstance(document["tensors"], dict):
            raise ValueError("no list of tensors")
    except ModelFormatError:
        raise
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise ModelFormatError(f"{path}: not a whole cofire model: {error}") from error
    return document


def _array(path: Path, name: str, part: dict[str, Any], sha256: str) -> np.ndarray:
    if part["dtype"] not in _DTYPES or len(part["shape"]) != 1:
        raise ModelFormatError(f"{path}: tensor {name} has a wrong dtype or shape.")
    if _sha256(part["data"]) != sha256:
        raise ModelFormatError(f"{path}: the checksum of tensor {name} differs.")
    return np.frombuffer(part["data"], dtype=_DTYPES[part["dtype"]])


def _without_duplicates(pairs: list[tuple[str, Any]]) -> Document:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


def _sha256(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace(path: str, content: bytes) -> None:
    """Put content at path in one step that survives a power cut."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have what was added to a folder survive a power cut."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
