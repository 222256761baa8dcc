"""Tables of three experiments: lengthened answers, references by caption source, and picture modes of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement import judges_with_people
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.response import LENGTHENS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, word_note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record

ALL_CONTESTANTS = "(all)"
SEEING = "image"
_PAPER_METRICS = {
    "scores": ("Pearson",),
    "pairs": ("accuracy with ties", "accuracy without ties"),
    "rankings": ("edit distance",),
}
"""Agreement metrics that the paper prints for judges with and without pictures."""


def _single_marks(record: Record, judge: str) -> dict[tuple[str, str, int, tuple[str, str, int, str]], float]:
    return {
        (verdict.item, *verdict.shown_responses[0], _verdict_key(verdict)): verdict.marks[0]
        for verdict in record.where(judge=judge)
        if verdict.marks is not None and len(verdict.marks) == 1
    }


def _verdict_key(verdict: Verdict) -> tuple[str, str, int, str]:
    return verdict.ballot, verdict.criterion, verdict.trial, verdict.rater


def lengthening_table(record: Record) -> Table:
    """Return per judge and contestant the mean mark before and after, and the gain, clustered by item."""
    longer = {
        (item, name, sample): response.tags[LENGTHENS]
        for (item, name, sample), response in record.responses.items()
        if LENGTHENS in response.tags
    }
    rows: list[list[Cell]] = []
    for judge in record.judges:
        marks = _single_marks(record, judge)
        pairs = [
            (longer[item, name, sample], item, marks[item, longer[item, name, sample], sample, verdict_key], mark)
            for (item, name, sample, verdict_key), mark in marks.items()
            if (item, name, sample) in longer and (item, longer[item, name, sample], sample, verdict_key) in marks
        ]
        for who in (*sorted({pair[0] for pair in pairs}), "") if pairs else ():
            selected_pairs = [pair for pair in pairs if who in {"", pair[0]}]
            _, items = np.unique([item for _, item, _, _ in selected_pairs], return_inverse=True)
            before, after = (np.array([pair[place] for pair in selected_pairs]) for place in (2, 3))
            gain = item_clustered_means_and_shares.difference_estimate(after - before, items)
            rows.append([judge, who or ALL_CONTESTANTS, float(before.mean()), float(after.mean()), gain, gain.p])
    notes = [Note("experiments.gain")]
    overall = [(str(row[0]), row[4]) for row in rows if row[1] == ALL_CONTESTANTS and isinstance(row[4], Estimate)]
    if overall:
        judge, gain = max(overall, key=lambda entry: abs(entry[1].value))
        notes.insert(
            0, Note("experiments.gain.most", judge=judge, gain=gain.value, low=gain.low, high=gain.high, n=gain.n)
        )
    title = Note("experiments.title.gain")
    columns = table_columns("judge", "contestant", "mean before", "mean after", "gain", "p")
    return Table("lengthening", title, columns, rows, notes, {}, {"kind": "bars", "label": "judge", "value": "gain"})


def reference_accuracy_table(record: Record) -> Table:
    """Return the share of references that each judge gives the top mark, by the captions they were written from."""
    rows: list[list[Cell]] = []
    for judge in record.judges:
        by_kind: dict[str, list[tuple[str, float]]] = {}
        for verdict in record.where(judge=judge):
            scale = item_clustered_means_and_shares.scale_of(verdict.ballot)
            if verdict.marks is not None and scale is not None:
                hit = float(verdict.marks[0] >= scale[1])
                by_kind.setdefault(verdict.contestants[0], []).append((verdict.item, hit))
        for kind, hits in sorted(by_kind.items()):
            _, items = np.unique([item for item, _ in hits], return_inverse=True)
            rows.append(
                [judge, kind, item_clustered_means_and_shares.share_estimate(np.array([hit for _, hit in hits]), items)]
            )
    shares = [
        Note("experiments.captions.share", kind=word_note(str(kind)), share=share.value, n=share.n)
        for judge, kind, share in rows
        if judge == rows[0][0] and isinstance(share, Estimate)
    ]
    notes = [Note("experiments.captions", judge=str(rows[0][0]), shares=join_notes(shares))] if shares else []
    title = Note("experiments.title.captions")
    hint = {"kind": "bars", "label": "captions", "value": "references that are right", "group": "judge"}
    return Table(
        "captions", title, table_columns("judge", "captions", "references that are right"), rows, notes, {}, hint
    )


def picture_mode_table(record: Record, judges: Sequence[Mapping[str, str]]) -> Table:
    """Return each judge's agreement with people with pictures, with descriptions, and with neither (Table 6).

    `judges` maps picture modes, including `image`, to the judge's names. If people did not vote, verdicts of the same
    judge with pictures replace theirs.
    """
    by_people = PEOPLE in record.judges
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for names in judges:
        seeing = names[SEEING]
        comparison = judges_with_people.compare_with_people(record, PEOPLE if by_people else seeing)
        for picture_mode, name in names.items():
            if by_people or name != seeing:
                entries = {entry.shape: entry for entry in judges_with_people.judge_agreements(comparison, name)}
                cells = [
                    entries[kind].metrics.get(metric) if kind in entries else None
                    for kind, metrics in _PAPER_METRICS.items()
                    for metric in metrics
                ]
                judge_verdicts = record.where(judge=name)
                fault_count = sum(verdict.fault is not None for verdict in judge_verdicts)
                rows.append([seeing, word_note(picture_mode), *cells, len(judge_verdicts), fault_count])
                notes += [
                    Note("experiments.picture-modes.undefined",
                         judge=seeing, mode=word_note(picture_mode), figure=word_note(metric), why=why)
                    for entry in entries.values() for metric, why in entry.undefined_reasons.items()
                    if metric in _PAPER_METRICS[entry.shape]
                ]  # fmt: skip
    comparison_note = (
        Note("experiments.picture-modes.people") if by_people else Note("experiments.picture-modes.seeing")
    )
    answer = _picture_mode_answer(rows)
    title = Note("experiments.title.picture-modes")
    columns = table_columns(
        "judge", "picture mode", *(name for names in _PAPER_METRICS.values() for name in names), "verdicts", "unusable"
    )
    return Table("vision expert", title, columns, rows, [*([answer] if answer else []), comparison_note, *notes])


def _picture_mode_answer(rows: Sequence[Sequence[Cell]]) -> Note | None:
    """Return the first judge's agreement in each picture mode, by the first metric that all its rows have."""
    own_rows = [row for row in rows if row[0] == rows[0][0]]
    metrics = [metric for names in _PAPER_METRICS.values() for metric in names]
    for place, metric in enumerate(metrics, 2):
        cells = [row[place] for row in own_rows]
        estimates = [cell for cell in cells if isinstance(cell, Estimate)]
        if estimates and len(estimates) == len(cells):
            values = [
                Note("experiments.picture-modes.value", mode=word_note(str(row[1])), value=estimate.value)
                for row, estimate in zip(own_rows, estimates, strict=True)
            ]
            return Note(
                "experiments.picture-modes", judge=str(rows[0][0]), metric=word_note(metric), values=join_notes(values)
            )
    return None
