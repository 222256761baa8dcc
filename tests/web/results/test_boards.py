"""Every number of a board leads to as many verdicts as it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fullbench.ledger.store import Ledger
from fullbench.nouns.ballot import Score
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.table import EstimateLike
from fullbench.nouns.verdict import Verdict
from fullbench.reports import charts
from fullbench.stats.ratings import bradley_terry
from fullbench.web.database import reading
from fullbench.web.results import boards, cards, listing, updater
from tests.web.results import making
from tests.web.results.test_catalogue import every


@pytest.fixture(scope="session")
def refreshed(filled):
    assert boards.refresh(filled) > 0
    assert boards.refresh(filled) == 0
    return filled


def all_boards(connection):
    return [boards.find(connection, one.name) for one in boards.headings(connection)]


def test_the_count_behind_every_number_is_its_n(refreshed):
    checked = 0
    with reading(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                for row, cells in enumerate(linked.table.rows):
                    for column, cell in enumerate(cells):
                        link = linked.link(row, column)
                        if link is None:
                            continue
                        n = listing.count(connection, link).n
                        place = (board.judge, linked.table.name, linked.table.columns[column], link)
                        if isinstance(cell, EstimateLike):
                            assert cell.n == n, place
                            checked += 1
                        elif isinstance(cell, int):
                            assert cell == n, place
                            checked += 1
                        else:
                            assert n > 0, place
    assert checked > 200


def test_every_estimate_has_a_link(refreshed):
    with reading(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                for row, cells in enumerate(linked.table.rows):
                    for column, cell in enumerate(cells):
                        if isinstance(cell, EstimateLike):
                            assert linked.link(row, column) is not None, (linked.table.name, row, column)


def test_the_lines_behind_a_share_won_give_that_share(refreshed):
    with reading(refreshed) as connection:
        board = boards.find(connection, boards.board_name("steady", "overall"))
        table = board.tables[0].table
        for row, cells in enumerate(table.rows):
            place = table.columns.index("won")
            lines = every(connection, board.tables[0].link(row, place))
            name = cells[1]
            shares = []
            for line in lines:
                mine = next(one.mark for one in line.shown if one.contestant == name)
                others = [one.mark for one in line.shown if one.contestant != name]
                shares.append(sum((mine > other) + (mine == other) / 2 for other in others) / len(others))
            assert cells[place].value == pytest.approx(sum(shares) / len(shares))


def test_ratings_are_those_of_the_record(refreshed, ledger):
    """The catalogue's numbers give the ratings that the verdicts themselves give."""
    record = Record(tuple(v for v in ledger.verdicts("steady") if len(v.contestants) == 2))
    names = record.contestants
    duels = list(record.duels())
    expected = bradley_terry(
        [names.index(d.first) for d in duels], [names.index(d.second) for d in duels], [d.outcome for d in duels],
        cluster=[d.item for d in duels], interval="sandwich",
    )  # fmt: skip
    with reading(refreshed) as connection:
        table = boards.find(connection, boards.board_name("steady", "overall")).tables[0].table
    found = {row[1]: row[2] for row in table.rows}
    for name, rating in zip(names, expected.estimates, strict=True):
        assert found[name].value == pytest.approx(rating.value)
        assert found[name].low == pytest.approx(rating.low)
    assert [row[1] for row in table.rows] == list(making.WORTH)


def test_every_chart_of_a_board_can_be_drawn(refreshed):
    kinds = set()
    with reading(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                for hint in linked.charts:
                    drawn = charts.chart(linked.table, hint)
                    if drawn is not None:
                        kinds.add(hint["kind"])
    assert kinds == {"intervals", "matrix", "scatter", "densities", "curves"}


def test_a_board_survives_its_text(refreshed):
    with reading(refreshed) as connection:
        for board in all_boards(connection):
            again = boards.load(boards.dump(board), board.stamp)
            assert boards.dump(again) == boards.dump(board)


def figures(card):
    """Every number of a card: table, row by column, column, how many it says there are, and its link."""
    for _, some in card.sections:
        for linked in some:
            for place, cells in enumerate(linked.table.rows):
                row = dict(zip(linked.table.columns, cells, strict=True))
                for column, cell in enumerate(cells):
                    if cell is not None and not isinstance(cell, str):
                        n = cell.n if isinstance(cell, EstimateLike) else cell
                        yield linked.table.name, row, linked.table.columns[column], n, linked.link(place, column)


def counted(name, row, column, lines) -> int:
    """What a figure's n counts, told from the verdicts that its link lists."""
    if name == "standing":
        return len({(one.item, one.criterion, frozenset(shown.contestant for shown in one.shown)) for one in lines})
    if name == "steadiness":
        return len({one.case for one in lines})
    if row.get("figure") == "changed by a swap" or (name == "orders" and column != "first shown wins"):
        return len(lines) // 2
    return len(lines)


def test_every_number_of_a_card_leads_to_its_verdicts(refreshed, ledger):
    assert cards.refresh(refreshed, ledger) == len(making.JUDGES)
    assert cards.refresh(refreshed, ledger) == 0
    checked = set()
    with reading(refreshed) as connection:
        for judge in making.JUDGES:
            card, _ = cards.find(connection, judge)
            titles = {"Agreement", "Standing", "Biases", "Faults and cost", "Orders"}
            assert titles <= {title for title, _ in card.sections}
            for name, row, column, n, link in figures(card):
                assert link is not None, (name, row, column)
                lines = every(connection, link, size=500)
                assert name == "costs" or counted(name, row, column, lines) == n, (name, row, column, link)
                checked.add(name)
    tables = {"faults", "agreement", "scores by task", "pairs by task", "standing", "biases", "orders", "costs"}
    assert tables <= checked


def test_the_verdicts_behind_orders_and_biases_give_their_figures(refreshed, ledger):
    cards.refresh(refreshed, ledger)
    with reading(refreshed) as connection:
        card, _ = cards.find(connection, "first-lover")
        links = {
            (name, row.get("figure"), column): (row[column], every(connection, link, size=500))
            for name, row, column, _, link in figures(card)
            if name in {"orders", "biases"}
        }
    for place in (("orders", None, "first shown wins"), ("biases", "first shown wins", "judge's")):
        share, lines = links[place]
        first = [one.shown[0].mark > one.shown[1].mark for one in lines]
        assert share.value == pytest.approx(sum(first) / len(first)), place
    share, lines = links["biases", "changed by a swap", "judge's"]
    assert share.value == pytest.approx(sum(one.swapped for one in lines) / len(lines))
    share, lines = links["biases", "ties", "judge's"]
    assert share.value == pytest.approx(sum(one.shown[0].mark == one.shown[1].mark for one in lines) / len(lines))


def test_cases_heard_again_and_longer_answers_can_be_looked_at(new_engine, tmp_path):
    """A judge's steadiness leads to all rulings on the cases; what length gains, to the longer answers."""
    item = Item.ask("q", "How many?")
    said = [Response.say("q", "terse", "Four."), Response("q", "long", ("Well, four.",), tags={"lengthens": "terse"})]
    items = [replace(item, id=f"q{number}") for number in range(6)]
    engine = new_engine()
    with Ledger(tmp_path / "l") as opened:
        for number, one in enumerate(items):
            for mark, answer in enumerate(said):
                case = Case(one, (replace(answer, item=one.id),), Score(1, 5))
                rulings = [(float(1 + (number + mark + trial // 2) % 5),) for trial in range(3 if number else 1)]
                ruled = [replace(Verdict.of(case, "j", marks), trial=trial) for trial, marks in enumerate(rulings)]
                opened.add(case, *ruled)
        updater.update(engine, opened)
    with reading(engine) as connection:
        card, _ = cards.find(connection, "j")
        found = {(name, row.get("figure"), column): (n, link) for name, row, column, n, link in figures(card)}
        n, link = found["steadiness", None, "consistency"]
        lines = every(connection, link, size=500)
        assert {one.item for one in lines} == {f"q{number}" for number in range(1, 6)}
        assert (len({one.case for one in lines}), len(lines)) == (n, 30) == (10, 30)
        n, link = found["biases", "gain when lengthened", "judge's"]
        lines = every(connection, link, size=500)
        assert {one.shown[0].contestant for one in lines} == {"long"}
        assert len(lines) == n == 16
