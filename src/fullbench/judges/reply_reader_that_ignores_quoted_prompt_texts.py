"""Texts in a prompt that the judge did not write (answers, references), used to discard verdicts that it quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from fullbench.core.ballot import Ballot, Language, MarksOrFault, Real, Score, Style
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import split_criterion
from fullbench.core.model import DECLINED_STOPS
from fullbench.core.model_call import Call
from fullbench.core.picture import Picture
from fullbench.core.verdict import ReplyReading
from fullbench.judges.prompt_templates import Example, render_examples
from fullbench.models.response_fences_and_parser import fence_responses
from fullbench.parsing import READER, read_with_code

_PROMPT_FILES = ("en.txt", "zh.txt", "critic_en.txt", "critic_zh.txt")


@cache
def _shipped_prompt_texts() -> tuple[str, ...]:
    """Return the prompt files that ship with the package."""
    folder = resources.files("fullbench.judges") / "prompts"
    return tuple((folder / name).read_text(encoding="utf-8") for name in _PROMPT_FILES)


def response_pictures(case: Case) -> list[Picture]:
    """Return the pictures in the responses."""
    return [picture for response in case.responses for picture in response.pictures]


def style_of(settings: Mapping[str, Any]) -> Style:
    """Return the form in which a judge with these settings requests verdicts."""
    direct = settings.get("mode") == "direct"
    if settings.get("constrained"):
        return "bare" if direct else "json"
    return "json" if settings.get("form") in {"json", "json-prompt"} and not direct else "marker"


def scale_ends_text(form: Ballot, language: Language) -> str:
    """Return which end of a scale is good, for ballots that do not say so themselves; else empty.

    >>> from fullbench.core.ballot import ballot
    >>> scale_ends_text(ballot("score:1-5"), "en"), scale_ends_text(ballot("choice"), "en")
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


def shown_texts(case: Case, settings: Mapping[str, Any]) -> list[str]:
    """Return all texts shown to a judge with these settings that are not its own: the case and the prompt."""
    item = case.item
    responses = "".join(part for part in fence_responses(case) if isinstance(part, str))
    about = [turn.text for turn in item.turns] + [item.reference or "", *item.captions]
    ballot_request = case.ballot.ask(len(case.responses), settings.get("language", "en"), style_of(settings))
    if "ends" in settings:
        ballot_request = scale_ends_text(case.ballot, settings.get("language", "en")) + ballot_request
    all_examples = [Example(text, tuple(marks), *ballot) for text, marks, *ballot in settings.get("examples", ())]
    style: Style = "marker" if settings.get("constrained") else style_of(settings)
    examples = list(render_examples(all_examples, case.ballot, len(case.responses), style))
    return [
        responses,
        *about,
        ballot_request,
        *settings.get("criteria", {}).values(),
        *examples,
        *_shipped_prompt_texts(),
    ]


def read_reply(
    case: Case,
    reply: Call,
    settings: Mapping[str, Any],
    extra_texts: Sequence[str] = (),
    *,
    has_estimated_tokens: bool = False,
) -> tuple[MarksOrFault, ReplyReading]:
    """Return the marks or fault of a reply, and how it was read.

    `extra_texts` are further texts shown to the judge. `has_estimated_tokens` tells that the server did not count all
    tokens.
    """
    cut = reply.stop == "length"
    n = len(case.responses)
    is_declined, is_sheet = reply.stop in DECLINED_STOPS, "sheet" in settings
    marks_or_fault: MarksOrFault = "refused"
    has_check_code = False
    if is_sheet and not is_declined:
        from fullbench.parsing.rubric_points import point_in  # imported late: its patterns are slow to compile

        marks_or_fault = point_in(reply.text, case.criterion, case.ballot, cut=cut) or "unreadable"
    elif not is_declined:
        marks_or_fault, has_check_code = read_with_code(
            case.ballot, reply.text, n, lambda: [*shown_texts(case, settings), *extra_texts],
            responses=[response.text for response in case.responses], asked=style_of(settings), nonce=reply.nonce,
            cut=cut, thought=reply.reasoning, constrained=bool(settings.get("constrained")),
            criterion=split_criterion(case.criterion)[0],
        )  # fmt: skip
    reading = ReplyReading(
        READER,
        has_check_code=has_check_code if reply.nonce else None,
        is_cut_off=cut,
        has_estimated_tokens=has_estimated_tokens,
    )
    return marks_or_fault, reading
