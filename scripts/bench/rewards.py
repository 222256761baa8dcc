"""Rewards from `serve-judge` for 8 workers, with a ledger; and the bare calls of the same judge, in one run."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.fake_chat_server import FakeServer

import fullbench
from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.rewards.training_prompts_as_items_and_responses import reward_rows
from scripts.bench import Row, Target

LATENCY, WORKERS, BATCH = 0.5, 8, 16


def bare_calls(spec: str, count: int) -> float:
    """Verdicts per second of the judge alone: no server, no ledger."""
    judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
    rows = reward_rows([f"bare #{number}" for number in range(count)], ["an answer"] * count, {}, "policy")
    start = time.perf_counter()
    outcomes = list(judge.judge(Case(item, (response,), ballot("score:1-5")) for item, response in rows))
    assert len(outcomes) == count
    return count / (time.perf_counter() - start)


def served_rewards(spec: str, count: int, folder: Path) -> float:
    """Rewards per second: 8 workers that send batches of 16 to a server in a process of its own."""
    words = ["-m", "fullbench", "serve-judge", spec, "--ballot", "score:1-5", "--port", "0"]
    with subprocess.Popen([sys.executable, *words], cwd=folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            done, seconds = _time_rewards(_address_of(server), count)
        finally:
            server.terminate()  # without it, leaving the block waits for ever after an error
    assert done == count
    return count / seconds


def _address_of(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    line = server.stderr.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+(?=;)", line)
    assert address is not None, f"no address in {line!r}"
    return address[0]


def _time_rewards(url: str, count: int) -> tuple[int, float]:
    reward = fullbench.reward(url=url, failed=-1.0)
    batches = [range(start, start + BATCH) for start in range(0, count, BATCH)]

    def work(batch: range) -> int:
        return len(reward([f"served #{number}" for number in batch], ["an answer"] * len(batch)))

    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(work, [range(count, count + BATCH)] * WORKERS))  # imports and connections
        start = time.perf_counter()
        done = sum(workers.map(work, batches))
        return done, time.perf_counter() - start


def main() -> list[Row]:
    return rewards_and_bare_calls(2_048)


def rewards_and_bare_calls(count: int) -> list[Row]:
    with FakeServer(quick=True, latency=LATENCY) as fake, tempfile.TemporaryDirectory() as folder:
        spec = f"vllm:judge@{fake.url}?mode=direct&concurrency={WORKERS * BATCH}"
        bare = bare_calls(spec, count)
        served = served_rewards(spec, count, Path(folder))
    what = f"rewards of {WORKERS} workers through serve-judge, ledger on, {LATENCY:g} s latency"
    return [Row.of(what, served, bare, "bare judge calls", "1/s", target=Target(0.9, least=True), more=True)]
