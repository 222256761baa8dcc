"""A ledger behind a slow network: asking goes on while commits are on their way; acknowledged still means durable."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from fullbench import Case, Item, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.postgres.connection_with_sqlite_interface import SPACE, PostgresConnection
from fullbench.ledger.postgres.database import Postgres
from fullbench.ledger.writing.group_commit_writer import MOST, Writer
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines.job_runner_with_ledger_storage import LOOKUP
from fullbench.studies.run.answer_items import collect_answers
from fullbench.studies.run.judge_cases import judge_cases
from tests.ledger.making import verdict
from tests.studies.test_run_with_faults_and_kills import docket
from tests.support.fake_chat_server import FakeServer
from tests.support.slow_proxy import slow_line
from tests.support.wait_until import until

AWAY = 0.02


def far_off(postgres, port: int) -> str:
    """A ledger that was made, which takes some sixty ways to the server, and is reached by the slow line."""
    near = postgres.database()
    Ledger(near).close()
    return near.replace(f":{postgres.port}/", f":{port}/")


def heard(place: str, server: FakeServer, count: int) -> float:
    """The seconds that a run takes from its first look into the ledger to its last commit."""
    with Ledger(place) as ledger:
        started = time.monotonic()
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{server.url}?concurrency=128&mode=direct")
        judge_cases([judge], lambda _: docket(count), ledger)
        took = time.monotonic() - started
        verdicts = list(ledger.verdicts())
        assert len({verdict.case for verdict in verdicts}) == len(verdicts) == count
    return took


def compared(postgres, count: int, tries: int) -> tuple[float, float]:
    """The best times of a near and a far ledger, taken in turns."""
    if not hasattr(postgres, "port"):
        pytest.skip("the server that FULLBENCH_TEST_PG names may be anywhere: no slow line is laid to it")
    near, far = [], []
    with FakeServer(says="[[4]]", latency=0.05) as server, slow_line(postgres.port, AWAY) as port:
        for _ in range(tries):
            near.append(heard(postgres.database(), server, count))
            far.append(heard(far_off(postgres, port), server, count))
    return min(near), min(far)


def test_a_ledger_far_away_does_not_hold_up_the_asking(postgres):
    """While a commit waits for the database, far more calls than are in flight are sent and answered. They are
    committed together, when it is done."""
    in_flight, before, meanwhile, count = 32, 100, 300, LOOKUP  # all are looked up before the first call
    with FakeServer(says="[[4]]", answers=before) as server, Ledger(place := postgres.database()) as ledger:
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(
            f"vllm:m@{server.url}?concurrency={in_flight}&mode=direct"
        )
        with ThreadPoolExecutor(1) as pool, psycopg.connect(place) as other:
            run = pool.submit(judge_cases, [judge], lambda _: docket(count), ledger)
            try:
                until(lambda: sum(1 for _ in ledger.verdicts(texts=False)) == before)
                other.execute(f"LOCK TABLE {SPACE}.commits IN EXCLUSIVE MODE")
                (commits,) = other.execute(f"SELECT count(*) FROM {SPACE}.commits").fetchone()
                server.more(meanwhile)
                until(lambda: sum(server.books()["answered"].values()) == before + meanwhile)
                (held,) = other.execute(f"SELECT count(*) FROM {SPACE}.commits").fetchone()
                assert held == commits
                other.rollback()
                until(lambda: sum(1 for _ in ledger.verdicts(texts=False)) == before + meanwhile)
                (together,) = other.execute(f"SELECT count(*) FROM {SPACE}.commits").fetchone()
                assert 0 < together - commits <= 3, "the one that was held, and what came meanwhile"
            finally:
                other.rollback()
                server.more()
            (tally,) = run.result()
        assert tally.finished_count == len({verdict.case for verdict in ledger.verdicts()}) == count


@pytest.mark.slow
def test_three_thousand_calls_with_a_ledger_far_away_take_at_most_1_3_times_as_long(postgres):
    near, far = compared(postgres, 3_000, 3)
    assert far <= 1.3 * near


def test_what_waits_for_a_far_commit_is_bounded_and_what_is_acknowledged_is_there(postgres):
    """Whoever adds faster than the network carries waits; another reader sees all that was acknowledged."""
    if not hasattr(postgres, "port"):
        pytest.skip("the server that FULLBENCH_TEST_PG names may be anywhere: no slow line is laid to it")
    told: list[object] = []
    with slow_line(postgres.port, 0.05) as port:
        far = far_off(postgres, port)
        place = far.replace(f":{port}/", f":{postgres.port}/")
        with Ledger(far, on_commit=told.extend) as ledger, Ledger(place, read_only=True) as near:
            for number in range(2 * MOST):
                ledger.add(verdict(number))
                assert number + 1 - ledger.acknowledged_count <= MOST
                if number % 500 == 0:
                    acknowledged = ledger.acknowledged_count
                    assert sum(1 for _ in near.verdicts(texts=False)) >= acknowledged
            ledger.flush()
            assert ledger.acknowledged_count == len(told) == 2 * MOST
            assert sum(1 for _ in near.verdicts(texts=False)) == 2 * MOST
            assert not near.verify()


def test_the_first_call_waits_for_few_ways_to_a_ledger(postgres, monkeypatch):
    """One after the other: who it is, its declaration, what failed for good, what is known, what is entered; meanwhile
    the name is held, by a connection that nobody waits for. Before, there were 13 ways."""
    ways: list[str] = []

    def noted(whose: type, name: str) -> None:
        real = getattr(whose, name)

        def noting(*values: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                ways.append(name)
            return real(*values)

        monkeypatch.setattr(whose, name, noting)

    class Calling:
        name, settings = "calling", {"model": "m"}

        def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
            for case in cases:
                before[:] = before or ways
                yield Verdict.from_case(case, self.name, (4.0,))

    before: list[str] = []
    with Ledger(postgres.database()) as ledger:
        noted(PostgresConnection, "together")
        noted(PostgresConnection, "execute")
        noted(Writer, "keep")
        noted(Postgres, "_connect_bare")
        (tally,) = judge_cases([Calling()], lambda _: docket(60), ledger)
    assert tally.finished_count == 60
    assert [way for way in before if way != "together"] == ["keep"]
    assert len(before) == 5 + 1, "one of them is asked nothing, and makes no way"


def test_cases_that_are_entered_wait_for_no_commit_of_a_far_ledger(postgres, monkeypatch):
    """Answers that come with a case were paid for by nobody here: only memory bounds them. Before, each 1,024 of them
    kept a run waiting."""
    if not hasattr(postgres, "port"):
        pytest.skip("the server that FULLBENCH_TEST_PG names may be anywhere: no slow line is laid to it")
    waits: list[int] = []
    commit = Writer._commit
    with slow_line(postgres.port, 0.001) as port, Ledger(far_off(postgres, port)) as ledger:
        with monkeypatch.context() as patched:
            patched.setattr(Writer, "_commit", lambda writer: (waits.append(writer._paid), commit(writer))[1])
            ledger.add(*docket(MOST + 100))
            assert waits == []
        assert len({case.key for case in ledger.cases(case.key for case in docket(MOST + 100))}) == MOST + 100


@pytest.mark.slow
def test_answers_too_go_to_a_far_ledger_without_holding_up_the_asking(postgres):
    """Contestants with a ledger 50 ms away each way: not one look into it for each answer."""
    if not hasattr(postgres, "port"):
        pytest.skip("the server that FULLBENCH_TEST_PG names may be anywhere: no slow line is laid to it")
    items = [Item.ask(f"i{number}", f"What is #{number}? 好") for number in range(100)]
    with (
        FakeServer(says="red", latency=0.02) as server,
        slow_line(postgres.port, 0.05) as port,
        Ledger(far_off(postgres, port)) as ledger,
    ):
        started = time.monotonic()
        models = [
            judge_contestant_and_benchmark_specs.contestant_from_spec(f"vllm:{name}@{server.url}?concurrency=64")
            for name in "ab"
        ]
        tallies = collect_answers(models, items, ledger)
        took = time.monotonic() - started
        assert [tally.finished_count for tally in tallies] == [100, 100]
        names = [model.name for model in models]
        answers = list(ledger.responses(names, item_keys=[item.key for item in items]))
        assert len({(found.item, found.contestant) for found in answers}) == len(answers) == 200
        assert not ledger.verify()
    assert took < 200 * 0.1, "as long as one way there and back for each answer would take"
