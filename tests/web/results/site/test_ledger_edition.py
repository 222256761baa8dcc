"""The edition that pages name: the digest of the ledger as it is, never one that no longer holds, and taken seldom."""

from __future__ import annotations

import time
from calendar import timegm

from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import engine_for, read_transaction, upgrade_schema
from fullbench.web.results.catalogue import catalogue_board_and_page_updater
from fullbench.web.results.site import ledger_edition
from tests.web.results import making


def test_the_digest_is_said_while_it_holds_and_the_day_is_the_studys_own(tmp_path, monkeypatch):
    path = making.fill(tmp_path / "small.ledger", count=1)
    item = Item.ask("later", "And later?")
    case = Case(item, tuple(making.answers(item)[:2]), Choice())
    with Ledger(path, study="later") as ledger:
        ledger.add(case, Verdict.from_case(case, "steady", (1.0, 0.0), at=timegm((2026, 5, 4, 12, 0, 0))))
    engine = engine_for(f"sqlite:///{tmp_path / 'web.sqlite'}")
    upgrade_schema(engine)
    with Ledger(path) as ledger:
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        assert current(engine) == ledger_edition.Edition(), "verdicts have just come"
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        assert current(engine) == ledger_edition.Edition(ledger.digest(), "1970-01-01")
        assert current(engine, "later").date == "2026-05-04"

        taken: list[int] = []
        digest = Ledger.digest
        monkeypatch.setattr(Ledger, "digest", lambda self: taken.append(1) or digest(self))
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        assert taken == [], "nothing changed"
        for other, ruled in making.verdicts(4, 2):
            ledger.add(other, *ruled)
    with Ledger(path, read_only=True) as ledger:
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        assert current(engine).digest == "", "more came than was in the digest"
        monkeypatch.setattr(ledger_edition, "time", Clock(time.time() + 3600))
        catalogue_board_and_page_updater.update_catalogue(engine, ledger)
        assert taken == [1]
        assert current(engine).digest == digest(ledger)
    engine.dispose()


class Clock:
    """The module `time` at a later hour."""

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    def __getattr__(self, name: str):
        return getattr(time, name)


def current(engine, study: str = "default") -> ledger_edition.Edition:
    with read_transaction(engine) as connection:
        return ledger_edition.edition_of(connection, study)
