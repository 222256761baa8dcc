"""How many verdicts of each study and judge have each flag, kept up as flags are set: no page has to count a million.

It lies in the catalogue's state as JSON, by the numbers of study and judge.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from sqlalchemy import Connection, func, select

from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.row_helpers import get_state, set_state
from fullbench.web.results.catalogue.verdict_flags import FLAGS

STATE = "flag counts"
Counts = dict[str, dict[str, dict[str, int]]]
Change = Mapping[tuple[int, int, str], int]
"""By the numbers of study and judge and the flag, how many more verdicts have it, or fewer."""


def begin(connection: Connection) -> None:
    """Count what a catalogue holds that has no counts yet."""
    if get_state(connection, STATE) is None:
        change(connection, {})


def change(connection: Connection, more: Change) -> None:
    """Note that flags changed, in the transaction that changed them."""
    text = get_state(connection, STATE)
    counts = _counted(connection) if text is None else _changed(orjson.loads(text), more)
    set_state(connection, STATE, orjson.dumps(counts).decode())


def total(connection: Connection, flag: str, study: int | None, judge: int | None) -> int | None:
    """How many verdicts have a flag, of one study and judge or of all; None where this was never counted."""
    text = get_state(connection, STATE)
    if text is None:
        return None
    counts: Counts = orjson.loads(text)
    studies = counts.values() if study is None else [counts.get(str(study), {})]
    judges = (some for by_judge in studies for id_, some in by_judge.items() if judge is None or id_ == str(judge))
    return sum(some[flag] for some in judges)


def _counted(connection: Connection) -> Counts:
    """Counted from the verdicts: once, for a catalogue that has no counts yet."""
    v = catalogue_tables.verdicts.c
    asked = select(v.study_id, v.judge_id, *(func.sum(v[name]) for name in FLAGS)).group_by(v.study_id, v.judge_id)
    counts: Counts = {}
    for study, judge, *sums in connection.execute(asked):
        counts.setdefault(str(study), {})[str(judge)] = dict(zip(FLAGS, map(int, sums), strict=True))
    return counts


def _changed(counts: Counts, more: Change) -> Counts:
    for (study, judge, flag), n in more.items():
        some = counts.setdefault(str(study), {}).setdefault(str(judge), dict.fromkeys(FLAGS, 0))
        some[flag] += n
    return counts
