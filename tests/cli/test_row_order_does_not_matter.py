"""A report and a card are the same for the same verdicts in any order."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fullbench import Case, Choice, Item, Ledger, Response, Score, Verdict
from fullbench.cli.card import card
from fullbench.core.model_call import Usage
from tests.support.commands import stdout_of

ITEMS, NAMES, JUDGES = 4, ("ann", "bob", "cy"), ("human", "keen", "蓝")


def entries() -> list[tuple[Case, Verdict]]:
    """Scores and duels of three judges, faults and trials among them."""
    draw = random.Random(4)
    found = []
    for number in range(ITEMS):
        item = Item.ask(f"q{number}", f"有几个 #{number}?", tags={"task": "ab"[number % 2]})
        said = [Response.say(item.id, name, f"{name} says {number}") for name in NAMES]
        cases = [Case(item, (one,), Score(1, 5), trial=trial) for one in said for trial in range(2)]
        cases += [Case(item, (one, two), Choice(tie=True)) for one in said for two in said if one is not two]
        for case in cases:
            for judge in JUDGES:
                ruling = _ruling(case, draw)
                usage = Usage(1, 0, 10, draw.randrange(9), 0.001 * draw.randrange(7), 0.1)
                found.append(
                    (case, Verdict.from_case(case, judge, ruling, text=f"{judge} on {case.key[:4]}", usage=usage))
                )
    return found


def _ruling(case: Case, draw: random.Random) -> tuple[float, ...] | str:
    if draw.random() < 0.05:
        return draw.choice(["refused", "unreadable"])
    if len(case.responses) == 1:
        return (float(draw.randint(1, 5)),)
    return draw.choice([(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)])


ENTRIES = entries()


def printed(folder, order, capsys) -> list[bytes]:
    """Everything that a report and a card write, and print."""
    folder.mkdir()
    place = str(folder / "x.ledger")
    with Ledger(place) as ledger:
        for index in order:
            ledger.add(*ENTRIES[index])
    pages = folder / "report.html", folder / "card.html"
    reports = [
        stdout_of("report", "--ledger", place, "--out", pages[0], "--seed", "1"),
        stdout_of("report", "--ledger", place, "--against", "human", "--seed", "1", "--json"),
    ]
    card("keen", ledger=place, out=pages[1], tags=["task"], seed=1)
    card("keen", ledger=place, tags=["task"], as_json=True)
    return [*(page.read_bytes() for page in pages), "\n".join(reports).encode(), capsys.readouterr().out.encode()]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return {}


@settings(
    max_examples=2,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(order=st.permutations(range(len(ENTRIES))))
def test_two_ledgers_with_the_same_verdicts_in_another_order_give_the_same_bytes(
    first, tmp_path_factory, capsys, order
):
    if not first:
        first["printed"] = printed(tmp_path_factory.mktemp("in") / "order", range(len(ENTRIES)), capsys)
    found = printed(tmp_path_factory.mktemp("other") / "order", order, capsys)
    for one, two in zip(first["printed"], found, strict=True):
        assert one == two


def test_the_order_is_of_the_records_own(tmp_path):
    draw = random.Random(1)
    from fullbench import Record

    whole = Record(tuple(verdict for _, verdict in ENTRIES))
    mixed = Record(tuple(draw.sample(whole.verdicts, len(whole))))
    assert mixed.verdicts != whole.verdicts
    assert mixed.in_canonical_order() == whole.in_canonical_order()
    assert mixed.in_canonical_order().digest() == whole.digest()
