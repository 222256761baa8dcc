"""Group links: one link with which many people join one campaign and get a completion code.

Each person gives the id that another site (such as a crowdsourcing platform) knows them by. They return to the same
work by a secret that their browser keeps, or that is in a personal link. The id alone is not enough, since others may
know it; a lead may allow it for a campaign.
"""

from __future__ import annotations

import hmac
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, func, select

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.row_writers import Columns
from fullbench.web.accounts import sessions, users
from fullbench.web.accounts.account_and_shared_site_tables import users as accounts
from fullbench.web.accounts.random_ids_digests_and_site_key import new_id, new_secret, secret_digest
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import arrivals, members, ways_back
from fullbench.web.campaigns.campaigns import Campaign, set_options
from fullbench.web.database import acquire_lock, dialect_insert
from fullbench.web.site_settings_and_worker_transfer import DAY
from fullbench.web.words import key

OPTION = "group"
COOKIE = "fullbench_back_"
"""Prefix of the cookie with the secret by which a browser lets a person continue; the account id follows."""
ID_NAMES = ("PROLIFIC_PID", "workerId", "participant", "id")
"""Names under which sites put a person's id into a link; the first that is there counts."""
# Ids of crowd sites have 24 to 36 characters; the id is stored and shown, so it stays short.
LONGEST_ID = 100
COLUMNS: Columns = {
    "external_id": "text", "rater": "text", "status": "text", "done": "int", "complete": "json", "at": "float",
}  # fmt: skip
# Each place can become an account: a typing error must not open the site to everybody.
MOST_PLACES = 10_000
# A link that nobody remembers must end by itself.
MOST_DAYS = 365
LINK_ENDED_MESSAGE = key("This link has ended, or all places are taken.")
OTHER_BROWSER_MESSAGE = key(
    "This id is in use in another browser. Continue there, or use your own link to come back. If neither works, write "
    "to the person who invited you."
)


@dataclass(frozen=True)
class GroupLink:
    """Group link as stored in the campaign's options; the secret is stored as a digest."""

    digest: str
    until: float
    max_people: int
    code: str
    any_browser: bool = False
    """Whether the id alone lets a person continue the work begun with it."""

    @classmethod
    def from_campaign(cls, campaign: Campaign) -> GroupLink | None:
        """Return the campaign's link, or None."""
        link_fields = campaign.rules.options.get(OPTION)
        return cls(**link_fields) if link_fields else None

    @property
    def is_open(self) -> bool:
        return self.until > time.time()

    @property
    def leads_back(self) -> bool:
        """True if the code is an address to which people return."""
        return self.code.startswith("https://")


def create_group_link(
    connection: Connection,
    campaign: Campaign,
    *,
    max_people: int,
    days: int,
    each: int,
    code: str,
    any_browser: bool = False,
) -> str:
    """Create a link, end an earlier one, and return the secret, which is shown once.

    The campaign is then restricted to assigned people, and everyone who comes by the link is assigned.

    Args:
        connection: Connection with a transaction.
        campaign: The campaign.
        max_people: Number of people who may come by the link.
        days: Days after which it ends.
        each: Tasks for each person; 0 for no limit.
        code: Completion code, or an `https://` address, that a person gets at the end.
        any_browser: Whether the id alone lets a person continue in another browser.
    """
    if not 1 <= max_people <= MOST_PLACES:
        raise InputError(key("A link is for 1 to 10,000 people."))
    if not 1 <= days <= MOST_DAYS:
        raise InputError(key("A link works for 1 to 365 days."))
    if not 0 <= each <= 1_000_000:
        raise InputError(key("Tasks per person, a whole number; leave it empty for all."))
    if len(code) > 300 or ("://" in code and not _is_address(code)):
        raise InputError(key("The completion code is a word, or an address that begins with https://."))
    secret = new_secret()
    link = {
        "digest": secret_digest(secret), "until": time.time() + days * DAY, "max_people": max_people, "code": code,
        "any_browser": any_browser,
    }  # fmt: skip
    set_options(connection, campaign, {OPTION: link, "each": each, "assigned": True})
    return secret


def link_path(campaign: Campaign, secret: str) -> str:
    """Return the path of the link on the site."""
    return f"/take/{campaign.id}/{secret}"


def _is_address(code: str) -> bool:
    return code.isprintable() and " " not in code and urlsplit(code).scheme == "https" and bool(urlsplit(code).netloc)


def end_group_link(connection: Connection, campaign: Campaign) -> None:
    """Stop admitting new people; those already admitted can continue."""
    link = campaign.rules.options.get(OPTION)
    if link:
        set_options(connection, campaign, {OPTION: {**link, "until": time.time()}})


def count_arrivals(connection: Connection, campaign: Campaign) -> int:
    """Return the number of people who came by the campaign's links."""
    query = select(func.count()).where(arrivals.c.study == campaign.id, arrivals.c.external_id.is_not(None))
    return int(connection.execute(query).scalar_one())


def find_open_link(campaign: Campaign | None, secret: str) -> GroupLink | None:
    """Return the link of a secret, or None if the secret is wrong or the campaign is not open."""
    link = None if campaign is None else GroupLink.from_campaign(campaign)
    if campaign is None or link is None or not hmac.compare_digest(link.digest, secret_digest(secret)):
        return None
    return link if campaign.is_open else None


def admit_person(
    connection: Connection, campaign: Campaign, link: GroupLink, external_id: str, *, is_theirs: Callable[[str], bool]
) -> User:
    """Return the person's account in this campaign, or create one that is assigned to it.

    An id that was used before is accepted in three cases: `is_theirs` confirms the person, the link allows any browser,
    or no browser is recorded for the id.
    """
    external_id = clean_id(external_id)
    acquire_lock(connection, f"arrivals {campaign.id}")
    person = _find_person(connection, campaign, external_id)
    if person is not None:
        user = users.find_user(connection, person)
        if user is None or user.disabled:
            raise InputError(LINK_ENDED_MESSAGE)
        if not link.any_browser and _return_digest(connection, person) and not is_theirs(person):
            raise InputError(OTHER_BROWSER_MESSAGE)
        return user
    if not link.is_open or count_arrivals(connection, campaign) >= link.max_people:
        raise InputError(LINK_ENDED_MESSAGE)
    name = external_id[: users.LONGEST_NAME]
    same_name_query = select(accounts.c.id).where(accounts.c.name_key == users.fold_name(name))
    if connection.execute(same_name_query).first() is not None:
        name = f"{name[: users.LONGEST_NAME - 9]} {new_id()[:8]}"
    # Nobody knows this password: the account is used only by the link and the id, for this campaign.
    user = users.create_user(connection, name, "annotator", new_secret())
    row = {"study": campaign.id, "person": user.id, "at": time.time()}
    connection.execute(dialect_insert(connection, arrivals).values(**row, external_id=external_id))
    standing = "new" if campaign.qualifies else "qualified"
    connection.execute(dialect_insert(connection, members).values(**row, standing=standing, done=0))
    return user


def _find_person(connection: Connection, campaign: Campaign, external_id: str) -> str | None:
    query = select(arrivals.c.person).where(arrivals.c.study == campaign.id, arrivals.c.external_id == external_id)
    person: str | None = connection.execute(query).scalar()
    return person


def _return_digest(connection: Connection, person: str) -> str | None:
    stored_digest: str | None = connection.execute(
        select(ways_back.c.digest).where(ways_back.c.person == person)
    ).scalar()
    return stored_digest


def is_return_secret(connection: Connection, person: str, secret: str) -> bool:
    """Return True if the secret lets this person return."""
    stored_digest = _return_digest(connection, person)
    return stored_digest is not None and hmac.compare_digest(stored_digest, secret_digest(secret))


def create_return_secret(connection: Connection, person: str) -> str | None:
    """Create the secret with which a person returns, or return None if there is one."""
    if _return_digest(connection, person) is not None:
        return None
    secret = new_secret()
    row = {"person": person, "digest": secret_digest(secret), "at": time.time()}
    connection.execute(dialect_insert(connection, ways_back).values(row))
    return secret


def find_returning_user(connection: Connection, secret: str) -> tuple[str, User] | None:
    """Return the campaign id and the account of a personal link, or None."""
    query = select(arrivals.c.study, arrivals.c.person).join(ways_back, ways_back.c.person == arrivals.c.person)
    row = connection.execute(query.where(ways_back.c.digest == secret_digest(secret))).first()
    user = None if row is None else users.find_user(connection, row.person)
    return None if row is None or user is None or user.disabled else (row.study, user)


def release_id(connection: Connection, campaign: Campaign, external_id: str) -> None:
    """Let the next person who comes with this id continue its work, and end its current sessions."""
    external_id = clean_id(external_id)
    person = _find_person(connection, campaign, external_id)
    if person is None:
        raise InputError(Note("web.wrong.nobody-came-with-id", id=external_id))
    connection.execute(delete(ways_back).where(ways_back.c.person == person))
    sessions.end_all_sessions(connection, person)


def clean_id(text: str) -> str:
    """Normalize an id; raise `InputError` if it is empty, too long or has invisible characters."""
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    if not 1 <= len(text) <= LONGEST_ID or not text.isprintable():
        raise InputError(key("An id has 1 to 100 visible characters."))
    return text


def earned_completion_link(connection: Connection, campaign: Campaign, person: str) -> GroupLink | None:
    """Return the link whose code the person earned by doing at least one task, or None."""
    link = GroupLink.from_campaign(campaign)
    if link is None or not link.code:
        return None
    came = select(members.c.done).join(
        arrivals, (arrivals.c.study == members.c.study) & (arrivals.c.person == members.c.person)
    )
    query = came.where(
        members.c.study == campaign.id, members.c.person == person, arrivals.c.external_id.is_not(None),
        members.c.standing == "qualified",
    )  # fmt: skip
    return link if connection.execute(query).scalar() else None


def arrival_rows(connection: Connection, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Return one row per person who came by a link, with the external id and the tasks done, for payment."""
    query = (
        select(arrivals.c.external_id, accounts.c.rater, members.c.standing, members.c.done, arrivals.c.at)
        .join(accounts, accounts.c.id == arrivals.c.person)
        .join(members, (members.c.study == arrivals.c.study) & (members.c.person == arrivals.c.person))
        .where(arrivals.c.study == campaign.id, arrivals.c.external_id.is_not(None))
        .order_by(arrivals.c.at, arrivals.c.external_id)
    )
    each = int(campaign.rules.options.get("each") or 0)
    for row in connection.execute(query):
        yield {
            "external_id": row.external_id, "rater": row.rater, "status": row.standing, "done": row.done,
            "complete": bool(each) and row.done >= each, "at": row.at,
        }  # fmt: skip
