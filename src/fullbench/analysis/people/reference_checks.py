"""What people's votes say of references: right, or what was wrong, the caption or the reference.

VisIT-Bench prints it as its Table 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.rubric import CAPTION_AT_FAULT, CHECKS, FOLLOWS, REFERENCE_AT_FAULT, is_check
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import ADJUDICATION, PEOPLE
from fullbench.stats.intervals.share_intervals import wilson

SAID = ("correct", CAPTION_AT_FAULT, REFERENCE_AT_FAULT, "neither at fault", "undecided")
"""What a reference can be found to be; caption and reference may both be at fault."""

Votes = Mapping[str, Mapping[str, bool]]
"""Of one reference: what each rater said under each criterion."""


def checked(record: Record) -> Table:
    """The share of references that most people find right, and what was wrong with the others; overall and by images.

    Of those who find a reference wrong, more than half decide whether the caption or the reference is at fault. Where a
    lead ruled, that ruling decides.
    """
    votes: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: {name: {} for name in CHECKS})
    rulings: dict[str, dict[str, dict[str, bool]]] = defaultdict(lambda: {name: {} for name in CHECKS})
    recused = 0
    for verdict in record.where(judge=ADJUDICATION):
        if is_check(verdict) and verdict.marks is not None:
            rulings[verdict.item][verdict.criterion][ADJUDICATION] = verdict.marks[0] > 1
    for verdict in record.where(judge=PEOPLE):
        if is_check(verdict) and verdict.marks is not None:
            votes[verdict.item][verdict.criterion][verdict.rater or str(verdict.trial)] = verdict.marks[0] > 1
        elif verdict.criterion == FOLLOWS:
            recused += 1
    groups: dict[str, list[set[str]]] = defaultdict(list)
    for name, cast in votes.items():
        found = _found(rulings.get(name, cast))
        for group in ("overall", _images(record.items.get(name))):
            if group:
                groups[group].append(found)
    rows: list[list[Cell]] = [
        [
            group if group == "overall" else word(group),
            word(said),
            wilson(sum(said in found for found in references), len(references)),
        ]
        for group, references in sorted(groups.items(), key=lambda pair: pair[0] != "overall")
        for said in SAID
    ]
    raters = {rater for cast in votes.values() for rater in cast[FOLLOWS]}
    notes = [
        Note(
            "references.votes",
            "{votes:,} votes of {raters:,} people on {references:,} references. Most votes decide whether a reference "
            "is right, and most of those who find it wrong what was wrong; where as many say yes as no it is "
            "undecided.",
            votes=sum(len(cast[FOLLOWS]) for cast in votes.values()), raters=len(raters), references=len(votes),
        )
    ]  # fmt: skip
    if recused:
        notes.append(Note("references.recused", "{n:,} times somebody could not judge a reference.", n=recused))
    if ruled := len(rulings.keys() & votes.keys()):
        notes.append(
            Note(
                "references.adjudicated",
                "On {n:,} references a lead ruled; that ruling counts there in place of the votes, which all stay.",
                n=ruled,
            )
        )
    title = Note("references.title", "What people's votes say of the references")
    hint = {"kind": "bars", "label": "images", "value": "share", "group": "people said"}
    return Table("references", title, headings("images", "people said", "share"), rows, notes, {}, hint)


def _found(cast: Votes) -> set[str]:
    """What the votes on one reference come to."""
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


def _images(item: Item | None) -> str:
    """Whether an item shows one image or several, as its tag says, else as it is."""
    if item is None:
        return ""
    return item.tags.get("images") or ("multi" if len(item.pictures) > 1 else "single" if item.pictures else "")
