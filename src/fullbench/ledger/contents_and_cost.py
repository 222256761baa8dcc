"""What a ledger holds and what it cost, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import orjson

from fullbench.core.call import Usage
from fullbench.core.verdict import FAULTS
from fullbench.ledger import row_conversion, schema, study_members
from fullbench.ledger.aliases import Naming, voter
from fullbench.ledger.database_interface import Connection

Role = Literal["judge", "contestant"]
COUNTED = ("items", "responses", "cases", "verdicts", "failures", "pictures")
SPENT = (
    ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT)" for name in ("calls", "retries", "tokens_in", "tokens_out"))
    + ", CASE WHEN count(dollars) = count(*) THEN coalesce(sum(dollars), 0.0) END, coalesce(sum(seconds), 0.0), "
    "CAST(sum(cached) AS BIGINT), CAST(sum(stored) AS BIGINT), "
    "CAST(coalesce(sum(CASE WHEN cached IS NULL THEN 0 ELSE tokens_in END), 0) AS BIGINT)"
)
"""The fields of a `Usage`, in their order."""
FIRST_ONES = "CAST(sum(CASE WHEN revision = 0 THEN 1 ELSE 0 END) AS BIGINT)"
"""A vote that was revised, or a reply that was read again, counts once."""

LATEST = (
    "NOT EXISTS (SELECT 1 FROM verdicts AS later WHERE later.case_key = verdicts.case_key AND later.judge = "
    "verdicts.judge AND later.trial = verdicts.trial AND later.rater = verdicts.rater "
    "AND later.revision > verdicts.revision)"
)


@dataclass(frozen=True, slots=True)
class Account:
    """What one judge or contestant used: verdicts or responses given, calls that brought none, and the sum of all."""

    role: Role
    name: str
    given: int
    failures: int
    usage: Usage


def bill(reader: Connection) -> list[Account]:
    sql = (
        f"SELECT 'judge', judge, {FIRST_ONES}, 0, {SPENT} FROM verdicts GROUP BY judge UNION ALL "
        f"SELECT 'contestant', contestant, count(*), 0, {SPENT} FROM responses GROUP BY contestant UNION ALL "
        f"SELECT role, name, 0, count(*), {SPENT} FROM failures GROUP BY role, name"
    )
    naming = Naming.read(reader)
    accounts: dict[tuple[str, str], Account] = {}
    for role, stored, given, failed, *spent in reader.execute(sql):
        name = _today(naming, role, stored)
        before = accounts.get((role, name), Account(role, name, 0, 0, Usage()))
        usage = before.usage + Usage(*spent)
        accounts[role, name] = Account(role, name, before.given + given, before.failures + failed, usage)
    return [accounts[key] for key in sorted(accounts)]


def everybody(reader: Connection) -> set[str]:
    """All judges and contestants under the names that they have today, those too of whom only rulings are kept."""
    naming = Naming.read(reader)
    judges = {_today(naming, "judge", name) for (name,) in reader.execute("SELECT DISTINCT judge FROM verdicts")}
    compared = reader.execute("SELECT DISTINCT contestants FROM verdicts")
    answering = {name for (names,) in compared for name in orjson.loads(names)}
    answering |= {name for (name,) in reader.execute("SELECT DISTINCT contestant FROM responses")}
    return judges | {_today(naming, "contestant", name) for name in answering}


def spent(reader: Connection, study: str) -> float:
    """What was paid for a study: its verdicts, the answers to its items, and the calls that failed over either.

    An item or case that two studies share counts in both, for either would have had to pay for it.
    """
    cases, items = (
        "SELECT case_key FROM study_cases WHERE study = ?",
        "SELECT item_key FROM study_items WHERE study = ?",
    )
    parts = (
        f"verdicts WHERE case_key IN ({cases})", f"responses WHERE item_key IN ({items})",
        f"failures WHERE role = 'judge' AND key IN ({cases})",
        f"failures WHERE role = 'contestant' AND key IN ({items})",
    )  # fmt: skip
    sums = (reader.execute(f"SELECT coalesce(sum(dollars), 0.0) FROM {part}", (study,)).fetchone() for part in parts)
    return float(sum(dollars for (dollars,) in sums))


def _today(naming: Naming, role: str, name: str) -> str:
    if role == "contestant":
        return naming.contestants.get(name, name)
    name = voter(name, 0, "")[0]
    return naming.judges.get(name, name)


def content_digest(reader: Connection) -> str:
    whole = blake2b(digest_size=16)
    for sql in (
        "SELECT DISTINCT key FROM items ORDER BY key",
        "SELECT contestant || ' ' || item_key || ' ' || trial || ' ' || key FROM responses "
        "ORDER BY item_key, contestant, trial",
        "SELECT sum FROM verdicts ORDER BY sum",
    ):
        for (text,) in reader.stream(sql):
            whole.update(text.encode() + b"\n")
        whole.update(b"\n")
    return whole.hexdigest()


def counts(reader: Connection) -> dict[str, int]:
    return {table: reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED}


def chains(reader: Connection) -> dict[str, int]:
    """How many rows of how many writers are chained, in how many commits."""
    each = " UNION ALL ".join(f"SELECT count(*) AS n FROM {table}" for table in schema.TABLES)
    rows_ = reader.execute(f"SELECT CAST(sum(n) AS BIGINT) FROM ({each}) AS each_table").fetchone()[0]
    commits, writers = reader.execute("SELECT count(*), count(DISTINCT writer) FROM commits").fetchone()
    return {"rows": rows_, "commits": commits, "writers": writers}


def of_studies(reader: Connection) -> list[dict[str, Any]]:
    """For each study, what it holds, and how many verdicts are set aside because a later content took over."""
    found = study_members.studies(reader)
    return [_of_study(reader, study, sole=len(found) == 1) for study in found]


def _of_study(reader: Connection, study: str, *, sole: bool) -> dict[str, Any]:
    contents = "SELECT count(DISTINCT item), count(*) FROM study_items WHERE study = ?"
    items, revisions = reader.execute(contents, (study,)).fetchone()
    (cases,) = reader.execute("SELECT count(*) FROM study_cases WHERE study = ?", (study,)).fetchone()
    condition, values = ("revision = 0", ()) if sole else study_members.condition(study)
    where = condition if sole else f"{condition} AND revision = 0"
    (verdicts,) = reader.execute(f"SELECT count(*) FROM verdicts WHERE {where}", values).fetchone()
    return {
        "name": study, "items": items, "cases": cases, "verdicts": verdicts, "superseded": revisions - items,
        "set_aside": set_aside(reader, study),
    }  # fmt: skip


def set_aside(reader: Connection, study: str) -> int:
    """How many verdicts of a study were given on contents that a later revision took the place of."""
    older = study_members.superseded(reader, study)
    condition, values = study_members.condition(study)
    sql = f"SELECT case_key FROM verdicts WHERE {condition} AND revision = 0"
    return sum(key in older for (key,) in reader.stream(sql, values)) if older else 0


def describe(reader: Connection) -> dict[str, Any]:
    naming = Naming.read(reader)
    faults: dict[tuple[str, str], int] = {}
    for judge, fault, count in reader.execute(
        f"SELECT judge, fault, count(*) FROM verdicts WHERE fault IS NOT NULL AND {LATEST} GROUP BY judge, fault"
    ):
        place = (_today(naming, "judge", judge), fault)
        faults[place] = faults.get(place, 0) + count
    first, last = reader.execute("SELECT min(at), max(at) FROM verdicts").fetchone()
    settings = {
        (role, name): row_conversion.load(text)
        for role in ("judge", "contestant")
        for name, text in reader.execute(f"SELECT name, settings FROM {role}s")
    }
    settings |= {
        (role, name): row_conversion.load(text)
        for role, name, text in reader.execute("SELECT role, name, settings FROM adoptions ORDER BY rowid")
    }
    return {
        "digest": content_digest(reader),
        "counts": counts(reader),
        "chains": chains(reader),
        "studies": of_studies(reader),
        "aliases": [
            {"role": role, "former": former, "name": name}
            for role, former, name in reader.execute("SELECT role, former, name FROM aliases ORDER BY rowid")
        ],
        "first": first,
        "last": last,
        "accounts": [
            {
                "role": account.role,
                "name": account.name,
                "given": account.given,
                "failures": account.failures,
                "faults": {fault: faults.get((account.name, fault), 0) for fault in FAULTS}
                if account.role == "judge"
                else {},
                "usage": {name: getattr(account.usage, name) for name in Usage.__dataclass_fields__},
                "settings": settings.get((account.role, account.name)),
            }
            for account in bill(reader)
        ],
    }


def failed(reader: Connection) -> dict[str, int]:
    """How many calls of each judge failed, under its name of today."""
    names = Naming.read(reader).judges
    found: Counter[str] = Counter()
    for name, count in reader.execute("SELECT name, count(*) FROM failures WHERE role = 'judge' GROUP BY name"):
        found[names.get(name, name)] += count
    return dict(found)
