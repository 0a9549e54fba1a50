"""Ctrl-C while runs run: noted at once, obeyed between two steps.

An interrupt in the middle of a claim or of the end of a worker would leave things half
done; and who is impatient presses Ctrl-C again while all is being put in order.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType


class Interrupts:
    """Signals that would raise KeyboardInterrupt raise it where `check` is called.

    That is SIGINT, and SIGTERM where the command line is in charge. Handlers of other
    kinds stay, and so does everything in a thread that is not the main one: Python
    interrupts only that.
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
    """Processes that are started meanwhile do not hear Ctrl-C.

    A terminal tells all of them; their parent is the one to end them, and without a
    traceback from each.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not a POSIX system
        yield
        return
    resource_tracker.ensure_running()  # when Python starts it, it lifts the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
