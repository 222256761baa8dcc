"""Number of verdicts with each flag by study and judge, so that no page counts a million rows.

The counts are JSON in the catalogue's state table, by the ids of study and judge. They are updated when flags change.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from sqlalchemy import Connection, func, select

from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state, set_state
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS

STATE = "flag counts"
Counts = dict[str, dict[str, dict[str, int]]]
Change = Mapping[tuple[int, int, str], int]
"""Change of the number of verdicts, by study id, judge id and flag."""


def ensure_counts(connection: Connection) -> None:
    """Count the flags of a catalogue that has no counts yet."""
    if get_state(connection, STATE) is None:
        change_counts(connection, {})


def change_counts(connection: Connection, changes: Change) -> None:
    """Apply changes of flags to the counts, in the transaction that changed the flags."""
    text = get_state(connection, STATE)
    counts = _count_flags(connection) if text is None else _apply_changes(orjson.loads(text), changes)
    set_state(connection, STATE, orjson.dumps(counts).decode())


def flag_total(connection: Connection, flag: str, study: int | None, judge: int | None) -> int | None:
    """Return the number of verdicts with a flag, or None if they were never counted."""
    text = get_state(connection, STATE)
    if text is None:
        return None
    counts: Counts = orjson.loads(text)
    studies = counts.values() if study is None else [counts.get(str(study), {})]
    judges = (
        judge_counts
        for by_judge in studies
        for id_, judge_counts in by_judge.items()
        if judge is None or id_ == str(judge)
    )
    return sum(judge_counts[flag] for judge_counts in judges)


def _count_flags(connection: Connection) -> Counts:
    """Only needed once per catalogue."""
    v = catalogue_tables.verdicts.c
    query = select(v.study_id, v.judge_id, *(func.sum(v[name]) for name in FLAGS)).group_by(v.study_id, v.judge_id)
    counts: Counts = {}
    for study, judge, *sums in connection.execute(query):
        counts.setdefault(str(study), {})[str(judge)] = dict(zip(FLAGS, map(int, sums), strict=True))
    return counts


def _apply_changes(counts: Counts, changes: Change) -> Counts:
    for (study, judge, flag), n in changes.items():
        judge_counts = counts.setdefault(str(study), {}).setdefault(str(judge), dict.fromkeys(FLAGS, 0))
        judge_counts[flag] += n
    return counts
