"""Audit on the user's own items, without known truth: does the judge use their media, and is it biased.

Two answers to every item are judged as they are, again, and with the picture blank, blurred or exchanged for another
item's. If the item has captions, they also replace the picture. Videos are black, frozen, reversed or exchanged,
recordings silent or exchanged, documents blank or exchanged. A judge that uses them changes its verdict more often then
than on a plain repetition.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.judge_card import Card
from fullbench.audit.cases import irrelevant_answer_changes_and_rewordings, picture_variants
from fullbench.audit.cases.build_audit_cases import BIAS_PAIRS, PAIRS
from fullbench.audit.cases.video_variants import changed_video
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
from fullbench.core.media import Media, media_from_bytes
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, join_sentences, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.models.wire.video_frames_and_document_pages import picture_moves
from fullbench.synthetic.documents import write_pdf
from fullbench.synthetic.sounds import encode_wav, hide_in_silence, silence
from fullbench.synthetic.vocabulary import Language

TEXT_CHANGES = ("length", "markdown", "confidence", "authority", "self-reference", "emoji", "name leaked")
"""Changes that any text answer allows."""
VARIANTS = ("again", "blank", "black", "silence", "swapped", "blurred", "frozen", "reversed", "captioned")
HIDDEN = {"image": "blank", "video": "black", "audio": "silence", "document": "blank"}
"""Variant in which a medium shows nothing; an item's first medium counts."""
_PLURALS = {"image": "pictures", "video": "videos", "audio": "recordings", "document": "documents"}


def build_own_cases(
    items: Sequence[Item],
    responses: Sequence[Response],
    *,
    with_bias_cases: bool,
    seed: int = 0,
    limit: int | None = None,
) -> list[Case]:
    """Build the cases from the user's data; needs two items with a picture or other media and two text answers each.

    A limit selects the first usable items; their cases stay the same as without it.
    """
    answers = _text_answers_by_item(responses)
    complete_items = usable_items(items, responses)
    if len(complete_items) < 2:
        raise InputError(
            f"at least two items with the same kinds of media (a picture, a video...) and two responses are needed; "
            f"found "
            f"{len(complete_items)} of {len(items)}"
        )
    cases: list[Case] = []
    kinds = {item.id: media_kinds(item) for item in complete_items}
    for number, item in enumerate(complete_items[:limit]):
        rng = random.Random(f"{seed}/{item.id}")
        first, second = rng.sample(sorted(answers[item.id], key=lambda answer: answer.contestant), 2)
        following_items = complete_items[number + 1 :] + complete_items[:number]
        next_item = next(other for other in following_items if kinds[other.id] == kinds[item.id])
        cases += _picture_use_cases(item, next_item, (first, second))
        if with_bias_cases:
            cases.append(_bias_case(item, first, number))
    return cases


def usable_items(items: Sequence[Item], responses: Sequence[Response]) -> list[Item]:
    """Return the items that have media, two text answers, and another such item with the same kinds of media."""
    answers = _text_answers_by_item(responses)
    answered_items = [item for item in items if item.media and len(answers.get(item.id, ())) > 1]
    counts = Counter(media_kinds(item) for item in answered_items)
    return [item for item in answered_items if counts[media_kinds(item)] > 1]


def media_kinds(item: Item) -> frozenset[str]:
    """Return the kinds of an item's media; a moving picture counts as a video."""
    return frozenset(_kind_of_part(part) for part in item.media)


def _kind_of_part(part: Media) -> str:
    return "video" if isinstance(part, Picture) and picture_moves(part) else part.kind


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
    media_by_variant = _media_variants(item, other_item)
    hidden_change = next(iter(media_by_variant))
    if len(item.captions) == len(item.media):
        media_by_variant["captioned"] = media_by_variant[hidden_change]
    for change, media in media_by_variant.items():
        name = f"{item.id}~{change}"
        captions = item.captions if change == "captioned" else ()
        turns = _replace_media(item, media, captions)
        tags = {**item.tags, "part": "own", "base": item.id, "what": change}
        variant = Item(name, turns, item.reference, item.captions, tags)
        yield Case(variant, tuple(replace(response, item=name) for response in pair), PAIRS)


def _media_variants(item: Item, other_item: Item) -> dict[str, list[Media]]:
    """Return the media of each variant; the first one shows nothing."""
    kinds = [_kind_of_part(part) for part in item.media]
    others = {kind: [part for part in other_item.media if _kind_of_part(part) == kind] for kind in kinds}
    # The order of variants is that of the cases; plain pictures keep theirs.
    variants = {HIDDEN[kinds[0]]: [_hide_medium(part) for part in item.media]}
    if "image" in kinds:
        variants["blurred"] = [
            media_from_bytes(picture_variants.blur_picture(part.data())) if kind == "image" else part
            for part, kind in zip(item.media, kinds, strict=True)
        ]
    variants["swapped"] = [others[kind][place % len(others[kind])] for place, kind in enumerate(kinds)]
    if "video" in kinds:
        for change in ("frozen", "reversed"):
            variants[change] = [
                changed_video(part, change) if kind == "video" else part
                for part, kind in zip(item.media, kinds, strict=True)
            ]
    return variants


def _hide_medium(part: Media) -> Media:
    match _kind_of_part(part):
        case "video":
            return changed_video(part, "black")
        case "audio":
            is_wav = part.media_type == "audio/wav"
            return media_from_bytes(hide_in_silence(part.data()) if is_wav else encode_wav(silence(2.0)))
        case "document":
            return media_from_bytes(write_pdf([[]]))
    return media_from_bytes(picture_variants.blank_picture(part.data()))


def _replace_media(item: Item, media: Sequence[Media], captions: Sequence[str]) -> tuple[Turn, ...]:
    """Return the turns with other media, and their captions: before the question, or each behind its medium."""
    *_, last = item.turns[-1].parts
    is_in_place = item.is_interleaved or isinstance(last, Media)
    remaining_media, remaining_captions = list(media), list(captions)
    turns = []
    for turn in item.turns:
        parts: list[Part] = []
        for part in turn.parts:
            parts.append(remaining_media.pop(0) if isinstance(part, Media) else part)
            if is_in_place and isinstance(part, Media) and captions:
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
    hidden_changes = {**changes_by_variant["blank"], **changes_by_variant["black"], **changes_by_variant["silence"]}
    swapped_changes = changes_by_variant["swapped"]
    bases = [base for base in repeat_changes if base in hidden_changes and base in swapped_changes]
    index = signed_mean_over_items(
        [(hidden_changes[base] + swapped_changes[base]) / 2 - repeat_changes[base] for base in bases], bases
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
        _lead_text(picture_use, biases, _media_noun(rows)),
        {name: tables for name, tables in nonempty_sections.items() if tables},
        measures,
    )


def _media_noun(rows: Sequence[JudgedCase]) -> Note:
    """Return the word for the media of the items: pictures, videos, recordings, documents, or media if several."""
    kinds = {kind for row in rows if row.change == "as it is" for kind in media_kinds(row.item)}
    return word_note(_PLURALS[next(iter(kinds))] if len(kinds) == 1 else "media")


def _lead_text(picture_use: OwnPictureUse, biases: Sequence[bias_effects.Bias], media: Note) -> str:
    if picture_use.index is None:
        parts: list[str] = [Note("audit.own.unknown", media=media)]
    else:
        index = f"{picture_use.index.value:.2f} [{picture_use.index.low:.2f}, {picture_use.index.high:.2f}]"
        parts = [
            Note("audit.own.uses-picture", media=media, index=index)
            if picture_use.verdict == "yes"
            else Note("audit.own.no-sign", media=media, index=index)
        ]
    flagged_biases = [bias for bias in biases if bias.is_flagged]
    parts += [
        Note("audit.own.biased", what=word_note(bias.change), effect=bias.effect.value) for bias in flagged_biases
    ]
    return join_sentences(parts)
