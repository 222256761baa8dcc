"""What is kept from whom while people judge: the cases of open studies, and results from those who take part."""

from __future__ import annotations

from sqlalchemy import Connection, Select, select

from fullbench.web.accounts.users import User
from fullbench.web.people.tables import campaign_items, members, studies


def judged_now() -> Select[tuple[str]]:
    """What open studies are about, by name: items, or cases whose rulings are judged."""
    return (
        select(campaign_items.c.item)
        .join(studies, studies.c.id == campaign_items.c.study)
        .where(studies.c.state == "open")
        .distinct()
    )


def leads(user: User | None) -> bool:
    """Whether somebody leads studies, and so sees all of them."""
    return user is not None and user.may("organiser")


def takes_part(connection: Connection, user: User | None) -> bool:
    """Whether somebody can work in an open study that does not let its annotators see results."""
    if user is None or leads(user) or not user.may("annotator"):
        return False
    own = set(connection.execute(select(members.c.study).where(members.c.person == user.id)).scalars())
    open_studies = connection.execute(select(studies.c.id, studies.c.options).where(studies.c.state == "open"))
    return any(
        not options.get("results") and (not options.get("assigned") or study in own) for study, options in open_studies
    )
