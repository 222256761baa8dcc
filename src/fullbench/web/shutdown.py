"""Run a callback when the process gets a stop signal, so that open streams end at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def before_stopping(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` on SIGINT or SIGTERM, before the handler installed earlier."""
    # Python accepts signal handlers only in the main thread.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def on_signal(number: int, frame: FrameType | None) -> None:
        callback()
        handler = earlier[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in earlier:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
