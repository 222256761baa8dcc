"""One judge under two names, on both databases."""

from __future__ import annotations

import pytest

from fullbench import Verdict
from fullbench.ledger.ledger import Ledger


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    return tmp_path / "x.ledger" if request.param == "sqlite" else request.getfixturevalue("postgres").database()


def ruled(judge: str) -> Verdict:
    return Verdict("0" * 32, judge, "q1", ("a",), "score:1-5", marks=(4.0,))


def test_a_judge_finds_the_name_it_has_ruled_under(place):
    with Ledger(place) as ledger:
        for name in ("old+direct#12345678", "idle+direct#12345678", "other+direct#87654321", "12345678"):
            ledger.declare("judge", name, {"model": name})
        assert ledger.twin_of("new+direct#12345678") is None, "nobody has ruled yet"
        for name in ("old+direct#12345678", "other+direct#87654321", "12345678"):
            ledger.add(ruled(name))
        ledger.flush()
        assert ledger.twin_of("new+direct#12345678") == "old+direct#12345678"
        assert ledger.twin_of("old+direct#12345678") is None, "it has ruled itself"
        assert ledger.twin_of("12345678") is None, "a name without a digest says nothing of settings"
        assert ledger.twin_of("new+direct#00000000") is None
