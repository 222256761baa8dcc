"""Judge replacements stored in the ledger, so that every leaderboard can show where the judge changed.

A replacement belongs to a study, since the scales of two studies are not comparable. It is a row of `adoptions` with
its own role. Such rows are chained, copied and written to lakes like all others; a newer row overrides an older one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.name_aliases import Naming

ROLE = "replacement"


@dataclass(frozen=True)
class JudgeReplacement:
    """Judge `new` that replaces `old` in a study; its marks are put on the scale of `old`."""

    study: str
    old: str
    new: str


def load_replacements(ledger: Ledger, study: str | None = None) -> list[JudgeReplacement]:
    """Return the active replacements of one study or of all, in the order of entry."""
    sql = "SELECT name, settings FROM adoptions WHERE role = ? ORDER BY rowid"
    with ledger.reader() as reader:
        entries = [(str(name), row_conversion.load_json(text)) for name, text in reader.execute(sql, (ROLE,))]
        current_names = Naming.read(reader).judges if entries else {}
    is_active_by_replacement: dict[JudgeReplacement, bool] = {}
    for name, settings in entries:
        old, new = (current_names.get(settings[role], settings[role]) for role in ("old", "new"))
        is_active_by_replacement[JudgeReplacement(name, old, new)] = bool(settings["active"])
    return [
        replacement
        for replacement, is_active in is_active_by_replacement.items()
        if is_active and study in {None, replacement.study}
    ]


def add_replacement(ledger: Ledger, replacement: JudgeReplacement) -> bool:
    """Store a replacement; return False if it is already active. Refuse two judges that replace each other."""
    active_replacements = load_replacements(ledger, replacement.study)
    if replacement in active_replacements:
        return False
    if JudgeReplacement(replacement.study, replacement.new, replacement.old) in active_replacements:
        raise LedgerError(
            f"{ledger.place}: {replacement.old!r} already replaces {replacement.new!r}. Remove that first "
            "(`fullbench audit replace OLD NEW --withdraw`)"
        )
    _write_replacement(ledger, replacement, is_active=True)
    return True


def withdraw_replacement(ledger: Ledger, replacement: JudgeReplacement) -> None:
    """Mark a replacement as withdrawn."""
    if replacement not in load_replacements(ledger, replacement.study):
        raise LedgerError(
            f"{ledger.place}: {replacement.new!r} does not replace {replacement.old!r} in the study "
            f"{replacement.study!r}; `fullbench ledger show` lists all replacements"
        )
    _write_replacement(ledger, replacement, is_active=False)


def _write_replacement(ledger: Ledger, replacement: JudgeReplacement, *, is_active: bool) -> None:
    settings = row_conversion.settings_text({"old": replacement.old, "new": replacement.new, "active": is_active})
    ledger.keep_rows("adoptions", [(ROLE, replacement.study, settings, time.time())])
