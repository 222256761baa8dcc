"""Requests to judge a case again: store them, estimate the price, run them.

The same judge judges the case once more, as its next trial; the earlier verdict stays. Anybody with an account may
request this. A lead sees the price and runs it. The server that runs a request updates its `beat` every few seconds.
A queued request without a recent beat is interrupted because its server died. Its last call may have been paid for,
so a lead decides whether it resumes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator, Sequence
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
from fullbench.web.accounts.random_ids_digests_and_site_key import new_id
from fullbench.web.accounts.users import User
from fullbench.web.database import write_transaction
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state
from fullbench.web.words import key

State = Literal["open", "queued", "interrupted", "done", "refused"]
STATES: tuple[State, ...] = get_args(State)
STATE_LABELS: dict[State, str] = {
    "open": key("to decide"),
    "queued": key("queued"),
    "interrupted": key("interrupted"),
    "done": key("done"),
    "refused": key("refused"),
}
PAGE_SIZE = 50
LEASE = 20.0
"""A queued request without a beat for this many seconds is interrupted."""


@dataclass(frozen=True)
class RejudgeRequest:
    """A request to judge again. `cost` is the last estimate; a run sets `spec` and `trial`."""

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


def add_request(connection: Connection, user: User, case_key: str, judge: str, reason: str) -> bool:
    """Store a request. Return False if this person made the same request before."""
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
        # Without a savepoint, a failed insert would abort the whole transaction on PostgreSQL.
        with connection.begin_nested():
            connection.execute(catalogue_tables.requests.insert().values(**row))
    except IntegrityError:
        return False
    return True


def list_requests(
    connection: Connection, *, state: State | None = None, before: float | None = None
) -> list[RejudgeRequest]:
    """Return one page of requests, newest first."""
    r = catalogue_tables.requests.c
    query = (
        select(catalogue_tables.requests)
        .where(_is_about_shown_ledger(connection))
        .order_by(r.at.desc())
        .limit(PAGE_SIZE)
    )
    query = query.where(_is_in_states(state)) if state else query
    query = query.where(r.at < before) if before is not None else query
    return [_request_from_row(row) for row in connection.execute(query)]


def find_request(connection: Connection, id_: str) -> RejudgeRequest | None:
    """Return a request by its id, or None."""
    row = connection.execute(
        select(catalogue_tables.requests).where(
            catalogue_tables.requests.c.id == id_, _is_about_shown_ledger(connection)
        )
    ).first()
    return None if row is None else _request_from_row(row)


def _is_about_shown_ledger(connection: Connection) -> ColumnElement[bool]:
    return catalogue_tables.requests.c.ledger == (get_state(connection, "ledger") or "")


def _is_in_states(*states: State) -> ColumnElement[bool]:
    r = catalogue_tables.requests.c
    alive = r.beat >= time.time() - LEASE
    conditions: dict[State, ColumnElement[bool]] = {"queued": and_(r.state == "queued", alive)}
    # The database has no state "interrupted": it is a queued request whose beat is too old.
    conditions["interrupted"] = and_(r.state == "queued", or_(r.beat.is_(None), ~alive))
    return or_(*(conditions.get(state, r.state == state) for state in states))


def _request_from_row(row: Any) -> RejudgeRequest:
    cost = orjson.loads(row.cost)
    is_dead = row.state == "queued" and (row.beat is None or row.beat < time.time() - LEASE)
    state: State = "interrupted" if is_dead else STATES[STATES.index(row.state)]
    return RejudgeRequest(row.id, row.case_key, row.judge, row.asked_by, row.reason, row.at, state, cost, row.answer,
                 row.spec, row.trial)  # fmt: skip


def change_request(connection: Connection, id_: str, *expected_states: State, **values: str | float | None) -> bool:
    """Change a request if it is still in one of the expected states. Return False if another change came first."""
    statement = update(catalogue_tables.requests).where(
        catalogue_tables.requests.c.id == id_, _is_in_states(*expected_states)
    )
    return connection.execute(statement.values(**values)).rowcount == 1


def start_request(connection: Connection, request: RejudgeRequest, spec: str, trial: int) -> RejudgeRequest | None:
    """Queue an open or interrupted request for a run. Return None if another user did so first.

    A resumed run keeps its trial. If its verdict is in the ledger already, the judge is not called again.
    """
    run_trial = trial if request.trial is None else request.trial
    values: dict[str, str | float | None] = {
        "state": "queued",
        "answer": "",
        "spec": spec,
        "trial": run_trial,
        "beat": time.time(),
    }
    is_taken = change_request(connection, request.id, "open", "interrupted", **values)
    return find_request(connection, request.id) if is_taken else None


def last_trial(connection: Connection, case_key: str, judge: str) -> int | None:
    """Return the last trial of a case that is queued for this judge, or None."""
    r = catalogue_tables.requests.c
    conditions = (r.case_key == case_key, r.judge == judge, r.state == "queued")
    last: int | None = connection.execute(select(func.max(r.trial)).where(*conditions)).scalar()
    return last


def case_titles(connection: Connection, requests: Sequence[RejudgeRequest]) -> dict[str, str]:
    """Return the item name and question of each request's case, by case key."""
    c, i = catalogue_tables.cases.c, catalogue_tables.items.c
    keys = {request.case_key for request in requests}
    rows = connection.execute(
        select(c.key, i.name, i.title).join(catalogue_tables.items, i.id == c.item_id).where(c.key.in_(keys))
    )
    return {key: f"{name} {title}".strip() for key, name, title in rows}


def cost_texts(requests: Sequence[RejudgeRequest]) -> dict[str, str]:
    """Return the estimated cost of each request as text, by request id."""
    words = {}
    for request in requests:
        if request.cost:
            dollars = request.cost.get("dollars")
            tokens = int(request.cost.get("tokens in") or 0) + int(request.cost.get("tokens out") or 0)
            words[request.id] = f"{tokens:,} tokens" + ("" if dollars is None else f", ${dollars:.4f}")
    return words


log = logging.getLogger("fullbench.web.results")
# Four beats may be late before a living run counts as dead.
BEAT = LEASE / 5
TOPIC = "organiser/requests"
"""Topic for open pages: a request changed."""


def judge_from(spec: str, expected_name: str, programs: Collection[str]) -> Judge:
    """Create the judge of a spec. Raise if it is not the requested judge.

    `programs` are the specs of judges that may run code here.
    """
    from fullbench.studies import judge_contestant_and_benchmark_specs
    from fullbench.studies.study_file_trust import refuse_code

    refuse_code(spec, programs)
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    if judge.name != expected_name:
        raise InputError(
            f"{spec!r} is the judge {judge.name!r}, not {expected_name!r}; give the spec of {expected_name!r}"
        )
    return judge


def case_to_rejudge(connection: Connection, ledger: Ledger, request: RejudgeRequest) -> Case:
    """Return the case at the trial that was started, or at the next unused trial."""
    case = ledger.case(request.case_key)
    if case is None:
        raise InputError(f"the content of case {request.case_key!r} is not in the ledger, so it cannot be judged again")
    if request.trial is not None:
        return case.at(request.trial)
    trials = [verdict.trial for verdict in ledger.verdicts(request.judge, cases=[request.case_key], texts=False)]
    # Queued runs count too: their verdicts are not in the ledger yet.
    started_trial = last_trial(connection, request.case_key, request.judge)
    return case.at(max([*trials, -1 if started_trial is None else started_trial], default=-1) + 1)


def rejudging_price(ledger: Ledger, judge: Judge, case: Case) -> dict[str, Any]:
    """Estimate calls, tokens and dollars of one more verdict."""
    from fullbench.studies.run import call_and_cost_plan

    table = call_and_cost_plan.plan_table(
        ledger, contestants=[], items=[], judges=[judge], cases=lambda _: iter([case])
    )
    return {str(column): cell for column, cell in zip(table.columns, table.rows[0], strict=True)}


def run_request(engine: Engine, ledger: Ledger, request: RejudgeRequest, programs: Collection[str] = ()) -> State:
    """Run a started request, store its result, and return its final state."""
    try:
        with _keep_alive(engine, request):
            failure = _judge_request(ledger, request, programs)
    except UserError as error:
        failure = str(error)
    with write_transaction(engine) as connection:
        if failure:
            reopened_values = {"state": "open", "answer": failure[:2000], "trial": None}
            change_request(connection, request.id, "queued", "interrupted", **reopened_values)
        else:
            change_request(connection, request.id, "queued", "interrupted", "open", state="done", answer="")
        live_events.publish_event(connection, TOPIC)
    return "open" if failure else "done"


def _judge_request(ledger: Ledger, request: RejudgeRequest, programs: Collection[str]) -> str:
    """Return the error, or an empty string. A verdict in the ledger is not requested again."""
    from fullbench.studies.run.judge_cases import judge_cases

    judge = judge_from(request.spec, request.judge, programs)
    case = ledger.case(request.case_key, request.trial or 0)
    if case is None:
        return f"the content of case {request.case_key!r} is no longer in the ledger"
    job_counts = judge_cases([judge], lambda _: [case], ledger)
    return next((error for counts in job_counts for error in counts.failures), "")


@contextmanager
def _keep_alive(engine: Engine, request: RejudgeRequest) -> Iterator[None]:
    stop_event = threading.Event()

    def send_beats() -> None:
        while not stop_event.wait(BEAT):
            try:
                with write_transaction(engine) as connection:
                    change_request(connection, request.id, "queued", "interrupted", beat=time.time())
            except SQLAlchemyError as error:
                log.warning("nobody could be told that a request is being run: %s", error)

    thread = threading.Thread(target=send_beats, name="fullbench-request", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop_event.set()
        thread.join()
