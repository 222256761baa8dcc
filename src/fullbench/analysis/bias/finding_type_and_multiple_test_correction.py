"""Bias findings: one estimate, one sentence, and whether it is significant after correction for all tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.stats.paired_comparison_and_test_corrections import benjamini_hochberg

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

SHORT_NOTES = {
    "bias.first-place": Note("trust.bias.first-place"),
    "bias.second-place": Note("trust.bias.second-place"),
    "bias.more-ties": Note("trust.bias.more-ties"),
    "bias.fewer-ties": Note("trust.bias.fewer-ties"),
    "bias.copies": Note("trust.bias.copies"),
    "bias.copies-less": Note("trust.bias.copies-less"),
    "bias.long-gain": Note("trust.bias.long-gain"),
    "bias.long-lose": Note("trust.bias.long-lose"),
    "bias.rewards-length": Note("trust.bias.rewards-length"),
    "bias.punishes-length": Note("trust.bias.punishes-length"),
    "bias.lenient": Note("trust.bias.lenient"),
    "bias.strict": Note("trust.bias.strict"),
    "bias.crowds-top": Note("trust.bias.crowds-top"),
    "bias.spares-top": Note("trust.bias.spares-top"),
    "bias.own": Note("trust.bias.own"),
    "bias.hard-on-own": Note("trust.bias.hard-on-own"),
}
"""A claimed bias in two or three words, by the id of its claim."""


@dataclass(frozen=True)
class Finding:
    """A bias estimate for the judge, the same for people if available, and a sentence.

    `bias_size` is the difference that would be a bias: `more` describes it above zero, `less` below zero. `p` is the
    p-value of "no bias", or None for a metric that claims none. `one_vote`: each response has only one vote, so
    people's errors are unknown. `null` is what `value` is without any bias, or None if the test is of something else.
    `unclaimed` is the reason if the intervals suggest a bias and the test shows none.
    `correct_for_multiple_tests` fills in the sentence `says` and the claim `is_flagged`.
    """

    judge: str
    bias: str
    metric: str
    value: Estimate
    people: Estimate | None
    opening: str
    p: float | None = None
    bias_size: float = 0.0
    more: str = ""
    less: str = ""
    one_vote: bool = False
    null: float | None = None
    unclaimed: str = ""
    says: str = ""
    is_flagged: bool = False

    @property
    def claim(self) -> str:
        """Return the bias in words, in the direction of the estimate."""
        return self.more if self.bias_size > 0 else self.less

    @property
    def needs_second_vote(self) -> bool:
        """Return True for effects of length and own family, which single votes per response cannot show."""
        return self.one_vote and self.bias in {"length", "ego"} and not self.is_flagged


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
        claim = finding.claim if is_flagged else _unclaimed_note(finding, len(tested_findings))
        says = Note("probes.claim", opening=finding.opening, finding=claim)
        corrected_findings.append(replace(finding, is_flagged=is_flagged, says=says))
    return corrected_findings


def _unclaimed_note(finding: Finding, tests: int) -> str:
    """Return why no bias is claimed. The sentence never contradicts the interval that is printed next to it."""
    if finding.needs_second_vote:
        return Note("bias.needs-two-votes")
    if _intervals_suggest_bias(finding):
        if (finding.p or 0.0) <= LEVEL:
            return Note("bias.not-after-correction", p=finding.p, n=tests)
        return finding.unclaimed or Note("bias.interval-only", p=finding.p)
    value = finding.value
    items = value.n if value.units is None else value.units
    if finding.one_vote:
        return Note("bias.none-one-vote", n=value.n, items=items)
    return Note("bias.none", n=value.n, items=items)


def _intervals_suggest_bias(finding: Finding) -> bool:
    """Return True if the interval leaves out what is without bias, or if those of judge and people do not overlap."""
    ours, theirs = finding.value, finding.people
    if ours.why or (theirs is not None and theirs.why):
        return False
    if theirs is not None and (ours.high < theirs.low or theirs.high < ours.low):
        return True
    return finding.null is not None and not ours.low <= finding.null <= ours.high


def format_percent(value: Estimate) -> str:
    """Return a share as a percentage.

    >>> format_percent(Estimate(0.25, 0.1, 0.4, 20))
    '25%'
    """
    return f"{100 * value.value:.0f}%"
