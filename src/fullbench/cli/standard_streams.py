"""Standard output and error as they may be: closed, full, no longer read, or in a locale that lacks some letters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TextIO

PLAIN = {ord(drawn): plain for drawn, plain in zip("─│╭╮╰╯┌┐└┘≤≥–—…×·", "-|++++++++<>--.x.", strict=True)} | {
    ord("≤"): "<=", ord("≥"): ">=", ord("…"): "...",
}  # fmt: skip
"""How lines and signs of our own are written where a locale has none of them."""


class Nowhere(io.StringIO):
    """Takes what is written once standard output has failed: nothing more of it can be shown."""

    def write(self, text: str) -> int:
        return len(text)


def spelt(error: UnicodeError) -> tuple[str, int]:
    """What stands for letters that a locale lacks: our own signs in plain ones, all others as JSON spells them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end].translate(PLAIN)
    return "".join(letter if letter.isascii() else _escaped(letter) for letter in missing), error.end


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


codecs.register_error("fullbench-spelt", spelt)


def ready(stream: TextIO | None) -> TextIO:
    """The stream, able to write every letter; a closed one is written to nowhere."""
    if stream is None:
        return Nowhere()
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="fullbench-spelt")
    return stream


def flushed(code: int) -> int:
    """The exit code, once all is written: 1 where nobody reads any more, 2 where it could not be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            code = code or 1
            _forget(stream)
        except OSError as error:
            if stream is sys.stdout and sys.stderr is not None:
                sys.stderr.write(f"fullbench: the output could not be written ({error.strerror})\n")
            code = code or 2
            _forget(stream)
    return code


def _forget(stream: TextIO) -> None:
    """Python tries once more when it ends, and complains: what is left goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
