"""Rules that hide cases of open campaigns, and hide results from annotators who take part."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Select, insert, select

from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_members import sees_only_assigned
from fullbench.web.campaigns.campaign_tables import campaign_items, members, studies
from fullbench.web.database import engine_for, read_transaction, upgrade_schema, write_transaction


def open_campaign_items() -> Select[tuple[str]]:
    """Return a query for what open campaigns judge: items, or cases whose verdicts are reviewed."""
    return (
        select(campaign_items.c.item)
        .join(studies, studies.c.id == campaign_items.c.study)
        .where(studies.c.state == "open")
        .distinct()
    )


def is_lead(user: User | None) -> bool:
    """Return True if the user is a lead and may see all campaigns."""
    return user is not None and user.may("organiser")


def takes_part(connection: Connection, user: User | None) -> bool:
    """Return True if results must be hidden from the user.

    This holds for annotators who can work in an open campaign that hides results. An annotator who came for certain
    campaigns sees results only if one of them shows results.
    """
    if user is None or is_lead(user) or not user.may("annotator"):
        return False
    member_campaigns = set(connection.execute(select(members.c.study).where(members.c.person == user.id)).scalars())
    if sees_only_assigned(connection, user.id):
        campaign_options = connection.execute(
            select(studies.c.options).where(studies.c.id.in_(member_campaigns))
        ).scalars()
        return not any(options.get("results") for options in campaign_options)
    open_studies = connection.execute(select(studies.c.id, studies.c.options).where(studies.c.state == "open"))
    return any(
        not options.get("results") and (not options.get("assigned") or campaign_id in member_campaigns)
        for campaign_id, options in open_studies
    )


def load_open_campaign_items(database: str) -> frozenset[str]:
    """Return what the open campaigns of a site judge, from the site's database."""
    engine = engine_for(database)
    try:
        upgrade_schema(engine)
        with read_transaction(engine) as connection:
            return frozenset(str(case) for case in connection.execute(open_campaign_items()).scalars())
    finally:
        engine.dispose()


def mark_judged_elsewhere(engine: Engine, item_names: frozenset[str]) -> None:
    """Record in a copy's database what people judge on the original site, so that the copy hides it too."""
    if not item_names:
        return
    with write_transaction(engine) as connection:
        campaign = campaigns.create_campaign(connection, campaigns.CampaignPlan("judged elsewhere", "pair"))
        connection.execute(
            insert(campaign_items), [{"study": campaign.id, "item": name} for name in sorted(item_names)]
        )
