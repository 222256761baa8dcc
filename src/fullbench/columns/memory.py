"""Memory that was freed goes back to the system at once."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Hand pages that hold nothing any more back to the system; without effect where the C library is not glibc.

    It keeps freed pieces of a few megabytes for later, and the blocks of columns are such: while each column is made
    one array, those of all columns would stay beside what was made of them.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
