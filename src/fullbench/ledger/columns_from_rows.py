"""Columns from a ledger: narrow rows alone are read, no texts and no nouns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import orjson

from fullbench.columns.column_builder import KIND, ROW, Builder, Kind, verdict_rows
from fullbench.columns.columns_from_parquet import chunk_of, kind_of
from fullbench.columns.verdict_columns import STUDY, Columns, Due, Failed
from fullbench.core.call import Usage
from fullbench.core.verdict import PEOPLE, PILOT, Verdict
from fullbench.ledger import read_queries, row_conversion, study_members
from fullbench.ledger.aliases import PERSON, Naming
from fullbench.ledger.contents_and_cost import SPENT
from fullbench.ledger.database_interface import ByColumns, Connection
from fullbench.ledger.row_conversion import Row

Beside = Iterable[Verdict] | Mapping[str, Iterable[Verdict]]
"""Verdicts that stand beside those of the ledger, or such verdicts by study."""

_STORED = {name: f"verdicts.{'case_key' if name == 'case' else name}" for name in (*KIND, *ROW)}
_NARROW = tuple(name for name in (*KIND, *ROW) if name not in {"study", "kind", "reason"})
_MAPPED = (
    f"(substr(verdicts.judge, 1, {len(PERSON)}) = '{PERSON}' OR (verdicts.judge = '{PEOPLE}' AND verdicts.rater = '' "
    "AND verdicts.trial > 0) OR coalesce(verdicts.fault, '') = 'recused')"
)
"""Rows that need a second look even where all names are today's: spellings that people once had, and reasons, which
stand in another table. `_mapped` says the same of a kind."""


def columns(
    reader: Connection,
    judges: tuple[str, ...] | None,
    beside: Beside = (),
    studies: Sequence[str] | None = None,
    *,
    pilots: bool = False,
) -> Columns:
    """The verdicts of these judges (None: of all) in these studies (None: in each), and some that stand beside.

    A verdict that two studies share is a row in each. Beside them stands how many cases of each are due. Votes of
    pilots are left out unless `pilots` asks for them.
    """
    chosen = study_members.studies(reader) if studies is None else list(studies)
    builder = Builder(_kind, lambda marks: orjson.loads(marks) if isinstance(marks, str) else marks)
    for study, verdicts in _by_study(beside, chosen).items():
        builder.extend(verdict_rows(verdicts, study))
    due: list[Due] = []
    for study in chosen:
        plain = read_queries.as_stored(reader, study)
        if isinstance(reader, ByColumns) and plain:
            aside = _take_columns(reader, builder, judges, study, pilots=pilots)
        else:
            second_look = _mapped if pilots else _mapped_or_pilot
            aside = not plain or builder.extend_by(_plain(reader, judges, study), but=second_look)
        if aside:
            mapped = read_queries.narrow(reader, _names(_NARROW), judges, study, also=_MAPPED if plain else "")
            builder.extend(_rows(mapped, study, _recusals(reader, judges, study), pilots=pilots))
        due += _due(reader, judges, study)
    return replace(builder.finish(due), failed=tuple(failed_calls(reader, judges, chosen)))


def unruled(reader: Connection, judges: tuple[str, ...] | None, study: str) -> tuple[list[Due], list[Failed]]:
    """The cases of a study that are due, and what failed calls used in it."""
    return list(_due(reader, judges, study)), list(failed_calls(reader, judges, [study]))


def failed_calls(reader: Connection, judges: tuple[str, ...] | None, studies: Sequence[str]) -> Iterator[Failed]:
    """What calls used that brought no verdict, by study and judge."""
    names = Naming.read(reader).judges
    for study in studies:
        sql = (
            f"SELECT name, count(*), {SPENT} FROM failures WHERE role = 'judge' AND key IN "
            "(SELECT case_key FROM study_cases WHERE study = ?) GROUP BY name ORDER BY name"
        )
        used: dict[str, Failed] = {}
        for stored, count, *spent in reader.execute(sql, (study,)).fetchall():
            judge = names.get(stored, stored)
            before = used.get(judge, Failed(study, judge, 0, Usage()))
            if judges is None or judge in judges:
                used[judge] = Failed(study, judge, before.failures + count, before.usage + Usage(*spent))
        yield from used.values()


def _by_study(beside: Beside, chosen: Sequence[str]) -> Mapping[str, Iterable[Verdict]]:
    """What stands beside the verdicts, by study: those that name none belong to the only one there is."""
    if isinstance(beside, Mapping):
        return beside
    return {chosen[0] if len(chosen) == 1 else STUDY: beside}


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(_STORED[name].removeprefix("verdicts.") for name in names)


def _plain(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Iterator[Sequence[Row]]:
    """Rows as they are stored. What many share comes as one text: the database makes it faster than Python would."""
    named = _STORED | {"study": "CAST(? AS TEXT)"}
    named |= {"kind": f"CAST(json_array({', '.join(named[name] for name in KIND)}) AS TEXT)"}
    where, values = study_members.condition(study)
    by, names = Naming.read(reader).judge_condition(judges)
    clauses = " AND ".join(clause for clause in (by, where) if clause)
    sql = f"SELECT {', '.join(named[name] for name in ROW if name != 'reason')} FROM verdicts WHERE {clauses}"
    return reader.batches(sql, (study, *names, *values))


def _take_columns(
    reader: ByColumns, builder: Builder, judges: tuple[str, ...] | None, study: str, *, pilots: bool
) -> bool:
    """Rows as they are stored, by columns; whether some were left out that need a second look."""
    named = _STORED | {"study": "CAST(? AS VARCHAR)"}
    # Where there is one study, all verdicts are its own.
    where, values = ("", ()) if len(study_members.studies(reader)) == 1 else study_members.condition(study)
    by, names = Naming.read(reader).judge_condition(judges)
    names_of = [name for name in (*KIND, *ROW) if name not in {"kind", "reason"}]
    listed = ", ".join(f"{named[name]} AS {_quoted(name)}" for name in names_of)
    clauses = " AND ".join(clause for clause in (by, where) if clause)
    usual = f"NOT {_MAPPED}" if pilots else f"NOT {_MAPPED} AND substr(verdicts.rater, 1, {len(PILOT)}) <> '{PILOT}'"
    plain, mapped = (" AND ".join(filter(None, (clauses, kind))) for kind in (usual, _MAPPED))
    for batch in reader.record_batches(f"SELECT {listed} FROM verdicts WHERE {plain}", (study, *names, *values)):
        if batch.num_rows:
            builder.add(chunk_of({name: batch.column(name) for name in names_of}, batch.num_rows))
    return reader.execute(f"SELECT 1 FROM verdicts WHERE {mapped} LIMIT 1", (*names, *values)).fetchone() is not None


def _quoted(name: str) -> str:
    return f'"{name}"'  # `case` is a word of SQL


def _kind(kind: str | tuple[Any, ...]) -> Kind:
    if not isinstance(kind, str):
        return kind_of(kind) if isinstance(kind[KIND.index("contestants")], str) else cast("Kind", kind)
    # Not strict: a server's zero characters come back as they are, even within JSON.
    *texts, contestants, samples, trial, revision, calls, retries, read_by, blind = json.loads(kind, strict=False)
    study, judge, criterion, ballot, rater, fault = texts
    return (
        study, judge, criterion, ballot, rater, fault, orjson.loads(contestants), orjson.loads(samples),
        trial, revision, calls, retries, read_by, blind,
    )  # fmt: skip


def _mapped(kind: Kind) -> bool:
    """Whether rows of a kind need a second look."""
    _, judge, _, _, rater, fault, _, _, trial, *_ = kind
    return judge.startswith(PERSON) or (judge == PEOPLE and not rater and trial > 0) or fault == "recused"


def _mapped_or_pilot(kind: Kind) -> bool:
    """Whether rows of a kind need a second look, or are votes of a pilot."""
    return _mapped(kind) or kind[4].startswith(PILOT)


def _rows(
    stored: Iterable[Row], study: str, reasons: dict[tuple[Any, ...], str], *, pilots: bool
) -> Iterator[tuple[Any, ...]]:
    """Rows under today's names, with what stands elsewhere: the study, and why a judge recused itself."""
    for row in stored:
        value = dict(zip(_NARROW, row, strict=True))
        if value["rater"].startswith(PILOT) and not pilots:
            continue
        contestants, samples = (tuple(orjson.loads(value[name])) for name in ("contestants", "samples"))
        known = {"study": study, "contestants": contestants, "samples": samples if any(samples) else ()}
        reason = reasons.get((value["case"], value["judge"], value["trial"], value["rater"]), "")
        value |= known | {"kind": tuple((value | known)[name] for name in KIND), "reason": reason}
        yield tuple(value[name] for name in ROW)


def _recusals(reader: Connection, judges: tuple[str, ...] | None, study: str) -> dict[tuple[Any, ...], str]:
    """What judges that recused themselves said, by case, judge, trial and rater; mostly there are none."""
    naming = Naming.read(reader)
    where, values = study_members.condition(study)
    sql = f"SELECT {row_conversion.VERDICT} FROM verdicts WHERE verdicts.fault = 'recused' AND {where}"
    stored = reader.execute(sql, values).fetchall()
    apart = read_queries.apart_of(reader, stored)
    recused = (naming.verdict(row_conversion.verdict_of(row, apart)) for row in stored)
    return {
        (verdict.case, verdict.judge, verdict.trial, verdict.rater): verdict.text
        for verdict in recused
        if judges is None or verdict.judge in judges
    }


def _due(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Iterator[Due]:
    """Cases of a study of which a call failed and that have no verdict since, by judge, criterion and family."""
    sql = (
        "SELECT failed.name, cases.criterion, cases.ballot, cases.responses, count(*), "
        "CAST(sum(failed.lasting) AS BIGINT) FROM "
        "(SELECT name, key, trial, max(CASE WHEN kind = 'permanent' THEN 1 ELSE 0 END) AS lasting FROM failures "
        "WHERE role = 'judge' GROUP BY name, key, trial) AS failed "
        "JOIN cases ON cases.key = failed.key "
        "JOIN study_cases ON study_cases.case_key = failed.key AND study_cases.study = ? "
        "LEFT JOIN verdicts ON verdicts.case_key = failed.key AND verdicts.judge = failed.name "
        "AND verdicts.trial = failed.trial "
        "WHERE verdicts.case_key IS NULL GROUP BY failed.name, cases.criterion, cases.ballot, cases.responses"
    )
    names = Naming.read(reader).judges
    counts: dict[tuple[str, str, Any], tuple[int, int]] = {}
    for stored, criterion, ballot, responses, count, lasting in reader.stream(sql, (study,)):
        judge = names.get(stored, stored)
        if judges is None or judge in judges:
            family = "score" if len(orjson.loads(responses)) == 1 else "ranking" if ballot == "ranking" else "pair"
            key = judge, criterion, family
            before = counts.get(key, (0, 0))
            counts[key] = (before[0] + count, before[1] + lasting)
    for (judge, criterion, family), (count, lasting) in counts.items():
        yield Due(study, judge, criterion, family, count, lasting)
