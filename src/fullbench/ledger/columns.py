"""Columns from a ledger: narrow rows alone are read, no texts and no nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from fullbench.columns.builder import KIND, ROW, Builder, Kind, verdict_rows
from fullbench.columns.table import STUDY, Columns, Due
from fullbench.ledger import schema
from fullbench.ledger.database import Connection
from fullbench.nouns.verdict import Verdict

NEWER = {"rater": "''", "samples": "''", "revision": "0"}
"""What stands for a column that this schema does not have yet."""

APART = "\x1f"
"""Stands between the parts of a kind; no name may hold it, for it is a control character."""


def columns(reader: Connection, judges: tuple[str, ...] | None, beside: Iterable[Verdict] = ()) -> Columns:
    """The verdicts of these judges (None: of all) and some that stand beside, and how many of their cases are due."""
    builder = Builder(_kind, lambda marks: orjson.loads(marks) if isinstance(marks, str) else marks)
    builder.extend(verdict_rows(beside))
    chosen = "" if judges is None else f" WHERE judge IN ({', '.join('?' * len(judges))})"
    if judges != ():
        builder.extend(reader.stream(f"SELECT {_narrow()} FROM verdicts{chosen}", judges or ()))
    return builder.finish(_due(reader, judges))


def _narrow() -> str:
    """What a builder takes. What many rows share comes as one text: the database makes it faster than Python would."""
    there = set(schema.columns("verdicts"))
    named = {**{name: name for name in (*KIND, *ROW)}, **{k: v for k, v in NEWER.items() if k not in there}}
    named |= {"study": f"'{STUDY}'", "fault": "coalesce(fault, '')", "case": "case_key"}
    named["kind"] = f" || '{APART}' || ".join(named[name] for name in KIND)
    named["reason"] = "CASE WHEN fault = 'recused' THEN text END"
    return ", ".join(named[name] for name in ROW)


def _kind(kind: str | Kind) -> Kind:
    if not isinstance(kind, str):
        return kind
    study, judge, criterion, ballot, rater, fault, contestants, samples = kind.split(APART)
    return (
        study, judge, criterion, ballot, rater, fault or None, orjson.loads(contestants),
        orjson.loads(samples) if samples else (),
    )  # fmt: skip


def _due(reader: Connection, judges: tuple[str, ...] | None) -> Iterator[Due]:
    """Cases of which a call failed and that have no verdict since, by judge, criterion and family of ballot."""
    sql = (
        "SELECT failed.name, cases.criterion, cases.ballot, cases.responses, count(*) FROM "
        "(SELECT DISTINCT name, key, trial FROM failures WHERE role = 'judge') AS failed "
        "JOIN cases ON cases.key = failed.key "
        "LEFT JOIN verdicts ON verdicts.case_key = failed.key AND verdicts.judge = failed.name "
        "AND verdicts.trial = failed.trial "
        "WHERE verdicts.case_key IS NULL GROUP BY failed.name, cases.criterion, cases.ballot, cases.responses"
    )
    counts: dict[tuple[str, str, Any], int] = {}
    for judge, criterion, ballot, responses, count in reader.stream(sql):
        if judges is None or judge in judges:
            family = "score" if len(orjson.loads(responses)) == 1 else "ranking" if ballot == "ranking" else "pair"
            key = judge, criterion, family
            counts[key] = counts.get(key, 0) + count
    for (judge, criterion, family), count in counts.items():
        yield Due(STUDY, judge, criterion, family, count)
