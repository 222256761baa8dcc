"""A call: one exchange with a model, and what it used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FailureKind = Literal["passing", "permanent", "unasked"]
"""Whether the same call may succeed later, or never will (a prompt that is too long for the model), or was not made,
since the money was spent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used: calls that were answered, attempts that were not, tokens, dollars, seconds.

    `dollars` is None where no price is known, and stays None when added to: an unknown price is never zero. `cached`
    are those of the tokens in that came from the server's cache, `stored` those that went into it; each is None where
    no server said so, and the sum of what was said where some did. `counted` are the tokens in of the calls that said
    what came from a cache; where they are not all, `cached` is the least that it can be.
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
            known_sum(self.cached, other.cached),
            known_sum(self.stored, other.stored),
            self.counted + other.counted,
        )

    @property
    def share_cached(self) -> float | None:
        """The share of the tokens in that came from a cache: at least that, where some calls did not say so. Servers
        leave out what is zero, so a share of the calls that did would be too high."""
        return None if self.cached is None or not self.tokens_in else self.cached / self.tokens_in

    def over(self, parts: int) -> Usage:
        """What one of so many parts used, in the mean; a call at least, and tokens rounded up."""
        if parts < 1:
            raise ValueError(f"a usage is spread over one part or more; found {parts}")
        return Usage(
            max(1, round(self.calls / parts)),
            round(self.retries / parts),
            -(-self.tokens_in // parts),
            -(-self.tokens_out // parts),
            None if self.dollars is None else self.dollars / parts,
            self.seconds / parts,
        )


NOTHING = Usage()


def known_sum(one: int | None, other: int | None) -> int | None:
    """The sum of what is known; None where neither is.

    >>> known_sum(2, 3), known_sum(None, 3), known_sum(None, None)
    (5, 3, None)
    """
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True)
class Call:
    """One exchange with a model, as it is kept.

    One call may give several verdicts (a rubric in one call) and several calls one verdict (steps, resampling).
    `prompt` is the digest of what was sent, `sent` its text where it cannot be rendered again from the ledger,
    `nonce` the random word that a ruling was asked for with. `stop` is how the reply ended; `served` and `fingerprint`
    are what the server said that it is.
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
