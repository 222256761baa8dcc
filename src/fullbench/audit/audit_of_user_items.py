"""Audit on the user's own items, without known truth: does the judge use the picture, and is it biased.

Two answers to every item are judged as they are, again, and with the picture blank, blurred or exchanged for another
item's. If the item has captions, they also replace the picture. A judge that uses the picture changes its verdict more
often then than on a plain repetition.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.judge_card import Card
from fullbench.audit.cases import irrelevant_answer_changes_and_rewordings, picture_variants
from fullbench.audit.cases.build_audit_cases import BIAS_PAIRS, PAIRS
from fullbench.audit.measures import bias_effects
from fullbench.audit.measures.verdicts_with_truth import (
    JudgedCase,
    load_judged_cases,
    marked_cases,
    share_over_items,
    signed_mean_over_items,
)
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item, Part, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_sentences, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.synthetic.vocabulary import Language

TEXT_CHANGES = ("length", "markdown", "confidence", "authority", "self-reference", "emoji", "name leaked")
"""Changes that any text answer allows."""
VARIANTS = ("again", "blank", "swapped", "blurred", "captioned")


def build_own_cases(
    items: Sequence[Item],
    responses: Sequence[Response],
    *,
    with_bias_cases: bool,
    seed: int = 0,
    limit: int | None = None,
) -> list[Case]:
    """Build the cases from the user's data; needs two items with a picture and two text answers each.

    A limit selects the first usable items; their cases stay the same as without it.
    """
    answers = _text_answers_by_item(responses)
    complete_items = usable_items(items, responses)
    if len(complete_items) < 2:
        raise InputError(
            f"to see whether a judge looks, two items or more with a picture and two answers are needed; found "
            f"{len(complete_items)} of {len(items)}"
        )
    cases: list[Case] = []
    for number, item in enumerate(complete_items[:limit]):
        rng = random.Random(f"{seed}/{item.id}")
        first, second = rng.sample(sorted(answers[item.id], key=lambda answer: answer.contestant), 2)
        next_item = complete_items[(number + 1) % len(complete_items)]
        cases += _picture_use_cases(item, next_item, (first, second))
        if with_bias_cases:
            cases.append(_bias_case(item, first, number))
    return cases


def usable_items(items: Sequence[Item], responses: Sequence[Response]) -> list[Item]:
    """Return the items that have a picture and two text answers."""
    answers = _text_answers_by_item(responses)
    return [item for item in items if item.pictures and len(answers.get(item.id, ())) > 1]


def _text_answers_by_item(responses: Sequence[Response]) -> dict[str, list[Response]]:
    """Return the non-empty first answers of contestants by item."""
    answers: dict[str, list[Response]] = {}
    for response in responses:
        if response.sample == 0 and response.text.strip():
            answers.setdefault(response.item, []).append(response)
    return answers


def _picture_use_cases(item: Item, other_item: Item, pair: tuple[Response, Response]) -> Iterator[Case]:
    plain = replace(item, tags={**item.tags, "part": "own", "base": item.id, "what": "as it is"})
    yield Case(plain, pair, PAIRS)
    yield Case(plain, pair, PAIRS, trial=1)
    pictures_by_variant = {
        "blank": [picture_variants.blank_picture(picture.data()) for picture in item.pictures],
        "blurred": [picture_variants.blur_picture(picture.data()) for picture in item.pictures],
        "swapped": [
            other_item.pictures[position % len(other_item.pictures)].data() for position in range(len(item.pictures))
        ],
    }
    if len(item.captions) == len(item.pictures):
        pictures_by_variant["captioned"] = pictures_by_variant["blank"]
    for change, pictures in pictures_by_variant.items():
        name = f"{item.id}~{change}"
        captions = item.captions if change == "captioned" else ()
        turns = _replace_pictures(item, [Picture.from_bytes(data, name=name) for data in pictures], captions)
        tags = {**item.tags, "part": "own", "base": item.id, "what": change}
        variant = Item(name, turns, item.reference, item.captions, tags)
        yield Case(variant, tuple(replace(response, item=name) for response in pair), PAIRS)


def _replace_pictures(item: Item, pictures: Sequence[Picture], captions: Sequence[str]) -> tuple[Turn, ...]:
    """Return the turns with other pictures, and their captions: before the question, or each behind its picture."""
    *_, last = item.turns[-1].parts
    is_in_place = item.is_interleaved or isinstance(last, Picture)
    remaining_pictures, remaining_captions = list(pictures), list(captions)
    turns = []
    for turn in item.turns:
        parts: list[Part] = []
        for part in turn.parts:
            parts.append(remaining_pictures.pop(0) if isinstance(part, Picture) else part)
            if is_in_place and isinstance(part, Picture) and captions:
                parts.append(remaining_captions.pop(0))
        turns.append(Turn(turn.role, tuple(parts)))
    if captions and not is_in_place:
        (turn,) = turns
        turns = [Turn(turn.role, (*turn.parts[:-1], "\n".join((*captions, str(last)))))]
    return tuple(turns)


def _bias_case(item: Item, answer: Response, number: int) -> Case:
    change = TEXT_CHANGES[number % len(TEXT_CHANGES)]
    strength, is_changed_last = 1 + number // len(TEXT_CHANGES) % 2, number // (2 * len(TEXT_CHANGES)) % 2 == 1
    language: Language = "zh" if re.search(r"[\u4e00-\u9fff]", answer.text) else "en"
    name = f"{item.id}~{change}"
    tags = {**item.tags, "part": "bias", "base": item.id, "what": change, "strength": str(strength)}
    changed_item = Item(name, item.turns, item.reference, item.captions, tags)
    plain_response = Response.say(name, "plain", answer.text)
    changed_response = Response.say(
        name,
        "changed",
        irrelevant_answer_changes_and_rewordings.change_text(answer.text, language, change, strength),
        tags={"role": "changed"},
    )
    return Case(
        changed_item,
        (plain_response, changed_response) if is_changed_last else (changed_response, plain_response),
        BIAS_PAIRS,
    )


@dataclass(frozen=True)
class OwnPictureUse:
    """Shares of verdicts that change with each variant, and their excess over a plain repetition."""

    changed_shares: dict[str, Estimate]
    excess_shares: dict[str, Estimate]
    index: Estimate | None

    @property
    def verdict(self) -> str:
        """One of `yes`, `no sign` and `unknown`."""
        return "unknown" if self.index is None else "yes" if self.index.low > 0 else "no sign"


def measure_own_picture_use(rows: Sequence[JudgedCase]) -> OwnPictureUse:
    """Measure if verdicts depend on the picture."""
    plain_rows = {
        row.base: row for row in marked_cases(rows, "own") if row.change == "as it is" and row.verdict.trial == 0
    }
    changes_by_variant: dict[str, dict[str, float]] = {variant: {} for variant in VARIANTS}
    for row in marked_cases(rows, "own"):
        variant = "again" if row.change == "as it is" else row.change
        if row.base in plain_rows and row is not plain_rows[row.base]:
            is_same = _marks_by_contestant(row) == _marks_by_contestant(plain_rows[row.base])
            changes_by_variant[variant][row.base] = float(not is_same)
    changed_shares, excess_shares = {}, {}
    repeat_changes = changes_by_variant["again"]
    for variant, values in changes_by_variant.items():
        if (changed_share := share_over_items([*values.values()], [*values])) is not None:
            changed_shares[variant] = changed_share
        common_bases = [base for base in values if base in repeat_changes]
        if (
            variant != "again"
            and (
                excess := signed_mean_over_items(
                    [values[base] - repeat_changes[base] for base in common_bases], common_bases
                )
            )
            is not None
        ):
            excess_shares[variant] = excess
    bases = [
        base for base in repeat_changes if base in changes_by_variant["blank"] and base in changes_by_variant["swapped"]
    ]
    index = signed_mean_over_items(
        [
            (changes_by_variant["blank"][base] + changes_by_variant["swapped"][base]) / 2 - repeat_changes[base]
            for base in bases
        ],
        bases,
    )
    return OwnPictureUse(changed_shares, excess_shares, index)


def _marks_by_contestant(row: JudgedCase) -> dict[str, float]:
    return dict(zip(row.verdict.contestants, row.verdict.marks or (), strict=True))


def own_picture_use_table(picture_use: OwnPictureUse) -> Table:
    """Return the shares as a table."""
    rows: list[list[Cell]] = [
        [word_note(variant), estimate, picture_use.excess_shares.get(variant)]
        for variant, estimate in picture_use.changed_shares.items()
    ]
    return Table(
        "own picture use",
        Note("audit.own.title"),
        table_columns("judged again", "verdicts changed", "beyond judging again"),
        rows,
        [Note("audit.own.how")],
    )


def own_items_card(record: Record, judge: str) -> Card:
    """Return the card of a judge on the user's own items."""
    rows = load_judged_cases(record, judge)
    picture_use, biases = measure_own_picture_use(rows), bias_effects.measure_biases(rows)
    columns = columns_from_verdicts(record.where(judge=judge))
    sections = {
        "Picture use": [own_picture_use_table(picture_use)],
        "Biases": [bias_effects.bias_table(biases)],
        "Unusable verdicts and cost": [
            standard_verdict_tables.fault_table(columns),
            standard_verdict_tables.cost_table(columns),
        ],
    }
    nonempty_sections = {name: [table for table in tables if table.rows] for name, tables in sections.items()}
    measures = {
        "verdicts": len(rows), "picture_use": picture_use.verdict,
        "picture_use_index": None if picture_use.index is None else picture_use.index.value,
        "flagged": [bias.change for bias in biases if bias.is_flagged],
    }  # fmt: skip
    return Card(
        judge,
        _lead_text(picture_use, biases),
        {name: tables for name, tables in nonempty_sections.items() if tables},
        measures,
    )


def _lead_text(picture_use: OwnPictureUse, biases: Sequence[bias_effects.Bias]) -> str:
    if picture_use.index is None:
        parts: list[str] = [Note("audit.own.unknown")]
    else:
        index = f"{picture_use.index.value:.2f} [{picture_use.index.low:.2f}, {picture_use.index.high:.2f}]"
        parts = [
            Note("audit.own.uses-picture", index=index)
            if picture_use.verdict == "yes"
            else Note("audit.own.no-sign", index=index)
        ]
    flagged_biases = [bias for bias in biases if bias.is_flagged]
    parts += [
        Note("audit.own.biased", what=word_note(bias.change), effect=bias.effect.value) for bias in flagged_biases
    ]
    return join_sentences(parts)
