"""Calls: one exchange with a model, and its usage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

FailureKind = Literal["passing", "permanent", "unasked"]
"""The call may succeed later, never will (such as a prompt too long for the model), or was not made because the budget
was spent.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of some calls: answered calls, retries, tokens, dollars, seconds.

    `dollars` is None if no price is known, and stays None in sums: an unknown price is never zero. `cached` counts
    input tokens read from the server's cache, `stored` those written to it. Each is None if no server reported it,
    else the sum of the reported numbers. `counted` are the input tokens of calls that reported their cache use; if
    they are not all, `cached` is a lower bound.
    """

    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    cached: int | None = None
    stored: int | None = None
    counted: int = field(default=0, compare=False)

    def __add__(self, other: Usage) -> Usage:
        if self is NOTHING:
            return other
        dollars = None if self.dollars is None or other.dollars is None else self.dollars + other.dollars
        return Usage(
            self.calls + other.calls,
            self.retries + other.retries,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            dollars,
            self.seconds + other.seconds,
            sum_of_known(self.cached, other.cached),
            sum_of_known(self.stored, other.stored),
            self.counted + other.counted,
        )

    @property
    def share_cached(self) -> float | None:
        """Share of input tokens from a cache, at least: unreported counts as zero, because servers omit zeros."""
        return None if self.cached is None or not self.tokens_in else self.cached / self.tokens_in

    def over(self, parts: int) -> Usage:
        """Return the mean usage of one of `parts` parts, with at least one call and tokens rounded up."""
        if parts < 1:
            raise ValueError(f"a usage is split into at least one part; found {parts}")
        return Usage(
            max(1, round(self.calls / parts)),
            round(self.retries / parts),
            -(-self.tokens_in // parts),
            -(-self.tokens_out // parts),
            None if self.dollars is None else self.dollars / parts,
            self.seconds / parts,
        )


NOTHING = Usage()


def sum_of_known(first: int | None, second: int | None) -> int | None:
    """Return the sum of the known values, or None if both are unknown.

    >>> sum_of_known(2, 3), sum_of_known(None, 3), sum_of_known(None, None)
    (5, 3, None)
    """
    return second if first is None else first if second is None else first + second


@dataclass(frozen=True, slots=True)
class Call:
    """One exchange with a model, as stored in the ledger.

    One call may give several verdicts (a rubric in one call), and several calls one verdict (steps, resampling).
    `prompt` is the digest of what was sent, `sent` its text if it cannot be rendered again from the ledger. `nonce` is
    the check code requested with the verdict. `stop` is how the reply ended; `served` and `fingerprint` are the
    server's own description of the model.
    """

    id: str
    text: str
    prompt: str = ""
    sent: str = ""
    reasoning: str = ""
    stop: str = ""
    served: str = ""
    fingerprint: str = ""
    nonce: str = ""
    usage: Usage = NOTHING
    at: float = 0.0
    frames: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """Frames and pages that were sent in place of other media, to be stored with the call."""
