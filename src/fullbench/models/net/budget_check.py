"""Money that runs out: whoever pays is told of every attempt as it is paid for, and asked before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from fullbench.core.model import Prompt
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.token_estimates import estimate

REPLY_TOKENS = 256
"""What a reply is taken to have, at most, before any has come."""


class Purse(Protocol):
    """Money set aside for calls."""

    def admit(self, price: Callable[[], tuple[float, float]]) -> float | None:
        """What is set aside for one call more; None where it has to wait until calls on their way are paid, since the
        money might not do for all of them. `price` gives what it costs at least and what it is likely to cost, where
        nothing was paid before."""

    def release(self, aside: float) -> None:
        """A call is over for which so much was set aside."""

    def spend(self, dollars: float) -> None:
        """An attempt cost so much, whatever came of it."""

    @property
    def empty(self) -> str:
        """Why nothing more may be asked; nothing where there is money left."""


_purse: ContextVar[Purse | None] = ContextVar("purse", default=None)


def purse() -> Purse | None:
    """Who pays here and now; None where nobody counts."""
    return _purse.get()


@contextmanager
def paid_by(payer: Purse | None) -> Iterator[None]:
    """Let `payer` pay for whatever is asked inside."""
    token = _purse.set(payer)
    try:
        yield
    finally:
        _purse.reset(token)


def expected_price(prompt: Prompt, model: str, sampling: Sampling, price: tuple[float, float]) -> tuple[float, float]:
    """What a call costs at least, and what it is likely to cost, where nothing was paid before."""
    least = estimate(prompt, model) * price[0] / 1e6
    return least, least + min(sampling.max_tokens or REPLY_TOKENS, REPLY_TOKENS) * price[1] / 1e6
