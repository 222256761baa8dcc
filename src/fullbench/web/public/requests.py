"""Requests to judge a case again: anybody with an account asks, an organiser looks at the price and runs it.

The same judge rules once more, as the next trial of the case; the earlier ruling stays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.exc import IntegrityError

from fullbench.core.cases import Case
from fullbench.core.errors import InputError, UserError
from fullbench.core.models import Judge
from fullbench.ledger.store import Ledger
from fullbench.web.accounts.secrets import new_id
from fullbench.web.accounts.users import User
from fullbench.web.database import writing
from fullbench.web.public import tables

PAGE = 50


@dataclass(frozen=True)
class Asked:
    """A request. `state` is open, queued, done or refused; `cost` what a run was said to cost."""

    id: str
    case_key: str
    judge: str
    asked_by: str
    reason: str
    at: float
    state: str
    cost: Any
    answer: str


def ask(connection: Connection, user: User, case_key: str, judge: str, reason: str) -> bool:
    """Keep a request; False where this person has asked for the same before."""
    row = {
        "id": new_id(),
        "case_key": case_key,
        "judge": judge,
        "asked_by": user.name,
        "reason": reason,
        "at": time.time(),
        "state": "open",
        "cost": "null",
        "answer": "",
    }
    try:
        with connection.begin_nested():
            connection.execute(tables.requests.insert().values(**row))
    except IntegrityError:
        return False
    return True


def page(connection: Connection, *, state: str = "", before: float | None = None) -> list[Asked]:
    """Requests, the latest first."""
    r = tables.requests.c
    query = select(tables.requests).order_by(r.at.desc()).limit(PAGE)
    query = query.where(r.state == state) if state else query
    query = query.where(r.at < before) if before is not None else query
    return [_asked(row) for row in connection.execute(query)]


def get(connection: Connection, id_: str) -> Asked | None:
    """A request by its id."""
    row = connection.execute(select(tables.requests).where(tables.requests.c.id == id_)).first()
    return None if row is None else _asked(row)


def _asked(row: Any) -> Asked:
    cost = orjson.loads(row.cost)
    return Asked(row.id, row.case_key, row.judge, row.asked_by, row.reason, row.at, row.state, cost, row.answer)


def change(connection: Connection, id_: str, *, expected: str, **values: str) -> bool:
    """Change a request that is still in the state expected; False where somebody was quicker."""
    r = tables.requests.c
    done = connection.execute(update(tables.requests).where(r.id == id_, r.state == expected).values(**values))
    return done.rowcount == 1


def judge_from(spec: str, wanted: str) -> Judge:
    """The judge that a spec names, if it is the one asked for: a name stands for one way of ruling."""
    from fullbench.runs import specs

    made = specs.judge(spec)
    if made.name != wanted:
        raise InputError(
            f"{spec!r} is the judge {made.name!r}, and {wanted!r} was asked for; give the spec of that one"
        )
    return made


def again(ledger: Ledger, key: str, judge: str) -> Case:
    """The case as its next trial by this judge."""
    case = ledger.case(key)
    if case is None:
        raise InputError(f"what was judged in case {key!r} is not in the ledger, so nobody can judge it again")
    trials = [verdict.trial for verdict in ledger.verdicts(judge, cases=[key], texts=False)]
    return case.at(max(trials, default=-1) + 1)


def price(ledger: Ledger, judge: Judge, case: Case) -> dict[str, Any]:
    """What one more ruling would cost: calls, tokens, dollars."""
    from fullbench.runs import plan

    table = plan.table(ledger, contestants=[], items=[], judges=[judge], cases=lambda: iter([case]))
    return dict(zip(table.columns, table.rows[0], strict=True))


def run(engine: Engine, path: str, asked: Asked, spec: str) -> str:
    """Run a queued request and keep what came of it: the state it ends in."""
    from fullbench.runs.hear import hear

    try:
        judge = judge_from(spec, asked.judge)
        with Ledger(path) as ledger:
            case = again(ledger, asked.case_key, judge.name)
            tallies = hear([judge], lambda _: [case], ledger)
        failed = [error for tally in tallies for error in tally.failures]
        state, answer = ("open", failed[0]) if failed else ("done", "")
    except UserError as error:
        state, answer = "open", str(error)
    with writing(engine) as connection:
        change(connection, asked.id, expected="queued", state=state, answer=answer[:2000])
    return state


def costs(found: Sequence[Asked]) -> dict[str, str]:
    """What each request's run was said to cost, in words."""
    made = {}
    for one in found:
        if one.cost:
            dollars = one.cost.get("dollars")
            tokens = int(one.cost.get("tokens in") or 0) + int(one.cost.get("tokens out") or 0)
            made[one.id] = f"{tokens:,} tokens" + ("" if dollars is None else f", ${dollars:.4f}")
    return made
