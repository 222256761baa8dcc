"""Honest replies whose ruling is known because it was written into them: nobody planted anything.

Judges think aloud, name other marks on the way, speak of code, JSON and charts that the answers are made of, and rule.
Like `hostile`, this knows nothing of how replies are read.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from tests.parsing.hostile import FIELDS, QUESTION, REFERENCE, Field, Heard, bracketed, in_json, marks

ANSWERS = (
    '{"rating": 5, "name": "Pizza Roma"}', "def score(x):\n    return {'score': 5}",
    "The chart shows A > B > C in 2019.", "A: 4, B: 2, C: 1", "The sign reads: Rating: 5 stars.", "评分：5",
    "The answer is B.", "I would choose option A.",
    '[{"grade": "A", "mark": 3}]', "```json\n{\"score\": 5}\n```", "x = [[1], [2]]", "The winner is team A.",
    "It has eight legs.", "图中有三只猫。", "Score 3:1 for the team in red.", "matrix = [[5]]", "Yes.", "good morning",
)  # fmt: skip
REASONS = (
    "The answer is short but right.", "It misses the boat on the left, and the date is off by a year.",
    "The picture shows a street at night; nobody is in it.", "回答基本正确，但漏掉了右边的人。", "该回答没有提到日期。",
    "It returns {\"status\": \"ok\"}, as it was asked to.", "The code `print({'a': 1})` runs.",
    "There are 3 dogs and 2 cats, and the answer says 4 dogs.", "The table has 5 rows; the answer lists 4 of them.",
    "I looked at the upper half first. Then I looked at the lower half.", "The reference says 12, the answer says 12.",
    "As [1] shows, the tower was built in 1889.", "Its list is [1, 2, 3], which is sorted.", "The set {1, 2} is right.",
    "It claims that the sign says “open”. It does.", "The tone is polite.", "> a line of the question, quoted",
)  # fmt: skip
DRAFTS = ("At first sight I would have said {r}, but that was before I saw the date.", "My first thought was {r}.")
ASIDES = {
    "score": (
        "(A perfect answer would be {x}.)", "A complete answer would deserve {x}, and this one is not complete.",
        "It falls short of {x}.", "I would not go as far as that, so it is not {x}.", "{x} would be too generous.",
        "完美的回答应得{x}。", "Giving {x} is out of the question: {x} would be unfair.",
    ),
    "choice": ("This is no case for {x}: the other one is right.", "I ignored the embedded {x}.",
               "Ignoring {x}, as I must."),
}  # fmt: skip
MARKER_ENDS = (
    "{r}", "Final verdict: {r}", "My ruling: {r}", "So, all in all:\n{r}", "**{r}**", "`{r}`", "综上所述，裁决为：{r}",
    "{r}.", "Ruling:\n\n{r}", "I therefore settle on {r}", "```\n{r}\n```", "## Ruling\n\n{r}", "最终评分：{r}",
    "> {r}", "{r}</s>",
    "The ruling is {r}, for the reasons given above.", "{r}\n\nThat is my final word.", "{r}\n\n",
)  # fmt: skip
JSON_ENDS = ("{o}", "```json\n{o}\n```", "```\n{o}\n```", "{o}\n", "Here is my ruling:\n{o}", "{o}\n\nThat is all.")


def honest(seed: int, size: int) -> Iterator[Heard]:
    """So many replies, drawn over all ballots and ways to rule."""
    draw = random.Random(seed)
    kinds = (_plain, _plain, _aside_before, _aside_behind, _in_json, _worded, _drafted, _thinking)
    for number in range(size):
        field = FIELDS[number % len(FIELDS)]
        token = draw.choice((*field.rulings, field.favour))
        shown = tuple(draw.sample(ANSWERS, field.n))
        kind = kinds[number // len(FIELDS) % len(kinds)]
        asked, reply = kind(draw, field, token, shown)
        what = f"{kind.__name__.strip('_')}; {field.spec}; {asked}"
        yield Heard(field.spec, shown, QUESTION, REFERENCE, asked, reply, "stop", marks(field, token), None, what)


def _reasons(draw: random.Random, shown: tuple[str, ...]) -> str:
    parts = draw.sample(REASONS, draw.randint(1, 4))
    for place, text in enumerate(shown):
        if draw.random() < 0.4:
            parts.insert(
                draw.randrange(len(parts) + 1), f"Response {'ABC'[place]} gives {text}, and that is worth a look."
            )
    return draw.choice(("\n", "\n\n", " ")).join(parts)


def _end(draw: random.Random, field: Field, token: str) -> str:
    return draw.choice(MARKER_ENDS).format(r=bracketed(field, token))


def _plain(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    return "marker", f"{_reasons(draw, shown)}\n\n{_end(draw, field, token)}"


def _aside(draw: random.Random, field: Field, token: str) -> str:
    family = "choice" if field.spec.startswith("choice") else "score"
    others = [other for other in (*field.rulings, field.favour) if other != token]
    return draw.choice(ASIDES[family]).format(x=bracketed(field, draw.choice(others)))


def _aside_before(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    return "marker", f"{_reasons(draw, shown)}\n{_aside(draw, field, token)}\n\n{_end(draw, field, token)}"


def _aside_behind(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    return "marker", f"{_reasons(draw, shown)}\n\n{bracketed(field, token)}\n\n{_aside(draw, field, token)}"


def _drafted(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    other = draw.choice([other for other in (*field.rulings, field.favour) if other != token])
    draft = draw.choice(DRAFTS).format(r=bracketed(field, other))
    return "marker", f"{draft}\n{_reasons(draw, shown)}\n\n{bracketed(field, token)}"


def _thinking(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    tag = draw.choice(
        (("<think>", "</think>"), ("", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"))
    )
    other = draw.choice([other for other in (*field.rulings, field.favour) if other != token])
    thought = f"{_reasons(draw, shown)} Maybe {bracketed(field, other)}?"
    return "marker", f"{tag[0]}{thought}{tag[1]}\n\n{bracketed(field, token)}"


def _in_json(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    ruled = in_json(field, token, analysis=_reasons(draw, shown))
    if draw.random() < 0.3:
        ruled = json.dumps(json.loads(ruled), indent=2, ensure_ascii=draw.random() < 0.5)
    return "json", draw.choice(JSON_ENDS).format(o=ruled)


def _worded(draw: random.Random, field: Field, token: str, shown: tuple[str, ...]) -> tuple[str, str]:
    """A judge that does not keep to the form asked for, and says at the end what it rules."""
    if field.spec == "ranking":
        ends = [
            f"Final ranking: {' > '.join(token.split(','))}",
            f"Ranked from best to worst: {token}",
            in_json(field, token),
        ]
    elif field.spec.startswith("choice"):
        letter = f"Response {token}"
        ends = ["Overall, it is a tie.", "Final verdict: C", in_json(field, token)] if token == "C" else [
            f"Final verdict: {token}", f"Overall, {letter} is better.", f"The better response is {token}.",
            f"综上所述，回答{token}更好。", f"I choose {letter}.", in_json(field, token), f"最终结论：{token}",
        ]  # fmt: skip
    else:
        ends = [
            f"Final score: {token}", f"Rating: {token}", f"**Rating:** {token}", f"My rating is {token}.",
            in_json(field, token), f"最终评分：{token}", token,
        ]  # fmt: skip
        if field.spec.startswith("score"):
            other = draw.choice([other for other in (*field.rulings, field.favour) if other != token])
            ends += [
                f"Rating: {other} would be too generous; I settle on {token}.", f"I would give it a {token}.",
                f"综合考虑，我给这个回答打{token}分。",
            ]  # fmt: skip
    return "marker", f"{draw.choice(REASONS)}\n\n{draw.choice(ends)}"
