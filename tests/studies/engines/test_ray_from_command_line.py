"""Ray through the command line, in processes of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullbench import Case, Item, Response, Score
from fullbench.errors import EngineError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts, engine_from_spec
from fullbench.studies.engines.ray_worker import MAX_SILENCE_SECONDS
from fullbench.studies.run.judge_cases import judge_cases
from tests.studies.engines.billing import unheard
from tests.support.fake_chat_server import SERVED, FakeServer
from tests.support.ray_cluster import RayCluster, environment, installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(1) as running:
        yield running


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A test that fails leaves no run behind."""
    yield
    while STARTED:
        with STARTED.pop() as process:
            process.kill()


def written(folder: Path, count: int) -> None:
    with (folder / "items.jsonl").open("w") as items, (folder / "answers.jsonl").open("w") as answers:
        for number in range(count):
            items.write(json.dumps({"id": f"i{number}", "question": f"What is #{number}?"}) + "\n")
            answers.write(json.dumps({"item": f"i{number}", "contestant": "a", "text": "red"}) + "\n")


def command(folder: Path, url: str, where: str, *rest: str) -> subprocess.Popen[str]:
    """`fullbench judge` in a session of its own, as a terminal would have it."""
    words = [
        "judge",
        "--items",
        "items.jsonl",
        "--responses",
        "answers.jsonl",
        "--ballot",
        "score:1-5",
        "--json",
        *rest,
    ]
    words += ["--judge", f"vllm:{SERVED}@{url}?concurrency=16", "--ledger", "l.ledger", "--engine", where]
    run = [sys.executable, "-c", "from fullbench.cli import main; main()", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env = {**os.environ, **environment()}
    STARTED.append(subprocess.Popen(run, cwd=folder, env=env, text=True, **pipes, start_new_session=True))
    return STARTED[-1]


def kept(path: Path) -> set[str]:
    """The numbers of the cases whose verdicts are kept for good."""
    if not path.exists():
        return set()
    with Ledger(path, read_only=True) as ledger:
        return {verdict.item[1:] for verdict in ledger.verdicts()}


def when_kept(path: Path, count: int, process: subprocess.Popen[str]) -> set[str]:
    until = time.monotonic() + 120
    while len(found := kept(path)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def wait_for_silence(server: FakeServer) -> None:
    """Wait until workers whose run is gone have stopped: no call comes for longer than they wait for the run."""
    before = -1
    while (arrived := sum(server.books()["arrived"].values())) != before:
        before = arrived
        time.sleep(MAX_SILENCE_SECONDS + 2)


def said(process: subprocess.Popen[str], err: str) -> list[str]:
    """What a run that went well said, but for the nonce, which this server does not repeat."""
    assert process.returncode == 0, err
    return [line for line in err.splitlines() if "did not contain the check code" not in line]


def test_ray_starts_on_this_machine_and_leaves_nothing_behind(tmp_path):
    written(tmp_path, 60)
    with FakeServer(says="[[4]]") as server:
        process = command(tmp_path, server.url, "ray?min=2&max=2", "--quiet")
        out, err = process.communicate(timeout=200)
        assert said(process, err) == ["Called 60, reused 0, failed 0, cost $0.00."]
        assert json.loads(out)
        assert len(kept(tmp_path / "l.ledger")) == len(server.books()["answered"]) == 60
    left = [path for path in Path("/proc").glob("[0-9]*") if session(path) == process.pid]
    assert left == []


def session(path: Path) -> int | None:
    try:
        return os.getsid(int(path.name))
    except OSError:
        return None


def test_a_killed_run_goes_on_where_it_was(cluster, tmp_path):
    """kill -9 of the run itself: what was kept is not asked again, the rest is there in the end, each once."""
    count = 1_500
    written(tmp_path, count)
    with FakeServer(says="[[4]]", latency=0.05) as server:
        process = command(tmp_path, server.url, f"ray:{cluster.address}?min=2", "--quiet")
        when_kept(tmp_path / "l.ledger", 200, process)
        process.kill()
        process.communicate()
        done = kept(tmp_path / "l.ledger")
        wait_for_silence(server)
        assert 200 <= len(done) < count
        first = server.books()["arrived"]
        process = command(tmp_path, server.url, f"ray:{cluster.address}?min=2", "--quiet")
        _, err = process.communicate(timeout=250)
        due = count - len(done)
        assert said(process, err) == [f"Called {due:,}, reused {len(done):,}, failed 0, cost $0.00."]
        arrived = server.books()["arrived"]
        assert len(kept(tmp_path / "l.ledger")) == count
        assert {prompt for prompt, times in arrived.items() if times > 1} <= set(first) - done
        assert set(first) >= done
        answered_twice = sum(times - 1 for times in server.books()["answered"].values())
        with Ledger(tmp_path / "l.ledger", read_only=True) as ledger:
            assert len(list(ledger.verdicts())) == count
            assert not ledger.verify()
            assert unheard(ledger.bill(), server, dollars=0) == answered_twice <= len(set(first) - done)


def test_when_the_head_is_gone_the_run_says_so_at_once_and_loses_nothing(tmp_path):
    """kill -9 of the head's own process: before, a minute of silence, a line of C++, and a hundred calls unheard."""
    written(tmp_path, 6_000)
    with RayCluster(2) as cluster, FakeServer(says="[[4]]", latency=0.05) as server:
        process = command(tmp_path, server.url, f"ray:{cluster.address}?min=2", "--quiet")
        when_kept(tmp_path / "l.ledger", 200, process)
        (head,) = (pid for pid, title in cluster.nodes[0].processes().items() if b"gcs_server" in title)
        os.kill(head, signal.SIGKILL)
        _, err = process.communicate(timeout=250)
        assert process.returncode == 2, err
        # Ray itself takes a minute and says nothing of ours: whoever says this was the first to see it.
        assert "the head of the Ray cluster is gone; what was ruled until now is kept" in err
        wait_for_silence(server)
        arrived = sum(server.books()["arrived"].values())
        done = kept(tmp_path / "l.ledger")
        assert arrived - len(done) <= 2 * 16, "no more than what was in flight"
        with Ledger(tmp_path / "l.ledger", read_only=True) as ledger:
            assert not ledger.verify()
            assert 0 <= unheard(ledger.bill(), server, dollars=0) <= arrived - len(done)


def test_ctrl_c_waits_for_what_is_in_flight(cluster, tmp_path):
    """The signal goes to the whole foreground group, as a terminal sends it."""
    written(tmp_path, 3_000)
    with FakeServer(says="[[4]]", latency=0.1) as server:
        process = command(tmp_path, server.url, f"ray:{cluster.address}", "--quiet")
        when_kept(tmp_path / "l.ledger", 100, process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "waiting for the running calls" in err
        assert kept(tmp_path / "l.ledger") == set(server.books()["arrived"])


def test_ctrl_c_where_ray_was_started_here(tmp_path):
    """Ray's own processes are in the group that the terminal signals; they must stay until the calls have landed."""
    written(tmp_path, 3_000)
    with FakeServer(says="[[4]]", latency=0.1) as server:
        process = command(tmp_path, server.url, "ray", "--quiet")
        when_kept(tmp_path / "l.ledger", 100, process)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert (process.returncode, "waiting for the running calls" in err) == (130, True)
        assert kept(tmp_path / "l.ledger") == set(server.books()["arrived"])


def test_a_laptop_outside_the_cluster_may_drive_it(cluster, tmp_path):
    written(tmp_path, 60)
    with FakeServer(says="[[4]]") as server:
        process = command(tmp_path, server.url, f"ray://{cluster.client}", "--quiet")
        _, err = process.communicate(timeout=250)
        lines = [line for line in said(process, err) if "did not let us in, trying again" not in line]
        assert lines == ["Called 60, reused 0, failed 0, cost $0.00."]
        assert len(kept(tmp_path / "l.ledger")) == len(server.books()["answered"]) == 60


def kill_the_laptops_server(cluster: RayCluster, before: set[int], process: subprocess.Popen[str]) -> None:
    """Ray's head starts a process for each laptop that drives the cluster: kill it."""
    while process.poll() is None:
        for pid, title in cluster.nodes[0].processes().items():
            if pid not in before and b"specific-server" in title:
                os.kill(pid, signal.SIGKILL)
                return
        time.sleep(0.02)
    raise AssertionError("the run ended before it had a server")


def test_a_laptop_is_let_in_at_the_second_try(cluster, tmp_path):
    """The process that is started for a laptop sometimes dies at birth, or soon after: here it is killed."""
    written(tmp_path, 60)
    before = set(cluster.nodes[0].processes())
    with FakeServer(says="[[4]]") as server:
        process = command(tmp_path, server.url, f"ray://{cluster.client}", "--quiet")
        kill_the_laptops_server(cluster, before, process)
        _, err = process.communicate(timeout=250)
        assert (process.returncode, len(kept(tmp_path / "l.ledger"))) == (0, 60), err
        assert "did not let us in, trying again" in err
        assert len(server.books()["answered"]) == 60


def test_a_laptop_that_is_thrown_out_is_told_so_and_goes_on_later(cluster, tmp_path):
    written(tmp_path, 600)
    before = set(cluster.nodes[0].processes())
    with FakeServer(says="[[4]]", latency=0.2) as server:
        process = command(tmp_path, server.url, f"ray://{cluster.client}", "--quiet")
        done = when_kept(tmp_path / "l.ledger", 20, process)
        kill_the_laptops_server(cluster, before, process)
        _, err = process.communicate(timeout=250)
        assert (process.returncode, err.splitlines()[-1:]) == (
            2, ["fullbench: the connection to the Ray cluster was lost. Results are stored; run the same command again "
                "to continue"],
        ), err  # fmt: skip
        process = command(tmp_path, server.url, f"ray://{cluster.client}", "--quiet")
        _, err = process.communicate(timeout=250)
        assert (process.returncode, len(kept(tmp_path / "l.ledger"))) == (0, 600), err
        assert all(server.books()["arrived"][prompt] == 1 for prompt in done)


def test_every_command_that_asks_may_ask_from_a_cluster(cluster, tmp_path):
    """The same files come out as from this process, and the calls came from the cluster."""
    written(tmp_path, 12)
    with FakeServer(says="[[4]]") as server:
        model = f"vllm:m@{server.url}"
        asked = {
            "answer": ["--items", "items.jsonl", "--contestant", model],
            "rerank": ["--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", model, "--ballot",
                       "score:1-5"],
            "compose": ["rewrite", "--items", "items.jsonl", "--model", model, "--count", "1"],
        }  # fmt: skip
        for name, words in asked.items():
            for where in ("here", f"ray:{cluster.address}"):
                out = tmp_path / f"{name}-{where[:3]}.jsonl"
                more = ["--out", str(out), "--ledger", f"{name}-{where[:3]}.ledger", "--engine", where, "--quiet"]
                done = subprocess.run(
                    [sys.executable, "-c", "from fullbench.cli import main; main()", name, *words, *more],
                    cwd=tmp_path, env={**os.environ, **environment()}, text=True, capture_output=True, timeout=200,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr
            here, there = (
                sorted((tmp_path / f"{name}-{one}.jsonl").read_text().splitlines()) for one in ("her", "ray")
            )
            assert here == there
            assert here


COUNT = 3_000


def docket(_: object) -> Iterator[Case]:
    for number in range(COUNT):
        item = Item.ask(f"i{number}", f"What is #{number}?")
        yield Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


def test_machines_that_come_are_used_and_those_that_go_are_not_missed(cluster, tmp_path):
    """One machine, a second joins in the middle, and is killed again: two workers at the height, all verdicts once."""
    seen: list[int] = []

    class Watch:
        node = None

        def step(self, tally: JobCounts) -> None:
            if not seen or seen[-1] != tally.workers:
                seen.append(tally.workers)
            if tally.finished_count == 100:
                self.node = cluster.add()
                self.node.wait()
            if tally.workers == 2 and self.node is not None and tally.finished_count % 500 == 0:
                self.node.kill()
                self.node = None

    with FakeServer(says="[[4]]", latency=0.2) as server, Ledger(tmp_path / "l.ledger") as ledger:
        spec = f"vllm:m@{server.url}?concurrency=40"
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
        with engine_from_spec(f"ray:{cluster.address}") as joined:
            (tally,) = judge_cases([judge], docket, ledger, engine=joined, specs={judge.name: spec}, watch=Watch())
        assert tally.finished_count == len(list(ledger.verdicts())) == COUNT
        books = server.books()
        assert set(books["answered"]) == {str(number) for number in range(COUNT)}
        assert unheard(ledger.bill(), server, dollars=0) == sum(books["answered"].values()) - COUNT
    assert seen[0] == 1
    assert 2 in seen
    assert seen[-1] == 1


class Scoring:
    """Stands in for a score model: says which GPU it was given, and takes its time, so that a second one is needed."""

    def __init__(self) -> None:
        self.name, self.settings, self.scorer = "scoring", {}, self
        self.device = "auto"

    def judge(self, cases):
        from fullbench import Verdict

        for case in cases:
            time.sleep(0.05)
            yield Verdict.from_case(case, self.name, (3.0,), text=os.environ.get("CUDA_VISIBLE_DEVICES", "none"))


def test_a_score_model_gets_a_gpu_of_its_own(tmp_path):
    """The GPUs are declared, not real: what is proved is who is given which."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        with (
            RayCluster(1, "--num-gpus=2") as running,
            engine_from_spec(f"ray:{running.address}") as joined,
            Ledger(tmp_path / "l.ledger") as ledger,
        ):
            judge_cases([Scoring()], docket, ledger, engine=joined)
            assert {verdict.text for verdict in ledger.verdicts()} == {"0", "1"}
    finally:
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


class Threading(Scoring):
    """Says how many threads torch and its like would take."""

    def judge(self, cases):
        from fullbench import Verdict

        for case in cases:
            yield Verdict.from_case(case, self.name, (3.0,), text=os.environ.get("OMP_NUM_THREADS", "none"))


def test_a_score_model_without_a_gpu_gets_the_cores_of_its_machine(cluster, tmp_path):
    """Ray gives a worker of a tenth of a core one thread: a score model took one core of 64."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        with Ledger(tmp_path / "l.ledger") as ledger, engine_from_spec(f"ray:{cluster.address}") as joined:
            judge_cases([Threading()], docket, ledger, engine=joined)
            assert {verdict.text for verdict in ledger.verdicts()} == {"2"}
    finally:
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


class Sour(Scoring):
    """Goes off on the way."""

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        return int, ("sour",)


def test_a_judge_that_kills_its_workers_is_told_in_one_sentence(cluster, tmp_path):
    with (
        Ledger(tmp_path / "l.ledger") as ledger,
        engine_from_spec(f"ray:{cluster.address}") as joined,
        pytest.raises(EngineError, match=r"5 workers in a row died before any verdict \(.*'sour'"),
    ):
        judge_cases([Sour()], docket, ledger, engine=joined)
