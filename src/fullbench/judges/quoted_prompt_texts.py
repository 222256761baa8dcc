"""What a judge was shown that is not its own, and its reply read beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.ballot import Ballot, Language, Real, Ruling, Score, Style
from fullbench.core.call import Call
from fullbench.core.case import Case
from fullbench.core.item import Item, Part
from fullbench.core.model import DECLINED
from fullbench.core.picture import Picture
from fullbench.core.verdict import Reader
from fullbench.judges.prompt_examples import Example, written
from fullbench.models.prompt_fences import fenced
from fullbench.parsing import READER, is_signed, read

_WORDINGS = ("en.txt", "zh.txt", "critic_en.txt", "critic_zh.txt")


@cache
def _own_words() -> tuple[str, ...]:
    """The prompts that ship with the package, as they stand in their files."""
    folder = resources.files("fullbench.judges") / "prompts"
    return tuple((folder / name).read_text(encoding="utf-8") for name in _WORDINGS)


def drawn(case: Case) -> list[Picture]:
    """The pictures that contestants answered with."""
    return [picture for response in case.responses for picture in response.pictures]


def pictures_shown(item: Item, sight: str) -> Iterator[Part]:
    """The item's pictures as a judge with this sight has them: to look at, as a number, or in words."""
    if sight == "image":
        for index, picture in enumerate(item.pictures, 1):
            yield f"[{index}] "
            yield picture
            yield "\n"
    elif sight == "none" and item.pictures:
        yield str(len(item.pictures))
    elif sight == "described":
        yield "\n".join(f"[{index}] {caption}" for index, caption in enumerate(item.captions, 1))


def dialogue(item: Item, blocks: Mapping[str, str]) -> Iterator[Part]:
    """What was said before the question, a line for each turn; a wording's block `role_ROLE` says who spoke."""
    for turn in item.turns_judged[:-1]:
        yield f"{blocks.get(f'role_{turn.role}', f'{turn.role}: ')}{turn.text}\n"


def style_of(settings: Mapping[str, Any]) -> Style:
    """The form in which a judge with these settings asks for its rulings."""
    direct = settings.get("mode") == "direct"
    if settings.get("constrained"):
        return "bare" if direct else "json"
    return "json" if settings.get("form") in {"json", "json-prompt"} and not direct else "marker"


def ends(form: Ballot, language: Language) -> str:
    """Which end of a scale is good, for the ballots that do not say so themselves; empty for all others.

    >>> from fullbench.core.ballot import ballot
    >>> ends(ballot("score:1-5"), "en"), ends(ballot("choice"), "en")
    ('On the scale, 1 is the worst and 5 the best. ', '')
    """
    if not isinstance(form, Score | Real):
        return ""
    low, high = f"{form.low:.12g}", f"{form.high:.12g}"
    return (
        f"评分中 {low} 为最差，{high} 为最好。"
        if language == "zh"
        else (f"On the scale, {low} is the worst and {high} the best. ")
    )


def words_shown(case: Case, settings: Mapping[str, Any]) -> list[str]:
    """All words in sight of a judge with these settings that are not its own: the case, and the prompt around it."""
    item = case.item
    responses = "".join(part for part in fenced(case) if isinstance(part, str))
    about = [turn.text for turn in item.turns] + [item.reference or "", *item.captions]
    asked = case.ballot.ask(len(case.responses), settings.get("language", "en"), style_of(settings))
    if "ends" in settings:
        asked = ends(case.ballot, settings.get("language", "en")) + asked
    given = [Example(text, tuple(marks), *ballot) for text, marks, *ballot in settings.get("examples", ())]
    style: Style = "marker" if settings.get("constrained") else style_of(settings)
    examples = list(written(given, case.ballot, len(case.responses), style))
    return [responses, *about, asked, *settings.get("criteria", {}).values(), *examples, *_own_words()]


def read_reply(
    case: Case, reply: Call, settings: Mapping[str, Any], more: Sequence[str] = (), *, estimated: bool = False
) -> tuple[Ruling, int]:
    """What a reply in a case rules, and how it was read. `more` are further words that the judge was shown;
    `estimated` says that the tokens of the hearing were not all counted by the server."""
    cut = reply.stop == "length"
    n = len(case.responses)
    signed = is_signed(case.ballot, reply.text, n, reply.nonce) if reply.nonce else None
    reader = Reader.of(READER, signed=signed, cut=cut, estimated=estimated)
    if reply.stop in DECLINED:
        return "refused", reader
    if "sheet" in settings:
        from fullbench.parsing.rubric_points import point_in  # late: its patterns take long to compile

        return point_in(reply.text, case.criterion, case.ballot, cut=cut) or "unreadable", reader
    ruling = read(
        case.ballot, reply.text, n, lambda: [*words_shown(case, settings), *more],
        asked=style_of(settings), nonce=reply.nonce, cut=cut, thought=reply.reasoning,
    )  # fmt: skip
    return ruling, reader
