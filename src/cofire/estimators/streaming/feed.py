"""Feed: blocks of rows for networks that train at the same time, each loaded once."""

import threading
from collections.abc import Callable
from typing import Any

_AT_ONCE = 2
"""Blocks in memory: one that is trained on, one that is loaded meanwhile."""


class Feed:
    """Hands out blocks by number; networks that train together share them.

    load(number, place): loads a block; blocks in memory have different places, 0 and 1.
    A network says that it takes part (`join`), asks for one block after the other
    (`get`) and leaves. A block stays as it is until its network asks for another one.
    A network that starts again waits until no other needs later blocks.

    prefetch: whether a thread loads the next block meanwhile. limit: the number of
    blocks there are. n_running: networks that may compute at the same time.
    """

    def __init__(
        self,
        load: Callable[[int, int], Any],
        *,
        limit: int,
        prefetch: bool,
        n_running: int,
    ) -> None:
        self._load, self._limit, self._prefetch = load, limit, prefetch
        self._most_running = max(1, n_running)
        self._changed = threading.Condition()
        self._at: dict[Any, int | None] = {}
        """Of each network, the block that it has or waits for; None: not yet known."""
        self._waiting: set[Any] = set()
        self._running: set[Any] = set()
        self._places: list[tuple[int, Any] | None] = [None] * _AT_ONCE
        self._last = -1  # that was loaded
        self._loading: int | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def join(self, network: Any) -> None:
        """Take part, from the next `get` on."""
        with self._changed:
            self._at[network] = None

    def leave(self, network: Any) -> None:
        """Take part no longer; the last one ends the thread."""
        with self._changed:
            self._at.pop(network, None)
            self._waiting.discard(network)
            self._running.discard(network)
            thread = self._thread
            self._changed.notify_all()
            if self._at:
                return
            self._thread = None
        if thread is not None:
            thread.join()
        with self._changed:
            self._places, self._last = [None] * _AT_ONCE, -1
            self._error = None

    def stop(self) -> None:
        """End all networks that ask for a block; those who leave may join again."""
        with self._changed:
            if self._error is None:
                self._error = RuntimeError("another network has failed")
            self._changed.notify_all()

    def get(self, network: Any, number: int) -> Any:
        """Wait for a block, and for leave to compute; the one before is given back."""
        with self._changed:
            self._running.discard(network)
            self._at[network] = number
            self._waiting.add(network)
            self._changed.notify_all()
            if self._prefetch and self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()
            while True:
                if self._error is not None:
                    self._waiting.discard(network)
                    raise self._error
                found = self._found(number)
                if found is not None and len(self._running) < self._most_running:
                    self._waiting.discard(network)
                    self._running.add(network)
                    return found
                if self._thread is None and self._step():
                    continue
                self._changed.wait()

    def _found(self, number: int) -> Any:
        for place in self._places:
            if place is not None and place[0] == number:
                return place[1]
        return None

    # ---- loading --------------------------------------------------------------------

    def _work(self) -> None:
        with self._changed:
            while self._at and self._error is None:
                if not self._step():
                    self._changed.wait()

    def _step(self) -> bool:
        """Load the next block, if one is to be and there is room; the lock is held."""
        number, place = self._next(), self._free_place()
        if number is None or place is None or self._loading is not None:
            return False
        self._places[place], self._loading = None, number
        self._changed.release()
        try:
            block = self._load(number, place)
        except BaseException as error:
            self._changed.acquire()
            self._error, self._loading = error, None
            self._changed.notify_all()
            return True
        self._changed.acquire()
        self._places[place], self._loading = (number, block), None
        self._last = number
        self._changed.notify_all()
        return True

    def _next(self) -> int | None:
        """Say which block to load: one that is waited for, else the next one."""
        if not self._at or None in self._at.values():
            return None  # another network may begin earlier
        wanted = {self._at[network] for network in self._waiting}
        missing = [n for n in wanted if n is not None and self._found(n) is None]
        later = [n for n in missing if n > self._last]
        if later:
            return min(later)
        following = any(
            at in (self._last, self._last - 1) and self._found(at) is not None
            for at in self._at.values()
        )
        if following and self._last + 1 < self._limit:
            # A network that starts again waits until the others are through.
            return self._last + 1 if self._prefetch else None
        return min(missing) if missing else None

    def _free_place(self) -> int | None:
        """Return where a block may be replaced: no network has it, or is about to."""
        at = set(self._at.values())
        # A network that waits for an earlier block keeps none.
        next_ones = {n + 1 for n in at if n is not None and self._found(n) is not None}
        for place, held in enumerate(self._places):
            if held is None:
                return place
        free = [
            (held[0], place)
            for place, held in enumerate(self._places)
            if held is not None and held[0] not in at | next_ones
        ]
        return min(free)[1] if free else None
