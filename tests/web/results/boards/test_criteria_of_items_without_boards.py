"""Criteria of items' own rubrics have no boards on the site; the totals have. Criteria of all items keep theirs."""

from __future__ import annotations

import json

import fullbench
from fullbench import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.boards import board_store, stored_study_summary
from fullbench.web.results.catalogue.catalogue_board_and_page_updater import refresh_boards, update_catalogue
from tests.web.results.conftest import empty

JUDGES, CONTESTANTS = ("chance?seed=1", "chance?seed=2"), ("ann", "bob")


def judged(folder, count):
    """Judge rows with a criterion of their own, one that two of three rows share, and one that all rows have."""
    rows = [
        {"id": f"q{n}", "question": f"Question {n}?", "rubric": json.dumps([
            {"criterion": f"Names thing {n}.", "points": 3}, {"criterion": "Is polite.", "points": 1},
            *([{"criterion": "Is safe for everybody who reads it.", "points": 2}] if n % 3 else []),
        ])}
        for n in range(count)
    ]  # fmt: skip
    answers = [
        {"item": row["id"], "contestant": who, "text": f"{who} on {row['id']}"}
        for row in rows
        for who in ("ann", "bob")
    ]
    for judge in ("chance?seed=1", "chance?seed=2"):
        fullbench.judge(rows, answers, folder / "l.ledger", judge=judge, rubric=True)


def boards_and_stamps(engine):
    with read_transaction(engine) as connection:
        headings = board_store.board_headings(connection)
        stored = board_store.computed_stamps(connection)
    assert {heading.name for heading in headings} == set(stored)
    return sorted((heading.judge, heading.criterion) for heading in headings)


def test_only_totals_and_criteria_of_all_items_have_boards_and_nothing_is_computed_twice(tmp_path):
    engine = empty(f"sqlite:///{tmp_path / 'web.sqlite'}")
    totals = [("rubric:items", "overall"), ("rubric:items by chance", "overall")]
    wanted = sorted([*((judge, "Is polite.") for judge in JUDGES), *totals])
    for count in (6, 9):
        judged(tmp_path, count)
        with Ledger(tmp_path / "l.ledger", read_only=True) as ledger:
            update_catalogue(engine, ledger)
            found = boards_and_stamps(engine)
            assert refresh_boards(engine, ledger) == 0
            verdicts = len(list(ledger.verdicts()))
        assert found == wanted
        assert verdicts == 2 * 2 * sum(3 if n % 3 else 2 for n in range(count))
        with read_transaction(engine) as connection:
            contestants, *_ = stored_study_summary.find_summary(connection, "default")
        assert set(map(str, contestants.column("criterion"))) == {"overall", "Is polite."}
        assert str(contestants.column("criterion")[0]) == "overall"
    engine.dispose()
