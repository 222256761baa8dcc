"""An audited judge on the site: the plain verdict first, and every number links to its cases."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from html import unescape

import pytest
from typer.testing import CliRunner

from fullbench.audit.cases.build_audit_cases import SIZES, audit_cases
from fullbench.audit.simulated_judges import JUDGES
from fullbench.cli.all_commands import app
from fullbench.ledger.ledger import Ledger
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.web.database import read_transaction
from fullbench.web.results.boards import judge_cards
from fullbench.web.results.boards.board_store import board_name
from fullbench.web.results.catalogue import fill_catalogue
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.site import static_site
from fullbench.web.results.site.page_urls import judge_name
from tests.audit.test_canaries_and_judge_replacement import WORTH, play
from tests.support.wait_until import until
from tests.web.conftest import start_live
from tests.web.results.conftest import empty


def test_a_card_of_an_audit_begins_with_its_verdict_and_leads_to_its_cases(tmp_path):
    cases = list(audit_cases(SIZES["quick"], 0))
    judge = JUDGES["blind"]
    engine = empty(f"sqlite:///{tmp_path / 'web.sqlite'}")
    with Ledger(tmp_path / "a.ledger", study="audit-quick-0") as ledger:
        judge_cases([judge], lambda _: cases, ledger)
        ledger.flush()
        fill_catalogue.fill_from_ledger(engine, ledger)
        while not fill_catalogue.settle_flags(engine):
            pass
        judge_cards.refresh_cards(engine, ledger)
    with read_transaction(engine) as connection:
        card, _ = judge_cards.find_card(connection, "audit-quick-0", judge.name)
        assert card.lead.startswith("There is no sign that it uses the picture")
        assert [title for title, _ in card.sections][:5] == ["Picture use", "Knows", "Steady", "Biases", "Fooled"]
        by_name = {linked.table.name: linked for _, some in card.sections for linked in some}
        fooled = by_name["fooled"]
        for row, cells in enumerate(fooled.table.rows):
            behind = fooled.link(row, 1)
            attacks = [case for case in cases if case.item.tags["part"] == "attack"]
            wanted = [case for case in attacks if cells[0] in {"all", case.item.tags["what"]}]
            assert verdict_list.count_verdicts(connection, behind).n == len(wanted) == cells[1]
        look = by_name["picture variants"]
        shown = [row[0] for row in look.table.rows]
        behind = look.link(shown.index("swapped"), 1)
        assert verdict_list.count_verdicts(connection, behind).n == SIZES["quick"].picture_use_pairs
    engine.dispose()


def test_a_board_of_audited_judges_is_published_with_badges_and_every_figure_leads_to_its_cases(tmp_path):
    """Two judges and a site: the board first, cards side by side, a badge each; links are those of the served page."""
    cases = list(audit_cases(SIZES["quick"], 0))
    two = [JUDGES["blind"], JUDGES["long-words"]]
    with Ledger(tmp_path / "a.ledger", study="audit-quick-0") as ledger:
        judge_cases(two, lambda _: cases, ledger)
        ledger.flush()
        static_site.export_site(ledger, tmp_path / "site", static_site.SiteOptions(cases=30, charts=False))
    page = (tmp_path / "site" / "judges.html").read_text(encoding="utf-8")
    for words in ("Audited judges", "Cards compared", "picture use index", *(judge.name for judge in two)):
        assert words in page
    hrefs = {unescape(href) for href in re.findall(r'href="(verdicts\.html\?[^"]+)"', page)}
    for judge in two:
        behind = Filter(judge=judge.name, tag="part", value="attack")
        assert f"verdicts.html?{behind.address()}" in hrefs
        name = judge_name(judge.name)
        badge = (tmp_path / "site" / "judges" / f"{name}.svg").read_text(encoding="utf-8")
        assert badge.startswith("<svg ")
        card = (tmp_path / "site" / "judges" / f"{name}.html").read_text(encoding="utf-8")
        assert f'src="../judges/{name}.svg"' in card
    assert "blind" in (tmp_path / "site" / "judges" / f"{judge_name(two[0].name)}.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_badges_and_seams_are_served_and_a_seam_appears_while_the_site_runs(tmp_path):
    """A real server: the badge has its own address, and `fullbench audit replace` next to it reaches both boards."""
    cases = [case for case in audit_cases(SIZES["quick"], 0) if case.item.tags["part"] in {"pairs", "picture use"}]
    judge = JUDGES["blind"]
    path = tmp_path / "a.ledger"
    with Ledger(path, study="audit-quick-0") as ledger:
        judge_cases([judge], lambda _: cases, ledger)
    with Ledger(path, study="matches") as ledger:
        play(ledger, "old", 1.0, range(8), set(WORTH) - {"eve"})
        play(ledger, "new", 2.0, range(8), set(WORTH))
    live = start_live(tmp_path, "--ledger", str(path), "--public")
    try:

        def page(place: str) -> tuple[int, str, str]:
            try:
                with urllib.request.urlopen(f"{live.url}{place}", timeout=60) as reply:
                    return reply.status, reply.headers["Content-Type"], reply.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, "", ""

        badge = f"/judges/{judge_name(judge.name)}/badge.svg?study=audit-quick-0"
        until(lambda: page(badge)[0] == 200)
        _, media, svg = page(badge)
        assert media.startswith("image/svg+xml")
        assert svg.startswith("<svg ")
        assert "blind" in svg
        assert page(f"/judges/{judge_name('nobody')}/badge.svg")[0] == 404
        boards = [f"/boards/{board_name('matches', name, 'overall')}" for name in ("old", "new")]
        until(lambda: all(page(place)[0] == 200 for place in boards))
        assert not any("The judge changes here" in page(place)[2] for place in boards)
        done = CliRunner().invoke(app, ["audit", "replace", "old", "new", "--ledger", str(path), "--study", "matches"])
        assert done.exit_code == 0, done.output
        until(lambda: all("The judge changes here: new replaces old" in page(place)[2] for place in boards))
        assert "new on the scale of old" in page(boards[0])[2]
    finally:
        live.process.terminate()
        live.process.wait(timeout=120)
        live.engine.dispose()
