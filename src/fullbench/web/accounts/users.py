"""People: who they are and what they may do."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fullbench.core.item import AUTHOR
from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.accounts import passwords
from fullbench.web.accounts.account_tables import sessions, tokens, users
from fullbench.web.accounts.random_ids_and_digests import new_id
from fullbench.web.database import alone
from fullbench.web.words import key

Role = Literal["viewer", "annotator", "organiser"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the one who may least to the one who may most."""
LONGEST_NAME = 60
Pseudonyms = Mapping[str, str]
"""The random id of each account by its name, as names are compared."""


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with an account."""

    id: str
    name: str
    role: Role
    disabled: bool = False
    at: float = 0.0
    rater: str = ""
    """A random id that stands for this person in ledgers, where no name is."""

    def may(self, role: Role) -> bool:
        """Whether this person may do what that role may.

        >>> User("1", "ann", "organiser").may("annotator"), User("2", "bo", "viewer").may("annotator")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


COLUMNS = (users.c.id, users.c.name, users.c.role, users.c.disabled, users.c.at, users.c.rater)


def of_row(row: Any) -> User:
    """A user from a row of `COLUMNS`."""
    return User(row.id, row.name, cast("Role", row.role), row.disabled, row.at, row.rater)


def clean_name(name: str) -> str:
    """A name without what cannot be seen; refused when nothing is left, or too much."""
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if not name:
        raise InputError(key("The name is empty."))
    if len(name) > LONGEST_NAME:
        raise InputError(key("The name must have at most 60 characters."))
    if any(unicodedata.category(letter)[0] == "C" for letter in name):
        raise InputError(key("The name has characters that cannot be seen."))
    return name


def folded(name: str) -> str:
    """A name as it is compared: `Ann`, `ann` and `Ａnn` are one."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()[:240]


def pseudonyms(connection: Connection) -> Pseudonyms:
    """The random ids of all accounts."""
    return {row.name_key: row.rater for row in connection.execute(select(users.c.name_key, users.c.rater))}


def unnamed_tags(tags: Mapping[str, str], accounts: Pseudonyms) -> Mapping[str, str]:
    """Tags with an author's random id in place of an account's name.

    >>> unnamed_tags({"author": "Ann", "task": "ocr"}, {"ann": "4f0c"})
    {'author': '4f0c', 'task': 'ocr'}
    """
    author = accounts.get(folded(tags.get(AUTHOR, "")))
    return tags if author is None else {**tags, AUTHOR: author}


def as_role(text: str) -> Role:
    """A role by its name."""
    if text not in ROLES:
        raise InputError(
            Note(
                "web.wrong.the-role-is-not-known",
                "the role {text!r} is not known; known: {names}",
                text=text[:40],
                names=", ".join(ROLES),
            )
        )
    return text


def add(connection: Connection, name: str, role: Role, password: str, *, as_id: str | None = None) -> User:
    """Make an account, under an id that was promised where one was; a name that is taken and a weak password are
    refused."""
    name = clean_name(name)
    passwords.check(password, name)
    user = User(as_id or new_id(), name, role, at=time.time(), rater=new_id())
    row = {"id": user.id, "name": name, "name_key": folded(name), "role": role, "disabled": False, "at": user.at,
           "rater": user.rater}  # fmt: skip
    try:
        with connection.begin_nested():
            connection.execute(insert(users).values(**row, password=passwords.hashed(password)))
    except IntegrityError as error:
        raise InputError(key("This name is taken.")) from error
    return user


def get(connection: Connection, user_id: str) -> User | None:
    """A user by id."""
    row = connection.execute(select(*COLUMNS).where(users.c.id == user_id)).one_or_none()
    return None if row is None else of_row(row)


def login(connection: Connection, name: str) -> tuple[User | None, str | None]:
    """The user of that name who may sign in, and the hash of the password; two times None for all others."""
    row = connection.execute(
        select(*COLUMNS, users.c.password).where(users.c.name_key == folded(name), users.c.disabled.is_(False))
    ).one_or_none()
    if row is None:
        return None, None
    return of_row(row), row.password


def page(connection: Connection, *, after: str = "", limit: int = 50) -> list[User]:
    """Users by folded name, those after a name first."""
    rows = connection.execute(
        select(*COLUMNS).where(users.c.name_key > folded(after)).order_by(users.c.name_key).limit(limit)
    )
    return [of_row(row) for row in rows]


def organisers(connection: Connection) -> int:
    """How many organisers can sign in."""
    counted = connection.execute(
        select(func.count()).select_from(users).where(users.c.role == "organiser", users.c.disabled.is_(False))
    )
    return int(counted.scalar_one())


def set_password(connection: Connection, user: User, password: str) -> None:
    """Change a password; every session of the user ends."""
    passwords.check(password, user.name)
    connection.execute(update(users).where(users.c.id == user.id).values(password=passwords.hashed(password)))
    connection.execute(delete(sessions).where(sessions.c.user_id == user.id))


def change(connection: Connection, user_id: str, *, role: Role | None = None, disabled: bool | None = None) -> User:
    """Give another role, or close or open an account. The last organiser stays one, however many do this at once."""
    alone(connection, "organisers")
    user = get(connection, user_id)
    if user is None:
        raise InputError(key("There is no such account."))
    loses = (role is not None and role != "organiser") or bool(disabled)
    if user.role == "organiser" and not user.disabled and loses and organisers(connection) == 1:
        raise InputError(key("The last organiser must stay one."))
    values = {"role": role or user.role, "disabled": user.disabled if disabled is None else disabled}
    connection.execute(update(users).where(users.c.id == user_id).values(**values))
    if values["disabled"]:
        connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
        connection.execute(
            update(tokens).where(tokens.c.user_id == user_id, tokens.c.revoked.is_(None)).values(revoked=time.time())
        )
    return replace(user, role=cast("Role", values["role"]), disabled=bool(values["disabled"]))
