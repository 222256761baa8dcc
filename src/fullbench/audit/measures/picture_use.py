"""Did the judge look? Rulings with the picture swapped, blank, blurred or told in words, beside those that it is due.

The index: of every pair heard with its own picture and with the other one, how far the ruling went to the answer that
the picture then shown makes right, less how far it went to the other; the mean of both hearings. It is 1 for a judge
that follows the picture and 0 for one that does not look, whatever that one prefers: it rules the same both times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullbench.audit.cases.text_variants import CRITERION
from fullbench.audit.measures.verdicts_with_truth import Heard, difference, of, share
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

SEES, LOOKS_AWAY = 0.8, 0.2
"""A judge is said to see from an index of SEES on, which is to rule with the picture in nine of ten hearings, where the
lower end is above LOOKS_AWAY; and not to look where the upper end is below that, or the lower end is not above 0. How
often that is wrong is in docs/audit.md: the index falls alike where a judge looks away and where it is unsure."""


@dataclass(frozen=True)
class Sight:
    """The index with its cases: `follows` has a value for each pair heard with both pictures, `blind` the pairs of
    which the ruling stayed although the picture said the opposite."""

    index: Estimate | None
    follows: dict[str, float]
    kinds: dict[str, str]
    blind: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """What the index says, as a word: sees, partly, blind or unknown."""
        if self.index is None:
            return "unknown"
        if self.index.value >= SEES and self.index.low > LOOKS_AWAY:
            return "sees"
        return "blind" if self.index.high <= LOOKS_AWAY or self.index.low <= 0 else "partly"


def plain_pairs(rows: Sequence[Heard]) -> dict[str, Heard]:
    """The pairs as they are first heard, by item: in the order in which all their variants are heard."""
    return {
        row.base: row
        for row in of(rows, "pairs", lambda row: row.verdict.trial == 0 and row.verdict.criterion == CRITERION)
        if row.verdict.contestants[0] == row.item.tags["first"]
    }


def sight(rows: Sequence[Heard]) -> Sight:
    """Whether the judge looked, from pairs that were heard with both pictures."""
    pairs = plain_pairs(rows)
    follows, kinds, blind = {}, {}, []
    for row in of(rows, "look", lambda row: row.what == "swapped"):
        first = pairs.get(row.base)
        if first is None:
            continue
        follows[row.base] = (2 * first.right - 1 + 2 * row.right - 1) / 2
        kinds[row.base] = row.item.tags.get("kind", "")
        if first.mark("right") == row.mark("right") != 0.5:
            blind.append(row.base)
    return Sight(difference([*follows.values()], [*follows]), follows, kinds, tuple(blind))


def look_table(rows: Sequence[Heard]) -> Table:
    """How it rules with the picture shown in each way, beside what one does who looks and one who does not."""
    pairs = plain_pairs(rows)
    looked = {row.base for row in of(rows, "look")}
    first = {base: row for base, row in pairs.items() if base in looked}
    cells: list[list[Cell]] = []
    as_drawn = share([row.right for row in first.values()], [*first])
    if as_drawn is not None:
        cells.append(["as drawn", as_drawn, 1.0, 0.5, None, None])
    for what, due, unseeing in (
        ("swapped", 1.0, None), ("blank", 0.5, 0.5), ("blurred", 0.5, 0.5), ("captioned", 1.0, 1.0),
    ):  # fmt: skip
        there = [row for row in of(rows, "look") if row.what == what and row.base in first]
        if not there:
            continue
        items = [row.base for row in there]
        moved = [float(row.mark("right") != first[row.base].mark("right")) for row in there]
        same = 1 - as_drawn.value if as_drawn is not None and what == "swapped" else unseeing
        wanted = {"swapped": 1.0, "captioned": None}.get(what)
        cells.append([what, share([row.right for row in there], items), due, same, share(moved, items), wanted])
    return Table(
        "look",
        Note("audit.look.title", "Does it look? The same pairs with the picture hidden or exchanged"),
        headings("shown", "ruled as shown", "who looks", "who does not look", "rulings changed", "should change"),
        cells,
        [
            Note(
                "audit.look.how",
                "Ruled as shown: how far rulings go to the answer that is right for the picture shown (for a blank, "
                "blurred or captioned one: for the picture that was taken away). Swapped: another picture, for which "
                "the other answer is right.",
            )
        ],
    )


def kinds_table(seen: Sight) -> Table:
    """The index for each kind of question, and how many verdicts were blind."""
    rows: list[list[Cell]] = []
    for kind in sorted({*seen.kinds.values()}):
        bases = [base for base, of_kind in seen.kinds.items() if of_kind == kind]
        index = difference([seen.follows[base] for base in bases], bases)
        rows.append([kind, index, len(bases), sum(base in seen.blind for base in bases)])
    if seen.index is not None:
        rows.append(["all", seen.index, len(seen.follows), len(seen.blind)])
    return Table(
        "sight",
        Note("audit.sight.title", "How far rulings follow the picture, by kind of question"),
        headings("kind of question", "sight index", "pairs", "blind verdicts"),
        rows,
        [
            Note(
                "audit.sight.how",
                "The index is 1 where rulings follow the picture shown and 0 where they are the same whatever it "
                "shows. A verdict is blind where the ruling stays although the other picture makes the other answer "
                "right.",
            )
        ],
        {},
        {"kind": "intervals", "label": "kind of question", "value": "sight index", "reference": 0.0},
    )
