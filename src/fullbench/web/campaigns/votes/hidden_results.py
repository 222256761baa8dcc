"""What is kept from whom while people judge: the cases of open studies, and results from those who take part."""

from __future__ import annotations

from sqlalchemy import Connection, Engine, Select, insert, select

from fullbench.web.accounts.users import User
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_members import only_assigned
from fullbench.web.campaigns.campaign_tables import campaign_items, members, studies
from fullbench.web.database import engine_for, reading, upgrade, writing


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
    """Whether somebody can work in an open study that does not let its annotators see results, or came for such."""
    if user is None or leads(user) or not user.may("annotator"):
        return False
    own = set(connection.execute(select(members.c.study).where(members.c.person == user.id)).scalars())
    if only_assigned(connection, user.id):
        chosen = connection.execute(select(studies.c.options).where(studies.c.id.in_(own))).scalars()
        return not any(options.get("results") for options in chosen)
    open_studies = connection.execute(select(studies.c.id, studies.c.options).where(studies.c.state == "open"))
    return any(
        not options.get("results") and (not options.get("assigned") or study in own) for study, options in open_studies
    )


def judged_in(database: str) -> frozenset[str]:
    """What is judged in the open studies of a site, by its database."""
    engine = engine_for(database)
    try:
        upgrade(engine)
        with reading(engine) as connection:
            return frozenset(str(case) for case in connection.execute(judged_now()).scalars())
    finally:
        engine.dispose()


def mark(engine: Engine, judged: frozenset[str]) -> None:
    """Note in the database of a copy what people judge elsewhere, so that the copy withholds it as that site does."""
    if not judged:
        return
    with writing(engine) as connection:
        study = campaigns.create(connection, campaigns.Plan("judged elsewhere", "pair"))
        connection.execute(insert(campaign_items), [{"study": study.id, "item": name} for name in sorted(judged)])
