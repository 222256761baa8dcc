"""Bias findings: one estimate, one sentence, and whether it is significant after correction for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.stats.paired_comparison_of_judges import benjamini_hochberg

LEVEL = 0.05
BIAS_NOTES = {
    "first-place": Note("bias.first-place"),
    "second-place": Note("bias.second-place"),
    "more-ties": Note("bias.more-ties"),
    "fewer-ties": Note("bias.fewer-ties"),
    "copies": Note("bias.copies"),
    "copies-less": Note("bias.copies-less"),
    "long-gain": Note("bias.long-gain"),
    "long-lose": Note("bias.long-lose"),
    "rewards-length": Note("bias.rewards-length"),
    "punishes-length": Note("bias.punishes-length"),
    "lenient": Note("bias.lenient"),
    "strict": Note("bias.strict"),
    "crowds-top": Note("bias.crowds-top"),
    "spares-top": Note("bias.spares-top"),
    "own": Note("bias.own"),
    "hard-on-own": Note("bias.hard-on-own"),
}


@dataclass(frozen=True)
class Finding:
    """A bias estimate for the judge, the same for people if available, and a sentence.

    `lean` is the difference that would be a bias: `more` describes it above zero, `less` below zero. `p` is the
    p-value of "no bias", or None for a metric that claims none. `one_vote`: each response has only one vote, so
    people's errors are unknown. `correct_for_multiple_tests` fills in the sentence `says` and the claim `is_flagged`.
    """

    judge: str
    bias: str
    metric: str
    value: Estimate
    people: Estimate | None
    opening: str
    p: float | None = None
    lean: float = 0.0
    more: str = ""
    less: str = ""
    one_vote: bool = False
    says: str = ""
    is_flagged: bool = False


def correct_for_multiple_tests(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with sentences. Claims survive Benjamini-Hochberg's correction over all findings."""
    tested_findings = [finding for finding in findings if finding.p is not None]
    significance_flags = iter(
        benjamini_hochberg([finding.p or 0.0 for finding in tested_findings], level=LEVEL).is_significant
        if tested_findings
        else ()
    )
    corrected_findings = []
    for finding in findings:
        if finding.p is None:
            corrected_findings.append(replace(finding, says=finding.opening))
            continue
        is_flagged = next(significance_flags)
        lean = finding.more if finding.lean > 0 else finding.less
        claim = lean if is_flagged else _no_difference_note(finding)
        says = Note("probes.claim", opening=finding.opening, finding=claim)
        corrected_findings.append(replace(finding, is_flagged=is_flagged, says=says))
    return corrected_findings


def _no_difference_note(finding: Finding) -> str:
    if finding.one_vote:
        return Note("bias.none-one-vote", n=finding.value.n)
    return Note("bias.none", n=finding.value.n)


def format_percent(value: Estimate) -> str:
    """Return a share as a percentage.

    >>> format_percent(Estimate(0.25, 0.1, 0.4, 20))
    '25%'
    """
    return f"{100 * value.value:.0f}%"
