"""Columns from a ledger: narrow rows alone are read, no texts and no nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from fullbench.columns.builder import ROW, Builder, verdict_rows
from fullbench.columns.table import STUDY, Columns, Due
from fullbench.ledger import schema
from fullbench.ledger.database import Connection
from fullbench.nouns.verdict import Verdict

NEWER = {"rater": "''", "samples": "''", "revision": "0"}
"""What stands for a column that this schema does not have yet."""


def columns(reader: Connection, judges: tuple[str, ...] | None, beside: Iterable[Verdict] = ()) -> Columns:
    """The verdicts of these judges (None: of all) and some that stand beside, and how many of their cases are due."""
    builder = Builder(lambda value: orjson.loads(value) if isinstance(value, str) else value)
    builder.extend(verdict_rows(beside))
    chosen = "" if judges is None else f" WHERE judge IN ({', '.join('?' * len(judges))})"
    if judges != ():
        builder.extend(reader.stream(f"SELECT {_narrow()} FROM verdicts{chosen}", judges or ()))
    return builder.finish(_due(reader, judges))


def _narrow() -> str:
    there = set(schema.columns("verdicts"))
    named = {
        **{name: name for name in ROW},
        "study": f"'{STUDY}'",
        "case": "case_key",
        "reason": "CASE WHEN fault = 'recused' THEN text END",
        **{name: empty for name, empty in NEWER.items() if name not in there},
    }
    return ", ".join(named[name] for name in ROW)


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
