"""Campaign in which people compare two contestants of a ledger."""

from __future__ import annotations

from dataclasses import dataclass

from fullbench.cli.console import print_message
from fullbench.cli.people import SiteOptions, create_campaign, database_transaction, find_organiser, keep_votes
from fullbench.errors import InputError


@dataclass(frozen=True)
class PairCampaign:
    """A comparison by people: opened once; the same command later collects its votes."""

    name: str
    ledger: str
    votes: int
    criterion: str
    site: SiteOptions

    def _is_open(self) -> bool:
        from fullbench.web.campaigns import campaigns

        with database_transaction(self.site.settings()) as connection:
            return any(campaign.name == self.name for campaign in campaigns.list_campaigns(connection, count=10_000))

    def take_votes(self) -> None:
        """Copy the votes so far to the ledger, or refuse now what would keep the campaign from opening later."""
        if not self._is_open():
            with database_transaction(self.site.settings()) as connection:
                if find_organiser(connection) is None:
                    raise InputError(
                        "pictures are kept in an organiser's name, and nobody has an organiser's account yet: start "
                        "`fullbench serve`, open the link that it prints, then repeat this"
                    )
            return
        keep_votes(self.site, self.name, self.ledger)

    def open(self, before: str, after: str) -> None:
        """Open it, if it is not open yet, on every prompt of which both have pictures."""
        if self._is_open():
            return
        from fullbench.ledger.ledger import Ledger
        from fullbench.web.campaigns.campaigns import CampaignPlan
        from fullbench.web.campaigns.create.campaign_from_data import Material

        settings = self.site.settings()
        plan = CampaignPlan(self.name, "pair", "", self.criterion, votes=self.votes)
        with Ledger(self.ledger, read_only=True) as book:
            counts = create_campaign(settings, plan, Material(ledger=book, contestants=(before, after)))
        print_message(
            f"People compare before and after in {self.name!r}: {counts.work:,} pairs, {self.votes:,} votes each. Type "
            "the same command again for their votes so far."
        )
