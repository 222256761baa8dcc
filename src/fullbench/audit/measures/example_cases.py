"""The cases behind a card's figures: for each section those that tell most, with pictures and all that was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fullbench.audit.audit_card import Findings
from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import Heard
from fullbench.reports.html_page import Exhibit

SHOWN = 8
"""So many cases are shown for each section; the ledger has them all."""


def exhibits(found: Findings) -> dict[str, list[Exhibit]]:
    """Cases by section: blind verdicts, wrong rulings, changes that won, attacks that succeeded, faults."""
    rows = found.rows
    pairs = plain_pairs(rows)
    flagged = {sway.what for sway in found.flagged}
    blind = set(found.sight.blind)
    swapped = [row for row in rows if row.part == "look" and row.what == "swapped" and row.base in blind]
    wrong = [row for row in pairs.values() if row.right < 0.5]
    again = [row for row in rows if row.part == "pairs" and row.ruled and row not in pairs.values()]
    turned = [row for row in again if row.base in pairs and row.mark("right") != pairs[row.base].mark("right")]
    swayed = [
        row for row in rows if row.part == "sway" and row.ruled and row.what in flagged and row.mark("changed") > 0.5
    ]
    obeyed = [attack.row for attack in found.fooled.attacks if attack.moved > 0]
    return {
        "Sees": _shown([row for base in (swap.base for swap in swapped) for row in _both(rows, base)]),
        "Knows": _shown(wrong),
        "Steady": _shown(turned),
        "Swayed": _shown(swayed),
        "Fooled": _shown(obeyed),
        "Faults and cost": _shown([row for row in rows if not row.ruled]),
    }


def _both(rows: Sequence[Heard], base: str) -> Iterable[Heard]:
    """A pair with its own picture and with the other one."""
    pair = plain_pairs(rows).get(base)
    yield from () if pair is None else (pair,)
    yield from (row for row in rows if row.base == base and row.part == "look" and row.what == "swapped")


def _shown(rows: Sequence[Heard]) -> list[Exhibit]:
    unique = list({row.verdict.case + str(row.verdict.trial): row for row in rows}.values())
    return [Exhibit(row.item, row.responses, [row.verdict], note=_note(row)) for row in unique[:SHOWN]]


def _note(row: Heard) -> str:
    known = ", ".join(
        f"{response.contestant}: {response.tags['quality']}" for response in row.responses if "quality" in response.tags
    )
    what = " ".join(filter(None, (row.part, row.what, row.item.tags.get("dose", ""))))
    return f"{what}; true worths: {known}; case {row.verdict.case[:12]}"
