"""How far judges agree with people on everything that they ruled on, from people's votes on a part of it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fullbench.analysis.people.paired_verdicts_and_votes import families, named_parts, pairs, rules
from fullbench.analysis.scope_text import FROM
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.people.prediction_powered import corrected_mean, within


def agreement(columns: Columns, *, judges: Collection[str] | None = None, people: str = PEOPLE) -> Table:
    """How far each judge agrees with people on all pairs that it ruled on, from the votes on a part of them.

    What other judges make of the same pairs, and how decided the judge is, are the predictors.
    """
    rows: list[list[Cell]] = []
    split = named_parts(columns)
    for (study, criterion), part in columns.by("study", "criterion"):
        if people not in part.judges():
            continue
        for family in families(part):
            every = [judge for judge in part.judges() if judge != people and rules(part, judge, family)]
            for judge in every if judges is None else [judge for judge in every if judge in judges]:
                votes = pairs(part, [judge, *(other for other in every if other != judge)], people, family)
                votes = votes.where(~np.isnan(votes.ruled[0]))
                if not votes.voted:
                    continue
                own, others = votes.ruled[0], votes.ruled[1:]
                alike = np.where(np.isnan(others), 0.5, 1 - np.abs(others - own))
                found = corrected_mean(
                    1 - np.abs(own - votes.vote), np.array([np.abs(2 * own - 1), *alike]), probability=votes.chance,
                    cluster=votes.item,
                )  # fmt: skip
                placed = {"study": study, "criterion": criterion}
                rows.append([
                    judge, *(placed[part] for part in split), FROM[family], within(found.corrected, 0, 1),
                    within(found.people, 0, 1), votes.voted, len(votes),
                ])  # fmt: skip
    notes = [
        Note(
            "corrected.agreement",
            "Agreement: one less the distance of the judge's outcome of a pair from people's, a tie half a win.",
        )
    ]
    heads = headings("judge", *split, "ruling", "agreement on all pairs", "agreement on voted pairs", "voted", "pairs")
    hint = {"kind": "intervals", "label": "judge", "within": [*split, "ruling"], "value": "agreement on all pairs"}
    title = Note("corrected.title.agreement", "Agreement with people, corrected")
    return Table("corrected agreement", title, heads, rows, notes, {}, hint)
