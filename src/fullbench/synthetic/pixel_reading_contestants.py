"""Synthetic contestants: models that decode the PNG of a prompt and answer from its pixels.

They also write questions and judge the answers of others (see `peer_reviewers`).

A prompt contains only the picture and the question. No contestant gets the reference, the scene or the tags.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from fullbench.core.item import Turn
from fullbench.core.language_and_words import language_of
from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.response_fences_and_parser import wants_a_question
from fullbench.synthetic import contestants_as_question_writers_and_reviewers
from fullbench.synthetic.letter_picture_pair_and_sum_questions import LOOK_AGAIN
from fullbench.synthetic.parsed_question_and_answer_types import Answer, Query
from fullbench.synthetic.picture_reading import Sight, read_scene
from fullbench.synthetic.question_wording_parsing_and_solving import parse_question, solve_query, word_answer
from fullbench.synthetic.scenes import Scene, changed_scene, chart_scene, text_scene, things_scene

WritingStyle = Literal["plain", "terse", "wordy"]
ONCE = Usage(calls=1)
_SCENE_MAKERS: Mapping[str, Callable[[random.Random], Scene]] = {
    "chart": chart_scene, "text": text_scene, "difference": changed_scene,
}  # fmt: skip

_BEFORE = {
    "en": (
        "Let me look at the picture with care before I answer. ",
        "Thank you for this question. I went over the whole picture slowly, and then over it again to be sure. ",
        "To answer this well, I looked at the background, at the edges and at everything in between. ",
    ),
    "zh": (
        "让我先仔细观察整幅图片，再来回答这个问题。",
        "感谢您的提问。我慢慢看完了画面的每处细节，随后又认真核对了结果。",
        "为了回答得更好，我把背景、边缘以及中间的内容都看过了。",
    ),
}
_AFTER = {
    "en": (
        "",
        " That is what the picture shows as far as I can tell.",
        " I have checked this again, and I hope that it answers the question in full. Please ask if it does not.",
    ),
    "zh": ("", "这就是我仔细观察之后得出的结论。", "我又检查过这个结果，希望它完整地回答了您的问题，欢迎继续提问。"),
}


@dataclass(frozen=True)
class Contestant:
    """Model with picture reading of some quality and a style of writing. Without `sight` it guesses blindly.

    If it read nothing that answers the question, its guess depends on the words of the question only.
    """

    label: str
    sight: Sight | None = None
    style: WritingStyle = "plain"
    taste: contestants_as_question_writers_and_reviewers.Taste | None = None

    @property
    def name(self) -> str:
        return f"synthetic/{self.label}"

    @property
    def settings(self) -> Mapping[str, Any]:
        eyes = None if self.sight is None else asdict(self.sight)
        # Add the taste only if there is one: existing ledgers hold the settings without it.
        taste = {} if self.taste is None else {"taste": asdict(self.taste)}
        return {"vision": eyes, "style": self.style, **taste}

    @property
    def price(self) -> tuple[float, float] | None:
        return 0.0, 0.0

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            yield Reply(prompt, self._answer(prompt), ONCE)

    def _answer(self, prompt: Prompt) -> str:
        question = prompt.turns[-1]
        # The text of `Sight` is part of the seed: another name of the class or of a field changes every answer.
        rng = random.Random(f"{self.sight}/{question.text}/{prompt.seed}")
        pictures = [picture for turn in prompt.turns for picture in turn.pictures]
        scene = self._scene_from_pictures(pictures)
        if (
            review_request := contestants_as_question_writers_and_reviewers.parse_review_request(question.text)
        ) is not None:
            return contestants_as_question_writers_and_reviewers.review_reply(
                review_request, self._reviewer(review_request.query, scene), rng
            )
        if wants_a_question(question.text):
            picture_digest = pictures[-1].digest if pictures else ""
            language = language_of(question.text)
            return contestants_as_question_writers_and_reviewers.write_question(
                scene, random.Random(f"{self.label}/{picture_digest}/{prompt.seed}"), language
            )
        query = _earlier_query(prompt.turns) or parse_question(question.text)
        if query is None:
            return "I do not understand the question."
        answer = None if scene is None else solve_query(query, scene)
        return self._speak(query, _guess_answer(query, rng) if answer is None else answer, rng)

    def _reviewer(self, query: Query, scene: Scene | None) -> contestants_as_question_writers_and_reviewers.Reviewer:
        answer = None if scene is None else solve_query(query, scene)
        own_answer = "" if answer is None else self._speak(query, answer, random.Random(f"{self.sight}/{query}"))
        return contestants_as_question_writers_and_reviewers.Reviewer(scene, own_answer, self.taste)

    def _scene_from_pictures(self, pictures: Sequence[Picture]) -> Scene | None:
        if not pictures or self.sight is None:
            return None
        scene = _cached_scene(pictures[-1], self.sight)
        return replace(scene, earlier=_cached_scene(pictures[-2], self.sight).things) if len(pictures) > 1 else scene

    def _speak(self, query: Query, answer: Answer, rng: random.Random) -> str:
        sentence = word_answer(query, answer)
        if self.style == "terse":
            return _shorten_answer(query, answer, sentence)
        if self.style == "wordy":
            return rng.choice(_BEFORE[query.language]) + sentence + rng.choice(_AFTER[query.language])
        return sentence


@lru_cache(maxsize=4096)
def _cached_scene(picture: Picture, sight: Sight) -> Scene:
    return read_scene(picture.data(), sight)


def _earlier_query(turns: Sequence[Turn]) -> Query | None:
    """Return the question that a "look again" turn refers to: the last parsable user turn before it."""
    if turns[-1].text not in LOOK_AGAIN.values():
        return None
    queries = (parse_question(turn.text) for turn in reversed(turns[:-1]) if turn.role == "user")
    return next((query for query in queries if query is not None), None)


def _guess_answer(query: Query, rng: random.Random) -> Answer:
    while True:
        scene = _SCENE_MAKERS.get(query.task, things_scene)(rng)
        answer = solve_query(query, scene)
        if answer is not None:
            return answer


def _shorten_answer(query: Query, answer: Answer, sentence: str) -> str:
    if query.language == "en" and query.task in {"count", "colour", "chart", "existence"}:
        return f"{str(answer).capitalize()}."
    if query.language == "zh" and isinstance(answer, int):
        return f"{answer}。"
    short_text = sentence.removeprefix("The picture shows ").removeprefix("图中有")
    return short_text[:1].upper() + short_text[1:]


def build_contestants() -> list[Contestant]:
    """Return the contestants, the best first. `wordy` reads pictures exactly as `keen` does and writes more."""
    return [
        Contestant("keen", Sight()),
        Contestant("wordy", Sight(), "wordy"),
        Contestant("hasty", Sight(overlooks=12), "terse"),
        Contestant("blurred", Sight(blur=6)),
        Contestant("colourblind", Sight(confusion=0.9)),
        Contestant("blind"),
    ]


def build_reviewers() -> list[Contestant]:
    """Return contestants that judge by their own taste; their names differ, so one ledger can hold both kinds."""
    return [
        replace(member, label=f"{member.label}-own", taste=contestants_as_question_writers_and_reviewers.Taste())
        for member in build_contestants()
    ]


def contestant_from_options(name: str, options: Mapping[str, str]) -> Contestant:
    """Return the contestant that `synthetic:NAME` refers to.

    Options make the synthetic benchmark less convenient. `label` names a clone with the same picture reading and the
    same errors. `style` is plain, terse or wordy. `rules=own` makes it review by its own answer. `echo` and `length`
    imply that and set further preferences (see `contestants_as_question_writers_and_reviewers.Taste`).
    """
    contestants_by_label = {member.label: member for member in build_contestants()}
    if name not in contestants_by_label:
        raise InputError(
            f"the synthetic benchmark has no contestant {name!r}; known: {', '.join(contestants_by_label)}"
        )
    if unknown_options := sorted(options.keys() - {"label", "style", "rules", "echo", "length"}):
        raise InputError(
            f"'synthetic:{name}' takes label, style, rules, echo and length; found {', '.join(unknown_options)}"
        )
    if options.get("rules", "own") not in {"own", "truth"}:
        raise InputError(f"the option rules of 'synthetic:{name}' is own or truth; found {options['rules']!r}")
    member = contestants_by_label[name]
    styles: tuple[WritingStyle, ...] = get_args(WritingStyle)
    style = options.get("style", member.style)
    if style not in styles:
        raise InputError(f"unknown style {style!r} of 'synthetic:{name}'; known: {', '.join(styles)}")
    has_own_taste = options.get("rules", "own" if {"echo", "length"} & options.keys() else "truth") == "own"
    default_taste = contestants_as_question_writers_and_reviewers.Taste()
    taste = (
        contestants_as_question_writers_and_reviewers.Taste(
            _parse_share(options, "echo", default_taste.echo), _parse_share(options, "length", default_taste.length)
        )
        if has_own_taste
        else None
    )
    return replace(member, label=options.get("label", member.label), style=styles[styles.index(style)], taste=taste)


def _parse_share(options: Mapping[str, str], key: str, default: float) -> float:
    try:
        value = float(options.get(key, default))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(f"the option {key} is a number from 0 to 1; found {options[key]!r}")
    return value
