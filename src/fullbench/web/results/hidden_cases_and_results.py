"""Hide cases and results from users who must not see them yet.

A case is hidden from everybody except leads while people judge its item in an open campaign. It stays hidden if its
item is part of an unpublished test set (its tag `withheld` is `yes`). Hidden are names, answers and verdicts, in
lists, searches, pages and the API. Annotators see no results at all while they can work in an open campaign that does
not allow it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import HTTPException, Request
from sqlalchemy import Connection, Select, func, or_, select

from fullbench.core import item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import campaign_items, studies
from fullbench.web.campaigns.votes import hidden_open_campaign_cases_and_results
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import catalogue_version
from fullbench.web.results.recent_value_cache import RecentCache
from fullbench.web.route_access_connection_and_csrf_checks import Database, Reader
from fullbench.web.words import key

WITHHELD = key("This case is withheld: people judge it in an open campaign, or its test set is not published.")
NO_RESULTS = key("Results are not shown to you while a campaign that you can work in is open.")


def withheld_items(connection: Connection, user: User | None) -> Select[Any] | None:
    """Select the catalogue items whose cases this user must not see. None if there are none."""
    t = catalogue_tables.tags.c
    unpublished_items = select(t.item_id).where(t.name == item.WITHHELD, t.value == "yes")
    if hidden_open_campaign_cases_and_results.is_lead(user) or not any(
        connection.execute(query.limit(1)).first() is not None
        for query in (hidden_open_campaign_cases_and_results.open_campaign_items(), unpublished_items)
    ):
        return None
    i, c = catalogue_tables.items.c, catalogue_tables.cases.c
    reviewed_items = select(c.item_id).where(c.key.in_(hidden_open_campaign_cases_and_results.open_campaign_items()))
    return select(i.id).where(
        or_(
            i.name.in_(hidden_open_campaign_cases_and_results.open_campaign_items()),
            i.id.in_(reviewed_items),
            i.id.in_(unpublished_items),
        )
    )


def count_item_verdicts(connection: Connection, items: Select[Any] | None) -> int:
    """Count the verdicts on these items. No filter applies, so nobody can use filters to find out what they are."""
    if items is None:
        return 0
    v = catalogue_tables.verdicts.c
    return int(connection.execute(select(func.count()).where(v.item_id.in_(items))).scalar_one())


def open_campaign_stamps(connection: Connection) -> list[str]:
    """Return the open campaigns with their number of items. The list changes when people judge other items."""
    items = (
        select(studies.c.id, func.count())
        .join(campaign_items, campaign_items.c.study == studies.c.id)
        .where(studies.c.state == "open")
        .group_by(studies.c.id)
        .order_by(studies.c.id)
    )
    return [f"{study} {n}" for study, n in connection.execute(items)]


def stamp_with_campaigns(base_stamp: str, campaign_stamps: list[str]) -> str:
    """Add a digest of the open campaigns (`open_campaign_stamps`) to a stamp."""
    return f"{base_stamp}-{digest(campaign_stamps)[:8]}" if campaign_stamps else base_stamp


def is_outdated(computed_stamp: str, campaign_stamps: list[str]) -> bool:
    """Return True if computed before the current campaigns opened: numbers by tag may reveal hidden verdicts."""
    return bool(campaign_stamps) and not computed_stamp.endswith(stamp_with_campaigns("", campaign_stamps))


def hidden_case_keys(connection: Connection, user: User | None, case_keys: Sequence[str]) -> set[str]:
    """Return those of the given cases that this user must not see."""
    items = withheld_items(connection, user)
    if items is None:
        return set()
    c = catalogue_tables.cases.c
    query = select(c.key).where(c.key.in_(list(case_keys)), c.item_id.in_(items))
    return set(connection.execute(query).scalars())


def refuse_hidden_results(request: Request, user: Reader, connection: Database) -> None:
    """Refuse pages of results to people who judge in a blind campaign. A dependency of routes."""
    if hidden_open_campaign_cases_and_results.takes_part(connection, user):
        if request.url.path == "/":
            raise HTTPException(303, headers={"Location": "/work"})
        raise HTTPException(403, NO_RESULTS)
    request.state.withheld = cached_withheld_count(request, connection, withheld_items(connection, user))


def cached_withheld_count(request: Request, connection: Connection, items: Select[Any] | None) -> int:
    """Count the hidden verdicts. The number is cached until the catalogue or the open campaigns change."""
    if items is None:
        return 0
    if not hasattr(request.app.state, "withheld"):
        request.app.state.withheld = RecentCache[int](4)
    count_cache: RecentCache[int] = request.app.state.withheld
    state = (catalogue_version(connection), *open_campaign_stamps(connection))
    return count_cache.get(state, partial(count_item_verdicts, connection, items))
