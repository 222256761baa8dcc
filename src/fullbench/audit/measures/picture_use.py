"""Picture use: verdicts with the picture swapped, blank, blurred or described, compared with the expected ones.

The index compares every pair judged with its own picture and with the other one. It is how far the verdict went to the
answer that the shown picture makes right, minus how far it went to the other answer; the mean of both verdicts. It is
1 for a judge that follows the picture and 0 for one that ignores it, whatever it prefers: its verdict is the same both
times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fullbench.audit.cases.irrelevant_answer_changes_and_rewordings import CRITERION
from fullbench.audit.cases.questions_about_which_album_holds_a_picture import PART as PLACES
from fullbench.audit.measures.verdicts_with_truth import (
    JudgedCase,
    marked_cases,
    share_over_items,
    signed_mean_over_items,
)
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

SEES, LOOKS_AWAY = 0.8, 0.2
"""A judge uses the picture if its index is at least SEES (nine of ten verdicts follow the picture) with a lower end
above LOOKS_AWAY. It does not if the upper end is at most LOOKS_AWAY or the lower end at most 0. docs/how-to/audit.md
has the error rates: the index also falls if a judge is only unsure."""


@dataclass(frozen=True)
class PictureUse:
    """Picture-use index, or place-use index, with its cases.

    `follow_scores` has a value for each pair judged with both pictures. `blind_pairs` are pairs whose verdict stayed
    although the two pictures require opposite verdicts.
    """

    index: Estimate | None
    follow_scores: dict[str, float]
    kind_by_pair: dict[str, str]
    blind_pairs: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Meaning of the index as a word: yes, partly, no or unknown."""
        if self.index is None:
            return "unknown"
        if self.index.value >= SEES and self.index.low > LOOKS_AWAY:
            return "yes"
        return "no" if self.index.high <= LOOKS_AWAY or self.index.low <= 0 else "partly"


NOT_MEASURED = PictureUse(None, {}, {}, ())


def plain_pairs(rows: Sequence[JudgedCase], part: str = "pairs") -> dict[str, JudgedCase]:
    """Return the first verdicts on plain pairs by item, in the order of responses that all variants share."""
    return {
        row.base: row
        for row in marked_cases(rows, part, lambda row: row.verdict.trial == 0 and row.verdict.criterion == CRITERION)
        if row.verdict.contestants[0] == row.item.tags["first"]
    }


def measure_picture_use(rows: Sequence[JudgedCase]) -> PictureUse:
    """Measure picture use from pairs that were judged with both pictures."""
    return measure_use(plain_pairs(rows), marked_cases(rows, "picture use", lambda row: row.change == "swapped"))


def measure_use(pairs: Mapping[str, JudgedCase], opposite_rows: Sequence[JudgedCase]) -> PictureUse:
    """Compare pairs with the same pairs next to a picture, or other media, that makes the other answer right."""
    follow_scores, kind_by_pair, blind_pairs = {}, {}, []
    for row in opposite_rows:
        first = pairs.get(row.base)
        if first is None:
            continue
        follow_scores[row.base] = (2 * first.right_share - 1 + 2 * row.right_share - 1) / 2
        kind_by_pair[row.base] = row.item.tags.get("kind", "")
        if first.mark("right") == row.mark("right") != 0.5:
            blind_pairs.append(row.base)
    return PictureUse(
        signed_mean_over_items([*follow_scores.values()], [*follow_scores]),
        follow_scores,
        kind_by_pair,
        tuple(blind_pairs),
    )


def measure_place_use(rows: Sequence[JudgedCase]) -> PictureUse:
    """Measure if verdicts follow the places of pictures in the question, from pairs that differ only in them.

    The index is that of picture use: 1 for a judge that follows the places, 0 for one whose verdict stays the same.
    """
    pairs: dict[str, list[JudgedCase]] = {}
    for row in marked_cases(rows, PLACES):
        pairs.setdefault(row.base, []).append(row)
    both = {base: (each[0], each[1]) for base, each in pairs.items() if len(each) == 2}
    follow_scores = {base: first.right_share + second.right_share - 1 for base, (first, second) in both.items()}
    return PictureUse(
        signed_mean_over_items([*follow_scores.values()], [*follow_scores]),
        follow_scores,
        {base: first.item.tags.get("kind", "") for base, (first, _) in both.items()},
        tuple(base for base, (first, second) in both.items() if first.verdict.marks == second.verdict.marks
              and first.right_share != 0.5),
    )  # fmt: skip


def picture_use_table(rows: Sequence[JudgedCase]) -> Table:
    """Return accuracy by picture variant, next to that of a judge that uses the picture and one that does not."""
    return variant_table(
        plain_pairs(rows),
        marked_cases(rows, "picture use"),
        {"swapped": OPPOSITE, "blank": HIDDEN, "blurred": HIDDEN, "captioned": Variant(1.0, 1.0, None)},
    )


@dataclass(frozen=True)
class Variant:
    """Expected accuracy of judges that use a variant and of judges that ignore it, and share of changed verdicts.

    Without `if_ignored`, the verdicts of a judge that ignores it are those on the original.
    """

    if_used: float
    if_ignored: float | None
    should_change: float | None


OPPOSITE, HIDDEN = Variant(1.0, None, 1.0), Variant(0.5, 0.5, None)


def variant_table(
    pairs: Mapping[str, JudgedCase], variant_rows: Sequence[JudgedCase], variants: Mapping[str, Variant]
) -> Table:
    """Return accuracy by variant, next to the expected ones.

    Args:
        pairs: Verdicts on the originals, by item.
        variant_rows: Verdicts on all variants.
        variants: Expected results of each variant, in the order of the table.
    """
    tested_bases = {row.base for row in variant_rows}
    first = {base: row for base, row in pairs.items() if base in tested_bases}
    cells: list[list[Cell]] = []
    as_drawn = share_over_items([row.right_share for row in first.values()], [*first])
    if as_drawn is not None:
        cells.append(["as drawn", as_drawn, 1.0, 0.5, None, None])
    for change, variant in variants.items():
        changed_rows = [row for row in variant_rows if row.change == change and row.base in first]
        if not changed_rows:
            continue
        items = [row.base for row in changed_rows]
        changes = [float(row.mark("right") != first[row.base].mark("right")) for row in changed_rows]
        original_accuracy = share_over_items([first[base].right_share for base in items], items)
        cells.append(
            [
                change,
                share_over_items([row.right_share for row in changed_rows], items),
                variant.if_used,
                1 - original_accuracy.value
                if variant.if_ignored is None and original_accuracy is not None
                else variant.if_ignored,
                share_over_items(changes, items),
                variant.should_change,
            ]
        )
    return Table(
        "picture variants",
        Note("audit.picture-variants.title"),
        table_columns(
            "shown", "judged as shown", "picture used", "picture ignored", "verdicts changed", "should change"
        ),
        cells,
        [Note("audit.picture-variants.how")],
    )


def place_use_table(place_use: PictureUse) -> Table:
    """Return the place-use index by the number of pictures in the question."""
    return replace(
        use_by_kind_table(place_use, "place use index"),
        name="place use",
        title=Note("audit.place-use.title"),
        notes=[Note("audit.place-use.how")],
    )


def picture_use_by_kind_table(picture_use: PictureUse) -> Table:
    """Return the index and the number of blind verdicts for each kind of question."""
    return use_by_kind_table(picture_use, "picture use index")


def use_by_kind_table(picture_use: PictureUse, index_name: str) -> Table:
    rows: list[list[Cell]] = []
    for kind in sorted({*picture_use.kind_by_pair.values()}):
        bases = [base for base, pair_kind in picture_use.kind_by_pair.items() if pair_kind == kind]
        index = signed_mean_over_items([picture_use.follow_scores[base] for base in bases], bases)
        rows.append([kind, index, len(bases), sum(base in picture_use.blind_pairs for base in bases)])
    if picture_use.index is not None:
        rows.append(["all", picture_use.index, len(picture_use.follow_scores), len(picture_use.blind_pairs)])
    return Table(
        "picture use",
        Note("audit.picture-use.title"),
        table_columns("kind of question", index_name, "pairs", "blind verdicts"),
        rows,
        [Note("audit.picture-use.how")],
        {},
        {"kind": "intervals", "label": "kind of question", "value": index_name, "reference": 0.0},
    )
