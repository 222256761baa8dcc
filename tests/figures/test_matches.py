"""Two orders, one result: by a rule that is named."""

import pytest

from fullbench.errors import InputError
from fullbench.figures.matches import settle
from fullbench.figures.standings import Settings, families, leaderboard, rules, standings, style
from fullbench.nouns.item import Item
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Verdict


def ruled(item, first, second, winner, judge="j"):
    """A verdict on first against second: the winner's name, "tie", or a fault."""
    if winner in {first, second}:
        ruling = {"marks": (float(winner == first), float(winner == second))}
    else:
        ruling = {"marks": (0.5, 0.5)} if winner == "tie" else {"fault": winner}
    return Verdict(f"{item}{first}{second}", judge, item, (first, second), "choice+tie", **ruling)


def both(item, one, two, *winners, judge="j"):
    return [ruled(item, one, two, winners[0], judge), ruled(item, two, one, winners[1], judge)]


@pytest.mark.parametrize(
    ("winners", "agree", "majority", "each"),
    [
        (("a", "a"), 1.0, 1.0, [1.0, 1.0]),
        (("a", "b"), 0.5, 0.5, [1.0, 0.0]),
        (("a", "tie"), 0.5, 1.0, [1.0, 0.5]),
        (("b", "unreadable"), 0.5, 0.0, [0.0]),
        (("unreadable", "refused"), 0.5, 0.5, []),
    ],
)
def test_what_each_rule_makes_of_two_orders(winners, agree, majority, each):
    record = Record(tuple(both("i", "a", "b", *winners)))
    assert settle(record, rule="both-agree").outcome == [agree]
    assert settle(record, rule="majority").outcome == [majority]
    assert settle(record, rule="each").outcome == each


def test_a_pair_heard_in_one_order_is_no_match_yet():
    made = settle(Record((ruled("i", "a", "b", "a"),)))
    assert (made.outcome, made.half_heard) == ([], 1)


def test_judges_never_mix_by_mistake():
    record = Record((*both("i", "a", "b", "a", "a"), *both("i", "a", "b", "b", "b", judge="k")))
    with pytest.raises(InputError, match="belongs to one judge; the verdicts are those of j, k"):
        settle(record)
    assert settle(record, "k").outcome == [0.0]
    with pytest.raises(InputError, match="no verdict of 'l'"):
        settle(record, "l")
    with pytest.raises(InputError, match="unknown rule"):
        settle(record, "j", "best")


def test_a_contestant_against_itself_is_refused():
    with pytest.raises(InputError, match="'a' meets itself on item 'i'"):
        settle(Record((ruled("i", "a", "a", "tie"),)))


@pytest.fixture
def record():
    verdicts = []
    for place in range(12):
        item = f"i{place}"
        verdicts += both(item, "a", "b", *(("a", "a") if place % 3 else ("b", "b")))
        verdicts += both(item, "b", "c", *(("b", "c") if place % 2 else ("b", "b")))
        verdicts += both(item, "a", "c", *(("a", "a") if place % 4 else ("c", "c")))
    items = {f"i{p}": Item.ask(f"i{p}", "?", tags={"family": "odd" if p % 2 else "even"}) for p in range(12)}
    said = {(i, n): Response.say(i, n, "word " * (1 + (ord(n) + int(i[1:]) * 7) % 5)) for i in items for n in "abc"}
    return Record(tuple(verdicts), items, said)


def test_the_board_says_its_rule_and_its_seed_and_shows_the_effect(record):
    settled = settle(record)
    table = leaderboard(settled, Settings(reference="c", seed=5))
    assert table.source == {"judge": "j", "rule": "both-agree", "ties": "half", "seed": 5, "k": 4.0}
    assert table.column("contestant")[0] == "a"
    assert table.column("matches") == [24, 24, 24]
    wins = dict(zip(table.column("contestant"), table.column("wins against the reference"), strict=True))
    assert wins["c"] is None
    assert wins["b"].n == 6
    effect = rules(record, "j", Settings())
    assert effect.columns == ("contestant", "both-agree", "majority", "each")
    assert effect.notes[0].startswith("Share of ties: both-agree 0.167")
    names = {table.name for table in standings(record)}
    assert {"standings", "rules", "wins", "fit", "style"} <= names


def test_families_are_a_heat_map_and_an_unknown_reference_is_refused(record):
    table = families(record, settle(record), "family")
    assert {row[0] for row in table.rows} == {"even", "odd"}
    assert table.chart["kind"] == "heat"
    with pytest.raises(InputError, match="'z' is not among the contestants: a, b, c"):
        families(record, settle(record), "family", "z")
    with pytest.raises(InputError, match="no item has the tag 'colour'; tags there: family"):
        families(record, settle(record), "colour")


def test_a_family_without_a_match_is_named(record):
    more = {**record.items, "z": Item.ask("z", "?", tags={"family": "lonely"})}
    table = families(Record(record.verdicts, more, record.responses), settle(record), "family")
    assert table.notes == ["No match was settled in: lonely."]


def test_style_says_what_length_is_worth(record):
    effects, ratings = style(record, settle(record))
    assert effects.column("more") == ["words"]
    assert ratings.column("contestant") == ["a", "b", "c"]


def test_who_lost_every_match_is_not_rated_and_says_so():
    verdicts = [v for place in range(3) for v in both(f"i{place}", "a", "b", *(("a", "a") if place else ("b", "b")))]
    verdicts += [v for place in range(3) for v in both(f"i{place}", "a", "c", "a", "a")]
    table = leaderboard(settle(Record(tuple(verdicts))), Settings())
    assert any("c is not rated: lost every match" in note for note in table.notes)
    assert table.rows[-1][1] == "c"
