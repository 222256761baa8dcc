"""MM-Vet and LLaVA-Bench: files in their layouts, one command, and the tools' own numbers on the board and the page."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from fullbench import Ledger
from fullbench.core.item import WITHOUT_PICTURES
from tests.files.test_exchange import put
from tests.support.data_builders import png


def board(cli, *words: object) -> tuple[dict[str, dict], str]:
    """Import into a new ledger: the first leaderboard's rows by contestant, and all that was left out."""
    code, out, err = cli("import", *words, "--ledger", "x.ledger", "--report", "page.html", "--json")
    assert code == 0, err
    tables = json.loads(out)
    first = next(table for table in tables if table["name"].startswith("leaderboard"))
    labels = [column["label"] if isinstance(column, dict) else column for column in first["columns"]]
    rows = [dict(zip(labels, row, strict=True)) for row in first["rows"]]
    left = [row for table in tables if table["name"] == "left-out" for row in table["rows"]]
    assert first["source"]["judge"] in Path("page.html").read_text(encoding="utf-8")
    return {row["contestant"]: row for row in rows}, dict(map(tuple, left))


GRADES = {
    "gpt-4o_detail": {"v2_0": [1.0, 0.8], "v2_1": [0.0, 0.1], "v2_2": [0.5, 0.5]},
    "gpt-4o": {"v2_0": [0.2, 0.2], "v2_1": [0.3, 0.0], "v2_2": [0.9, 1.0]},
}


@pytest.fixture
def mm_vet(tmp_path):
    """Two models, whose names begin alike; two runs of grades; one question with two pictures, one picture is gone."""
    for model, grades in GRADES.items():
        put(tmp_path / "results" / f"{model}.json", {name: f"{model} on {name}" for name in grades})
        put(tmp_path / "results" / f"{model}_gpt-4-0613-grade-2runs_dev8.json", {
            name: {"model": ["gpt-4-0613"] * 2, "content": list(map(str, scores)), "score": scores}
            for name, scores in grades.items()
        })  # fmt: skip
    put(tmp_path / "results" / "mm-vet-v2.json", {
        "v2_0": {"question": "Compare<IMG>v2_0_0.png<IMG>and<IMG>v2_0_1.png", "answer": "a<OR>b",
                 "capability": ["ocr", "math"]},
        "v2_1": {"imagename": "v2_1.png", "question": "What is it?", "answer": "c", "capability": ["rec"]},
        "v2_2": {"imagename": "v2_2.png", "question": "Why?", "answer": "d", "capability": ["rec"]},
    })  # fmt: skip
    for name in ("v2_0_0", "v2_0_1", "v2_1"):
        place = tmp_path / "results" / "images" / f"{name}.png"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(png((int(name[-1]), 9, 9)))
    return tmp_path / "results"


def test_mm_vet_totals_are_its_own(cli, mm_vet):
    """MM-Vet's total is the mean over runs of the mean score, times 100."""
    rows, left = board(cli, mm_vet)
    totals = {model: 100 * fmean(fmean(run) for run in zip(*grades.values(), strict=True))
              for model, grades in GRADES.items()}  # fmt: skip
    assert {name: round(100 * row["mean real:0-1"]["value"], 9) for name, row in rows.items()} == pytest.approx(totals)
    assert left == {"questions whose pictures are not next to them": 1}
    with Ledger("x.ledger", read_only=True) as book:
        items = {item.id: item for item in book.items()}
        record = book.record()
    kinds = [part if isinstance(part, str) else "picture" for part in items["v2_0"].turns[0].parts]
    assert kinds == ["Compare", "picture", "and", "picture"]
    assert (items["v2_0"].tags["capability"], items["v2_0"].reference) == ("math, ocr", "a<OR>b")
    assert WITHOUT_PICTURES in items["v2_2"].tags
    assert {(verdict.trial, verdict.text) for verdict in record if verdict.item == "v2_1"} == {
        (0, "0.0"), (1, "0.1"), (0, "0.3"), (1, "0.0"),
    }  # fmt: skip


def test_mm_vet_results_without_questions_and_grades_without_answers(cli, mm_vet):
    (mm_vet / "mm-vet-v2.json").unlink()
    code, out, err = cli("import", "mm_vet", mm_vet / "gpt-4o.json", "--out", "out")
    assert (code, "Written to out: 3 items, 3 responses." in out + err) == (0, True), err
    (mm_vet / "gpt-4o.json").unlink()
    code, _, err = cli("import", "mm_vet", mm_vet / "gpt-4o_gpt-4-0613-grade-2runs_dev8.json", "--ledger", "y.ledger")
    assert (code, "the model of these grades is unknown" in err) == (2, True)
    assert not Path("y.ledger").exists()


REVIEWS = [(8.0, 7.0), (9.0, 4.0), (-1, -1), (5.0, 0.0)]


def test_llava_bench_means_are_its_own(cli, tmp_path):
    """`summarize_gpt_review` prints the ratio of mean scores, and both means times 10."""
    questions = [{"question_id": n, "image": f"{n}.png", "category": ("conv", "detail")[n % 2], "text": f"What {n}?"}
                 for n in range(4)]  # fmt: skip
    put(tmp_path / "bench" / "questions.jsonl", questions)
    put(tmp_path / "bench" / "context.jsonl", [{"id": f"c{n}", "image": f"{n}.png", "caption": f"cap {n}"}
                                               for n in range(4)])  # fmt: skip
    (tmp_path / "bench" / "images").mkdir()
    (tmp_path / "bench" / "images" / "0.png").write_bytes(png((1, 1, 1)))
    for model in ("gpt4", "llava"):
        put(tmp_path / "bench" / f"answers_{model}.jsonl", [
            {"question_id": n, "prompt": f"What {n}?", "text": f"{model} {n}", "answer_id": f"{model}{n}",
             "model_id": model, "metadata": {}} for n in range(4)
        ])  # fmt: skip
    put(tmp_path / "bench" / "reviews" / "llava.jsonl", [
        {"id": n + 1, "question_id": n, "answer1_id": f"gpt4{n}", "answer2_id": f"llava{n}",
         "category": "llava_bench_conv", "content": f"{pair}", "tuple": list(pair)} for n, pair in enumerate(REVIEWS)
    ] + [{"id": 9, "question_id": 3, "answer1_id": "gone", "answer2_id": "llava3", "tuple": [1, 1]}])  # fmt: skip
    put(tmp_path / "bench" / "rule.json", {"llava_bench_conv": {"role": "Assistant", "prompt": "p"}})
    rows, left = board(cli, tmp_path / "bench", "--option", "judge=gpt-4-0613")
    read = [pair for pair in REVIEWS if pair != (-1, -1)]
    for place, model in enumerate(("gpt4", "llava")):
        assert rows[model]["mean real:0-10"]["value"] == pytest.approx(fmean(pair[place] for pair in read))
    assert left == {"questions whose pictures are not next to them": 3, "reviews of answers that are not here": 1}
    with Ledger("x.ledger", read_only=True) as book:
        assert sum(verdict.fault == "unreadable" for verdict in book.record()) == 2
        first = next(item for item in book.items() if item.id == "0")
    assert (first.captions, len(first.pictures), first.tags["category"]) == (("cap 0",), 1, "conv")
