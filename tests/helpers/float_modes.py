"""The processor's float settings, changed as a library might change them."""

import ctypes
import platform
import sys
from contextlib import contextmanager

CAN_CHANGE = sys.platform == "linux" and platform.machine() == "x86_64"
CUT_OFF = 0x8040  # MXCSR: numbers below 1.2e-38 come in and go out as 0
ROUND_UP = 0x4000
MODES = {"cut off": CUT_OFF, "round up": ROUND_UP, "both": CUT_OFF | ROUND_UP}


def mode():
    """The settings of this thread, without what merely tells of past operations."""
    return _environment()[7] & ~0x3F


def _environment():
    environment = (ctypes.c_uint32 * 8)()  # glibc's fenv_t; MXCSR is its last word
    ctypes.CDLL("libm.so.6").fegetenv(environment)
    return environment


@contextmanager
def changed(bits):
    """Set these bits of MXCSR, as -ffast-math does on loading a library."""
    before, environment = _environment(), _environment()
    environment[7] |= bits
    libm = ctypes.CDLL("libm.so.6")
    libm.fesetenv(environment)
    try:
        yield
    finally:
        libm.fesetenv(before)
