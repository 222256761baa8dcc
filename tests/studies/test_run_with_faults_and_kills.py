"""A run among faults and kills: paid calls are billed, stored verdicts are not requested again."""

from __future__ import annotations

import json
import math
import multiprocessing
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fullbench import Case, Item, Judge, Response, Score, Verdict
from fullbench.core.judge import prompts_of
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts
from fullbench.studies.run.judge_cases import judge_cases
from tests.support.fake_chat_server import Books, FakeServer
from tests.support.forked_command import PRELOADED

PLAN = {
    "429": 0.04, "429after": 0.02, "429date": 0.01, "500": 0.04, "503": 0.03, "529": 0.01, "reset": 0.04, "cut": 0.03,
    "short": 0.02, "empty": 0.02, "html": 0.01, "mime": 0.01, "soft": 0.01, "hang": 0.005, "drip": 0.005,
}  # fmt: skip


def docket(count: int) -> Iterator[Case]:
    for number in range(count):
        item = Item.ask(f"i{number}", f"What is #{number}? 好")
        yield Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


def test_among_thirty_percent_faults_every_case_ends_and_every_call_is_billed(tmp_path):
    """Three attempts are too few for some: those fail honestly, are due again, and the next runs ask for them alone."""
    count, attempts, seed = 200, 3, 223
    assert sum(PLAN.values()) == pytest.approx(0.3)
    with FakeServer(PLAN, seed=seed, says="[[4]]") as server, Ledger(tmp_path / "l.ledger") as ledger:
        wire = f"attempts={attempts}&backoff=0.005&timeout=2&rest=0.05&price_in=1&price_out=2"
        judge = judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{server.url}?{wire}")
        runs: list[JobCounts] = []
        while not runs or runs[-1].failure_count:
            runs += judge_cases([judge], lambda _: docket(count), ledger)
            assert runs[-1].stored_count + runs[-1].finished_count + runs[-1].failure_count == count
            assert len(runs) < 12
        books = server.books()
        (account,) = (account for account in ledger.bill() if account.role == "judge")
        verdicts = list(ledger.verdicts())
    assert len(verdicts) == len({verdict.case for verdict in verdicts}) == count
    assert {verdict.marks for verdict in verdicts} == {(4.0,)}
    assert runs[0].failure_count > 0
    assert [run.stored_count for run in runs[1:]] == [run.stored_count + run.finished_count for run in runs[:-1]]
    assert max(books["attempts"].values()) <= attempts * len(runs)
    assert set(books["sent"]) == {"good", *PLAN}, "every fault was met"
    assert account.usage.calls == sum(books["answered"].values())
    assert account.usage.calls + account.usage.retries == sum(books["attempts"].values())
    heard = {case.item.id: case for case in docket(count)}
    sizes = {verdict.item[1:]: estimated(judge, heard[verdict.item], verdict) for verdict in verdicts}
    tokens = [billed(kind, sizes[prompt]) for prompt, kind in drawn(books["attempts"], seed=seed)]
    assert account.usage.tokens_in == sum(tokens_in for tokens_in, _ in tokens)
    assert account.usage.tokens_out == sum(tokens_out for _, tokens_out in tokens)
    assert account.usage.dollars == pytest.approx(sum(1 * read + 2 * said for read, said in tokens) / 1e6)


def drawn(attempts: dict[str, int], *, seed: int) -> Iterator[tuple[str, str]]:
    """What became of every attempt: the server draws it from the seed, the prompt and the number of the attempt."""
    again = Books(PLAN, seed)
    for prompt, times in attempts.items():
        for _ in range(times):
            yield prompt, again.fault(prompt)


def billed(kind: str, size: int) -> tuple[int, int]:
    """Tokens in and out: what the server counts, of a reply without an answer too; of one that brings no count, what
    was sent; else nothing."""
    if kind in {"", "mime", "empty"}:
        return 100, 20
    return (size, 0) if kind in {"cut", "short", "html", "drip", "soft"} else (0, 0)


def estimated(judge: Judge, case: Case, verdict: Verdict) -> int:
    """About how many tokens a prompt takes: four plain letters, or one other, and four for a turn."""
    (prompt,) = prompts_of(judge, case.with_nonce(verdict.exchanges[-1].nonce))
    texts = [part for turn in prompt.turns for part in turn.parts]
    plain = [sum(letter.isascii() for letter in text) for text in texts]
    others = sum(map(len, texts)) - sum(plain)
    return 4 * len(prompt.turns) + sum(math.ceil(letters / 4) for letters in plain) + others


NURSERY = multiprocessing.get_context("forkserver")
"""Runs that are killed start from a process that has imported everything: a hundred starts would take minutes else."""
NURSERY.set_forkserver_preload([*PRELOADED, __name__])


def run(url: str, path: Path | str, count: int) -> None:
    with Ledger(path) as ledger:
        judge_cases(
            [judge_contestant_and_benchmark_specs.judge_from_spec(f"vllm:m@{url}?concurrency=64")],
            lambda _: docket(count),
            ledger,
        )


def kept(path: Path | str) -> set[str]:
    with Ledger(path, read_only=True) as ledger:
        return {verdict.item[1:] for verdict in ledger.verdicts()}


def kill_and_count(path: Path | str, *, count: int, kills: int, seed: int) -> None:
    """Kill a run at random moments, start it again each time, and look into both books after every kill."""
    rng = random.Random(seed)
    in_flight: Counter[str] = Counter()
    before: set[str] = set()
    with FakeServer(says="[[4]]", latency=0.01, answers=0) as server:
        for kill in range(kills + 1):
            process = NURSERY.Process(target=run, args=(server.url, path, count))
            process.start()
            if kill == kills:
                server.more()
                process.join(300)
                assert process.exitcode == 0
                break
            most = count * (kill + 1) // (kills + 1)
            target = rng.randint(len(before) + 1, max(len(before) + 1, most))
            server.more(target - len(before))  # no run ends before it is killed
            while len(server.books()["arrived"]) < target:
                assert process.is_alive()
                time.sleep(0.01)
            process.kill()
            process.join()
            server.books()  # what was sent before the kill has been read when this is answered
            there = isinstance(path, str) or path.exists()
            done, arrived = kept(path) if there else set(), server.books()["arrived"]
            assert before <= done, "a verdict that was kept is gone"
            in_flight.update(prompt for prompt in arrived if prompt not in done)
            before = done
        arrived = server.books()["arrived"]
    with Ledger(path, read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        assert not ledger.verify()
    assert before <= {verdict.item[1:] for verdict in verdicts}
    assert len(verdicts) == len({verdict.case for verdict in verdicts}) == len(arrived) == count
    for prompt, times in arrived.items():
        assert times - 1 <= in_flight[prompt], "asked again although it was not in flight at a kill"


def test_killed_runs_ask_again_only_what_was_in_flight(tmp_path):
    kill_and_count(tmp_path / "l.ledger", count=600, kills=2, seed=4)


@pytest.mark.slow
def test_ten_kills_in_twenty_thousand_calls(tmp_path):
    kill_and_count(tmp_path / "l.ledger", count=20_000, kills=10, seed=9)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"])
def test_a_hundred_kills(tmp_path, request, place):
    path = tmp_path / "l.ledger" if place == "sqlite" else request.getfixturevalue("postgres").database()
    kill_and_count(path, count=8_000, kills=100, seed=12)


@pytest.mark.parametrize("room", [700_000, 1_300_000], ids=["before the first commit", "later"])
def test_the_last_line_of_a_run_on_a_full_disk_has_the_cost_of_every_call(tmp_path, room):
    items = [{"id": f"i{number}", "prompt": f"What is #{number}?"} for number in range(600)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in items))
    answers = [{"item": row["id"], "contestant": "a", "text": "red"} for row in items]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    with FakeServer(says="[[4]]", latency=0.02) as server:
        judge = f"vllm:m@{server.url}?price_in=1000&price_out=1000&concurrency=16"
        command = [sys.executable, "-m", "fullbench", "judge", "--items", "items.jsonl", "--responses", "answers.jsonl"]
        command += ["--judge", judge, "--ballot", "score:1-5", "--ledger", "x.ledger", "--quiet"]
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))  # noqa: E731
        done = subprocess.run(command, cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, timeout=300)
        calls = sum(server.books()["answered"].values())
    assert done.returncode == 2, done.stderr
    summary, sentence = done.stderr.strip().splitlines()[-2:]
    assert "the disk is full; all that was committed is kept" in sentence
    assert calls >= 16
    assert f"cost ${calls * 0.12:,.2f}" in summary, (calls, summary)
