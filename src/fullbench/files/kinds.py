"""What a file really is, where its name says otherwise: told from its first bytes, with what to do about it."""

from __future__ import annotations

import codecs

_BEGINNINGS = {
    b"PK\x03\x04": "a workbook of a spreadsheet, or another zip file; save it as .csv in your spreadsheet",
    b"\xd0\xcf\x11\xe0": "a workbook of an old spreadsheet; save it as .csv there",
    b"\x1f\x8b": "gzipped; let its name end in .gz",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"SQLite format 3": "a database, such as a ledger; `fullbench ledger export` writes rows",
    b"%PDF": "a PDF; rows are .jsonl, .csv or .parquet",
    b"version https://git-lfs": "a pointer of Git LFS, not the file itself; fetch that by `git lfs pull`",
    b"<!DOCTYPE html": "a web page, saved in the file's place; download the file itself",
    b"<!doctype html": "a web page, saved in the file's place; download the file itself",
    b"<html": "a web page, saved in the file's place; download the file itself",
    codecs.BOM_UTF16_LE: "UTF-16, as Excel's Unicode Text is; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; save it as UTF-8",
}


def other_kind(beginning: bytes) -> str | None:
    """What a file is that should be text in UTF-8, with a remedy; None where nothing speaks against that.

    >>> other_kind(b"PK\\x03\\x04..."), other_kind(b"id,question")
    ('a workbook of a spreadsheet, or another zip file; save it as .csv in your spreadsheet', None)
    """
    return next((kind for first, kind in _BEGINNINGS.items() if beginning.startswith(first)), None)
