"""A campaign in which people compare two contestants of a ledger, opened by another command than `fullbench people`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fullbench.cli.options import say
from fullbench.cli.people import make_study, opened, organiser, settings_of
from fullbench.errors import InputError


@dataclass(frozen=True)
class Campaign:
    """People's comparison: opened once, and asked for its votes whenever the same command is typed again."""

    name: str
    ledger: str
    votes: int
    criterion: str
    database: str | None
    data: Path

    def _known(self) -> bool:
        from fullbench.web.campaigns import campaigns

        with opened(settings_of(self.database, self.data)) as connection:
            return any(study.name == self.name for study in campaigns.listed(connection, count=10_000))

    def take_votes(self) -> None:
        """Put the votes that there are into the ledger. Where the campaign is not open yet, say so now if it could not
        be opened later, when hours may have been spent."""
        if not self._known():
            with opened(settings_of(self.database, self.data)) as connection:
                if organiser(connection) is None:
                    raise InputError(
                        "pictures are kept in an organiser's name, and nobody has an organiser's account yet: start "
                        "`fullbench serve`, open the link that it prints, then repeat this"
                    )
            return
        from fullbench.cli.people import keep

        keep(self.name, self.ledger, database=self.database, data=self.data)

    def open(self, before: str, after: str) -> None:
        """Open it on every prompt of which both have drawn pictures; nothing where it is open already."""
        if self._known():
            return
        from fullbench.ledger.ledger import Ledger
        from fullbench.web.campaigns.campaigns import Plan
        from fullbench.web.campaigns.create.campaign_from_data import Material

        settings = settings_of(self.database, self.data)
        plan = Plan(self.name, "pair", "", self.criterion, votes=self.votes)
        with Ledger(self.ledger, read_only=True) as book:
            counts = make_study(settings, plan, Material(ledger=book, contestants=(before, after)))
        say(
            f"People compare before and after in {self.name!r}: {counts.work:,} pairs, {self.votes:,} votes each. Type "
            "the same command again for their votes so far."
        )
