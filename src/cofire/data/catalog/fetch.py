"""fetch: download a named data set from its original site, convert and check it."""

from pathlib import Path

from cofire.data.catalog.download import Watch, download
from cofire.data.catalog.entries import Entry
from cofire.data.catalog.files import write_arrays
from cofire.data.catalog.lookup import cache_folder, entry_of, folders, locate
from cofire.data.catalog.reading import assembled, read


def fetch(name: str, folder: Path | None = None, *, watch: Watch | None = None) -> Path:
    """Return the file of a data set, downloaded from its original site if necessary.

    folder: where the file is made. None: a copy that `load` would find is returned, or
    the file is made in the user's cache. Its values must have the catalogue's digest.
    An interrupted download is resumed; the path never holds an incomplete file.
    watch: called with the progress of each download.
    """
    entry = entry_of(name)
    if folder is None:
        try:
            return _checked(name, locate(name))
        except FileNotFoundError:
            folder = cache_folder()
    path = folder / f"{name}.npz"
    if path.exists():
        return _checked(name, path)
    originals = folder / "downloads" / name
    files = [originals / url.rpartition("/")[2] for url in entry.urls]
    missing = [file for file in files if not file.exists()]
    try:
        originals.mkdir(parents=True, exist_ok=True)
        for url, file in zip(entry.urls, files, strict=True):
            if file in missing:
                download(url, file, watch)
    except OSError as error:
        raise FileNotFoundError(
            f"{_looked_for(name, path)} and could not be downloaded: {error}.\n"
            f"{_what_to_do(name, entry, path, originals)}"
        ) from error
    try:
        arrays = entry.convert(files)
        if assembled(name, arrays).digest() != entry.content:
            raise ValueError("the sha256 of its values differs")
    except Exception as error:  # wrong bytes can lead to any error
        _remove(missing)
        came = f"came from {_site(entry)}" if missing else f"is in {originals}"
        raise ValueError(
            f"{name}: what {came} is not the expected data ({error}). Downloaded files "
            f"were removed.\n{_what_to_do(name, entry, path, originals)}"
        ) from error
    write_arrays(path, arrays)
    _remove(missing)
    if not any(originals.iterdir()):
        originals.rmdir()
    return path


def _checked(name: str, path: Path) -> Path:
    read(name, path)
    return path


def _remove(files: list[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _looked_for(name: str, path: Path) -> str:
    """Say where the file is missing, and where a copy is."""
    try:
        return f"{path} does not exist (a copy is at {locate(name)})"
    except FileNotFoundError:
        looked = ", ".join(map(str, dict.fromkeys((path.parent, *folders()))))
        return (
            f"{name}.npz is in none of the folders {looked} (the environment variable "
            "COFIRE_DATA may name another one)"
        )


def _what_to_do(name: str, entry: Entry, path: Path, originals: Path) -> str:
    addresses = "".join(f"\n  {url}" for url in entry.urls)
    return (
        f"Put {name}.npz at {path}: its sha256 must be {entry.sha256}, or that of its "
        f"values {entry.content}.\nOr get these files from elsewhere, put them into "
        f"{originals} and fetch again:{addresses}"
    )


def _site(entry: Entry) -> str:
    return entry.urls[0].split("/")[2]
