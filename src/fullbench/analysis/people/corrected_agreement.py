"""Agreement of judges with people on everything they judged, estimated from people's votes on a part of it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fullbench.analysis.people.paired_verdicts_and_votes import (
    ballot_families,
    has_verdicts,
    paired_outcomes,
    scope_columns,
)
from fullbench.analysis.scope_text import FROM
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.people.prediction_powered import clip_estimate, corrected_mean


def corrected_agreement_table(
    columns: Columns, *, judges: Collection[str] | None = None, people: str = PEOPLE
) -> Table:
    """Return each judge's agreement with people on all pairs that it judged, from votes on a part of them.
    The predictors are other judges' verdicts on the same pairs and how decided the judge is.
    """
    rows: list[list[Cell]] = []
    split = scope_columns(columns)
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in ballot_families(part):
            every = [judge for judge in part.judges() if judge != people and has_verdicts(part, judge, family)]
            for judge in every if judges is None else [judge for judge in every if judge in judges]:
                votes = paired_outcomes(
                    part, [judge, *(other_judge for other_judge in every if other_judge != judge)], people, family
                )
                votes = votes.where(~np.isnan(votes.judge_values[0]))
                if not votes.vote_count:
                    continue
                judge_outcomes, other_outcomes = votes.judge_values[0], votes.judge_values[1:]
                pair_agreement = np.where(np.isnan(other_outcomes), 0.5, 1 - np.abs(other_outcomes - judge_outcomes))
                correction = corrected_mean(
                    1 - np.abs(judge_outcomes - votes.vote),
                    np.array([np.abs(2 * judge_outcomes - 1), *pair_agreement]),
                    probability=votes.chance,
                    cluster=votes.item,
                )
                scope_values = {"study": study, "criterion": criterion}
                rows.append(
                    [
                        judge,
                        *(scope_values[part] for part in split),
                        FROM[family],
                        clip_estimate(correction.corrected_estimate, 0, 1),
                        clip_estimate(correction.people, 0, 1),
                        votes.vote_count,
                        len(votes),
                    ]
                )
    notes = [Note("corrected.agreement")]
    heads = table_columns(
        "judge", *split, "verdict", "agreement on all pairs", "agreement on voted pairs", "voted", "pairs"
    )
    hint = {"kind": "intervals", "label": "judge", "within": [*split, "verdict"], "value": "agreement on all pairs"}
    title = Note("corrected.title.agreement")
    return Table("corrected agreement", title, heads, rows, notes, {}, hint)
