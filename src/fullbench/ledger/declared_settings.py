"""What stands behind a name, and which name took the place of which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullbench.errors import LedgerError
from fullbench.ledger import row_conversion
from fullbench.ledger.aliases import Naming
from fullbench.ledger.contents_and_cost import Role
from fullbench.ledger.database_interface import Connection


def settings_of(reader: Connection, role: Role, name: str) -> str | None:
    """The settings of a judge or contestant as they were declared or adopted last."""
    found = reader.together(
        ("SELECT settings FROM adoptions WHERE role = ? AND name = ? ORDER BY rowid DESC LIMIT 1", (role, name)),
        (f"SELECT settings FROM {role}s WHERE name = ?", (name,)),
    )
    return next((str(settings) for rows_ in found for (settings,) in rows_), None)


def added(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> list[str] | None:
    """The settings that are new, where all that were there have the values they had; None where one differs.

    >>> added({"model": "m", "sampling": {"seed": 1}}, {"model": "m", "sampling": {"seed": 1, "top": 2}, "wording": 1})
    ['sampling.top', 'wording']
    >>> added({"model": "m"}, {"model": "n"}) is None
    True
    """
    new: list[str] = []
    for name in dict.fromkeys((*before, *now)):
        if name not in now:
            return None
        if name not in before:
            new.append(within + name)
        elif isinstance(before[name], Mapping) and isinstance(now[name], Mapping):
            deeper = added(before[name], now[name], f"{within}{name}.")
            if deeper is None:
                return None
            new += deeper
        elif before[name] != now[name]:
            return None
    return new


def twin_of(reader: Connection, name: str) -> str | None:
    """Another name that ends with the same digest of settings and under which a judge has ruled, where the judge of
    this name has not: one judge, called differently."""
    _, mark, digest = name.rpartition("#")
    if not mark:
        return None
    ruled = "SELECT 1 FROM verdicts WHERE judge = ? LIMIT 1"
    tail = f"{mark}{digest}"
    naming, (own, alike) = Naming.beside(
        reader,
        (ruled, (name,)),
        ("SELECT name FROM judges WHERE substr(name, length(name) - ?) = ? ORDER BY 1", (len(tail) - 1, tail)),
    )
    others = [] if own else [other for (other,) in alike if other != name and naming.judges.get(other) != name]
    found = next((other for other in others if reader.execute(ruled, (other,)).fetchone()), None)
    return None if found is None else naming.judges.get(found, found)


def check_alias(reader: Connection, place: str, role: Role, former: str, name: str) -> None:
    """Refuse an alias of a name that is not there, that has one, or that would lead back to itself."""
    naming = Naming.read(reader)
    taken = naming.judges if role == "judge" else naming.contestants
    table, column = ("verdicts", "judge") if role == "judge" else ("responses", "contestant")
    if former in taken:
        raise LedgerError(f"{place}: the {role} {former!r} is {taken[former]!r} already; give the alias to that name")
    if former == name or taken.get(name) == former:
        raise LedgerError(f"{place}: {former!r} and {name!r} would each stand for the other; name them the other way")
    there = (
        reader.execute(f"SELECT 1 FROM {role}s WHERE name = ?", (former,)).fetchone()
        or reader.execute(f"SELECT 1 FROM {table} WHERE {column} = ? LIMIT 1", (former,)).fetchone()
    )
    if there is None and former not in taken.values():
        raise LedgerError(f"{place}: there is no {role} {former!r}; `fullbench ledger show` lists all names")


def refusal(place: str, role: Role, name: str, known: str, now: Mapping[str, Any]) -> LedgerError:
    return LedgerError(
        f"{place}: the {role} {name!r} is known with the settings {known} and now has "
        f"{row_conversion.settings_text(now)}; a name stands for one way of answering: "
        f"give this {role} another name, or use another ledger"
    )
