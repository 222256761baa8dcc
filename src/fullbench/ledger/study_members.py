"""Which study holds what: items and cases are members of studies, and never the other way round.

A case that two studies share is stored once, and so are its verdicts. Within a study an item id stands for one
content; a later content that was let in on purpose (`supersede`) is a revision, and what was ruled on the earlier one
is set aside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row

DEFAULT = "default"
"""The study of what was added without one."""

CHUNK = 500


def studies(reader: Connection) -> list[str]:
    """The names of all studies, in the order in which they came."""
    return [study for (study,) in reader.execute("SELECT study FROM studies ORDER BY rowid")]


def condition(study: str | None) -> tuple[str, tuple[str, ...]]:
    """SQL that is true of the verdicts of a study, with its values; of all verdicts where none is named."""
    if study is None:
        return "", ()
    cases = "SELECT case_key FROM study_cases WHERE study = ?"
    return f"(verdicts.study = ? OR verdicts.case_key IN ({cases}))", (study, study)


def contents(reader: Connection, study: str, items: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The key and the revision of what these item ids stand for in a study."""
    return newest(row for rows in reader.together(*asking_contents(study, items)) for row in rows)


def asking_contents(study: str, items: Iterable[str]) -> list[tuple[str, Sequence[Any]]]:
    """The queries for what these item ids stood for in a study."""
    wanted = iter(dict.fromkeys(items))
    queries: list[tuple[str, Sequence[Any]]] = []
    while chunk := list(islice(wanted, CHUNK)):
        sql = f"SELECT item, item_key, revision FROM study_items WHERE study = ? AND item IN ({_marks(chunk)})"
        queries.append((sql, (study, *chunk)))
    return queries


def newest(rows: Iterable[Row]) -> dict[str, tuple[str, int]]:
    """The key and the revision of the latest content of each item."""
    latest: dict[str, tuple[str, int]] = {}
    for item, key, revision in rows:
        if revision >= latest.get(item, ("", -1))[1]:
            latest[item] = (key, revision)
    return latest


def superseded(reader: Connection, study: str) -> set[str]:
    """The cases of a study on contents that a later revision took the place of."""
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


def strangers(reader: Connection, study: str, keys: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Those of these cases that are no members of a study yet, each with its item's key and id."""
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        marks = _marks(chunk)
        sql = (
            "SELECT DISTINCT cases.key, cases.item_key, items.item FROM cases JOIN items ON items.key = cases.item_key "
            f"WHERE cases.key IN ({marks}) AND cases.key NOT IN (SELECT case_key FROM study_cases WHERE study = ? "
            f"AND case_key IN ({marks}))"
        )
        yield from reader.execute(sql, (*chunk, study, *chunk)).fetchall()


def since(reader: Connection, place: int, limit: int) -> list[tuple[int, str, str]]:
    """Members after a place in the order of entry: place, study and case."""
    sql = "SELECT rowid, study, case_key FROM study_cases WHERE rowid > ? ORDER BY rowid LIMIT ?"
    return [(row[0], row[1], row[2]) for row in reader.execute(sql, (place, limit))]


def of_verdicts(reader: Connection, places: Sequence[int]) -> dict[int, list[str]]:
    """The studies of the verdicts at these places: the one each was added to, and all that its case is a member of."""
    every = studies(reader)
    found: dict[int, list[str]] = {}
    for start in range(0, len(places), CHUNK):
        chunk = places[start : start + CHUNK]
        sql = f"SELECT rowid, case_key, study FROM verdicts WHERE rowid IN ({_marks(chunk)})"
        rows = reader.execute(sql, chunk).fetchall()
        keys = list({case for _, case, _ in rows})
        # The index has the study first: asked for the case alone, SQLite reads every member of every study.
        sql = (
            f"SELECT case_key, study FROM study_cases WHERE study IN ({_marks(every)}) AND case_key IN ({_marks(keys)})"
        )
        members: dict[str, list[str]] = {}
        for case, study in reader.execute(sql, (*every, *keys)):
            members.setdefault(case, []).append(study)
        found.update((number, sorted({own, *members.get(case, ())})) for number, case, own in rows)
    return found


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
