"""A finding about a judge: one figure, one plain sentence, and whether it stands once all questions are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg

LEVEL = 0.05
LEANS = {
    "first-place": Note("lean.first-place", "it leans to the first place"),
    "second-place": Note("lean.second-place", "it leans to the second place"),
    "more-ties": Note("lean.more-ties", "it calls ties more readily"),
    "fewer-ties": Note("lean.fewer-ties", "it shuns ties"),
    "copies": Note("lean.copies", "it copies"),
    "copies-less": Note("lean.copies-less", "it copies less than chance and quality would have it"),
    "long-gain": Note("lean.long-gain", "long answers gain"),
    "long-lose": Note("lean.long-lose", "long answers lose"),
    "rewards-length": Note("lean.rewards-length", "it rewards mere length"),
    "punishes-length": Note("lean.punishes-length", "it punishes mere length"),
    "lenient": Note("lean.lenient", "it is lenient"),
    "strict": Note("lean.strict", "it is strict"),
    "crowds-top": Note("lean.crowds-top", "it crowds the top"),
    "spares-top": Note("lean.spares-top", "it uses the top less"),
    "own": Note("lean.own", "it favours its own"),
    "hard-on-own": Note("lean.hard-on-own", "it is harder on its own"),
}
"""What an interval may say of a difference."""


@dataclass(frozen=True)
class Finding:
    """One figure about one bias: the judge's, people's where there is one, and what it means.

    `lean` is the difference that would be a bias: above zero it is what `more` says, below what `less` says; `p` is
    the p-value of "there is none", None for a figure that accuses nobody. `one_vote`: people voted once on each
    response, so that their errors are not known. `says` is the whole sentence, and `flagged` whether it accuses: both
    once `corrected` has counted all that was asked.
    """

    judge: str
    bias: str
    figure: str
    value: Estimate
    people: Estimate | None
    opening: str
    p: float | None = None
    lean: float = 0.0
    more: str = ""
    less: str = ""
    one_vote: bool = False
    says: str = ""
    flagged: bool = False


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with their sentences; what is claimed survives Benjamini-Hochberg's correction over all of them."""
    asked = [finding for finding in findings if finding.p is not None]
    passed = iter(benjamini_hochberg([finding.p or 0.0 for finding in asked], level=LEVEL).passed if asked else ())
    said = []
    for finding in findings:
        if finding.p is None:
            said.append(replace(finding, says=finding.opening))
            continue
        flagged = next(passed)
        lean = finding.more if finding.lean > 0 else finding.less
        claim = lean if flagged else _unsure(finding)
        says = Note("probes.claim", "{opening}: {lean}.", opening=finding.opening, lean=claim)
        said.append(replace(finding, flagged=flagged, says=says))
    return said


def _unsure(finding: Finding) -> str:
    if finding.one_vote:
        return Note(
            "lean.none-one-vote",
            "no difference can be told from {n:,} rows with one vote each, for how far people err is not known",
            n=finding.value.n,
        )
    return Note("lean.none", "no difference can be told from {n:,} rows", n=finding.value.n)


def percent(value: Estimate) -> str:
    """A share in words.

    >>> percent(Estimate(0.25, 0.1, 0.4, 20))
    '25%'
    """
    return f"{100 * value.value:.0f}%"
