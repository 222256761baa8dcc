"""Example cases for a card: the most telling ones of each section, with pictures and full replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fullbench.audit.audit_card_and_board import MEDIA_TITLES, Findings
from fullbench.audit.cases.media_use_cases import PLAIN, REORDERED, VARIED
from fullbench.audit.measures.media_use import MediaUse
from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import JudgedCase
from fullbench.reports.html_page import Exhibit

# Each exhibit embeds its pictures; a page that people mail must stay small.
EXHIBITS_PER_SECTION = 8


def select_exhibits(findings: Findings) -> dict[str, list[Exhibit]]:
    """Select cases by section: blind or wrong verdicts, changes that won, successful attacks, unusable verdicts."""
    rows = findings.rows
    pairs = plain_pairs(rows)
    flagged_changes = {bias.change for bias in findings.flagged_biases}
    blind_bases = set(findings.use_of_picture.blind_pairs)
    blind_rows = [
        row for row in rows if row.part == "picture use" and row.change == "swapped" and row.base in blind_bases
    ]
    wrong_rows = [row for row in pairs.values() if row.right_share < 0.5]
    repeated_rows = [row for row in rows if row.part == "pairs" and row.has_marks and row not in pairs.values()]
    unsteady_rows = [
        row for row in repeated_rows if row.base in pairs and row.mark("right") != pairs[row.base].mark("right")
    ]
    biased_rows = [
        row
        for row in rows
        if row.part == "bias" and row.has_marks and row.change in flagged_changes and row.mark("changed") > 0.5
    ]
    obeyed_rows = [attack.row for attack in findings.attack_outcomes.attacks if attack.shift > 0]
    return {
        "Picture use": _build_exhibits(
            [row for base in (blind_row.base for blind_row in blind_rows) for row in _pair_with_swap(rows, base)]
        ),
        **{
            MEDIA_TITLES[medium]: _build_exhibits(_blind_media_rows(rows, use))
            for medium, use in findings.use_of_media.items()
        },
        "Knows": _build_exhibits(wrong_rows),
        "Steady": _build_exhibits(unsteady_rows),
        "Biases": _build_exhibits(biased_rows),
        "Fooled": _build_exhibits(obeyed_rows),
        "Unusable verdicts and cost": _build_exhibits([row for row in rows if not row.has_marks]),
    }


def _blind_media_rows(rows: Sequence[JudgedCase], use: MediaUse) -> list[JudgedCase]:
    blind_bases = {*use.use.blind_pairs, *use.order.blind_pairs}
    opposites = {"swapped", *REORDERED}
    return [
        row
        for row in rows
        if row.base in blind_bases and (row.part == PLAIN or (row.part == VARIED and row.change in opposites))
    ]


def _pair_with_swap(rows: Sequence[JudgedCase], base: str) -> Iterable[JudgedCase]:
    pair = plain_pairs(rows).get(base)
    yield from () if pair is None else (pair,)
    yield from (row for row in rows if row.base == base and row.part == "picture use" and row.change == "swapped")


def _build_exhibits(rows: Sequence[JudgedCase]) -> list[Exhibit]:
    unique = list({row.verdict.case + str(row.verdict.trial): row for row in rows}.values())
    return [
        Exhibit(row.item, row.responses, [row.verdict], note=_exhibit_note(row))
        for row in unique[:EXHIBITS_PER_SECTION]
    ]


def _exhibit_note(row: JudgedCase) -> str:
    qualities_text = ", ".join(
        f"{response.contestant}: {response.tags['quality']}" for response in row.responses if "quality" in response.tags
    )
    case_text = " ".join(filter(None, (row.part, row.change, row.item.tags.get("strength", ""))))
    return f"{case_text}; true worths: {qualities_text}; case {row.verdict.case[:12]}"
