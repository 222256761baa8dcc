"""An audit on one's own items: did the judge look, and what sways it, where nobody knows the truth.

Of every item two answers are heard as they are, again, and with the picture blank, blurred or exchanged for another
item's; a caption takes its place where the item has one. Whoever looks rules differently more often then than on merely
hearing the pair again.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fullbench.analysis import all_tables
from fullbench.analysis.judge_card import Card
from fullbench.audit.cases import picture_variants, text_variants
from fullbench.audit.cases.build_audit_cases import PAIRS, SWAY
from fullbench.audit.measures import bias_effects
from fullbench.audit.measures.verdicts_with_truth import Heard, difference, heard, of, share
from fullbench.columns.column_builder import columns_of
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item, Part, Turn
from fullbench.core.note import Note, sentences, word
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.synthetic.vocabulary import Language

CHANGED = ("length", "markdown", "confidence", "authority", "self-reference", "emoji", "name leaked")
"""The changes that any answer in words can bear."""
WAYS = ("again", "blank", "swapped", "blurred", "captioned")


def own_docket(
    items: Sequence[Item], responses: Sequence[Response], *, sway: bool, seed: int = 0, limit: int | None = None
) -> list[Case]:
    """The cases of one's own data; at least two items with a picture and two answers in words are needed.

    With a limit, those of the first usable items alone, each the same as without it.
    """
    answers = _in_words(responses)
    usable = usable_items(items, responses)
    if len(usable) < 2:
        raise InputError(
            f"to see whether a judge looks, two items or more with a picture and two answers are needed; found "
            f"{len(usable)} of {len(items)}"
        )
    cases: list[Case] = []
    for number, item in enumerate(usable[:limit]):
        rng = random.Random(f"{seed}/{item.id}")
        first, second = rng.sample(sorted(answers[item.id], key=lambda answer: answer.contestant), 2)
        other = usable[(number + 1) % len(usable)]
        cases += _looked(item, other, (first, second))
        if sway:
            cases.append(_swayed(item, first, number))
    return cases


def usable_items(items: Sequence[Item], responses: Sequence[Response]) -> list[Item]:
    """The items that have a picture and two answers in words."""
    answers = _in_words(responses)
    return [item for item in items if item.pictures and len(answers.get(item.id, ())) > 1]


def _in_words(responses: Sequence[Response]) -> dict[str, list[Response]]:
    """The first answers of contestants that said something, by their items."""
    answers: dict[str, list[Response]] = {}
    for response in responses:
        if response.sample == 0 and response.text.strip():
            answers.setdefault(response.item, []).append(response)
    return answers


def _looked(item: Item, other: Item, pair: tuple[Response, Response]) -> Iterator[Case]:
    plain = replace(item, tags={**item.tags, "part": "own", "base": item.id, "what": "as it is"})
    yield Case(plain, pair, PAIRS)
    yield Case(plain, pair, PAIRS, trial=1)
    shown = {
        "blank": [picture_variants.blank(picture.data()) for picture in item.pictures],
        "blurred": [picture_variants.blurred(picture.data()) for picture in item.pictures],
        "swapped": [other.pictures[place % len(other.pictures)].data() for place in range(len(item.pictures))],
    }
    if len(item.captions) == len(item.pictures):
        shown["captioned"] = shown["blank"]
    for what, pictures in shown.items():
        name = f"{item.id}~{what}"
        preface = "\n".join(item.captions) if what == "captioned" else ""
        turns = _with_pictures(item, [Picture.of(data, name=name) for data in pictures], preface)
        tags = {**item.tags, "part": "own", "base": item.id, "what": what}
        variant = Item(name, turns, item.reference, item.captions, tags)
        yield Case(variant, tuple(replace(response, item=name) for response in pair), PAIRS)


def _with_pictures(item: Item, pictures: Sequence[Picture], preface: str) -> tuple[Turn, ...]:
    """The turns with other pictures in the places of theirs; `preface` goes before the question."""
    left = list(pictures)
    turns = []
    for turn in item.turns:
        parts: list[Part] = [left.pop(0) if isinstance(part, Picture) else part for part in turn.parts]
        turns.append(Turn(turn.role, tuple(parts)))
    if preface:
        last = turns[-1]
        turns[-1] = Turn(last.role, (*last.parts[:-1], f"{preface}\n{last.parts[-1]}"))
    return tuple(turns)


def _swayed(item: Item, answer: Response, number: int) -> Case:
    what = CHANGED[number % len(CHANGED)]
    dose, last = 1 + number // len(CHANGED) % 2, number // (2 * len(CHANGED)) % 2 == 1
    language: Language = "zh" if re.search(r"[\u4e00-\u9fff]", answer.text) else "en"
    name = f"{item.id}~{what}"
    tags = {**item.tags, "part": "sway", "base": item.id, "what": what, "dose": str(dose)}
    shown = Item(name, item.turns, item.reference, item.captions, tags)
    plain = Response.say(name, "plain", answer.text)
    bent = Response.say(
        name, "changed", text_variants.bent(answer.text, language, what, dose), tags={"role": "changed"}
    )
    return Case(shown, (plain, bent) if last else (bent, plain), SWAY)


@dataclass(frozen=True)
class OwnSight:
    """How often rulings change in each way of hearing a pair again, and beyond merely hearing it again."""

    changed: dict[str, Estimate]
    beyond: dict[str, Estimate]
    index: Estimate | None

    @property
    def verdict(self) -> str:
        """A word: looks, or unknown where nothing can be told."""
        return "unknown" if self.index is None else "looks" if self.index.low > 0 else "no sign"


def own_sight(rows: Sequence[Heard]) -> OwnSight:
    """Whether rulings depend on the picture."""
    plain = {row.base: row for row in of(rows, "own") if row.what == "as it is" and row.verdict.trial == 0}
    moved: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for row in of(rows, "own"):
        way = "again" if row.what == "as it is" else row.what
        if row.base in plain and row is not plain[row.base]:
            same = _ruling(row) == _ruling(plain[row.base])
            moved[way][row.base] = float(not same)
    changed, beyond = {}, {}
    again = moved["again"]
    for way, values in moved.items():
        if (held := share([*values.values()], [*values])) is not None:
            changed[way] = held
        both = [base for base in values if base in again]
        if way != "again" and (gap := difference([values[base] - again[base] for base in both], both)) is not None:
            beyond[way] = gap
    bases = [base for base in again if base in moved["blank"] and base in moved["swapped"]]
    index = difference([(moved["blank"][base] + moved["swapped"][base]) / 2 - again[base] for base in bases], bases)
    return OwnSight(changed, beyond, index)


def _ruling(row: Heard) -> dict[str, float]:
    return dict(zip(row.verdict.contestants, row.verdict.marks or (), strict=True))


def own_table(seen: OwnSight) -> Table:
    """The shares as a table."""
    rows: list[list[Cell]] = [[word(way), held, seen.beyond.get(way)] for way, held in seen.changed.items()]
    return Table(
        "own look",
        Note("audit.own.title", "Does it look? Your own pairs heard again"),
        headings("heard again", "rulings changed", "beyond hearing again"),
        rows,
        [
            Note(
                "audit.own.how",
                "The same two answers again as they are, and with the picture blank, exchanged for another item's, "
                "blurred, or told by its caption. What a judge changes on merely hearing a pair again is unsteadiness.",
            )
        ],
    )


def own_card(record: Record, judge: str) -> Card:
    """The card of a judge on one's own items."""
    rows = heard(record, judge)
    seen, sways = own_sight(rows), bias_effects.sways(rows)
    columns = columns_of(record.where(judge=judge))
    sections = {
        "Sees": [own_table(seen)],
        "Swayed": [bias_effects.sway_table(sways)],
        "Faults and cost": [all_tables.faults(columns), all_tables.costs(columns)],
    }
    filled = {name: [table for table in tables if table.rows] for name, tables in sections.items()}
    measures = {
        "verdicts": len(rows), "looks": seen.verdict,
        "look_index": None if seen.index is None else seen.index.value,
        "flagged": [sway.what for sway in sways if sway.flagged],
    }  # fmt: skip
    return Card(judge, _lead(seen, sways), {name: tables for name, tables in filled.items() if tables}, measures)


def _lead(seen: OwnSight, sways: Sequence[bias_effects.Sway]) -> str:
    if seen.index is None:
        parts: list[str] = [Note("audit.own.unknown", "Whether it looks at your pictures cannot be told.")]
    else:
        index = f"{seen.index.value:.2f} [{seen.index.low:.2f}, {seen.index.high:.2f}]"
        parts = [
            Note(
                "audit.own.looks", "It looks at your pictures: without them its rulings change more often ({index}).",
                index=index,
            )
            if seen.verdict == "looks"
            else Note(
                "audit.own.no-sign",
                "There is no sign that it looks at your pictures: without them its rulings hardly change ({index}).",
                index=index,
            )
        ]  # fmt: skip
    flagged = [sway for sway in sways if sway.flagged]
    parts += [
        Note("audit.own.swayed", "{what} sways it ({effect:+.1f} log-odds per dose).", what=word(sway.what),
             effect=sway.effect.value)
        for sway in flagged
    ]  # fmt: skip
    return sentences(parts)
