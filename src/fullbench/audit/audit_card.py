"""The card of an audited judge: a plain verdict first, then the evidence; and many cards as a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from fullbench.analysis import all_tables
from fullbench.analysis.judge_card import Card
from fullbench.audit.measures import accuracy as knowing
from fullbench.audit.measures import attack_results, bias_effects, calibration, consistency, picture_use
from fullbench.audit.measures.verdicts_with_truth import Heard, heard
from fullbench.columns.column_builder import columns_of
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed, sentences, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError

SECTIONS = ("Sees", "Knows", "Steady", "Swayed", "Fooled", "Faults and cost")


@dataclass(frozen=True)
class Findings:
    """What an audit found about one judge."""

    judge: str
    rows: tuple[Heard, ...]
    wanted: int
    sight: picture_use.Sight
    accuracy: Estimate | None
    steadiness: Mapping[str, Estimate]
    sways: tuple[bias_effects.Sway, ...]
    fooled: attack_results.Fooled
    pictures: Estimate | None = None
    """How often pairs of pictures are ruled rightly."""
    calibration: calibration.Calibration | None = None
    members: tuple[Verdict, ...] = ()
    """Of a panel or cascade, what its members ruled: they were asked, it was not."""

    @property
    def asked(self) -> list[Verdict]:
        """The verdicts that somebody was asked for."""
        return [*self.members] or [row.verdict for row in self.rows]

    @property
    def faults(self) -> int:
        return sum(not row.ruled for row in self.rows)

    @property
    def flagged(self) -> list[bias_effects.Sway]:
        return [sway for sway in self.sways if sway.flagged]

    @property
    def dollars(self) -> float | None:
        """What 1,000 verdicts cost; None where a price is not known."""
        spent = [verdict.usage.dollars for verdict in self.asked]
        known = [dollars for dollars in spent if dollars is not None]
        return 1000 * fsum(known) / len(self.rows) if spent and len(known) == len(spent) else None

    @property
    def served(self) -> list[str]:
        """What the servers said that they are: models, with fingerprints where they gave them."""
        calls = [call for verdict in self.asked for call in verdict.exchanges if call.served]
        return sorted({f"{call.served} {call.fingerprint}".strip() for call in calls})

    def measures(self) -> dict[str, Any]:
        """The figures by name, for thresholds, boards and programs."""
        return {
            "cases": self.wanted,
            "verdicts": len(self.rows),
            "faults": self.faults,
            "sees": self.sight.verdict,
            "sight_index": _numbers(self.sight.index),
            "blind_verdicts": len(self.sight.blind),
            "accuracy": _numbers(self.accuracy),
            "accuracy_of_pictures": _numbers(self.pictures),
            "steadiness": {way: _numbers(held) for way, held in self.steadiness.items()},
            "sways": {
                sway.what: {
                    **(_numbers(sway.effect) or {}),
                    "p": sway.p,
                    "flagged": sway.flagged,
                    "least_noticed": sway.least,
                }
                for sway in self.sways
            },
            "calibration": self._calibration(),
            "attacks": len(self.fooled.attacks),
            "attacks_obeyed": self.fooled.obeyed,
            "attack_rate": _numbers(self.fooled.rate()),
            "reading_misled": self.fooled.misled,
            "dollars_per_1000": self.dollars,
            "served": self.served,
        }

    def _calibration(self) -> dict[str, Any] | None:
        if (found := self.calibration) is None:
            return None
        return {
            "confidence": found.confidence, "right": found.right, "rulings": len(found.rows),
            "overconfidence": _numbers(found.overconfidence), "brier": _numbers(found.brier),
        }  # fmt: skip


def _numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}


def findings(record: Record, judge: str, *, wanted: int | None = None, members: Sequence[str] = ()) -> Findings:
    """What the verdicts of a judge on an audit's cases show; `wanted` is how many cases there are to hear, `members`
    the judges that a panel or cascade is made of."""
    rows = heard(record, judge)
    inner = [row for member in members for row in heard(record, member)]
    if not rows:
        raise InputError(
            f"there is no verdict of {judge!r} on an audit's cases; judges there: {', '.join(record.judges)}"
        )
    return Findings(
        judge, tuple(rows), len(rows) if wanted is None else wanted, picture_use.sight(rows), knowing.accuracy(rows),
        consistency.steadiness(rows), tuple(bias_effects.sways(rows)), attack_results.fooled(rows, inner),
        knowing.of_pictures(rows), calibration.calibration(rows), tuple(row.verdict for row in inner),
    )  # fmt: skip


def audit_card(record: Record, found: Findings) -> Card:
    """The card: the verdict in a few sentences, tables under a few headings, and the figures by name."""
    rows = found.rows
    # a panel costs what its members cost, so they stand beside it
    counted = {found.judge, *(verdict.judge for verdict in found.members)}
    columns = columns_of(record.where(lambda verdict: verdict.judge in counted))
    sections: Mapping[str, Sequence[Table]] = {
        "Sees": [picture_use.look_table(rows), picture_use.kinds_table(found.sight)],
        "Knows": [knowing.knowledge_table(rows), knowing.grades_table(rows)],
        "Steady": [
            consistency.steadiness_table(dict(found.steadiness)), consistency.scale_table(rows),
            calibration.calibration_table(found.calibration),
        ],
        "Swayed": [bias_effects.sway_table(found.sways)],
        "Fooled": [attack_results.fooled_table(found.fooled)],
        "Faults and cost": [all_tables.faults(columns), all_tables.costs(columns)],
    }  # fmt: skip
    filled = {name: [table for table in tables if table.rows] for name, tables in sections.items()}
    return Card(found.judge, lead(found), {name: tables for name, tables in filled.items() if tables}, found.measures())


def lead(found: Findings) -> str:
    """The plain verdict."""
    parts: list[str] = [_sees(found)]
    if found.accuracy is not None:
        parts.append(
            Note(
                "audit.lead.knows", "It rules {share:.0%} of pairs rightly, where chance gives 50%.",
                share=found.accuracy.value,
            )
        )  # fmt: skip
    elif found.pictures is not None:
        parts.append(
            Note(
                "audit.lead.pictures", "It rules {share:.0%} of pairs of pictures rightly, where chance gives 50%.",
                share=found.pictures.value,
            )
        )  # fmt: skip
    if (turned := found.steadiness.get("in the other order")) is not None:
        parts.append(
            Note("audit.lead.steady", "{share:.0%} of its rulings stay in the other order.", share=turned.value)
        )
    if found.calibration is not None:
        parts.append(calibration.lead(found.calibration))
    parts += [*_swayed(found), *_fooled(found)]
    if found.faults:
        parts.append(
            Note("audit.lead.faults", "{n:,} of {total:,} cases have no ruling.", n=found.faults, total=len(found.rows))
        )
    if found.dollars:
        parts.append(Note("card.lead.dollars", "1,000 verdicts cost {dollars:.2f} dollars.", dollars=found.dollars))
    if found.served:
        parts.append(Note("audit.lead.served", "The server called itself {names}.", names=", ".join(found.served)))
    if (missing := found.wanted - len(found.rows)) > 0:
        parts.append(
            Note(
                "audit.lead.missing", "{n:,} of {total:,} cases are not heard yet; the same command asks for them.",
                n=missing, total=found.wanted,
            )
        )  # fmt: skip
    return sentences(parts)


def _sees(result: Findings) -> str:
    index = result.sight.index
    if index is None:
        return Note("audit.lead.unknown", "Whether it looks at the picture is not known: no pair was heard with both.")
    shown = f"{index.value:.2f} [{index.low:.2f}, {index.high:.2f}]"
    match result.sight.verdict:
        case "sees":
            return Note("audit.lead.sees", "It sees the picture (sight index {index}).", index=shown)
        case "partly":
            return Note(
                "audit.lead.partly",
                "Its rulings follow the picture in part (sight index {index}): it does not always look, or it looks "
                "and is unsure.",
                index=shown,
            )
    return Note(
        "audit.lead.blind", "There is no sign that it looks at the picture (sight index {index}): do not trust it.",
        index=shown,
    )  # fmt: skip


def _swayed(result: Findings) -> list[str]:
    if not result.sways:
        asked = sum(row.part == "sway" for row in result.rows)
        if asked:
            return [
                Note(
                    "audit.lead.sway-unruled",
                    "What sways it cannot be told: none of {n:,} such cases has a ruling.",
                    n=asked,
                )
            ]
        return [Note("audit.lead.not-tried", "What sways it was not tried.")]
    return [_effects(result), *_unnoticed(result)]


def _effects(result: Findings) -> str:
    if not result.flagged:
        n = sum(sway.effect.n for sway in result.sways if sway.what not in bias_effects.PLACE.values())
        return Note(
            "audit.lead.unswayed",
            "None of the {k} changes that should not matter sways it, as far as {n:,} rulings tell.",
            k=sum(sway.what not in bias_effects.PLACE.values() for sway in result.sways), n=n,
        )  # fmt: skip
    effects = [
        Note(
            "audit.lead.effect",
            "{what} ({effect:+.1f} log-odds per dose)",
            what=word(sway.what),
            effect=sway.effect.value,
        )
        for sway in result.flagged
    ]
    return Note("audit.lead.swayed", "It is swayed by: {what}.", what=listed(effects))


def _unnoticed(result: Findings) -> list[str]:
    """What the audit is too small to notice."""
    least = [sway.least for sway in result.sways if sway.what not in bias_effects.PLACE.values()]
    known = [effect for effect in least if effect is not None]
    if len(known) < len(least):
        return [
            Note(
                "audit.lead.too-few",
                "{n:,} changes have too few rulings for any leaning to be noticed; a larger audit has more.",
                n=len(least) - len(known),
            )
        ]
    return [
        Note(
            "audit.lead.least",
            "Leanings below {least:.1f} log-odds per dose may go unnoticed; a larger audit notices smaller ones.",
            least=max(known),
        )
    ]


def _fooled(result: Findings) -> list[str]:
    attacked = result.fooled
    if not attacked.attacks:
        return [Note("audit.lead.no-attacks", "Whether it can be fooled was not tried.")]
    parts: list[str] = [
        Note("audit.lead.fooled", "{n:,} of {total:,} attacks succeed.", n=attacked.obeyed, total=len(attacked.attacks))
    ]
    if away := sum(attack.moved < 0 for attack in attacked.attacks):
        parts.append(
            Note("audit.lead.away", "{n:,} rulings moved away from the attacker, as unsteady ones do.", n=away)
        )
    if attacked.misled:
        parts.append(
            Note("audit.lead.misled", "Our own reading was misled {n:,} times: report this.", n=attacked.misled)
        )
    return parts


def board(all_findings: Sequence[Findings]) -> Table:
    """Audited judges side by side, the most accurate first."""
    ordered = sorted(all_findings, key=lambda result: -(result.accuracy.value if result.accuracy else -1))
    rows: list[list[Cell]] = [
        [
            result.judge, word(result.sight.verdict), result.sight.index, result.accuracy,
            result.steadiness.get("in the other order"), len(result.flagged), result.fooled.rate(),
            result.fooled.misled, result.faults, result.dollars, len(result.rows),
        ]
        for result in ordered
    ]  # fmt: skip
    return Table(
        "audited",
        Note("audit.board.title", "Audited judges"),
        headings(
            "judge", "looks", "sight index", "ruled rightly", "same ruling in both orders", "sways found",
            "beyond the honest rate", "reading misled", "faults", "dollars per 1,000", "verdicts",
        ),
        rows,
        [
            Note(
                "audit.board.how",
                "Judges are compared on the same cases only where audits have the same size and seed.",
            )
        ],
        {},
        {"kind": "intervals", "label": "judge", "value": "ruled rightly", "reference": 0.5},
    )  # fmt: skip


def beside(all_findings: Sequence[Findings]) -> Table:
    """Cards side by side: one row for each figure, one column for each judge."""
    from fullbench.core.column_labels import named

    figures: list[tuple[str, list[Cell]]] = [
        ("sight index", [result.sight.index for result in all_findings]),
        ("ruled rightly", [result.accuracy for result in all_findings]),
    ]
    figures += [
        (way, [result.steadiness.get(way) for result in all_findings])
        for way in consistency.WAYS
        if any(way in result.steadiness for result in all_findings)
    ]
    if any(result.calibration is not None for result in all_findings):
        gaps = [None if result.calibration is None else result.calibration.overconfidence for result in all_findings]
        figures.append(("overconfident by", [*gaps]))
    changes = list(dict.fromkeys(sway.what for result in all_findings for sway in result.sways))
    for change in changes:
        effects = [{sway.what: sway.effect for sway in result.sways} for result in all_findings]
        figures.append((change, [effect.get(change) for effect in effects]))
    figures.append(("beyond the honest rate", [result.fooled.rate() for result in all_findings]))
    return Table(
        "beside",
        Note("audit.beside.title", "Cards side by side"),
        headings("figure", *(named(result.judge) for result in all_findings)),
        [[word(name), *cells] for name, cells in figures],
        [Note("audit.beside.how", "Changes that should not matter are in log-odds per dose.")],
    )


def badge(found: Findings) -> str:
    """A badge (SVG) for a README: what was found, in two fields."""
    from html import escape

    colour = {"sees": "#2f7d4f", "partly": "#9a6b13", "blind": "#a3362c"}.get(found.sight.verdict, "#5b6270")
    accuracy = "?" if found.accuracy is None else f"{found.accuracy.value:.0%}"
    attacks = f"{found.fooled.obeyed}/{len(found.fooled.attacks)}" if found.fooled.attacks else "?"
    left = "judge audit"
    right = f"{found.sight.verdict} · {accuracy} right · {len(found.flagged)} biases · {attacks} attacks"
    wide_left, wide_right = 7 * len(left) + 14, 6 * len(right) + 18
    wide = wide_left + wide_right
    label = escape(f"{found.judge}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="20" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{wide}" height="20" rx="3" fill="#3b404a"/>'
        f'<rect x="{wide_left}" width="{wide_right}" height="20" rx="3" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{wide_left / 2:g}" y="14">{left}</text>'
        f'<text x="{wide_left + wide_right / 2:g}" y="14">{escape(right)}</text></g></svg>\n'
    )
