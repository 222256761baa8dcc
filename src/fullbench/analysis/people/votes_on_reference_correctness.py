"""People's votes on references: correct, or at fault in the caption or the reference.

VisIT-Bench prints this as its Table 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item
from fullbench.core.rubric import CAPTION_AT_FAULT, CHECKS, FOLLOWS, REFERENCE_AT_FAULT, is_check
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.stats.intervals.share_intervals import wilson_interval

OUTCOMES = ("correct", CAPTION_AT_FAULT, REFERENCE_AT_FAULT, "neither at fault", "undecided")
"""Possible results for a reference. Caption and reference may both be at fault."""

Votes = Mapping[str, Mapping[str, bool]]
"""Votes on one reference by criterion and rater."""


def reference_table(record: Record) -> Table:
    """Return the share of references that most people find correct, and the faults of the others, by images.

    Of the people who find a reference wrong, more than half decide whether the caption or the reference is at fault. A
    lead's verdict overrides the votes.
    """
    votes: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: {name: {} for name in CHECKS})
    verdicts: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: {name: {} for name in CHECKS})
    abstention_count = 0
    for verdict in record.where(judge=ADJUDICATION):
        if is_check(verdict) and verdict.marks is not None:
            verdicts[verdict.item][verdict.criterion][ADJUDICATION] = verdict.marks[0] > 1
    for verdict in record.where(judge=PEOPLE):
        if is_check(verdict) and verdict.marks is not None:
            votes[verdict.item][verdict.criterion][verdict.rater or str(verdict.trial)] = verdict.marks[0] > 1
        elif verdict.criterion == FOLLOWS:
            abstention_count += 1
    groups: dict[str, list[set[str]]] = defaultdict(list)
    for name, cast in votes.items():
        outcomes = _vote_outcomes(verdicts.get(name, cast))
        for group in ("overall", _image_group(record.items.get(name))):
            if group:
                groups[group].append(outcomes)
    rows: list[list[Cell]] = [
        [
            group if group == "overall" else word_note(group),
            word_note(outcome),
            wilson_interval(sum(outcome in outcomes for outcomes in references), len(references)),
        ]
        for group, references in sorted(groups.items(), key=lambda pair: pair[0] != "overall")
        for outcome in OUTCOMES
    ]
    raters = {rater for cast in votes.values() for rater in cast[FOLLOWS]}
    notes = [
        Note(
            "references.votes",
            votes=sum(len(cast[FOLLOWS]) for cast in votes.values()), raters=len(raters), references=len(votes),
        )
    ]  # fmt: skip
    if abstention_count:
        notes.append(Note("references.abstained", n=abstention_count))
    if lead_count := len(verdicts.keys() & votes.keys()):
        notes.append(Note("references.adjudicated", n=lead_count))
    title = Note("references.title")
    hint = {"kind": "bars", "label": "images", "value": "share", "group": "people said"}
    return Table("references", title, table_columns("images", "people said", "share"), rows, notes, {}, hint)


def _vote_outcomes(cast: Votes) -> set[str]:
    wrong = [rater for rater, follows in cast[FOLLOWS].items() if not follows]
    balance = len(cast[FOLLOWS]) - 2 * len(wrong)
    if balance > 0:
        return {"correct"}
    if balance == 0:
        return {"undecided"}
    faults = {
        fault
        for fault in (CAPTION_AT_FAULT, REFERENCE_AT_FAULT)
        if 2 * sum(cast[fault].get(rater, False) for rater in wrong) > len(wrong)
    }
    return faults or {"neither at fault"}


def _image_group(item: Item | None) -> str:
    if item is None:
        return ""
    return item.tags.get("images") or ("multi" if len(item.pictures) > 1 else "single" if item.pictures else "")
