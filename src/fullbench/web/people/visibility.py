"""Who may see what people said: nobody others' votes before their own."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, exists, select

from fullbench.web.accounts.users import User
from fullbench.web.people.tables import kept, studies, tasks, votes


def may_see(connection: Connection, user: User | None, case_key: str) -> bool:
    """Whether this user may see people's verdicts on a case.

    Organisers may. While a study that the case comes from is open, others may once they voted on it themselves; when
    it is closed, everybody may.
    """
    return case_key not in hidden(connection, user, [case_key])


def hidden(connection: Connection, user: User | None, case_keys: Sequence[str]) -> set[str]:
    """Those of these cases on which people's verdicts are hidden from this user."""
    if (user is not None and user.may("organiser")) or not case_keys:
        return set()
    own = exists().where(votes.c.task == tasks.c.id, votes.c.person == (user.id if user else ""))
    query = (
        select(kept.c.case_key)
        .join(tasks, tasks.c.id == kept.c.task)
        .join(studies, studies.c.id == tasks.c.study)
        .where(kept.c.case_key.in_(case_keys), studies.c.state == "open", ~own)
    )
    return set(connection.execute(query).scalars())
