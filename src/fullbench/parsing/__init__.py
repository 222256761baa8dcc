"""Parser from a judge's reply to marks: `read(ballot, text, n, shown)`. The rules are in `parsing.reader`.

A plugin's ballot describes its verdicts by registering a form:

    @form_of.register(MyBallot)
    def _(ballot: MyBallot) -> Form: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, singledispatch
from typing import TYPE_CHECKING, Any

from fullbench.core.ballot import (
    Ballot,
    Choice,
    GradedChoice,
    Likert,
    MarksOrFault,
    Ranking,
    Real,
    Score,
    Style,
    register_reader,
)
from fullbench.core.unbounded_number_ballot import Number

if TYPE_CHECKING:
    from fullbench.parsing.verdict_form_base import Form

READER = 2
"""The version of the rules by which replies are read: to be raised when a reply may be read differently than before."""

_TERSE = 10


def read(
    ballot: Ballot,
    text: str,
    n: int,
    shown: Sequence[str] | Callable[[], Sequence[str]] = (),
    *,
    asked: Style | None = None,
    nonce: str = "",
    cut: bool = False,
    thought: str = "",
) -> MarksOrFault:
    """The marks that the last complete ruling in `text` gives for `n` responses, else the fault.

    `shown` holds all words that the judge was shown and that are not its own: a ruling that only quotes them does not
    count; a function that gives them is called where they are needed. What is a quotation is said in
    `parsing.quoted_text`. `asked` is the form that the ruling was asked for in, None where nobody knows; `nonce` the
    random word that it was to carry. In a reply that was `cut` off, a ruling counts where it is complete and the last
    thing said. `thought` is what was taken for the judge's thinking, where that was kept apart from the text.
    """
    if len(text) <= _TERSE and text.startswith("[[") and asked in {None, "marker"} and not (cut or thought):
        return _read_terse(ballot, text, n)
    words = shown() if callable(shown) else shown
    return _read(ballot, n, text, shown=words, asked=asked, nonce=nonce, cut=cut, thought=thought)


def is_signed(ballot: Ballot, text: str, n: int, nonce: str) -> bool:
    """Whether a reply has a ruling that carries the nonce which it was asked for with."""
    from fullbench.parsing.random_check_codes import copied, signed
    from fullbench.parsing.vocabulary import plain

    return copied(nonce, text) and signed(_form(ballot), n, plain(text), nonce, cut=False) is not None


@lru_cache(maxsize=4096)
def _read_terse(ballot: Ballot, text: str, n: int) -> MarksOrFault:
    """A reply that is a marker and no more: too short to quote anybody, and the same one comes by the thousand."""
    return _read(ballot, n, text)


def _read(ballot: Ballot, n: int, text: str, **known: Any) -> MarksOrFault:
    # Late: its patterns take long to compile, and only judges need them.
    from fullbench.parsing.reader import Heard, ruling

    return ruling(_form(ballot), Heard(text, **known), n)


@singledispatch
def form_of(ballot: Ballot) -> Form:
    """What rulings on a ballot look like, by the ballot's type."""
    raise TypeError(f"no reply format is known for {ballot.spec!r}; register it with reading.form_of")


_form = lru_cache(maxsize=256)(form_of)  # ballots are few and frozen, and a form is asked for with every reply


@form_of.register(Score)
def _(ballot: Score) -> Form:
    from fullbench.parsing.numbers import NumberForm

    return NumberForm(ballot.low, ballot.high, whole=True)


@form_of.register(Real)
def _(ballot: Real) -> Form:
    from fullbench.parsing.numbers import NumberForm

    return NumberForm(ballot.low, ballot.high, whole=False)


@form_of.register(Number)
def _(_: Number) -> Form:
    from math import inf

    from fullbench.parsing.numbers import NumberForm

    return NumberForm(-inf, inf, whole=False)


@form_of.register(Likert)
def _(ballot: Likert) -> Form:
    from fullbench.parsing.numbers import WordForm

    return WordForm(ballot.words)


@form_of.register(Choice)
def _(ballot: Choice) -> Form:
    from fullbench.parsing.choice import ChoiceForm

    return ChoiceForm(ballot.tie)


@form_of.register(GradedChoice)
def _(ballot: GradedChoice) -> Form:
    from fullbench.parsing.graded_choice import GradedForm

    return GradedForm(ballot)


@form_of.register(Ranking)
def _(_: Ranking) -> Form:
    from fullbench.parsing.rankings import RankingForm

    return RankingForm()


register_reader(read)
