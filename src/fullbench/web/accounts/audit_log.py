"""Audit log: who did what and when. Rows are only ever added."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from sqlalchemy import Connection, insert, select

from fullbench.web.accounts.account_and_shared_site_tables import audit
from fullbench.web.accounts.users import User
from fullbench.web.route_access_connection_and_csrf_checks import address_of


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One row of the audit log."""

    id: int
    at: float
    user: str | None
    name: str
    action: str
    target: str
    detail: Mapping[str, Any]
    address: str


def write_entry(
    connection: Connection,
    user: User | None,
    action: str,
    target: str = "",
    *,
    address: str = "",
    **detail: Any,
) -> None:
    """Record an action in the transaction that performs it. Never put a secret into `detail`."""
    connection.execute(
        insert(audit).values(
            at=time.time(),
            user_id=user.id if user else None,
            name=user.name if user else "",
            action=action,
            target=target[:200],
            detail=json.dumps(detail, ensure_ascii=False),
            address=address[:80],
        )
    )


def record_action(
    request: Request, connection: Connection, user: User | None, action: str, target: str = "", **detail: Any
) -> None:
    """Record an action that a request asked for, with the address of its client."""
    write_entry(connection, user, action, target, address=address_of(request), **detail)


def list_entries(
    connection: Connection, *, before: int | None = None, name: str = "", action: str = "", limit: int = 50
) -> list[AuditEntry]:
    """Return entries, newest first, with an id below `before` and matching the filters."""
    query = select(audit).order_by(audit.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit.c.id < before)
    if name:
        query = query.where(audit.c.name == name)
    if action:
        query = query.where(audit.c.action == action)
    return [
        AuditEntry(row.id, row.at, row.user_id, row.name, row.action, row.target, json.loads(row.detail), row.address)
        for row in connection.execute(query)
    ]


def list_actions(connection: Connection) -> list[str]:
    """Return the distinct action names in the log."""
    return list(connection.execute(select(audit.c.action).distinct().order_by(audit.c.action)).scalars())
