"""What goes into a ledger comes out of it, once, and stays."""

from __future__ import annotations

import threading
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fullbench.core.item import Item
from fullbench.core.model_call import Call, Usage
from fullbench.core.response import Response
from fullbench.core.verdict import Failure, Verdict
from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.writing import deduplicated_rows_from_new_entries
from fullbench.ledger.writing.group_commit_writer import DELAY, GROUP, MOST
from tests.files.test_files import verdicts
from tests.ledger.making import case, verdict
from tests.ledger.tampering import REFUSED, intruder


@pytest.fixture
def ledger(place):
    with Ledger(place) as opened:
        yield opened


def test_a_verdict_comes_back_as_it_was(ledger):
    ledger.add(verdict(1), verdict(2, mark=5.0))
    assert ledger.record().verdicts == (verdict(1), verdict(2, mark=5.0))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(verdicts(), max_size=5, unique_by=lambda v: (v.judge, v.case, v.trial)))
def test_any_verdict_comes_back_as_it_was(fresh, given_):
    path = fresh()
    with Ledger(path) as one:
        one.add(*given_)
    with Ledger(path, read_only=True) as two:
        assert [v if v.at else replace(v, at=0.0) for v in given_] == [
            replace(found, at=v.at) for found, v in zip(two.verdicts(), given_, strict=True)
        ]
        assert two.verify() == []


def test_half_characters_are_replaced_in_what_a_judge_wrote(ledger):
    ledger.add(verdict(1, text="half \ud83d", earlier=("\udc00",)), verdict(2, text="pair \ud83d\ude00"))
    one, two = ledger.record()
    assert (one.text, one.earlier, two.text) == ("half \ufffd", ("\ufffd",), "pair 😀")
    assert ledger.verify() == []


def test_the_first_verdict_stays_and_the_second_is_billed(ledger):
    ledger.add(verdict(1, mark=4.0))
    ledger.flush()
    ledger.add(verdict(1, mark=4.0))
    ledger.add(verdict(1, mark=2.0, usage=Usage(1, 0, 10, 5, 0.5, 0.5)), verdict(2))
    assert [v.marks for v in ledger.record()] == [(4.0,), (3.0,)]
    (account,) = ledger.bill()
    assert (account.output_count, account.failures, account.usage.calls, account.usage.dollars) == (2, 1, 3, 1.0)


def test_what_was_heard_is_known_for_each_judge_and_trial(ledger):
    ledger.add(verdict(1), replace(verdict(1), trial=2), verdict(2, judge="other"))
    keys = [(case(number).key, trial) for number in range(1000) for trial in range(3)]
    assert ledger.judged_keys("j", keys) == {(case(1).key, 0), (case(1).key, 2)}
    assert ledger.judged_keys("other", iter(keys)) == {(case(2).key, 0)}
    assert ledger.judged_keys("j", []) == set()


def test_responses_are_kept_once_and_a_different_one_is_refused(ledger):
    item, said = Item.ask("i", "q"), Response.say("i", "m", "yes", sample=1, tags={"k": "v"})
    ledger.add_response(item, said, usage=Usage(1, 2, 3, 4, None, 1.0), prompt="p")
    ledger.add_response(item, said)
    assert list(ledger.responses()) == [said]
    assert ledger.answered_keys("m", [(item.key, 0), (item.key, 1)]) == {(item.key, 1)}
    with pytest.raises(LedgerError, match="'m' answered item 'i' differently before"):
        ledger.add_response(item, replace(said, parts=("no",)))
    ledger.add_response(item, Failure(item.key, "m", 0, "time-out", Usage(0, 3, 0, 0, 0.0, 9.0)))
    (account,) = ledger.bill()
    assert (account.role, account.output_count, account.failures) == ("contestant", 1, 1)
    assert account.usage == Usage(1, 5, 3, 4, None, 10.0)


def test_a_case_brings_its_item_and_responses(ledger):
    shown = case(7, task="vqa")
    ledger.add(shown, Verdict.from_case(shown, "j", "refused"))
    assert ledger.case(shown.key, trial=4) == shown.at(4)
    assert ledger.case("unknown") is None
    record = ledger.record("j")
    assert record.items == {"item-7": shown.item}
    assert record.responses == {("item-7", "a", 0): shown.responses[0]}
    assert record.tag(record.verdicts[0], "task") == "vqa"


def test_a_record_can_be_narrowed(ledger):
    for number in range(4):
        ledger.add(case(number, half=str(number // 2)), verdict(number), verdict(number, judge="k"))
    assert len(ledger.record()) == 8
    assert ledger.record("k").judges == ["k"]
    assert ledger.record(["j", "k"], tags={"half": "1"}).by("item").keys() == {"item-2", "item-3"}
    assert [v.item for v in ledger.record("j", cases=[case(3).key, case(0).key])] == ["item-0", "item-3"]
    assert {v.text for v in ledger.record(texts=False)} == {""}


def test_a_record_has_the_latest_item_and_what_was_answered_to_it(place):
    old, new = Item.ask("i", "old"), Item.ask("i", "new")
    with Ledger(place, supersede=True) as ledger:
        for item, trial in ((old, 1), (old, 0), (new, 1), (new, 0)):
            ledger.add_response(item, Response.say("i", "a", f"{item.question} {trial}", sample=trial))
        ledger.add(new, Verdict("c", "human", "i", ("a",), "score:1-5", marks=(1.0,)))
        record = ledger.record()
    assert record.items == {"i": new}
    assert record.responses["i", "a"].text == "new 0"


def test_what_was_forgotten_is_looked_up(ledger, monkeypatch):
    monkeypatch.setattr(deduplicated_rows_from_new_entries, "RECENT", 3)
    for _ in range(2):
        for number in range(10):
            ledger.add(case(number))
    assert ledger.describe()["counts"] == {
        "items": 10,
        "responses": 10,
        "cases": 10,
        "verdicts": 0,
        "failures": 0,
        "pictures": 0,
    }
    item = case(0).item
    with pytest.raises(LedgerError, match="differently"):
        ledger.add_response(item, Response.say(item.id, "a", "something else"))


def test_reading_keeps_memory_flat(ledger):
    ledger.add(*(verdict(number, text="x" * 1000) for number in range(20_000)))
    ledger.flush()
    tracemalloc.start()
    try:
        assert sum(1 for _ in ledger.verdicts()) == 20_000
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()


def test_new_tags_of_an_item_take_the_place_of_old_ones(ledger):
    ledger.add(case(1, task="old").item, case(1, task="new").item)
    assert [item.tags for item in ledger.items()] == [{"task": "new"}]


def test_a_name_stands_for_one_set_of_settings(ledger):
    ledger.declare("judge", "j", {"model": "m", "temperature": 0})
    ledger.declare("judge", "j", {"temperature": 0, "model": "m"})
    ledger.declare("contestant", "j", {"model": "other"})
    with pytest.raises(LedgerError, match="give this judge another name"):
        ledger.declare("judge", "j", {"model": "m", "temperature": 1})


def test_nothing_can_be_changed_or_taken_out(place):
    with Ledger(place, pictures="elsewhere") as ledger:
        ledger.declare("judge", "j", {})
        ledger.declare("contestant", "a", {})
        ledger.declare("judge", "j", {"newer": 1})
        ledger.add(case(1), verdict(1, exchanges=(Call("x", "reply"),)), Failure("c", "j", 0, "no"))
        ledger._writer.keep("pictures", ("d", "image/png", None))
        ledger._writer.keep("signatures", ("1-00", "key", "signed", 1.0))
        ledger.alias("judge", "j", "k")
    with intruder(place, disarmed=False) as connection:
        for table in schema.TABLES:
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
            column = schema.table_columns(table)[0]
            for statement in (f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"):
                with pytest.raises(REFUSED, match="append-only"):
                    connection.execute(statement)


def test_a_verdict_with_both_marks_and_fault_or_neither_cannot_be_stored(place):
    with Ledger(place) as ledger:
        ledger.add(verdict(1))
    columns = (*schema.table_columns("verdicts"), "writer", "number", "link")
    for marks, fault in (("NULL", "NULL"), ("'[1.0]'", "'refused'")):
        changed = {"marks": marks, "fault": fault, "case_key": "'other'"}
        values = ", ".join(changed.get(column, column) for column in columns)
        with intruder(place, disarmed=False) as connection, pytest.raises(REFUSED, match=r"CHECK|check"):
            connection.execute(f"INSERT INTO verdicts ({', '.join(columns)}) SELECT {values} FROM verdicts")


def test_numbers_of_other_libraries_become_floats(ledger):
    ledger.add(replace(verdict(1), marks=(np.float64(4.0),)), replace(verdict(2), marks=(np.float32(2.5),), ballot="x"))
    assert [v.marks for v in ledger.record()] == [(4.0,), (2.5,)]


def test_readers_do_not_pile_up(ledger):
    ledger.add(verdict(1))
    for _ in range(20):
        thread = threading.Thread(target=ledger.record)
        thread.start()
        thread.join()
    assert len(ledger._readers) == 1


def test_a_row_is_committed_soon_even_when_no_other_follows(place):
    done = threading.Event()
    with Ledger(place, on_commit=lambda entries: done.set()) as ledger:
        ledger.add(verdict(1))
        assert done.wait(timeout=120)
        assert ledger.acknowledged_count == 1


def test_a_full_group_is_committed_at_once_and_acknowledged_in_order(place):
    told: list[object] = []
    with Ledger(place, on_commit=told.extend) as ledger:
        waiting = MOST if "://" in str(place) else GROUP  # nobody waits for a server while little is gathered
        given_ = [verdict(number) for number in range(5 * waiting + 3)]
        for one in given_:
            ledger.add(one)
        assert len(given_) - ledger.acknowledged_count < waiting
        ledger.flush()
        assert ledger.acknowledged_count == len(given_)
    assert told == given_


def test_readers_in_other_threads_see_what_was_added_before(ledger):
    wrong: list[int] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            before = added[0]
            if sum(1 for _ in ledger.verdicts()) < before:
                wrong.append(before)

    added = [0]
    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(300):
        ledger.add(verdict(number))
        added[0] = number + 1
        if number % 50 == 0:
            time.sleep(DELAY)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(ledger.record()) == 300


def test_several_threads_may_add(ledger):
    def add(start: int) -> None:
        for number in range(start, start + 200):
            ledger.add(case(number), verdict(number))

    threads = [threading.Thread(target=add, args=(start,)) for start in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.record()) == 400
    assert len(list(ledger.items())) == 400
    assert ledger.bill()[-1].failures == 0
    assert ledger.verify() == []


def test_the_digest_is_of_what_was_ruled_not_of_when_or_in_which_order(fresh):
    digests = []
    places = [fresh(), fresh()]
    for place, order, at in zip(places, ((1, 2), (2, 1)), (5.0, 6.0), strict=True):
        with Ledger(place) as ledger:
            for number in order:
                ledger.add(case(number), replace(verdict(number), at=at))
            digests.append(ledger.digest())
    assert digests[0] == digests[1]
    with Ledger(places[0]) as ledger:
        ledger.add(verdict(3))
        assert ledger.digest() != digests[0]


def test_the_bill_counts_every_call(ledger):
    ledger.add(verdict(1), Failure("c", "j", 0, "time-out", Usage(0, 4, 0, 0, 0.0, 60.0)))
    ledger.add(verdict(2, judge="free", usage=Usage(1, 0, 1, 1, None, 0.0)))
    free, paid = ledger.bill()
    assert free.usage.dollars is None
    assert (paid.output_count, paid.failures, paid.usage) == (1, 1, Usage(1, 4, 10, 5, 0.25, 60.5))


def test_describe_says_what_is_inside(ledger):
    ledger.declare("judge", "j", {"model": "m"})
    ledger.add(case(1), verdict(1), Verdict.from_case(case(2), "j", "unreadable"))
    told = ledger.describe()
    assert told["counts"] == {"items": 1, "responses": 1, "cases": 1, "verdicts": 2, "failures": 0, "pictures": 0}
    judge = next(account for account in told["accounts"] if account["role"] == "judge")
    assert judge["unusable"] == {"refused": 0, "unreadable": 1, "abstained": 0}
    assert judge["settings"] == {"model": "m"}
    assert told["digest"] == ledger.digest()


def test_a_closed_or_read_only_ledger_takes_nothing(place, tmp_path):
    path = place
    with Ledger(path) as ledger:
        ledger.add(verdict(1))
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.add(verdict(2))
    with pytest.raises(LedgerError, match="closed"):
        ledger.record()
    with Ledger(path, read_only=True) as ledger:
        assert len(ledger.record()) == 1
        with pytest.raises(LedgerError, match="read-only"):
            ledger.add(verdict(2))
    assert sorted(file.name for file in tmp_path.iterdir()) in (["x.ledger"], ["x.ledger", "x.ledger.digests"], [])


def test_characters_that_a_server_cannot_hold_come_back(ledger):
    odd = ("a\0b", "\ufdd0", "\ufdd00\0", "评 \ufdd01")
    ledger.add(*(verdict(number, text=text) for number, text in enumerate(odd)))
    assert tuple(v.text for v in ledger.verdicts()) == odd
    assert ledger.verify() == []
