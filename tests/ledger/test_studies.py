"""Studies share what was paid for and never meet; names and people are read as they are today."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model_call import Call, Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Circumstances, Failure, ReplyReading, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import LedgerError
from fullbench.ledger.columns_from_rows import load_case_columns
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.read_queries import stream_narrow_rows
from tests.ledger.making import case, verdict


def pair(item: Item, *said: tuple[str, int, str]) -> Case:
    return Case(item, tuple(Response.say(item.id, who, text, sample=sample) for who, sample, text in said), Choice(2))


def test_two_studies_that_share_an_id_never_meet_and_share_a_case_that_is_the_same(place):
    shared, here, there = case(1), Item.ask("x", "here?"), Item.ask("x", "there?")
    cases = {
        name: Case(item, (Response.say("x", "a", name),), Score(1, 5)) for name, item in (("one", here), ("two", there))
    }
    for name, made in cases.items():
        with Ledger(place, study=name) as ledger:
            ledger.add(shared, made, Verdict.from_case(made, "j", [4.0 if name == "one" else 2.0]))
    with Ledger(place, study="one") as ledger:
        ledger.add(verdict(1))
    with Ledger(place, study="two") as ledger:
        assert ledger.judged_keys("j", [(shared.key, 0)]) == {(shared.key, 0)}
        assert ledger.studies() == ["one", "two"]
        assert {v.item: v.marks for v in ledger.record()} == {"item-1": (3.0,), "x": (2.0,)}
        assert ledger.record().items["x"] == there
        assert ledger.record(study="one").items["x"] == here
        assert ledger.record(study="one").responses["x", "a"].text == "one"
        assert {item.question for item in ledger.items(study="one")} == {"here?", "what is 1?"}
        assert {said.text for said in ledger.responses(study="two")} == {"two", "it is 1"}
        assert len(list(ledger.verdicts())) == 3
        assert [(v.item, v.marks) for v in ledger.verdicts(study="one")] == [("x", (4.0,)), ("item-1", (3.0,))]
        assert [(told["name"], told["items"], told["verdicts"]) for told in ledger.describe()["studies"]] == [
            ("one", 2, 2),
            ("two", 2, 2),
        ]
        assert ledger.verify() == []
    with Ledger(place, read_only=True) as ledger:
        with pytest.raises(LedgerError, match="the studies 'one', 'two', which are never mixed in one table; name one"):
            ledger.record()
        with pytest.raises(LedgerError, match="there is no study 'three'; it holds 'one', 'two'"):
            ledger.record(study="three")
        assert len(ledger.record(cases=[shared.key, cases["two"].key])) == 2


def test_what_another_study_paid_for_is_joined_and_not_asked_again(place):
    with Ledger(place, study="one") as ledger:
        ledger.add(case(1), case(2), verdict(1), verdict(2))
    with Ledger(place, study="two") as ledger:
        ledger.join([case(1).key])
        ledger.join([case(1).key], items=[case(2).item])
        assert [v.item for v in ledger.record()] == ["item-1"]
        assert [item.id for item in ledger.items(study="two")] == ["item-1", "item-2"]
        assert ledger.verify() == []


def test_a_second_content_under_an_id_is_refused_or_takes_the_place_of_the_first(place):
    old, new = (Case(Item.ask("x", text), (Response.say("x", "a", text),), Score(1, 5)) for text in ("old", "new"))
    with Ledger(place) as ledger:
        ledger.add(old, Verdict.from_case(old, "j", [1.0]), Verdict.from_case(old, "k", [2.0]), case(1), verdict(1))
        with pytest.raises(
            LedgerError, match=r"'x' has another content in the study 'default'.*--study.*id.*--supersede"
        ):
            ledger.add(new)
        assert ledger.set_aside() == 0
    with Ledger(place) as ledger, pytest.raises(LedgerError, match="another content"):
        ledger.add(new.item)
    with Ledger(place, supersede=True) as ledger:
        ledger.add(new, Verdict.from_case(new, "j", [5.0]))
        assert {(v.item, v.judge, v.marks) for v in ledger.record()} == {("x", "j", (5.0,)), ("item-1", "j", (3.0,))}
        assert ledger.record().items["x"] == new.item
        assert ledger.set_aside() == 2
        assert ledger.describe()["studies"][0]["set_aside"] == 2
        assert len(list(ledger.verdicts())) == 4
        ledger.add(old)
        assert {v.judge for v in ledger.record().where(item="x")} == {"j", "k"}
        assert ledger.set_aside() == 1
        assert ledger.verify() == []


def test_a_verdict_comes_back_with_its_exchanges_and_circumstances(place):
    calls = (
        Call("c1", "first", "p", "sent", "hm", "stop", "gpt-x", "fp", "n", Usage(1, 0, 5, 6, None, 1.0), 9.0),
        Call("c2", "A", at=9.0),
    )
    shared = verdict(1, text="A", earlier=("first",), exchanges=calls, reading=ReplyReading(1), rater="w1")
    again = verdict(2, text="own words", exchanges=calls[:1], rater="w1", revision=1, confidence=0.5)
    odd = replace(
        verdict(3),
        samples=(2,),
        circumstances=Circumstances(True, "v2", 0.25, "blur", 0.5, True),
        exchanges=calls[1:],
        text="",
    )
    with Ledger(place) as ledger:
        ledger.add(shared, again, odd, Failure("c", "j", 0, "too long", kind="permanent"))
        assert list(ledger.verdicts()) == [shared, again, odd]
        assert [v.exchanges for v in ledger.verdicts(texts=False)] == [(), (), ()]
        with ledger.reader() as reader:
            columns, digest = load_case_columns(reader, ["j"], [[shared.case], [again.case, odd.case]], ())
        assert digest == Record((shared, again, odd)).digest()
        assert columns.has_same_verdicts(columns_from_verdicts([shared, again, odd]))
        assert [failure.kind for failure in ledger.failures("j")] == ["permanent"]
        assert ledger.verify() == []
    with Ledger(place) as ledger:
        ledger.add_response(Item.ask("i", "q"), Response.say("i", "m", "cut", sample=3, stop="length"))
        assert next(ledger.responses()) == Response.say("i", "m", "cut", sample=3, stop="length")


def test_five_votes_stay_five_and_the_latest_of_each_person_counts(place):
    votes = [verdict(1, judge="human", mark=float(mark), rater=f"w{mark}") for mark in (1, 2, 3, 4, 5)]
    with Ledger(place) as ledger:
        ledger.add(case(1), *votes, replace(votes[0], marks=(5.0,), revision=1))
        assert {v.rater: v.marks for v in ledger.record()} == {
            "w1": (5.0,), "w2": (2.0,), "w3": (3.0,), "w4": (4.0,), "w5": (5.0,),
        }  # fmt: skip
        assert len(list(ledger.verdicts(revisions=True))) == 6
        with ledger.reader() as reader:
            narrow_rows = sorted(stream_narrow_rows(reader, ("rater", "marks"), "human"))
        assert narrow_rows == [
            ("w1", "[5.0]"), ("w2", "[2.0]"), ("w3", "[3.0]"), ("w4", "[4.0]"), ("w5", "[5.0]"),
        ]  # fmt: skip
        assert [account.output_count for account in ledger.bill() if account.role == "judge"] == [5]
        assert ledger.judged_keys("human", [(case(1).key, 0)], rater="w3") == {(case(1).key, 0)}
        assert ledger.judged_keys("human", [(case(1).key, 0)], rater="w9") == set()


def test_people_who_are_named_as_judges_or_trials_are_raters(place):
    votes = [replace(verdict(1, judge="human"), trial=trial) for trial in range(3)]
    with Ledger(place) as ledger:
        ledger.add(case(1), *votes, verdict(1, judge="human:Ann", mark=1.0), verdict(1, judge="humanoid"))
        assert [(v.judge, v.trial, v.rater) for v in ledger.verdicts()] == [
            ("human", 0, ""), ("human", 0, "1"), ("human", 0, "2"), ("human", 0, "Ann"), ("humanoid", 0, ""),
        ]  # fmt: skip
        assert len(ledger.record("human")) == 4
        assert [v.rater for v in ledger.record("human:Ann")] == ["Ann"]
        assert ledger.judged_keys("human:Ann", [(case(1).key, 0)]) == {(case(1).key, 0)}
        ledger.add(verdict(1, judge="human:Bob"), verdict(1, judge="human", mark=2.0, rater="Ann", revision=1))
        assert {v.rater: v.marks for v in ledger.record("human")}["Ann"] == (2.0,)
        assert {v.rater for v in ledger.record("human")} == {"", "1", "2", "Ann", "Bob"}
        assert [account.name for account in ledger.bill() if account.role == "judge"] == ["human", "humanoid"]
        assert ledger.verify() == []


def test_samples_of_one_contestant_are_distinguished(place):
    item = Item.ask("x", "first")
    meeting = pair(item, ("a", 0, "yes"), ("a", 1, "no"), ("b", 0, "hm"))
    cases = [Case(item, responses, Choice(2)) for responses in (meeting.responses[:2], meeting.responses[1:])]
    bare = Verdict("label", "human", "x", ("a",), "score:1-5", marks=(1.0,))
    with Ledger(place) as ledger:
        ledger.add(*cases, *(Verdict.from_case(made, "j", [1.0, 0.0]) for made in cases), bare)
        record = ledger.record()
        assert {v.shown_responses for v in record} == {(("a", 0), ("a", 1)), (("a", 1), ("b", 0)), (("a", 0),)}
        assert record.responses["x", "a", 1].text == "no"
        assert list(record.matches())
        # Cases that are made from what the ledger holds are those that were judged.
        said = {(r.contestant, r.sample): r for r in ledger.responses(study="default")}
        again = Case(item, (said["a", 1], said["b", 0]), Choice(2))
        assert ledger.judged_keys("j", [(again.key, 0)]) == {(again.key, 0)}
        ledger.add(again)
        assert ledger.verify() == []


def test_an_alias_takes_over_what_the_other_name_was_paid_for(place):
    with Ledger(place) as ledger:
        ledger.declare("judge", "gpt", {"model": "gpt"})
        ledger.declare("contestant", "llava", {"model": "llava"})
        item = Item.ask("i", "q")
        ledger.add_response(item, Response.say("i", "llava", "yes"), usage=Usage(1, 0, 1, 1, 0.5, 1.0))
        made = Case(item, (Response.say("i", "llava", "yes"),), Score(1, 5))
        ledger.add(made, Verdict.from_case(made, "gpt", [4.0], text="four", usage=Usage(1, 0, 1, 1, 0.25, 1.0)))
        assert "'gpt' is called 'gpt@server' from now on" in ledger.alias("judge", "gpt", "gpt@server")
        with pytest.raises(LedgerError, match="is 'gpt@server' already"):
            ledger.alias("judge", "gpt", "gpt@other")
        assert "is called" in ledger.alias("contestant", "llava", "llava@server")
        assert ledger.judged_keys("gpt@server", [(made.key, 0)]) == {(made.key, 0)}
        assert ledger.answered_keys("llava@server", [(item.key, 0)]) == {(item.key, 0)}
        (said,) = ledger.responses("llava@server")
        assert said.contestant == "llava@server"
        again = Case(item, (said,), Score(1, 5))
        assert again.key == made.key
        ledger.add(again)
        ledger.add_response(item, Response.say("i", "llava@server", "yes"))
        (found,) = ledger.record("gpt@server")
        assert (found.judge, found.contestants) == ("gpt@server", ("llava@server",))
        assert ledger.record().responses["i", "llava@server"].text == "yes"
        with ledger.reader() as reader:
            narrow_rows = list(stream_narrow_rows(reader, ("judge", "contestants")))
        assert narrow_rows == [("gpt@server", '["llava@server"]')]
        assert [(a.name, a.output_count, a.usage.dollars) for a in ledger.bill()] == [
            ("llava@server", 1, 0.5),
            ("gpt@server", 1, 0.25),
        ]
        with pytest.raises(LedgerError, match="there is no judge 'nobody'"):
            ledger.alias("judge", "nobody", "x")
        with pytest.raises(LedgerError, match="each replace the other"):
            ledger.alias("judge", "gpt@server", "gpt")
        assert ledger.verify() == []


def test_settings_that_a_newer_version_adds_are_adopted_once(place):
    with Ledger(place) as ledger:
        assert ledger.declare("judge", "j", {"model": "m"}) is None
        assert "'j' now also has the settings temperature; they were adopted" in str(
            ledger.declare("judge", "j", {"model": "m", "temperature": 0})
        )
        assert ledger.declare("judge", "j", {"model": "m", "temperature": 0}) is None
        for other in ({"model": "n", "temperature": 0}, {"model": "m"}, {"model": "m", "temperature": 1}):
            with pytest.raises(LedgerError, match="another name"):
                ledger.declare("judge", "j", other)
        ledger.add(verdict(1))
        assert ledger.describe()["accounts"][0]["settings"] == {"model": "m", "temperature": 0}


def test_every_ledger_is_itself(fresh):
    one, two = fresh(), fresh()
    with Ledger(one) as first, Ledger(two) as second:
        assert len(first.identity) == 32
        assert first.identity != second.identity
        assert len(first.salt) == 32
        assert first.salt != second.salt
        known = first.identity
    with Ledger(one, read_only=True) as again:
        assert again.identity == known == again.describe()["identity"]
