"""Verdict columns of a ledger, read from narrow rows without texts or full objects."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import Any, cast

import numpy as np
import orjson

from fullbench.columns.column_builder import KIND, ROW, Builder, Kind, verdict_rows
from fullbench.columns.columns_from_parquet import chunk_from_arrow, parse_kind
from fullbench.columns.verdict_columns import STUDY, Columns, Due, FailedCalls
from fullbench.core.model_call import Usage
from fullbench.core.verdict import PEOPLE, PILOT, Verdict
from fullbench.core.verdict_record import digest_of_parts, verdict_digest
from fullbench.ledger import read_queries, study_membership_of_items_and_cases
from fullbench.ledger.contents_and_cost import USAGE_SUMS
from fullbench.ledger.database_interface import ByColumns, Connection
from fullbench.ledger.name_aliases import PERSON, Naming
from fullbench.ledger.row_conversion import Row

ExtraVerdicts = Iterable[Verdict] | Mapping[str, Iterable[Verdict]]
"""Verdicts in addition to those of the ledger, optionally by study."""

_SQL_COLUMNS = {name: f"verdicts.{'case_key' if name == 'case' else name}" for name in (*KIND, *ROW)}
_NARROW_COLUMNS = (
    *(_SQL_COLUMNS[name].removeprefix("verdicts.") for name in (*KIND[1:], *ROW[1:-1])), "exchanges", "words", "text"
)  # fmt: skip
_FAULT = _NARROW_COLUMNS.index("fault")
_WIDTH = 32  # hexadecimal digits of a 16-byte digest
# Texts of so many digests are made at once; for a million they would take a hundred megabytes.
_BLOCK = 1 << 14
_CONVERSION_CONDITION = (
    f"(substr(verdicts.judge, 1, {len(PERSON)}) = '{PERSON}' OR (verdicts.judge = '{PEOPLE}' AND verdicts.rater = '' "
    "AND verdicts.trial > 0) OR coalesce(verdicts.fault, '') = 'abstained')"
)
"""Rows that need conversion even without aliases: older spellings of raters, and abstentions, whose reasons are in
another table. `_needs_conversion` is the same condition for a kind."""


def load_columns(
    reader: Connection,
    judges: tuple[str, ...] | None,
    extra_verdicts: ExtraVerdicts = (),
    studies: Sequence[str] | None = None,
    *,
    pilots: bool = False,
) -> Columns:
    """Return the verdicts of these judges and studies as columns, plus `extra_verdicts`; None means all.

    A verdict that two studies share is a row in each. The columns also count the due cases and the failed calls.
    Votes from pilots are left out unless `pilots` is true.
    """
    chosen_studies = study_membership_of_items_and_cases.study_names(reader) if studies is None else list(studies)
    builder = Builder(_parse_kind, lambda marks: orjson.loads(marks) if isinstance(marks, str) else marks)
    for study, verdicts in _group_by_study(extra_verdicts, chosen_studies).items():
        builder.extend(verdict_rows(verdicts, study))
    due: list[Due] = []
    for study in chosen_studies:
        plain = read_queries.has_only_current_rows(reader, study)
        if isinstance(reader, ByColumns) and plain:
            needs_conversion = _take_columns(reader, builder, judges, study, pilots=pilots)
        else:
            second_look = _needs_conversion if pilots else _needs_conversion_or_is_pilot
            needs_conversion = not plain or builder.extend_by(
                _stream_stored_rows(reader, judges, study), but=second_look
            )
        if needs_conversion:
            narrow_rows = read_queries.stream_narrow_rows(
                reader, _NARROW_COLUMNS, judges, study, also=_CONVERSION_CONDITION if plain else ""
            )
            builder.extend(_convert_rows(reader, narrow_rows, study, pilots=pilots))
        due += _due_cases(reader, judges, study)
    return replace(builder.finish(due), failed_calls=tuple(failed_calls(reader, judges, chosen_studies)))


def load_case_columns(
    reader: Connection, judges: Sequence[str], case_batches: Iterable[Sequence[str]], labels: Sequence[Verdict]
) -> tuple[Columns, str]:
    """Return the verdicts of these judges on these cases, and the same digest as `Record.digest`.

    `labels` are added; they replace the same votes in the ledger.
    """
    builder = Builder(parse=lambda marks: orjson.loads(marks) if isinstance(marks, str) else marks)
    builder.extend(verdict_rows(labels))
    digests = bytearray().join(bytes.fromhex(verdict_digest(label)) for label in labels)
    labelled_votes = {(label.case, label.judge, label.trial, label.rater) for label in labels}
    for cases in case_batches:
        rows = read_queries.stream_narrow_rows(reader, _NARROW_COLUMNS, judges, cases=cases)
        builder.extend(_convert_rows(reader, rows, STUDY, pilots=True, excluded_votes=labelled_votes, digests=digests))
    return builder.finish(), _combined_digest(digests)


def _combined_digest(digests: bytearray) -> str:
    """Return what `json_digests_and_cached_properties.digest` gives for the sorted list, without building the list."""
    # Sort in place and hash in blocks, because there is one digest per verdict.
    sorted_digests = np.frombuffer(digests, dtype="S16")
    sorted_digests.sort()
    hasher = blake2b(b"[", digest_size=16)
    for start in range(0, len(sorted_digests), _BLOCK):
        block = sorted_digests[start : start + _BLOCK].tobytes().hex()
        names = (block[place : place + _WIDTH] for place in range(0, len(block), _WIDTH))
        hasher.update(("," if start else "").encode() + ",".join(f'"{name}"' for name in names).encode())
    hasher.update(b"]")
    return hasher.hexdigest()


def due_cases_and_failed_calls(
    reader: Connection, judges: tuple[str, ...] | None, study: str
) -> tuple[list[Due], list[FailedCalls]]:
    """Return the due cases of a study and the usage of its failed calls."""
    return list(_due_cases(reader, judges, study)), list(failed_calls(reader, judges, [study]))


def failed_calls(reader: Connection, judges: tuple[str, ...] | None, studies: Sequence[str]) -> Iterator[FailedCalls]:
    """Yield the usage of calls that returned no verdict, by study and judge."""
    names = Naming.read(reader).judges
    for study in studies:
        sql = (
            f"SELECT name, count(*), {USAGE_SUMS} FROM failures WHERE role = 'judge' AND key IN "
            "(SELECT case_key FROM study_cases WHERE study = ?) GROUP BY name ORDER BY name"
        )
        failures_by_judge: dict[str, FailedCalls] = {}
        for stored_name, count, *usage_values in reader.execute(sql, (study,)).fetchall():
            judge = names.get(stored_name, stored_name)
            before = failures_by_judge.get(judge, FailedCalls(study, judge, 0, Usage()))
            if judges is None or judge in judges:
                failures_by_judge[judge] = FailedCalls(
                    study, judge, before.failures + count, before.usage + Usage(*usage_values)
                )
        yield from failures_by_judge.values()


def _group_by_study(extra_verdicts: ExtraVerdicts, chosen_studies: Sequence[str]) -> Mapping[str, Iterable[Verdict]]:
    """Verdicts without a study belong to the only chosen one."""
    if isinstance(extra_verdicts, Mapping):
        return extra_verdicts
    return {chosen_studies[0] if len(chosen_studies) == 1 else STUDY: extra_verdicts}


def _stream_stored_rows(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Iterator[Sequence[Row]]:
    """Stream stored rows; the database joins the columns of a kind to one JSON text, faster than Python."""
    column_sql = _SQL_COLUMNS | {"study": "CAST(? AS TEXT)"}
    column_sql |= {"kind": f"CAST(json_array({', '.join(column_sql[name] for name in KIND)}) AS TEXT)"}
    where, values = study_membership_of_items_and_cases.study_condition(study)
    by, names = Naming.read(reader).judge_condition(judges)
    clauses = " AND ".join(clause for clause in (by, where) if clause)
    sql = f"SELECT {', '.join(column_sql[name] for name in ROW if name != 'reason')} FROM verdicts WHERE {clauses}"
    return reader.batches(sql, (study, *names, *values))


def _take_columns(
    reader: ByColumns, builder: Builder, judges: tuple[str, ...] | None, study: str, *, pilots: bool
) -> bool:
    """Return True if rows that need conversion were skipped."""
    column_sql = _SQL_COLUMNS | {"study": "CAST(? AS VARCHAR)"}
    # A single study owns all verdicts, so no condition is needed.
    where, values = (
        ("", ())
        if len(study_membership_of_items_and_cases.study_names(reader)) == 1
        else study_membership_of_items_and_cases.study_condition(study)
    )
    by, names = Naming.read(reader).judge_condition(judges)
    names_of = [name for name in (*KIND, *ROW) if name not in {"kind", "reason"}]
    select_list = ", ".join(f"{column_sql[name]} AS {_quote_name(name)}" for name in names_of)
    clauses = " AND ".join(clause for clause in (by, where) if clause)
    usual = (
        f"NOT {_CONVERSION_CONDITION}"
        if pilots
        else f"NOT {_CONVERSION_CONDITION} AND substr(verdicts.rater, 1, {len(PILOT)}) <> '{PILOT}'"
    )
    plain_condition, conversion_condition = (
        " AND ".join(filter(None, (clauses, kind))) for kind in (usual, _CONVERSION_CONDITION)
    )
    for batch in reader.record_batches(
        f"SELECT {select_list} FROM verdicts WHERE {plain_condition}", (study, *names, *values)
    ):
        if batch.num_rows:
            builder.add(chunk_from_arrow({name: batch.column(name) for name in names_of}, batch.num_rows))
    return (
        reader.execute(f"SELECT 1 FROM verdicts WHERE {conversion_condition} LIMIT 1", (*names, *values)).fetchone()
        is not None
    )


def _quote_name(name: str) -> str:
    return f'"{name}"'  # `case` is an SQL keyword


def _parse_kind(kind: str | tuple[Any, ...]) -> Kind:
    if not isinstance(kind, str):
        return parse_kind(kind) if isinstance(kind[KIND.index("contestants")], str) else cast("Kind", kind)
    # Not strict: PostgreSQL returns NUL characters unescaped, even within JSON.
    *texts, contestants, samples, trial, revision, calls, retries, read_by, blind = json.loads(kind, strict=False)
    study, judge, criterion, ballot, rater, fault = texts
    return (
        study, judge, criterion, ballot, rater, fault, orjson.loads(contestants), orjson.loads(samples),
        trial, revision, calls, retries, read_by, blind,
    )  # fmt: skip


def _needs_conversion(kind: Kind) -> bool:
    _, judge, _, _, rater, fault, _, _, trial, *_ = kind
    return judge.startswith(PERSON) or (judge == PEOPLE and not rater and trial > 0) or fault == "abstained"


def _needs_conversion_or_is_pilot(kind: Kind) -> bool:
    return _needs_conversion(kind) or kind[4].startswith(PILOT)


def _convert_rows(
    reader: Connection,
    stored_rows: Iterator[Row],
    study: str,
    *,
    pilots: bool,
    excluded_votes: Collection[tuple[str, str, int, str]] = (),
    digests: bytearray | None = None,
) -> Iterator[tuple[Any, ...]]:
    """Yield rows for a builder; with `digests`, append the digest of each. Only digests and abstentions need texts."""
    parts = len(KIND) - 1
    while batch := list(islice(stored_rows, read_queries.CHUNK)):
        references = [row[-3:] for row in batch if digests is not None or row[_FAULT] == "abstained"]
        texts = iter(read_queries.load_texts(reader, references))
        for row in batch:
            judge, criterion, ballot, rater, fault, contestants, samples, trial, revision, *counts = row[:parts]
            item, case, marks, *amounts = row[parts:-3]
            text = next(texts) if digests is not None or fault == "abstained" else ""
            if (rater.startswith(PILOT) and not pilots) or (case, judge, trial, rater) in excluded_votes:
                continue
            names, numbers = tuple(orjson.loads(contestants)), tuple(orjson.loads(samples))
            if digests is not None:
                subject = (case, judge, item, names, ballot, criterion, trial)
                outcome = (None if marks is None else orjson.loads(marks), fault, text)
                digests += bytes.fromhex(digest_of_parts(subject, outcome, (rater, revision, numbers)))
            kind = (study, judge, criterion, ballot, rater, fault, names, numbers if any(numbers) else ())
            yield ((*kind, trial, revision, *counts), item, case, marks, *amounts, text if fault == "abstained" else "")


def _due_cases(reader: Connection, judges: tuple[str, ...] | None, study: str) -> Iterator[Due]:
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
    for stored_name, criterion, ballot, responses, count, lasting in reader.stream(sql, (study,)):
        judge = names.get(stored_name, stored_name)
        if judges is None or judge in judges:
            family = "score" if len(orjson.loads(responses)) == 1 else "ranking" if ballot == "ranking" else "pair"
            key = judge, criterion, family
            before = counts.get(key, (0, 0))
            counts[key] = (before[0] + count, before[1] + lasting)
    for (judge, criterion, family), (count, lasting) in counts.items():
        yield Due(study, judge, criterion, family, count, lasting)
