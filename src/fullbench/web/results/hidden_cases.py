"""Who may see what was ruled in a case.

While people judge an item in an open study, and for ever where it belongs to a test set that is withheld (the tag
`withheld` is `yes`), its cases are kept from everybody who does not lead studies: names, answers and rulings alike, in
lists, searches, pages and the API. Annotators see no results at all while a study is open to them
that does not allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import HTTPException, Request
from sqlalchemy import Connection, Select, func, or_, select

from fullbench.core import item
from fullbench.core.digests import digest
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import campaign_items, studies
from fullbench.web.campaigns.votes import hidden_results
from fullbench.web.page_access import Database, Reader
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.row_helpers import version
from fullbench.web.results.pages.page_cache import Recent
from fullbench.web.words import key

WITHHELD = key("This case is withheld: people judge it in an open study, or its test set is not published.")
NO_RESULTS = key("Results are not shown to you while a study that you can work in is open.")


def withheld(connection: Connection, user: User | None) -> Select[Any] | None:
    """The catalogue's items whose cases this user must not see; None where there are none."""
    t = catalogue_tables.tags.c
    unpublished = select(t.item_id).where(t.name == item.WITHHELD, t.value == "yes")
    if hidden_results.leads(user) or not any(
        connection.execute(query.limit(1)).first() is not None for query in (hidden_results.judged_now(), unpublished)
    ):
        return None
    i, c = catalogue_tables.items.c, catalogue_tables.cases.c
    reviewed = select(c.item_id).where(c.key.in_(hidden_results.judged_now()))
    return select(i.id).where(or_(i.name.in_(hidden_results.judged_now()), i.id.in_(reviewed), i.id.in_(unpublished)))


def count(connection: Connection, items: Select[Any] | None) -> int:
    """How many verdicts are on these items. No filter changes it, so that nobody finds out by filters what they are."""
    if items is None:
        return 0
    v = catalogue_tables.verdicts.c
    return int(connection.execute(select(func.count()).where(v.item_id.in_(items))).scalar_one())


def stamp(connection: Connection) -> list[str]:
    """What tells one state of what people judge from another: open studies with how many items each is about."""
    items = (
        select(studies.c.id, func.count())
        .join(campaign_items, campaign_items.c.study == studies.c.id)
        .where(studies.c.state == "open")
        .group_by(studies.c.id)
        .order_by(studies.c.id)
    )
    return [f"{study} {n}" for study, n in connection.execute(items)]


def sealed(stamp_of: str, judged: list[str]) -> str:
    """The stamp of what was computed while people judged this (`stamp`)."""
    return f"{stamp_of}-{digest(judged)[:8]}" if judged else stamp_of


def outdated(stamp_of: str, judged: list[str]) -> bool:
    """Whether something was computed before people began to judge what they judge now: its figures by tag may tell
    rulings that are withheld."""
    return bool(judged) and not stamp_of.endswith(sealed("", judged))


def hidden(connection: Connection, user: User | None, case_keys: Sequence[str]) -> set[str]:
    """Of some cases, those that this user must not see."""
    items = withheld(connection, user)
    if items is None:
        return set()
    c = catalogue_tables.cases.c
    query = select(c.key).where(c.key.in_(list(case_keys)), c.item_id.in_(items))
    return set(connection.execute(query).scalars())


def may_see(connection: Connection, user: User | None, case_key: str) -> bool:
    """Whether this user may see a case."""
    return case_key not in hidden(connection, user, [case_key])


def shows_results(request: Request, user: Reader, connection: Database) -> None:
    """A dependency of pages with results: they are not for people who judge in a study that keeps them blind."""
    if hidden_results.takes_part(connection, user):
        if request.url.path == "/":
            raise HTTPException(303, headers={"Location": "/work"})
        raise HTTPException(403, NO_RESULTS)
    request.state.withheld = counted(request, connection, withheld(connection, user))


def counted(request: Request, connection: Connection, items: Select[Any] | None) -> int:
    """How many verdicts are withheld; remembered until the catalogue or what people judge changes."""
    if items is None:
        return 0
    if not hasattr(request.app.state, "withheld"):
        request.app.state.withheld = Recent[int](4)
    remembered: Recent[int] = request.app.state.withheld
    state = (version(connection), *stamp(connection))
    return remembered.get(state, partial(count, connection, items))
