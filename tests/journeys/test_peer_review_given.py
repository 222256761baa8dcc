"""Peer review on questions that were given, with real servers: what is asked, what is shown, and what it comes to."""

from __future__ import annotations

import base64
import csv
import json
import random
import re
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from fullbench.cli.all_commands import app
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.files.external_benchmark_questions import read_questions
from fullbench.judges.peer_review.review_prompts import default_review_template
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.peer_review.peer_review_steps import PeerReview
from tests.support.data_builders import chance, png

SKILL = {"sharp": 0.95, "fair": 0.75, "plain": 0.55, "dull": 0.3}
QUESTIONS = 12


def key_of(number: int) -> str:
    return "ABCD"[int(4 * chance("key", number))]


def answered(model: str, number: int) -> str:
    """The letter that a model settles on."""
    right = chance("answer", model, number) < SKILL[model]
    return key_of(number) if right else "ABCD"["ABCD".index(key_of(number)) - 1]


class Handler(BaseHTTPRequestHandler):
    """Models that answer with known skill, and rule by the key with the same skill."""

    prompts: list[tuple[str, str]]

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = "\n".join(
            part if isinstance(part, str) else part.get("text", "")
            for message in body["messages"]
            for part in ([message["content"]] if isinstance(message["content"], str) else message["content"])
        )
        model = body["model"]
        self.prompts.append((model, words))
        number = int(re.search(r"#(\d+)", words)[1])
        answers = re.findall(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", words, re.DOTALL)
        if answers:
            hits = [f"[[{key_of(number)}]]" in text for _, text in answers]
            if "understands the picture" in words or "理解得如何" in words:
                hits = [len(text) for _, text in answers]
            told = "C" if hits[0] == hits[1] else "A" if hits[0] > hits[1] else "B"
            # Who is shown first hangs on names, and names on the port: a slip must not hang on either.
            texts = [text for _, text in answers]
            if chance("rule", model, number, *sorted(texts)) > SKILL[model] and texts[0] != texts[1]:
                told = {"A": "B", "B": "A", "C": "A" if texts[0] < texts[1] else "B"}[told]
            reply = f"I compared them.\n[[{told}]]"
        else:
            reply = f"Step by step{' and on' * int(6 * chance('long', model, number))}. [[{answered(model, number)}]]"
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        choice = {"message": {"content": reply}, "finish_reason": "stop"}
        said = json.dumps({"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    prompts: list[tuple[str, str]] = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"prompts": prompts}))
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}/v1", prompts
    httpd.shutdown()
    httpd.server_close()
    thread.join()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file as MMStar has it: two questions on each picture, options within the question, a letter for an answer."""
    folder = tmp_path_factory.mktemp("given")
    rows = [
        {
            "index": number,
            "question": f"#{number}: what is it? 是什么？\nOptions: A: cat, B: dog, C: cow, D: ant",
            "answer": key_of(number),
            "category": "coarse perception",
            "image": base64.b64encode(png(size=(9 + number // 2, 9))).decode(),
        }
        for number in range(QUESTIONS)
    ]
    (folder / "mmstar.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with (folder / "scores.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "accuracy"])
        writer.writerows([[name, score] for name, score in TRUE.items()])
    return folder


TRUE = {"sharp": 61.5, "fair": 57.0, "plain": 44.1, "dull": 12.0, "absent": 3.0}


def contestants(url: str) -> str:
    return ",".join(f"openai:{name}@{url}?key_env=FULLBENCH_TEST_KEY" for name in SKILL)


def run(*words: object) -> dict[str, dict]:
    done = CliRunner().invoke(app, [*map(str, words), "--json", "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return {table["name"]: table for table in json.loads(done.stdout)}


def column(table: dict, name: str) -> list:
    place = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]].index(name)
    return [row[place] for row in table["rows"]]


def value(cell) -> float:
    return cell["value"] if isinstance(cell, dict) else cell


def short(name: str) -> str:
    return name.partition("@")[0]


def by_name(table: dict, label: str, figure: str) -> dict[str, float]:
    """A column of a table by its contestants, each by the name of its model alone."""
    cells = zip(column(table, label), column(table, figure), strict=True)
    return {short(name): value(cell) for name, cell in cells}


def pearson(scores: dict[str, float]) -> float:
    return float(stats.pearsonr([scores[name] for name in SKILL], [TRUE[name] for name in SKILL]).statistic)


@pytest.fixture(scope="module")
def reviewed(server, data):
    url, prompts = server
    ledger = data / "given.ledger"
    words = ["peer-review", "--questions", data / "mmstar.jsonl", "--contestants", contestants(url), "--ledger", ledger]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FULLBENCH_TEST_KEY", "k")
        tables = run(*words, "--human-scores", data / "scores.csv")
        asked = len(prompts)
        again = run(*words, "--human-scores", data / "scores.csv", "--reading", "share")
        assert len(prompts) == asked, "nothing is asked twice"
    return tables, again, ledger, list(prompts[:asked])


def verdicts(ledger) -> list[tuple[str, str, str, str, str, float]]:
    """Rows of plain values from the ledger: item, reviewer, first, second, criterion, what the first got."""
    with Ledger(ledger, read_only=True) as book:
        rows = []
        for verdict in book.record():
            if verdict.judge != "truth":
                one, two = (short(name) for name in verdict.contestants)
                reviewer = verdict.judge.partition("@")[0]
                rows.append((verdict.item, reviewer, one, two, verdict.criterion, verdict.marks[0]))
        return rows


def test_everybody_answers_once_and_reviews_every_two_others(reviewed):
    _, _, ledger, prompts = reviewed
    answers = [words for _, words in prompts if "<response A" not in words]
    assert len(answers) == len(SKILL) * QUESTIONS
    assert len(prompts) - len(answers) == len(SKILL) * 3 * 2 * QUESTIONS
    rows = verdicts(ledger)
    assert all(reviewer not in {one, two} for _, reviewer, one, two, _, _ in rows)
    met = defaultdict(set)
    for item, reviewer, one, two, criterion, _ in rows:
        met[item, reviewer, criterion].add(frozenset((one, two)))
    for (_, reviewer, _), pairs in met.items():
        assert pairs == {frozenset(pair) for pair in combinations(set(SKILL) - {reviewer}, 2)}


def test_the_papers_criteria_are_in_every_review_and_the_key_in_none(reviewed):
    *_, prompts = reviewed
    said = default_review_template().criteria
    reviews = [words for _, words in prompts if "<response A" in words]
    assert sum(said[CORRECTNESS] in words for words in reviews) == len(reviews) // 2
    assert sum(said[VISUAL] in words for words in reviews) == len(reviews) // 2
    assert all(default_review_template().choose in words for _, words in prompts if "<response A" not in words)
    assert not any("checked and found right" in words for words in reviews)
    assert not any(default_review_template().choose in words or "The conversation before" in words for words in reviews)


def test_scores_by_the_key_are_those_of_the_answers(reviewed):
    tables, *_ = reviewed
    wanted = {name: fmean(answered(name, n) == key_of(n) for n in range(QUESTIONS)) for name in SKILL}
    assert by_name(tables["benchmark"], "contestant", "right") == pytest.approx(wanted)


def test_scores_and_nearness_come_out_as_computed_by_hand(reviewed):
    tables, _, ledger, _ = reviewed
    names = sorted(SKILL)
    points = defaultdict(list)
    for _, reviewer, one, two, _, mark in verdicts(ledger):
        points[reviewer, one].append(mark)
        points[reviewer, two].append(1 - mark)
    of = {name: [mark for (_, who), marks in points.items() if who == name for mark in marks] for name in names}
    uniform = {name: fmean(marks) for name, marks in of.items()}
    assert by_name(tables["ranking"], "contestant", "uniform") == pytest.approx(uniform)
    truth = [TRUE[name] for name in names]
    assert by_name(tables["ranking"], "contestant", "truth") == {name: TRUE[name] for name in names}
    near = dict(zip(column(tables["nearness"], "method"), column(tables["nearness"], "pearson"), strict=True))
    assert near["uniform"] == pytest.approx(np.corrcoef([uniform[name] for name in names], truth)[0, 1])
    # weights that agree with the scores from 0 to 1, by plain iteration
    weight = dict.fromkeys(names, 1.0)
    for _ in range(400):
        grade = {}
        for name in names:
            marks = [(weight[who], mark) for (who, of), all_ in points.items() if of == name for mark in all_]
            total = sum(w for w, _ in marks)
            grade[name] = sum(w * mark for w, mark in marks) / total if total > 1e-12 else uniform[name]
        low, high = min(grade.values()), max(grade.values())
        weight = {name: 0.5 * weight[name] + 0.5 * (grade[name] - low) / (high - low) for name in names}
    assert by_name(tables["ranking"], "contestant", "UPME") == pytest.approx(grade, abs=1e-4)
    assert near["UPME"] == pytest.approx(stats.pearsonr([grade[name] for name in names], truth).statistic, abs=1e-4)


def test_each_reviewers_accuracy_is_its_share_of_true_rulings(reviewed):
    tables, _, ledger, _ = reviewed
    hits = defaultdict(list)
    for item, reviewer, one, two, criterion, mark in verdicts(ledger):
        if criterion == CORRECTNESS:
            right = [answered(name, int(item)) == key_of(int(item)) for name in (one, two)]
            true = 0.5 if right[0] == right[1] else float(right[0])
            hits[reviewer].append(mark == true)
    shown = by_name(tables["accuracy"], "reviewer", "correctness right")
    assert {name: shown[name] for name in SKILL} == pytest.approx({name: fmean(hit) for name, hit in hits.items()})
    assert shown["all reviewers"] == pytest.approx(fmean(hit for of in hits.values() for hit in of))
    visual = column(tables["accuracy"], "visual right")
    assert visual == [None] * 5, "the key knows nothing of visual understanding"


@pytest.mark.slow
def test_figures_3_to_6_are_drawn_with_the_numbers_of_their_tables(reviewed, data, server, monkeypatch, tmp_path):
    """Loss and nearness by round, sample sizes, each reviewer's accuracy, and the counts of biases, as SVG and PNG."""
    url, prompts = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    asked = len(prompts)
    words = ["peer-review", "--questions", data / "mmstar.jsonl", "--contestants", contestants(url)]
    more = ["--ledger", reviewed[2], "--human-scores", data / "scores.csv", "--charts", tmp_path]
    tables = run(*words, *more)
    assert len(prompts) == asked

    def points(name: str) -> set[str]:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        return set(re.findall(r'aria-label="([^"]+)"', (tmp_path / f"{name}.svg").read_text(encoding="utf-8")))

    def number(found: set[str], *parts: str) -> float:
        (label,) = {
            label
            for label in found
            if "; value: " in f"; {label}" and "high: " not in label and all(part in f"; {label};" for part in parts)
        }
        return float(re.search(r"value: (-?[\d.e-]+)", label.replace("\N{MINUS SIGN}", "-"))[1])

    losses = points("convergence")
    for turn, loss in zip(
        column(tables["convergence"], "round"), column(tables["convergence"], "mean loss"), strict=True
    ):
        assert number(losses, f"round: {turn};") == pytest.approx(np.log10(float(loss)), abs=0.03)
    near = points("nearing")
    assert number(near, "round: 0;", "; label: pearson;") == pytest.approx(column(tables["nearing"], "pearson")[0])
    last = column(tables["nearing"], "round")[-1]
    upme = dict(zip(column(tables["nearness"], "method"), column(tables["nearness"], "pearson"), strict=True))["UPME"]
    assert number(near, f"round: {last};", "; label: pearson;") == pytest.approx(upme, abs=1e-4)
    right = column(tables["accuracy"], "correctness right")
    for name, cell in zip(column(tables["accuracy"], "reviewer"), right, strict=True):
        (shown,) = (label for label in points("accuracy") if label.startswith(f"{name}, correctness right: "))
        # Charts have two decimals.
        assert float(shown.rpartition(": ")[2].split()[0]) == pytest.approx(value(cell), abs=5e-3)
    sizes = points("sizes")
    for size, pearson in zip(column(tables["sizes"], "pictures"), column(tables["sizes"], "pearson"), strict=True):
        assert number(sizes, f"pictures: {size};", "label: pearson") == pytest.approx(pearson)
    drawn = points("biases")
    for kind in ("wrong: yes", "wrong: no", "right: yes", "right: no"):
        for chosen, count in zip(column(tables["biases"], "chosen"), column(tables["biases"], kind), strict=True):
            assert f"column: {kind}; row: {chosen}; value: {count}" in drawn


def test_another_reading_gives_other_scores_and_says_so(reviewed):
    tables, again, *_ = reviewed
    assert column(tables["readings"], "used")[0] == "yes"
    assert column(again["readings"], "used")[1] == "yes"
    order = dict(zip(column(again["readings"], "reading"), column(again["readings"], "order"), strict=True))
    assert order["range"] == "equals PRD"
    apart = dict(zip(column(again["readings"], "reading"), column(again["readings"], "distance from PRD"), strict=True))
    assert apart["range"] < 5e-4 < apart["share"]
    assert column(tables["ranking"], "UPME") != column(again["ranking"], "UPME")


@pytest.mark.slow
def test_several_seeds_have_a_mean_and_a_deviation(server, data, monkeypatch, tmp_path):
    url, _ = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    words = ["peer-review", "--questions", data / "mmstar.jsonl", "--contestants", contestants(url), "--limit", 6]
    tables = run(*words, "--ledger", tmp_path / "s.ledger", "--human-scores", data / "scores.csv", "--seeds", "1,2")
    models = [judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in contestants(url).split(",")]
    found = []
    for seed in (1, 2):
        asked, _ = read_questions(data / "mmstar.jsonl")
        random.Random(seed).shuffle(asked)
        review = PeerReview(models, given_questions=asked[:6], seed=seed)
        with Ledger(tmp_path / f"{seed}.ledger") as book:
            record = review.execute(book, quiet=True).record
        marks = defaultdict(list)
        for verdict in record:
            if verdict.judge != "truth":
                for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                    marks[short(name)].append(mark)
        found.append(np.corrcoef([fmean(marks[name]) for name in SKILL], [TRUE[name] for name in SKILL])[0, 1])
    rows = {row[0]: row for row in tables["runs"]["rows"]}
    assert rows["uniform"][1] == pytest.approx(fmean(found))
    assert rows["uniform"][2] == pytest.approx(stdev(found))
    assert rows["uniform"][-1] == 2
    assert sum(name.endswith(" alone") for name in rows) == len(SKILL)


def test_a_study_file_runs_and_replays_the_same(server, data, monkeypatch, tmp_path):
    url, prompts = server
    monkeypatch.setenv("FULLBENCH_TEST_KEY", "k")
    monkeypatch.chdir(tmp_path)
    named = ", ".join(f'"{spec}"' for spec in contestants(url).split(","))
    (tmp_path / "study.toml").write_text(
        f'name = "given"\nkind = "peer-review"\ncontestants = [{named}]\ntables = "tables.json"\nledger = "a.ledger"\n'
        f'[peer-review]\nquestions = "{data / "mmstar.jsonl"}"\nhuman_scores = "{data / "scores.csv"}"\n'
        'limit = 10\nseeds = [4, 5]\nlanguage = "zh"\nfamilies = ["sharp=x", "dull=x"]\n',
        encoding="utf-8",
    )
    asked = len(prompts)
    done = CliRunner().invoke(app, ["run", "study.toml", "--quiet"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    reviews = [words for _, words in prompts[asked:] if "<response A" in words]
    assert reviews
    assert all(any(said in words for said in default_review_template("zh").criteria.values()) for words in reviews)
    assert all("只评判这一点" in words for words in reviews)
    asked = len(prompts)
    done = CliRunner().invoke(app, ["replay", "study.toml", "--check"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len(prompts) == asked
    tables = {table["name"]: table for table in json.loads((tmp_path / "tables.json").read_text(encoding="utf-8"))}
    assert "not known" not in str(tables["warnings"]["rows"][1]), "sharp and dull are of one family by the study's word"
    assert len(tables["runs"]["rows"]) == 7 + len(SKILL)
    assert by_name(tables["ranking"], "contestant", "truth") == {name: TRUE[name] for name in SKILL}, "the list G"
    uniform = by_name(tables["ranking"], "contestant", "uniform")
    near = by_name(tables["nearness"], "method", "pearson")
    assert near["uniform"] == pytest.approx(pearson(uniform))
