"""Write files atomically; every file of the library is written here.

A file is written under a temporary name beside its path, synced, and renamed. Whatever
happens, the path holds the old file or the complete new one, even after a power cut,
and no temporary file is left.
"""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` once the block has succeeded.

    The folder must exist. A symbolic link keeps pointing to its file, which is
    replaced. What is no regular file (a folder, a pipe, a device) is refused: to put a
    file in the place of /dev/null would harm the whole machine.
    """
    path = _real(path)
    folder, name = os.path.split(path)
    if not os.path.lexists(folder):
        raise FileNotFoundError(errno.ENOENT, "There is no such folder", folder)
    beginning = os.fsdecode(os.fsencode(name)[:200])  # a name may have 255 bytes
    temporary = os.path.join(folder, f".{beginning}.{os.urandom(6).hex()}.tmp")
    try:
        try:
            file = open(temporary, "xb")
        except OSError as error:  # name the path, which the user knows
            raise OSError(error.errno, error.strerror, path) from error
        with file:
            yield file
        move_into_place(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def write_atomically(path: str | PathLike[str], content: bytes) -> None:
    """Write a file in one step; missing folders are created."""
    make_folder(path)
    with replacing(path) as file:
        file.write(content)


def make_folder(path: str | PathLike[str]) -> None:
    """Create the folder of a file, if it is missing: of a link, that of its file."""
    Path(_real(path)).parent.mkdir(parents=True, exist_ok=True)


def _real(path: str | PathLike[str]) -> str:
    """Return the path of the file itself; an OSError if it is no regular file."""
    named = os.fsdecode(path)
    path = os.path.realpath(named)
    if os.path.isdir(path) or named.endswith(("/", os.sep)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "Not a regular file, so none is put there", path)
    return path


def check_writable(path: str | PathLike[str]) -> None:
    """Raise an OSError if `write_atomically` could not write here; changes nothing.

    For commands that compute for a long time before they write.
    """
    path = _real(path)
    with suppress(FileNotFoundError):
        os.lstat(path)  # fails for a name that is too long
    folder = next(folder for folder in Path(path).parents if folder.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".tmp"):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def move_into_place(temporary: str | PathLike[str], path: str | PathLike[str]) -> None:
    """Rename a finished file of the same folder, in one step that survives a power cut.

    Its content is synced first: the new name never belongs to an incomplete file.
    """
    with open(temporary, "r+b") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(os.path.dirname(path))


def sync_folder(folder: str | PathLike[str]) -> None:
    """Make the names that were added to a folder survive a power cut."""
    if os.name == "posix":  # elsewhere a folder cannot be opened
        descriptor = os.open(os.fspath(folder) or os.curdir, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
