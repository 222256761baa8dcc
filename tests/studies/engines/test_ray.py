from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from fullbench import Case, Item, Response, Score, Verdict
from fullbench.core.model_call import Call
from fullbench.errors import EngineError, ModelError
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import Budget, Engine, JobCounts, Stop
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study
from tests.studies.engines.billing import PRICED, unheard
from tests.support.data_builders import png
from tests.support.fake_chat_server import FakeServer
from tests.support.ray_cluster import RayCluster, RayNode, installed

pytestmark = pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it")


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(2) as running:
        yield running


@pytest.fixture(scope="module")
def engine(cluster: RayCluster) -> Iterator[Engine]:
    """Three workers at least, on two machines."""
    from fullbench.studies.engines import engine_from_spec

    with engine_from_spec(f"ray:{cluster.address}?min=3") as joined:
        yield joined


def case(number: int) -> Case:
    item = Item.ask(f"i{number}", f"What is #{number}? 好")
    return Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


def docket(count: int) -> Callable[[object], Iterator[Case]]:
    return lambda _: map(case, range(count))


class Watching:
    """Does something once, when so many verdicts are kept and it can be done; sees how many workers there were."""

    def __init__(self, at: int = 0, do: Callable[[], bool] = lambda: True) -> None:
        self._at, self._do = at, do
        self.over = False
        self.workers = 0

    def step(self, tally: JobCounts) -> None:
        self.workers = max(self.workers, tally.workers)
        if tally.finished_count >= self._at and not self.over:
            self.over = self._do()


def ruled(ledger: Ledger, spec: str, count: int, engine: Engine, **rest: object) -> JobCounts:
    return heard(ledger, spec, docket(count), engine, **rest)


def heard(
    ledger: Ledger, spec: str, cases: Callable[[object], Iterator[Case]], engine: Engine, **rest: object
) -> JobCounts:
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    (tally,) = judge_cases([judge], cases, ledger, engine=engine, specs={judge.name: spec}, **rest)
    return tally


def bare(call: Call) -> Call:
    return replace(call, id="", nonce="", at=0.0, usage=replace(call.usage, seconds=0.0))


def plain(verdicts: Iterator[Verdict]) -> list[Verdict]:
    """Verdicts without the time they took, and without the random ids and nonces of their calls."""
    kept = (
        replace(
            verdict, at=0.0, usage=replace(verdict.usage, seconds=0.0), exchanges=tuple(map(bare, verdict.exchanges))
        )
        for verdict in verdicts
    )
    return sorted(kept, key=lambda verdict: (verdict.judge, verdict.case, verdict.trial))


def test_a_study_on_a_cluster_gives_what_it_gives_here(engine, tmp_path):
    engine = type(engine)(engine._ray, engine._cluster_run, 1, 1)
    (tmp_path / "p.png").write_bytes(png())
    with (tmp_path / "items.jsonl").open("w") as items:
        for number in range(12):
            items.write(f'{{"id": "i{number}", "question": "What is #{number}? 好", "image": "p.png"}}\n')
    # a judge that ruled in the very words of an answer would not be heard: they have servers of their own
    with FakeServer(says="a red square") as server, FakeServer(says="The first is right. [[A]]") as bench:
        study = Study(
            "both", items=tmp_path / "items.jsonl", ballots=("choice",), trials=2,
            contestants=(f"vllm:one@{server.url}", "offline:echo"),
            judges=(f"vllm:m@{bench.url}?mode=direct", "chance"),
        )  # fmt: skip
        found = []
        for name, where in (("here", None), ("ray", engine)):
            with Ledger(tmp_path / f"{name}.ledger") as ledger:
                given = {} if where is None else {"engine": where}
                done = StudyRun(study).execute(ledger, quiet=True, **given)
                said = sorted((r.contestant, r.item, r.sample, r.text) for r in ledger.responses())
                tables = [(table.name, table.rows) for table in done.tables if table.name != "costs"]
                found.append((plain(ledger.verdicts()), said, tables))
                assert not ledger.verify()
    assert len(found[0][0]) == 12 * 2 * 2 * 2
    assert found[0] == found[1]


def test_a_ruling_is_asked_for_with_its_nonce_on_every_machine(engine, tmp_path):
    with FakeServer(says="[[4]]") as server, Ledger(tmp_path / "l.ledger") as ledger:
        ruled(ledger, f"vllm:m@{server.url}", 60, engine)
        rulings = [(verdict, verdict.exchanges[-1].nonce) for verdict in ledger.verdicts()]
        assert len(rulings) == 60
        for verdict, nonce in rulings:
            assert nonce == nonce_of(ledger.salt, verdict.case, verdict.trial)
        _, last = server.last()
    asked = json.dumps(last, ensure_ascii=False)
    assert sum(nonce in asked for _, nonce in rulings) == 1, "what was sent has the nonce of its case and no other"


def test_a_limit_is_one_for_all_workers(engine, tmp_path):
    rpm, count = 1_200, 100
    with FakeServer(says="[[4]]") as server, Ledger(tmp_path / "l.ledger") as ledger:
        watch = Watching()
        tally = ruled(ledger, f"vllm:m@{server.url}?rpm={rpm}", count, engine, watch=watch)
        at = sorted(server.books()["arrivals"])
    assert (tally.finished_count, watch.workers) == (count, 3)
    a_second = rpm / 60
    for first in range(count):
        for last in range(first, count):
            assert last - first + 1 <= (at[last] - at[first]) * a_second + 1.5 * a_second


def test_a_ceiling_is_one_for_all_workers(engine, tmp_path):
    with FakeServer(says="[[4]]", latency=0.05) as server, Ledger(tmp_path / "l.ledger") as ledger:
        tally = ruled(ledger, f"vllm:m@{server.url}?concurrency=7", 150, engine)
        assert tally.finished_count == 150
        assert 4 <= server.books()["most"] <= 7


def test_a_budget_is_one_for_all_workers(engine, tmp_path):
    with FakeServer(says="[[4]]") as server, Ledger(tmp_path / "l.ledger") as ledger:
        spec = f"vllm:m@{server.url}?price_in=100&price_out=0"
        tally = ruled(ledger, spec, 100, engine, budget=Budget(0.405, guess=0.01))
        assert (tally.finished_count, tally.stop_reason) == (40, "the budget of $0.405 is spent")
        assert len(server.books()["answered"]) == 40
        (account,) = (account for account in ledger.bill() if account.usage.calls)
        assert account.usage.dollars == pytest.approx(0.4)


def test_retries_count_live_against_a_budget(engine, tmp_path):
    """Every second reply is paid for and broken: workers that have 8 in flight together stop trying again in time."""
    with FakeServer({"empty": 0.5}, seed=2, says="[[4]]", latency=0.02) as server:
        spec = f"vllm:m@{server.url}?price_in=10000&price_out=0&concurrency=8&attempts=6&backoff=0.01&mode=direct"
        with Ledger(tmp_path / "l.ledger") as ledger:
            tally = ruled(ledger, spec, 300, engine, budget=Budget(20.0, guess=1.0))
            answered = sum(server.books()["answered"].values())
            (account,) = (account for account in ledger.bill() if account.usage.calls)
    assert tally.stop_reason == "the budget of $20 is spent"
    assert account.usage.calls == answered
    in_half_a_second = 0.5 / 0.02 * 8  # workers hear of it with their next turn
    assert 15 < (account.usage.dollars or 0) <= 20 + 8 + in_half_a_second


OWN = """
from dataclasses import dataclass
from fullbench import Verdict

@dataclass(frozen=True)
class Own:
    name: str = "own"
    @property
    def settings(self):
        return {}
    def judge(self, cases):
        for case in cases:
            yield Verdict.from_case(case, self.name, (3.0,))

def score(prompt, image):
    return 0.5
"""


def test_a_judge_of_ones_own_module_travels_and_what_cannot_names_the_worker(engine, tmp_path, monkeypatch):
    """The module lies beside the run and is installed nowhere. Its object is sent with its code; its name alone means
    nothing to a worker, which says so and where."""
    (tmp_path / "beside_the_run.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    own = import_module("beside_the_run").Own()
    spec = "scorer:beside_the_run:score?span=0,1"
    with Ledger(tmp_path / "l.ledger") as ledger:
        (tally,) = judge_cases([own], docket(40), ledger, engine=engine)
        assert (tally.finished_count, {verdict.marks for verdict in ledger.verdicts("own")}) == (40, {(3.0,)})
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
        told = r"the worker on \S+ \(node \w{8}\) cannot create the model or judge: .*beside_the_run"
        with pytest.raises(EngineError, match=told):
            judge_cases([judge], docket(4), ledger, engine=engine, specs={judge.name: spec})


def test_stopping_waits_for_what_is_in_flight_and_asks_nothing_more(engine, tmp_path):
    stop = Stop()
    with FakeServer(says="[[4]]", latency=0.1) as server, Ledger(tmp_path / "l.ledger") as ledger:
        watch = Watching(30, lambda: not stop.pull("interrupted"))
        tally = ruled(ledger, f"vllm:m@{server.url}", 2_000, engine, stop=stop, watch=watch)
        answered = server.books()["answered"]
        assert tally.stop_reason == "interrupted"
        assert 30 <= tally.finished_count < 500
        assert (tally.started_count, len(answered), len(ledger.record())) == (tally.finished_count,) * 3


def test_what_makes_every_call_fail_is_told_in_one_sentence(engine, tmp_path):
    with (
        FakeServer({"401": 1.0}) as server,
        Ledger(tmp_path / "l.ledger") as ledger,
        pytest.raises(ModelError, match="key"),
    ):
        ruled(ledger, f"vllm:m@{server.url}", 50, engine)


def test_a_judge_that_cannot_travel_is_told_in_one_sentence(engine, tmp_path):
    class Here:
        name, settings = "here", {}

        def __init__(self) -> None:
            self.file = (tmp_path / "open").open("w")

        def judge(self, cases):
            yield from ()

    judge = Here()
    with Ledger(tmp_path / "l.ledger") as ledger, pytest.raises(EngineError, match="cannot be sent"):
        judge_cases([judge], docket(1), ledger, engine=engine)
    judge.file.close()


class Killing(Watching):
    """Kills when all three workers are there, and remembers what was sent to the server and what was kept by then."""

    def __init__(self, at: int, node: RayNode, kill: Callable[[], None], server: FakeServer, path: Path) -> None:
        super().__init__(at, self._once)
        self._node, self._kill, self._server, self._path = node, kill, server, path
        self.kept: set[str] = set()
        self.sent: set[str] = set()

    def _once(self) -> bool:
        if self.workers < 3 or not self._node.workers():
            return False
        with Ledger(self._path, read_only=True) as book:
            self.kept = {verdict.item[1:] for verdict in book.verdicts()}
        self._kill()
        self.sent = set(self._server.books()["arrived"])
        return True

    def docket(self, _: object) -> Iterator[Case]:
        """Cases until the kill, and some hundreds more."""
        left = 400
        for number in range(100_000):
            left -= self.over
            if not left:
                return
            yield case(number)


def check_kill(watch: Killing, server: FakeServer, ledger: Ledger, tally: JobCounts) -> None:
    """Every verdict once, and nothing asked twice that was not in flight."""
    count = tally.started_count
    assert tally.finished_count == count > len(watch.kept) > 0
    verdicts = list(ledger.verdicts())
    assert len(verdicts) == len({verdict.case for verdict in verdicts}) == count
    assert not ledger.verify()
    books = server.books()
    assert set(books["answered"]) == {str(number) for number in range(count)}
    twice = {prompt for prompt, times in books["arrived"].items() if times > 1}
    assert twice <= watch.sent - watch.kept
    answered_twice = sum(times - 1 for times in books["answered"].values())
    assert unheard(ledger.bill(), server) == answered_twice <= len(twice)


@pytest.mark.slow
def test_a_killed_worker_costs_what_was_in_flight(engine, cluster, tmp_path):
    path, node = tmp_path / "l.ledger", cluster.nodes[1]
    with FakeServer(says="[[4]]", latency=0.1) as server, Ledger(path) as ledger:
        watch = Killing(100, node, lambda: os.kill(node.workers()[0], signal.SIGKILL), server, path)
        tally = heard(ledger, f"vllm:m@{server.url}?concurrency=30&{PRICED}", watch.docket, engine, watch=watch)
        check_kill(watch, server, ledger, tally)


def test_a_killed_machine_costs_what_was_in_flight(engine, cluster, tmp_path, capfd, caplog):
    path, node = tmp_path / "l.ledger", cluster.nodes[1]
    with FakeServer(says="[[4]]", latency=0.1) as server, Ledger(path) as ledger:
        watch = Killing(100, node, node.kill, server, path)
        tally = heard(ledger, f"vllm:m@{server.url}?concurrency=30&{PRICED}", watch.docket, engine, watch=watch)
        check_kill(watch, server, ledger, tally)
    assert capfd.readouterr().out == ""
    assert "a worker died" in caplog.text
    assert "what it had asked of them its server charges for, and no bill here has it" in caplog.text
