"""Use of videos, recordings and documents: the index of picture use, next to a recording that shows the opposite.

For videos and documents there is a second index of the same form. It compares pairs with the video played backwards,
or with pages exchanged, which makes the other answer right: 1 for a judge that follows the order, 0 for one that
ignores it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.audit.cases.media_use_cases import MEDIA, PLAIN, REORDERED, VARIED
from fullbench.audit.measures.picture_use import (
    HIDDEN,
    NOT_MEASURED,
    OPPOSITE,
    PictureUse,
    measure_use,
    plain_pairs,
    use_by_kind_table,
    variant_table,
)
from fullbench.audit.measures.verdicts_with_truth import (
    JudgedCase,
    marked_cases,
    share_over_items,
    signed_mean_over_items,
)
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.media import NOUNS
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.synthetic.media_questions import Medium


@dataclass(frozen=True)
class MediaUse:
    """Use of one medium: from exchanged and from reversed recordings, and the share of pairs judged correctly.

    `unordered` is the use in questions that do not need the order of the parts. `is_first_frame_only`: the verdicts
    change with another video, but hardly if only the first frame is left.
    """

    medium: Medium
    use: PictureUse
    unordered: PictureUse
    order: PictureUse
    accuracy: Estimate | None
    is_first_frame_only: bool

    @property
    def verdict(self) -> str:
        """Meaning of the index as a word; a judge that ignores only the order of the parts uses the medium partly."""
        if self.use.verdict == "no" and self.unordered.verdict in {"yes", "partly"}:
            return "partly"
        return self.use.verdict


def measure_media_use(rows: Sequence[JudgedCase]) -> dict[Medium, MediaUse]:
    """Measure the use of each medium that an audit has tested."""
    measured: dict[Medium, MediaUse] = {}
    for medium in MEDIA:
        own_rows = [row for row in rows if row.item.tags.get("medium") == medium]
        if not own_rows:
            continue
        pairs, varied = plain_pairs(own_rows, PLAIN), marked_cases(own_rows, VARIED)
        swapped_rows = [row for row in varied if row.change == "swapped"]
        reordered_rows = [row for row in varied if row.change in REORDERED]
        measured[medium] = MediaUse(
            medium,
            measure_use(pairs, swapped_rows),
            measure_use(pairs, [row for row in swapped_rows if row.item.tags["needs"] != "order"]),
            measure_use(pairs, reordered_rows) if reordered_rows else NOT_MEASURED,
            share_over_items([row.right_share for row in pairs.values()], [*pairs]),
            _is_first_frame_only(pairs, varied),
        )
    return measured


def _is_first_frame_only(pairs: dict[str, JudgedCase], varied: Sequence[JudgedCase]) -> bool:
    """True if verdicts change with another video, and significantly less with the own one frozen at its first frame."""
    changes: dict[str, dict[str, float]] = {"swapped": {}, "frozen": {}}
    for row in varied:
        if row.change in changes and row.base in pairs:
            changes[row.change][row.base] = float(row.mark("right") != pairs[row.base].mark("right"))
    common_bases = [base for base in changes["frozen"] if base in changes["swapped"]]
    difference = signed_mean_over_items(
        [changes["swapped"][base] - changes["frozen"][base] for base in common_bases], common_bases
    )
    return difference is not None and difference.low > 0


_HOW_NOTES: Mapping[Medium, Callable[[], Note]] = {
    "video": lambda: Note("audit.media.video"),
    "audio": lambda: Note("audit.media.recording"),
    "document": lambda: Note("audit.media.document"),
}
"""Explanation of the variants of each medium."""


def media_use_tables(rows: Sequence[JudgedCase], use: MediaUse) -> list[Table]:
    """Return accuracy by variant, and the indices by kind of question."""
    noun = NOUNS[use.medium]
    own_rows = [row for row in rows if row.item.tags.get("medium") == use.medium]
    tests = MEDIA[use.medium]
    variants = {
        "swapped": OPPOSITE, **dict.fromkeys(tests.reordered, OPPOSITE), **dict.fromkeys(tests.hidden, HIDDEN)
    }  # fmt: skip
    by_variant = variant_table(plain_pairs(own_rows, PLAIN), marked_cases(own_rows, VARIED), variants)
    tables = [
        replace(
            by_variant,
            name=f"{noun} variants",
            title=Note("audit.media.variants", medium=word_note(noun)),
            columns=table_columns(
                "shown", "judged as shown", f"{noun} used", f"{noun} ignored", "verdicts changed", "should change"
            ),
            notes=[_HOW_NOTES[use.medium]()],
        ),
        replace(
            use_by_kind_table(use.use, f"{noun} use index"),
            name=f"{noun} use",
            title=Note("audit.media.by-kind", medium=word_note(noun)),
            notes=[Note("audit.media.index")],
        ),
    ]
    if use.order.index is not None:
        tables.append(
            replace(
                use_by_kind_table(use.order, f"{noun} order use index"),
                name=f"{noun} order use",
                title=Note("audit.media.order.by-kind", parts=word_note(tests.parts)),
                notes=[Note("audit.media.order.how")],
            )
        )
    return tables


def media_use_sentences(use: MediaUse) -> list[str]:
    """Return the results of one medium in words."""
    medium = word_note(NOUNS[use.medium])
    if use.use.index is None:
        return [Note("audit.media.unknown", medium=medium)]
    sentences: list[str] = [_use_sentence(use, medium, _index_text(use.use.index))]
    if use.order.index is not None and use.verdict != "no":
        order_index, parts = _index_text(use.order.index), word_note(MEDIA[use.medium].parts)
        match use.order.verdict:
            case "yes":
                sentences.append(Note("audit.media.order.yes", parts=parts, index=order_index))
            case "partly":
                sentences.append(Note("audit.media.order.partly", parts=parts, index=order_index))
            case _:
                sentences.append(Note("audit.media.order.no", parts=parts, index=order_index))
    if use.accuracy is not None:
        sentences.append(Note("audit.media.accuracy", medium=medium, share=use.accuracy.value))
    return sentences


def _use_sentence(use: MediaUse, medium: Note, index: str) -> Note:
    match use.verdict:
        case "yes":
            return Note("audit.media.yes", medium=medium, index=index)
        case "partly":
            return Note("audit.media.partly", medium=medium, index=index)
    if use.is_first_frame_only:
        return Note("audit.media.first-frame", index=index)
    return Note("audit.media.no", medium=medium, index=index)


def _index_text(index: Estimate) -> str:
    return f"{index.value:.2f} [{index.low:.2f}, {index.high:.2f}]"
