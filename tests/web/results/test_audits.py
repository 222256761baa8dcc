"""An audited judge on the site: the plain verdict first, and every figure leads to its cases."""

from __future__ import annotations

from fullbench.audit.docket import SIZES, docket
from fullbench.audit.simulated import JUDGES
from fullbench.ledger.store import Ledger
from fullbench.studies.hear import hear
from fullbench.web.database import reading
from fullbench.web.results import cards, catalogue, listing
from tests.web.results.conftest import empty


def test_a_card_of_an_audit_begins_with_its_verdict_and_leads_to_its_cases(tmp_path):
    cases = list(docket(SIZES["quick"], 0))
    judge = JUDGES["blind"]
    engine = empty(f"sqlite:///{tmp_path / 'web.sqlite'}")
    with Ledger(tmp_path / "a.ledger", study="audit-quick-0") as ledger:
        hear([judge], lambda _: cases, ledger)
        ledger.flush()
        catalogue.fill(engine, ledger)
        while not catalogue.settle(engine):
            pass
        cards.refresh(engine, ledger)
    with reading(engine) as connection:
        card, _ = cards.find(connection, "audit-quick-0", judge.name)
        assert card.lead.startswith("There is no sign that it looks at the picture")
        assert [title for title, _ in card.sections][:5] == ["Sees", "Knows", "Steady", "Swayed", "Fooled"]
        by_name = {linked.table.name: linked for _, some in card.sections for linked in some}
        fooled = by_name["fooled"]
        for row, cells in enumerate(fooled.table.rows):
            behind = fooled.link(row, 1)
            attacks = [case for case in cases if case.item.tags["part"] == "attack"]
            wanted = [case for case in attacks if cells[0] in {"all", case.item.tags["what"]}]
            assert listing.count(connection, behind).n == len(wanted) == cells[1]
        look = by_name["look"]
        shown = [row[0] for row in look.table.rows]
        behind = look.link(shown.index("swapped"), 1)
        assert listing.count(connection, behind).n == SIZES["quick"].looks
    engine.dispose()
