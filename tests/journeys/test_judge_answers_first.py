"""Judges that answer first (mode=commit), from a study file, the command line and Python: the answer is asked once for
an item and a judge, before any response is shown, paid once, kept through a kill, and shown with every verdict."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from statistics import fmean

import pytest

import fullbench
from fullbench import Case, Failure, Ledger, Reply, Usage, Verdict
from fullbench.core.ballot import ballot
from fullbench.core.case import cases as cases_of
from fullbench.core.rubric import Criterion
from fullbench.judges.fallback_reader import SecondReader
from fullbench.judges.judge_with_confidence import ConfidentJudge
from fullbench.judges.prompted_judge import Example, PromptedJudge
from fullbench.judges.rating_and_choice_judge import RatingAndChoiceJudge
from fullbench.judges.rubric_criterion_verdicts_in_one_call import SheetJudge
from fullbench.studies.run.judge_cases import judge_cases
from tests.support.commands import cells, read_jsonl, run_in, write_rows
from tests.support.data_builders import Talker, answers, item, png, words
from tests.support.scripted_server import Asked, ScriptedServer
from tests.support.wait_until import until

NAMES = ("ann", "bob", "cyd")
ITEMS = tuple(f"题{n}" for n in range(3))
MODELS = ("keen", "blunt")
CRITERIA = ("overall", "style")
TRIALS = 2


def drawn(*texts: str) -> int:
    return int(hashlib.sha256("|".join(texts).encode()).hexdigest()[:8], 16)


def own_answer(model: str, number: str) -> str:
    return f"I, {model}, see {drawn(model, number) % 1000} in picture {number}."


def worth(own: str, text: str, criterion: str) -> int:
    """The worth of a response for a judge with this answer of its own."""
    return drawn(own, text, criterion)


def judge_model(asked: Asked) -> str:
    """Answers the question if nothing is to be judged; else rules by its own answer, which it must find as it was."""
    number = re.search(r"What of (\d)\?", asked.words)[1]
    if "<response A" not in asked.words:
        assert [role for role, _ in asked.turns] == ["system", "user"]
        assert "says" not in asked.words
        assert "truth" not in asked.words
        return own_answer(asked.model, number)
    assert [role for role, _ in asked.turns] == ["system", "user", "assistant", "user"]
    own = asked.turns[2][1]
    assert own == own_answer(asked.model, number)
    assert f"truth {number}" in asked.last, "the reference comes after its own answer"
    criterion = "style" if "Judge this alone: style" in asked.last else "overall"
    texts = re.findall(r"<response \w \w+>\n(.*?)\n</response", asked.last)
    worths = [worth(own, text, criterion) for text in texts]
    nonce = re.search(r"\b[a-z]{8}\b(?= in front)", asked.last)
    return f"Against mine. {nonce[0]} [[{'AB'[worths.index(max(worths))]}]]"


@pytest.fixture
def folder(tmp_path) -> Path:
    rows, replies = [], []
    for place, name in enumerate(ITEMS):
        (tmp_path / f"{place}.png").write_bytes(png((40 * place, 9, 9)))
        rows.append(
            {"id": name, "question": f"What of {place}?", "picture": f"{place}.png", "reference": f"truth {place}"}
        )
        replies += [{"item": name, "contestant": who, "text": f"{who[0]} says {place}"} for who in NAMES]
    write_rows(tmp_path / "items.jsonl", rows)
    write_rows(tmp_path / "answers.jsonl", replies)
    return tmp_path


def specs(url: str) -> list[str]:
    return [f"vllm:{model}@{url}?mode=commit&reference=yes&price_in=1&price_out=2&backoff=0.01" for model in MODELS]


def study(folder: Path, url: str) -> Path:
    (folder / "study.toml").write_text(
        f'name = "s"\nitems = "items.jsonl"\nresponses = "answers.jsonl"\njudges = {json.dumps(specs(url))}\n'
        f'ballots = ["choice"]\ncriteria = {json.dumps(CRITERIA)}\ntrials = {TRIALS}\nledger = "s.ledger"\n',
        encoding="utf-8",
    )
    return folder / "study.toml"


CASES = len(ITEMS) * len(CRITERIA) * 3 * 2 * TRIALS
"""Cases of one judge: three pairs in two orders."""


def is_own_answer(asked: Asked) -> bool:
    return "<response A" not in asked.words


def test_a_study_with_two_judges_criteria_orders_and_trials(folder):
    with ScriptedServer(dict.fromkeys(MODELS, judge_model)) as server:
        path = study(folder, server.url)
        (plan,) = json.loads(run_in(folder, "run", path, "--dry-run", "--json").stdout)
        calls = plan["columns"].index("calls")
        assert [(row[0], row[calls]) for row in plan["rows"]] == [
            *[("own answers", len(ITEMS))] * 2, *[("verdicts", CASES)] * 2, ("all", 2 * (CASES + len(ITEMS))),
        ]  # fmt: skip
        done = run_in(folder, "run", path, "--quiet", "--json")
        assert done.returncode == 0, done.output
        for model in MODELS:
            first = [asked for asked in server.of(model) if is_own_answer(asked)]
            assert len(first) == len({asked.pictures for asked in first}) == len(ITEMS)
            assert len(server.of(model)) == len(ITEMS) + CASES
        count = len(server.asked)
        assert f"Called 0, reused {2 * CASES}" in run_in(folder, "run", path, "--quiet").output
        assert len(server.asked) == count
    with Ledger(folder / "s.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
        bill = {(account.role, account.usage.calls) for account in ledger.bill() if account.usage.calls}
        dollars = sum(account.usage.dollars or 0 for account in ledger.bill())
    assert bill == {("contestant", len(ITEMS)), ("judge", CASES)}
    assert dollars == pytest.approx(count * (10 * 1 + 5 * 2) / 1e6)
    models = {verdict.judge: verdict.judge.partition("@")[0] for verdict in verdicts}
    assert sorted(models.values()) == sorted(MODELS)
    assert len(verdicts) == 2 * CASES
    for verdict in verdicts:
        number = str(ITEMS.index(verdict.item))
        own = own_answer(models[verdict.judge], number)
        assert verdict.earlier == (own,)
        assert verdict.usage.calls == 1
        worths = [worth(own, f"{who[0]} says {number}", verdict.criterion) for who in verdict.contestants]
        assert verdict.marks == tuple(float(value == max(worths)) for value in worths)
    calls_by_item = {(verdict.judge, verdict.item): verdict.exchanges[0] for verdict in verdicts}
    assert len({call.id for call in calls_by_item.values()}) == 2 * len(ITEMS)
    # The end of the journey, by the data alone: the share of comparisons that each contestant wins.
    for judge, model in models.items():
        for criterion in CRITERIA:
            wins = {
                who: fmean(
                    float(worth(own_answer(model, str(n)), f"{who[0]} says {n}", criterion)
                          > worth(own_answer(model, str(n)), f"{other[0]} says {n}", criterion))
                    for n in range(len(ITEMS)) for other in NAMES if other != who
                )
                for who in NAMES
            }  # fmt: skip
            (board,) = [
                table for name, table in done.tables.items()
                if name.startswith(f"leaderboard {judge}") and (" on style" in name) == (criterion == "style")
            ]  # fmt: skip
            assert cells(board, "matches won", "contestant") == pytest.approx(wins)


def test_the_answer_is_shown_exported_and_on_the_case_page(folder):
    with ScriptedServer(dict.fromkeys(MODELS, judge_model)) as server:
        done = run_in(
            folder, "judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "choice",
            "--judge", specs(server.url)[0], "--limit", "2", "--quiet",
        )  # fmt: skip
    assert done.returncode == 0, done.output
    run_in(folder, "ledger", "export", "--to", "v.jsonl")
    rows = read_jsonl(folder / "v.jsonl")
    assert len(rows) == 2 * 3 * 2
    for row in rows:
        assert row["earlier"] == [own_answer("keen", str(ITEMS.index(row["item"])))]
    own = rows[0]["earlier"][0]
    shown = run_in(folder, "show", rows[0]["case"]).stdout
    assert shown.index(own) < shown.index("Against mine.")
    spec = specs(server.url)[0]
    rendered = json.loads(run_in(folder, "show", rows[0]["case"], "--judge", spec, "--json").stdout)
    for call, turns in zip(rendered["verdicts"][0]["exchanges"], (2, 4), strict=True):
        assert len(call["sent"]) == turns
    assert run_in(folder, "ledger", "verify").returncode == 0
    site = run_in(folder, "export", "site", "--out", "site", "--ledger", "fullbench.ledger", "--no-charts")
    assert site.returncode == 0, site.output
    pages = [path.read_text(encoding="utf-8") for path in (folder / "site").rglob("*.html")]
    assert any("Against mine." in page and "answer the question yourself" in page and own in page for page in pages)


def test_a_kill_between_the_answer_and_the_verdicts_costs_no_answer_twice(folder):
    go_on = threading.Event()

    def waits(asked: Asked) -> str:
        if not is_own_answer(asked):
            go_on.wait(120)
        return judge_model(asked)

    with ScriptedServer(dict.fromkeys(MODELS, waits)) as server:
        path = study(folder, server.url)
        words_of_run = [sys.executable, "-m", "fullbench", "run", str(path), "--quiet"]
        run = subprocess.Popen(words_of_run, cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL)
        until(lambda: sum(not is_own_answer(asked) for asked in list(server.asked)) >= 3)
        run.send_signal(signal.SIGKILL)
        run.wait()
        go_on.set()
        done = run_in(folder, "run", path, "--quiet")
        assert done.returncode == 0, done.output
        assert sum(map(is_own_answer, server.asked)) == len(MODELS) * len(ITEMS)
    with Ledger(folder / "s.ledger", read_only=True) as ledger:
        assert len(list(ledger.verdicts())) == 2 * CASES
        answered = [account for account in ledger.bill() if account.role == "contestant" and account.usage.calls]
    assert [(account.output_count, account.usage.calls) for account in answered] == [(len(ITEMS), len(ITEMS))] * 2
    assert run_in(folder, "ledger", "verify", "s.ledger").returncode == 0


def test_python_without_and_with_a_ledger(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with ScriptedServer(dict.fromkeys(MODELS, judge_model)) as server:
        record = fullbench.judge("items.jsonl", "answers.jsonl", judge=specs(server.url), ballot="choice")
        assert len(record) == 2 * len(ITEMS) * 3 * 2
        assert sum(map(is_own_answer, server.asked)) == 2 * len(ITEMS)
    talker, cases = a_talker(), some_cases()
    outcomes = list(PromptedJudge(talker, "commit").judge(cases))
    assert sum(outcome.usage.calls for outcome in outcomes) == len(cases) + 2
    assert [outcome.usage.calls for outcome in outcomes].count(2) == 2, "the first verdict of each item has the cost"


def a_talker(own: object = "my own answer") -> Talker:
    def reply(prompt):
        if "[[" in words(prompt) or "POINT" in words(prompt) or "RATING" in words(prompt):
            lines = re.findall(r"^POINT (\w{4}): \.\.\.$", words(prompt), re.MULTILINE)
            sheet = "\n".join(f"POINT {line}: 4" for line in lines)
            return sheet or (
                "IMAGE-1 RATING: 4\nIMAGE-2 RATING: 2\nBETTER IMAGE: 1" if "RATING" in words(prompt) else "so. [[A]]"
            )
        return own(prompt) if callable(own) else own

    return Talker(reply)


def some_cases(form: str = "choice", trials: int = 2) -> list[Case]:
    things = [item(f"i{n}", reference="red") for n in range(2)]
    replies = [reply for n in range(2) for reply in answers(f"i{n}", a="red", b="blue", c="green")]
    size = 1 if form.startswith("score") else 2
    return list(cases_of(things, replies, ballot(form), size=size, trials=trials))


def run_cases(path: Path, judge, cases: list[Case]):
    with Ledger(path) as ledger:
        counts = judge_cases([judge], lambda _: cases, ledger)
        return list(ledger.verdicts()), counts


SHEET = (Criterion("one", "It is right.", ballot="score:1-5"), Criterion("two", "It is kind.", ballot="score:1-5"))


def test_every_kind_of_prompted_judge_asks_once_for_an_item(tmp_path):
    points = [
        Case(case.item, case.responses, ballot("score:1-5"), criterion.name, case.trial)
        for case in some_cases("score:1-5")
        for criterion in SHEET
    ]
    pairs = some_cases()
    both = [Case(case.item, case.responses, form, case.criterion, case.trial)
            for case in pairs for form in (ballot("score:1-10"), ballot("choice+tie"))]  # fmt: skip
    kinds = {
        "plain": (lambda model: PromptedJudge(model, "commit"), pairs),
        "sheet": (lambda model: SheetJudge(PromptedJudge(model, "commit"), SHEET), points),
        "together": (lambda model: RatingAndChoiceJudge(PromptedJudge(model, "commit")), both),
        "reader": (lambda model: SecondReader(PromptedJudge(model, "commit"), Talker(lambda _: "[[A]]", "r")), pairs),
        "confident": (lambda model: ConfidentJudge(model, "commit", confidence="stated"), pairs),
    }
    for kind, (make, cases) in kinds.items():
        talker = a_talker()
        verdicts, _ = run_cases(tmp_path / f"{kind}.ledger", make(talker), cases)
        assert len(verdicts) == len(cases), kind
        assert all(verdict.marks for verdict in verdicts), kind
        assert {verdict.earlier for verdict in verdicts} == {("my own answer",)}, kind
        assert sum("do not judge anything yet" in prompt.turns[-1].text for prompt in talker.asked) == 2, kind


def test_judges_of_one_model_share_the_answer_only_if_it_is_asked_in_the_same_words(tmp_path):
    talker, cases = a_talker(), some_cases(trials=1)
    judges = [PromptedJudge(talker, "commit", resample=n) for n in (0, 1)]
    judges += [PromptedJudge(talker, "commit", picture_mode="none"), PromptedJudge(talker, "commit", language="zh")]
    with Ledger(tmp_path / "l.ledger") as ledger:
        judge_cases(judges, lambda _: cases, ledger)
    assert len(talker.asked) == 4 * len(cases) + 3 * 2


def test_refused_empty_and_failed_answers(tmp_path):
    cases = some_cases()
    refusing = a_talker(lambda prompt: Reply(prompt, "I may not.", Usage(calls=1), stop="refused"))
    verdicts, _ = run_cases(tmp_path / "refused.ledger", PromptedJudge(refusing, "commit"), cases)
    assert {(verdict.fault, verdict.text) for verdict in verdicts} == {("refused", "I may not.")}
    silent = a_talker(lambda prompt: Reply(prompt, " ", Usage(calls=1)))
    verdicts, _ = run_cases(tmp_path / "empty.ledger", PromptedJudge(silent, "commit"), cases)
    assert {verdict.fault for verdict in verdicts} == {"unreadable"}
    assert len(refusing.asked) == len(silent.asked) == 2
    works = []
    shaky = a_talker(lambda p: "fine" if works else Reply(p, usage=Usage(calls=1), error="the server is away"))
    verdicts, counts = run_cases(tmp_path / "failed.ledger", PromptedJudge(shaky, "commit"), cases)
    assert (verdicts, len(shaky.asked)) == ([], 2)
    assert counts[0].failures == {"its own answer to the item failed: the server is away": len(cases)}
    works.append(True)
    verdicts, _ = run_cases(tmp_path / "failed.ledger", PromptedJudge(shaky, "commit"), cases)
    assert (len(verdicts), {verdict.earlier for verdict in verdicts}) == (len(cases), {("fine",)})
    direct = list(PromptedJudge(a_talker(lambda p: Reply(p, error="away")), "commit").judge(cases[:3]))
    assert all(isinstance(outcome, Failure) for outcome in direct)


def test_examples_and_reference_come_after_the_answer_and_its_seed_is_no_trials(tmp_path):
    talker = a_talker()
    judge = PromptedJudge(talker, "commit", reference=True, examples=(Example("a worked example", (1.0, 0.0)),))
    verdicts, _ = run_cases(tmp_path / "l.ledger", judge, some_cases())
    first = [prompt for prompt in talker.asked if len(prompt.turns) == 2]
    assert len(first) == 2
    for prompt in first:
        assert prompt.seed is None
        assert "worked example" not in words(prompt)
        assert prompt.turns[-1].pictures
    for prompt in talker.asked:
        if prompt not in first:
            assert "worked example" in prompt.turns[-1].text
            assert "found right" in prompt.turns[-1].text
    assert all(isinstance(verdict, Verdict) for verdict in verdicts)


def test_the_requests_are_no_items_that_people_or_contestants_get(tmp_path):
    run_cases(tmp_path / "l.ledger", PromptedJudge(a_talker(), "commit"), some_cases())
    with Ledger(tmp_path / "l.ledger", read_only=True) as ledger:
        requests = [thing for thing in ledger.items() if "request" in thing.tags]
        assert [thing.tags["request"] for thing in requests] == ["own answer"] * 2
        assert len(ledger.record().items) == 2
