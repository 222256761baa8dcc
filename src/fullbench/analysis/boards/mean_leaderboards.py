"""Leaderboards of means alone: no matches are made, so that what is held grows with verdicts and not with pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from fullbench.analysis.boards.leaderboard import Key, Settings, rank_text
from fullbench.analysis.boards.win_shares_and_mean_marks import means_of
from fullbench.analysis.people.joined_votes import beside_people, joined
from fullbench.analysis.scope_text import mean_heading
from fullbench.analysis.views.member_verdicts import waiting, waiting_note
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.rubric import LESS_IS_BETTER
from fullbench.core.table import Cell, Table
from fullbench.stats.ratings.rank_ranges import ranks_of_estimates


def tables(verdicts: Columns, settings: Settings | None = None) -> Iterator[Table]:
    """For every study, judge and criterion, the mean mark of each contestant on each ballot of single marks."""
    chosen = settings or Settings()
    columns = beside_people(verdicts, chosen.votes)
    studies = len(columns.names["study"])
    for (study, judge, criterion, family), part in columns.by("study", "judge", "criterion", "family"):
        if family == "score" and (part.fault < 0).any():
            key = Key(study, judge, criterion, cast("Family", family), chosen.rule, studies=studies)
            yield _table(part, key, chosen, others=_several_shown(columns, part))


def _several_shown(columns: Columns, part: Columns) -> int:
    """How many verdicts of the part's study, judge and criterion showed several responses."""
    same = columns.shown > 1
    for name in ("study", "judge", "criterion"):
        same &= getattr(columns, name) == getattr(part, name)[0]
    return int(same.sum())


def _table(part: Columns, key: Key, chosen: Settings, *, others: int) -> Table:
    joint = joined(part, chosen.votes, visible=chosen.visible)
    names = [part.names["contestant"][code] for code in np.unique(part.contestant)]
    means = means_of(joint.columns, names)
    ballots = sorted({ballot for of_one in means for ballot in of_one})
    counted = joint.columns
    less = key.criterion in LESS_IS_BETTER
    ruled = means_of(replace(counted, mark=-counted.mark), names) if less else means
    first = [of_one.get(ballots[0]) for of_one in ruled]
    ranks = ranks_of_estimates(first)
    order = sorted(range(len(names)), key=lambda who: _worth(first[who]))
    rows: list[list[Cell]] = [
        [rank_text(ranks.together[who]), names[who], *(means[who].get(ballot) for ballot in ballots)] for who in order
    ]
    pending = int(waiting(part).sum())
    faults = int((part.fault >= 0).sum()) - pending
    notes: list[str] = [*joint.notes]
    if faults:
        left_out = Note(
            "means.faults", "{faults:,} of {n:,} verdicts of this judge are faults and count nowhere here.",
            faults=faults, n=len(part),
        )  # fmt: skip
        notes.append(left_out)
    if pending:
        notes.append(waiting_note(pending, len(part)))
    if others:
        several = Note(
            "means.several-shown", "{n:,} verdicts of this judge showed several responses at once: they have no means.",
            n=others,
        )  # fmt: skip
        notes.append(several)
    notes.append(Note("means.no-matches", "Means alone: no matches were made of these marks, and so no ratings."))
    title = Note("means.title", "Means by {judge}{place}", judge=key.judge, place=key.on())
    columns = (*headings("rank", "contestant"), *(mean_heading(ballot) for ballot in ballots))
    return Table(f"means {key.judge}{key.on()}", title, columns, rows, notes)


def _worth(mean: Estimate | None) -> float:
    return np.inf if mean is None else -mean.value
