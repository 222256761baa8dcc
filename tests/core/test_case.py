from __future__ import annotations

from dataclasses import replace

import pytest

from fullbench import Case, Choice, Item, Picture, Ranking, Response, Score, Usage, Verdict
from fullbench.core.case import cases as cases_of
from fullbench.errors import InputError
from tests.support.data_builders import answers, item, png


def test_whatever_can_change_a_ruling_changes_the_key():
    base = Case(item(), answers(a="x", b="y"), Choice())
    others = [
        replace(base, responses=base.responses[::-1]),
        replace(base, responses=answers(a="x", b="z")),
        replace(base, responses=answers(a="x", c="y")),
        replace(base, ballot=Choice(tie=False)),
        replace(base, criterion="style"),
        replace(base, item=item(reference="red")),
        replace(base, item=item(captions=("a square",))),
        replace(base, item=Item.ask("i1", "What colour is square i1?", Picture.from_bytes(png((1, 2, 3))))),
    ]
    keys = {case.key for case in [base, *others]}
    assert len(keys) == len(others) + 1


def test_what_cannot_change_a_ruling_leaves_the_key():
    base = Case(item(), answers(a="x"), Score(1, 5))
    assert base.key == replace(base, trial=3).key
    assert base.key == replace(base, item=item(tags={"task": "colour"})).key


def test_the_key_is_the_same_on_every_machine():
    case = Case(Item.ask("i", "几？", reference="三"), (Response.say("i", "a", "三个"),), Score(1, 5))
    assert case.key == "ded9b82d0fba0cbe0ee74238d595a7e0"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Case(item(), (), Score(1, 5)),
        lambda: Case(item(), answers(a="x"), Choice()),
        lambda: Case(item(), answers("other", a="x"), Score(1, 5)),
        lambda: Case(item(), answers(a="x"), Ranking()),
        lambda: Verdict("k", "j", "i", ("a",), "score:1-5"),
        lambda: Verdict("k", "j", "i", ("a",), "score:1-5", marks=(1.0,), fault="refused"),
        lambda: Verdict("k", "j", "i", ("a",), "score:1-5", marks=(1.0, 2.0)),
        lambda: Verdict("k", "j", "i", ("a",), "score:1-5", marks=(float("nan"),)),
        lambda: Verdict("k", "j", "i", ("a",), "score:1-5", fault="bored"),
    ],
)
def test_what_makes_no_sense_cannot_be_made(make):
    with pytest.raises(InputError):
        make()


def test_an_unknown_price_stays_unknown():
    assert (Usage(dollars=1.0) + Usage(dollars=0.5)).dollars == 1.5
    assert (Usage(dollars=1.0) + Usage(dollars=None)).dollars is None


ITEMS = [item(f"i{i}") for i in range(20)]
GIVEN = [r for it in ITEMS for r in answers(it.id, a="1", b="2", c="3")]


def test_panels_show_every_pair_in_both_orders():
    cases = list(cases_of(ITEMS, GIVEN, Choice(), size=2, orders="both"))
    assert len(cases) == 20 * 3 * 2
    shown = {(case.item.id, case.contestants) for case in cases}
    assert all((name, pair[::-1]) in shown for name, pair in shown)


def test_shuffled_panels_are_drawn_from_the_seed_and_balanced():
    cases = list(cases_of(ITEMS, GIVEN, Ranking(), size=None, orders="shuffled", seed=1))
    assert len(cases) == 20
    assert {case.contestants[0] for case in cases} == {"a", "b", "c"}
    again = cases_of(ITEMS, reversed(GIVEN), Ranking(), size=None, orders="shuffled", seed=1)
    assert [case.key for case in cases] == [case.key for case in again]
    other = cases_of(ITEMS, GIVEN, Ranking(), size=None, orders="shuffled", seed=2)
    assert [case.key for case in cases] != [case.key for case in other]


def test_all_orders_and_trials():
    cases = list(cases_of(ITEMS[:1], GIVEN, Ranking(), size=3, orders="all", trials=2))
    assert len(cases) == 6 * 2
    assert len({(case.key, case.trial) for case in cases}) == 12


def test_items_with_too_few_responses_give_no_case():
    assert not list(cases_of(ITEMS, GIVEN[:1], Choice(), size=2))
    assert not list(cases_of(ITEMS, GIVEN[:1], Ranking(), size=None))
    with pytest.raises(InputError, match="unknown orders"):
        list(cases_of(ITEMS, GIVEN, Choice(), size=2, orders="random"))
