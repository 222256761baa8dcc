"""Dialogues turn by turn: answered in sequence, judged per turn and whole, by command, study file and Python."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import fmean

import pytest

import fullbench
from fullbench import Ledger
from fullbench.core.model import Reply
from fullbench.core.model_call import Usage
from fullbench.files.item_response_verdict_files import read_items
from fullbench.studies.batches.batch_steps import BatchRun
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.study_file import Study
from fullbench.web.results.site.static_site import SiteOptions, export_site
from tests.support.batch_server import BatchService
from tests.support.commands import cli, read_jsonl, write_rows
from tests.support.data_builders import png
from tests.support.ray_cluster import RayCluster, installed
from tests.support.scripted_server import ScriptedServer

QUESTIONS = {
    "mt1": ["Write a haiku.", "Rewrite it without the letter e."],
    "mt2": ["What is shown?", "And here?", "Compare both."],
    "one": ["Say hello."],
}
CONTESTANTS = ("ann", "bob")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, colour in (("a", (200, 30, 30)), ("b", (30, 60, 200))):
        (tmp_path / f"{name}.png").write_bytes(png(colour))
    pictures = {("mt2", 0): ["a.png"], ("mt2", 1): ["b.png"]}
    write_rows(tmp_path / "items.jsonl", [
        {"id": name, "turns": [
            {"role": "user", "parts": [*({"picture": path} for path in pictures.get((name, turn), ())), text]}
            for turn, text in enumerate(texts)
        ]}
        for name, texts in QUESTIONS.items()
    ])  # fmt: skip
    return tmp_path


def reply_of(who):
    """An answer that says which turn it answers, and how many earlier answers it was shown."""

    def reply(asked):
        earlier = [text for role, text in asked.turns if role == "assistant"]
        assert all(text.startswith(f"{who} answers") for text in earlier)
        return f"{who} answers <{asked.last}> after {len(earlier)} with {len(asked.pictures)} pictures"

    return reply


def mark_of(strictness):
    """A mark that depends on the last answer that the judge is shown: its length, and the judge."""

    def judge(asked):
        answers = re.findall(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", asked.last, re.DOTALL)
        last = [re.findall(r"answers <.*", body)[-1] for _, body in answers]
        if len(last) == 2:
            return f"[[{'AB'[len(last[1]) > len(last[0])]}]]"
        return f"[[{1 + (len(last[0]) + strictness) % 10}]]"

    return judge


@pytest.fixture
def server():
    models = {name: reply_of(name) for name in CONTESTANTS} | {f"j{n}": mark_of(n) for n in (1, 4)}
    with ScriptedServer(models) as running:
        yield running


def expected_answers():
    """Computed from the questions alone."""
    seen = {"mt1": [0, 0], "mt2": [1, 2, 2], "one": [0]}
    return {
        (name, who): [f"{who} answers <{text}> after {turn} with {seen[name][turn]} pictures"
                      for turn, text in enumerate(texts)]
        for name, texts in QUESTIONS.items() for who in CONTESTANTS
    }  # fmt: skip


def specs(server, *names, options=""):
    return [f"vllm:{name}@{server.url}{options}" for name in names]


def test_contestants_answer_each_turn_with_their_own_answers_in_view(folder, server):
    words = [word for spec in specs(server, *CONTESTANTS) for word in ("--contestant", spec)]
    cli("answer", "--items", "items.jsonl", *words, "--samples", 2, "--out", "answers.jsonl", "--quiet")
    rows = read_jsonl(folder / "answers.jsonl")
    by_turn = expected_answers()
    assert len(rows) == 2 * len(by_turn)
    for row in rows:
        who = row["contestant"].partition("@")[0]
        assert (row.get("parts") or [row["text"]]) == by_turn[row["item"], who]
    assert len(server.asked) == 2 * sum(map(len, by_turn.values()))
    cli("answer", "--items", "items.jsonl", *words, "--samples", 2, "--out", "answers.jsonl", "--quiet")
    assert len(server.asked) == 2 * sum(map(len, by_turn.values())), "nothing is asked twice"
    # In Python, and each call of a dialogue is kept
    answers = fullbench.answer("items.jsonl", contestant=specs(server, "ann"), ledger="python.ledger")
    assert [list(answer.parts) for answer in answers] == [by_turn[name, "ann"] for name in QUESTIONS]


def test_verdicts_per_turn_and_whole_end_in_a_table_that_a_loop_confirms(folder, server):
    judges = specs(server, "j1", "j4", options="?mode=direct")
    settings = {
        "name": "mt", "items": "items.jsonl", "contestants": specs(server, *CONTESTANTS), "judges": [*judges, "length"],
        "ballots": ["score:1-10", "choice"], "criteria": ["each turn", "overall"], "ledger": "l.ledger",
        "tables": "tables.json",
    }  # fmt: skip
    (folder / "study.toml").write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    plan = json.loads(cli("plan", "study.toml", "--json").stdout)
    calls = dict(zip(plan[0]["columns"], zip(*plan[0]["rows"], strict=True), strict=True))["calls"]
    assert list(calls[:2]) == [6, 6], "two, three and one turn"
    cli("run", "study.toml", "--quiet")
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        verdicts = [verdict for verdict in ledger.verdicts() if verdict.marks]
        assert {verdict.criterion for verdict in verdicts} == {"overall", "turn 1", "turn 2", "turn 3"}
        assert not [one for name in {v.judge for v in verdicts} for one in ledger.failures(name)]
    by_turn = expected_answers()
    # What the judges were sent: the dialogue up to the turn, and nothing behind it.
    for asked in server.asked:
        if not asked.model.startswith("j"):
            continue
        turn = re.search(r"the answer to turn (\d)", asked.last)
        texts = next(texts for texts in QUESTIONS.values() if texts[0] in asked.last)
        whole = "the dialogue as a whole" in asked.last
        shown = len(texts) if whole else int(turn[1]) if turn else 1
        for number, text in enumerate(texts):
            assert (text in asked.last) == (number < shown)
    scores = [verdict for verdict in verdicts if verdict.ballot == "score:1-10" and verdict.criterion != "overall"]
    marks = defaultdict(lambda: defaultdict(dict))
    for verdict in scores:
        who, name = verdict.contestants[0].partition("@")[0], verdict.judge.partition("@")[0]
        number = int(verdict.criterion.removeprefix("turn "))
        if name in {"j1", "j4"}:
            answer = by_turn[verdict.item, who][number - 1]
            assert verdict.marks == (1 + (len(answer.removeprefix(f"{who} ")) + int(name[1])) % 10,)
        marks[name, who][verdict.item][number] = verdict.marks[0]
    tables = json.loads((folder / "tables.json").read_text())
    table = next(one for one in tables if one["name"] == "dialogue turns" and one["source"]["ballot"] == "score:1-10")
    turns = ["turn 1", "turn 2", "turn 3"]
    assert table["columns"][2:] == [*turns, "mean of turns", "worst turn", "last turn", "dialogues"]
    assert len(table["rows"]) == len(marks)
    for judge, contestant, *cells in table["rows"]:
        by_item = marks[judge.partition("@")[0], contestant.partition("@")[0]]
        for number in (1, 2, 3):
            assert cells[number - 1]["value"] == pytest.approx(
                fmean(turns[number] for turns in by_item.values() if number in turns)
            )
        assert cells[3]["value"] == pytest.approx(fmean(fmean(turns.values()) for turns in by_item.values()))
        assert cells[4]["value"] == pytest.approx(fmean(min(turns.values()) for turns in by_item.values()))
        assert cells[5]["value"] == pytest.approx(fmean(turns[max(turns)] for turns in by_item.values()))
        assert cells[6] == 3
    lengths = {(v.item, v.criterion, v.contestants): v.marks for v in verdicts
               if v.judge == "length" and v.ballot == "choice" and v.criterion.startswith("turn")}  # fmt: skip
    assert lengths, "a metric reads the one answer"
    case = next(v for v in scores if v.criterion == "turn 2" and v.judge.startswith("j1"))
    shown = cli("show", case.case, "--judge", judges[0], "--ledger", "l.ledger").stdout
    assert "the answer to turn 2" in shown.partition("what was sent")[2]
    out = shown.partition("what was sent")[0]
    assert [line.strip() for line in out.splitlines() if line.strip().startswith("turn ")][:2] == ["turn 1:", "turn 2:"]
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        export_site(ledger, folder / "site", SiteOptions(charts=False))
    page = html.unescape((folder / "site" / "cases" / f"{case.case}.html").read_text(encoding="utf-8"))
    at = page.index('id="answers"')
    for wanted in ("Turn 1", by_turn[case.item, case.contestants[0].partition("@")[0]][0], "Turn 2"):
        at = page.index(wanted, at)
    calls_before = len(server.asked)
    cli("run", "study.toml", "--quiet")
    assert len(server.asked) == calls_before
    assert cli("replay", "study.toml", "--check").returncode == 0


def test_own_answers_by_turn_come_from_files_and_bad_ones_get_one_sentence(folder, server):
    rows = [{"item": name, "contestant": who, "turns": answers} for (name, who), answers in expected_answers().items()]
    write_rows(folder / "own.jsonl", rows)
    words = ("--items", "items.jsonl", "--ballot", "score:1-10", "--criterion", "each turn", "--judge", "length")
    record = fullbench.judge(
        "items.jsonl", "own.jsonl", judge=specs(server, "j1", options="?mode=direct"), ballot="score:1-10",
        criterion=["each turn"], ledger="own.ledger",
    )  # fmt: skip
    assert len(record) == 2 * sum(map(len, QUESTIONS.values()))
    rows[0]["turns"] = rows[0]["turns"][:1]
    write_rows(folder / "short.jsonl", rows)
    refused = cli("judge", *words, "--responses", "short.jsonl", "--ledger", "short.ledger", code=2).output
    assert "item 'mt1' has 2 turns to answer, and the response of 'ann' has 1 part;" in refused
    assert not (folder / "short.ledger").exists()
    rerank = cli(
        "rerank", *words, "--responses", "own.jsonl", "--ledger", "r.ledger", "--out", "r.jsonl", code=2
    ).output
    assert "the best answer is selected by one criterion: write 'turn 2'" in rerank
    rows[0]["turns"] = "no list"
    write_rows(folder / "wrong.jsonl", rows)
    assert "'turns' of a response is a list" in cli("judge", *words, "--responses", "wrong.jsonl", code=2).output


def test_mt_bench_from_its_files_to_the_table(folder, server):
    bench = folder / "mt_bench"
    bench.mkdir()
    write_rows(bench / "question.jsonl", [
        {"question_id": 80 + n, "category": "writing", "turns": [f"Task {n}.", f"Refine task {n}."],
         "reference": [f"r{n} a", f"r{n} b"]} for n in range(4)
    ])  # fmt: skip
    cli("import", "mt_bench", "mt_bench", "--out", "imported")
    words = [word for spec in specs(server, *CONTESTANTS) for word in ("--contestant", spec)]
    cli(
        "answer",
        "--items",
        "imported/items.jsonl",
        *words,
        "--out",
        "answers.jsonl",
        "--ledger",
        "mt.ledger",
        "--quiet",
    )
    out = cli("judge", "--items", "imported/items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-10",
              "--criterion", "each turn", "--judge", specs(server, "j1", options="?mode=direct")[0],
              "--ledger", "mt.ledger", "--json", "--quiet").tables  # fmt: skip
    rows = out["dialogue turns"]["rows"]
    for _, contestant, first, second, mean, *_ in rows:
        who = contestant.partition("@")[0]
        marks = [
            [1 + (len(f"answers <{text}> after {turn} with 0 pictures") + 1) % 10
             for turn, text in enumerate((f"Task {n}.", f"Refine task {n}."))]
            for n in range(4)
        ]  # fmt: skip
        assert who in CONTESTANTS
        assert first["value"] == pytest.approx(fmean(one for one, _ in marks))
        assert second["value"] == pytest.approx(fmean(two for _, two in marks))
        assert mean["value"] == pytest.approx(fmean(map(fmean, marks))), "MT-Bench's score is the mean of both turns"


def test_a_dialogue_is_answered_by_batches_in_rounds(folder):
    def reply(body, turn):
        if body["model"] == "j":
            return "[[7]]"
        return f"answer {sum(message['role'] == 'assistant' for message in body['messages']) + 1}"

    with BatchService(reply=reply) as service:
        (folder / "study.toml").write_text(
            f'name = "s"\nitems = "items.jsonl"\ncontestants = ["openai:c@{service.url}"]\nballots = ["score:1-10"]\n'
            f'judges = ["openai:j@{service.url}?mode=direct"]\ncriteria = ["each turn"]\nledger = "l.ledger"\n'
        )
        study = Study.read(folder / "study.toml")
        for _ in range(4):
            with Ledger(study.ledger) as ledger:
                batches = BatchRun(StudyRun(study), ledger)
                batches.write(rate=0.5)
                batches.submit()
                batches.wait(lambda _: True, first=0.0, sleep=lambda _: None)
                batches.collect()
    with Ledger(folder / "l.ledger", read_only=True) as ledger:
        parts = {answer.item: list(answer.parts) for answer in ledger.responses()}
        assert parts == {name: [f"answer {n}" for n in range(1, len(texts) + 1)] for name, texts in QUESTIONS.items()}
        assert sum(1 for verdict in ledger.verdicts() if verdict.marks == (7.0,)) == 6


def test_a_judge_that_answers_first_answers_each_turn_without_what_comes_behind(folder):
    models = {"j": lambda asked: "[[7]]" if "<response A" in asked.last else f"own answer to {asked.last}"}
    rows = [{"item": name, "contestant": who, "turns": answers} for (name, who), answers in expected_answers().items()]
    write_rows(folder / "own.jsonl", rows)
    with ScriptedServer(models) as running:
        record = fullbench.judge(
            "items.jsonl", "own.jsonl", judge=f"vllm:j@{running.url}?mode=commit", ballot="score:1-10",
            criterion=["each turn"], ledger="c.ledger",
        )  # fmt: skip
    assert [verdict.marks for verdict in record] == [(7.0,)] * 12
    own = [asked.last for asked in running.asked if "<response A" not in asked.last]
    assert len(own) == 6, "one for each turn, shared by both contestants"
    shown = sorted(tuple(sum(text in words for text in texts) for texts in QUESTIONS.values()) for words in own)
    assert shown == sorted([(1, 0, 0), (2, 0, 0), (0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 0, 1)])


def test_each_turn_has_its_reference_and_a_judge_of_turn_1_is_shown_no_other(folder):
    """By prompts, by a metric that compares with the reference, and with one reference for the whole dialogue."""
    texts = {"mt1": ["REF-1", "REF-2"], "mt2": "REF-WHOLE", "one": "REF-ONE"}
    rows = [row | {"reference": texts[row["id"]]} for row in read_jsonl(folder / "items.jsonl")]
    write_rows(folder / "with.jsonl", rows)
    write_rows(folder / "own.jsonl", [
        {"item": name, "contestant": "ann", "turns": [f"REF-{turn}" for turn in range(1, len(turns) + 1)]}
        for name, turns in QUESTIONS.items()
    ])  # fmt: skip
    with ScriptedServer({"j": lambda asked: "[[7]]"}) as running:
        words = ("--items", "with.jsonl", "--responses", "own.jsonl", "--criterion", "each turn", "--criterion",
                 "overall", "--ledger", "r.ledger", "--quiet")  # fmt: skip
        cli("judge", *words, "--ballot", "score:1-10", "--judge", f"vllm:j@{running.url}?mode=direct&reference=yes")
        cli("judge", *words, "--ballot", "real:0-1", "--judge", "rouge")
    shown = sorted(
        (next(name for name, turns in QUESTIONS.items() if turns[0] in asked.last),
         re.findall(r"REF-\w+", asked.last.partition("<response A")[0]))
        for asked in running.asked
    )  # fmt: skip
    assert shown == sorted([
        ("mt1", ["REF-1"]), ("mt1", ["REF-1", "REF-2"]), ("mt1", ["REF-1", "REF-2"]),
        *[("mt2", ["REF-WHOLE"])] * 4, *[("one", ["REF-ONE"])] * 2,
    ])  # fmt: skip
    with Ledger(folder / "r.ledger", read_only=True) as ledger:
        marks = {verdict.criterion: verdict.marks for verdict in ledger.verdicts()
                 if verdict.item == "mt1" and verdict.ballot == "real:0-1"}  # fmt: skip
    assert marks == {"turn 1": (1.0,), "turn 2": (1.0,), "overall": (1.0,)}, "each answer equals its own reference"
    rows[0]["reference"] = ["REF-1"]
    write_rows(folder / "with.jsonl", rows)
    refused = cli("judge", *words, "--ballot", "real:0-1", "--judge", "rouge", code=2).output
    assert "a list with one for each turn to answer; found 1 for 2 turns" in refused


@dataclass
class Flaky:
    """A model whose second turn fails until `works` is set; each call costs a dollar."""

    works: bool = False
    asked: int = 0
    name: str = "flaky"
    price: tuple[float, float] | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def answer(self, prompts):
        for prompt in prompts:
            self.asked += 1
            turn = 1 + sum(one.role == "assistant" for one in prompt.turns)
            usage = Usage(calls=1, tokens_in=3, tokens_out=2, dollars=1.0)
            if turn == 2 and not self.works:
                yield Reply(prompt, usage=usage, error="the server is down")
            else:
                yield Reply(prompt, f"turn {turn}", usage, stop="length" if turn == 1 else "stop")


def test_a_dialogue_that_fails_is_billed_kept_and_due_again(folder):
    model = Flaky()
    items = list(read_items("items.jsonl"))
    with Ledger(folder / "l.ledger") as ledger:
        with pytest.warns(match="2 answers failed"):
            assert [answer.item for answer in fullbench.answer([model], items, ledger)] == ["one"]
        failures = list(ledger.failures("flaky"))
        assert [(failure.usage.calls, failure.usage.dollars) for failure in failures] == [(2, 2.0)] * 2
        (account,) = ledger.bill()
        assert (account.usage.calls, account.usage.dollars) == (5, 5.0), "every call is paid for once"
        model.works, before = True, model.asked
        answers = fullbench.answer([model], items, ledger)
        assert model.asked - before == 5
        assert [list(answer.parts) for answer in answers] == [
            [f"turn {number}" for number in range(1, len(texts) + 1)] for texts in QUESTIONS.values()
        ]
        assert {answer.stop for answer in answers} == {"length"}, "an answer that was cut off says so"


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="no Ray: scripts/localray.sh could not install it")
def test_a_cluster_sends_the_same_conversations_as_this_machine(folder, server):
    sent = {}
    with RayCluster(1) as cluster:
        for name, engine in (("here", "here"), ("ray", f"ray:{cluster.address}")):
            already = len(server.asked)
            settings = {
                "name": name, "items": "items.jsonl", "contestants": specs(server, *CONTESTANTS), "trials": 2,
                "judges": specs(server, "j1", "j4", options="?mode=direct"), "ballots": ["score:1-10"],
                "criteria": ["each turn", "overall"], "ledger": f"{name}.ledger", "engine": engine,
            }  # fmt: skip
            (folder / f"{name}.toml").write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in settings.items()))
            cli("run", f"{name}.toml", "--quiet")
            arrived = [one for one in server.asked[already:] if one.model in CONTESTANTS]
            with Ledger(folder / f"{name}.ledger", read_only=True) as ledger:
                # A prompt's digest leaves out the check code, which each ledger draws anew.
                verdicts = [(v.case, v.judge, v.trial, v.marks, v.prompt) for v in ledger.verdicts()]
            sent[name] = sorted(json.dumps([one.model, one.body["messages"]]) for one in arrived), sorted(verdicts)
    assert len(sent["here"][0]) == 2 * 6
    assert len(sent["here"][1]) == 2 * 2 * 2 * (6 + 3)
    assert sent["here"] == sent["ray"]
