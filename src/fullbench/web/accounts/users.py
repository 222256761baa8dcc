"""User accounts: names, roles, passwords and pseudonyms."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fullbench.core.item import AUTHOR
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.accounts import passwords
from fullbench.web.accounts.account_and_shared_site_tables import sessions, tokens, users
from fullbench.web.accounts.random_ids_digests_and_site_key import new_id
from fullbench.web.database import acquire_lock
from fullbench.web.words import key

Role = Literal["viewer", "annotator", "organiser"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the fewest to the most permissions."""
LONGEST_NAME = 60
Pseudonyms = Mapping[str, str]
"""Random id of each account, by folded name."""


@dataclass(frozen=True, slots=True)
class User:
    """Person with an account."""

    id: str
    name: str
    role: Role
    disabled: bool = False
    at: float = 0.0
    rater: str = ""
    """Random id of this person in ledgers, which contain no names."""

    def may(self, role: Role) -> bool:
        """Return True if the user's role includes that role.

        >>> User("1", "ann", "organiser").may("annotator"), User("2", "bo", "viewer").may("annotator")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)


COLUMNS = (users.c.id, users.c.name, users.c.role, users.c.disabled, users.c.at, users.c.rater)


def user_from_row(row: Any) -> User:
    """Build a user from a row of `COLUMNS`."""
    return User(row.id, row.name, cast("Role", row.role), row.disabled, row.at, row.rater)


def clean_name(name: str) -> str:
    """Normalize a name; raise `InputError` if it is empty, too long or has invisible characters."""
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if not name:
        raise InputError(key("The name is empty."))
    if len(name) > LONGEST_NAME:
        raise InputError(key("The name must have at most 60 characters."))
    if any(unicodedata.category(letter)[0] == "C" for letter in name):
        raise InputError(key("The name has characters that cannot be seen."))
    return name


def fold_name(name: str) -> str:
    """Return a name in the form used for comparison: `Ann`, `ann` and `Ａnn` are equal."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()[:240]


def load_pseudonyms(connection: Connection) -> Pseudonyms:
    """Return the random ids of all accounts by folded name."""
    return {row.name_key: row.rater for row in connection.execute(select(users.c.name_key, users.c.rater))}


def pseudonymize_tags(tags: Mapping[str, str], accounts: Pseudonyms) -> Mapping[str, str]:
    """Replace an author's account name in the tags by the account's random id.

    >>> pseudonymize_tags({"author": "Ann", "task": "ocr"}, {"ann": "4f0c"})
    {'author': '4f0c', 'task': 'ocr'}
    """
    author = accounts.get(fold_name(tags.get(AUTHOR, "")))
    return tags if author is None else {**tags, AUTHOR: author}


def parse_role(text: str) -> Role:
    """Parse a role's name."""
    if text not in ROLES:
        raise InputError(Note("web.wrong.the-role-is-not-known", text=text[:40], names=", ".join(ROLES)))
    return text


def create_user(connection: Connection, name: str, role: Role, password: str, *, as_id: str | None = None) -> User:
    """Create an account; raise `InputError` if the name is taken or the password is weak.

    `as_id` is the account id that an invitation reserved.
    """
    name = clean_name(name)
    passwords.check_password(password, name)
    user = User(as_id or new_id(), name, role, at=time.time(), rater=new_id())
    row = {"id": user.id, "name": name, "name_key": fold_name(name), "role": role, "disabled": False, "at": user.at,
           "rater": user.rater}  # fmt: skip
    try:
        # A savepoint: the caller's transaction stays usable if the name is taken.
        with connection.begin_nested():
            connection.execute(insert(users).values(**row, password=passwords.hash_password(password)))
    except IntegrityError as error:
        raise InputError(key("This name is taken.")) from error
    return user


def find_user(connection: Connection, user_id: str) -> User | None:
    """Return the user with this id, or None."""
    row = connection.execute(select(*COLUMNS).where(users.c.id == user_id)).one_or_none()
    return None if row is None else user_from_row(row)


def find_user_for_sign_in(connection: Connection, name: str) -> tuple[User | None, str | None]:
    """Return the enabled user of that name and the password hash; None twice if there is none."""
    row = connection.execute(
        select(*COLUMNS, users.c.password).where(users.c.name_key == fold_name(name), users.c.disabled.is_(False))
    ).one_or_none()
    if row is None:
        return None, None
    return user_from_row(row), row.password


def list_users(connection: Connection, *, after: str = "", limit: int = 50) -> list[User]:
    """Return users whose folded name comes after `after`, in order of folded name."""
    rows = connection.execute(
        select(*COLUMNS).where(users.c.name_key > fold_name(after)).order_by(users.c.name_key).limit(limit)
    )
    return [user_from_row(row) for row in rows]


def count_organisers(connection: Connection) -> int:
    """Return the number of leads who can sign in."""
    cursor = connection.execute(
        select(func.count()).select_from(users).where(users.c.role == "organiser", users.c.disabled.is_(False))
    )
    return int(cursor.scalar_one())


def set_password(connection: Connection, user: User, password: str) -> None:
    """Change a password and end all sessions of the user."""
    passwords.check_password(password, user.name)
    connection.execute(update(users).where(users.c.id == user.id).values(password=passwords.hash_password(password)))
    connection.execute(delete(sessions).where(sessions.c.user_id == user.id))


def change_user(
    connection: Connection, user_id: str, *, role: Role | None = None, disabled: bool | None = None
) -> User:
    """Change the role of an account, or close or reopen it.

    The last lead keeps the role. The lock makes this hold for simultaneous requests too.
    """
    acquire_lock(connection, "organisers")
    user = find_user(connection, user_id)
    if user is None:
        raise InputError(key("There is no such account."))
    loses = (role is not None and role != "organiser") or bool(disabled)
    if user.role == "organiser" and not user.disabled and loses and count_organisers(connection) == 1:
        raise InputError(key("The last organiser must stay one."))
    values = {"role": role or user.role, "disabled": user.disabled if disabled is None else disabled}
    connection.execute(update(users).where(users.c.id == user_id).values(**values))
    if values["disabled"]:
        connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
        connection.execute(
            update(tokens).where(tokens.c.user_id == user_id, tokens.c.revoked.is_(None)).values(revoked=time.time())
        )
    return replace(user, role=cast("Role", values["role"]), disabled=bool(values["disabled"]))
