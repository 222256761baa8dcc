"""Standard output and error that may be closed, full, or limited to the characters of a locale."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TextIO

PLAIN_SIGNS = {ord(drawn): plain for drawn, plain in zip("─│╭╮╰╯┌┐└┘≤≥–—…×·", "-|++++++++<>--.x.", strict=True)} | {
    ord("≤"): "<=", ord("≥"): ">=", ord("…"): "...",
}  # fmt: skip
"""ASCII replacements of our own signs for locales that lack them."""


class NullStream(io.StringIO):
    """Stream that discards what is written after standard output has failed."""

    def write(self, text: str) -> int:
        return len(text)


def spell_missing_letters(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that a locale lacks: our own signs by ASCII, others by JSON escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end].translate(PLAIN_SIGNS)
    return "".join(letter if letter.isascii() else _escape_letter(letter) for letter in missing), error.end


def _escape_letter(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))


codecs.register_error("fullbench-spelt", spell_missing_letters)


def prepare_stream(stream: TextIO | None) -> TextIO:
    """Return a stream that can write every character; a closed one becomes a null stream."""
    if stream is None:
        return NullStream()
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="fullbench-spelt")
    return stream


def flush_streams(code: int) -> int:
    """Flush the output and return the exit code: 1 if the reader has gone, 2 if writing failed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            code = code or 1
            _discard_output(stream)
        except OSError as error:
            if stream is sys.stdout and sys.stderr is not None:
                sys.stderr.write(f"fullbench: the output could not be written ({error.strerror})\n")
            code = code or 2
            _discard_output(stream)
    return code


def drop_unwritable_output() -> None:
    """Forget output that cannot be written, once an error has named it: the flush at the end would name it again."""
    if (stream := sys.__stdout__) is None:
        return
    try:
        stream.flush()
    except OSError:
        _discard_output(stream)


def _discard_output(stream: TextIO) -> None:
    """Send the rest of a stream to /dev/null: Python flushes again at exit and would complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
