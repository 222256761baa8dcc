"""The budget of the current context: calls reserve money before each attempt and report its cost afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from fullbench.core.model import Prompt
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.token_estimates import estimate_sound_tokens, estimate_tokens

REPLY_TOKENS = 256
"""Assumed maximum length of a reply before the first one has arrived."""


class CallBudget(Protocol):
    """Money reserved for calls."""

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """Reserve dollars for one more call, or return None if it must wait until running calls are paid.
        `price` returns the least and the likely cost of the call, used if nothing has been paid yet.
        """

    def release(self, reserved_dollars: float) -> None:
        """Release the reservation of a finished call."""

    def spend(self, dollars: float) -> None:
        """Record the cost of an attempt, successful or not."""

    @property
    def empty(self) -> str:
        """Return why no call may be sent; empty if money is left."""


_current_budget: ContextVar[CallBudget | None] = ContextVar("purse", default=None)


def current_budget() -> CallBudget | None:
    """Return the budget of this context, or None."""
    return _current_budget.get()


@contextmanager
def charge_calls_to(budget: CallBudget | None) -> Iterator[None]:
    """Charge calls inside this context to `budget`."""
    token = _current_budget.set(budget)
    try:
        yield
    finally:
        _current_budget.reset(token)


def expected_price(
    prompt: Prompt, model: str, sampling: Sampling, price: tuple[float, float], audio_share: float = 1.0
) -> tuple[float, float]:
    """Return the least and the likely cost of a call, for use before anything was paid."""
    tokens = estimate_tokens(prompt, model, sampling) + 0.0
    if audio_share != 1.0:
        tokens += (audio_share - 1) * estimate_sound_tokens(prompt, model, sampling)
    least = tokens * price[0] / 1e6
    return least, least + min(sampling.max_tokens or REPLY_TOKENS, REPLY_TOKENS) * price[1] / 1e6
