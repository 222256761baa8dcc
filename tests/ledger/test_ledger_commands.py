"""Ledger commands: import votes, read replies again, show cases, exclude data."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Call, Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, ReplyReading, Verdict
from fullbench.errors import InputError, LedgerError
from fullbench.ledger.ledger import Ledger
from fullbench.parsing import READER
from tests.ledger.making import case, png, verdict


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        for number in range(3):
            ledger.add(case(number), verdict(number))
    return path


def labels(path: Path, *rows: str) -> Path:
    path.write_text("item,contestant,mark,annotator\n" + "\n".join(rows) + "\n")
    return path


def test_votes_of_a_file_are_imported_one_for_each_rater_and_only_once(path, tmp_path):
    file = labels(
        tmp_path / "l.csv", "item-0,a,5,ann", "item-0,a,4,bob", "item-1,a,1,ann", "item-2,a,2,", "item-2,a,3,"
    )
    asked = ("ledger", "import", file, "--ledger", path, "--ballot", "score:1-5")
    assert "5 new votes of 4 raters; 0 were already there" in run(*asked).stdout
    assert "0 new votes of 4 raters; 5 were already there" in run(*asked).stdout
    with Ledger(path, read_only=True) as ledger:
        assert sorted((v.item, v.rater, v.marks) for v in ledger.record("human")) == [
            ("item-0", "ann", (5.0,)), ("item-0", "bob", (4.0,)), ("item-1", "ann", (1.0,)), ("item-2", "0", (2.0,)),
            ("item-2", "1", (3.0,)),
        ]  # fmt: skip
        assert ledger.studies() == ["default"]
        assert ledger.verify() == []
    labels(file, "item-0,a,2,ann")
    assert "1 vote differs from votes in the ledger, which were not changed" in run(*asked).stdout


def test_votes_on_what_is_not_there_are_refused_in_one_sentence(path, tmp_path):
    asked = ("ledger", "import", tmp_path / "l.csv", "--ledger", path, "--ballot", "score:1-5")
    for row, said in (
        ("nowhere,a,5,ann", "the item 'nowhere' is not among the 3 items of the study 'default'"),
        ("item-0,nobody,5,ann", "'nobody' gave no answer to item 'item-0'"),
        ("item-0,a,9,ann", r"the marks \[9.0\] are not legal on the ballot score:1-5"),
    ):
        labels(tmp_path / "l.csv", row)
        with pytest.raises(InputError, match=said):
            run(*asked)
    with Ledger(path, read_only=True) as ledger:
        assert ledger.record("human").verdicts == ()


def test_votes_go_to_the_study_that_is_named(path, tmp_path):
    with Ledger(path, study="other") as ledger:
        ledger.add(case(9))
    file = labels(tmp_path / "l.csv", "item-9,a,5,ann")
    with pytest.raises(LedgerError, match=r"the studies 'default', 'other'.*name one"):
        run("ledger", "import", file, "--ledger", path, "--ballot", "score:1-5")
    done = run("ledger", "import", file, "--ledger", path, "--ballot", "score:1-5", "--study", "other", "--json")
    assert json.loads(done.stdout)["new"] == 1
    with Ledger(path, read_only=True) as ledger:
        assert [v.rater for v in ledger.record("human", study="other")] == ["ann"]
        assert ledger.record("human", study="default").verdicts == ()


def test_a_case_is_shown_with_all_that_was_sent_and_came_back(path):
    shown = case(0)
    call = Call(
        "c1", "[[4]]", "digest", "Rate it.", "It seems fine.", "stop", "gpt-4o-2024", "fp_1",
        usage=Usage(1, 0, 12, 3, 0.5, 0.25), at=1.0,
    )  # fmt: skip
    with Ledger(path) as ledger:
        ledger.add(Verdict.from_case(shown, "gpt", [4.0], text="[[4]]", exchanges=(call,)))
        ledger.add(Verdict.from_case(shown, "human", [2.0], text="No.", rater="ann"))
    done = run("show", shown.key[:12], "--ledger", path)
    for text in ("what is 0?", "it is 0", "Rate it.", "It seems fine.", "[[4]]", "gpt-4o-2024", "ended by stop",
                 "12 tokens in", "rater ann", "because 0", "No.", "2.0"[:1]):  # fmt: skip
        assert text in done.stdout
    told = json.loads(run("show", shown.key, "--ledger", path, "--json").stdout)
    assert [one["judge"] for one in told["verdicts"]] == ["j", "gpt", "human"]
    assert told["verdicts"][1]["exchanges"][0]["reasoning"] == "It seems fine."
    alone = json.loads(run("show", told["verdicts"][2]["verdict"], "--ledger", path, "--json").stdout)
    assert [one["rater"] for one in alone["verdicts"]] == ["ann"]
    with pytest.raises(InputError, match="no item, case or verdict begins with 'zzz'"):
        run("show", "zzz", "--ledger", path)


def test_stored_replies_are_read_again_unpaid_and_the_earlier_reading_stays(path):
    item = Item.ask("pair", "which?")
    made = Case(item, (Response.say("pair", "a", "x"), Response.say("pair", "b", "y")), Choice(2))
    paid = Usage(1, 0, 10, 5, 0.25, 0.5)
    with Ledger(path) as ledger:
        ledger.declare("judge", "gpt", {"model": "gpt", "prompt_template": "w"})
        cut = Call("c", "The winner is [[B]] but then", stop="length", at=1.0)
        ledger.add(
            made,
            Verdict.from_case(made, "gpt", "unreadable", text="[[A]]", usage=paid, at=1.0),
            Verdict.from_case(made.at(1), "gpt", [0.0, 1.0], text="[[B]]", usage=paid, at=1.0),
            Verdict.from_case(made.at(2), "gpt", [0.0, 1.0], text=cut.text, exchanges=(cut,), usage=paid, at=1.0),
        )
    said = f"{made.key} gpt trial 0, item pair: unreadable -> 1, 0"
    done = run("ledger", "reread", "--ledger", path, "--dry-run")
    assert said in done.stdout
    assert "trial 2, item pair: 0, 1 -> unreadable" in done.stdout
    assert "of 3 replies 2 would be read differently now" in done.stdout
    assert "not read again: 3 verdicts of judges that do not reply in words" in done.stdout
    with Ledger(path, read_only=True) as ledger:
        assert len(ledger.record("gpt").where(fault="unreadable")) == 1
    assert said in run("ledger", "reread", path).stdout
    assert "of 3 replies 0 are read differently now" in run("ledger", "reread", path).stdout
    with Ledger(path, read_only=True) as ledger:
        now = {v.trial: (v.marks, v.fault, v.revision, v.reading.number) for v in ledger.record("gpt")}
        assert now == {
            0: ((1.0, 0.0), None, 1, READER),
            1: ((0.0, 1.0), None, 0, 0),
            2: (None, "unreadable", 1, 100 + READER),
        }
        assert len(list(ledger.verdicts("gpt", revisions=True))) == 5
        account = next(account for account in ledger.bill() if account.name == "gpt")
        assert (account.output_count, account.usage.dollars) == (3, 0.75)
        assert {v.trial: v.text for v in ledger.record("gpt")}[2] == cut.text
        assert ledger.verify() == []


def test_a_name_is_given_to_another_by_command(path):
    assert "'j' is called 'k' from now on" in run("ledger", "alias", "j", "k", "--ledger", path).stdout
    assert "the judge j is shown as k" in run("ledger", "show", "--ledger", path).stdout
    with Ledger(path, read_only=True) as ledger:
        assert ledger.record().judges == ["k"]


def pictured(number: int) -> Case:
    return case(number, Picture.from_bytes(png(number)))


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """Two studies that share a case, pictures, and raters with reasons."""
    path = tmp_path / "crowded.ledger"
    with Ledger(path, study="one") as ledger:
        for number in (0, 1):
            ledger.add(pictured(number), Verdict.from_case(pictured(number), "j", [3.0], text=f"because {number}"))
        for rater in ("ann", "bob"):
            ledger.add(verdict(0, judge="human", rater=rater, text=f"secret of {rater}"))
    with Ledger(path, study="two") as ledger:
        ledger.add(pictured(1), pictured(2), Verdict.from_case(pictured(2), "k", [2.0], text="drawn, too"))
        drawn = Response("item-2", "painter", (Picture.from_bytes(png(9)),))
        shown = Case(pictured(2).item, (drawn,), Score(1, 5))
        ledger.add(shown, Verdict.from_case(shown, "k", [1.0], text="drawn", exchanges=(Call("x", "drawn"),)))
    return path


def copied(path: Path, *without: str) -> Ledger:
    target = path.with_name(f"copy-{'-'.join(without).replace(':', '-') or 'all'}.ledger")
    options = [word for name in without for word in ("--without", name)]
    done = run("ledger", "copy", path, target, *options)
    assert done.exit_code == 0, done.output
    ledger = Ledger(target, read_only=True)
    assert ledger.verify() == []
    return ledger


def whole(ledger: Ledger) -> bytes:
    """Everything that lies on the disk for a ledger."""
    files = [ledger.path, *ledger.path.with_name(ledger.path.name + ".pictures").rglob("*")]
    return b"".join(file.read_bytes() for file in files if file.is_file())


def test_a_copy_carries_everything(crowded):
    with copied(crowded) as ledger, Ledger(crowded, read_only=True) as source:
        assert list(ledger.verdicts()) == list(source.verdicts())
        assert ledger.studies() == source.studies()
        for study in ("one", "two"):
            assert ledger.record(study=study) == source.record(study=study)
        # Heads and signatures are of one ledger, wherever it lies; one that something was left out of is another.
        assert (ledger.identity, ledger.ledger_digest()) == (source.identity, source.ledger_digest())
    with copied(crowded, "two") as ledger, Ledger(crowded, read_only=True) as source:
        assert ledger.identity != source.identity


def test_a_study_leaves_with_all_that_is_its_own(crowded):
    with copied(crowded, "two") as ledger:
        assert ledger.studies() == ["one"]
        assert [v.item for v in ledger.record("j")] == ["item-0", "item-1"]
        assert {item.id for item in ledger.items()} == {"item-0", "item-1"}
        assert {account.name for account in ledger.bill()} == {"a", "human", "j"}
        assert png(2) not in whole(ledger)
        assert png(9) not in whole(ledger)
        assert png(1) in whole(ledger)
        assert b"drawn" not in whole(ledger)


def test_a_picture_leaves_with_what_shows_it(crowded):
    name = Picture.from_bytes(png(9)).digest
    with copied(crowded, f"picture:{name}") as ledger:
        assert png(9) not in whole(ledger)
        assert {said.contestant for said in ledger.responses()} == {"a"}
        assert len(ledger.record(study="two")) == 2
        assert {item.id for item in ledger.items()} == {"item-0", "item-1", "item-2"}


def test_an_item_leaves_with_the_calls_of_its_contestants(crowded):
    with Ledger(crowded, study="two") as ledger:
        gone = Response("item-2", "talker", ("it is red",))
        turns = (Call("t1", "which item?", prompt="p1"), Call("t2", "it is red", prompt="p2", reasoning="a red barn"))
        ledger.add_response(pictured(2).item, gone, prompt="p2", exchanges=turns)
        failure = Failure(
            pictured(2).item.key, "talker", 0, "no reply", exchanges=(Call("f", "half a barn", prompt="p3"),)
        )
        ledger.add_response(pictured(2).item, failure)
        kept = (Call("k1", "blue or", prompt="p4"), Call("k2", "it is blue", prompt="p5"))
        stays = Response("item-1", "talker", ("blue or", "it is blue"))
        ledger.add_response(pictured(1).item, stays, prompt="p5", exchanges=kept)
    assert b"barn" in whole(Ledger(crowded, read_only=True))
    with copied(crowded, "two") as ledger:
        assert not [text for text in (b"barn", b"which item?", b"it is red") if text in whole(ledger)]
        calls = sqlite3.connect(ledger.path).execute("SELECT id FROM calls WHERE name = 'talker'").fetchall()
        assert {name for (name,) in calls} == {"k1", "k2"}


def test_a_rater_leaves_with_what_they_wrote(crowded):
    with copied(crowded, "rater:ann") as ledger:
        assert [(v.rater, v.text) for v in ledger.record("human", study="one")] == [("bob", "secret of bob")]
        assert b"secret of ann" not in whole(ledger)
        assert [v.text for v in ledger.record("j", study="one")] == ["because 0", "because 1"]
    with pytest.raises(LedgerError, match="there is no study, picture or rater 'nobody' to leave out"):
        run("ledger", "copy", crowded, crowded.with_name("y.ledger"), "--without", "nobody")


def test_people_as_judges_and_trials_leave_as_raters(tmp_path):
    path = tmp_path / "x.ledger"
    votes = [verdict(1, judge="human:Ann", text="from Ann"), replace(verdict(1, judge="human", text="two"), trial=2)]
    with Ledger(path) as ledger:
        ledger.add(case(1), *votes, verdict(1))
    with copied(path, "rater:Ann", "rater:2") as ledger:
        assert ledger.record().judges == ["j"]
        assert b"from Ann" not in whole(ledger)


def test_a_copy_to_give_away_has_ids_in_place_of_names(tmp_path):
    """People as judges, raters of a label file, a pilot's and an author: no name in any byte; the same person is the
    same id, every vote, word and figure stays, and the command can be typed again."""
    path, target = tmp_path / "x.ledger", tmp_path / "away.ledger"
    names = ("Wilhelmina", "Bartholomew", "欧阳娜娜", "Ignatius")
    with Ledger(path) as ledger:
        ledger.add(
            case(1),
            case(2),
            verdict(1, judge=f"human:{names[0]}", text="so"),
            verdict(1),
            verdict(2, judge="human", rater=names[0].lower(), text="again"),
            verdict(1, judge="human", rater=names[1], mark=2.0),
            verdict(1, judge="human", rater=names[1], mark=3.0, revision=1),
            verdict(2, judge="human", rater=f"pilot:{names[2]}"),
            verdict(2, judge="human", rater="00112233445566ff"),
            verdict(2, judge="human", rater="7"),
            Item.ask("written", "Who?", tags={"author": names[3]}),
        )
    said = run("ledger", "copy", path, target, "--pseudonyms").stdout
    assert "4 people's names were replaced by ids" in said
    again = run("ledger", "copy", path, target, "--pseudonyms").stdout
    assert " 0 verdicts" in again, "what is there is passed over"
    with Ledger(path, read_only=True) as source, Ledger(target, read_only=True) as ledger:
        assert ledger.verify() == []
        lowered = whole(ledger).decode("utf-8", "replace").lower()
        assert not [name for name in names if name.lower() in lowered]
        before, after = (list(book.verdicts(revisions=True)) for book in (source, ledger))
        assert [(v.case, v.judge, v.marks, v.text, v.revision, v.at) for v in before] == [
            (v.case, v.judge, v.marks, v.text, v.revision, v.at) for v in after
        ]
        ids = {old.rater.casefold(): new.rater for old, new in zip(before, after, strict=True)}
        assert len({old.rater for old in before}) == len(ids) + 1, "two spellings of one name"
        assert ids["00112233445566ff"] == "00112233445566ff"
        assert (ids["7"], ids[""]) == ("7", "")
        assert ids[f"pilot:{names[2]}"].startswith("pilot:")
        (written,) = (item for item in ledger.items() if item.id == "written")
        assert len(written.tags["author"]) == 16


def test_a_silenced_verdict_comes_back_and_unread_ones_keep_their_marks(path):
    """Version 2 lost the low mark next to an answer with brackets; reading again is asked for, never done by itself."""
    item = Item.ask("q", "Is the matrix right?")
    made = Case(item, (Response.say("q", "evil", "x = np.array([[1]], [[2]])"),), Score(1, 5))
    old = ReplyReading(2, has_check_code=False)
    with Ledger(path) as ledger:
        ledger.declare("judge", "gpt", {"model": "gpt", "prompt_template": "w"})
        ledger.add(
            made,
            Verdict.from_case(made, "gpt", "unreadable", text="It is poorly written.\n\n[[1]]", reading=old),
            Verdict.from_case(made.at(1), "gpt", [3.0], text="[[4]]\n\nAccuracy: [[3]]\nStyle: [[5]]", reading=old),
        )
    with Ledger(path, read_only=True) as ledger:
        assert {v.trial: (v.marks, v.reading) for v in ledger.record("gpt")} == {0: (None, old), 1: ((3.0,), old)}
    told = run("ledger", "reread", path).stdout
    assert "item q: unreadable -> 1" in told
    assert "item q: 3 -> 4" in told
    with Ledger(path, read_only=True) as ledger:
        now = {v.trial: (v.marks, v.reading.version) for v in ledger.record("gpt")}
    assert now == {0: ((1.0,), READER), 1: ((4.0,), READER)}
