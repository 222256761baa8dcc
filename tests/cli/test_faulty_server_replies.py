"""No single reply of a server stops a study, from the command line to the ledger and the tables."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from fullbench import Ledger
from tests.support.fake_chat_server import POISONS, FakeServer
from tests.support.forked_command import ForkedCommand, run_forked
from tests.support.wait_until import LONG, until

MAIN = [sys.executable, "-c", "from fullbench.cli import main; main()"]
CONTEXT = "complain: context"


def write(folder: Path, questions: Iterable[str], contestants: str = "ab") -> int:
    """Items and answers; the number of cases under a score ballot."""
    items = [{"id": f"i{number}", "question": f"{question} #{number}?"} for number, question in enumerate(questions)]
    answers = [
        {"item": item["id"], "contestant": name, "text": f"{name} 说 {item['id']}"}
        for item in items
        for name in contestants
    ]
    for name, rows in (("items", items), ("answers", answers)):
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return len(answers)


def spec(server: FakeServer, name: str = "judge", **options: object) -> str:
    query = "&".join(f"{key}={value}" for key, value in {"mode": "direct", "backoff": 0.005, **options}.items())
    return f"openai:{name}@{server.url}?{query}"


# The tests themselves may run under nohup, and what is ignored there is ignored by all that they start.
DEFAULT_HANG_UP = partial(signal.signal, signal.SIGHUP, signal.SIG_DFL)


def start(
    folder: Path, *words: str, judges: Iterable[str], ledger: str = "l.ledger", prepare: partial = DEFAULT_HANG_UP
) -> ForkedCommand:
    files = ["--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-5", "--ledger", ledger]
    asked = [part for judge in judges for part in ("--judge", judge)]
    env = {**os.environ, "OPENAI_API_KEY": "sk-not-a-key"}
    return ForkedCommand(["judge", *files, *asked, *words, "--all"], folder=folder, environment=env, prepare=prepare)


def ended(process: ForkedCommand, seconds: float = LONG) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()  # only where it did not end by itself
    assert "Traceback" not in err, err
    return process.returncode, out, err


MIX = (
    "429", "429after", "429date", "500", "503", "529", "reset", "cut", "short", "empty", "html", "mime", "soft",
    "array", "object", "number", "strings", "negative", "huge", "surrogate", "nul", "stream", "bomb", "torn gzip",
)  # fmt: skip
assert len(MIX) == 24


def among_faults(folder: Path, ledger: str, *, cases: int, attempts: int, seed: int) -> None:
    """Two runs among faults; every case ends as a verdict or a named failure, and both bills are the server's."""
    assert write(folder, ["How many"] * (cases // 2)) == cases
    shares = dict.fromkeys(MIX, 0.4 / len(MIX)) | {"bomb": 0.4 / cases * 2}
    if cases > 1000:
        shares["drip"] = 0.4 / cases * 4
    with FakeServer(shares, seed=seed, says="[[4]]") as server:
        wire = {"attempts": attempts, "timeout": 30, "rest": 0.05, "price_in": 1, "price_out": 2, "concurrency": 24}
        first, _, err = ended(start(folder, judges=[spec(server, **wire)], ledger=ledger), LONG + cases / 5)
        assert first == 1, err
        failed = int(re.search(r"failed (\d[\d,]*)", err)[1].replace(",", ""))
        assert f"Called {cases:,}, reused 0, failed {failed:,}, cost $" in err
        with Ledger(ledger if "://" in ledger else folder / ledger, read_only=True) as book:
            verdicts, (judge,) = list(book.verdicts()), {verdict.judge for verdict in book.verdicts()}
            failures = list(book.failures(judge))
            (account,) = (account for account in book.bill() if account.role == "judge")
            assert not book.verify()
        books = server.books()
        assert len(verdicts) + len(failures) == cases, "every case ends as a verdict or as a failure"
        assert {case.case for case in verdicts}.isdisjoint({failure.case for failure in failures})
        assert len(failures) == failed > 0
        assert {verdict.marks for verdict in verdicts} == {(4.0,)}
        assert all(failure.error for failure in failures)
        assert account.usage.calls == sum(books["answered"].values()), "to the call"
        assert account.usage.calls + account.usage.retries == sum(books["attempts"].values())
        assert 0 < (account.usage.dollars or 0) < cases * 6 * 1000 / 1e6
        assert set(books["sent"]) >= {"good", *MIX} - {"bomb"}
        code, out, err = 1, "", ""
        for _ in range(12):
            code, out, err = ended(start(folder, judges=[spec(server, **wire)], ledger=ledger), LONG + cases / 5)
            if not code:
                break
        assert (code, "failed 0" in err) == (0, True), err
        with Ledger(ledger if "://" in ledger else folder / ledger, read_only=True) as book:
            (account,) = (account for account in book.bill() if account.role == "judge")
        books = server.books()
    assert account.usage.calls == sum(books["answered"].values())
    assert account.usage.calls + account.usage.retries == sum(books["attempts"].values())
    costs = out[out.index("\nCost") :]
    assert f"{account.usage.calls:,}" in costs or str(account.usage.calls) in costs, (
        "failed calls are on the bill shown"
    )


def test_a_mix_of_24_faults_ends_every_case_and_is_billed_to_the_call(tmp_path):
    among_faults(tmp_path, "l.ledger", cases=300, attempts=3, seed=5)


@pytest.mark.slow
def test_a_mix_of_24_faults_in_5000_calls(tmp_path):
    among_faults(tmp_path, "l.ledger", cases=5000, attempts=2, seed=6)


@pytest.mark.slow
def test_a_mix_of_24_faults_on_postgresql(tmp_path, postgres):
    among_faults(tmp_path, postgres.database(), cases=5000, attempts=2, seed=7)


def test_every_poison_on_postgresql(tmp_path, postgres):
    """What a database of its own kind refuses, such as NUL in a text, loses no other reply of its commit."""
    cases = write(tmp_path, ["How many"] * 60)
    ledger = postgres.database()
    shares = dict.fromkeys((kind for kind in POISONS if kind != "bomb"), 0.03)
    with FakeServer(shares, seed=8, says="[[4]]") as server:
        code, _, err = ended(start(tmp_path, judges=[spec(server, attempts=4)], ledger=ledger))
        books = server.books()
    with Ledger(ledger, read_only=True) as book:
        verdicts = list(book.verdicts())
        failures = list(book.failures(verdicts[0].judge))
        (account,) = (account for account in book.bill() if account.role == "judge")
    assert len(verdicts) + len(failures) == cases, err
    assert code == (1 if failures else 0)
    assert books["sent"]["nul"] > 0
    assert account.usage.calls == sum(books["answered"].values())


def test_a_judge_that_only_babbles_is_stopped_alone(tmp_path):
    cases = write(tmp_path, ["How many"] * 60)
    with FakeServer(says="我不知道，I could not say.") as babbler, FakeServer(says="[[4]]") as good:
        judges = [spec(babbler, "babbler", resample=0, concurrency=4), spec(good, "good")]
        code, out, err = ended(start(tmp_path, judges=judges))
        assert code == 1
        assert "我不知道，I could not say." in err, "a sample of what it said"
        assert "--anyway" in err
        assert sum(good.books()["answered"].values()) == cases, "the other one is not stopped"
        assert 20 <= sum(babbler.books()["answered"].values()) < 30
        assert "Leaderboard" in out
        code, _, err = ended(start(tmp_path, "--anyway", judges=judges))
        assert (code, sum(babbler.books()["answered"].values())) == (1, cases)
        assert re.search(r"Called \d+, reused \d+, failed 0, cost \$0\.00\.", err)


def test_what_can_never_do_is_told_apart_and_not_asked_again(tmp_path):
    questions = [CONTEXT if number % 3 == 0 else "How many" for number in range(30)]
    write(tmp_path, questions)
    with FakeServer(says="[[4]]") as server:
        judge = spec(server, price_in=1, price_out=1)
        code, out, err = ended(start(tmp_path, judges=[judge]))
        assert code == 1
        assert "20 verdicts are missing because calls failed permanently. Add --again to retry them" in err
        assert "Called 60, reused 0, failed 20, cost $" in err
        attempts = sum(server.books()["attempts"].values())
        code, out, err = ended(start(tmp_path, "--report", "page.html", judges=[judge]))
        assert sum(server.books()["attempts"].values()) == attempts, "nothing is asked again"
        assert code == 1
        assert "Called 0, reused 40, failed 0, failed permanently before 20, cost $0.00." in err
        assert "failed for good" in out
        assert "20 cases are due" in out
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "failed for good" in page
        _, out, _ = ended(start(tmp_path, "--dry-run", judges=[judge]))
        assert "20 calls failed permanently before and are not repeated" in out
        ended(start(tmp_path, "--again", judges=[judge]))
        assert sum(server.books()["attempts"].values()) == attempts + 20


def test_rulings_whose_tokens_cannot_be_read_are_kept_and_the_estimates_are_counted(tmp_path):
    """Decision 0021: the ruling is paid for and plain; what is not known is its price, and that is said everywhere."""
    cases = write(tmp_path, ["How many"] * 30)
    with FakeServer({"negative": 0.2, "words": 0.2}, seed=3, says="[[4]]") as server:
        wire = {"price_in": 1, "price_out": 2}
        code, out, err = ended(start(tmp_path, "--report", "page.html", judges=[spec(server, **wire)]))
        books = server.books()
    assert code == 0, err
    odd = books["sent"]["negative"] + books["sent"]["words"]
    assert 5 < odd < cases
    assert f"for {odd} of {cases} replies. Their cost is estimated from their lengths" in err
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        verdicts = list(book.verdicts())
    assert (len(verdicts), {verdict.marks for verdict in verdicts}) == (cases, {(4.0,)})
    assert sum(verdict.reading.has_estimated_tokens for verdict in verdicts) == odd
    assert all(verdict.usage.tokens_in > 0 and (verdict.usage.dollars or 0) > 0 for verdict in verdicts)
    assert "tokens estimated" in out
    assert "tokens estimated" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert sum(server_books for server_books in books["answered"].values()) == cases, "nothing was asked twice"


def test_a_budget_is_not_passed_by_retries(tmp_path):
    """Every second reply is paid for and broken: with 8 in flight, retries do not go on when the money is spent."""
    write(tmp_path, ["How many"] * 100)
    with FakeServer({"object": 0.25, "empty": 0.25}, seed=2, says="[[4]]", latency=0.01) as server:
        wire = {"price_in": 10_000, "price_out": 0, "concurrency": 8, "attempts": 6}
        code, _, err = ended(start(tmp_path, "--budget", "60", judges=[spec(server, **wire)]))
        answered = sum(server.books()["answered"].values())
    assert code == 1
    assert "the budget of $60 is spent" in err
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        (account,) = (account for account in book.bill() if account.role == "judge")
    assert account.usage.calls == answered
    dearest = 10_000 * 200 / 1e6
    # What is in flight is set aside at its estimate, of which the server counts half: three quarters go at least.
    assert 45 < (account.usage.dollars or 0) <= 60 + 8 * dearest


def test_a_budget_holds_before_the_first_call_is_paid(tmp_path):
    """A server that takes 32 at once and is slow: they are not asked at any price before anybody knows it."""
    write(tmp_path, ["How many"] * 40)
    wire = {"price_in": 10_000, "price_out": 0, "concurrency": 32}
    with FakeServer(says="[[4]]", latency=0.3) as server:
        code, _, err = ended(start(tmp_path, "--budget", "5", judges=[spec(server, **wire)]))
        answered = sum(server.books()["answered"].values())
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        (account,) = (account for account in book.bill() if account.role == "judge")
        dearest = max(verdict.usage.dollars or 0 for verdict in book.verdicts())
    assert (code, account.usage.calls) == (1, answered)
    assert "the budget of $5 is spent" in err
    assert 5 - 2 * dearest < (account.usage.dollars or 0) <= 5 + dearest

    with FakeServer(says="[[4]]") as server:
        code, _, err = ended(start(tmp_path, "--budget", "0.01", judges=[spec(server, **wire)], ledger="m.ledger"))
        assert sum(server.books()["answered"].values()) == 0
    assert code == 1
    assert re.search(r"the budget of \$0\.01 is too small: one call takes about \$\d", err), err

    with FakeServer(says="[[4]]", latency=0.3) as server:
        ample = start(tmp_path, "--budget", "5000", judges=[spec(server, **wire)], ledger="n.ledger")
        assert ended(ample)[0] == 0
        assert server.books()["most"] > 20, "where there is money enough, nobody waits"


def test_a_budget_for_the_study_counts_what_earlier_runs_spent(tmp_path):
    write(tmp_path, ["How many"] * 50)
    with FakeServer(says="[[4]]") as server:
        judge = spec(server, price_in=1_000, price_out=0, concurrency=2)  # a dime a call
        options = ("--budget", "2", "--budget-for", "study")
        for _ in range(2):
            code, _, err = ended(start(tmp_path, *options, judges=[judge]))
            assert (code, "the budget of $2 is spent" in err) == (1, True)
        assert 18 <= sum(server.books()["answered"].values()) <= 22
        ended(start(tmp_path, "--budget", "2", judges=[judge]))
        assert 36 <= sum(server.books()["answered"].values()) <= 44, "and one for a run does not"


def test_a_run_that_ends_by_an_error_bills_what_it_had_asked(tmp_path):
    """Each of the first replies is empty until the run gives up: all were paid for."""
    write(tmp_path, ["How many"] * 50)
    with FakeServer({"html": 1.0}) as server:
        code, _, err = ended(start(tmp_path, judges=[spec(server, price_in=1, price_out=1)]))
        answered = sum(server.books()["answered"].values())
    assert code == 2
    assert "is no API that speaks openai: it sends an HTML page" in err
    assert "Called 8, reused 0, failed 8, cost $" in err
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        (account,) = (account for account in book.bill() if account.role == "judge")
    assert account.usage.calls == answered


def test_more_connections_than_file_handles(tmp_path):
    cases = write(tmp_path, ["How many"] * 300)
    with FakeServer(says="[[4]]", latency=0.02) as server:
        limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (256, 256))
        process = start(tmp_path, judges=[spec(server, concurrency=400)], prepare=limit)
        code, _, err = ended(process)
        books = server.books()
    assert code == 0, err
    assert "400 calls at a time take more file handles than this process may have" in err
    assert books["most"] < 256
    assert sum(books["answered"].values()) == cases


SIGNALS = [(signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_ends_a_run_with_its_own_code(tmp_path, number, code):
    write(tmp_path, ["How many"] * 50)
    with FakeServer(says="[[4]]", answers=20) as server:
        process = start(tmp_path, judges=[spec(server, concurrency=4)])
        until(lambda: sum(server.books()["answered"].values()) >= 20)
        process.send_signal(number)
        assert any("waiting for the running calls" in line for line in process.stderr)
        server.more()
        ending, out, err = ended(process)
        answered = sum(server.books()["answered"].values())
    assert ending == code, err
    assert "Leaderboard" in out
    assert 20 <= answered < 100
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        assert len(list(book.verdicts())) == answered


def test_leaving_at_once_bills_what_was_in_flight(tmp_path):
    write(tmp_path, ["How many"] * 50)
    with FakeServer(says="[[4]]", answers=40) as server:
        judges = [spec(server, name, concurrency=4, price_in=1, price_out=1) for name in ("one", "two")]
        process = start(tmp_path, judges=judges)
        until(lambda: sum(server.books()["answered"].values()) >= 40 and server.books()["in_flight"] >= 8)
        process.send_signal(signal.SIGINT)
        assert any("waiting for the running calls" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 130
        process.communicate()
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        accounts = [account for account in book.bill() if account.role == "judge"]
        left = [failure for account in accounts for failure in book.failures(account.name)]
    assert len(left) == 8
    assert {failure.usage.calls for failure in left} == {1}
    assert all("in flight when the run was left" in failure.error for failure in left)
    assert sum(account.usage.calls for account in accounts) == 48


def test_a_signal_is_heard_while_cases_are_counted(tmp_path):
    write(tmp_path, ["How many"] * 2)
    process = start(tmp_path, "--trials", "1000000", judges=["length"])
    until((tmp_path / "l.ledger").exists)
    process.send_signal(signal.SIGTERM)
    code, _, err = ended(process)
    assert code == 143, err
    assert "Stopped: terminated." in err


def test_a_hang_up_that_is_ignored_stays_ignored(tmp_path):
    cases = write(tmp_path, ["How many"] * 20)
    with FakeServer(says="[[4]]", answers=10) as server:
        ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
        process = start(tmp_path, judges=[spec(server)], prepare=ignore)
        until(lambda: sum(server.books()["answered"].values()) >= 10)
        process.send_signal(signal.SIGHUP)
        server.more()
        code, _, err = ended(process)
        assert (code, sum(server.books()["answered"].values())) == (0, cases), err


def test_tables_that_cannot_be_shown_are_told_in_a_sentence(tmp_path):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    write(tmp_path, ["How many"] * 3)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*MAIN, "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "length", "--ballot",
             "score:1-5"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=LONG,
        )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "could not be shown (No space left on device)" in done.stderr


ENDINGS = {
    "How many": "", "please hush": "empty", "please call": "tool", "please ponder": "thought",
    "please be long": "length", "please filter": "filter", "please refuse": "refused", "please think": "",
    "please mumble": "",
}  # fmt: skip


def test_answers_are_recorded_as_what_they_are_and_thoughts_apart(tmp_path):
    write(tmp_path, ENDINGS)
    with FakeServer(says="三只猫") as server:
        words = ["--items", "items.jsonl", "--contestant", f"vllm:m@{server.url}", "--out", "a.jsonl"]
        done = run_forked(tmp_path, "answer", *words, "--ledger", "l.ledger")
    code, err = done.returncode, done.stderr
    assert code == 0, err
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row.get("tags", {}).get("stop", "") for row in rows] == list(ENDINGS.values())
    assert "6 of 9 replies are unusable: 1 empty, 1 tool, 1 thought, 1 length, 1 filter, 1 refused" in err
    assert "Called 9, reused 0, failed 0, cost $0.00." in err
    assert {row["text"] for row in rows[-2:]} == {"三只猫"}, "no thought is part of an answer"
    with closing(sqlite3.connect(tmp_path / "l.ledger")) as database:
        thoughts = [thought for (thought,) in database.execute("SELECT reasoning FROM calls WHERE role = 'contestant'")]
    assert sorted(map(bool, thoughts)) == [False] * 6 + [True] * 3, "what was thought is kept with the call"
