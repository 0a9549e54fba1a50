"""Where the files of named data sets are."""

import os
import sys
from pathlib import Path

from cofire.data.catalog.entries import CATALOG, Entry
from cofire.errors import unknown_name

BUNDLED = Path(__file__).parents[1] / "bundled"


def entry_of(name: str) -> Entry:
    """Return a row of the catalogue; a ValueError suggests a name that exists."""
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    return CATALOG[name]


def locate(name: str) -> Path:
    """Return the file of a data set; a FileNotFoundError lists where it could be."""
    for folder in folders():
        if (folder / f"{name}.npz").is_file():
            return folder / f"{name}.npz"
    looked = " and ".join(str(folder) for folder in folders())
    raise FileNotFoundError(
        f"there is no {name}.npz in {looked}. Set the environment variable COFIRE_DATA "
        f"to the folder that has it, or download it: `cofire.data.fetch({name!r})`."
    )


def folders() -> list[Path]:
    """Return the folders that may hold data sets, in the order they are searched."""
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
