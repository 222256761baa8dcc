"""Bills after a kill: what the ledger says was paid, beside what the server says it answered."""

from __future__ import annotations

import pytest

from fullbench.ledger.contents_and_cost import Account
from tests.support.fake_chat_server import FakeServer

TOKENS_IN, TOKENS_OUT = 100, 20
"""Of every answer of the fake server."""
PRICED = "price_in=1&price_out=2"
"""What a spec says so that an answer costs `DOLLARS`."""
DOLLARS = 140e-6


def unheard(bill: list[Account], server: FakeServer, *, dollars: float = DOLLARS) -> int:
    """Answers of the server that are on no bill: those that nobody heard. The bill itself is true to the token."""
    (account,) = (account for account in bill if account.role == "judge")
    usage = account.usage
    assert (usage.calls, account.failures, usage.retries) == (account.output_count, 0, 0)
    assert (usage.tokens_in, usage.tokens_out) == (usage.calls * TOKENS_IN, usage.calls * TOKENS_OUT)
    assert usage.dollars == pytest.approx(usage.calls * dollars)
    return sum(server.books()["answered"].values()) - usage.calls
