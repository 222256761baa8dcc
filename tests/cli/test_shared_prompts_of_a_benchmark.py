"""Commands send the same prompts of a benchmark, so that one finds what another paid for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullbench.benchmarks.visit_bench.benchmark_definition import visit_bench
from fullbench.files.item_response_verdict_files import write_items, write_responses
from fullbench.judges.critic_prompts_with_task_rules import load_critic_template
from fullbench.ledger.ledger import Ledger
from fullbench.models.chat_model import ChatModel
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import build_scored_answers, record_from_files
from tests.support.commands import write_rows
from tests.support.fake_chat_server import FakeServer


def calls(server: FakeServer) -> int:
    return sum(server.books()["attempts"].values())


def judged(ledger: Path, study: str | None = None) -> dict[str, int]:
    with Ledger(ledger, read_only=True, study=study) as book:
        record = book.record()
        return {judge: len(list(record.where(judge=judge))) for judge in record.judges if judge != "human"}


@pytest.mark.parametrize("prompt_style", ["", "ref-free", "ref-backed", "with-picture"])
def test_what_run_asked_leaderboard_and_judge_find(cli, tmp_path, prompt_style):
    said = list(visit_bench.record().responses.values())
    newcomer = min({one.contestant for one in said} - {"reference"})
    write_items(tmp_path / "items.jsonl", visit_bench.items())
    write_responses(tmp_path / "all.jsonl", said)
    write_responses(tmp_path / "new.jsonl", [one for one in said if one.contestant == newcomer])
    write_responses(tmp_path / "old.jsonl", [one for one in said if one.contestant not in {newcomer, "reference"}])
    book = ("--ledger", "visit.ledger", "--study", "s", "--quiet")
    with FakeServer(says="[[A]]") as server:
        spec = f"vllm:judge@{server.url}"
        option = f"prompt_style={prompt_style}" if prompt_style else "temperature=0"
        study = f'name = "s"\nbenchmark = "visitbench"\njudges = ["{spec}?{option}"]\nledger = "visit.ledger"\n'
        (tmp_path / "study.toml").write_text(study, encoding="utf-8")
        code, _, err = cli("run", "study.toml", "--quiet")
        assert code == 0, err
        paid, before = calls(server), judged(tmp_path / "visit.ledger", "s")
        assert list(before.values()) == [paid], "one judge, one call for each case"
        code, _, err = cli(
            "leaderboard", "add", newcomer, "--predictions", "new.jsonl", "--responses", "old.jsonl", "--judge", spec,
            *(("--prompt-style", prompt_style) if prompt_style else ()), *book,
        )  # fmt: skip
        assert (code, calls(server)) == (0, paid), f"leaderboard add asks nothing that run has asked: {err}"
        worded = f"{spec}?benchmark_template=visitbench&{option}"
        code, _, err = cli(
            "judge",
            "--items",
            "items.jsonl",
            "--responses",
            "all.jsonl",
            "--judge",
            worded,
            "--ballot",
            "choice",
            *book,
        )
        assert (code, calls(server)) == (0, paid), f"judge asks nothing that run has asked: {err}"
        assert judged(tmp_path / "visit.ledger", "s") == before


NO_RULES = "这类问题没有专门的规则"


def test_the_rules_of_a_task_reach_every_prompt_and_all_prompts_are_equal_to_the_byte(cli, tmp_path):
    asked = {"id": "c1", "question": "图里有几只猫？", "reference": "三只。", "tags": {"task": "Counting"}}
    write_rows(tmp_path / "items.jsonl", [asked])
    write_rows(tmp_path / "answers.jsonl", [{"item": "c1", "contestant": "a", "text": "两只。"}])
    files = ("--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-10", "--quiet")
    sent: dict[str, str] = {}
    with FakeServer(says='{"Reason": "r", "Rating": 4}') as server:
        model = f"vllm:judge@{server.url}"

        def run(name: str, *command: str) -> None:
            before = calls(server)
            code, _, err = cli(*command, *(() if command[0] == "run" else ("--ledger", f"{name}.ledger")))
            assert (code, calls(server)) == (0, before + 1), err
            sent[name] = json.dumps(server.last()[1], ensure_ascii=False)

        study = (
            f'name = "s"\nbenchmark = "alignmmbench"\ndata = "items.jsonl"\nresponses = "answers.jsonl"\n'
            f'judges = ["{model}"]\nledger = "run.ledger"\n'
        )
        (tmp_path / "study.toml").write_text(study, encoding="utf-8")
        run("run", "run", "study.toml", "--quiet")
        by_task = ("--criterion", "Counting")
        run("wording", "judge", *files, *by_task, "--judge", f"{model}?benchmark_template=alignmmbench")
        run("critic", "judge", *files, *by_task, "--judge", f"critic:{model}")
        overall = "overall", "judge", *files, "--judge", f"critic:{model}"
        run(*overall)
        labels = {"item": "c1", "contestant": "a", "criterion": "Counting", "ballot": "score:1-10", "marks": [4]}
        write_rows(tmp_path / "labels.jsonl", [labels])
        paths = [tmp_path / f"{name}.jsonl" for name in ("items", "answers", "labels")]
        record = record_from_files(*paths, people="human", ballot="score:1-10")
        asking = PromptSettings(mode="analyze")
        (example,) = build_scored_answers(record, PromptSettings())
        judge = asking.judge(ChatModel("judge", server.url))
        assert list(judge.judge([example.case]))
        sent["critic eval"] = json.dumps(server.last()[1], ensure_ascii=False)
    assert sent["run"] == sent["wording"] == sent["critic"] == sent["critic eval"]
    rules = json.dumps(load_critic_template("zh").block("rules_counting"), ensure_ascii=False)[1:-1]
    for name, body in sent.items():
        assert rules in body, name
        assert NO_RULES not in body, name
    names = {tuple(judged(tmp_path / f"{name}.ledger")) for name in ("run", "wording", "critic")}
    assert len(names) == 1, "one judge, whichever way it is named"
