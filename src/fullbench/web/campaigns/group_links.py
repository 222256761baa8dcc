"""One link for many people: whoever opens it gives the id that another site knows them by, works in one study, and is
shown a completion code at the end.

The same person comes back to the same work: by a secret that their browser keeps, or that is in a link of their own.
The id alone does not open it, since others may know it; a lead may allow that for a study.
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

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.files.writers import Columns
from fullbench.web.accounts import sessions, users
from fullbench.web.accounts.account_tables import users as accounts
from fullbench.web.accounts.random_ids_and_digests import digest, new_id, new_secret
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import arrivals, members, ways_back
from fullbench.web.campaigns.campaigns import Study, set_options
from fullbench.web.database import alone, insert_here
from fullbench.web.site_settings import DAY
from fullbench.web.words import key

OPTION = "group"
COOKIE = "fullbench_back_"
"""With the id of an account: the secret by which a browser lets that person back to their work."""
ID_NAMES = ("PROLIFIC_PID", "workerId", "participant", "id")
"""The names under which sites put a person's id into a link; the first that is there counts."""
LONGEST_ID = 100
COLUMNS: Columns = {
    "external_id": "text", "rater": "text", "standing": "text", "done": "int", "complete": "json", "at": "float",
}  # fmt: skip
"""Who came, as a file says it."""
MOST_PLACES = 10_000
MOST_DAYS = 365
ENDED = key("This link has ended, or all places are taken.")
ELSEWHERE = key(
    "Somebody has begun with this id in another browser: go on there, or by your own link to come back. If that is not "
    "possible, write to whoever sent you here."
)


@dataclass(frozen=True)
class GroupLink:
    """A link as its study keeps it; of the secret there is a digest alone."""

    digest: str
    until: float
    places: int
    code: str
    any_browser: bool = False
    """Whether the id alone lets somebody go on with the work that was begun with it."""

    @classmethod
    def of(cls, study: Study) -> GroupLink | None:
        """The link of a study, if it has one."""
        stored = study.rules.options.get(OPTION)
        return cls(**stored) if stored else None

    @property
    def is_open(self) -> bool:
        return self.until > time.time()

    @property
    def leads_back(self) -> bool:
        """Whether the code is an address to which people return."""
        return self.code.startswith("https://")


def make(
    connection: Connection, study: Study, *, places: int, days: int, each: int, code: str, any_browser: bool = False
) -> str:
    """A new link in place of an earlier one, which ends; its secret is shown once.

    The study is from then on for assigned people alone, and whoever comes by the link is assigned.
    """
    if not 1 <= places <= MOST_PLACES:
        raise InputError(key("A link has 1 to 10,000 places."))
    if not 1 <= days <= MOST_DAYS:
        raise InputError(key("A link works for 1 to 365 days."))
    if not 0 <= each <= 1_000_000:
        raise InputError(key("Each person is asked for a whole number of tasks; leave it empty for all."))
    if len(code) > 300 or ("://" in code and not _is_address(code)):
        raise InputError(key("The completion code is a word, or an address that begins with https://."))
    secret = new_secret()
    link = {
        "digest": digest(secret), "until": time.time() + days * DAY, "places": places, "code": code,
        "any_browser": any_browser,
    }  # fmt: skip
    set_options(connection, study, {OPTION: link, "each": each, "assigned": True})
    return secret


def path(study: Study, secret: str) -> str:
    """Where the link leads on the site."""
    return f"/take/{study.id}/{secret}"


def _is_address(code: str) -> bool:
    return code.isprintable() and " " not in code and urlsplit(code).scheme == "https" and bool(urlsplit(code).netloc)


def end(connection: Connection, study: Study) -> None:
    """Nobody new comes by the link; who is there works on."""
    link = study.rules.options.get(OPTION)
    if link:
        set_options(connection, study, {OPTION: {**link, "until": time.time()}})


def taken(connection: Connection, study: Study) -> int:
    """How many came by the study's links."""
    query = select(func.count()).where(arrivals.c.study == study.id, arrivals.c.external_id.is_not(None))
    return int(connection.execute(query).scalar_one())


def opened_by(study: Study | None, secret: str) -> GroupLink | None:
    """The link that a secret opens; None where it is another one's, or has ended with its study."""
    link = None if study is None else GroupLink.of(study)
    if study is None or link is None or not hmac.compare_digest(link.digest, digest(secret)):
        return None
    return link if study.is_open else None


def arrive(
    connection: Connection, study: Study, link: GroupLink, external_id: str, *, is_theirs: Callable[[str], bool]
) -> User:
    """The account of somebody with this id: the one they had in this study, else a new one that is assigned to it.

    Whoever gives an id that somebody began with goes on only where `is_theirs` says so of that person, where the link
    lets every browser in, or where nothing is known of the browser that it was begun in.
    """
    external_id = clean_id(external_id)
    alone(connection, f"arrivals {study.id}")
    person = _person(connection, study, external_id)
    if person is not None:
        user = users.get(connection, person)
        if user is None or user.disabled:
            raise InputError(ENDED)
        if not link.any_browser and _digest_of(connection, person) and not is_theirs(person):
            raise InputError(ELSEWHERE)
        return user
    if not link.is_open or taken(connection, study) >= link.places:
        raise InputError(ENDED)
    name = external_id[: users.LONGEST_NAME]
    known = select(accounts.c.id).where(accounts.c.name_key == users.folded(name))
    if connection.execute(known).first() is not None:
        name = f"{name[: users.LONGEST_NAME - 9]} {new_id()[:8]}"
    # Nobody knows this password: the link and the id are what opens the account, for this study alone.
    user = users.add(connection, name, "annotator", new_secret())
    row = {"study": study.id, "person": user.id, "at": time.time()}
    connection.execute(insert_here(connection, arrivals).values(**row, external_id=external_id))
    standing = "new" if study.qualifies else "qualified"
    connection.execute(insert_here(connection, members).values(**row, standing=standing, done=0))
    return user


def _person(connection: Connection, study: Study, external_id: str) -> str | None:
    query = select(arrivals.c.person).where(arrivals.c.study == study.id, arrivals.c.external_id == external_id)
    person: str | None = connection.execute(query).scalar()
    return person


def _digest_of(connection: Connection, person: str) -> str | None:
    known: str | None = connection.execute(select(ways_back.c.digest).where(ways_back.c.person == person)).scalar()
    return known


def opens(connection: Connection, person: str, secret: str) -> bool:
    """Whether a secret is this person's way back."""
    known = _digest_of(connection, person)
    return known is not None and hmac.compare_digest(known, digest(secret))


def way_back(connection: Connection, person: str) -> str | None:
    """The secret of somebody whose browser was not known yet; None where it was."""
    if _digest_of(connection, person) is not None:
        return None
    secret = new_secret()
    row = {"person": person, "digest": digest(secret), "at": time.time()}
    connection.execute(insert_here(connection, ways_back).values(row))
    return secret


def returning(connection: Connection, secret: str) -> tuple[str, User] | None:
    """The study and the account that somebody's own link leads back to."""
    query = select(arrivals.c.study, arrivals.c.person).join(ways_back, ways_back.c.person == arrivals.c.person)
    row = connection.execute(query.where(ways_back.c.digest == digest(secret))).first()
    user = None if row is None else users.get(connection, row.person)
    return None if row is None or user is None or user.disabled else (row.study, user)


def release(connection: Connection, study: Study, external_id: str) -> None:
    """Let whoever comes next with an id go on with its work, and nobody else who is there with it."""
    external_id = clean_id(external_id)
    person = _person(connection, study, external_id)
    if person is None:
        raise InputError(
            Note("web.wrong.nobody-came-with-id", "nobody came to this study with the id {id!r}", id=external_id)
        )
    connection.execute(delete(ways_back).where(ways_back.c.person == person))
    sessions.end_all(connection, person)


def clean_id(text: str) -> str:
    """An id as it is kept; refused where it is empty, too long or cannot be seen."""
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    if not 1 <= len(text) <= LONGEST_ID or not text.isprintable():
        raise InputError(key("Your id has 1 to 100 characters that can be seen."))
    return text


def completion(connection: Connection, study: Study, person: str) -> GroupLink | None:
    """The link whose code somebody has earned who came by it and did at least one task."""
    link = GroupLink.of(study)
    if link is None or not link.code:
        return None
    came = select(members.c.done).join(
        arrivals, (arrivals.c.study == members.c.study) & (arrivals.c.person == members.c.person)
    )
    query = came.where(
        members.c.study == study.id, members.c.person == person, arrivals.c.external_id.is_not(None),
        members.c.standing == "qualified",
    )  # fmt: skip
    return link if connection.execute(query).scalar() else None


def rows(connection: Connection, study: Study) -> Iterator[dict[str, Any]]:
    """Who came by the study's links, by the id that the other site knows, to pay them by: how many tasks each did."""
    query = (
        select(arrivals.c.external_id, accounts.c.rater, members.c.standing, members.c.done, arrivals.c.at)
        .join(accounts, accounts.c.id == arrivals.c.person)
        .join(members, (members.c.study == arrivals.c.study) & (members.c.person == arrivals.c.person))
        .where(arrivals.c.study == study.id, arrivals.c.external_id.is_not(None))
        .order_by(arrivals.c.at, arrivals.c.external_id)
    )
    each = int(study.rules.options.get("each") or 0)
    for row in connection.execute(query):
        yield {
            "external_id": row.external_id, "rater": row.rater, "standing": row.standing, "done": row.done,
            "complete": bool(each) and row.done >= each, "at": row.at,
        }  # fmt: skip
