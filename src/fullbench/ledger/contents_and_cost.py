"""Counts of a ledger's contents, and tokens and dollars used by each judge, contestant and study."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import orjson

from fullbench.core.model_call import Usage
from fullbench.core.verdict import FAULTS
from fullbench.ledger import row_conversion, schema, study_membership_of_items_and_cases
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.name_aliases import Naming, normalize_voter

Role = Literal["judge", "contestant"]
COUNTED_TABLES = ("items", "responses", "cases", "verdicts", "failures", "pictures")
# CAST, because PostgreSQL sums integers to numeric. Dollars are NULL if the price of any row is unknown.
USAGE_SUMS = (
    ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT)" for name in ("calls", "retries", "tokens_in", "tokens_out"))
    + ", CASE WHEN count(dollars) = count(*) THEN coalesce(sum(dollars), 0.0) END, coalesce(sum(seconds), 0.0), "
    "CAST(sum(cached) AS BIGINT), CAST(sum(stored) AS BIGINT), "
    "CAST(coalesce(sum(CASE WHEN cached IS NULL THEN 0 ELSE tokens_in END), 0) AS BIGINT)"
)
"""Fields of a `Usage`, in their order."""
FIRST_REVISION_COUNT = "CAST(sum(CASE WHEN revision = 0 THEN 1 ELSE 0 END) AS BIGINT)"
"""A revised vote, or a reply that was parsed again, counts once."""

LATEST = (
    "NOT EXISTS (SELECT 1 FROM verdicts AS later WHERE later.case_key = verdicts.case_key AND later.judge = "
    "verdicts.judge AND later.trial = verdicts.trial AND later.rater = verdicts.rater "
    "AND later.revision > verdicts.revision)"
)


@dataclass(frozen=True, slots=True)
class Account:
    """Usage of one judge or contestant: verdicts or responses, failed calls, and total usage."""

    role: Role
    name: str
    output_count: int
    failures: int
    usage: Usage


def usage_accounts(reader: Connection) -> list[Account]:
    sql = (
        f"SELECT 'judge', judge, {FIRST_REVISION_COUNT}, 0, {USAGE_SUMS} FROM verdicts GROUP BY judge UNION ALL "
        f"SELECT 'contestant', contestant, count(*), 0, {USAGE_SUMS} FROM responses GROUP BY contestant UNION ALL "
        f"SELECT role, name, 0, count(*), {USAGE_SUMS} FROM failures GROUP BY role, name"
    )
    naming = Naming.read(reader)
    accounts: dict[tuple[str, str], Account] = {}
    for role, stored_name, output_count, failure_count, *usage_values in reader.execute(sql):
        name = current_name(naming, role, stored_name)
        before = accounts.get((role, name), Account(role, name, 0, 0, Usage()))
        usage = before.usage + Usage(*usage_values)
        accounts[role, name] = Account(
            role, name, before.output_count + output_count, before.failures + failure_count, usage
        )
    return [accounts[key] for key in sorted(accounts)]


def judge_and_contestant_names(reader: Connection) -> tuple[set[str], set[str]]:
    """Return the current names of all judges, and of all contestants, even if known only from verdicts."""
    naming = Naming.read(reader)
    judges = {name for (name,) in reader.execute("SELECT DISTINCT judge FROM verdicts")}
    contestant_rows = reader.execute("SELECT DISTINCT contestants FROM verdicts")
    contestants = {name for (names,) in contestant_rows for name in orjson.loads(names)}
    contestants |= {name for (name,) in reader.execute("SELECT DISTINCT contestant FROM responses")}
    return (
        {current_name(naming, "judge", name) for name in judges},
        {current_name(naming, "contestant", name) for name in contestants},
    )


def current_name(naming: Naming, role: str, name: str) -> str:
    """Return the current name of a judge or contestant that may be stored under a former one."""
    if role == "contestant":
        return naming.contestants.get(name, name)
    name = normalize_voter(name, 0, "")[0]
    return naming.judges.get(name, name)


def content_digest(reader: Connection) -> str:
    hasher = blake2b(digest_size=16)
    for sql in (
        "SELECT DISTINCT key FROM items ORDER BY key",
        "SELECT contestant || ' ' || item_key || ' ' || trial || ' ' || key FROM responses "
        "ORDER BY item_key, contestant, trial",
        "SELECT sum FROM verdicts ORDER BY sum",
    ):
        for (text,) in reader.stream(sql):
            hasher.update(text.encode() + b"\n")
        hasher.update(b"\n")
    return hasher.hexdigest()


def table_counts(reader: Connection) -> dict[str, int]:
    return {table: reader.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COUNTED_TABLES}


def chain_counts(reader: Connection) -> dict[str, int]:
    """Count chained rows, commits and writers."""
    each = " UNION ALL ".join(f"SELECT count(*) AS n FROM {table}" for table in schema.TABLES)
    row_count = reader.execute(f"SELECT CAST(sum(n) AS BIGINT) FROM ({each}) AS each_table").fetchone()[0]
    commits, writers = reader.execute("SELECT count(*), count(DISTINCT writer) FROM commits").fetchone()
    return {"rows": row_count, "commits": commits, "writers": writers}


def describe_studies(reader: Connection) -> list[dict[str, Any]]:
    """Return the counts of each study, including verdicts excluded because their item was superseded."""
    studies = study_membership_of_items_and_cases.study_names(reader)
    return [_describe_study(reader, study, sole=len(studies) == 1) for study in studies]


def _describe_study(reader: Connection, study: str, *, sole: bool) -> dict[str, Any]:
    contents = "SELECT count(DISTINCT item), count(*) FROM study_items WHERE study = ?"
    items, revisions = reader.execute(contents, (study,)).fetchone()
    (cases,) = reader.execute("SELECT count(*) FROM study_cases WHERE study = ?", (study,)).fetchone()
    condition, values = ("revision = 0", ()) if sole else study_membership_of_items_and_cases.study_condition(study)
    where = condition if sole else f"{condition} AND revision = 0"
    (verdicts,) = reader.execute(f"SELECT count(*) FROM verdicts WHERE {where}", values).fetchone()
    return {
        "name": study, "items": items, "cases": cases, "verdicts": verdicts, "superseded": revisions - items,
        "set_aside": count_superseded(reader, study),
    }  # fmt: skip


def count_superseded(reader: Connection, study: str) -> int:
    """Count the verdicts of a study on item contents that a later revision replaced."""
    older = study_membership_of_items_and_cases.superseded_cases(reader, study)
    condition, values = study_membership_of_items_and_cases.study_condition(study)
    sql = f"SELECT case_key FROM verdicts WHERE {condition} AND revision = 0"
    return sum(key in older for (key,) in reader.stream(sql, values)) if older else 0


def describe_ledger(reader: Connection) -> dict[str, Any]:
    naming = Naming.read(reader)
    faults: dict[tuple[str, str], int] = {}
    for judge, fault, count in reader.execute(
        f"SELECT judge, fault, count(*) FROM verdicts WHERE fault IS NOT NULL AND {LATEST} GROUP BY judge, fault"
    ):
        place = (current_name(naming, "judge", judge), fault)
        faults[place] = faults.get(place, 0) + count
    first, last = reader.execute("SELECT min(at), max(at) FROM verdicts").fetchone()
    settings = {
        (role, name): row_conversion.load_json(text)
        for role in ("judge", "contestant")
        for name, text in reader.execute(f"SELECT name, settings FROM {role}s")
    }
    settings |= {
        (role, name): row_conversion.load_json(text)
        for role, name, text in reader.execute("SELECT role, name, settings FROM adoptions ORDER BY rowid")
    }
    return {
        "digest": content_digest(reader),
        "counts": table_counts(reader),
        "chains": chain_counts(reader),
        "studies": describe_studies(reader),
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
                "given": account.output_count,
                "failures": account.failures,
                "unusable": {fault: faults.get((account.name, fault), 0) for fault in FAULTS}
                if account.role == "judge"
                else {},
                "usage": {name: getattr(account.usage, name) for name in Usage.__dataclass_fields__},
                "settings": settings.get((account.role, account.name)),
            }
            for account in usage_accounts(reader)
        ],
    }
