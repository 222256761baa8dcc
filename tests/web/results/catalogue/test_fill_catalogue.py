"""The catalogue says what the ledger says."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import func, inspect, select

from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.core.verdict_record import Record
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from tests.web.results import making


def every(connection, wanted: Filter, size: int = 37) -> list[verdict_list.VerdictLine]:
    """All lines of a filter, page by page."""
    found, before = [], None
    while True:
        page = verdict_list.find_verdicts(connection, wanted, before=before, size=size)
        found += page.lines
        if page.older is None:
            return found
        before = page.older


def truth(verdict, item_tags, wanted: Filter) -> bool:
    """Whether a verdict of the ledger has what the filter asks for, said without SQL."""
    fault = "none" if verdict.fault is None else verdict.fault
    return (
        wanted.judge in {"", verdict.judge}
        and (not wanted.contestant or wanted.contestant in verdict.contestants)
        and (not wanted.other or wanted.other in verdict.contestants)
        and wanted.item in {"", verdict.item}
        and wanted.criterion in {"", verdict.criterion}
        and wanted.ballot in {"", verdict.ballot}
        and wanted.rater in {"", verdict.rater}
        and (not wanted.tag or item_tags[verdict.item].get(wanted.tag, "") == wanted.value)
        and (wanted.fault in {"", fault} or (wanted.fault == "any" and verdict.fault is not None))
        and (not wanted.shown or (wanted.shown == "several") == (len(verdict.contestants) > 1))
    )


FILTERS = [
    Filter(),
    Filter(judge="steady"),
    Filter(contestant="alpha", judge="first-lover", shown="several", fault="none"),
    Filter(contestant="alpha", other="beta", judge="steady"),
    Filter(item="q3"),
    Filter(tag="task", value="比较", contestant="gamma"),
    Filter(criterion="style"),
    Filter(ballot="score:1-5", judge="human", rater="ann"),
    Filter(judge="human", rater="bob"),
    Filter(fault="any"),
    *(Filter(fault=fault) for fault in FAULTS),
    Filter(judge="nobody"),
]


@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: wanted.address() or "all")
def test_a_filter_finds_what_the_ledger_holds_and_counts_it(filled, ledger, wanted):
    tags = {item.id: item.tags for item in ledger.items()}
    expected = Counter((v.case, v.judge, v.item, v.trial) for v in ledger.verdicts() if truth(v, tags, wanted))
    with read_transaction(filled) as connection:
        lines = every(connection, wanted)
        assert Counter((one.case, one.judge, one.item, one.trial) for one in lines) == expected
        assert verdict_list.count_verdicts(connection, wanted) == verdict_list.VerdictCount(sum(expected.values()))
        assert [one.id for one in lines] == sorted((one.id for one in lines), reverse=True)


def test_pages_turn_both_ways(filled):
    with read_transaction(filled) as connection:
        first = verdict_list.find_verdicts(connection, Filter(judge="steady"), size=20)
        second = verdict_list.find_verdicts(connection, Filter(judge="steady"), before=first.older, size=20)
        back = verdict_list.find_verdicts(connection, Filter(judge="steady"), after=second.newer, size=20)
    assert first.newer is None
    assert back.lines == first.lines


@pytest.mark.parametrize("wanted", [Filter(q="squares"), Filter(q="地球", judge="steady", shown="one"), Filter(q="2")])
def test_a_search_turns_pages_both_ways_however_few_hits_are_looked_at_first(filled, wanted, monkeypatch):
    with read_transaction(filled) as connection:
        lines = every(connection, wanted, size=10_000)
        for looked_at in (1, 7, 50):
            monkeypatch.setattr(verdict_list, "MAX_COUNTED_HITS", looked_at)
            assert every(connection, wanted, size=11) == lines
            first = verdict_list.find_verdicts(connection, wanted, size=11)
            second = verdict_list.find_verdicts(connection, wanted, before=first.older, size=11)
            assert verdict_list.find_verdicts(connection, wanted, after=second.newer, size=11).lines == first.lines
    assert len(lines) > 22


def test_people_and_judges_meet_where_the_record_says_so(filled, ledger):
    """The verdicts marked `met` are those that the statistics pair with people's."""
    pairs = compare_with_people(Record(tuple(ledger.verdicts())))
    expected = {judge: sum(map(len, shapes.values())) for judge, shapes in pairs.pairs.items()}
    with read_transaction(filled) as connection:
        for judge in making.JUDGES:
            assert verdict_list.count_verdicts(connection, Filter(judge=judge, met=True)).n == expected[judge]


def test_a_judge_that_loves_the_first_place_is_caught_turning_round(filled):
    with read_transaction(filled) as connection:
        n = {
            judge: verdict_list.count_verdicts(connection, Filter(judge=judge, swapped=True, shown="several")).n
            for judge in ("steady", "first-lover")
        }
    assert n["first-lover"] > 2 * n["steady"]


def test_the_flags_are_what_the_verdicts_say(filled, ledger):
    """`split`, `swapped` and `opposed` of every choice of two, told from the ledger by another way."""
    heard = {}
    for verdict in ledger.verdicts():
        if len(verdict.contestants) == 2:
            heard.setdefault((verdict.item, frozenset(verdict.contestants)), []).append(verdict)

    def named(verdict):
        if verdict.marks is None:
            return "fault"
        one, two = verdict.marks
        return "tie" if one == two else verdict.contestants[0 if one > two else 1]

    with read_transaction(filled) as connection:
        lines = {
            (one.case, one.judge, one.rater): one for one in every(connection, Filter(ballot="choice+tie"), size=500)
        }
    for verdicts in heard.values():
        judged = [v for v in verdicts if not v.judge.startswith("human")]
        winners = [{named(v) for v in judged if v.judge == judge} - {"tie", "fault"} for judge in making.JUDGES]
        split = any(
            one != two for a, left in enumerate(winners) for right in winners[a + 1 :] for one in left for two in right
        )
        votes = Counter(named(v) for v in verdicts if v.judge.startswith("human")).most_common(2)
        people = votes[0][0] if len(votes) == 1 or votes[0][1] > votes[1][1] else None
        for verdict in verdicts:
            line = lines[verdict.case, verdict.judge, verdict.rater]
            own = {named(v) for v in verdicts if (v.judge, v.rater) == (verdict.judge, verdict.rater)} - {"fault"}
            assert line.split == split
            assert line.swapped == (verdict.marks is not None and len(own) > 1)
            decided = verdict in judged and people not in {None, "tie"} and named(verdict) not in {"tie", "fault"}
            assert line.opposed == (decided and named(verdict) != people)


def test_filling_goes_on_where_it_stopped_and_twice_is_once(new_engine, tmp_path):
    engine = new_engine()
    path = tmp_path / "growing.ledger"
    made = list(making.verdicts(count=3))
    with Ledger(path) as ledger:
        for case, ruled in made[:20]:
            ledger.add(case, *ruled)
        assert fill_catalogue.fill_from_ledger(engine, ledger, batch=7, max_verdicts=10).verdicts == 14
        first = fill_catalogue.fill_from_ledger(engine, ledger, batch=50)
        for case, ruled in made[20:]:
            ledger.add(case, *ruled)
        second = fill_catalogue.fill_from_ledger(engine, ledger)
        third = fill_catalogue.fill_from_ledger(engine, ledger)
    total = sum(len(ruled) for _, ruled in made)
    assert 14 + first.verdicts + second.verdicts == total
    assert third.verdicts == 0
    assert third.version == second.version > first.version
    with read_transaction(engine) as connection:
        assert connection.execute(select(func.count()).select_from(catalogue_tables.verdicts)).scalar() == total
        assert verdict_list.count_verdicts(connection, Filter()).n == total
        assert (
            connection.execute(select(func.count()).select_from(catalogue_tables.unflagged_response_sets)).scalar() == 0
        )


def test_a_batch_that_fails_leaves_nothing_behind(new_engine, tmp_path, monkeypatch):
    engine = new_engine()
    with Ledger(making.fill(tmp_path / "l", count=1), read_only=True) as ledger:

        def broken(*_):
            raise OSError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(fill_catalogue.full_text_search, "add_documents", broken)
            with pytest.raises(OSError, match="the disk is full"):
                fill_catalogue.fill_from_ledger(engine, ledger)
        with read_transaction(engine) as connection:
            assert verdict_list.count_verdicts(connection, Filter()).n == 0
        assert fill_catalogue.fill_from_ledger(engine, ledger).verdicts > 0
        before = fill_catalogue.fill_from_ledger(engine, ledger).version
        fill_catalogue.empty_catalogue(engine)
        assert fill_catalogue.fill_from_ledger(engine, ledger).verdicts > 0
    assert before > 0


def test_a_revised_vote_is_found_by_its_new_words_alone(new_engine, tmp_path):
    """When all that was there is revised, ids begin anew, and the words of before are still in the search."""
    engine = new_engine()
    item = making.items(1)[0]
    case = Case(item, making.answers(item)[:2], Choice())
    with Ledger(tmp_path / "l") as ledger:
        for revision, words in enumerate(("surely the first", "perhaps the second", "certainly neither")):
            ledger.add(case, Verdict.from_case(case, "human", (1.0, 0.0), rater="r1", revision=revision, text=words))
            assert fill_catalogue.fill_from_ledger(engine, ledger).verdicts == 1
    with read_transaction(engine) as connection:
        found = {word: len(every(connection, Filter(q=word))) for word in ("surely", "perhaps", "certainly")}
    assert found == {"surely": 0, "perhaps": 0, "certainly": 1}


SEARCHES = {
    "地球更大": lambda v, case: True,
    "方块": lambda v, case: True,
    "第7张": lambda v, case: case == "q7",
    "第3张有几个": lambda v, case: case == "q3",
    "球": lambda v, case: True,
    "steady thinks": lambda v, case: v.judge == "steady",
    "STEADY": lambda v, case: v.judge == "steady",
    "alpha says": lambda v, case: "alpha" in v.contestants,
    "火星": lambda v, case: False,
    "。！": lambda v, case: False,
    "' OR 1=1 --": lambda v, case: False,
    '"unbalanced* AND (NOT': lambda v, case: False,
}


@pytest.mark.parametrize("query", SEARCHES)
def test_search_finds_words_and_chinese(filled, ledger, query):
    expected = {(v.case, v.judge, v.rater) for v in ledger.verdicts() if SEARCHES[query](v, v.item)}
    with read_transaction(filled) as connection:
        found = {(one.case, one.judge, one.rater) for one in every(connection, Filter(q=query))}
        assert found == expected
        assert verdict_list.count_verdicts(connection, Filter(q=query)).n == len(expected)
        one = Filter(q=query, judge="steady", shown="one")
        assert len(every(connection, one)) == sum(
            v.judge == "steady" and len(v.contestants) == 1 for v in ledger.verdicts() if SEARCHES[query](v, v.item)
        )


def test_a_new_database_has_the_tables_that_the_code_speaks_of(new_engine):
    engine = new_engine()
    found = inspect(engine)
    for table in catalogue_tables.ALL:
        made = {column["name"]: column for column in found.get_columns(table.name)}
        assert set(made) == set(table.c.keys())
        for column in table.c:
            assert made[column.name]["nullable"] == bool(column.nullable), column
            assert column.type._type_affinity is made[column.name]["type"]._type_affinity, column
        assert found.get_pk_constraint(table.name)["constrained_columns"] == [one.name for one in table.primary_key]
        assert {
            (i["name"], tuple(i["column_names"])) for i in found.get_indexes(table.name) if not i.get("unique")
        } == {(index.name, tuple(index.columns.keys())) for index in table.indexes}
