"""A finding about a judge: one figure, one plain sentence, and whether it stands once all questions are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.nouns.estimate import Estimate
from fullbench.stats.comparison import benjamini_hochberg

LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """One figure about one bias: the judge's, people's where there is one, and what it means.

    `lean` is the difference that would be a bias: above zero it is what `more` says, below what `less` says; `p` is the
    p-value of "there is none", None for a figure that accuses nobody. `says` is the whole sentence, and `flagged`
    whether it accuses: both once `corrected` has counted all that was asked.
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
    doubt: str = ""
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
        unsure = f"no difference can be told from {finding.value.n:,} rows{finding.doubt}"
        said.append(replace(finding, flagged=flagged, says=f"{finding.opening}: {lean if flagged else unsure}."))
    return said


def percent(value: Estimate) -> str:
    """A share in words.

    >>> percent(Estimate(0.25, 0.1, 0.4, 20))
    '25%'
    """
    return f"{100 * value.value:.0f}%"
