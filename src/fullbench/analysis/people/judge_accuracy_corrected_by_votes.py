"""Accuracy of judges on all pairs that they judged, corrected from people's votes on a part of them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import SHARE, share_estimate
from fullbench.analysis.people.paired_verdicts_and_votes import (
    Votes,
    ballot_families,
    has_same_winner,
    has_verdicts,
    scope_columns,
    verdict_outcomes,
)
from fullbench.analysis.scope_suffixes_of_table_titles import FROM
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule
from fullbench.stats.people.prediction_powered import CorrectedMean, clip_estimate, corrected_mean


def corrected_accuracy_table(
    columns: Columns,
    *,
    judges: Collection[str] | None = None,
    people: str = PEOPLE,
    rule: VoteRule = "default",
) -> Table:
    """Return each judge's accuracy on all pairs that it judged, from votes on a part of them.

    Accuracy is that of the other tables: each verdict counts, and a tie is a class of its own. The predictors are other
    judges' verdicts on the same pairs and how decided the judge is. Judges of whose pairs all have votes are left out,
    because there is nothing to correct.
    """
    rows: list[list[Cell]] = []
    split = scope_columns(columns)
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in ballot_families(part):
            every = [judge for judge in part.judges() if judge != people and has_verdicts(part, judge, family)]
            for judge in every if judges is None else [judge for judge in every if judge in judges]:
                other_judges = [other_judge for other_judge in every if other_judge != judge]
                verdicts, pairs = verdict_outcomes(part, [judge, *other_judges], people, family, rule)
                if not pairs.vote_count or pairs.selection == "all":
                    continue
                correction = _corrected_accuracy(verdicts)
                voted = ~np.isnan(verdicts.vote)
                hits = has_same_winner(verdicts.judge_values[0], verdicts.vote)[voted]
                on_voted = (
                    share_estimate(hits, verdicts.item[voted]) if verdicts.has_equal_chances else correction.people
                )
                scope_values = {"study": study, "criterion": criterion}
                rows.append(
                    [
                        judge,
                        *(scope_values[part] for part in split),
                        FROM[family],
                        clip_estimate(correction.corrected_estimate, 0, 1),
                        clip_estimate(on_voted, 0, 1),
                        pairs.vote_count,
                        len(pairs),
                    ]
                )
    notes = [Note("corrected.agreement")]
    heads = table_columns(
        "judge", *split, "verdict", "accuracy on all pairs", "accuracy on voted pairs", "voted", "pairs"
    )
    hint = {"kind": "intervals", "label": "judge", "within": [*split, "verdict"], "value": "accuracy on all pairs"}
    title = Note("corrected.title.agreement")
    return Table("corrected agreement", title, heads, rows, notes, {}, hint)


def _corrected_accuracy(verdicts: Votes) -> CorrectedMean:
    outcomes, other_values = verdicts.judge_values[0], verdicts.judge_values[1:]
    same_as_others = np.where(np.isnan(other_values), 0.5, 1 - np.abs(other_values - outcomes))
    return corrected_mean(
        has_same_winner(outcomes, verdicts.vote), np.array([np.abs(2 * outcomes - 1), *same_as_others]),
        probability=verdicts.chance, cluster=verdicts.item,
        within=SHARE,
    )  # fmt: skip
