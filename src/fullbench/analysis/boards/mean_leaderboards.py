"""Leaderboards of mean marks without matches, so that memory grows with verdicts and not with pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from fullbench.analysis.boards.leaderboard import Key, Settings, rank_text
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import unusable_counts, unusable_notes
from fullbench.analysis.boards.win_shares_and_mean_marks import compute_mean_marks
from fullbench.analysis.people.joined_votes import board_columns, join_column_votes
from fullbench.analysis.scope_suffixes_of_table_titles import mean_heading
from fullbench.analysis.views.view_verdict_helpers import waiting_mask, waiting_note
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import is_less_better
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.ratings.rank_ranges import rank_ranges_of_estimates


def mean_tables(verdicts: Columns, settings: Settings | None = None) -> Iterator[Table]:
    """Yield per study, judge and criterion the mean mark of each contestant on each single-mark ballot."""
    active_settings = settings or Settings()
    columns = board_columns(verdicts, active_settings.votes)
    studies = len(columns.names["study"])
    for (study, judge, criterion, family), part in columns.by("study", "judge", "criterion", "family"):
        if family == "score" and (part.fault < 0).any():
            key = Key(study, judge, criterion, cast("Family", family), active_settings.rule, studies=studies)
            yield _mean_table(part, key, active_settings, multi_response_count=_several_shown(columns, part))


def _several_shown(columns: Columns, part: Columns) -> int:
    same = columns.response_counts > 1
    for name in ("study", "judge", "criterion"):
        same &= getattr(columns, name) == getattr(part, name)[0]
    return int(same.sum())


def _mean_table(part: Columns, key: Key, settings: Settings, *, multi_response_count: int) -> Table:
    joint = join_column_votes(part, settings.votes, visible=settings.visible)
    names = [part.names["contestant"][code] for code in np.unique(part.contestant)]
    means = compute_mean_marks(joint.columns, names)
    ballots = sorted({ballot for of_one in means for ballot in of_one})
    counted_verdicts = joint.columns
    less = is_less_better(key.criterion, ballots)  # ranks assume that more is better, so such marks change sign
    ranking_means = compute_mean_marks(replace(counted_verdicts, mark=-counted_verdicts.mark), names) if less else means
    first = [of_one.get(ballots[0]) for of_one in ranking_means]
    ranks = rank_ranges_of_estimates(first)
    order = sorted(range(len(names)), key=lambda who: _sort_key(first[who]))
    counts = unusable_counts(part)
    rows: list[list[Cell]] = [
        [
            rank_text(ranks.together[who]),
            names[who],
            *(means[who].get(ballot) for ballot in ballots),
            *([counts.get(names[who], 0)] if counts else []),
        ]
        for who in order
    ]
    pending = int(waiting_mask(part).sum())
    faults = int((part.fault >= 0).sum()) - pending
    notes: list[str] = [*joint.notes]
    if faults:
        left_out = Note("means.unusable", faults=faults, n=len(part))
        notes.append(left_out)
    notes += unusable_notes(part, {}, dict(zip(names, means, strict=True)))
    if pending:
        notes.append(waiting_note(pending, len(part)))
    if multi_response_count:
        several = Note("means.several-shown", n=multi_response_count)
        notes.append(several)
    notes.append(Note("means.no-matches"))
    title = Note("means.title", judge=key.judge, place=key.scope_suffix())
    columns = (
        *table_columns("rank", "contestant"),
        *(mean_heading(ballot) for ballot in ballots),
        *table_columns(*(["unusable"] if counts else [])),
    )
    return Table(f"means {key.judge}{key.scope_suffix()}", title, columns, rows, notes)


def _sort_key(mean: Estimate | None) -> float:
    return np.inf if mean is None else -mean.value
