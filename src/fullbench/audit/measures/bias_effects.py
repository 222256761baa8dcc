"""Biases of a judge: effect of each irrelevant change, corrected for all the changes tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fullbench.audit.cases import picture_variants
from fullbench.audit.measures.verdicts_with_truth import JudgedCase, marked_cases
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import Undefined
from fullbench.stats.bias.win_odds_per_change_strength import estimate_change_effects, least_detectable_effect
from fullbench.stats.paired_comparison_and_test_corrections import benjamini_hochberg

ORDER_LABELS: Mapping[str, str] = {"answer": "place", "picture": "order of pictures"}
"""Names of the effect of being shown first."""
LEVEL, POWER = 0.04, 0.8
"""Level below 5 %, so that clean judges are flagged in less than 5 % of audits despite the error of measuring that."""


@dataclass(frozen=True)
class Bias:
    """Effect of one change in log-odds per unit of strength, its corrected p-value, and the flag.

    `least_detectable_effect` is the smallest effect, alone among all changes, that this number of verdicts reveals in
    80 % of audits; None if they are too few for any.
    """

    change: str
    changed_part: str
    effect: Estimate
    p: float
    is_flagged: bool
    least_detectable_effect: float | None


def measure_biases(rows: Sequence[JudgedCase]) -> list[Bias]:
    """Return all effects, strongest first, including the effects of being shown first."""
    bias_rows = marked_cases(rows, "bias")
    if not bias_rows:
        return []
    names = list(dict.fromkeys(row.change for row in bias_rows))
    ordered_rows = sorted(bias_rows, key=lambda row: names.index(row.change))
    try:
        fit = estimate_change_effects(
            [row.mark("changed") for row in ordered_rows],
            [float(row.item.tags["strength"]) for row in ordered_rows],
            [1.0 if row.verdict.contestants[0] == "changed" else -1.0 for row in ordered_rows],
            [row.change for row in ordered_rows],
            [row.item.id for row in ordered_rows],
            sort=[_changed_part(row.change) for row in ordered_rows],
        )
    except Undefined:
        return []
    effects = dict(zip(names, fit.effects, strict=True))
    parts = list(dict.fromkeys(_changed_part(name) for name in names))
    effects |= {ORDER_LABELS[part]: effect for part, effect in zip(parts, fit.places, strict=True)}
    correction = benjamini_hochberg([1.0 if effect.p is None else effect.p for effect in effects.values()], level=LEVEL)
    strengths_by_change = {
        name: [float(row.item.tags["strength"]) for row in ordered_rows if row.change == name] for name in names
    }
    strengths_by_change |= {
        ORDER_LABELS[part]: [1.0] * sum(_changed_part(row.change) == part for row in ordered_rows) for part in parts
    }
    # A single effect must pass the strictest step of the Benjamini-Hochberg correction.
    least_effects = {
        name: least_detectable_effect(strengths, LEVEL / len(effects), POWER)
        for name, strengths in strengths_by_change.items()
    }
    biases = [
        Bias(
            change,
            "order" if change in ORDER_LABELS.values() else _changed_part(change),
            effect,
            p,
            is_significant,
            least_effects[change],
        )
        for (change, effect), p, is_significant in zip(
            effects.items(), correction.p, correction.is_significant, strict=True
        )
    ]
    return sorted(biases, key=lambda bias: (not bias.is_flagged, -abs(bias.effect.value)))


def _changed_part(change: str) -> str:
    return "picture" if change in picture_variants.CHANGES else "answer"


def bias_table(biases: Sequence[Bias]) -> Table:
    """Return the effects as a table."""
    rows: list[list[Cell]] = [
        [
            word_note(bias.change),
            word_note(bias.changed_part),
            bias.effect,
            bias.p,
            word_note("yes" if bias.is_flagged else "no"),
            bias.least_detectable_effect,
            bias.effect.n,
        ]
        for bias in biases
    ]
    return Table(
        "bias",
        Note("audit.bias.title"),
        table_columns(
            "changed thing", "on", "log-odds per unit strength", "p corrected", "biased", "least noticed", "verdicts"
        ),
        rows,
        [Note("audit.bias.how")],
        {},
        {"kind": "intervals", "label": "changed thing", "value": "log-odds per unit strength", "reference": 0.0},
    )
