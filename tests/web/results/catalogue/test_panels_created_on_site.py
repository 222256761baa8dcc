"""Panels rule by their rule, and their numbers lead to their rulings like anybody's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from fullbench.core.estimate import Estimate
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.boards import board_store
from fullbench.web.results.catalogue import catalogue_board_and_page_updater, fill_catalogue, panels_created_on_site
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from tests.web.results import making
from tests.web.results.catalogue.test_fill_catalogue import every


def up_to_date(engine, ledger) -> None:
    fill_catalogue.fill_from_ledger(engine, ledger)
    panels_created_on_site.update_panel_verdicts(engine, ledger)
    while not fill_catalogue.settle_flags(engine):
        pass


def test_a_panel_rules_as_most_of_its_judges_do_and_changes_with_them(new_engine, tmp_path):
    engine = new_engine()
    made = [(case, ruled) for case, ruled in making.verdicts(count=3) if len(case.responses) == 2]
    with Ledger(tmp_path / "l") as ledger:
        for case, ruled in made:
            ledger.add(
                case, *[one for one in ruled if not {one.judge, one.rater} & {making.JUDGES[2], making.PEOPLE[2]}]
            )
        fill_catalogue.fill_from_ledger(engine, ledger)
        with write_transaction(engine) as connection:
            panels_created_on_site.add_panel(connection, "jury", "majority", [*making.JUDGES[:2], "human"])
        up_to_date(engine, ledger)
        assert panels_created_on_site.update_panel_verdicts(engine, ledger) == 0
        check(engine, made, (*making.JUDGES[:2], *making.PEOPLE[:2]))
        for _, ruled in made:
            ledger.add(*[one for one in ruled if one.rater == making.PEOPLE[2]])
        up_to_date(engine, ledger)
        check(engine, made, (*making.JUDGES[:2], *making.PEOPLE))
        catalogue_board_and_page_updater.refresh_boards(engine, ledger)
    with read_transaction(engine) as connection:
        board = board_store.find_board(
            connection, board_store.board_name("default", "panel:jury (majority)", "overall")
        )
        table = board.tables[0]
        for row, cells in enumerate(table.table.rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, Estimate):
                    assert (
                        verdict_list.count_verdicts(connection, table.link(row, column)).n == 2 * cell.n
                    )  # both orders, one match


def check(engine, made, people) -> None:
    """Every ruling of the panel is what most of its voices say, each person one, told from the verdicts themselves."""
    expected = {}
    for case, ruled in made:
        counts = Counter(one.marks for one in ruled if (one.rater or one.judge) in people).most_common()
        best = [marks for marks, n in counts if n == counts[0][1]]
        expected[case.key] = tuple(sum(column) / len(best) for column in zip(*best, strict=True))
    with read_transaction(engine) as connection:
        lines = every(connection, Filter(judge="panel:jury (majority)"))
    assert {one.case: tuple(shown.mark for shown in one.responses) for one in lines} == expected


def test_an_organisers_panel_by_the_mean(new_engine, ledger):
    filled = new_engine()
    fill_catalogue.fill_from_ledger(filled, ledger)
    with write_transaction(filled) as connection:
        panels_created_on_site.add_panel(connection, "两位", "mean", ["steady", "first-lover"])
        for wrong in (("两位", "mean", ["steady", "first-lover"]), ("x", "odd", ["steady", "first-lover"]),
                      ("x", "mean", ["steady"]), ("x", "mean", ["steady", "nobody"]), ("", "mean", [])):  # fmt: skip
            with pytest.raises(InputError):
                panels_created_on_site.add_panel(connection, *wrong)
    up_to_date(filled, ledger)
    both = {}
    for verdict in ledger.verdicts(["steady", "first-lover"]):
        both.setdefault(verdict.case, []).append(verdict.marks)
    with read_transaction(filled) as connection:
        lines = every(connection, Filter(judge="panel:两位 (mean)"))
    found = {one.case: [shown.mark for shown in one.responses] for one in lines}
    assert found == {case: [sum(pair) / 2 for pair in zip(*marks, strict=True)] for case, marks in both.items()}


def test_a_closed_panel_keeps_its_rulings_and_takes_no_more(new_engine, tmp_path):
    """Also when the catalogue is thrown away: a refill counts what came before, not what came after."""
    engine = new_engine()
    made = [(case, ruled) for case, ruled in making.verdicts(count=4) if len(case.responses) == 2]
    name = "panel:三位 (majority)"
    with Ledger(tmp_path / "l") as ledger:
        for case, ruled in made[:20]:
            ledger.add(case, *[one for one in ruled if one.judge != "steady"])
        fill_catalogue.fill_from_ledger(engine, ledger)
        with write_transaction(engine) as connection:
            panels_created_on_site.add_panel(connection, "三位", "majority", ["first-lover", "human"])
        up_to_date(engine, ledger)
        before = told(engine, name)
        assert len(before) == 20
        with write_transaction(engine) as connection:
            with pytest.raises(InputError, match="has verdicts"):
                panels_created_on_site.remove_panel(connection, "三位")
            panels_created_on_site.close_panel(connection, "三位")
            with pytest.raises(InputError, match="closed already"):
                panels_created_on_site.close_panel(connection, "三位")
            with pytest.raises(InputError, match="no such panel"):
                panels_created_on_site.close_panel(connection, "nobody")
        for case, ruled in made[20:]:
            ledger.add(case, *ruled)
        for _, ruled in made[:20]:
            again = [replace(one, trial=1) for one in ruled if one.judge == "first-lover"]
            ledger.add(*again)
        for _ in range(2):
            up_to_date(engine, ledger)
            assert told(engine, name) == before
            fill_catalogue.empty_catalogue(engine)


def told(engine, judge) -> dict:
    with read_transaction(engine) as connection:
        lines = every(connection, Filter(judge=judge))
    return {(one.case, one.trial): tuple(shown.mark for shown in one.responses) for one in lines}


def test_a_panel_that_has_not_ruled_can_be_deleted(new_engine, ledger):
    engine = new_engine()
    fill_catalogue.fill_from_ledger(engine, ledger)
    with write_transaction(engine) as connection:
        panels_created_on_site.add_panel(connection, "两位", "mean", ["steady", "first-lover"])
        panels_created_on_site.remove_panel(connection, "两位")
        panels_created_on_site.add_panel(connection, "两位", "majority", ["steady", "first-lover"])
    up_to_date(engine, ledger)
    assert told(engine, "panel:两位 (mean)") == {}
    assert len(told(engine, "panel:两位 (majority)")) > 20
