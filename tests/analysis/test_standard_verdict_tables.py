"""The tables that every record can show, where there is almost nothing to show."""

from fullbench.analysis.standard_verdict_tables import verdict_tables
from fullbench.core.ballot import Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record


def test_a_single_item_gives_gaps_with_reasons_not_an_error():
    item = Item.ask("1", "How many?")
    heard = [
        Verdict.from_case(Case(item, (Response.say("1", name, "Two."),), Score(1, 5), trial=trial), "judge", [mark])
        for name, mark in (("a", 4), ("b", 2))
        for trial in range(2)
    ]
    found = {table.name: table for table in verdict_tables(Record(tuple(heard)))}
    board = found["leaderboard judge"]
    assert [(mean.value, mean.why, mean.n) for mean in board.column("mean score:1-5")] == [
        (4.0, "one item", 2), (2.0, "one item", 2),
    ]  # fmt: skip
    assert found["steadiness"].rows[0][2].value == 1
    alone = {table.name: table for table in verdict_tables(Record(tuple(heard[:2])))}
    assert (alone["steadiness"].rows[0][2].why, alone["steadiness"].rows[0][3].why) == ("one item", "one item")


def test_reasons_that_differ_by_a_number_are_one_and_silence_is_none():
    item = Item.ask("1", "a lake")
    said = ["the score 1.5 does not fit real:0-1", "the score -2e3 does not fit real:0-1", "no bytes", ""]
    heard = [
        Verdict.from_case(
            Case(item, (Response.say("1", "a", "x"),), Score(1, 5), trial=trial), "judge", "abstained", text=text
        )
        for trial, text in enumerate(said)
    ]
    found = {table.name: table for table in verdict_tables(Record(tuple(heard)))}
    assert [list(row) for row in found["reasons"].rows] == [["judge", said[0], 2], ["judge", "no bytes", 1]]
