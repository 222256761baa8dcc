"""Criteria that several rooms know by name: those of a peer review, and those under which a ruling is reviewed."""

from __future__ import annotations

from collections.abc import Mapping

from fullbench.nouns.ballot import Ballot, Likert, Score
from fullbench.nouns.verdict import Verdict

CORRECTNESS = "correctness"
VISUAL = "visual"
CORRELATION = "correlation"
"""How well an answer fits its picture, by a measure and not by a reviewer."""

AGREES = "agrees"
REASONS = "reasons"
HALLUCINATES = "hallucinates"
"""The criterion under which people say that a ruling's reasons see what is not there."""
REVIEW_BALLOTS: Mapping[str, Ballot] = {
    AGREES: Likert(("no", "yes")),
    REASONS: Score(1, 5),
    HALLUCINATES: Likert(("no", "yes")),
}
"""On what people review a judge's ruling, by criterion."""


FOLLOWS = "reference verified"
CAPTION_AT_FAULT = "caption at fault"
REFERENCE_AT_FAULT = "reference at fault"
CHECKS = (FOLLOWS, CAPTION_AT_FAULT, REFERENCE_AT_FAULT)
"""What people say of a reference, each a yes or no: that it follows its instruction, and what was wrong if not."""

LESS_IS_BETTER = frozenset({HALLUCINATES, CAPTION_AT_FAULT, REFERENCE_AT_FAULT})
"""Criteria under which the lower mark is the better one."""


def is_review(verdict: Verdict) -> bool:
    """Whether a verdict is on another verdict."""
    return verdict.criterion in REVIEW_BALLOTS


def is_check(verdict: Verdict) -> bool:
    """Whether a verdict is what somebody said of a reference, not of an answer."""
    return verdict.criterion in CHECKS
