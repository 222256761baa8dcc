"""Rewards for training loops: several workers, real kills, and every reward computed again from the ledger."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image
from typer.testing import CliRunner

import fullbench
from fullbench import Ledger
from fullbench.cli.all_commands import app
from fullbench.errors import DataWarning, InputError, ModelError
from fullbench.judges.scorers.scorer_server import ServerBusyError
from fullbench.studies.rewards import reward_server_and_client
from fullbench.studies.rewards.reward_server_and_client import RewardServer
from fullbench.studies.rewards.reward_service import Measure, RewardService
from tests.support.commands import cli
from tests.support.scripted_server import ScriptedServer
from tests.support.wait_until import until

RUBRIC = """
[[criteria]]
name = "long"
asks = "The answer is long."
weight = 3
ballot = "score:1-5"
[[criteria]]
name = "rude"
asks = "The answer is rude."
weight = -2
"""


def by_length(asked):
    """Return a sheet with the length of the answer, and whether an x is in it; after a kill one may be stored."""
    answer = re.search(r"answer-[\w-]+", asked.words)[0]
    points = re.findall(r"^POINT (\w{4}) \(([^)]*)\)", asked.words, re.MULTILINE)
    rude = "yes" if "x" in answer else "no"
    return "\n".join(f"POINT {code}: {rude if 'yes' in values else 1 + len(answer) % 5}" for code, values in points)


def own_reward(answer):
    return min(1.0, max(0.0, (3 * (len(answer) % 5) / 4 - 2 * ("x" in answer)) / 3))


def marks_in(ledger):
    """Each stored verdict's marks by response and criterion; a second one for a case is an error of this function."""
    marks = {}
    with Ledger(ledger, read_only=True) as book:
        texts = {response.key: response.text for response in book.record().responses.values()}
        for verdict in book.record():
            place = verdict.item, verdict.shown_responses, verdict.criterion, verdict.ballot
            assert place not in marks, "two verdicts on one case"
            marks[place] = verdict.marks[0]
    assert texts
    return marks


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServedJudge:
    """`fullbench serve-judge` in a process of its own."""

    def __init__(self, *words, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fullbench", "serve-judge", *map(str, words)], cwd=folder, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stderr.readline()
        assert "serves rewards at http://127.0.0.1:" in line, line + self.process.stderr.read()
        self.url = line.split("serves rewards at ")[1].split(";")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def test_eight_workers_lose_nothing_when_the_server_is_killed(tmp_path):
    (tmp_path / "r.toml").write_text(RUBRIC, encoding="utf-8")
    port, begun, killed = free_port(), threading.Semaphore(0), threading.Event()
    active, counting = [0], threading.Lock()

    def slow(asked):
        begun.release()
        with counting:
            active.append(active[-1] + 1)
        time.sleep(0.03)
        with counting:
            active.append(active[-1] - 1)
        return by_length(asked)

    with ScriptedServer({"m": slow}) as judge:
        words = (f"vllm:m@{judge.url}?concurrency=8", "--rubric", "r.toml", "--ledger", "l.ledger", "--port", port)

        def work(worker):
            reward = fullbench.reward(url=f"http://127.0.0.1:{port}", timeout=120)
            rows = []
            for step in range(4):
                numbers = [(worker // 2 + step + place) % 12 for place in range(6)]
                prompts = [f"question {number % 3}?" for number in numbers]
                answers = [f"answer-{'x' * (number % 2)}{'a' * (number + 1)}" for number in numbers]
                rewards = reward(prompts, answers, completion_ids=[[1]] * 6)
                rows += zip(prompts, answers, rewards, [entry.cases for entry in reward.last_rewards], strict=True)
            return rows

        def kill_once():
            for _ in range(9):
                begun.acquire()
            served.process.kill()
            served.process.wait()
            time.sleep(0.3)  # requests that the killed server sent may not have arrived yet
            with Ledger(tmp_path / "l.ledger", read_only=True) as book:
                lost.append(len(judge.asked) - len(list(book.verdicts())) // 2)
            killed.set()
            restarted.append(ServedJudge(*words, folder=tmp_path))

        lost, restarted, served = [], [], ServedJudge(*words, folder=tmp_path)
        killer = threading.Thread(target=kill_once)
        killer.start()
        with ThreadPoolExecutor(8) as workers:
            rows = [row for rows in workers.map(work, range(8)) for row in rows]
        killer.join()
        with restarted[0]:
            metrics = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        served.process.communicate()
        asked = len(judge.asked)
    assert killed.is_set()
    assert max(active) <= 8 + lost[0], "the judge's limit holds for all workers; calls of the killed server may linger"
    different = {(prompt, answer) for prompt, answer, _, _ in rows}
    assert len(rows) == 8 * 4 * 6
    assert asked - len(different) <= lost[0], "extra requests are at most those in flight at the kill"
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        verdicts = list(book.verdicts())
    assert Counter((verdict.case, verdict.trial) for verdict in verdicts).most_common(1)[0][1] == 1
    assert len(verdicts) == 2 * len(different)
    by_case = {verdict.case: verdict for verdict in verdicts}
    for _, answer, reward, cases in rows:
        marks = {by_case[case].criterion: by_case[case].marks[0] for case in cases}
        from_ledger = min(1.0, max(0.0, (3 * (marks["long"] - 1) / 4 - 2 * (marks["rude"] - 1)) / 3))
        assert reward == pytest.approx(from_ledger, abs=1e-12) == pytest.approx(own_reward(answer), abs=1e-12)
    counts = dict(re.findall(r"^(fullbench_\w+)(?:{.*?})? (\S+)$", metrics, re.MULTILINE))
    assert 0 < int(counts["fullbench_reward_rewards_total"]) <= len(rows)


WORKER = """
import json, sys, time
import fullbench
spec, worker = sys.argv[1], int(sys.argv[2])
reward = fullbench.reward(spec, ballot="score:1-5", ledger="l.ledger", timeout=120)
for step in range(12):
    answers = [f"answer-{(worker + step + place) % 20}" for place in range(5)]
    rewards = reward(["q?"] * 5, answers)
    print(json.dumps([step, answers, rewards, [entry.cases[0] for entry in reward.last_rewards],
                      reward._source.__self__._service is not None]), flush=True)
"""


def test_workers_of_one_machine_share_a_judge_and_outlive_the_one_that_holds_it(tmp_path):
    def judge(asked):
        time.sleep(0.05)
        number = int(re.search(r"answer-(\d+)", asked.words)[1])
        nonce = re.search(r"\b[a-z]{8}\b(?=[^\n]*$)", asked.last)
        return f"[[{1 + number % 5}]]" + (f" {nonce[0]}" if nonce else "")

    with ScriptedServer({"m": judge}) as server:
        spec = f"vllm:m@{server.url}?concurrency=2"
        workers = [
            subprocess.Popen([sys.executable, "-c", WORKER, spec, str(number)], cwd=tmp_path, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
            for number in range(3)
        ]  # fmt: skip
        first_lines = [worker.stdout.readline() for worker in workers]
        holders = [worker for worker, line in zip(workers, first_lines, strict=True) if line and json.loads(line)[4]]
        assert len(holders) == 1, [worker.stderr.read() for worker in workers if worker.poll()]
        os.kill(holders[0].pid, signal.SIGKILL)
        rest = [worker.communicate() for worker in workers]
        asked = len(server.asked)
    rows = [json.loads(line) for first, (out, _) in zip(first_lines, rest, strict=True)
            for line in (first, *out.splitlines())]  # fmt: skip
    assert [worker.returncode for worker in workers if worker not in holders] == [0, 0], rest
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        verdicts = list(book.verdicts())
    by_case = {verdict.case: verdict.marks[0] for verdict in verdicts}
    assert len(by_case) == len(verdicts)
    for _, answers, rewards, cases, _ in rows:
        for answer, reward, case in zip(answers, rewards, cases, strict=True):
            assert reward == by_case[case] == 1 + int(answer.removeprefix("answer-")) % 5
    assert len({row[0] for row in rows}) == 12
    # Two calls in flight at the kill, and two that were answered but not yet committed (commits wait up to 20 ms).
    assert asked <= len(verdicts) + 4, "extra requests are at most those in flight at the kill"


def test_unusable_failed_late_and_unpaid_verdicts_have_defined_rewards(tmp_path):
    def judge(asked):
        answer = re.search(r"answer-[\w-]+", asked.words)[0]
        if "late" in answer:
            time.sleep(1.5)
        if "broken" in answer:
            raise ValueError(answer)
        return "I would rather not say." if "odd" in answer else "[[4]]"

    with ScriptedServer({"m": judge}) as server:
        spec = f"vllm:m@{server.url}?mode=direct&resample=0&attempts=1&price_in=1&price_out=1"
        shared = {"ballot": "score:1-5", "ledger": tmp_path / "l.ledger"}
        reward = fullbench.reward(spec, **shared, unusable=-1.0)
        assert reward(["q"] * 3, ["answer-1", "answer-odd", "answer-1"]) == [4, -1, 4]
        assert [entry.unusable for entry in reward.last_rewards] == ["", "unreadable", ""]
        assert len(server.asked) == 2, "equal completions are judged once"
        late = fullbench.reward(spec, **shared, timeout=0.5, failed=-2.0)
        with pytest.raises(InputError, match="used in this ledger with another"):
            fullbench.reward(spec, ballot="real:0-1", ledger=tmp_path / "l.ledger")(["q"], ["answer-1"])
        with pytest.warns(DataWarning, match=r"1 of 2 completions has no verdict: no verdict within 0\.\d+ s"):
            assert late(["q"] * 2, ["answer-1", "answer-late"]) == [4, -2]
        assert reward(["q"], ["answer-late"]) == [4]
        assert len([each for each in server.asked if "late" in each.words]) == 1, "a late verdict is stored"
        reward.close()
        poor = fullbench.reward(spec, ballot="score:1-5", ledger=tmp_path / "l.ledger", budget=1e-9)
        assert poor(["q"], ["answer-1"]) == [4], "a stored verdict costs nothing"
        with pytest.raises(ModelError, match="1 of 2 completions has no verdict: the budget of"):
            poor(["q"] * 2, ["answer-1", "answer-2"])
        assert not any("answer-2" in each.words for each in server.asked)
        poor.close()


def test_each_prompt_can_bring_its_rubric_reference_and_dialogue_and_verl_gets_the_same(tmp_path):
    def judge(asked):
        answer = re.search(r"answer-[\w-]+", asked.words)[0]
        points = re.findall(r"^POINT (\w{4}) \(.*?\): (?:T: )?Has (\w)\.$", asked.words, re.MULTILINE)
        return "\n".join(f"POINT {code}: {'yes' if letter in answer else 'no'}" for code, letter in points)

    rubrics = [[{"criterion": "Has p.", "points": 4}, {"criterion": "Has q.", "points": -1}],
               [{"title": "T", "description": "Has z.", "weight": 2},
                {"criterion": "Has p.", "points": 2}]]  # fmt: skip
    prompts = [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
                {"role": "user", "content": "And?"}], "Why?"]  # fmt: skip
    answers = [[{"role": "assistant", "content": "answer-pq"}], "answer-zz"]
    with ScriptedServer({"m": judge}) as server:
        spec = f"vllm:m@{server.url}?reference=yes"
        reward = fullbench.reward(spec, rubric=True, ledger=tmp_path / "l.ledger")
        judged = reward(prompts, answers, rubric=rubrics, reference=["Ref-1", "Ref-2"], trainer_state=object())
        with pytest.raises(InputError, match="1 of 2 prompts has no rubric"):
            reward(prompts, answers, rubric=[rubrics[0], None])
        extra = [{"prompt": prompt, "rubric": rubric} for prompt, rubric in zip(prompts, rubrics, strict=True)]
        solutions = ["answer-pq", "answer-zz"]
        before = len(server.asked)
        batch = reward.for_verl(
            data_sources=["d"] * 2, solution_strs=solutions, ground_truths=["Ref-1", "Ref-2"], extra_infos=extra
        )
        single = [reward.for_verl("d", solution, truth, info)
                  for solution, truth, info in zip(solutions, ["Ref-1", "Ref-2"], extra, strict=True)]  # fmt: skip
        with pytest.raises(InputError, match="verl passes none"):
            reward.for_verl("d", "answer-1", "Ref-1", {})
        assert len(server.asked) == before
        reward.close()
        picture = Image.new("RGB", (8, 8), "red")
        columns = {"rubric": rubrics, "reference": ["Ref-1", "Ref-2"], "images": [None, [picture]]}
        with (
            RewardService(spec, Measure(rubric=True), tmp_path / "l.ledger") as service,
            RewardServer(service, "127.0.0.1", 0) as http,
        ):
            threading.Thread(target=http.serve_forever, daemon=True).start()
            client = fullbench.reward(url=http.url, timeout=60)
            served = client(prompts, answers, **columns)
            http.shutdown()
        assert [len(each.pictures) for each in server.asked] == [*[0] * before, 1], "a picture makes another prompt"
    assert judged == batch == single == served == [0.75, 0.5]
    for each in server.asked:
        assert ("Ref-1" in each.words) == ("answer-pq" in each.words) == ("Hello" in each.words)
        assert ("Ref-2" in each.words) == ("answer-zz" in each.words)


def test_the_server_reads_a_study_file_and_refuses_what_it_cannot_do(tmp_path):
    (tmp_path / "r.toml").write_text(RUBRIC + "\n", encoding="utf-8")
    (tmp_path / "items.jsonl").write_text('{"id": "i", "question": "q"}\n', encoding="utf-8")
    with ScriptedServer({"m": by_length}) as judge:
        (tmp_path / "study.toml").write_text(
            f'name = "s"\nitems = "items.jsonl"\nresponses = "none.jsonl"\nledger = "l.ledger"\n'
            f'[rubrics.r]\njudge = "vllm:m@{judge.url}"\nfile = "r.toml"\ntotal = "sum"\n', encoding="utf-8",
        )  # fmt: skip
        with ServedJudge("study.toml", "--port", "0", "--token", "geheim", folder=tmp_path) as served:
            reward = fullbench.reward(url=served.url, token="geheim", timeout=60)
            assert reward(["q"] * 2, ["answer-x", "answer-aaa"]) == [3 * (8 % 5) / 4 - 2, 3 * (10 % 5) / 4]
            with pytest.raises(InputError, match="needs its token"):
                fullbench.reward(url=served.url, timeout=5)(["q"], ["answer-1"])

            def post(body):
                request = urllib.request.Request(
                    f"{served.url}/rewards", data=json.dumps(body).encode(), headers={"Authorization": "Bearer geheim"}
                )
                with pytest.raises(urllib.error.HTTPError) as refused:
                    urllib.request.urlopen(request)
                return refused.value.code, json.loads(refused.value.read())["error"]

            assert post([1]) == (400, "a request is an object with the lists 'prompts' and 'completions'")
            assert post({"prompts": ["q"], "completions": []})[1].startswith("each prompt has one completion; found 1")
            assert post({"prompts": ["q"], "completions": [7]})[1].startswith("a completion is a text or a list")
            assert post({"prompts": ["q"], "completions": ["a"], "timeout": 0})[1].startswith("'timeout' is a number")
        with pytest.raises(ModelError, match=r"gave no rewards within 0\.5 s"):
            fullbench.reward(url=served.url, token="geheim", timeout=0.5)(["q"], ["answer-1"])
    for words, sentence in [
        ((f"vllm:m@{judge.url}",), "No rubric or ballot given"),
        ((f"vllm:m@{judge.url}", "--ballot", "choice"), "a choice ballot takes 2 to 25 responses"),
        (
            (f"vllm:m@{judge.url}", "--rubric", str(tmp_path / "r.toml"), "--ballot", "score:1-5"),
            "Both a ballot and a rubric are given",
        ),
    ]:
        with pytest.raises(InputError, match=re.escape(sentence)):
            CliRunner().invoke(app, ["serve-judge", *words], catch_exceptions=False)
    with pytest.raises(InputError, match="No judge given"):
        fullbench.reward(ballot="score:1-5")
    with pytest.raises(InputError, match="leave them out here"):
        fullbench.reward("length", url="http://127.0.0.1:1")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_second_reward_function_uses_the_first_and_takes_over(tmp_path, request, monkeypatch, kind):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    ledger = str(tmp_path / "l.ledger") if kind == "sqlite" else request.getfixturevalue("postgres").database()
    with ScriptedServer({"m": by_length}) as server:
        spec = f"vllm:m@{server.url}"
        criteria = [{"name": "long", "asks": "The answer is long.", "weight": 3, "ballot": "score:1-5"},
                    {"name": "rude", "asks": "The answer is rude.", "weight": -2}]  # fmt: skip
        first, second = (fullbench.reward(spec, rubric=criteria, ledger=ledger, timeout=60) for _ in range(2))
        answers = [f"answer-{'a' * number}" for number in range(1, 5)]
        wanted = [own_reward(answer) for answer in answers]
        assert first(["q"] * 4, answers) == second(["q"] * 4, answers) == wanted
        assert [part._source.__self__._service is None for part in (first, second)] == [False, True]
        first.close()
        assert second(["q"] * 5, [*answers, "answer-xxx"]) == [*wanted, own_reward("answer-xxx")]
        assert second._source.__self__._service is not None
        assert len(server.asked) == 5
        second.close()


def test_a_holder_that_ends_loses_no_request_of_other_workers(tmp_path):
    """Requests on their way are answered before the ledger closes; later ones find the worker that takes over."""
    begun, go = threading.Semaphore(0), threading.Event()

    def judge(asked):
        begun.release()
        assert go.wait(30)
        return by_length(asked)

    with ScriptedServer({"m": judge}) as server:
        spec, ledger = f"vllm:m@{server.url}", tmp_path / "l.ledger"
        criteria = [{"name": "long", "asks": "The answer is long.", "weight": 3, "ballot": "score:1-5"},
                    {"name": "rude", "asks": "The answer is rude.", "weight": -2}]  # fmt: skip
        first, *others = (fullbench.reward(spec, rubric=criteria, ledger=ledger, timeout=60) for _ in range(4))
        answers = [f"answer-{'a' * number}" for number in range(1, 5)]
        with ThreadPoolExecutor(8) as pool:
            held = pool.submit(first, ["q"], answers[:1])
            assert begun.acquire(timeout=30)
            remote = [pool.submit(other, ["q"], [answer]) for other, answer in zip(others, answers[1:], strict=True)]
            for _ in others:
                assert begun.acquire(timeout=30)
            service = first._source.__self__._service
            ended = pool.submit(first.close)
            until(lambda: service._stop.reason)
            with pytest.raises(ServerBusyError, match="the service ends"):
                service.rewards([], 5)
            late = pool.submit(others[0], ["q"], ["answer-aaaaaaaa"])
            assert not ended.done(), "it waits for the requests on their way"
            go.set()
            assert [one.result(60) for one in (held, *remote)] == [[own_reward(answer)] for answer in answers]
            assert late.result(60) == [own_reward("answer-aaaaaaaa")]
            ended.result(60)
        assert len(server.asked) == 5
        for other in others:
            other.close()


def test_a_score_model_rewards_pictures_in_large_batches_and_all_verdicts_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(reward_server_and_client, "MOST_ROWS", 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shade.py").write_text(
        "def shade(prompt, image):\n    return image.convert('L').getpixel((0, 0)) / 255\n", encoding="utf-8"
    )
    spec, shades = "scorer:shade:shade?span=0,1", [0, 51, 102, 153, 204, 255, 0]
    drawn = [[{"role": "assistant", "content": [{"type": "image", "image": Image.new("L", (4, 4), shade)}]}]
             for shade in shades]  # fmt: skip
    with (
        RewardService(spec, Measure(ballot="real:0-1"), tmp_path / "l.ledger") as service,
        RewardServer(service, "127.0.0.1", 0) as http,
    ):
        threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
        reward = fullbench.reward(url=http.url, timeout=60, unusable=-1.0)
        prompts = ["grey"] * len(shades)
        assert reward(prompts, drawn) == pytest.approx([shade / 255 for shade in shades], abs=1e-6)
        assert reward(["grey"] * 4, ["no picture"] * 4) == [-1.0] * 4
        request = urllib.request.Request(f"{http.url}/scores", b'{"prompts": [], "pictures": []}')
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        refused.value.close()
        assert refused.value.code == 404, "scores would pass by the ledger"
        metrics = urllib.request.urlopen(f"{http.url}/metrics").read().decode()
        http.shutdown()
    assert "fullbench_reward_rewards_total 11\n" in metrics
    assert 'fullbench_reward_unusable_total{kind="abstained"} 4\n' in metrics
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        assert len(list(book.verdicts())) == 7, "six pictures and a text"
    assert "--budget needs --rubric or --ballot" in cli("serve-judge", spec, "--budget", "1", code=2).output


def sent_order(asked):
    """Texts and pictures of the last turn in their order, pictures by their colour."""
    order = []
    for part in asked.body["messages"][-1]["content"]:
        if part["type"] == "text":
            order.append(part["text"])
        else:
            picture = Image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition(",")[2])))
            order.append(f"<{'red' if picture.convert('RGB').getpixel((0, 0)) == (255, 0, 0) else 'blue'}>")
    return "".join(order)


def test_pictures_of_prompts_and_completions_keep_their_places(tmp_path):
    red, blue = (Image.new("RGB", (8, 8), colour) for colour in ("red", "blue"))

    def albums(*pictures):
        texts = [{"type": "text", "text": text} for text in ("Album A:", "Album B:", "Which is warmer?")]
        return [{"role": "user", "content": [texts[0], pictures[0], texts[1], pictures[1], texts[2]]}]

    filled = albums({"type": "image", "image": red}, {"type": "image", "image": blue})
    hollow = albums({"type": "image"}, {"type": "image"})
    in_text = [{"role": "user", "content": "Album A:<image>Album B:<image>Which is warmer?"}]
    drawn = [{"role": "assistant", "content": [{"type": "text", "text": "This one:"}, {"type": "image", "image": blue},
                                               {"type": "text", "text": "It is cold."}]}]  # fmt: skip
    answer = [{"role": "assistant", "content": "answer-a"}]
    with ScriptedServer({"m": lambda asked: "[[3]]"}) as server:
        spec, columns = f"vllm:m@{server.url}?mode=direct", {"images": [[red, blue]] * 4}
        reward = fullbench.reward(spec, ballot="score:1-5", ledger=tmp_path / "l.ledger", timeout=60)
        other = fullbench.reward(spec, ballot="score:1-5", ledger=tmp_path / "l.ledger", timeout=60)
        prompts = [filled, hollow, in_text, "Which is warmer?"]
        assert reward(prompts, [answer] * 3 + [drawn], **columns) == [3.0] * 4
        cases = [entry.cases for entry in reward.last_rewards]
        assert cases[0] == cases[1] == cases[2] != cases[3], "TRL's and verl's ways to name a place are one prompt"
        assert other(prompts, [answer] * 3 + [drawn], **columns) == [3.0] * 4, "over HTTP"
        assert [entry.cases for entry in other.last_rewards] == cases
        assert len(server.asked) == 2
        for prompt, row, why in [
            (hollow, [red], "2 places for pictures, and its row 1 picture"),
            ([{"role": "user", "content": [{"type": "video"}]}], None, "found a part of the kind 'video'"),
            ([{"role": "system", "content": "s"}], [red], "no user turn"),
            ("q", ["no base64!"], "a picture of a prompt is bytes, base64 or an image"),
        ]:
            for function in (reward, other):
                with pytest.raises(InputError, match=re.escape(why)):
                    function([prompt], ["a"], **({} if row is None else {"images": [row]}))
        reward.close()
    in_place, in_front = sorted(map(sent_order, server.asked), key=lambda words: "This one" in words)
    assert re.search(r"Album A:\n?<red>\n?Album B:\n?<blue>\n?Which is warmer\?", in_place), in_place
    assert re.search(r"<red>\s*\[2\] <blue>\s.*Which is warmer\?.*This one:\n?<blue>\n?It is cold", in_front, re.DOTALL)


def test_totals_are_in_the_report_and_a_rubric_without_positive_points_is_refused_at_once(tmp_path):
    ledger, means = tmp_path / "l.ledger", []
    with pytest.raises(InputError, match="the rubric has no criterion with positive points"):
        fullbench.reward("chance?seed=1", rubric=[{"name": "rude", "weight": -1}], ledger=ledger)
    assert not ledger.exists()
    prompts = [f"question {number}?" for number in range(6) for _ in range(2)]
    answers = [f"answer {number}-{sample}" for number in range(6) for sample in range(2)]
    for points in (1, 3):
        criteria = [{"name": "right", "weight": points}, {"name": "clear", "weight": 2}, {"name": "rude", "weight": -1}]
        reward = fullbench.reward("chance?seed=1", rubric=criteria, ledger=ledger)
        means.append(sum(reward(prompts, answers)) / 12)
        reward.close()
    tables = {table.name: table for table in fullbench.report(ledger)}
    boards = [table for name, table in tables.items() if name.startswith("leaderboard rubric:rewards")]
    found = [board.column("mean real:0-1")[0].value for board in boards]
    assert sorted(found) == pytest.approx(sorted(means))
    assert len(set(means)) == 2
