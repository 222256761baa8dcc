"""Parser from a judge's reply to marks: `read(ballot, text, n, shown)`. The rules are in `parsing.reader`.

A plugin's ballot describes its verdicts by registering a form:

    @form_of.register(MyBallot)
    def _(ballot: MyBallot) -> Form: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, singledispatch
from math import inf
from typing import TYPE_CHECKING, Any

from fullbench.core.ballot import (
    Ballot,
    Choice,
    GradedChoice,
    Likert,
    MarksOrFault,
    Number,
    Ranking,
    Real,
    Score,
    Style,
    register_reader,
)

if TYPE_CHECKING:
    from fullbench.parsing.verdict_phrase_label_and_sentence_forms import Form

READER = 4
"""The version of the rule by which replies are read: raise it when a reply may be read differently than before."""


def read(
    ballot: Ballot,
    text: str,
    n: int,
    shown: Sequence[str] | Callable[[], Sequence[str]] = (),
    **circumstances: Any,
) -> MarksOrFault:
    """Return the marks that a reply gives to `n` responses, or the fault; see `read_with_code`."""
    return read_with_code(ballot, text, n, shown, **circumstances)[0]


def read_with_code(
    ballot: Ballot,
    text: str,
    n: int,
    shown: Sequence[str] | Callable[[], Sequence[str]] = (),
    *,
    responses: Sequence[str] | None = None,
    asked: Style | None = None,
    nonce: str = "",
    cut: bool = False,
    thought: str = "",
    constrained: bool = False,
    criterion: str = "overall",
) -> tuple[MarksOrFault, bool]:
    """Return the marks or the fault of a reply, and True if the verdict carries the check code.

    Args:
        ballot: ballot to fill in.
        text: reply.
        n: number of responses shown.
        shown: texts that the judge was shown and did not write, or a function that returns them if they are needed.
        responses: texts of the responses in the order shown; the first `n` of `shown` if it is a sequence.
        asked: requested form, None if nobody knows.
        nonce: check code that the verdict was to carry.
        cut: the reply was cut off by the limit on its length.
        thought: reasoning that the server kept apart from the text.
        constrained: the server held the reply to a schema, so that nothing but its object is read.
        criterion: criterion that was judged.
    """
    # Late: its patterns take long to compile, and only judges need them.
    from fullbench.parsing.reader import JudgeReply, read_verdict

    if responses is None:
        responses = () if callable(shown) else tuple(shown[:n])
    reply = JudgeReply(text, shown, responses, asked, nonce, cut, thought, constrained, criterion)
    return read_verdict(_form(ballot), reply, n)


def is_signed(ballot: Ballot, text: str, n: int, nonce: str) -> bool:
    """Return True if a reply has a verdict that carries the check code."""
    return read_with_code(ballot, text, n, nonce=nonce)[1]


@singledispatch
def form_of(ballot: Ballot) -> Form:
    """Return the written forms of verdicts on a ballot, by its type."""
    raise TypeError(f"no output format is known for verdicts on {ballot.spec!r}; register one with parsing.form_of")


_form = lru_cache(maxsize=256)(form_of)  # ballots are few and frozen, and a form is asked for with every reply


def _built_in_form(ballot: Ballot) -> Form:
    from fullbench.parsing.choice import ChoiceForm, GradedForm
    from fullbench.parsing.numbers_and_scale_words import NumberForm, WordForm
    from fullbench.parsing.rankings import RankingForm

    match ballot:
        case Score() | Real():
            return NumberForm(ballot.low, ballot.high, whole=isinstance(ballot, Score))
        case Likert():
            return WordForm(ballot.words)
        case Choice():
            return ChoiceForm(ballot.tie)
        case GradedChoice():
            return GradedForm(ballot)
        case Ranking():
            return RankingForm()
        case _:
            return NumberForm(-inf, inf, whole=False)


for _kind in (Score, Real, Number, Likert, Choice, GradedChoice, Ranking):
    form_of.register(_kind)(_built_in_form)
register_reader(read)
