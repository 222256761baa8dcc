"""Boards show what `fullbench report` shows, and every number leads to the verdicts behind it."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest
from scipy.optimize import brentq
from scipy.stats import t

from fullbench.analysis import standard_verdict_tables
from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.estimate import Estimate
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.web.database import read_transaction
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.lists import verdict_list
from tests.web.results import making
from tests.web.results.catalogue.test_fill_catalogue import every


@pytest.fixture(scope="session")
def refreshed(filled, ledger):
    assert catalogue_board_and_page_updater.refresh_boards(filled, ledger) > 0
    assert catalogue_board_and_page_updater.refresh_boards(filled, ledger) == 0
    return filled


def all_boards(connection):
    return [board_store.find_board(connection, one.name) for one in board_store.board_headings(connection)]


def test_a_board_shows_what_the_report_shows(refreshed, ledger):
    """The same rank, value, interval and n in every cell, judge by judge, criterion by criterion, family by family."""
    expected = {
        tuple(table.source.get(name, "default") for name in ("study", "judge", "criterion", "family")): table
        for table in standard_verdict_tables.verdict_tables(ledger.columns())
        if table.name.startswith("leaderboard")
    }
    seen = set()
    with read_transaction(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                if not linked.table.name.startswith("leaderboard"):
                    continue
                key = (board.study, board.judge, board.criterion, linked.table.source["family"])
                told = expected[key]
                # The site links every row to its unusable verdicts; the report has the column only if there are any.
                width = len(told.columns)
                assert tuple(linked.table.columns) in {tuple(told.columns), (*told.columns, "unusable")}
                assert linked.table.columns[-1] == "unusable"
                assert [list(row[:width]) for row in linked.table.rows] == [list(row) for row in told.rows]
                assert linked.table.notes == told.notes
                seen.add(key)
    assert seen == set(expected)
    assert {family for *_, family in seen} == {"pair", "score", "ranking"}


def test_the_verdicts_behind_every_number_are_its_own(refreshed):
    """Faults and mean marks count verdicts; a share of matches rests on verdicts that show the contestant."""
    checked = 0
    with read_transaction(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                for row, cells in enumerate(linked.table.rows):
                    for column, cell in enumerate(cells):
                        link = linked.link(row, column)
                        if link is None:
                            continue
                        n = verdict_list.count_verdicts(connection, link).n
                        head = linked.table.columns[column]
                        place = (board.judge, linked.table.name, head, link)
                        if isinstance(cell, int):
                            assert cell == n, place
                        elif isinstance(cell, Estimate) and "mean " in head + linked.table.name:
                            assert cell.n == n, place
                        else:
                            assert n > 0, place
                        checked += 1
    assert checked > 200


def test_the_lines_behind_a_share_won_give_that_share(refreshed):
    with read_transaction(refreshed) as connection:
        board = board_store.find_board(connection, board_store.board_name("default", "steady", "overall"))
        table = board.tables[0].table
        place = table.columns.index("matches won")
        for row, cells in enumerate(table.rows):
            name = cells[1]
            matches = {}
            for line in every(connection, board.tables[0].link(row, place)):
                mine = next(one.mark for one in line.responses if one.contestant == name)
                (other,) = (one for one in line.responses if one.contestant != name)
                won = (mine > other.mark) + (mine == other.mark) / 2
                matches.setdefault((line.item, other.contestant), []).append(won)
            assert cells[place].n == len(matches)
            assert cells[place].value == pytest.approx(fmean(fmean(orders) for orders in matches.values()))


def score_interval(values: list[float], least: float, most: float) -> tuple[float, float]:
    """The interval of docs/explanation/statistics.md for a mean on a scale, by search over all means."""
    n, value = len(values), fmean(values)
    if len(set(values)) == 1:
        # what unseen items could do: a share of 1 - 0.05^(1/n) of them may be as far off as the scale goes
        share = 1 - 0.05 ** (1 / n)
        return value - share * (value - least), value + share * (most - value)
    moves = [value - fmean([*values[:left], *values[left + 1 :]]) for left in range(n)]
    variance = (n - 1) / n * sum(move**2 for move in moves)
    odd = 3 * sum(move**2 for move in moves) ** 2 / sum(move**4 for move in moves) - 1
    reach = t.ppf(0.975, min(n - 1, max(1, odd)))

    def beyond(mean: float) -> float:
        spread = variance * (mean - least) * (most - mean) / ((value - least) * (most - value))
        return (value - mean) ** 2 - reach**2 * spread

    return brentq(beyond, least, value), brentq(beyond, value, most)


def test_each_group_of_items_has_its_share_with_items_kept_together(refreshed, ledger):
    tags = {item.id: item.tags["task"] for item in ledger.items()}
    with read_transaction(refreshed) as connection:
        board = board_store.find_board(connection, board_store.board_name("default", "steady", "overall"))
    (table,) = (one.table for one in board.tables if one.table.name == "mean score:1-5 by task, score")
    marks = {}
    for verdict in ledger.verdicts("steady"):
        if len(verdict.contestants) == 1:
            marks.setdefault((verdict.contestants[0], tags[verdict.item]), []).append(verdict.marks[0])
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        for task in making.TASKS:
            values = marks[cells["contestant"], task]
            assert cells[task].value == pytest.approx(fmean(values))
            assert cells[task].n == len(values)
            assert (cells[task].low, cells[task].high) == pytest.approx(score_interval(values, 1.0, 5.0), rel=1e-5)


@pytest.mark.parametrize("value", ["all", "worst", "contestant", "won"])
def test_a_value_of_a_tag_may_be_called_like_a_column(new_engine, tmp_path, value):
    engine = new_engine()
    with Ledger(tmp_path / "l") as opened:
        for number in range(8):
            item = Item.ask(f"q{number}", "How many?", tags={"kind": value if number % 2 else "other"})
            pair = (Response.say(item.id, "a", "4"), Response.say(item.id, "b", "5"))
            case = Case(item, pair, Choice())
            opened.add(case, Verdict.from_case(case, "j", (1.0, 0.0) if number % 3 else (0.0, 1.0)))
        catalogue_board_and_page_updater.update_catalogue(engine, opened)
    with read_transaction(engine) as connection:
        board = board_store.find_board(connection, board_store.board_name("default", "j", "overall"))
        (linked,) = (one for one in board.tables if one.table.name == "won by kind")
        heads = [f"kind: {value}", "other"] if value < "other" else ["other", f"kind: {value}"]
        heads = [f"kind: {value}", "other"] if value < "other" else ["other", f"kind: {value}"]
        assert linked.table.columns == ("contestant", *heads, "all", "worst")
        place = linked.table.columns.index(f"kind: {value}")
        assert linked.table.rows[0][place].n == 4
        assert {one.item for one in every(connection, linked.link(0, place))} == {"q1", "q3", "q5", "q7"}


def test_every_chart_of_a_board_can_be_drawn(refreshed):
    kinds = set()
    with read_transaction(refreshed) as connection:
        for board in all_boards(connection):
            for linked in board.tables:
                for hint in linked.charts:
                    drawn = chart_specification_and_rendering.build_chart(linked.table, hint)
                    if drawn is not None:
                        kinds.add(hint["kind"])
    assert kinds == {"intervals", "matrix", "scatter", "densities", "curves"}


def test_a_board_survives_its_text(refreshed):
    with read_transaction(refreshed) as connection:
        for board in all_boards(connection):
            again = board_store.board_from_json(board_store.board_to_json(board), board.stamp)
            assert board_store.board_to_json(again) == board_store.board_to_json(board)


def figures(card):
    """Every number of a card: table, row by column, column, how many it says there are, and its link."""
    for _, some in card.sections:
        for linked in some:
            for place, cells in enumerate(linked.table.rows):
                row = dict(zip(linked.table.columns, cells, strict=True))
                for column, cell in enumerate(cells):
                    if cell is not None and not isinstance(cell, str):
                        n = cell.n if isinstance(cell, Estimate) else cell
                        yield linked.table.name, row, linked.table.columns[column], n, linked.link(place, column)


def counted(name, row, column, lines) -> int:
    """What a figure's n counts, told from the verdicts that its link lists."""
    if name == "other judges":
        return len({(one.item, one.criterion, frozenset(shown.contestant for shown in one.responses)) for one in lines})
    if name == "steadiness":
        return len({one.case for one in lines})
    if (name, column) == ("summary", "same verdict in both orders"):
        return len(lines) // 2
    if row.get("metric") == "changed by a swap" or (name == "orders" and column != "first shown wins"):
        return len(lines) // 2
    return len(lines)


UNCOUNTED = {"costs", "reasons", "replacement", "votes"}
"""Tables whose numbers are no counts of verdicts of the judge; corrected figures count pairs."""
UNCOUNTED_COLUMNS = {("biases", "people's"), ("summary", "people agree"), ("summary", "dollars per 1,000")}
"""Columns that count people's votes, or nothing."""


@pytest.mark.parametrize("new_engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_every_number_of_a_card_leads_to_its_verdicts(refreshed, ledger):
    assert judge_cards.refresh_cards(refreshed, ledger) == len(making.JUDGES)
    assert judge_cards.refresh_cards(refreshed, ledger) == 0
    checked = set()
    with read_transaction(refreshed) as connection:
        for judge in making.JUDGES:
            card, _ = judge_cards.find_card(connection, "default", judge)
            titles = {"Agreement", "Other judges", "Biases", "Unusable verdicts and cost", "Orders"}
            assert titles <= {title for title, _ in card.sections}
            for name, row, column, n, link in figures(card):
                assert link is not None, (name, row, column)
                lines = every(connection, link, size=500)
                free = name in UNCOUNTED or name.startswith("corrected") or (name, column) in UNCOUNTED_COLUMNS
                assert free or counted(name, row, column, lines) == n, (name, row, column, link)
                checked.add(name)
    tables = {"unusable", "agreement", "scores by task", "pairs by task", "other judges", "biases", "orders", "costs"}
    assert tables <= checked


def test_the_verdicts_behind_orders_and_biases_give_their_figures(refreshed, ledger):
    judge_cards.refresh_cards(refreshed, ledger)
    with read_transaction(refreshed) as connection:
        card, _ = judge_cards.find_card(connection, "default", "first-lover")
        links = {
            (name, row.get("metric"), column): (row[column], every(connection, link, size=500))
            for name, row, column, _, link in figures(card)
            if name in {"orders", "biases"}
        }
    for place in (("orders", None, "first shown wins"), ("biases", "first shown wins", "judge's")):
        share, lines = links[place]
        first = [one.responses[0].mark > one.responses[1].mark for one in lines]
        assert share.value == pytest.approx(sum(first) / len(first)), place
    share, lines = links["biases", "changed by a swap", "judge's"]
    assert share.value == pytest.approx(sum(one.swapped for one in lines) / len(lines))
    share, lines = links["biases", "ties", "judge's"]
    assert share.value == pytest.approx(
        sum(one.responses[0].mark == one.responses[1].mark for one in lines) / len(lines)
    )


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
                ruled = [
                    replace(Verdict.from_case(case, "j", marks), trial=trial) for trial, marks in enumerate(rulings)
                ]
                opened.add(case, *ruled)
        catalogue_board_and_page_updater.update_catalogue(engine, opened)
    with read_transaction(engine) as connection:
        card, _ = judge_cards.find_card(connection, "default", "j")
        found = {(name, row.get("metric"), column): (n, link) for name, row, column, n, link in figures(card)}
        n, link = found["steadiness", None, "consistency"]
        lines = every(connection, link, size=500)
        assert {one.item for one in lines} == {f"q{number}" for number in range(1, 6)}
        assert (len({one.case for one in lines}), len(lines)) == (n, 30) == (10, 30)
        n, link = found["biases", "gain when lengthened", "judge's"]
        lines = every(connection, link, size=500)
        assert {one.responses[0].contestant for one in lines} == {"long"}
        assert len(lines) == n == 16
