"""Judging a case again: the same judge rules once more, as the next trial of the case; the earlier ruling stays."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from fullbench.errors import InputError, UserError
from fullbench.ledger.ledger import Ledger
from fullbench.core.case import Case
from fullbench.core.judge import Judge
from fullbench.web import events
from fullbench.web.database import writing
from fullbench.web.results import requests
from fullbench.web.results.requests import Asked, State

log = logging.getLogger("fullbench.web.results")
BEAT = requests.LEASE / 5
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
    begun = requests.last_trial(connection, asked.case_key, asked.judge)
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
            requests.change(connection, asked.id, "queued", "interrupted", **again_open)
        else:
            requests.change(connection, asked.id, "queued", "interrupted", "open", state="done", answer="")
        events.publish(connection, TOPIC)
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
                    requests.change(connection, asked.id, "queued", "interrupted", beat=time.time())
            except SQLAlchemyError as error:
                log.warning("nobody could be told that a request is being run: %s", error)

    thread = threading.Thread(target=beat, name="fullbench-request", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
