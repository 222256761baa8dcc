"""Verdicts that come by once: columns are kept of them, and a digest, but no texts."""

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
from fullbench.ledger.ledger import Ledger

_WIDTH = 32
_BLOCK = 1 << 14
_AT_ONCE = 5_000


def read(verdicts: Iterable[Verdict]) -> tuple[Columns, str]:
    """The columns of some verdicts, and the digest that `Record.digest` gives of them."""
    digests = bytearray()

    def noted() -> Iterator[Verdict]:
        for verdict in verdicts:
            digests.extend(bytes.fromhex(verdict_digest(verdict)))
            yield verdict

    builder = Builder()
    builder.extend(verdict_rows(noted()))
    digest = _joined(digests)
    del digests[:]
    return builder.finish(), digest


def _joined(digests: bytearray) -> str:
    """The digest of a sorted list of digests, as `core.digests.digest` would spell it, without making the list."""
    # In place, block by block: there are as many of them as there are verdicts.
    ordered = np.frombuffer(digests, dtype="S16")
    ordered.sort()
    whole = blake2b(b"[", digest_size=16)
    for start in range(0, len(ordered), _BLOCK):
        block = ordered[start : start + _BLOCK].tobytes().hex()
        names = (block[place : place + _WIDTH] for place in range(0, len(block), _WIDTH))
        whole.update(("," if start else "").encode() + ",".join(f'"{name}"' for name in names).encode())
    whole.update(b"]")
    return whole.hexdigest()


def with_due(columns: Columns, ledger: Ledger, judges: Sequence[Judge]) -> Columns:
    """The columns of a study with what is due and what failed calls used, as its ledger knows it."""
    due, failed = ledger.unruled([judge.name for judge in judges], ledger.study)
    return replace(
        columns,
        due=tuple(replace(entry, study=STUDY) for entry in due),
        failed=tuple(replace(entry, study=STUDY) for entry in failed),
    )


def keys_of(cases: Iterable[Case]) -> Iterator[list[str]]:
    """The keys of cases, each once, some thousands at a time: the same case again comes with the same item."""
    keys: dict[str, None] = {}
    for _, of_item in groupby(cases, key=lambda case: case.item.id):
        keys |= dict.fromkeys(case.key for case in of_item)
        if len(keys) >= _AT_ONCE:
            yield list(keys)
            keys = {}
    if keys:
        yield list(keys)
