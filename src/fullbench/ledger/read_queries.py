"""SELECT queries on a given ledger connection that several readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import orjson

from fullbench.core.model_call import Call
from fullbench.core.verdict import PEOPLE
from fullbench.ledger import row_conversion, schema, study_membership_of_items_and_cases
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.name_aliases import Naming, normalize_voter
from fullbench.ledger.row_conversion import Row

Names = str | Sequence[str] | None
# Below the 999 values that a statement of an older SQLite may have.
CHUNK = 500
_VOTE = ("case_key", "revision", "judge", "trial", "rater", "contestants", "samples")
"""Columns that determine a row's current names, and whether it is the newest revision."""
_EXCHANGES, _WORDS = map(schema.table_columns("verdicts").index, ("exchanges", "words"))


def has_only_current_rows(reader: Connection, study: str | None = None) -> bool:
    """True if a study has no aliases and no revised or superseded verdicts; names of people are not checked."""
    naming = Naming.read(reader)
    has_superseded = study is not None and bool(study_membership_of_items_and_cases.superseded_cases(reader, study))
    return naming.is_empty and not has_superseded and not newest_revisions(reader, naming)


def stream_narrow_rows(
    reader: Connection,
    columns: Sequence[str],
    judge: Names = None,
    study: str | None = None,
    *,
    cases: Iterable[str] | None = None,
    also: str = "",
) -> Iterator[Row]:
    """Stream some columns of verdicts in the order of entry: current names, newest revisions only.

    `also` is an additional SQL condition. With `cases`, verdicts come in groups of 500 cases.
    """
    naming = Naming.read(reader)
    newest = newest_revisions(reader, naming)
    superseded_cases = set() if study is None else study_membership_of_items_and_cases.superseded_cases(reader, study)
    column_names = (*columns, *_VOTE)
    select_list = ", ".join(f"verdicts.{name}" for name in column_names)
    width, judge_index = len(columns), len(columns) + _VOTE.index("judge")
    is_current = naming.is_empty and not newest and not superseded_cases
    conditions = [
        naming.judge_condition(names_of(judge)),
        study_membership_of_items_and_cases.study_condition(study),
        (also, ()),
    ]
    for condition, values in where_clauses(conditions, "verdicts.case_key", cases):
        for row in reader.stream(f"SELECT {select_list} FROM verdicts{condition} ORDER BY verdicts.rowid", values):
            if is_current and not row[judge_index].startswith(PEOPLE):
                yield row[:width]
                continue
            case, revision, who, trial, rater, contestants, samples = row[width:]
            current_vote = naming.rename_vote((who, trial, rater, contestants, samples))
            if case in superseded_cases or revision < newest.get((case, *current_vote[:3]), 0):
                continue
            values_of = dict(zip(column_names, row, strict=True)) | dict(zip(_VOTE[2:], current_vote, strict=True))
            yield tuple(values_of[name] for name in columns)


def newest_revisions(reader: Connection, naming: Naming) -> dict[tuple[str, str, int, str], int]:
    """Return the newest revision number of each vote or parsed reply that was revised."""
    sql = "SELECT case_key, judge, trial, rater, max(revision) FROM verdicts WHERE revision > 0 GROUP BY 1, 2, 3, 4"
    newest: dict[tuple[str, str, int, str], int] = {}
    for case, judge, trial, rater, revision in reader.execute(sql):
        who, when, person = normalize_voter(judge, trial, rater)
        newest[case, naming.judges.get(who, who), when, person] = revision
    return newest


def load_verdict_texts(reader: Connection, verdict_rows: Sequence[Row]) -> row_conversion.VerdictTexts:
    """Load the exchanges and texts that these verdict rows refer to; each row has all columns."""
    calls = {row[0]: row_conversion.call_of(row) for row in _call_rows(reader, row_conversion.CALL, verdict_rows)}
    return row_conversion.VerdictTexts(calls, _load_separate_texts(reader, (row[_WORDS] for row in verdict_rows)))


def load_reply_texts(reader: Connection, verdict_rows: Sequence[Row]) -> row_conversion.VerdictTexts:
    """Load what `load_verdict_texts` does, but of each exchange only its reply: enough for a verdict's checksum."""
    calls = {name: Call(name, text) for name, text in _call_rows(reader, "id, text", verdict_rows)}
    return row_conversion.VerdictTexts(calls, _load_separate_texts(reader, (row[_WORDS] for row in verdict_rows)))


def _call_rows(reader: Connection, columns: str, verdict_rows: Sequence[Row]) -> Iterator[Row]:
    call_ids = [name for row in verdict_rows if row[_EXCHANGES] != "[]" for name in orjson.loads(row[_EXCHANGES])]
    return rows_with_keys(reader, columns, "calls", call_ids, "id") if call_ids else iter(())


def _load_separate_texts(reader: Connection, references: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the texts that differ from the replies, each with the earlier replies, by the row's `words`."""
    text_places = {words: words.rpartition(".") for words in references if words}
    text_ids = {name for name, _, _ in text_places.values()}
    bodies = {name: orjson.loads(body) for name, body in rows_with_keys(reader, "id, body", "texts", text_ids, "id")}
    texts: dict[str, tuple[str, tuple[str, ...]]] = {}
    for words, (name, _, place) in text_places.items():
        if name in bodies:
            text, earlier = bodies[name][int(place)]
            texts[words] = (text, tuple(earlier))
    return texts


def load_texts(reader: Connection, references: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the text of each verdict from its columns `exchanges`, `words` and `text`."""
    call_ids = [orjson.loads(exchanges) if exchanges != "[]" else () for exchanges, _, _ in references]
    replies: dict[str, str] = dict(rows_with_keys(reader, "id, text", "calls", chain.from_iterable(call_ids), "id"))
    texts = _load_separate_texts(reader, (words for _, words, _ in references))
    return [
        texts.get(words, ("", ()))[0]
        if words
        else next((replies[name] for name in reversed(ids) if name in replies), text)
        for ids, (_, words, text) in zip(call_ids, references, strict=True)
    ]


def current_item_keys(reader: Connection, study: str) -> dict[str, str]:
    """Return the key of the newest revision of each item id in a study."""
    sql = "SELECT item, item_key FROM study_items WHERE study = ? ORDER BY revision"
    return dict(reader.stream(sql, (study,)))


def rows_with_keys(
    reader: Connection, columns: str, table: str, keys: Iterable[str], key: str = "key"
) -> Iterator[Row]:
    """Stream the rows of a table with these keys, in the order of entry within each chunk of keys."""
    for condition, values in where_clauses([], key, keys):
        yield from reader.stream(f"SELECT {columns} FROM {table}{condition} ORDER BY rowid", values)


def in_condition(column: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return an SQL condition that a column has one of these values, with the values."""
    return (f"{column} IN ({', '.join('?' * len(values))})" if values else "1 = 0"), values


def names_of(names: Names) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def where_clauses(
    conditions: Sequence[tuple[str, Sequence[Any]]], key_column: str, keys: Iterable[str] | None
) -> Iterator[tuple[str, Row]]:
    """Yield WHERE clauses with their values: one, or one for each chunk of keys."""
    clauses = [clause for clause, _ in conditions if clause]
    values = tuple(value for clause, condition_values in conditions if clause for value in condition_values)
    if keys is None:
        yield (" WHERE " + " AND ".join(clauses) if clauses else ""), values
        return
    left = iter(dict.fromkeys(keys))
    while chunk := tuple(islice(left, CHUNK)):
        both = [*clauses, f"{key_column} IN ({', '.join('?' * len(chunk))})"]
        yield " WHERE " + " AND ".join(both), (*values, *chunk)
