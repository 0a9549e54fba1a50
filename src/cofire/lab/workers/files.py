"""Users' files on the machines of workers: read where they are, or sent once."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

_COPIES: dict[str, Path] = {}
"""Where this process keeps the files that were sent to it, by checksum."""


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def here(path: str, digest: str) -> Path:
    """Return the path of a file on this machine: its own, or that of a copy."""
    return _COPIES.get(digest, Path(path))


def missing(files: Mapping[str, str]) -> list[str]:
    """Return the paths, of files given with their checksums, that cannot be read here.

    >>> missing({"/there/is/no/file.csv": 64 * "0"})
    ['/there/is/no/file.csv']
    """
    return [path for path, digest in files.items() if not _is_here(path, digest)]


def _is_here(path: str, digest: str) -> bool:
    try:
        return checksum(here(path, digest)) == digest
    except OSError:
        return False


def receive(path: str, digest: str, content: bytes, folder: str) -> None:
    """Keep the content of a file; its name stays, since it says the format."""
    copy = Path(folder, f"cofire-{digest}", Path(path).name)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(content)
    _COPIES[digest] = copy
