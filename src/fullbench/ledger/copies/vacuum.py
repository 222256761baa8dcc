"""Space given back: the write-ahead log, pages that are free, pictures that no row names."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger

YOUNG = 3600.0
"""Pictures so many seconds old may belong to rows that are just being written: they stay."""


@dataclass(frozen=True)
class Freed:
    """What was freed, or would be: bytes of the database and its log, and pictures with their bytes."""

    database: int
    pictures: int
    picture_bytes: int
    shared: bool
    """Whether pictures were left alone because other ledgers may share their place."""


def tidy(ledger: Ledger, *, dry_run: bool = False, named_too: bool = False) -> Freed:
    """Give space back. Pictures in a place that the user named are left alone unless `named_too`."""
    with ledger.reader() as reader:
        known = {digest for (digest,) in reader.stream("SELECT digest FROM pictures")}
    shared = ledger.pictures_named and not named_too
    count = size = 0
    if ledger.has_pictures and not shared:
        for kept in ledger.pictures.all():
            if kept.digest not in known and time.time() - kept.modified > YOUNG:
                count, size = count + 1, size + kept.size
                if not dry_run:
                    ledger.pictures.remove(kept.digest)
    return Freed(ledger.vacuum(dry_run=dry_run), count, size, shared)
