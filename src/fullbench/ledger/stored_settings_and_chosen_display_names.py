"""Names in a ledger: settings of all judges and contestants, and display names that users chose.

A chosen display name is a row of `adoptions` with its own role. Such rows are chained, copied and written to lakes
like all others; a newer row overrides an older one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fullbench.ledger import row_conversion
from fullbench.ledger.contents_and_cost import current_name, judge_and_contestant_names
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.name_aliases import Naming

DISPLAY_ROLE = "display name"

Settings = Mapping[str, Any] | None


def load_named_settings(ledger: Ledger) -> tuple[dict[str, Settings], dict[str, Settings]]:
    """Return the settings of all judges and of all contestants by current name; None if none were declared."""
    settings: dict[str, dict[str, Settings]] = {"judge": {}, "contestant": {}}
    with ledger.reader() as reader:
        naming = Naming.read(reader)
        for role, names in settings.items():
            sql = f"SELECT name, settings FROM {role}s UNION ALL SELECT name, settings FROM adoptions WHERE role = ?"
            stored_texts = {str(name): str(text) for name, text in reader.execute(sql, (role,))}
            names |= {name: row_conversion.load_json(text) for name, text in stored_texts.items()}
            for former in [name for name in names if current_name(naming, role, name) != name]:
                former_settings = names.pop(former)
                names.setdefault(current_name(naming, role, former), former_settings)
        judges, contestants = judge_and_contestant_names(reader)
    return (
        {**dict.fromkeys(sorted(judges)), **settings["judge"]},
        {**dict.fromkeys(sorted(contestants)), **settings["contestant"]},
    )


def load_chosen_names(ledger: Ledger) -> dict[str, Mapping[str, str]]:
    """Return the display names that studies of this ledger chose, by full name: `name`, `organisation`, `date`."""
    sql = "SELECT name, settings FROM adoptions WHERE role = ? ORDER BY rowid"
    with ledger.reader() as reader:
        rows = reader.execute(sql, (DISPLAY_ROLE,)).fetchall()
    entries = {str(name): row_conversion.load_json(text) for name, text in rows}
    return {name: entry for name, entry in entries.items() if entry}


def count_stored_names(ledger: Ledger) -> int:
    """Return a number that grows with every judge, contestant, alias and chosen name that is declared."""
    tables = ("judges", "contestants", "aliases", "adoptions")
    with ledger.reader() as reader:
        counts = reader.together(*((f"SELECT count(*) FROM {table}", ()) for table in tables))
    return sum(int(rows[0][0]) for rows in counts)


def store_chosen_names(ledger: Ledger, entries: Mapping[str, Mapping[str, str]]) -> None:
    """Store new or changed display names by full name."""
    stored_entries = load_chosen_names(ledger)
    new_rows = [
        (DISPLAY_ROLE, name, row_conversion.settings_text(entry), time.time())
        for name, entry in entries.items()
        if stored_entries.get(name) != entry
    ]
    if new_rows:  # a run that changes nothing must not write to the ledger
        ledger.keep_rows("adoptions", new_rows)
