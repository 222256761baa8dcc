"""Accuracy of a judge against the known truth, by kind of question, difficulty, language and picture style."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import JudgedCase, marked_cases, share_over_items
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import absolute_error, pearson_correlation

SLICES = {
    "kind": "kind of question",
    "difficulty": "difficulty",
    "language": "language",
    "picture_style": "picture style",
}
CHANCE, CEILING = 0.5, 1.0


def pair_accuracy(rows: Sequence[JudgedCase]) -> Estimate | None:
    """Return the share of pairs judged correctly; ties count half."""
    pairs = plain_pairs(rows)
    return share_over_items([row.right_share for row in pairs.values()], [*pairs])


def picture_pair_accuracy(rows: Sequence[JudgedCase]) -> Estimate | None:
    """Return the share of picture pairs, drawn for one prompt, judged correctly; ties count half."""
    pairs = marked_cases(rows, "drawn")
    return share_over_items([row.right_share for row in pairs], [row.base for row in pairs])


def knowledge_table(rows: Sequence[JudgedCase]) -> Table:
    """Return accuracy on pairs, overall and in every slice."""
    pairs = plain_pairs(rows)
    cells: list[list[Cell]] = []
    overall_accuracy = pair_accuracy(rows)
    if overall_accuracy is not None:
        cells.append([word_note("all"), "", overall_accuracy, CHANCE, CEILING, None])
    for tag, name in SLICES.items():
        for value in sorted({row.item.tags.get(tag, "") for row in pairs.values()}):
            part = {base: row for base, row in pairs.items() if row.item.tags.get(tag, "") == value}
            cells.append(
                [
                    word_note(name),
                    value,
                    share_over_items([row.right_share for row in part.values()], [*part]),
                    CHANCE,
                    CEILING,
                    None,
                ]
            )
    if (pictures := picture_pair_accuracy(rows)) is not None:
        cells.append([word_note("answers"), word_note("pictures"), pictures, CHANCE, CEILING, None])
    return Table(
        "knowledge",
        Note("audit.knowledge.title"),
        table_columns("split by", "slice", "judged correctly", "by chance", "ceiling", "people's"),
        cells,
        [Note("audit.knowledge.how")],
    )


def _error_in_marks(marks: Sequence[float], truth: Sequence[float], *, cluster: Sequence[str]) -> Estimate:
    return absolute_error(marks, truth, scale=(1.0, 5.0), cluster=cluster)


def grades_table(rows: Sequence[JudgedCase]) -> Table:
    """Return the agreement of scores and rankings with answers of known quality."""
    scores = marked_cases(rows, "scores")
    cells: list[list[Cell]] = []
    if scores:
        marks = [row.verdict.marks[0] for row in scores if row.verdict.marks]
        truth = [1 + 4 * row.qualities[0] for row in scores]
        items = [row.base for row in scores]
        for name, metric in (("correlation with the truth", pearson_correlation), ("error in marks", _error_in_marks)):
            try:
                cells.append([word_note("scores"), word_note(name), metric(marks, truth, cluster=items)])
            except Undefined:
                cells.append([word_note("scores"), word_note(name), None])
    rankings = marked_cases(rows, "rankings")
    if rankings:
        right = [_share_in_order(row) for row in rankings]
        cells.append(
            [
                word_note("rankings"),
                word_note("pairs in the right order"),
                share_over_items(right, [row.base for row in rankings]),
            ]
        )
    return Table(
        "grades",
        Note("audit.grades.title"),
        table_columns("verdict", "metric", "estimate"),
        cells,
        [Note("audit.grades.how")],
    )


def _share_in_order(row: JudgedCase) -> float:
    marks, truth = row.verdict.marks or (), row.qualities
    pairs = [(first, second) for first, second in combinations(range(len(truth)), 2) if truth[first] != truth[second]]
    return sum((marks[first] > marks[second]) == (truth[first] > truth[second]) for first, second in pairs) / len(pairs)
