"""A budget that runs out during a run: the rest is counted as not called and is due again."""

from __future__ import annotations

import re

import pytest

from fullbench import Ledger
from tests.cli.test_faulty_server_replies import ended, spec, start, write
from tests.support.fake_chat_server import FakeServer

DIME = {"price_in": 1_000, "price_out": 0}
"""A prompt has about a hundred tokens."""


@pytest.mark.parametrize("concurrency", [1, 20])
def test_what_the_money_did_not_do_for_is_no_failure_and_is_due_again(tmp_path, concurrency):
    cases = write(tmp_path, ["How many"] * 40)
    with FakeServer(says="[[4]]", latency=0.05) as server:
        judges = [spec(server, name, **DIME, concurrency=concurrency) for name in ("one", "two")]
        code, _, err = ended(start(tmp_path, "--budget", "2", judges=judges))
        answered = sum(server.books()["answered"].values())
        told = re.search(r"Called (\d+), reused 0, failed 0, over budget (\d+), cost", err)
        assert (code, told is not None) == (1, True), err
        assert [int(number) for number in told.groups()] == [answered, 2 * cases - answered]
        with Ledger(tmp_path / "l.ledger", read_only=True) as book:
            assert (sum(account.failures for account in book.bill()), len(list(book.verdicts()))) == (0, answered)
        code, _, err = ended(start(tmp_path, judges=judges))
        assert (code, sum(server.books()["answered"].values())) == (0, 2 * cases), err
    assert f"Called {2 * cases - answered}, reused {answered}, failed 0, cost" in err


def test_verdicts_of_several_calls_end_when_the_money_does(tmp_path):
    """What the calls on their way had cost never added up to exactly nothing: they waited for each other for ever."""
    write(tmp_path, ["How many"] * 40)
    with FakeServer(says="[[4]]", latency=0.02) as server:
        judge = spec(server, **DIME, concurrency=20, mode="steps")
        code, _, err = ended(start(tmp_path, "--budget", "5", judges=[judge]), 60)
        answered = sum(server.books()["answered"].values())
    assert (code, "the budget of $5 is spent" in err) == (1, True), err
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        (account,) = (account for account in book.bill() if account.role == "judge")
    assert account.usage.calls == answered, "what was asked in part is on the bill"
