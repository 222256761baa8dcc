"""What sways the judge: the effect of each change that should not matter, corrected over all that were asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullbench.audit.cases import picture_variants
from fullbench.audit.measures.verdicts_with_truth import Heard, of
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.bias.dose_response import least_noticed, swayed
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg

PLACE: Mapping[str, str] = {"answer": "place", "picture": "order of pictures"}
"""What being shown first is called, among answers in words and among pictures."""
LEVEL, POWER = 0.04, 0.8
"""Below 5 %, so that clean judges are accused in less than 5 % of audits with room for the error of measuring that."""


@dataclass(frozen=True)
class Sway:
    """The effect of one change, in log-odds for each dose, its corrected p-value, and whether it accuses.

    `least` is the smallest effect, alone among all changes, that so many rulings show in 80 % of audits; None where
    they are too few for any.
    """

    what: str
    on: str
    effect: Estimate
    p: float
    flagged: bool
    least: float | None


def sways(rows: Sequence[Heard]) -> list[Sway]:
    """All effects, the strongest first; those of being shown first stand among them."""
    there = of(rows, "sway")
    if not there:
        return []
    names = list(dict.fromkeys(row.what for row in there))
    ordered = sorted(there, key=lambda row: names.index(row.what))
    try:
        fit = swayed(
            [row.mark("changed") for row in ordered],
            [float(row.item.tags["dose"]) for row in ordered],
            [1.0 if row.verdict.contestants[0] == "changed" else -1.0 for row in ordered],
            [row.what for row in ordered],
            [row.item.id for row in ordered],
            sort=[_sort(row.what) for row in ordered],
        )
    except Undefined:
        return []
    effects = dict(zip(names, fit.effects, strict=True))
    sorts = list(dict.fromkeys(_sort(name) for name in names))
    effects |= {PLACE[sort]: effect for sort, effect in zip(sorts, fit.places, strict=True)}
    corrected = benjamini_hochberg([1.0 if effect.p is None else effect.p for effect in effects.values()], level=LEVEL)
    doses = {name: [float(row.item.tags["dose"]) for row in ordered if row.what == name] for name in names}
    doses |= {PLACE[sort]: [1.0] * sum(_sort(row.what) == sort for row in ordered) for sort in sorts}
    # one effect alone is held against the strictest step of the correction
    least = {name: least_noticed(given, LEVEL / len(effects), POWER) for name, given in doses.items()}
    listed = [
        Sway(
            what, "order" if what in PLACE.values() else _sort(what), effect, p, passed, least[what],
        )
        for (what, effect), p, passed in zip(effects.items(), corrected.p, corrected.passed, strict=True)
    ]  # fmt: skip
    return sorted(listed, key=lambda sway: (not sway.flagged, -abs(sway.effect.value)))


def _sort(what: str) -> str:
    """Whether a change is one of pictures or of answers."""
    return "picture" if what in picture_variants.CHANGES else "answer"


def sway_table(found: Sequence[Sway]) -> Table:
    """The effects as a table."""
    rows: list[list[Cell]] = [
        [word(sway.what), word(sway.on), sway.effect, sway.p, word("yes" if sway.flagged else "no"), sway.least,
         sway.effect.n]
        for sway in found
    ]  # fmt: skip
    return Table(
        "sway",
        Note("audit.sway.title", "What sways it: two answers of the same worth, one changed"),
        headings("changed thing", "on", "log-odds per dose", "p corrected", "sways it", "least noticed", "rulings"),
        rows,
        [
            Note(
                "audit.sway.how",
                "Log-odds that the changed answer wins, for each dose (1 or 2); 0: it does not matter. Sways it: after "
                "Benjamini-Hochberg at 4% over all rows. For place and order of pictures: log-odds that the first "
                "shown wins. Least noticed: the smallest leaning that so many rulings show in 80% of audits; empty "
                "where they are too few.",
            )
        ],
        {},
        {"kind": "intervals", "label": "changed thing", "value": "log-odds per dose", "reference": 0.0},
    )
