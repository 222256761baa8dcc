"""Votes from a file: winners, raters, and the same file twice."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fullbench import Case, Choice, Item, Ledger, Response, Verdict
from fullbench.cli.all_commands import app
from fullbench.errors import InputError


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "l.ledger") as book:
        for number in range(3):
            item = Item.ask(f"q{number}", "?")
            pair = tuple(Response.say(item.id, name, name) for name in ("甲", "乙"))
            case = Case(item, pair, Choice())
            book.add(case, Verdict.from_case(case, "judge", (1.0, 0.0)))
    return tmp_path / "l.ledger"


def test_winner_columns_and_raters(ledger, tmp_path):
    rows = [("q0", "甲", "ann"), ("q0", "乙", "bob"), ("q1", "tie", "ann"), ("q2", "乙", "ann"), ("q2", "乙", "bob")]
    text = "item,contestants,winner,annotator\n"
    text += "".join(f'{item},"[""甲"", ""乙""]",{winner},{rater}\n' for item, winner, rater in rows)
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    for new, known in ((5, 0), (0, 5)):
        done = CliRunner().invoke(
            app, ["ledger", "import", str(tmp_path / "votes.csv"), "--ledger", str(ledger)], catch_exceptions=False
        )
        assert f"{new} new votes of" in done.output
        assert f"{known} were already there" in done.output
    with Ledger(ledger, read_only=True) as book:
        votes = {(vote.item, vote.rater): vote.marks for vote in book.verdicts("human")}
    assert votes["q0", "ann"] == (1.0, 0.0)
    assert votes["q0", "bob"] == (0.0, 1.0)
    assert votes["q1", "ann"] == (0.5, 0.5)
    assert len(votes) == 5


def test_a_contestant_that_nobody_knows_is_one_sentence_and_nothing_is_taken(ledger, tmp_path):
    """The second of two rows names somebody who gave no answer: neither row gets in, and the file can be mended."""
    rows = "item,model_a,model_b,winner,rater\nq0,甲,乙,model_a,ann\nq1,甲,{},model_b,ann\n"
    votes, words = tmp_path / "votes.csv", ["ledger", "import", str(tmp_path / "votes.csv"), "--ledger", str(ledger)]
    votes.write_text(rows.format("丁"), encoding="utf-8")
    with pytest.raises(
        InputError, match=r"'丁' gave no answer to item 'q1' in the study 'default' .*; check the columns"
    ):
        CliRunner().invoke(app, words, catch_exceptions=False)
    with Ledger(ledger, read_only=True) as book:
        assert list(book.verdicts("human")) == []
    votes.write_text(rows.format("乙"), encoding="utf-8")
    assert "2 new votes of 1 rater" in CliRunner().invoke(app, words, catch_exceptions=False).output
    with Ledger(ledger, read_only=True) as book:
        assert {vote.item: vote.marks for vote in book.verdicts("human")} == {"q0": (1.0, 0.0), "q1": (0.0, 1.0)}


def test_a_winner_that_nobody_knows_is_one_sentence(ledger, tmp_path):
    (tmp_path / "votes.csv").write_text('item,contestants,winner\nq0,"[""甲"", ""乙""]",丙\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"'winner' is one of the contestants .* or 'tie'; found '丙'"):
        CliRunner().invoke(
            app, ["ledger", "import", str(tmp_path / "votes.csv"), "--ledger", str(ledger)], catch_exceptions=False
        )
