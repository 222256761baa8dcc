"""Judging a case again: the same judge rules once more, as the next trial of the case; the earlier ruling stays."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, and_, func, or_, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.errors import InputError, UserError
from fullbench.ledger.ledger import Ledger
from fullbench.web import live_events
from fullbench.web.accounts.random_ids_and_digests import new_id
from fullbench.web.accounts.users import User
from fullbench.web.database import writing
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.row_helpers import get_state
from fullbench.web.words import key

# Requests to judge a case again: anybody with an account asks, an organiser looks at the price and runs it.
#
# Whoever runs one says every few seconds that they still do. A request that is queued and of which nobody said so for
# longer is interrupted: its server died. What was asked for last may have been paid for, so an organiser says whether
# it goes on.

State = Literal["open", "queued", "interrupted", "done", "refused"]
STATES: tuple[State, ...] = get_args(State)
SAID: dict[State, str] = {
    "open": key("to decide"),
    "queued": key("queued"),
    "interrupted": key("interrupted"),
    "done": key("done"),
    "refused": key("refused"),
}
"""What the states are called on pages."""
PAGE = 50
LEASE = 20.0
"""A queued request of which nobody said for so many seconds that it is being run is interrupted."""


@dataclass(frozen=True)
class Asked:
    """A request; `cost` is what a run was said to cost, `spec` and `trial` what the run that was begun needs."""

    id: str
    case_key: str
    judge: str
    asked_by: str
    reason: str
    at: float
    state: State
    cost: Any
    answer: str
    spec: str
    trial: int | None


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
        "ledger": get_state(connection, "ledger") or "",
    }
    try:
        with connection.begin_nested():
            connection.execute(catalogue_tables.requests.insert().values(**row))
    except IntegrityError:
        return False
    return True


def page(connection: Connection, *, state: State | None = None, before: float | None = None) -> list[Asked]:
    """Requests, the latest first."""
    r = catalogue_tables.requests.c
    query = select(catalogue_tables.requests).where(_here(connection)).order_by(r.at.desc()).limit(PAGE)
    query = query.where(_is(state)) if state else query
    query = query.where(r.at < before) if before is not None else query
    return [_asked(row) for row in connection.execute(query)]


def get(connection: Connection, id_: str) -> Asked | None:
    """A request by its id."""
    row = connection.execute(
        select(catalogue_tables.requests).where(catalogue_tables.requests.c.id == id_, _here(connection))
    ).first()
    return None if row is None else _asked(row)


def _here(connection: Connection) -> ColumnElement[bool]:
    """Whether a request is about the ledger that is shown."""
    return catalogue_tables.requests.c.ledger == (get_state(connection, "ledger") or "")


def _is(*states: State) -> ColumnElement[bool]:
    """Whether a request is in one of these states."""
    r = catalogue_tables.requests.c
    alive = r.beat >= time.time() - LEASE
    asked: dict[State, ColumnElement[bool]] = {"queued": and_(r.state == "queued", alive)}
    asked["interrupted"] = and_(r.state == "queued", or_(r.beat.is_(None), ~alive))
    return or_(*(asked.get(state, r.state == state) for state in states))


def _asked(row: Any) -> Asked:
    cost = orjson.loads(row.cost)
    dead = row.state == "queued" and (row.beat is None or row.beat < time.time() - LEASE)
    state: State = "interrupted" if dead else STATES[STATES.index(row.state)]
    return Asked(row.id, row.case_key, row.judge, row.asked_by, row.reason, row.at, state, cost, row.answer,
                 row.spec, row.trial)  # fmt: skip


def change(connection: Connection, id_: str, *expected: State, **values: str | float | None) -> bool:
    """Change a request that is still in one of the states expected; False where somebody was quicker."""
    asked = update(catalogue_tables.requests).where(catalogue_tables.requests.c.id == id_, _is(*expected))
    return connection.execute(asked.values(**values)).rowcount == 1


def begin(connection: Connection, asked: Asked, spec: str, trial: int) -> Asked | None:
    """Take a request that is open or interrupted for a run; None where somebody was quicker.

    The trial that a run was begun for is kept: where its ruling came into the ledger before the server died, nobody
    is asked again.
    """
    run_trial = trial if asked.trial is None else asked.trial
    values: dict[str, str | float | None] = {
        "state": "queued",
        "answer": "",
        "spec": spec,
        "trial": run_trial,
        "beat": time.time(),
    }
    taken = change(connection, asked.id, "open", "interrupted", **values)
    return get(connection, asked.id) if taken else None


def last_trial(connection: Connection, case_key: str, judge: str) -> int | None:
    """The last trial of a case for which a run by this judge was begun."""
    r = catalogue_tables.requests.c
    begun = (r.case_key == case_key, r.judge == judge, r.state == "queued")
    last: int | None = connection.execute(select(func.max(r.trial)).where(*begun)).scalar()
    return last


def titles(connection: Connection, found: Sequence[Asked]) -> dict[str, str]:
    """What each request's case is on: the item and its question, by the case's key."""
    c, i = catalogue_tables.cases.c, catalogue_tables.items.c
    keys = {request.case_key for request in found}
    rows = connection.execute(
        select(c.key, i.name, i.title).join(catalogue_tables.items, i.id == c.item_id).where(c.key.in_(keys))
    )
    return {key: f"{name} {title}".strip() for key, name, title in rows}


def costs(found: Sequence[Asked]) -> dict[str, str]:
    """What each request's run was said to cost, in words."""
    words = {}
    for request in found:
        if request.cost:
            dollars = request.cost.get("dollars")
            tokens = int(request.cost.get("tokens in") or 0) + int(request.cost.get("tokens out") or 0)
            words[request.id] = f"{tokens:,} tokens" + ("" if dollars is None else f", ${dollars:.4f}")
    return words


log = logging.getLogger("fullbench.web.results")
BEAT = LEASE / 5
TOPIC = "organiser/requests"
"""Where open pages hear that a request moved."""


def judge_from(spec: str, wanted: str) -> Judge:
    """The judge that a spec names, if it is the one asked for: a name stands for one way of ruling."""
    from fullbench.studies import judge_and_model_specs

    judge = judge_and_model_specs.judge(spec)
    if judge.name != wanted:
        raise InputError(
            f"{spec!r} is the judge {judge.name!r}, and {wanted!r} was asked for; give the spec of that one"
        )
    return judge


def again(connection: Connection, ledger: Ledger, asked: Asked) -> Case:
    """The case as the trial that was begun, or as the next one that nobody has begun."""
    case = ledger.case(asked.case_key)
    if case is None:
        raise InputError(
            f"what was judged in case {asked.case_key!r} is not in the ledger, so nobody can judge it again"
        )
    if asked.trial is not None:
        return case.at(asked.trial)
    trials = [verdict.trial for verdict in ledger.verdicts(asked.judge, cases=[asked.case_key], texts=False)]
    begun = last_trial(connection, asked.case_key, asked.judge)
    return case.at(max([*trials, -1 if begun is None else begun], default=-1) + 1)


def price(ledger: Ledger, judge: Judge, case: Case) -> dict[str, Any]:
    """What one more ruling would cost: calls, tokens, dollars."""
    from fullbench.studies.run import study_plan

    table = study_plan.table(ledger, contestants=[], items=[], judges=[judge], cases=lambda _: iter([case]))
    return {str(column): cell for column, cell in zip(table.columns, table.rows[0], strict=True)}


def run(engine: Engine, ledger: Ledger, asked: Asked) -> State:
    """Run a request that was begun and keep what came of it: the state it ends in."""
    try:
        with _beating(engine, asked):
            failed = _heard(ledger, asked)
    except UserError as error:
        failed = str(error)
    with writing(engine) as connection:
        if failed:
            again_open = {"state": "open", "answer": failed[:2000], "trial": None}
            change(connection, asked.id, "queued", "interrupted", **again_open)
        else:
            change(connection, asked.id, "queued", "interrupted", "open", state="done", answer="")
        live_events.publish(connection, TOPIC)
    return "open" if failed else "done"


def _heard(ledger: Ledger, asked: Asked) -> str:
    """Let the judge rule on what was begun, unless the ledger has it; why it could not, else nothing."""
    from fullbench.studies.run.judge_cases import hear

    judge = judge_from(asked.spec, asked.judge)
    case = ledger.case(asked.case_key, asked.trial or 0)
    if case is None:
        return f"what was judged in case {asked.case_key!r} is no longer in the ledger"
    tallies = hear([judge], lambda _: [case], ledger)
    return next((error for tally in tallies for error in tally.failures), "")


@contextmanager
def _beating(engine: Engine, asked: Asked) -> Iterator[None]:
    """While the block runs, a thread says that this request is being run."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            try:
                with writing(engine) as connection:
                    change(connection, asked.id, "queued", "interrupted", beat=time.time())
            except SQLAlchemyError as error:
                log.warning("nobody could be told that a request is being run: %s", error)

    thread = threading.Thread(target=beat, name="fullbench-request", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
