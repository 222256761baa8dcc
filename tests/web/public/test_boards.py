"""Every number of a board leads to as many verdicts as it says."""

from __future__ import annotations

import pytest

from fullbench.core.record import Record
from fullbench.core.results import EstimateLike
from fullbench.reports import charts
from fullbench.stats.ratings import bradley_terry
from fullbench.web.database import reading
from fullbench.web.public import boards, cards, listing
from tests.web.public import making
from tests.web.public.test_catalogue import every


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


def test_every_judge_has_a_card_whose_numbers_lead_to_their_verdicts(refreshed, ledger):
    assert cards.refresh(refreshed, ledger) == len(making.JUDGES)
    assert cards.refresh(refreshed, ledger) == 0
    checked = set()
    with reading(refreshed) as connection:
        for judge in making.JUDGES:
            card, _ = cards.find(connection, judge)
            assert {"Agreement", "Biases", "Faults and cost", "Orders"} <= {title for title, _ in card.sections}
            for _, some in card.sections:
                for linked in some:
                    for row, cells in enumerate(linked.table.rows):
                        for column, cell in enumerate(cells):
                            link = linked.link(row, column)
                            if link is not None:
                                n = cell.n if isinstance(cell, EstimateLike) else cell
                                assert listing.count(connection, link).n == n
                                checked.add(linked.table.name)
    assert {"faults", "agreement", "scores by task", "pairs by task"} <= checked
