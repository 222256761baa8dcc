"""SQLite and disk errors as one-sentence messages that say what to do."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fullbench.errors import LedgerError

BUSY_SECONDS = 30.0
"""Seconds that a writer waits for another process's commit before it gives up."""


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite errors and unreadable rows of this ledger into a `LedgerError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerError(_describe_error(path, error)) from error
    except json.JSONDecodeError as error:
        raise LedgerError(f"{path}: a row is damaged ({error}); run `fullbench ledger verify`") from error


def _describe_error(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of SQLite's extended error code is the primary code.
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return f"{path}: another process has been writing for {BUSY_SECONDS:.0f} s; wait for it to end and run again"
    if primary == sqlite3.SQLITE_FULL or code in {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}:
        return f"{path}: the disk is full; all that was committed is kept: free some space and run again to go on"
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return f"{path}: the ledger or its folder is read-only; make both writable or copy the ledger elsewhere"
    if primary == sqlite3.SQLITE_CANTOPEN:
        return f"{path}: the ledger cannot be opened; the file must be readable and its folder writable"
    if primary == sqlite3.SQLITE_NOTADB:
        return f"{path}: this file is not a ledger; it was left untouched: name another path"
    if primary == sqlite3.SQLITE_CORRUPT:
        return (
            f"{path}: the ledger is damaged ({error}); take a copy from a backup, or rescue what can be read with "
            "`sqlite3 DAMAGED .recover | sqlite3 NEW`"
        )
    if primary == sqlite3.SQLITE_IOERR:
        return f"{path}: the disk failed to read or write ({error}); all that was committed before is kept"
    return f"{path}: the ledger could not be used ({error})"
