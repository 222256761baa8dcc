"""Columns from a ledger: narrow rows alone are read, no texts and no nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from fullbench.columns.builder import KIND, REAL, WHOLE, Builder, Kind, verdict_rows
from fullbench.columns.table import Columns, Due
from fullbench.ledger import membership, reading, rows
from fullbench.ledger.database import Connection
from fullbench.ledger.naming import Naming
from fullbench.nouns.verdict import PEOPLE, Verdict

APART = "\x1f"
"""Stands between the parts of a kind that the database puts together."""

_NUMBERS = (*WHOLE, *REAL)
_STORED = (*KIND[1:], "item", "case_key", "marks", *_NUMBERS)
Reasons = dict[tuple[Any, ...], str]
"""What judges said that recused themselves, by case, judge, trial and rater."""


def columns(
    reader: Connection,
    judges: tuple[str, ...] | None,
    beside: Iterable[Verdict] = (),
    studies: Sequence[str] | None = None,
) -> Columns:
    """The verdicts of these judges (None: of all) in these studies (None: in each), and some that stand beside.

    A verdict that two studies share is a row in each. Beside them stands how many cases of each are due.
    """
    every = membership.studies(reader)
    chosen = every if studies is None else list(studies)
    builder = Builder(_kind, lambda marks: orjson.loads(marks) if isinstance(marks, str) else marks)
    builder.extend(verdict_rows(beside, chosen[0]) if len(chosen) == 1 else verdict_rows(beside))
    due: list[Due] = []
    for study in chosen:
        builder.extend(_rows(reader, judges, study, alone=every == [study]))
        due += _due(reader, judges, study)
    return builder.finish(due)


def _rows(reader: Connection, judges: tuple[str, ...] | None, study: str, *, alone: bool) -> Iterator[tuple[Any, ...]]:
    """The rows of a study: as the database puts them together where names are today's, else one by one."""
    reasons = _recusals(reader, judges, study)
    # The only study of a ledger holds every verdict, so nothing needs to be looked up.
    asked = None if alone and not membership.superseded(reader, study) else study
    people = f"substr(verdicts.judge, 1, {len(PEOPLE)}) = '{PEOPLE}'"
    quick = reading.as_stored(reader, study)
    if quick:
        yield from _together(reader, judges, study, asked=asked, only=f"NOT {people}", reasons=reasons)
    for row in reading.narrow(reader, _STORED, judges, asked, only=people if quick else ""):
        judge, criterion, ballot, rater, fault, contestants, samples, item, case, marks, *numbers = row
        kind = (study, judge, criterion, ballot, rater, fault, contestants, samples)
        reason = reasons.get((case, judge, numbers[0], rater), "") if reasons else ""
        yield (kind, item, case, marks, reason, *numbers)


def _together(
    reader: Connection, judges: tuple[str, ...] | None, study: str, *, asked: str | None, only: str, reasons: Reasons
) -> Iterator[tuple[Any, ...]]:
    """What many rows share comes as one text: the database makes it faster than Python would."""
    shared = ["?", *(f"coalesce(verdicts.{name}, '')" for name in KIND[1:])]
    parts = (
        f" || '{APART}' || ".join(shared),
        *(f"verdicts.{name}" for name in ("item", "case_key", "marks")),
        "CASE WHEN verdicts.fault = 'recused' THEN verdicts.judge END",
        *(f"verdicts.{name}" for name in _NUMBERS),
    )
    where, values = reading.chosen(reader, judges, asked, only)
    stream = reader.stream(f"SELECT {', '.join(parts)} FROM verdicts{where}", (study, *values))
    if not reasons:
        yield from stream
        return
    for kind, item, case, marks, judge, trial, *rest in stream:
        reason = "" if judge is None else reasons.get((case, judge, trial, ""), "")
        yield (kind, item, case, marks, reason, trial, *rest)


def _kind(kind: str | tuple[Any, ...]) -> Kind:
    """The parts of a kind, whoever put it together."""
    study, judge, criterion, ballot, rater, fault, contestants, samples = (
        kind.split(APART) if isinstance(kind, str) else kind
    )
    shown = orjson.loads(contestants) if isinstance(contestants, str) else contestants
    numbers = (orjson.loads(samples) if samples else ()) if isinstance(samples, str) else samples
    return study, judge, criterion, ballot, rater, fault or None, shown, numbers


def _recusals(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Reasons:
    """What judges that recused themselves said, by case, judge, trial and rater; mostly there are none."""
    naming = Naming.read(reader)
    where, values = membership.condition(study)
    sql = f"SELECT {rows.VERDICT} FROM verdicts WHERE verdicts.fault = 'recused' AND {where}"
    stored = reader.execute(sql, values).fetchall()
    apart = reading.apart_of(reader, stored)
    recused = (naming.verdict(rows.verdict_of(row, apart)) for row in stored)
    return {
        (verdict.case, verdict.judge, verdict.trial, verdict.rater): verdict.text
        for verdict in recused
        if judges is None or verdict.judge in judges
    }


def _due(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Iterator[Due]:
    """Cases of a study of which a call failed and that have no verdict since, by judge, criterion and family."""
    sql = (
        "SELECT failed.name, cases.criterion, cases.ballot, cases.responses, count(*) FROM "
        "(SELECT DISTINCT name, key, trial FROM failures WHERE role = 'judge') AS failed "
        "JOIN cases ON cases.key = failed.key "
        "JOIN study_cases ON study_cases.case_key = failed.key AND study_cases.study = ? "
        "LEFT JOIN verdicts ON verdicts.case_key = failed.key AND verdicts.judge = failed.name "
        "AND verdicts.trial = failed.trial "
        "WHERE verdicts.case_key IS NULL GROUP BY failed.name, cases.criterion, cases.ballot, cases.responses"
    )
    names = Naming.read(reader).judges
    counts: dict[tuple[str, str, Any], int] = {}
    for stored, criterion, ballot, responses, count in reader.stream(sql, (study,)):
        judge = names.get(stored, stored)
        if judges is None or judge in judges:
            family = "score" if len(orjson.loads(responses)) == 1 else "ranking" if ballot == "ranking" else "pair"
            key = judge, criterion, family
            counts[key] = counts.get(key, 0) + count
    for (judge, criterion, family), count in counts.items():
        yield Due(study, judge, criterion, family, count)
