"""Frees disk space: the write-ahead log, free pages, and pictures that no row uses."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullbench.ledger.ledger import Ledger

YOUNG = 3600.0
"""Pictures younger than this many seconds are kept, since rows that use them may not be written yet."""


@dataclass(frozen=True)
class FreedSpace:
    """Space that was or would be freed: bytes of the database and its log, and pictures with their bytes."""

    database: int
    pictures: int
    picture_bytes: int
    is_shared: bool
    """True if pictures were kept because other ledgers may share their place."""


def free_space(ledger: Ledger, *, dry_run: bool = False, named_too: bool = False) -> FreedSpace:
    """Free disk space. Pictures in a place that the user chose are kept unless `named_too` is true."""
    with ledger.reader() as reader:
        used_digests = {digest for (digest,) in reader.stream("SELECT digest FROM pictures")}
    is_shared = ledger.pictures_named and not named_too
    count = size = 0
    if ledger.has_pictures and not is_shared:
        for stored_picture in ledger.pictures.all():
            if stored_picture.digest not in used_digests and time.time() - stored_picture.modified_at > YOUNG:
                count, size = count + 1, size + stored_picture.size
                if not dry_run:
                    ledger.pictures.remove(stored_picture.digest)
    return FreedSpace(ledger.vacuum(dry_run=dry_run), count, size, is_shared)
