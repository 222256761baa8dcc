"""Changes of a ledger without a new verdict reach the site: names, items, failed calls.

A site that was kept up to date must hold what a site that is filled from the beginning holds.
"""

from __future__ import annotations

import orjson
import pytest
from sqlalchemy import func, select

from fullbench import Case, Choice, Failure, Item, Ledger, Response, Usage, Verdict
from fullbench.web.database import read_transaction
from fullbench.web.results.catalogue import catalogue_tables, flag_counts
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import update_catalogue
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS

STUDIES = ("legs", "wings")


def cases(words: str = "legs") -> list[Case]:
    made = []
    for number in range(6):
        item = Item.ask(f"q{number}", f"How many {words} has insect {number}?", tags={"kind": str(number % 2)})
        said = [Response.say(item.id, who, f"{who}: {number} {words}") for who in ("ann", "bob")]
        made += [Case(item, tuple(order), Choice()) for order in (said, said[::-1])]
    return made


@pytest.fixture
def path(tmp_path):
    for study in STUDIES:
        with Ledger(tmp_path / "x.ledger", study=study) as ledger:
            for number, case in enumerate(cases(study)):
                ledger.add(case, Verdict.from_case(case, "old", (1, 0) if number % 3 else (0, 1), at=number + 1.0))
                ledger.add(Verdict.from_case(case, "steady", (1, 0) if number % 2 else (0, 1), at=number + 1.0))
    return tmp_path / "x.ledger"


def content(engine) -> dict[str, object]:
    """All that visitors can see of a catalogue, under names instead of numbers."""
    with read_transaction(engine) as connection:
        names = {row.id: row.name for row in connection.execute(select(catalogue_tables.names))}
        c, v = catalogue_tables.counts.c, catalogue_tables.verdicts.c
        boards = {
            row.name: (row.kind, orjson.loads(row.body)) for row in connection.execute(select(catalogue_tables.boards))
        }
        counted = select(c.study_id, c.judge_id, c.criterion_id, c.fault, func.sum(c.n)).where(c.contestant_id == 0)
        counts = {
            (*(names[number] for number in row[:3]), row[3]): int(row[4])
            for row in connection.execute(counted.group_by(c.study_id, c.judge_id, c.criterion_id, c.fault))
            if row[4]
        }
        listed = select(v.study_id, v.judge_id, catalogue_tables.cases.c.key, v.trial, v.marks, v.split).join(
            catalogue_tables.cases, catalogue_tables.cases.c.id == v.case_id
        )
        verdicts = sorted(
            (names[row[0]], names[row[1]], row[2], row[3], row[4] or "", row[5]) for row in connection.execute(listed)
        )
        flagged = {
            (study, judge, flag): flag_counts.flag_total(connection, flag, study, judge)
            for study, judge in connection.execute(select(v.study_id, v.judge_id).distinct())
            for flag in FLAGS
        }
        sums = select(v.study_id, v.judge_id, *(func.sum(v[flag]) for flag in FLAGS)).group_by(v.study_id, v.judge_id)
        assert flagged == {
            (study, judge, flag): n
            for study, judge, *some in connection.execute(sums)
            for flag, n in zip(FLAGS, some, strict=True)
        }
        assert any(flagged.values())
        titles = sorted(
            map(tuple, connection.execute(select(catalogue_tables.items.c.name, catalogue_tables.items.c.title)))
        )
    return {"boards": boards, "counts": counts, "verdicts": verdicts, "titles": titles}


def rename(path) -> None:
    with Ledger(path) as ledger:
        ledger.alias("judge", "old", "new")
        ledger.alias("contestant", "ann", "anna")


def supersede(path) -> None:
    with Ledger(path, study="legs", supersede=True) as ledger:
        for case in cases("long legs")[:4]:
            ledger.add(case, Verdict.from_case(case, "steady", (1, 0), at=99.0))
        ledger.add(*cases("short legs")[4:6])


def fail(path) -> None:
    more = Item.ask("q9", "How many legs has a spider?")
    case = Case(more, tuple(Response.say("q9", who, "8") for who in ("ann", "bob")), Choice())
    with Ledger(path, study="legs") as ledger:
        ledger.add(case, Failure(case.key, "steady", 0, "time-out", Usage(1, 0, 5, 0, None, 1.0)))


@pytest.mark.parametrize("change", [rename, supersede, fail])
def test_a_site_that_was_kept_up_holds_what_a_new_one_would(path, new_engine, change):
    kept_up, anew = new_engine(), new_engine()
    with Ledger(path, read_only=True) as ledger:
        update_catalogue(kept_up, ledger)
        before = content(kept_up)
        change(path)
        update_catalogue(kept_up, ledger)
        update_catalogue(anew, ledger)
        after = content(kept_up)
        assert after == content(anew)
        assert after != before, "the change can be seen"
        for study in STUDIES:
            figured = {(v.judge, v.case, v.trial) for v in ledger.record(study=study)}
            assert {row[1:4] for row in after["verdicts"] if row[0] == study} == figured


def test_the_due_case_is_counted_on_the_board(path, new_engine):
    engine = new_engine()
    with Ledger(path, read_only=True) as ledger:
        update_catalogue(engine, ledger)
        fail(path)
        update_catalogue(engine, ledger)
    bodies = [body for kind, body in content(engine)["boards"].values() if kind == "board"]
    told = [orjson.dumps(body).decode() for body in bodies if (body["study"], body["judge"]) == ("legs", "steady")]
    assert len(told) == 1
    assert "due" in told[0]
