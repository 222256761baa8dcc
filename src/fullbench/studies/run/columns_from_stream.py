"""Columns and digest from a single pass over verdicts, without keeping their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby

import numpy as np

from fullbench.columns.column_builder import Builder, verdict_rows
from fullbench.columns.verdict_columns import STUDY, Columns
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.core.record import verdict_digest
from fullbench.core.verdict import Verdict
from fullbench.ledger.columns_from_rows import due_cases_and_failed_calls
from fullbench.ledger.ledger import Ledger

_WIDTH = 32  # hexadecimal digits of a 16-byte digest
_BLOCK = 1 << 14
_AT_ONCE = 5_000


def read_columns(verdicts: Iterable[Verdict]) -> tuple[Columns, str]:
    """Return the columns of verdicts, and the same digest as `Record.digest`."""
    digests = bytearray()

    def digested_verdicts() -> Iterator[Verdict]:
        for verdict in verdicts:
            digests.extend(bytes.fromhex(verdict_digest(verdict)))
            yield verdict

    builder = Builder()
    builder.extend(verdict_rows(digested_verdicts()))
    digest = _combined_digest(digests)
    del digests[:]
    return builder.finish(), digest


def _combined_digest(digests: bytearray) -> str:
    """Return the digest of the sorted digests, as `core.digests.digest` would, without building the list."""
    # Sort in place and hash in blocks, because there is one digest per verdict.
    sorted_digests = np.frombuffer(digests, dtype="S16")
    sorted_digests.sort()
    hasher = blake2b(b"[", digest_size=16)
    for start in range(0, len(sorted_digests), _BLOCK):
        block = sorted_digests[start : start + _BLOCK].tobytes().hex()
        names = (block[place : place + _WIDTH] for place in range(0, len(block), _WIDTH))
        hasher.update(("," if start else "").encode() + ",".join(f'"{name}"' for name in names).encode())
    hasher.update(b"]")
    return hasher.hexdigest()


def with_due(columns: Columns, ledger: Ledger, judges: Sequence[Judge]) -> Columns:
    """Add the due cases and failed calls of a study from its ledger."""
    with ledger.reader() as reader:
        due, failed_calls = due_cases_and_failed_calls(reader, tuple(judge.name for judge in judges), ledger.study)
    return replace(
        columns,
        due=tuple(replace(entry, study=STUDY) for entry in due),
        failed_calls=tuple(replace(entry, study=STUDY) for entry in failed_calls),
    )


def case_key_batches(cases: Iterable[Case]) -> Iterator[list[str]]:
    """Yield case keys in batches of thousands, without duplicates: equal cases are adjacent within an item."""
    keys: dict[str, None] = {}
    for _, of_item in groupby(cases, key=lambda case: case.item.id):
        keys |= dict.fromkeys(case.key for case in of_item)
        if len(keys) >= _AT_ONCE:
            yield list(keys)
            keys = {}
    if keys:
        yield list(keys)
