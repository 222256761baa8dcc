"""Requests to judge again outlive the server: begun, killed, gone on with, and nothing is asked for twice."""

from __future__ import annotations

import re
import signal
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest
from sqlalchemy import update

from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.web.accounts.users import User
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.actions import rejudge_requests
from fullbench.web.results.actions.rejudge_requests import STATES
from fullbench.web.results.catalogue import catalogue_tables
from tests.support.fake_chat_server import FakeServer
from tests.support.wait_until import until
from tests.web.conftest import start_live
from tests.web.results import making

RULES = "mode=direct&picture_mode=none&resample=0&attempts=1"


def a_case(ledger, ballot="choice+tie"):
    return next(v.case for v in ledger.verdicts("steady") if v.ballot == ballot)


def judged_once(path, spec) -> tuple[str, str]:
    """A case on which the judge of a spec has ruled: the case's key and the judge's name."""
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    with Ledger(path) as ledger:
        key = a_case(ledger)
        judge_cases([judge], lambda _: [ledger.case(key)], ledger)
    return key, judge.name


def trials(path, judge, key) -> list[int]:
    with Ledger(path, read_only=True) as ledger:
        return [one.trial for one in ledger.verdicts(judge, cases=[key])]


def asked_for(engine, key, judge, who="Vic") -> rejudge_requests.RejudgeRequest:
    with write_transaction(engine) as connection:
        assert rejudge_requests.add_request(connection, User(who, who, "viewer"), key, judge, "看起来不对")
        return rejudge_requests.list_requests(connection, state="open")[0]


def long_ago(engine) -> None:
    """As if nobody had said for an hour that a request is being run."""
    with write_transaction(engine) as connection:
        connection.execute(update(catalogue_tables.requests).values(beat=catalogue_tables.requests.c.beat - 3600))


def states(engine) -> dict[str, int]:
    with read_transaction(engine) as connection:
        found = {state: len(rejudge_requests.list_requests(connection, state=state)) for state in STATES}
        assert len(rejudge_requests.list_requests(connection)) == sum(found.values())
    return {state: n for state, n in found.items() if n}


class Browser:
    """Somebody at a real server, by cookie."""

    def __init__(self, live, cookie):
        self.where, self.cookie = urlsplit(live.url).netloc, f"{cookie['name']}={cookie['value']}"

    def ask(self, method, path, data=None) -> tuple[int, str]:
        connection = HTTPConnection(self.where, timeout=60)
        body = urlencode(data) if data else None
        kind = {"Content-Type": "application/x-www-form-urlencoded"} if data else {}
        connection.request(method, path, body, {"Cookie": self.cookie, **kind})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def decide(self, act, spec, state) -> None:
        _, page = self.ask("GET", f"/requests?state={state}")
        csrf = re.search(r'<meta name="csrf" content="(\w+)">', page)[1]
        action = re.search(r'action="(/requests/\w+)"', page)[1]
        assert self.ask("POST", action, {"csrf": csrf, "act": act, "spec": spec})[0] == 303


def run(engine, path, asked):
    with Ledger(path) as ledger:
        return rejudge_requests.run_request(engine, ledger, asked)


def test_a_server_killed_in_the_middle_and_the_request_goes_on(tmp_path):
    path = making.fill(tmp_path / "small.ledger", count=1)
    with FakeServer(says="[[A]]", answers=1) as server:
        spec = f"vllm:m@{server.url}?{RULES}"
        key, judge = judged_once(path, spec)
        live = start_live(tmp_path, "--ledger", str(path))
        cookie = live.cookie("Olga", "organiser")
        try:
            asked_for(live.engine, key, judge)
            Browser(live, cookie).decide("run", spec, "open")
            until(lambda: sum(server.books()["arrived"].values()) == 2)
            assert states(live.engine) == {"queued": 1}
            live.process.send_signal(signal.SIGKILL)
            live.process.wait(timeout=120)
            long_ago(live.engine)
            live.engine.dispose()

            live = start_live(tmp_path, "--ledger", str(path))
            olga = Browser(live, cookie)
            assert states(live.engine) == {"interrupted": 1}
            _, page = olga.ask("GET", "/requests?state=interrupted")
            assert "Continue" in page
            assert trials(path, judge, key) == [0]
            server.more(5)
            olga.decide("run", spec, "interrupted")
            until(lambda: states(live.engine) == {"done": 1})
            assert trials(path, judge, key) == [0, 1]
            assert sum(server.books()["arrived"].values()) == 3
            with Ledger(path, read_only=True) as ledger:
                nonces = [verdict.exchanges[-1].nonce for verdict in ledger.verdicts(judge, cases=[key])]
                assert nonces == [nonce_of(ledger.salt, key, trial) for trial in (0, 1)], "from the site as from a run"
        finally:
            live.process.kill()
            live.process.wait(timeout=120)
            live.engine.dispose()


def test_a_ruling_that_came_before_the_server_died_is_not_asked_for_again(new_engine, tmp_path):
    engine = new_engine()
    path = making.fill(tmp_path / "small.ledger", count=1)
    with FakeServer(says="[[A]]") as server:
        spec = f"vllm:m@{server.url}?{RULES}"
        key, judge = judged_once(path, spec)
        begun = begin(engine, path, asked_for(engine, key, judge), spec)
        assert begun.trial == 1
        assert run(engine, path, begun) == "done"
        with write_transaction(engine) as connection:
            connection.execute(update(catalogue_tables.requests).values(state="queued"))
        long_ago(engine)
        with read_transaction(engine) as connection:
            dead = rejudge_requests.find_request(connection, begun.id)
        assert dead.state == "interrupted"
        assert run(engine, path, begin(engine, path, dead, spec)) == "done"
        assert sum(server.books()["arrived"].values()) == 2
    assert trials(path, judge, key) == [0, 1]
    assert states(engine) == {"done": 1}


def begin(engine, path, asked, spec):
    with Ledger(path, read_only=True) as ledger, write_transaction(engine) as connection:
        return rejudge_requests.start_request(
            connection, asked, spec, rejudge_requests.case_to_rejudge(connection, ledger, asked).trial
        )


def test_two_who_ask_for_the_same_get_a_trial_each_and_only_one_takes_a_request(new_engine, tmp_path):
    engine = new_engine()
    path = making.fill(tmp_path / "small.ledger", count=1)
    key, judge = judged_once(path, "length")
    first = asked_for(engine, key, judge, "Vic")
    one = begin(engine, path, first, "length")
    two = begin(engine, path, asked_for(engine, key, judge, "小红"), "length")
    assert (one.trial, two.trial) == (1, 2)
    assert begin(engine, path, first, "length") is None
    assert [run(engine, path, some) for some in (two, one)] == ["done", "done"]
    assert sorted(trials(path, judge, key)) == [0, 1, 2]


def test_a_run_says_that_it_lives_while_the_judge_thinks(new_engine, tmp_path, monkeypatch):
    monkeypatch.setattr(rejudge_requests, "BEAT", 0.05)
    engine = new_engine()
    path = making.fill(tmp_path / "small.ledger", count=1)
    with FakeServer({"401": 1.0}, answers=0) as server:
        spec = f"vllm:m@{server.url}?{RULES}"
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec).name
        with Ledger(path) as ledger:
            key = a_case(ledger)
            ledger.add(Verdict.from_case(ledger.case(key), judge, (1.0, 0.0)))
        begun = begin(engine, path, asked_for(engine, key, judge), spec)
        long_ago(engine)
        assert states(engine) == {"interrupted": 1}
        with ThreadPoolExecutor(1) as pool:
            ended = pool.submit(run, engine, path, begun)
            until(lambda: states(engine) == {"queued": 1})
            server.more()
            assert ended.result() == "open"
    with read_transaction(engine) as connection:
        (failed,) = rejudge_requests.list_requests(connection, state="open")
    assert failed.answer
    assert failed.trial is None, "a run that failed takes the next trial that is free"


@pytest.mark.parametrize("state", ["nonsense", ""])
def test_no_other_state_can_be_asked_for(organiser, state):
    assert organiser.get(f"/requests?state={state}").status_code == 422
