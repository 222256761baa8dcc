"""What the judge knows: how often it rules as the truth does, by kind of question, difficulty, language and look."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import Heard, of, share
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import absolute_error, pearson

SLICES = {"kind": "kind of question", "difficulty": "difficulty", "language": "language", "look": "look of the picture"}
CHANCE, CEILING = 0.5, 1.0


def accuracy(rows: Sequence[Heard]) -> Estimate | None:
    """The share of pairs that are ruled as the truth does, ties one half."""
    pairs = plain_pairs(rows)
    return share([row.right for row in pairs.values()], [*pairs])


def of_pictures(rows: Sequence[Heard]) -> Estimate | None:
    """The share of pairs of pictures, drawn for one prompt, that are ruled as the truth does, ties one half."""
    pairs = of(rows, "drawn")
    return share([row.right for row in pairs], [row.base for row in pairs])


def knowledge_table(rows: Sequence[Heard]) -> Table:
    """Accuracy on pairs, all together and in every slice."""
    pairs = plain_pairs(rows)
    cells: list[list[Cell]] = []
    whole = accuracy(rows)
    if whole is not None:
        cells.append([word("all"), "", whole, CHANCE, CEILING, None])
    for tag, name in SLICES.items():
        for value in sorted({row.item.tags.get(tag, "") for row in pairs.values()}):
            part = {base: row for base, row in pairs.items() if row.item.tags.get(tag, "") == value}
            cells.append(
                [word(name), value, share([row.right for row in part.values()], [*part]), CHANCE, CEILING, None]
            )
    if (pictures := of_pictures(rows)) is not None:
        cells.append([word("answers"), word("pictures"), pictures, CHANCE, CEILING, None])
    return Table(
        "knowledge",
        Note("audit.knowledge.title", "Does it know? Pairs of a right and a wrong answer"),
        headings("split by", "slice", "ruled rightly", "by chance", "ceiling", "people's"),
        cells,
        [
            Note(
                "audit.knowledge.how",
                "The truth is that of the scene behind the picture. A tie counts one half. How people do on these "
                "pictures is not known.",
            )
        ],
    )


def grades_table(rows: Sequence[Heard]) -> Table:
    """Scores and rankings of answers whose worth is known."""
    scores = of(rows, "scores")
    cells: list[list[Cell]] = []
    if scores:
        marks = [row.verdict.marks[0] for row in scores if row.verdict.marks]
        truth = [1 + 4 * row.qualities[0] for row in scores]
        items = [row.base for row in scores]
        for name, figure in (("correlation with the truth", pearson), ("error in marks", absolute_error)):
            try:
                cells.append([word("scores"), word(name), figure(marks, truth, cluster=items)])
            except Undefined:
                cells.append([word("scores"), word(name), None])
    rankings = of(rows, "rankings")
    if rankings:
        right = [_in_order(row) for row in rankings]
        cells.append([word("rankings"), word("pairs in the right order"), share(right, [row.base for row in rankings])])
    return Table(
        "grades",
        Note("audit.grades.title", "Scores and rankings of answers whose worth is known"),
        headings("ruling", "figure", "estimate"),
        cells,
        [Note("audit.grades.how", "Worths go from 0 to 1 in quarters, so that a score of 1 to 5 states them.")],
    )


def _in_order(row: Heard) -> float:
    marks, truth = row.verdict.marks or (), row.qualities
    pairs = [(first, second) for first, second in combinations(range(len(truth)), 2) if truth[first] != truth[second]]
    return sum((marks[first] > marks[second]) == (truth[first] > truth[second]) for first, second in pairs) / len(pairs)
