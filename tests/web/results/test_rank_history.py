"""Ranks over time on the site equal a plain computation."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import combinations

import pytest

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.site.page_urls import ServedPageUrls
from fullbench.web.site_settings_and_worker_transfer import Settings

START, DAY = 1_790_000_000.0, 86400.0
CAME = {"早": 0, "one": 0, "two": 0, "strong": 1, "late": 3}
WORTH = {"早": 1.0, "one": 2.0, "two": 0.0, "strong": 4.0, "late": 3.0}


def ruled() -> list[tuple[Case, Verdict]]:
    """Every two contestants on twelve items, on the day on which the later of them came; noise in every third."""
    draw, rulings = random.Random(0), []
    for number in range(12):
        item = Item.ask(f"q{number}", "Which one? 哪个？")
        for pair in combinations(CAME, 2):
            case = Case(item, tuple(Response.say(item.id, name, f"I am {name}") for name in pair), Choice())
            ahead = (WORTH[pair[0]] > WORTH[pair[1]]) != (draw.random() < 1 / 3)
            verdict = Verdict.from_case(case, "judge", (1.0, 0.0) if ahead else (0.0, 1.0))
            rulings.append((case, replace(verdict, at=START + DAY * max(CAME[name] for name in pair) + number)))
    return rulings


@pytest.fixture
def settings(database, tmp_path):
    with Ledger(tmp_path / "days.ledger") as ledger:
        for case, verdict in ruled():
            ledger.add(case, verdict)
    return Settings(database, str(tmp_path / "days.ledger"), data=tmp_path / "data")


def places(day: int) -> list[str]:
    """Who stood where at the end of a day: by Bradley-Terry strengths, found by plain iteration."""
    won: dict[tuple[str, str], int] = {}
    names = [name for name, came in CAME.items() if came <= day]
    for case, verdict in ruled():
        one, two = case.contestants
        if one in names and two in names:
            best = (one, two) if verdict.marks[0] > verdict.marks[1] else (two, one)
            won[best] = won.get(best, 0) + 1
    strength = dict.fromkeys(names, 1.0)
    for _ in range(2000):
        for name in names:
            others = [other for other in names if other != name]
            wins = sum(won.get((name, other), 0) for other in others)
            met = [(won.get((name, other), 0) + won.get((other, name), 0), other) for other in others]
            strength[name] = wins / sum(count / (strength[name] + strength[other]) for count, other in met)
    return sorted(names, key=lambda name: -strength[name])


def test_a_board_tells_how_its_ranks_went(app, viewer):
    catalogue_board_and_page_updater.update_catalogue(app.state.engine, app.state.ledger)
    name = board_store.board_name("default", "judge", "overall")
    with read_transaction(app.state.engine) as connection:
        board = board_store.find_board(connection, name)
    (table,) = (linked.table for linked in board.tables if linked.table.name == "history")
    stood: dict[tuple[int, str], list[tuple[int, str]]] = {}
    for step, day, _, contestant, place, _, _, _ in table.rows:
        stood.setdefault((step, day), []).append((place, contestant))
    days = ["2026-09-21", "2026-09-22", "2026-09-24"]
    assert list(stood) == [(1, days[0]), (2, days[1]), (3, days[2])]
    for (step, _), standing in stood.items():
        expected = places([0, 1, 3][step - 1])
        assert [contestant for _, contestant in sorted(standing)] == expected
        assert [place for place, _ in sorted(standing)] == list(range(1, len(expected) + 1))
    assert {row[0]: row[2] for row in table.rows} == {1: "one, two, 早", 2: "strong", 3: "late"}
    page = viewer.get(ServedPageUrls().board(name)).text
    assert "History of ranks, by judge" in page
    assert "After each day with a new contestant" in page
    (drawn,) = re.findall(
        r'<div class="chart values" role="group" aria-label="[^"]*Curves.*?</figure>', page, re.DOTALL
    )
    assert drawn.count("<svg") == 2, "for a desk and for a phone"
    assert drawn.count(">早<") == 2
    saved = viewer.get(re.search(r'href="([^"]+)" download', drawn)[1].replace("&amp;", "&"))
    assert saved.text.startswith("<svg")
    assert ">早<" in saved.text
