"""Exported C files, compiled with all warnings as errors and called from Python."""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np

from cofire.export.c.write import CExport
from helpers.needs import needs_tool

WARNINGS = (
    "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion "
    "-Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Werror"
).split()
_TYPES = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "unsigned char": ctypes.c_ubyte,
}


def compiler() -> str:
    """Return the C compiler that builds cofire too."""
    return os.environ.get("CC") or needs_tool("cc", "apt-get install gcc", "gcc")


def compiled(source: Path, *flags: str, cc: str | None = None) -> Path:
    """Compile a C file into a shared library."""
    library = source.resolve().with_suffix(".so")
    command = [cc or compiler(), "-std=c99", *WARNINGS, "-O2", "-fPIC", "-shared"]
    done = subprocess.run(
        [*command, *flags, str(source), "-o", str(library), "-lm"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return library


class CModel:
    """The functions of an exported file, for many rows."""

    def __init__(self, done: CExport, n_outputs: int, name: str | None = None) -> None:
        self.library = ctypes.CDLL(str(compiled(done.source)))
        self.name = name or done.source.stem
        self.n_outputs = n_outputs
        self.feature = np.dtype(_TYPES[done.feature])

    def each(self, rows: np.ndarray, function: str, kind: type) -> np.ndarray:
        """Call a function that fills an array, for each row."""
        call = getattr(self.library, f"{self.name}_{function}")
        call.restype = None
        found = np.full((len(rows), self.n_outputs), 7, np.dtype(kind))
        for row, out in zip(self._features(rows), found, strict=True):
            call(ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return found

    def one(self, rows: np.ndarray, kind: type) -> np.ndarray:
        """Call the function `predict` that returns a value, for each row."""
        call = getattr(self.library, f"{self.name}_predict")
        call.restype = kind
        return np.array(
            [call(ctypes.c_void_p(row.ctypes.data)) for row in self._features(rows)]
        )

    def class_names(self) -> list[str]:
        """Return the table of names."""
        kind = ctypes.c_char_p * self.n_outputs
        names = kind.in_dll(self.library, f"{self.name}_class_names")
        return [text.decode("utf-8") for text in names]

    def _features(self, rows: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(rows, dtype=self.feature)
