"""Where the files of named data sets are."""

import os
import sys
from pathlib import Path

from cofire.data.catalog.entries import CATALOG, Entry
from cofire.errors import unknown_name

BUNDLED = Path(__file__).parents[1] / "bundled"


def entry_of(name: str) -> Entry:
    """Return the catalogue's row; a ValueError suggests a name that exists."""
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    return CATALOG[name]


def locate(name: str) -> Path:
    """Return a data set's file; a FileNotFoundError says where it was looked for."""
    for folder in folders():
        if (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    looked = " and ".join(str(folder) for folder in folders())
    raise FileNotFoundError(
        f"{name}.npz was looked for in {looked}. Set the environment variable "
        f"COFIRE_DATA to the folder that has it, or say `cofire data fetch {name}`."
    )


def folders() -> list[Path]:
    """Return the folders in which data sets are looked for, the first one first."""
    given = os.environ.get("COFIRE_DATA")
    return [*([Path(given)] if given else []), BUNDLED, cache_folder()]


def cache_folder() -> Path:
    """Return the folder for downloads: `cofire` in the user's cache."""
    given = os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given) / "cofire"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "cofire"
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local) / "cofire" / "Cache"
    return Path.home() / ".cache" / "cofire"
