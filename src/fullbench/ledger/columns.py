"""Columns from a ledger: narrow rows alone are read, no texts and no nouns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from fullbench.columns.builder import ROW, Builder, verdict_rows
from fullbench.columns.table import Columns, Due
from fullbench.ledger import membership, reading, rows
from fullbench.ledger.database import Connection
from fullbench.ledger.naming import Naming
from fullbench.ledger.rows import Row
from fullbench.nouns.verdict import Verdict

_STORED = tuple("case_key" if name == "case" else name for name in ROW if name not in {"study", "reason"})
_REASON = ROW.index("reason")


def columns(
    reader: Connection,
    judges: tuple[str, ...] | None,
    beside: Iterable[Verdict] = (),
    studies: Sequence[str] | None = None,
) -> Columns:
    """The verdicts of these judges (None: of all) in these studies (None: in each), and some that stand beside.

    A verdict that two studies share is a row in each. Beside them stands how many cases of each are due.
    """
    chosen = membership.studies(reader) if studies is None else list(studies)
    builder = Builder(lambda value: orjson.loads(value) if isinstance(value, str) else value)
    builder.extend(verdict_rows(beside, chosen[0]) if len(chosen) == 1 else verdict_rows(beside))
    due: list[Due] = []
    for study in chosen:
        reasons = _recusals(reader, judges, study)
        builder.extend(_rows(reading.narrow(reader, _STORED, judges, study), study, reasons))
        due += _due(reader, judges, study)
    return builder.finish(due)


def _rows(stored: Iterable[Row], study: str, reasons: dict[tuple[Any, ...], str]) -> Iterator[tuple[Any, ...]]:
    """Stored rows with the two parts that stand elsewhere: the study, and why a judge recused itself."""
    place = {name: number for number, name in enumerate(_STORED)}
    case, judge, trial, rater = (place[name] for name in ("case_key", "judge", "trial", "rater"))
    for row in stored:
        reason = reasons.get((row[case], row[judge], row[trial], row[rater]), "") if reasons else ""
        yield (study, *row[: _REASON - 1], reason, *row[_REASON - 1 :])


def _recusals(reader: Connection, judges: tuple[str, ...] | None, study: str) -> dict[tuple[Any, ...], str]:
    """What judges that recused themselves said, by case, judge, trial and rater; mostly there are none."""
    naming = Naming.read(reader)
    where, values = membership.condition(study)
    sql = (
        f"SELECT {rows.verdict_columns(texts=True)} FROM {rows.VERDICTS_WITH_TEXTS} "
        f"WHERE verdicts.fault = 'recused' AND {where}"
    )
    recused = (naming.verdict(rows.verdict_of(row)) for row in reader.stream(sql, values))
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
