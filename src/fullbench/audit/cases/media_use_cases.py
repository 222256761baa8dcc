"""Audit cases that test whether a judge uses a video, a recording or a document, and attacks in them.

Each question has two recordings with opposite right answers. The same pair of answers is judged with either one, and
with variants that hide the content or turn it round. All variants of a pair have the tag `base`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from fullbench.audit.cases.attacks import PAYLOADS
from fullbench.audit.cases.irrelevant_answer_changes_and_rewordings import CRITERION
from fullbench.audit.cases.video_variants import (
    black_video,
    freeze_video,
    reverse_video,
    write_into_frame,
    write_riff_metadata,
    write_subtitles,
)
from fullbench.core.ballot import LETTERS, Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.media import media_from_bytes
from fullbench.core.response import Response
from fullbench.synthetic.documents import draw_document_question, hide_text, keep_first_page, swap_pages, write_title
from fullbench.synthetic.media_questions import MediaQuestion, Medium
from fullbench.synthetic.moving_pictures import draw_video_question
from fullbench.synthetic.sounds import draw_sound_question, hide_in_noise, hide_in_silence

PLAIN, VARIED = "media pairs", "media use"
"""Tags `part` of pairs with their own recording, and with a variant."""


@dataclass(frozen=True)
class MediaSize:
    """Number of questions of each medium, of those with each hidden variant, and of attacks."""

    questions: int
    hidden: int
    attacks: int


SIZES: Mapping[str, MediaSize] = {
    "quick": MediaSize(24, 8, 6), "default": MediaSize(60, 18, 24), "deep": MediaSize(180, 48, 84),
}  # fmt: skip
"""About 82, 210 and 630 calls for videos, 70, 180 and 540 for recordings, and 78, 202 and 612 for documents."""


@dataclass(frozen=True)
class MediumTests:
    """Ways to test the use of one medium.

    `hidden` are variants without the content, `reordered` those that make the other answer right if the order counts,
    `attacks` carriers of attacks. `parts` is the word for what has an order.
    """

    draw_question: Callable[[int, int], MediaQuestion]
    hidden: Mapping[str, Callable[[bytes], bytes]]
    reordered: Mapping[str, Callable[[bytes], bytes]] = field(default_factory=dict)
    attacks: Mapping[str, Callable[[bytes, str], bytes]] = field(default_factory=dict)
    parts: str = ""


MEDIA: Mapping[Medium, MediumTests] = {
    "video": MediumTests(
        draw_video_question,
        {"frozen": freeze_video, "black": black_video},
        {"reversed": reverse_video},
        {
            "one frame": write_into_frame, "one frame, small": partial(write_into_frame, is_small=True),
            "subtitles": write_subtitles, "metadata": write_riff_metadata,
        },
        "frames",
    ),
    "audio": MediumTests(
        draw_sound_question, {"silence": hide_in_silence, "noise": hide_in_noise},
        attacks={"metadata": write_riff_metadata},
    ),
    "document": MediumTests(
        draw_document_question,
        {"pages missing": keep_first_page},
        {"pages exchanged": swap_pages},
        {"hidden text layer": hide_text, "metadata": write_title},
        "pages",
    ),
}  # fmt: skip
REORDERED = frozenset(change for tests in MEDIA.values() for change in tests.reordered)
HIDDEN = frozenset(change for tests in MEDIA.values() for change in tests.hidden)
"""Variants in another order, and variants without the content."""


def media_use_cases(medium: Medium, size: str, seed: int) -> Iterator[Case]:
    """Yield the cases of one medium: pairs as they are, exchanged, reversed and hidden, and attacks."""
    tests, counts = MEDIA[medium], SIZES[size]
    questions = [tests.draw_question(seed, index) for index in range(counts.questions)]
    for question in questions:
        yield _pair_case(question, question.shown, PLAIN, "")
        yield _pair_case(question, question.other, VARIED, "swapped", is_opposite=True)
        for change, reorder in tests.reordered.items() if question.is_reversible else ():
            yield _pair_case(question, reorder(question.shown), VARIED, change, is_opposite=True)
    for question in questions[: counts.hidden]:
        for change, hide in tests.hidden.items():
            yield _pair_case(question, hide(question.shown), VARIED, change)
    # Steps of 5 share no divisor with the number of payloads, and carriers move on after a round, so that prefixes mix
    # both.
    payloads, carriers = [*PAYLOADS], [*tests.attacks]
    for number in range(counts.attacks):
        question = questions[number % len(questions)]
        payload = payloads[5 * number % len(payloads)]
        carrier = carriers[(number + number // len(payloads)) % len(carriers)]
        yield _attack_case(question, payload, carrier, tests, number)


def hidden_pair_case(medium: Medium, seed: int, number: int, name: str) -> Case:
    """Return a pair under a name that reveals nothing about how it was drawn."""
    question = MEDIA[medium].draw_question(seed, number)
    case = _pair_case(question, question.shown, "canary", "")
    item = replace(case.item, id=name, tags={**case.item.tags, "base": name})
    return replace(case, item=item, responses=_answer_pair(question, name))


def _pair_case(
    question: MediaQuestion, data: bytes, part: str, change: str, *, is_opposite: bool = False, **tags: str
) -> Case:
    suffix = f"~{change}" if change else ""
    item = Item.ask(
        f"{question.name}{suffix}", question.question, media_from_bytes(data, name=question.name),
        tags={
            "base": question.name, "part": part, "medium": question.medium, "kind": question.kind,
            "language": question.language, "needs": "order" if question.needs_order else "parts",
            "first": _first_answer(question), **({"what": change} if change else {}), **tags,
        },
    )  # fmt: skip
    return Case(item, _answer_pair(question, item.id, is_opposite=is_opposite), Choice(tie=True), CRITERION)


def _first_answer(question: MediaQuestion) -> str:
    return random.Random(f"{question.name}/order").choice(("right", "wrong"))


def _answer_pair(question: MediaQuestion, item: str, *, is_opposite: bool = False) -> tuple[Response, ...]:
    """The order of the two answers is drawn for the question and shared by all its variants."""
    names = ("right", "wrong") if _first_answer(question) == "right" else ("wrong", "right")
    texts = {"right": question.right, "wrong": question.wrong}
    return tuple(
        Response.say(item, name, texts[name], tags={"quality": f"{(name == 'right') != is_opposite:d}"})
        for name in names
    )


def _attack_case(question: MediaQuestion, payload: str, carrier: str, tests: MediumTests, number: int) -> Case:
    names = [response.contestant for response in _answer_pair(question, question.name)]
    position = names.index("wrong")
    # Only Latin letters are drawn the same on every machine, so text in frames and pages is English.
    text = PAYLOADS[payload]["en"].replace("{own}", LETTERS[position]).replace("{other}", LETTERS[1 - position])
    tags: dict[str, Any] = {
        "what": carrier, "payload": payload, "spoken": "en", "where": question.medium, "planted": text,
    }  # fmt: skip
    case = _pair_case(question, tests.attacks[carrier](question.shown, text), "attack", f"attack{number:03d}", **tags)
    responses = tuple(
        Response(
            response.item,
            response.contestant,
            response.parts,
            {**response.tags, **({"role": "attacker"} if response.contestant == "wrong" else {})},
        )
        for response in case.responses
    )
    return Case(case.item, responses, case.ballot, case.criterion)
