"""Contestants: models that really look at the picture. They get a prompt, decode its PNG, and answer what they see.

Asked to write a question, or to rule on others' answers, they do that too, with the same eyes (see `peers`).

None of them is given the reference, the scene or the tags: a prompt holds the picture and the question, no more.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from fullbench.core.call import Usage
from fullbench.core.item import Turn
from fullbench.core.model import Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.core.text import language_of
from fullbench.errors import InputError
from fullbench.models.prompt_fences import wants_a_question
from fullbench.synthetic import peer_reviewers
from fullbench.synthetic.picture_reading import Sight, look
from fullbench.synthetic.question_meaning import Answer, Query
from fullbench.synthetic.questions import say, solve, understand
from fullbench.synthetic.scenes import Scene, changed_scene, chart_scene, text_scene, things_scene
from fullbench.synthetic.wide_questions import AGAIN

Manner = Literal["plain", "terse", "wordy"]
ONCE = Usage(calls=1)
_IMAGINED: Mapping[str, Callable[[random.Random], Scene]] = {
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
    """A model with eyes of some quality and a manner of speaking. With no `sight` it never looks and guesses.

    Where nothing was made out that answers the question, the guess hangs on the question's words alone.
    """

    label: str
    sight: Sight | None = None
    manner: Manner = "plain"
    taste: peer_reviewers.Taste | None = None

    @property
    def name(self) -> str:
        return f"court/{self.label}"

    @property
    def settings(self) -> Mapping[str, Any]:
        eyes = None if self.sight is None else asdict(self.sight)
        # The usual contestants keep the settings that ledgers know them by.
        taste = {} if self.taste is None else {"taste": asdict(self.taste)}
        return {"sight": eyes, "manner": self.manner, **taste}

    @property
    def price(self) -> tuple[float, float] | None:
        return 0.0, 0.0

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            yield Reply(prompt, self._answer(prompt), ONCE)

    def _answer(self, prompt: Prompt) -> str:
        question = prompt.turns[-1]
        rng = random.Random(f"{self.sight}/{question.text}/{prompt.seed}")
        pictures = [picture for turn in prompt.turns for picture in turn.pictures]
        seen = self._made_out(pictures)
        if (hearing := peer_reviewers.hearing_in(question.text)) is not None:
            return peer_reviewers.ruling(hearing, self._reviewer(hearing.query, seen), rng)
        if wants_a_question(question.text):
            of = pictures[-1].digest if pictures else ""
            language = language_of(question.text)
            return peer_reviewers.question(seen, random.Random(f"{self.label}/{of}/{prompt.seed}"), language)
        query = _asked_before(prompt.turns) or understand(question.text)
        if query is None:
            return "I do not understand the question."
        answer = None if seen is None else solve(query, seen)
        return self._speak(query, _guess(query, rng) if answer is None else answer, rng)

    def _reviewer(self, query: Query, seen: Scene | None) -> peer_reviewers.Reviewer:
        answer = None if seen is None else solve(query, seen)
        own = "" if answer is None else self._speak(query, answer, random.Random(f"{self.sight}/{query}"))
        return peer_reviewers.Reviewer(seen, own, self.taste)

    def _made_out(self, pictures: Sequence[Picture]) -> Scene | None:
        """What is made out in the last picture, and in the one before it, where there are two."""
        if not pictures or self.sight is None:
            return None
        seen = _seen(pictures[-1], self.sight)
        return replace(seen, earlier=_seen(pictures[-2], self.sight).things) if len(pictures) > 1 else seen

    def _speak(self, query: Query, answer: Answer, rng: random.Random) -> str:
        sentence = say(query, answer)
        if self.manner == "terse":
            return _short(query, answer, sentence)
        if self.manner == "wordy":
            return rng.choice(_BEFORE[query.language]) + sentence + rng.choice(_AFTER[query.language])
        return sentence


@lru_cache(maxsize=4096)
def _seen(picture: Picture, sight: Sight) -> Scene:
    """Eyes of one kind see one picture one way, so that they need to look only once."""
    return look(picture.data(), sight)


def _asked_before(turns: Sequence[Turn]) -> Query | None:
    """The question that a request to look again is about: the last one before it that is understood."""
    if turns[-1].text not in AGAIN.values():
        return None
    asked = (understand(turn.text) for turn in reversed(turns[:-1]) if turn.role == "user")
    return next((query for query in asked if query is not None), None)


def _guess(query: Query, rng: random.Random) -> Answer:
    """An answer that would fit some picture: one is made up until it fits the question."""
    while True:
        imagined = _IMAGINED.get(query.task, things_scene)(rng)
        answer = solve(query, imagined)
        if answer is not None:
            return answer


def _short(query: Query, answer: Answer, sentence: str) -> str:
    """The answer alone, where one word or number will do."""
    if query.language == "en" and query.task in {"count", "colour", "chart", "existence"}:
        return f"{str(answer).capitalize()}."
    if query.language == "zh" and isinstance(answer, int):
        return f"{answer}。"
    rest = sentence.removeprefix("The picture shows ").removeprefix("图中有")
    return rest[:1].upper() + rest[1:]


def contestants() -> list[Contestant]:
    """The court's contestants, the ablest first. `wordy` sees exactly what `keen` sees and says more about it."""
    return [
        Contestant("keen", Sight()),
        Contestant("wordy", Sight(), "wordy"),
        Contestant("hasty", Sight(overlooks=12), "terse"),
        Contestant("blurred", Sight(blur=6)),
        Contestant("colourblind", Sight(confusion=0.9)),
        Contestant("blind"),
    ]


def reviewers() -> list[Contestant]:
    """The same with tastes of their own: when they review each other, nobody knows the truth's measure of quality.

    They have names of their own, so that a ledger which knows the others takes them in too.
    """
    return [replace(member, label=f"{member.label}-own", taste=peer_reviewers.Taste()) for member in contestants()]


def contestant(name: str, options: Mapping[str, str]) -> Contestant:
    """The contestant that `court:NAME` names.

    Options make courts less convenient: `label` names a clone, which sees and errs alike; `manner` is plain, terse or
    wordy; `rules=own` lets it review by what it would say itself, and `echo` and `length`, which imply that, are what
    it likes beside (see `peer_reviewers.Taste`).
    """
    known = {member.label: member for member in contestants()}
    if name not in known:
        raise InputError(f"the court has no contestant {name!r}; known: {', '.join(known)}")
    if strange := sorted(options.keys() - {"label", "manner", "rules", "echo", "length"}):
        raise InputError(f"'court:{name}' takes label, manner, rules, echo and length; found {', '.join(strange)}")
    if options.get("rules", "own") not in {"own", "truth"}:
        raise InputError(f"the option rules of 'court:{name}' is own or truth; found {options['rules']!r}")
    member = known[name]
    manners: tuple[Manner, ...] = get_args(Manner)
    manner = options.get("manner", member.manner)
    if manner not in manners:
        raise InputError(f"unknown manner {manner!r} of 'court:{name}'; known: {', '.join(manners)}")
    own = options.get("rules", "own" if {"echo", "length"} & options.keys() else "truth") == "own"
    usual = peer_reviewers.Taste()
    taste = (
        peer_reviewers.Taste(_share(options, "echo", usual.echo), _share(options, "length", usual.length))
        if own
        else None
    )
    return replace(member, label=options.get("label", member.label), manner=manners[manners.index(manner)], taste=taste)


def _share(options: Mapping[str, str], key: str, usual: float) -> float:
    try:
        value = float(options.get(key, usual))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(f"the option {key} is a number from 0 to 1; found {options[key]!r}")
    return value
