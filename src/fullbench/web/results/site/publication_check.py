"""Content of a static copy of the site, and what a lead should check before it is published."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from fullbench.core.item import SENSITIVE
from fullbench.core.item import WITHHELD as UNPUBLISHED
from fullbench.web.campaigns.campaign_tables import adjudications, campaign_items, studies, votes
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.disagreement_flags import is_person
from fullbench.web.site_settings_and_worker_transfer import Settings

_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
PERSON = "human:"
"""Beginning of the names of contestants that are people."""
VALUES_PER_QUERY = 5000
"""Below the limit of parameters of SQLite and PostgreSQL."""


@dataclass(frozen=True)
class WithholdingCampaign:
    """An open campaign and the number of verdicts that are withheld because of it."""

    id: str
    name: str
    verdicts: int


@dataclass(frozen=True)
class PublicationCheck:
    """Counts of a static copy, and counts of what may be private."""

    verdicts: int
    cases: int
    judges: int
    contestants: int
    people: int
    withheld: int
    withheld_by: Sequence[WithholdingCampaign]
    unpublished: int
    """Items with the tag `withheld`."""
    sensitive: int
    """Items with the tag `sensitive`: their pictures are blurred in the copy."""
    named_people: int
    """Contestants that are people by name."""
    reasons: int
    """Votes and leads' decisions of this campaign with a reason, which is published with them from the ledger."""
    addresses: int
    """Reasons that seem to contain an e-mail address."""
    command: str


def campaigns_withholding_results(connection: Connection) -> list[WithholdingCampaign]:
    """Return the open campaigns because of which results are withheld, those with the most verdicts first."""
    v = catalogue_tables.verdicts.c
    by_campaign: dict[tuple[str, str], int] = {}
    open_campaigns = connection.execute(select(studies.c.id, studies.c.name).where(studies.c.state == "open")).all()
    for id_, name in open_campaigns:
        judged = select(campaign_items.c.item).where(campaign_items.c.study == id_)
        count = connection.execute(select(func.count()).where(v.item_id.in_(_judged_items(judged)))).scalar_one()
        if count:
            by_campaign[id_, name] = int(count)
    campaigns = [WithholdingCampaign(id_, name, count) for (id_, name), count in by_campaign.items()]
    return sorted(campaigns, key=lambda campaign: (-campaign.verdicts, campaign.name))


def count_verdicts_to_withhold(connection: Connection, judged: Collection[str]) -> int:
    """Count the verdicts that an open campaign withholds if it judges these items, or cases by their keys."""
    v, names = catalogue_tables.verdicts.c, sorted(judged)
    # Collected first: cases in two queries may be on one item.
    items = sorted({
        int(item)
        for start in range(0, len(names), VALUES_PER_QUERY)
        for item in connection.execute(_judged_items(names[start : start + VALUES_PER_QUERY])).scalars()
    })  # fmt: skip
    return sum(
        connection.execute(
            select(func.count()).where(v.item_id.in_(items[start : start + VALUES_PER_QUERY]))
        ).scalar_one()
        for start in range(0, len(items), VALUES_PER_QUERY)
    )


def _judged_items(judged: Select[tuple[str]] | Sequence[str]) -> Select[Any]:
    i, c = catalogue_tables.items.c, catalogue_tables.cases.c
    return select(i.id).where(or_(i.name.in_(judged), i.id.in_(select(c.item_id).where(c.key.in_(judged)))))


def check_publication(connection: Connection, settings: Settings, campaign_id: str) -> PublicationCheck:
    """Count what a copy would contain now, and the reasons in a campaign's votes.

    Args:
        connection: Connection for reading.
        settings: Settings of the site, for the command.
        campaign_id: The campaign whose votes are looked through.
    """
    n, t, v, c = (
        catalogue_tables.names.c,
        catalogue_tables.tags.c,
        catalogue_tables.verdicts.c,
        catalogue_tables.cases.c,
    )
    items = hidden_cases_and_results.withheld_items(connection, None)
    withheld = hidden_cases_and_results.count_item_verdicts(connection, items)
    total = int(connection.execute(select(func.count()).select_from(catalogue_tables.verdicts)).scalar_one())
    cases_query = select(func.count()).select_from(catalogue_tables.cases)
    if items is not None:
        cases_query = cases_query.where(c.item_id.not_in(items))
    names = connection.execute(select(n.kind, n.name).where(n.kind.in_(("judge", "contestant")))).all()
    judges = [name for kind, name in names if kind == "judge"]
    contestants = [name for kind, name in names if kind == "contestant"]
    raters = select(n.id).where(n.kind == "rater", n.name != "")
    people = connection.execute(select(func.count(v.rater_id.distinct())).where(v.rater_id.in_(raters))).scalar_one()

    def tagged(name: str) -> int:
        return int(connection.execute(select(func.count(t.item_id.distinct())).where(t.name == name)).scalar_one())

    # Decisions of leads are published like votes.
    answers = [
        answer
        for stored in (votes, adjudications)
        for answer in connection.execute(select(stored.c.answer).where(stored.c.study == campaign_id)).scalars()
    ]
    reasons = [str(answer["reason"]) for answer in answers if answer.get("reason")]
    return PublicationCheck(
        verdicts=total - withheld,
        cases=int(connection.execute(cases_query).scalar_one()),
        judges=sum(not is_person(name) for name in judges),
        contestants=len(contestants),
        people=int(people),
        withheld=withheld,
        withheld_by=campaigns_withholding_results(connection),
        unpublished=tagged(UNPUBLISHED),
        sensitive=tagged(SENSITIVE),
        named_people=sum(name.startswith(PERSON) for name in contestants),
        reasons=len(reasons),
        addresses=sum(_ADDRESS.search(reason) is not None for reason in reasons),
        command=export_command(settings),
    )


def export_command(settings: Settings) -> str:
    """Return the command that writes the copy; passwords in addresses are left out, so it may need PGPASSWORD."""
    parts = ["fullbench", "export", "site", "--ledger", settings.ledger or "", "--out", "published"]
    parts += ["--database", re.sub(r"(://[^:/@]+):[^@/]+@", r"\1@", settings.database)]
    if settings.names:
        parts += ["--names", settings.names]
    return shlex.join(parts)
