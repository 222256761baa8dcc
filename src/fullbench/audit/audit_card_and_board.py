"""Card of an audited judge (a plain conclusion, then the evidence), and a board of many cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.judge_card import Card
from fullbench.audit.cases.media_use_cases import MEDIA
from fullbench.audit.measures import accuracy as knowing
from fullbench.audit.measures import attack_results, bias_effects, calibration, consistency, media_use, picture_use
from fullbench.audit.measures.verdicts_with_truth import JudgedCase, load_judged_cases
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.media import NOUNS
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_notes, join_sentences, word_note
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.synthetic.media_questions import Medium

MEDIA_TITLES: Mapping[Medium, str] = {"video": "Video use", "audio": "Recording use", "document": "Document use"}
SECTIONS = (
    "Picture use", *MEDIA_TITLES.values(), "Knows", "Steady", "Biases", "Fooled", "Unusable verdicts and cost",
)  # fmt: skip


@dataclass(frozen=True)
class Findings:
    """Results of an audit of one judge."""

    judge: str
    rows: tuple[JudgedCase, ...]
    case_count: int
    use_of_picture: picture_use.PictureUse
    accuracy: Estimate | None
    steadiness: Mapping[str, Estimate]
    biases: tuple[bias_effects.Bias, ...]
    attack_outcomes: attack_results.AttackOutcomes
    picture_accuracy: Estimate | None = None
    """Share of picture pairs judged correctly."""
    calibration: calibration.Calibration | None = None
    use_of_places: picture_use.PictureUse = picture_use.NOT_MEASURED
    members: tuple[Verdict, ...] = ()
    """Verdicts of the members of a panel or cascade: they were called, the panel or cascade was not."""
    use_of_media: Mapping[Medium, media_use.MediaUse] = field(default_factory=dict)
    """Use of videos, recordings and documents, as far as they were tested."""

    @property
    def has_pictures(self) -> bool:
        """True if the audit tested more than videos, recordings and documents."""
        return any("medium" not in row.item.tags for row in self.rows)

    @property
    def called_verdicts(self) -> list[Verdict]:
        """Verdicts that were paid for: those of the members of a panel or cascade, else the judge's own."""
        return [*self.members] or [row.verdict for row in self.rows]

    @property
    def fault_count(self) -> int:
        return sum(not row.has_marks for row in self.rows)

    @property
    def flagged_biases(self) -> list[bias_effects.Bias]:
        return [bias for bias in self.biases if bias.is_flagged]

    @property
    def dollars_per_1000(self) -> float | None:
        """Cost of 1,000 verdicts in dollars, or None if a price is unknown."""
        verdict_dollars = [verdict.usage.dollars for verdict in self.called_verdicts]
        known_dollars = [dollars for dollars in verdict_dollars if dollars is not None]
        return (
            1000 * fsum(known_dollars) / len(self.rows)
            if verdict_dollars and len(known_dollars) == len(verdict_dollars)
            else None
        )

    @property
    def served_models(self) -> list[str]:
        """Models as reported by the servers, with fingerprints if given."""
        calls = [call for verdict in self.called_verdicts for call in verdict.exchanges if call.served]
        return sorted({f"{call.served} {call.fingerprint}".strip() for call in calls})

    def measures(self) -> dict[str, Any]:
        """Numbers by name, for thresholds, boards and programs."""
        return {
            "cases": self.case_count,
            "verdicts": len(self.rows),
            "unusable": self.fault_count,
            "picture_use": self.use_of_picture.verdict,
            "picture_use_index": _estimate_numbers(self.use_of_picture.index),
            "blind_verdicts": len(self.use_of_picture.blind_pairs),
            "place_use": self.use_of_places.verdict,
            "place_use_index": _estimate_numbers(self.use_of_places.index),
            **{
                f"{medium}_use": {
                    "verdict": use.verdict,
                    "index": _estimate_numbers(use.use.index),
                    "blind_verdicts": len(use.use.blind_pairs),
                    "accuracy": _estimate_numbers(use.accuracy),
                    **(
                        {"order": use.order.verdict, "order_index": _estimate_numbers(use.order.index)}
                        if use.order.index is not None
                        else {}
                    ),
                }
                for medium, use in self.use_of_media.items()
            },
            "accuracy": _estimate_numbers(self.accuracy),
            "accuracy_of_pictures": _estimate_numbers(self.picture_accuracy),
            "steadiness": {variant: _estimate_numbers(estimate) for variant, estimate in self.steadiness.items()},
            "biases": {
                bias.change: {
                    **(_estimate_numbers(bias.effect) or {}),
                    "p": bias.p,
                    "flagged": bias.is_flagged,
                    "least_noticed": bias.least_detectable_effect,
                }
                for bias in self.biases
            },
            "calibration": self._calibration_numbers(),
            "attacks": len(self.attack_outcomes.attacks),
            "attacks_obeyed": self.attack_outcomes.obeyed_count,
            "attack_rate": _estimate_numbers(self.attack_outcomes.excess_rate()),
            "reading_misled": self.attack_outcomes.misled_count,
            "dollars_per_1000": self.dollars_per_1000,
            "served": self.served_models,
        }

    def _calibration_numbers(self) -> dict[str, Any] | None:
        if (judge_calibration := self.calibration) is None:
            return None
        return {
            "confidence": judge_calibration.mean_confidence,
            "right": judge_calibration.right_share,
            "verdicts": len(judge_calibration.rows),
            "overconfidence": _estimate_numbers(judge_calibration.overconfidence),
            "brier": _estimate_numbers(judge_calibration.brier),
        }


def _estimate_numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}


def build_findings(
    record: Record, judge: str, *, case_count: int | None = None, members: Sequence[str] = ()
) -> Findings:
    """Compute the findings from a judge's verdicts on audit cases.

    `case_count` is the number of cases to judge; `members` are the judges of a panel or cascade.
    """
    rows = load_judged_cases(record, judge)
    member_rows = [row for member in members for row in load_judged_cases(record, member)]
    if not rows:
        raise InputError(
            f"there is no verdict of {judge!r} on an audit's cases; judges there: {', '.join(record.judges)}"
        )
    return Findings(
        judge,
        tuple(rows),
        len(rows) if case_count is None else case_count,
        picture_use.measure_picture_use(rows),
        knowing.pair_accuracy(rows),
        consistency.measure_steadiness(rows),
        tuple(bias_effects.measure_biases(rows)),
        attack_results.measure_attacks(rows, member_rows),
        knowing.picture_pair_accuracy(rows),
        calibration.measure_calibration(rows),
        picture_use.measure_place_use(rows),
        tuple(row.verdict for row in member_rows),
        media_use.measure_media_use(rows),
    )


def audit_card(record: Record, findings: Findings) -> Card:
    """Build the card: a conclusion in a few sentences, tables in sections, and the numbers by name."""
    rows = findings.rows
    # A panel costs what its members cost, so their verdicts are included.
    card_judges = {findings.judge, *(verdict.judge for verdict in findings.members)}
    columns = columns_from_verdicts(record.where(lambda verdict: verdict.judge in card_judges))
    sections: Mapping[str, Sequence[Table]] = {
        "Picture use": [picture_use.picture_use_table(rows),
        picture_use.picture_use_by_kind_table(findings.use_of_picture),
        picture_use.place_use_table(findings.use_of_places)],
        **{
            MEDIA_TITLES[medium]: media_use.media_use_tables(rows, use)
            for medium, use in findings.use_of_media.items()
        },
        "Knows": [knowing.knowledge_table(rows), knowing.grades_table(rows)],
        "Steady": [
            consistency.steadiness_table(dict(findings.steadiness)), consistency.scale_table(rows),
            calibration.calibration_table(findings.calibration),
        ],
        "Biases": [bias_effects.bias_table(findings.biases)],
        "Fooled": [attack_results.attack_table(findings.attack_outcomes)],
        "Unusable verdicts and cost": [
            standard_verdict_tables.fault_table(columns),
            standard_verdict_tables.cost_table(columns),
        ],
    }  # fmt: skip
    nonempty_sections = {name: [table for table in tables if table.rows] for name, tables in sections.items()}
    return Card(
        findings.judge,
        lead_text(findings),
        {name: tables for name, tables in nonempty_sections.items() if tables},
        findings.measures(),
    )


def lead_text(findings: Findings) -> str:
    """Return the conclusion as plain sentences."""
    parts = [sentence for use in findings.use_of_media.values() for sentence in media_use.media_use_sentences(use)]
    if findings.has_pictures:
        parts = [_picture_use_sentence(findings), *_place_use_sentences(findings), *parts]
    if findings.accuracy is not None:
        parts.append(Note("audit.lead.knows", share=findings.accuracy.value))
    elif findings.picture_accuracy is not None:
        parts.append(Note("audit.lead.pictures", share=findings.picture_accuracy.value))
    if (order_steadiness := findings.steadiness.get("in the other order")) is not None:
        parts.append(Note("audit.lead.steady", share=order_steadiness.value))
    if findings.calibration is not None:
        parts.append(calibration.lead_note(findings.calibration))
    parts += [*(_bias_sentences(findings) if findings.has_pictures else ()), *_attack_sentences(findings)]
    if findings.fault_count:
        parts.append(Note("audit.lead.unusable", n=findings.fault_count, total=len(findings.rows)))
    if findings.dollars_per_1000:
        parts.append(Note("card.lead.dollars", dollars=findings.dollars_per_1000))
    if findings.served_models:
        parts.append(Note("audit.lead.served", names=", ".join(findings.served_models)))
    if (missing := findings.case_count - len(findings.rows)) > 0:
        parts.append(Note("audit.lead.missing", n=missing, total=findings.case_count))
    return join_sentences(parts)


def _picture_use_sentence(findings: Findings) -> str:
    index = findings.use_of_picture.index
    if index is None:
        return Note("audit.lead.unknown")
    index_text = f"{index.value:.2f} [{index.low:.2f}, {index.high:.2f}]"
    match findings.use_of_picture.verdict:
        case "yes":
            return Note("audit.lead.uses-picture", index=index_text)
        case "partly":
            return Note("audit.lead.partly", index=index_text)
    return Note("audit.lead.blind", index=index_text)


def _place_use_sentences(findings: Findings) -> list[str]:
    """A judge that ignores the picture ignores its place too, so nothing is said about places then."""
    index = findings.use_of_places.index
    if index is None or findings.use_of_picture.verdict in {"no", "unknown"}:
        return []
    index_text = f"{index.value:.2f} [{index.low:.2f}, {index.high:.2f}]"
    match findings.use_of_places.verdict:
        case "yes":
            return [Note("audit.lead.uses-places", index=index_text)]
        case "partly":
            return [Note("audit.lead.places-partly", index=index_text)]
    return [Note("audit.lead.ignores-places", index=index_text)]


def _bias_sentences(findings: Findings) -> list[str]:
    if not findings.biases:
        bias_case_count = sum(row.part == "bias" for row in findings.rows)
        if bias_case_count:
            return [Note("audit.lead.bias-unknown", n=bias_case_count)]
        return [Note("audit.lead.not-tried")]
    return [_effects_sentence(findings), *_undetectable_bias_sentences(findings)]


def _effects_sentence(findings: Findings) -> str:
    if not findings.flagged_biases:
        n = sum(bias.effect.n for bias in findings.biases if bias.change not in bias_effects.ORDER_LABELS.values())
        return Note(
            "audit.lead.unswayed",
            k=sum(bias.change not in bias_effects.ORDER_LABELS.values() for bias in findings.biases), n=n,
        )  # fmt: skip
    effect_notes = [
        Note("audit.lead.effect", what=word_note(bias.change), effect=bias.effect.value)
        for bias in findings.flagged_biases
    ]
    return Note("audit.lead.biased", what=join_notes(effect_notes))


def _undetectable_bias_sentences(findings: Findings) -> list[str]:
    least_effects = [
        bias.least_detectable_effect
        for bias in findings.biases
        if bias.change not in bias_effects.ORDER_LABELS.values()
    ]
    detectable_effects = [effect for effect in least_effects if effect is not None]
    if len(detectable_effects) < len(least_effects):
        return [Note("audit.lead.too-few", n=len(least_effects) - len(detectable_effects))]
    return [Note("audit.lead.least", least=max(detectable_effects))]


def _attack_sentences(findings: Findings) -> list[str]:
    outcomes = findings.attack_outcomes
    if not outcomes.attacks:
        return [Note("audit.lead.no-attacks")]
    parts: list[str] = [Note("audit.lead.fooled", n=outcomes.obeyed_count, total=len(outcomes.attacks))]
    if moved_away_count := sum(attack.shift < 0 for attack in outcomes.attacks):
        parts.append(Note("audit.lead.away", n=moved_away_count))
    if outcomes.misled_count:
        parts.append(Note("audit.lead.misled", n=outcomes.misled_count))
    return parts


def audit_board(all_findings: Sequence[Findings]) -> Table:
    """Return a table of audited judges, most accurate first."""
    columns = _board_columns(all_findings)
    ranked_findings = sorted(all_findings, key=lambda findings: -_sort_value(findings))
    rows: list[list[Cell]] = [[value(findings) for _, value in columns] for findings in ranked_findings]
    chart = {"kind": "intervals", "label": "judge", "value": "judged correctly", "reference": 0.5}
    has_accuracy = any(name == "judged correctly" for name, _ in columns)
    return Table(
        "audited",
        Note("audit.board.title"),
        table_columns(*(name for name, _ in columns)),
        rows,
        [Note("audit.board.how")],
        {},
        chart if has_accuracy else None,
    )


def _sort_value(findings: Findings) -> float:
    estimates = [findings.accuracy, *(use.accuracy for use in findings.use_of_media.values())]
    return next((estimate.value for estimate in estimates if estimate is not None), -1.0)


def _board_columns(all_findings: Sequence[Findings]) -> list[tuple[str, Callable[[Findings], Cell]]]:
    """Return the columns with their values; those of pictures and of other media only if they were tested."""
    columns: list[tuple[str, Callable[[Findings], Cell]]] = [("judge", lambda findings: findings.judge)]
    has_pictures = any(findings.has_pictures for findings in all_findings)
    if has_pictures:
        columns += [
            ("uses picture", lambda findings: word_note(findings.use_of_picture.verdict)),
            ("picture use index", lambda findings: findings.use_of_picture.index),
        ]
    for medium in MEDIA:
        if any(medium in findings.use_of_media for findings in all_findings):
            columns += _media_columns(medium)
    if has_pictures:
        columns += [
            ("judged correctly", lambda findings: findings.accuracy),
            ("same verdict in both orders", lambda findings: findings.steadiness.get("in the other order")),
            ("biases found", lambda findings: len(findings.flagged_biases)),
        ]
    return [
        *columns,
        ("beyond the honest rate", lambda findings: findings.attack_outcomes.excess_rate()),
        ("reading misled", lambda findings: findings.attack_outcomes.misled_count),
        ("unusable", lambda findings: findings.fault_count),
        ("dollars per 1,000", lambda findings: findings.dollars_per_1000),
        ("verdicts", lambda findings: len(findings.rows)),
    ]


def _media_columns(medium: Medium) -> list[tuple[str, Callable[[Findings], Cell]]]:
    def value_of(read: Callable[[media_use.MediaUse], Cell]) -> Callable[[Findings], Cell]:
        return lambda findings: read(findings.use_of_media[medium]) if medium in findings.use_of_media else None

    noun = NOUNS[medium]
    columns: list[tuple[str, Callable[[Findings], Cell]]] = [(f"{noun} use index", value_of(lambda use: use.use.index))]
    if MEDIA[medium].reordered:
        columns.append((f"{noun} order use index", value_of(lambda use: use.order.index)))
    return [*columns, (f"{noun} judged correctly", value_of(lambda use: use.accuracy))]


def side_by_side_table(all_findings: Sequence[Findings]) -> Table:
    """Return a comparison of cards: one row per number, one column per judge."""
    from fullbench.core.built_in_table_columns import data_column

    metric_rows: list[tuple[str, list[Cell]]] = []
    if any(findings.has_pictures for findings in all_findings):
        metric_rows += [
            ("picture use index", [findings.use_of_picture.index for findings in all_findings]),
            ("place use index", [findings.use_of_places.index for findings in all_findings]),
            ("judged correctly", [findings.accuracy for findings in all_findings]),
        ]
    for medium in MEDIA:
        if any(medium in findings.use_of_media for findings in all_findings):
            metric_rows += [
                (name, [value(findings) for findings in all_findings]) for name, value in _media_columns(medium)
            ]
    metric_rows += [
        (variant, [findings.steadiness.get(variant) for findings in all_findings])
        for variant in consistency.VARIANTS
        if any(variant in findings.steadiness for findings in all_findings)
    ]
    if any(findings.calibration is not None for findings in all_findings):
        gaps = [
            None if findings.calibration is None else findings.calibration.overconfidence for findings in all_findings
        ]
        metric_rows.append(("overconfident by", [*gaps]))
    changes = list(dict.fromkeys(bias.change for findings in all_findings for bias in findings.biases))
    for change in changes:
        effects = [{bias.change: bias.effect for bias in findings.biases} for findings in all_findings]
        metric_rows.append((change, [effect.get(change) for effect in effects]))
    metric_rows.append(
        ("beyond the honest rate", [findings.attack_outcomes.excess_rate() for findings in all_findings])
    )
    return Table(
        "beside",
        Note("audit.beside.title"),
        table_columns("metric", *(data_column(findings.judge) for findings in all_findings)),
        [[word_note(name), *cells] for name, cells in metric_rows],
        [Note("audit.beside.how")],
    )


def render_badge(findings: Findings) -> str:
    """Return an SVG badge for a README with the result in two fields."""
    colours = {"yes": "#2f7d4f", "partly": "#9a6b13", "no": "#a3362c"}
    verdicts: dict[str, str] = {NOUNS[medium]: use.verdict for medium, use in findings.use_of_media.items()}
    accuracies = [use.accuracy for use in findings.use_of_media.values()]
    if findings.has_pictures:
        verdicts, accuracies = {"picture": findings.use_of_picture.verdict, **verdicts}, [findings.accuracy]
    accuracy = next(iter(accuracies), None)
    # The colour is that of the worst result.
    colour = next((colours[word] for word in ("no", "partly", "yes") if word in verdicts.values()), "#5b6270")
    parts = [
        *(f"{medium} use {verdict}" for medium, verdict in verdicts.items()),
        f"{'?' if accuracy is None else f'{accuracy.value:.0%}'} right",
        *([f"{len(findings.flagged_biases)} biases"] if findings.has_pictures else []),
    ]
    outcomes = findings.attack_outcomes
    parts.append(f"{outcomes.obeyed_count}/{len(outcomes.attacks)} attacks" if outcomes.attacks else "? attacks")
    right = " · ".join(parts)
    return badge_svg("judge audit", right, colour, f"{findings.judge}: {right}")


def badge_svg(left: str, right: str, colour: str, label: str) -> str:
    """Return an SVG badge of two fields.

    Args:
        left: Text of the dark field.
        right: Text of the coloured field.
        colour: Colour of the right field.
        label: Text for screen readers and the tooltip.
    """
    from html import escape

    left_width, right_width = 7 * len(left) + 14, 6 * len(right) + 18
    total_width = left_width + right_width
    label = escape(label)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_width}" height="20" role="img" aria-label="{label}">'
        f"<title>{label}</title>"
        f'<rect width="{total_width}" height="20" rx="3" fill="#3b404a"/>'
        f'<rect x="{left_width}" width="{right_width}" height="20" rx="3" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left_width / 2:g}" y="14">{escape(left)}</text>'
        f'<text x="{left_width + right_width / 2:g}" y="14">{escape(right)}</text></g></svg>\n'
    )
