"""Votes on a case in the browser, stored in the ledger as verdicts of the judge `human` with a rater."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fullbench.core.ballot import Choice, GradedChoice, Likert, Real, Score, ballot
from fullbench.core.case import Case
from fullbench.core.verdict import PEOPLE, Circumstances, Verdict
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.accounts.users import User
from fullbench.web.results.pages.case_page import CaseDetails
from fullbench.web.words import key

_VOTE_LOCK = threading.Lock()
"""Two simultaneous votes of one person are two revisions."""


@dataclass(frozen=True)
class VoteForm:
    """Form for a vote: choose the best response, a level of preference, or give each response a number."""

    kind: Literal["choice", "levels", "marks"]
    tie: bool = False
    low: float = 0
    high: float = 0
    step: str = "1"
    levels: Sequence[int] = ()
    """Signed strengths of a graded choice, the best for the first response first."""

    def level_words(self, step: int) -> str:
        """Return how much better one response is at this signed strength."""
        words = (key("slightly better"), key("better"), key("much better"))
        return words[abs(step) - max(self.levels) - 1] if step else key("none is ahead")


def vote_form(case_details: CaseDetails) -> VoteForm | None:
    """Return the form for a case's ballot. None for rankings, which only campaigns support."""
    try:
        parsed_ballot = ballot(case_details.ballot)
    except InputError:
        return None
    if isinstance(parsed_ballot, Choice):
        return VoteForm("choice", tie=parsed_ballot.tie)
    if isinstance(parsed_ballot, GradedChoice):
        return VoteForm("levels", levels=parsed_ballot.steps)
    if isinstance(parsed_ballot, Score):
        return VoteForm("marks", low=parsed_ballot.low, high=parsed_ballot.high)
    if isinstance(parsed_ballot, Real):
        return VoteForm("marks", low=parsed_ballot.low, high=parsed_ballot.high, step="any")
    return VoteForm("marks", low=1, high=len(parsed_ballot.words)) if isinstance(parsed_ballot, Likert) else None


def marks_from_form(case: Case, form_texts: Mapping[str, str]) -> list[float]:
    """Return the marks of a submitted form. Raise if the ballot does not allow them."""
    response_count = len(case.responses)
    try:
        if isinstance(case.ballot, Choice):
            best = form_texts.get("best", "")
            marks = (
                [1 / response_count] * response_count
                if best == "tie"
                else [float(place == int(best)) for place in range(response_count)]
            )
        elif isinstance(case.ballot, GradedChoice):
            marks = list(case.ballot.marks_of(int(form_texts.get("level", ""))))
        else:
            marks = [float(form_texts.get(f"mark-{place}", "")) for place in range(response_count)]
    except ValueError:
        marks = []
    if not marks or not case.ballot.allows(marks):
        raise InputError(key("This vote is not complete."))
    return marks


def record_vote(ledger: Ledger, case: Case, user: User, marks: list[float], text: str) -> Verdict:
    """Write a vote to the ledger.

    A second vote of the same person on the same case is a revision: both are stored, the latest counts. The page shows
    names and verdicts, so the vote is not blind.
    """
    with _VOTE_LOCK:
        verdicts = ledger.verdicts(PEOPLE, cases=[case.key], texts=False, revisions=True)
        # An imported label may use the person's account name. The vote is then a revision of that label.
        earlier_votes = [
            verdict for verdict in verdicts if verdict.rater in {user.rater, user.name} and verdict.trial == case.trial
        ]
        newest = max(earlier_votes, key=lambda verdict: verdict.revision, default=None)
        verdict = Verdict.from_case(
            case, PEOPLE, marks, text=text, at=time.time(), rater=user.rater if newest is None else newest.rater,
            revision=0 if newest is None else newest.revision + 1, circumstances=Circumstances(blind=False),
        )  # fmt: skip
        ledger.add(verdict)
        ledger.flush()
    return verdict
