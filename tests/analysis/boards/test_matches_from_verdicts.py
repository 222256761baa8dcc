"""Two orders, one result: by a rule that is named."""

from dataclasses import replace

import pytest

from fullbench.analysis.boards.head_to_head_and_slices import slices_by_tag
from fullbench.analysis.boards.joint_leaderboard import joint_tables
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.leaderboard_companion_tables import family_win_table, rule_effect_table, standing_tables
from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.boards.style_control_tables import style_tables
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError


def ruled(item, first, second, winner, judge="j"):
    """A verdict on first against second: the winner's name, "tie", or a fault."""
    if winner in {first, second}:
        ruling = {"marks": (float(winner == first), float(winner == second))}
    else:
        ruling = {"marks": (0.5, 0.5)} if winner == "tie" else {"fault": winner}
    return Verdict(f"{item}{first}{second}", judge, item, (first, second), "choice+tie", **ruling)


def outcomes(record, *which, **rule):
    return build_matches(record, *which, **rule).rows.outcome.tolist()


def both(item, one, two, *winners, judge="j"):
    return [ruled(item, one, two, winners[0], judge), ruled(item, two, one, winners[1], judge)]


@pytest.mark.parametrize(
    ("winners", "mean", "agree", "majority", "each"),
    [
        (("a", "a"), [1.0], [1.0], [1.0], [1.0, 1.0]),
        (("a", "b"), [0.5], [0.5], [0.5], [1.0, 0.0]),
        (("a", "tie"), [0.75], [0.5], [1.0], [1.0, 0.5]),
        (("b", "unreadable"), [0.0], [], [], [0.0]),
        (("unreadable", "refused"), [], [], [], []),
    ],
)
def test_what_each_rule_makes_of_two_orders_and_a_fault_is_never_a_tie(winners, mean, agree, majority, each):
    record = Record(tuple(both("i", "a", "b", *winners)))
    assert outcomes(record) == mean
    assert outcomes(record, rule="both-agree") == agree
    assert outcomes(record, rule="majority") == majority
    assert sorted(outcomes(record, rule="each")) == sorted(each)


def test_a_pair_heard_in_one_order_is_no_match_yet():
    record = Record((ruled("i", "a", "b", "a"),))
    assert (outcomes(record, rule="both-agree"), build_matches(record, rule="both-agree").one_order_pairs) == ([], 1)
    assert (outcomes(record), build_matches(record).one_order_pairs) == ([1.0], 1)


def test_the_lower_mark_wins_on_every_board_where_less_is_better():
    """One has no flaw, two has it in full: on the judge's board, people's, the corrected and the joint one."""
    verdicts = [
        Verdict(f"{item}{name}", judge, f"i{item}", (name,), "flaw:none|some|all", rater=rater,
                marks=(mark if (item + len(judge)) % 5 else 2.0,))
        for item in range(20)
        for judge, rater, names in (("j", "", 20), ("human", "ann", 14))
        for name, mark in (("one", 1.0), ("two", 3.0))
        if item < names
    ]  # fmt: skip
    columns = columns_from_verdicts(Record(tuple(verdicts)))
    assert [board.contestants for board in build_boards(columns)] == [["one", "two"]] * 2
    (corrected,) = corrected_boards(columns)
    assert [line.contestant for line in corrected.lines_for("rating")] == ["one", "two"]
    assert joint_tables(columns)[0].column("contestant") == ["one", "two"]


def test_unusable_verdicts_are_a_column_of_joint_boards_and_of_slices():
    verdicts = [
        ruled(f"i{item}", first, second, "refused" if item < 3 and judge == "j" else first, judge)
        for item in range(12) for judge in ("j", "k") for first, second in (("a", "b"), ("b", "c"), ("c", "a"))
    ]  # fmt: skip
    record = Record(tuple(verdicts))
    joint = joint_tables(columns_from_verdicts(record))[0]
    assert dict(zip(joint.column("contestant"), joint.column("unusable"), strict=True)) == {"a": 6, "b": 6, "c": 6}
    board = next(one for one in build_boards(record) if one.key.judge == "j")
    (slice_,) = slices_by_tag(board, "half", {f"i{item}": "xy"[item % 2] for item in range(2, 12)})
    assert dict(zip(slice_.table.column("contestant"), slice_.table.column("unusable"), strict=True)) == {
        "a": 2, "b": 2, "c": 2,
    }  # fmt: skip


def test_judges_never_mix_by_mistake():
    record = Record((*both("i", "a", "b", "a", "a"), *both("i", "a", "b", "b", "b", judge="k")))
    with pytest.raises(InputError, match="shows one judge, but there are 2: j, k"):
        build_matches(record)
    assert outcomes(record, "k") == [0.0]
    with pytest.raises(InputError, match="no verdict of 'l'"):
        build_matches(record, "l")
    with pytest.raises(InputError, match="unknown rule"):
        build_matches(record, "j", "best")


def test_criteria_never_mix_by_mistake():
    record = Record((ruled("i", "a", "b", "a"), replace(ruled("i", "a", "b", "b"), criterion="brevity")))
    with pytest.raises(InputError, match="shows one criterion; the verdicts are on brevity, overall"):
        build_matches(record)


def test_a_contestant_against_itself_is_set_aside_and_counted():
    record = Record((ruled("i", "a", "a", "tie"), *both("i", "a", "b", "a", "a")))
    assert (outcomes(record), build_matches(record).set_aside) == ([1.0], 1)
    (board,) = build_boards(record)
    assert any(
        note.startswith("Excluded: 1 verdict that compares a contestant with itself") for note in board.standings.notes
    )


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
    (board,) = build_boards(record, Settings(rule="both-agree", reference="c", seed=5, elo=True))
    table = board.table()
    assert table.source == {
        "judge": "j", "criterion": "overall", "family": "pair", "rule": "both-agree",
        "ties": "half", "seed": 5,
    }  # fmt: skip
    assert table.title == "Leaderboard by j (rule for two orders: both-agree)"
    assert table.column("contestant")[0] == "a"
    assert table.column("matches") == [24, 24, 24]
    wins = dict(zip(table.column("contestant"), table.column("wins against the reference"), strict=True))
    assert wins["c"] is None
    assert wins["b"].n == 6
    effect = rule_effect_table(columns_from_verdicts(record), board)
    assert effect.columns == ("contestant", "mean", "both-agree", "majority", "each")
    assert "both-agree 0.167" in effect.notes[0]
    names = {table.name for table in standing_tables(record)}
    assert {"board", "rules", "wins", "fit", "style"} <= names


def test_families_are_a_heat_map_and_an_unknown_reference_is_refused(record):
    table = family_win_table(record, build_matches(record), "family")
    assert {row[0] for row in table.rows} == {"even", "odd"}
    assert table.chart["kind"] == "heat"
    with pytest.raises(InputError, match="'z' is not among the contestants: a, b, c"):
        family_win_table(record, build_matches(record), "family", "z")
    with pytest.raises(InputError, match="no item has the tag 'colour'; tags there: family"):
        family_win_table(record, build_matches(record), "colour")


def test_a_family_without_a_match_is_named(record):
    more = {**record.items, "z": Item.ask("z", "?", tags={"family": "lonely"})}
    table = family_win_table(Record(record.verdicts, more, record.responses), build_matches(record), "family")
    assert table.notes == ["No match was decided in: lonely."]


def test_style_says_what_length_is_worth(record):
    effects, ratings = style_tables(record, next(build_boards(record)))
    assert effects.column("more") == ["words"]
    assert sorted(ratings.column("contestant")) == ["a", "b", "c"]


def test_who_lost_every_match_is_rated_last_and_says_so():
    verdicts = [v for place in range(3) for v in both(f"i{place}", "a", "b", *(("a", "a") if place else ("b", "b")))]
    verdicts += [v for place in range(3) for v in both(f"i{place}", "a", "c", "a", "a")]
    (board,) = build_boards(Record(tuple(verdicts)))
    assert any("c: lost every match that links to the rest" in note for note in board.standings.notes)
    assert board.contestants[-1] == "c"
    last = board.rating_of("c")
    assert last.one_sided
    assert last.low == last.value < last.high
