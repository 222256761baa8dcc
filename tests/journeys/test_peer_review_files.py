"""Peer review on files in the forms of ScienceQA and MM-Vet, and `run` of the benchmark on questions of one's own."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
from scipy import stats

from fullbench import Ledger
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.judges.peer_review.review_prompts import default_review_template
from tests.support.commands import cli, write_rows
from tests.support.data_builders import chance, png
from tests.support.scripted_server import Asked, ScriptedServer

SKILL = {"one": 0.9, "two": 0.6, "three": 0.3}
HUMAN = {"one": 51.0, "two": 38.5, "three": 40.0}
ANSWERS = ["红色 red", "blue", "green"]


def right_at(number: int) -> int:
    return int(3 * chance("key", number))


def answered(model: str, number: int) -> int:
    """The place of the answer that a model settles on."""
    return (right_at(number) + (chance("answer", model, number) > SKILL[model])) % 3


def said(asked: Asked) -> str:
    number = int(re.search(r"#(\d+)", asked.words)[1])
    answers = re.findall(r"<(response [A-Z] \w+)>\n(.*?)\n</\1>", asked.last, re.DOTALL)
    if not answers:
        place = answered(asked.model, number)
        ends = f"[[{'ABC'[place]}]]" if default_review_template().choose in asked.words else f"So: {ANSWERS[place]}."
        return f"I look{' again' * int(4 * chance('long', asked.model, number))}. {ends}"
    texts = [text for _, text in answers]
    place = right_at(number)
    hits = [f"[[{'ABC'[place]}]]" in text or f"So: {ANSWERS[place]}." in text for text in texts]
    worth = [len(text) for text in texts] if default_review_template().criteria[VISUAL] in asked.last else hits
    if chance("rules", asked.model, number, *sorted(texts)) > SKILL[asked.model]:
        worth = worth[::-1]
    return f"My ruling: [[{'C' if worth[0] == worth[1] else 'A' if worth[0] > worth[1] else 'B'}]]"


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(dict.fromkeys(SKILL, said)) as served:
        yield served


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    science, vet, own = {}, {}, []
    for number in range(4):
        picture = png((50 * number, 90, 20))
        (made / "images" / f"{number}").mkdir(parents=True)
        (made / "images" / f"{number}" / "image.png").write_bytes(picture)
        (made / "images" / f"v{number}.png").write_bytes(picture)
        asked = f"#{number}: what colour? 什么颜色？"
        science[f"{number}"] = {"question": asked, "choices": ANSWERS, "answer": right_at(number), "hint": "Look.",
                                "image": "image.png"}  # fmt: skip
        vet[f"v1_{number}"] = {"imagename": f"v{number}.png", "question": asked, "answer": ANSWERS[right_at(number)]}
        own.append({"id": f"q{number}", "question": asked, "pictures": [f"images/v{number}.png"]})
    science["9"] = {"question": "#9 no picture?", "choices": ["yes", "no"], "answer": 0, "image": None}
    (made / "problems.json").write_text(json.dumps(science), encoding="utf-8")
    (made / "mm-vet.json").write_text(json.dumps(vet), encoding="utf-8")
    write_rows(made / "items.jsonl", own)
    rows = "".join(f"{name},{score}\n" for name, score in HUMAN.items())
    (made / "scores.csv").write_text(f"contestant,score\n{rows}", encoding="utf-8")
    return made


def specs(server: ScriptedServer) -> list[str]:
    return [f"vllm:{name}@{server.url}" for name in SKILL]


def short(name: str) -> str:
    return name.partition("@")[0]


def column(table: dict, by: str, figure: str) -> dict[str, float]:
    labels = [entry["label"] if isinstance(entry, dict) else entry for entry in table["columns"]]
    cells = ((row[labels.index(by)], row[labels.index(figure)]) for row in table["rows"])
    return {short(name): cell["value"] if isinstance(cell, dict) else cell for name, cell in cells}


def won(ledger: Path) -> dict[str, float]:
    """Each contestant's mean mark over the reviews by others, both criteria alike."""
    marks = defaultdict(list)
    with Ledger(ledger, read_only=True) as book:
        for verdict in book.record():
            if verdict.judge != "truth" and short(verdict.judge) not in map(short, verdict.contestants):
                for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                    marks[short(name)].append(mark)
    return {name: fmean(some) for name, some in marks.items()}


def pearson(scores: dict[str, float], truth: dict[str, float]) -> float:
    return stats.pearsonr([scores[name] for name in SKILL], [truth[name] for name in SKILL]).statistic


@pytest.mark.parametrize("form", ["problems.json", "mm-vet.json"])
def test_a_file_as_scienceqa_or_mm_vet_have_it(server, folder, form):
    keyed, before = form == "problems.json", len(server.asked)
    ledger = folder / f"{form}.ledger"
    words = ("--questions", folder / form, "--contestants", ",".join(specs(server)), "--ledger", ledger)
    more = () if keyed else ("--human-scores", folder / "scores.csv")
    done = cli("peer-review", *words, *more, "--quiet", "--json")
    asked = server.asked[before:]
    assert len(asked) == 3 * 4 + 3 * 4 * 2, "all answer once, each reviews the two others by both criteria"
    assert ("Skipped: the question '9' has no picture" in done.output) == keyed
    manner = default_review_template().choose if keyed else default_review_template().answer
    assert sum(manner in one.words for one in asked) == 12
    assert sum("A: 红色 red\nB: blue\nC: green" in one.words for one in asked) == (len(asked) if keyed else 0)
    right = {name: fmean(answered(name, number) == right_at(number) for number in range(4)) for name in SKILL}
    truth = right if keyed else HUMAN
    assert column(done.tables["ranking"], "contestant", "truth") == pytest.approx(truth)
    assert column(done.tables["ranking"], "contestant", "uniform") == pytest.approx(won(ledger))
    near = column(done.tables["nearness"], "method", "pearson")
    assert near["uniform"] == pytest.approx(pearson(won(ledger), truth))
    assert ("benchmark" in done.tables) == ("accuracy" in done.tables) == keyed
    if keyed:
        assert column(done.tables["benchmark"], "contestant", "right") == pytest.approx(right)


def test_run_of_the_benchmark_on_questions_of_ones_own(server, folder):
    """Judges that are contestants review; the paper's criteria are in every prompt, and there is a ranking."""
    before = len(server.asked)
    named = json.dumps(specs(server))
    (folder / "study.toml").write_text(
        f'name = "own"\nbenchmark = "upme"\ndata = "{folder / "items.jsonl"}"\ncontestants = {named}\n'
        f'judges = {named}\nledger = "{folder / "own.ledger"}"\ntables = "{folder / "own.json"}"\n',
        encoding="utf-8",
    )
    cli("run", folder / "study.toml", "--quiet")
    reviews = [one for one in server.asked[before:] if "<response A" in one.last]
    for criterion in (CORRECTNESS, VISUAL):
        assert sum(default_review_template().criteria[criterion] in one.last for one in reviews) == len(reviews) // 2
    assert len(reviews) == 3 * 4 * len(list(combinations(SKILL, 2))) * 2
    listed = json.loads((folder / "own.json").read_text(encoding="utf-8"))
    tables = {table["name"]: table for table in (listed if isinstance(listed, list) else listed["tables"])}
    assert column(tables["ranking"], "contestant", "uniform") == pytest.approx(won(folder / "own.ledger"))
    own_answers = 3 * 4 * 2 * 2
    assert any(f"{own_answers} verdicts on the reviewer's own answers" in note for note in tables["ranking"]["notes"])


def test_a_sample_of_reviews_is_even_and_its_cases_are_on_the_page(server, folder):
    """Figure 7: a picture, its question, what two contestants answered, and how the others judged them."""
    before, page = len(server.asked), folder / "cases.html"
    words = ("--questions", folder / "items.jsonl", "--contestants", ",".join(specs(server)), "--reviews", 6)
    cli("peer-review", *words, "--ledger", folder / "sampled.ledger", "--report", page, "--quiet")
    asked = server.asked[before:]
    reviews = [one for one in asked if "<response A" in one.last]
    by_model, by_question = defaultdict(int), defaultdict(int)
    for one in reviews:
        by_model[one.model] += 1
        by_question[re.search(r"#(\d+)", one.words)[1]] += 1
    assert len(reviews) == 6 * 2, "6 of the 12 reviews of the full design, each by both criteria"
    assert set(by_model.values()) == {4}
    assert set(by_question.values()) <= {2, 4}
    assert len(by_question) == 4
    with Ledger(folder / "sampled.ledger", read_only=True) as book:
        record = book.record()
    articles = re.findall(r'<article class="exhibit">.*?</article>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(articles) == 4
    for article in articles:
        item = re.search(r"<h3>Item (\w+)</h3>", article)[1]
        assert record.items[item].question in article
        assert "data:image/webp;base64," in article
        answers = dict(re.findall(r'<section class="response"><h4>(\w+)</h4>\n<p>(.*?)</p>', article, re.DOTALL))
        texts = {
            short(response.contestant): response.text for response in record.responses.values() if response.item == item
        }
        assert len(answers) == 2
        assert answers.items() <= texts.items()
        shown = re.findall(r'<tr><th scope="row" class="words">(\w+) \(judge\)</th>\n(.*?)</tr>', article, re.DOTALL)
        ruled = [
            (short(verdict.judge), dict(zip(map(short, verdict.contestants), verdict.marks, strict=True)), verdict.text)
            for verdict in record
            if verdict.item == item
        ]
        assert shown
        for judge, cells in shown:
            marks = dict(zip(answers, map(float, re.findall(r'data-sort="([\d.]+)"', cells)), strict=True))
            assert (judge, marks, re.search(r"<p>(.*?)</p>", cells)[1]) in ruled
