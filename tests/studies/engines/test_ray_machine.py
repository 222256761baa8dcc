"""The machine that drives a cluster loses its power: its Ray node, its run, its connections, and no goodbye."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fullbench import Case, Item, Picture, Response, Score
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import engine_from_spec
from fullbench.studies.engines.ray_worker import AHEAD
from fullbench.studies.run.judge_cases import judge_cases
from tests.studies.engines.billing import DOLLARS, PRICED, unheard
from tests.support.data_builders import png
from tests.support.fake_chat_server import FakeServer
from tests.support.network_namespaces import Machine, Network, possible
from tests.support.postgres import Postgres, programs
from tests.support.ray_cluster import RayCluster, environment, installed
from tests.support.wait_until import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it"),
    pytest.mark.skipif(programs() is None, reason="no PostgreSQL server on this machine"),
    pytest.mark.skipif(not possible(), reason="machines of their own are made by root on Linux alone"),
]

ITEMS, CONTESTANTS, IN_FLIGHT, LATENCY = 600, ("ann", "博"), 16, 0.2
CASES = ITEMS * len(CONTESTANTS)


def number_of(item: int, contestant: str) -> str:
    """Each answer has a number of its own, by which the servers know its case."""
    return str(item * len(CONTESTANTS) + CONTESTANTS.index(contestant))


def written(folder: Path) -> None:
    with (folder / "items.jsonl").open("w") as items, (folder / "answers.jsonl").open("w") as answers:
        for item in range(ITEMS):
            items.write(json.dumps({"id": f"i{item}", "question": "What is it? 好"}) + "\n")
            for contestant in CONTESTANTS:
                text = f"A square, #{number_of(item, contestant)}"
                answers.write(json.dumps({"item": f"i{item}", "contestant": contestant, "text": text}) + "\n")


def judged(machine: Machine, folder: Path, engine: str, ledger: str, urls: list[str]) -> subprocess.Popen[str]:
    """`fullbench judge` on a machine: two judges, each with a server of its own."""
    words = ["judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--quiet"]
    for name, url in zip("xy", urls, strict=True):
        words += ["--judge", f"vllm:{name}@{url}?concurrency={IN_FLIGHT}&{PRICED}"]
    words += ["--ledger", ledger, "--pictures", str(folder / "pictures"), "--engine", engine]
    run = machine.command(sys.executable, "-c", "from fullbench.cli import main; main()", *words)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(run, cwd=folder, env={**os.environ, **environment()}, text=True, **pipes)


def kept(ledger: str) -> dict[str, set[str]]:
    """The numbers of the cases on which each judge has ruled for good."""
    with Ledger(ledger, read_only=True) as book:
        rulings: dict[str, set[str]] = {"x": set(), "y": set()}
        for verdict in book.verdicts():
            number = number_of(int(verdict.item[1:]), verdict.contestants[0])
            judge = verdict.judge[0]
            assert number not in rulings[judge], "no case was ruled on twice"
            rulings[judge].add(number)
        return rulings


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_the_drivers_machine_is_lost_and_the_same_command_goes_on_from_another(stack, tmp_path):
    """Three nodes; the ledger on a database server, the models on servers of their own."""
    written(tmp_path)
    network = stack.enter_context(Network())
    database = stack.enter_context(Postgres(host=network.host)).database()
    servers = [stack.enter_context(FakeServer(says="[[4]]", latency=LATENCY, host=network.host)) for _ in range(2)]
    cluster = stack.enter_context(RayCluster(1, host=network.host))
    first, second = network.machine(), network.machine()
    for machine in (first, second):
        cluster.add(machine).wait()
    run = (tmp_path, f"ray:{cluster.address}?min=3", database, [server.url for server in servers])

    process = judged(first, *run)
    until(lambda: process.poll() is not None or all(len(server.books()["answered"]) > 200 for server in servers))
    assert process.poll() is None, process.communicate()
    first.lose_power()
    process.communicate()
    before = kept(database)
    assert all(0 < len(rulings) < CASES for rulings in before.values())

    refused = judged(second, *run)
    _, err = refused.communicate(timeout=120)
    sent = [set(server.books()["arrived"]) for server in servers]
    if refused.returncode:  # the database has not yet missed the machine
        assert refused.returncode == 2, err
        assert "is being asked by process" in err
        assert "a machine that was lost lets go after 25 s" in err

    def resumed() -> str:
        process = judged(second, *run)
        _, err = process.communicate(timeout=300)
        assert not process.returncode or "is being asked by process" in err, err
        return "" if process.returncode else err

    err = until(resumed) if refused.returncode else err
    known = sum(map(len, before.values()))
    asked = 2 * CASES - known
    said = err.splitlines()[-1]
    assert said.startswith(f"Called {asked:,}, reused {known:,}, failed 0, cost $")
    assert float(said.rpartition("$")[2].rstrip(".")) == pytest.approx(asked * DOLLARS, rel=1e-3)
    check(database, before, sent, servers)


SHOWN, SIZE = 30, 1_000_000


def showing(pictures: list[Picture]) -> Iterator[Case]:
    """Several cases of each picture, so that every worker sees all of them."""
    for number in range(SHOWN * len(pictures)):
        item = Item.ask(f"i{number}", f"What is #{number}?", pictures[number % len(pictures)])
        yield Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


def test_a_picture_goes_once_to_a_machine_however_many_judges_see_it_there(stack, tmp_path):
    """Three judges, each with a worker on the other machine: counted on its cable."""
    pictures = [Picture.from_bytes(png((number, 0, 0)) + os.urandom(SIZE)) for number in range(12)]
    network = stack.enter_context(Network())
    server = stack.enter_context(FakeServer(says="[[4]]", latency=0.5, host=network.host))
    cluster = stack.enter_context(RayCluster(1, host=network.host))
    machine = network.machine()
    cluster.add(machine).wait()
    judged_by = {f"vllm:{name}@{server.url}?concurrency=8" for name in "xyz"}
    judges = {judge_contestant_and_benchmark_specs.judge_from_spec(spec).name: spec for spec in judged_by}
    ledger = stack.enter_context(Ledger(tmp_path / "l.ledger"))
    joined = stack.enter_context(engine_from_spec(f"ray:{cluster.address}"))
    before = machine.received()
    judge_cases(
        [judge_contestant_and_benchmark_specs.judge_from_spec(spec) for spec in judges.values()],
        lambda _: showing(pictures),
        ledger,
        engine=joined,
        specs=judges,
    )
    received = machine.received() - before
    assert len(list(ledger.verdicts())) == 3 * SHOWN * len(pictures)
    # Replies, what the cluster says of itself, and that uploads arrived, come over the same cable.
    assert 1 < received / (len(pictures) * SIZE) < 1.6, "without the store it is three times: once for each judge"


def check(ledger: str, before: dict[str, set[str]], sent: list[set[str]], servers: list[FakeServer]) -> None:
    """Every case is ruled on once by each judge, the bill is what these rulings cost, and what the servers answered
    beyond it is what was in flight, or in the hands of workers elsewhere, when the machine was lost."""
    assert all(len(rulings) == CASES for rulings in kept(ledger).values())
    with Ledger(ledger, read_only=True) as book:
        assert not book.verify()
        bill = [account for account in book.bill() if account.role == "judge"]
    for account, rulings, asked_before, server in zip(bill, before.values(), sent, servers, strict=True):
        lost = unheard([account], server)
        assert account.output_count == CASES
        books = server.books()
        assert set(books["answered"]) == {str(number) for number in range(CASES)}
        again = {number for number, times in books["arrived"].items() if times > 1}
        assert again <= asked_before - rulings, "nothing was asked twice that had been kept"
        # Each of three workers works off what it holds, while it does not know that nobody listens.
        assert 0 <= lost <= len(again) <= IN_FLIGHT + 3 * 2 * AHEAD
