"""A worker that is told to stop ends its open streams at once, so that it need not wait for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def before_stopping(do: Callable[[], None]) -> Iterator[None]:
    """Call `do` when the process is asked to end, before whoever was asked until now."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def asked(number: int, frame: FrameType | None) -> None:
        do()
        handler = earlier[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in earlier:
        signal.signal(number, asked)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
