"""Settings declared for judge and contestant names, and checks of new aliases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.name_aliases import Naming


def settings_of(reader: Connection, role: Role, name: str) -> str | None:
    """Return the settings of a judge or contestant that were declared or adopted last."""
    setting_rows = reader.together(
        ("SELECT settings FROM adoptions WHERE role = ? AND name = ? ORDER BY rowid DESC LIMIT 1", (role, name)),
        (f"SELECT settings FROM {role}s WHERE name = ?", (name,)),
    )
    return next((str(settings) for rows_ in setting_rows for (settings,) in rows_), None)


def added_settings(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> list[str] | None:
    """Return the names of new settings, or None if an earlier setting was changed or removed.

    >>> added_settings({"model": "m", "sampling": {"seed": 1}},
    ...     {"model": "m", "sampling": {"seed": 1, "top": 2}, "prompt_template": 1})
    ['sampling.top', 'prompt_template']
    >>> added_settings({"model": "m"}, {"model": "n"}) is None
    True
    """
    new: list[str] = []
    for name in dict.fromkeys((*before, *now)):
        if name not in now:
            return None
        if name not in before:
            new.append(within + name)
        elif isinstance(before[name], Mapping) and isinstance(now[name], Mapping):
            deeper = added_settings(before[name], now[name], f"{within}{name}.")
            if deeper is None:
                return None
            new += deeper
        elif before[name] != now[name]:
            return None
    return new


def check_alias(reader: Connection, place: str, role: Role, former: str, name: str) -> None:
    """Refuse an alias if the former name is unknown, already has an alias, or would lead back to itself."""
    naming = Naming.read(reader)
    aliases = naming.judges if role == "judge" else naming.contestants
    table, column = ("verdicts", "judge") if role == "judge" else ("responses", "contestant")
    if former in aliases:
        raise LedgerError(f"{place}: the {role} {former!r} is {aliases[former]!r} already; give the alias to that name")
    if former == name or aliases.get(name) == former:
        raise LedgerError(f"{place}: {former!r} and {name!r} would each replace the other. Swap the two names")
    stored_row = (
        reader.execute(f"SELECT 1 FROM {role}s WHERE name = ?", (former,)).fetchone()
        or reader.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (former,)).fetchone()
    )
    if stored_row is None and former not in aliases.values():
        raise LedgerError(f"{place}: there is no {role} {former!r}; `fullbench ledger show` lists all names")


def settings_conflict_error(
    place: str, role: Role, name: str, declared_text: str, now: Mapping[str, Any]
) -> LedgerError:
    return LedgerError(
        f"{place}: the {role} {name!r} is stored with the settings {declared_text} and now has "
        f"{row_conversion.settings_text(now)}; a name belongs to one set of settings: give this {role} another name, "
        f"or use another ledger"
    )
