"""Whole processes of `fullbench judge` on everyday questions and replies, next to the OpenAI SDK's bare calls.

Questions have 20 to 400 words and a picture of 40 KB each, replies 40 to 250 words. Rounds alternate between all
commands, and the least CPU of each counts, so that a ratio means something on a busy machine.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from pathlib import Path

from tests.support.fake_chat_server import FakeServer

from scripts.bench import Row, Target
from scripts.bench.calls import LATENCY, ROOT
from scripts.bench.clients import ANSWER, everyday_question, jpeg
from scripts.bench.peers import python_of
from scripts.bench.report import cost

CALLS, WIDTH, ROUNDS = 2_000, 64, 3
RUNS = {
    "score, check code": ("score:1-5", "yes"), "score": ("score:1-5", "no"),
    "choice, check code": ("choice", "yes"), "choice": ("choice", "no"),
}  # fmt: skip


def write_study(folder: Path, calls: int) -> None:
    """Write items with a picture each and two responses to each: `calls` cases for any ballot, in both orders."""
    items, answers = [], []
    for number in range(calls // 2):
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
        items.append({"id": f"i{number}", "prompt": everyday_question(number), "pictures": [f"{number}.jpg"]})
        answers += [{"item": f"i{number}", "contestant": name, "text": f"{ANSWER} {name}"} for name in ("one", "two")]
    for name, rows in (("items", items), ("responses", answers)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def judge_command(url: str, ballot: str, check_code: str, ledger: str) -> list[str]:
    spec = f"vllm:judge@{url}?mode=direct&check_code={check_code}&concurrency={WIDTH}"
    files = ["--items", "items.jsonl", "--responses", "responses.jsonl", "--ledger", ledger, "--quiet"]
    return [sys.executable, "-m", "fullbench", "judge", *files, "--ballot", ballot, "--judge", spec]


def cpu() -> list[Row]:
    """CPU of a verdict, start-up and tables included."""
    python = python_of("openai")
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name, FakeServer(quick=True, wordy=True) as server:
        folder = Path(name)
        write_study(folder, CALLS)
        for turn in range(ROUNDS):
            for run, (ballot, check_code) in RUNS.items():
                command = judge_command(server.url, ballot, check_code, f"{turn}-{run.replace(' ', '-')}.ledger")
                least[run] = min(least.get(run, math.inf), cost(command, folder)[0])
            for transport in ("httpx", "aiohttp") if python is not None else ():
                words = [str(ROOT / "scripts" / "bench" / "clients.py"), f"sdk-{transport}", server.url, str(CALLS)]
                used = cost([str(python), *words, str(WIDTH)], folder)[0]
                least[transport] = min(least.get(transport, math.inf), used)
    per_call = {run: seconds / CALLS * 1000 for run, seconds in least.items()}
    what = f"whole process, {CALLS:,} verdicts with pictures"
    return [
        Row.of(f"{what}, {run}", per_call[run], per_call[peer], f"OpenAI SDK, {peer}", "ms of CPU", target=target)
        for run in RUNS
        for peer, target in (("httpx", Target(0.25)), ("aiohttp", None))
        if peer in per_call
    ]


def wall(few: int = 2, many: int = 4_000) -> list[Row]:
    """Wall time beyond start-up at 50 ms latency and 64 in flight."""
    took = {}
    with FakeServer(quick=True, wordy=True, latency=LATENCY) as server:
        for calls in (few, many):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_study(folder, calls)
                started = time.perf_counter()
                cost(judge_command(server.url, "score:1-5", "yes", "x.ledger"), folder)
                took[calls] = time.perf_counter() - started
    ideal = (many - few) / WIDTH * LATENCY
    what = f"{many:,} verdicts at 50 ms latency, {WIDTH} in flight, wall beyond start-up"
    return [Row.of(what, took[many] - took[few], ideal, "ideal", "s", target=Target(1.4))]


def main() -> list[Row]:
    """All rows."""
    return [*cpu(), *wall()]
