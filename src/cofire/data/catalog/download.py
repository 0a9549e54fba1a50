"""Download a file over HTTP; an interrupted download is resumed."""

from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from cofire.persistence.atomic import move_into_place

Watch = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes that have arrived and the total, if known."""

ATTEMPTS = 3
TIMEOUT = 30.0
_CHUNK = 1 << 18
_RANGE_NOT_SATISFIABLE = 416


def download(url: str, path: Path, watch: Watch | None = None) -> None:
    """Download url to path, which exists only once it is complete.

    What arrived before a connection broke stays in `<path>.part`; the next attempt, of
    this call or of a later one, asks the server only for the rest. An OSError is raised
    when the last attempt has failed too.
    """
    part = path.with_name(f"{path.name}.part")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _continue(url, part, watch)
            break
        except HTTPError as error:
            if error.code < 500 or attempt == ATTEMPTS:
                raise
        except (OSError, HTTPException) as error:
            if attempt == ATTEMPTS:
                raise ConnectionError(f"{url}: {error}") from error
    move_into_place(part, path)


def _continue(url: str, part: Path, watch: Watch | None) -> None:
    here = part.stat().st_size if part.exists() else 0
    asked = {"Range": f"bytes={here}-"} if here else {}
    try:
        answer = urlopen(Request(url, headers=asked), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == _RANGE_NOT_SATISFIABLE and here:
            if _total(error.headers.get("Content-Range")) == here:
                return
            part.unlink()  # longer than the file can be: left by another file
            raise ConnectionError(f"{part} did not fit; removed") from error
        raise
    with answer:
        here, total = _position(answer, here)
        with part.open("ab") as file:
            file.truncate(here)
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                here += len(chunk)
                if watch:
                    watch(part.stem, here, total)
    if total is not None and here != total:
        raise ConnectionError(f"the connection broke after {here} of {total} bytes")


def _position(answer: HTTPResponse, here: int) -> tuple[int, int | None]:
    """Return where the bytes of this answer begin, and the length of the whole file."""
    if answer.status == 206:
        given = answer.headers.get("Content-Range", "")
        if given.startswith(f"bytes {here}-"):
            return here, _total(given)
        raise ConnectionError(f"asked for the bytes from {here}, got {given!r}")
    length = answer.headers.get("Content-Length")
    return 0, int(length) if length else None


def _total(content_range: str | None) -> int | None:
    total = (content_range or "").rpartition("/")[2]
    return int(total) if total.isdigit() else None
