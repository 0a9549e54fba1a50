"""Ctrl-C during a campaign: noted at once, obeyed between two steps.

An interrupt in the middle of a claim, or while a worker ends, would leave things half
done; and a user may press Ctrl-C again during the clean-up.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType


class Interrupts:
    """Signals that would raise KeyboardInterrupt raise it where `check` is called.

    That is SIGINT, and SIGTERM if the command line installed its handler. Other
    handlers stay in place. In a thread other than the main one nothing changes: Python
    interrupts the main thread only.
    """

    def __init__(self) -> None:
        self._came = False
        self._taken: list[int] = []

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is signal.default_int_handler:
                    self._taken.append(number)
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        for number in self._taken:
            signal.signal(number, signal.default_int_handler)
        if error[0] is None:
            self.check()

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self._came:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._came = True


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started inside this context ignore Ctrl-C.

    A terminal sends it to all of them; but their parent ends them, without a traceback
    from each.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    resource_tracker.ensure_running()  # starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
