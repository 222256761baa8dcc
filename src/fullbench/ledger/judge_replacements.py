"""Which judge succeeded which: kept in the ledger, so that every board can say where the seam runs.

A succession belongs to a study, since scales of two studies have nothing in common. It is a row of `adoptions` in a
role of its own: such rows are sealed, copied and put into a lake like all others, and a newer one takes the place of
an older one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion
from fullbench.ledger.aliases import Naming
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.read_api import Readable

ROLE = "succession"


@dataclass(frozen=True)
class Succession:
    """In a study, `new` judges in the place of `old`, on whose scale it is put."""

    study: str
    old: str
    new: str


def successions(ledger: Readable, study: str | None = None) -> list[Succession]:
    """The successions that stand, of one study or of all, in the order in which they were entered."""
    sql = "SELECT name, settings FROM adoptions WHERE role = ? ORDER BY rowid"
    with ledger.reader() as reader:
        entered = [(str(name), row_conversion.load(text)) for name, text in reader.execute(sql, (ROLE,))]
        today = Naming.read(reader).judges if entered else {}
    standing: dict[Succession, bool] = {}
    for name, settings in entered:
        old, new = (today.get(settings[role], settings[role]) for role in ("old", "new"))
        standing[Succession(name, old, new)] = bool(settings["stands"])
    return [each for each, stands in standing.items() if stands and study in {None, each.study}]


def succeed(ledger: Ledger, succession: Succession) -> bool:
    """Enter a succession; False where it stands already. Two judges that succeed each other are refused."""
    standing = successions(ledger, succession.study)
    if succession in standing:
        return False
    if Succession(succession.study, succession.new, succession.old) in standing:
        raise LedgerError(
            f"{ledger.place}: {succession.old!r} succeeds {succession.new!r} already; take that back first "
            "(fullbench equate OLD NEW --take-back)"
        )
    _enter(ledger, succession, stands=True)
    return True


def take_back(ledger: Ledger, succession: Succession) -> None:
    """Let a succession stand no longer."""
    if succession not in successions(ledger, succession.study):
        raise LedgerError(
            f"{ledger.place}: {succession.new!r} does not succeed {succession.old!r} in the study "
            f"{succession.study!r}; `fullbench ledger show` lists all successions"
        )
    _enter(ledger, succession, stands=False)


def _enter(ledger: Ledger, succession: Succession, *, stands: bool) -> None:
    settings = row_conversion.settings_text({"old": succession.old, "new": succession.new, "stands": stands})
    ledger.keep_rows("adoptions", [(ROLE, succession.study, settings, time.time())])
