"""Membership of items and cases in studies.

A case that two studies share is stored once, and so are its verdicts. Within a study, an item id has one content. With
`supersede`, a later content becomes a revision, and verdicts on the earlier one are excluded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fullbench.ledger.database_interface import KEYS_PER_QUERY, Connection, chunks
from fullbench.ledger.row_conversion import Row

DEFAULT = "default"
"""Study of entries that were added without one."""


def study_names(reader: Connection) -> list[str]:
    """Return the names of all studies, in the order they were added."""
    return [study for (study,) in reader.execute("SELECT study FROM studies ORDER BY rowid")]


def study_condition(study: str | None) -> tuple[str, tuple[str, ...]]:
    """Return an SQL condition for the verdicts of a study, with its values; empty if `study` is None."""
    if study is None:
        return "", ()
    cases = "SELECT case_key FROM study_cases WHERE study = ?"
    return f"(verdicts.study = ? OR verdicts.case_key IN ({cases}))", (study, study)


def item_contents(reader: Connection, study: str, items: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return key and revision of the content of these item ids in a study."""
    return newest_contents(row for rows in reader.together(*content_queries(study, items)) for row in rows)


def content_queries(study: str, items: Iterable[str]) -> list[tuple[str, Sequence[Any]]]:
    """Return the queries for all contents of these item ids in a study."""
    sql = "SELECT item, item_key, revision FROM study_items WHERE study = ? AND item IN ({})"
    return [
        (sql.format(_sql_placeholders(chunk)), (study, *chunk))
        for chunk in chunks(dict.fromkeys(items), KEYS_PER_QUERY)
    ]


def newest_contents(rows: Iterable[Row]) -> dict[str, tuple[str, int]]:
    """Return key and revision of the latest content of each item."""
    latest: dict[str, tuple[str, int]] = {}
    for item, key, revision in rows:
        if revision >= latest.get(item, ("", -1))[1]:
            latest[item] = (key, revision)
    return latest


def superseded_cases(reader: Connection, study: str) -> set[str]:
    """Return the cases of a study on contents that a later revision replaced."""
    if (
        reader.execute("SELECT 1 FROM study_items WHERE study = ? AND revision > 0 LIMIT 1", (study,)).fetchone()
        is None
    ):
        return set()
    newer = "FROM study_items AS newer WHERE newer.study = study_items.study AND newer.revision > study_items.revision"
    sql = (
        "SELECT cases.key FROM cases JOIN study_items ON study_items.item_key = cases.item_key "
        f"WHERE study_items.study = ? AND EXISTS (SELECT 1 {newer} AND newer.item = study_items.item) "
        f"AND NOT EXISTS (SELECT 1 {newer} AND newer.item_key = study_items.item_key)"
    )
    return {key for (key,) in reader.execute(sql, (study,))}


def cases_outside_study(reader: Connection, study: str, keys: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield those of these cases that are not members of a study, with their item's key and id."""
    for chunk in chunks(keys, KEYS_PER_QUERY):
        marks = _sql_placeholders(chunk)
        sql = (
            "SELECT DISTINCT cases.key, cases.item_key, items.item FROM cases JOIN items ON items.key = cases.item_key "
            f"WHERE cases.key IN ({marks}) AND cases.key NOT IN (SELECT case_key FROM study_cases WHERE study = ? "
            f"AND case_key IN ({marks}))"
        )
        yield from reader.execute(sql, (*chunk, study, *chunk)).fetchall()


def _sql_placeholders(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
