"""Who may see what was ruled in a case.

Somebody who still has to judge a case must not read how others did. The people's side of the app knows who has what
before them: its rule is among `RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from fullbench.web.accounts.users import User
from fullbench.web.people import visibility

Rule = Callable[[Connection, User | None, Sequence[str]], set[str]]
"""Of some cases' keys, those whose rulings this user must not see yet."""

RULES: list[Rule] = [lambda connection, user, case_keys: visibility.hidden(connection, user, list(case_keys))]


def hidden(connection: Connection, user: User | None, case_keys: Sequence[str]) -> set[str]:
    """Of some cases, those whose rulings this user must not see yet."""
    return {key for rule in RULES for key in rule(connection, user, case_keys)}


def may_see(connection: Connection, user: User | None, case_key: str) -> bool:
    """Whether this user may see what was ruled in a case."""
    return case_key not in hidden(connection, user, [case_key])
