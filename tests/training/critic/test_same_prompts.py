"""The rules of the task stand in every prompt of a critic, the same to the byte: learning, trying, judging, running."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fullbench.judges.critic_prompts_with_task_rules import RULES, load_critic_template
from fullbench.training.critic.critic_judge import CutJudge
from fullbench.training.critic.critic_metadata import Critic
from fullbench.training.critic.data.encoding import Encoder
from fullbench.training.critic.data.prompt_settings import PromptSettings
from fullbench.training.critic.data.scored_answers import build_scored_answers, record_from_files
from tests.support.commands import stdout_of as run
from tests.support.commands import write_rows

TASKS = ["Counting", "OCR", "Writing", "Coherence", "no such task"]


class Handler(BaseHTTPRequestHandler):
    """A chat model that gives a 7, and keeps what it was asked."""

    asked: list[list[dict]]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body["messages"])
        choice = {"message": {"content": '{"Rating": 7}'}, "finish_reason": "stop"}
        said = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


class Letters:
    """A tokenizer whose tokens are letters, so that tokens can be read as the words that they are."""

    chat_template = "there is one"
    eos_token_id = None

    def __init__(self) -> None:
        self.asked: list[list[dict]] = []

    def apply_chat_template(self, messages, **_):
        self.asked.append(messages)
        return "\n".join(message["content"] for message in messages)

    def __call__(self, text, **_):
        return {"input_ids": list(map(ord, text))}


class Loaded:
    """A model of which only the tokenizer is at hand."""

    name, settings, price = "loaded", {}, (0.0, 0.0)

    def __init__(self, tokenizer) -> None:
        self.tokenizer = tokenizer

    def load(self):
        return None, self.tokenizer


@pytest.fixture(scope="module")
def server():
    asked: list[list[dict]] = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"asked": asked}))
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/v1", asked
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture
def data(tmp_path):
    """Two answers to a question of each task, scored by two people by the usual criterion."""
    items = [
        {"id": f"q{place}", "question": f"第{place}个问题？", "reference": f"参考 {place}", "tags": {"task": task}}
        for place, task in enumerate(TASKS)
    ]
    responses = [
        {"item": item["id"], "contestant": who, "text": f"{who} 答 {item['id']}"} for item in items for who in "ab"
    ]
    labels = [
        {
            "item": row["item"],
            "contestant": row["contestant"],
            "score": 6,
            "ballot": "score:1-10",
            "rater": who,
            "text": "数目不对。",
        }
        for row in responses
        for who in ("ann", "bob")
    ]
    for name, rows in (("items", items), ("responses", responses), ("labels", labels)):
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


def plain(messages: list[dict]) -> tuple[tuple[str, str], ...]:
    """Roles and words of a prompt; vLLM and our own server put a line break between the texts of a message."""
    told = []
    for message in messages:
        content = message["content"]
        words = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
        told.append((message["role"], words))
    return tuple(told)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_training_trying_judging_and_running_ask_the_same(server, data, language, monkeypatch):
    url, asked = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(data)
    asking = PromptSettings(language=language)
    record = record_from_files(*(data / f"{name}.jsonl" for name in ("items", "responses", "labels")), people="human",
                        ballot="score:1-10")  # fmt: skip
    examples = build_scored_answers(record, asking)

    learning = Letters()
    encoder = Encoder(learning, asking, 100_000)
    for example in examples:
        encoder.prompt(example.case)
    train = set(map(plain, learning.asked))

    trying = Letters()
    critic = Critic(kind="sft", asking=asking, source=100_000, target=64, mean=6.0, deviation=1.0)
    judge = CutJudge(asking.judge(Loaded(trying)), Loaded(trying), critic)
    tried = {
        tuple((turn.role, turn.text) for turn in prompt.turns)
        for example in examples for prompt in judge.prompts(example.case)
    }  # fmt: skip

    spec = f"critic:openai:judge@{url}?mode=direct&language={language}&key_env=FULLBENCH_TEST_KEY"
    asked.clear()
    run("judge", "--items", "items.jsonl", "--responses", "responses.jsonl", "--ballot", "score:1-10", "--judge", spec,
        "--ledger", "judge.ledger", "--quiet")  # fmt: skip
    judged = set(map(plain, asked))

    (data / "study.toml").write_text(
        f'name = "s"\nitems = "items.jsonl"\nresponses = "responses.jsonl"\nballots = ["score:1-10"]\n'
        f'judges = ["{spec}"]\nledger = "run.ledger"\n',
        encoding="utf-8",
    )
    asked.clear()
    run("run", "study.toml", "--quiet")
    ran = set(map(plain, asked))

    assert len(train) == 2 * len(TASKS)
    assert train == tried == judged == ran
    blocks = load_critic_template(language)
    for place, task in enumerate(TASKS):
        of_task = [prompt for prompt in train if f"第{place}个问题" in prompt[-1][1]]
        assert len(of_task) == 2
        for prompt in of_task:
            rules = [name for name in RULES if blocks.block(RULES[name]) in prompt[-1][1]]
            assert (task in rules) == (task in RULES)
            assert bool(rules) == (task in RULES)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ["direct", "analyze"])
def test_the_commands_train_and_eval_ask_what_judge_and_run_ask_to_the_token(server, data, monkeypatch, mode):
    """A small Llama is really trained and tried: its tokens are those of the words that a server is sent."""
    pytest.importorskip("torch", reason="torch is not installed; scripts/localtorch.sh installs it")
    from fullbench.models.local import transformers_model
    from fullbench.training.critic.data import encoding
    from tests.training.critic import tiny

    url, asked = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(data)
    words = load_critic_template("zh")
    texts = [*(text for _, text in words.turns), *words.blocks.values()]
    base = tiny.model(data / "base", texts, size=1500, window=8192)
    seen: list[str] = []

    def spied(tokenizer, turns):
        """The real tokens, kept as the text that they are."""
        ids = tokenize(tokenizer, turns)
        seen.append(tokenizer.decode(ids))
        return ids

    tokenize = transformers_model.tokenize_turns
    monkeypatch.setattr(transformers_model, "tokenize_turns", spied)
    monkeypatch.setattr(encoding, "tokenize_turns", spied)
    files = ("--items", "items.jsonl", "--responses", "responses.jsonl", "--labels", "labels.jsonl")
    learn = ("critic", "train", *files, "--base", base, "--out", "c", "--share", 0.4, "--epochs", 2, "--batch", 6,
             "--micro", 1, "--target", 64, "--device", "cpu", "--mode", mode, "--quiet")  # fmt: skip
    run(*learn, "--no-eval")
    train = set(seen)
    rows = [json.loads(line) for line in Path("c/run/split.jsonl").read_text(encoding="utf-8").splitlines()]
    learned = {(row["item"], row["contestant"]) for row in rows if row["split"] == "train"}
    seen.clear()
    run("critic", "eval", "c", *files, "--device", "cpu", "--quiet")
    tried = set(seen)
    tables = {table["name"]: table for table in json.loads(run(*learn, "--json"))}
    losses = [json.loads(line)["loss"] for line in Path("c/run/losses.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row[1] for row in tables["learning"]["rows"]] == pytest.approx(losses)
    assert len(losses) > 1

    spec = f"critic:openai:judge@{url}?mode={mode}&key_env=FULLBENCH_TEST_KEY"
    asked.clear()
    run("judge", *files[:4], "--ballot", "score:1-10", "--judge", spec, "--ledger", "judge.ledger", "--quiet")
    judged = {plain(messages) for messages in asked}
    Path("study.toml").write_text(
        f'name = "s"\nitems = "items.jsonl"\nresponses = "responses.jsonl"\nballots = ["score:1-10"]\n'
        f'judges = ["{spec}"]\nledger = "run.ledger"\n',
        encoding="utf-8",
    )
    asked.clear()
    run("run", "study.toml", "--quiet")
    assert {plain(messages) for messages in asked} == judged

    def chat(messages: tuple[tuple[str, str], ...]) -> str:
        return "".join(f"<|{role}|>{text}<|end|>" for role, text in messages) + "<|assistant|>"

    def whose(messages: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        who, item = re.search(r"([ab]) 答 (q\d)", messages[-1][1]).groups()
        return item, who

    assert train == {chat(messages) for messages in judged if whose(messages) in learned}
    assert tried == {chat(messages) for messages in judged if whose(messages) not in learned}
    assert train
    assert tried


def test_a_chinese_prompt_is_chinese_and_asks_for_the_rating_first(server, tmp_path, monkeypatch):
    url, asked = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(tmp_path)
    turns = [
        {"role": "system", "parts": ["说中文。"]}, {"role": "user", "parts": ["图里有什么？"]},
        {"role": "assistant", "parts": ["两只猫。"]}, {"role": "user", "parts": ["再数一遍？"]},
    ]  # fmt: skip
    item = {"id": "q", "turns": turns, "reference": "三只。", "tags": {"task": "Incoherence"}}
    write_rows(Path("items.jsonl"), [item])
    answers = [{"item": "q", "contestant": who, "text": f"{who}只。"} for who in "二三四"]
    write_rows(Path("answers.jsonl"), answers)

    def judge(options: str) -> list[str]:
        asked.clear()
        spec = f"critic:openai:judge@{url}?key_env=FULLBENCH_TEST_KEY{options}"
        run("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "score:1-10", "--judge",
            spec, "--ledger", "zh.ledger", "--quiet")  # fmt: skip
        return ["\n".join(words for _, words in plain(prompt)) for prompt in asked]

    chinese = judge("")
    assert len(chinese) == 3
    for prompt in chinese:
        assert "系统设定：说中文。\n用户：图里有什么？\n助手：两只猫。" in prompt
        own = re.sub(r"回答 [0-9a-f]{8} ", "", prompt)
        assert set(re.findall("[A-Za-z]+", own)) == {"JSON", "Rating", "Reason"}
        assert prompt.index('"Rating"') < prompt.index('"Reason"')
    english = judge("&language=en")
    assert all(prompt.index('"Rating"') < prompt.index('"Reason"') for prompt in english)


EXACT = """=== user
[Task] {task}
[Q] {question}
[Ref] {reference}
--- case
{responses}
{verdict}
--- fence
<|assistant|>{text}<|end|>
--- direct
Score it.
--- analyze
Score it.
"""


def test_a_released_critics_very_prompt_can_be_given(server, data, monkeypatch):
    """A template owns the marks around answers too: not a letter is added to what it says."""
    url, asked = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(data)
    rules = "".join(f"--- {block}\n.\n" for block in dict.fromkeys(RULES.values()))
    Path("exact.txt").write_text(EXACT + rules, encoding="utf-8")
    asked.clear()
    spec = f"critic:openai:judge@{url}?mode=direct&template=exact.txt&key_env=FULLBENCH_TEST_KEY"
    run("judge", "--items", "items.jsonl", "--responses", "responses.jsonl", "--ballot", "score:1-10", "--judge", spec,
        "--ledger", "exact.ledger", "--quiet")  # fmt: skip
    wanted = set()
    for place, task in enumerate(TASKS):
        head = f"[Task] {task}\n[Q] 第{place}个问题？\n[Ref] 参考 {place}\n"
        wanted |= {(("user", f"{head}<|assistant|>{who} 答 q{place}<|end|>\nScore it."),) for who in "ab"}
    assert set(map(plain, asked)) == wanted


def test_the_benchmarks_own_run_has_the_rules_too(server, monkeypatch, tmp_path):
    """There the task is the criterion, which stands in the marks around answers and nowhere else."""
    url, asked = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(tmp_path)
    spec = f"critic:openai:judge@{url}?mode=direct&key_env=FULLBENCH_TEST_KEY"
    Path("study.toml").write_text(f'name = "s"\nbenchmark = "alignmmbench"\njudges = ["{spec}"]\n', encoding="utf-8")
    asked.clear()
    run("run", "study.toml", "--quiet")
    assert asked
    blocks = [load_critic_template("zh").block(name) for name in RULES.values()]
    assert all(any(block in prompt[-1][1] for block in blocks) for prompt in map(plain, asked))
    assert not any(re.search("没有专门的规则", prompt[-1][1]) for prompt in map(plain, asked))
