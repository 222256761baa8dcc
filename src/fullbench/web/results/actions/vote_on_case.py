"""Voting on a case in the browser: a vote is a verdict of the judge `human` in the ledger, the person its rater."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import Choice, Likert, Real, Score, ballot
from fullbench.core.case import Case
from fullbench.core.verdict import PEOPLE, Circumstances, Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts.users import User
from fullbench.web.results.pages.case_page import Hearing
from fullbench.web.words import key

_TURNS = threading.Lock()
"""Two votes of one person at once are two revisions."""


@dataclass(frozen=True)
class Form:
    """What a person fills in: which is best, or a number for each response."""

    kind: Literal["choice", "marks"]
    tie: bool = False
    low: float = 0
    high: float = 0
    step: str = "1"


def form_of(told: Hearing) -> Form | None:
    """The form of a case's ballot; None where there is none here (rankings are made in studies)."""
    try:
        form = ballot(told.ballot)
    except InputError:
        return None
    if isinstance(form, Choice):
        return Form("choice", tie=form.tie)
    if isinstance(form, Score):
        return Form("marks", low=form.low, high=form.high)
    if isinstance(form, Real):
        return Form("marks", low=form.low, high=form.high, step="any")
    return Form("marks", low=1, high=len(form.words)) if isinstance(form, Likert) else None


def marks_of(case: Case, given: Mapping[str, str]) -> list[float]:
    """The marks that a filled-in form gives; refused where the ballot does not allow them."""
    shown = len(case.responses)
    try:
        if isinstance(case.ballot, Choice):
            best = given.get("best", "")
            marks = [1 / shown] * shown if best == "tie" else [float(place == int(best)) for place in range(shown)]
        else:
            marks = [float(given.get(f"mark-{place}", "")) for place in range(shown)]
    except ValueError:
        marks = []
    if not marks or not case.ballot.allows(marks):
        raise InputError(key("This vote is not complete."))
    return marks


def vote(ledger: Ledger, case: Case, user: User, marks: list[float], text: str) -> Verdict:
    """Put a vote into the ledger. A second one of the same person on the same case is a revision: both stay, the latest
    counts. Names and rulings are visible where this vote is cast, so it is not blind."""
    with _TURNS:
        verdicts = ledger.verdicts(PEOPLE, cases=[case.key], texts=False, revisions=True)
        # A file of labels may name the person: the vote is a revision of that label, not a second vote.
        earlier = [
            verdict for verdict in verdicts if verdict.rater in {user.rater, user.name} and verdict.trial == case.trial
        ]
        newest = max(earlier, key=lambda verdict: verdict.revision, default=None)
        verdict = Verdict.of(
            case, PEOPLE, marks, text=text, at=time.time(), rater=user.rater if newest is None else newest.rater,
            revision=0 if newest is None else newest.revision + 1, circumstances=Circumstances(blind=False),
        )  # fmt: skip
        ledger.add(verdict)
        ledger.flush()
    return verdict
