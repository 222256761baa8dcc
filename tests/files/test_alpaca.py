"""AlpacaEval's files have no ids: what is asked is told apart by all that a row says, and no preference is rounded."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import product
from statistics import fmean

import pytest

from fullbench import Ledger
from tests.files.test_exchange import keep, put, taken
from tests.support.data_builders import png

COLOURS = {"red.png": (200, 0, 0), "green.png": (0, 200, 0), "blue.png": (0, 0, 200)}


def note(instruction: str, number: int, annotator: str, model: str, preference: float | None, **rest: object) -> dict:
    """An annotation as AlpacaEval writes it, with columns that it fills with null where other rows have them."""
    return {
        "instruction": instruction, "output_1": f"base {number}", "generator_1": "base",
        "output_2": f"{model} {number}", "generator_2": model, "annotator": annotator, "preference": preference,
        "raw_completion": {"logprobs": [0.1]} if annotator == "weighs" else "Output (a)", "dataset": None,
        "input": None, "image": None, **rest,
    }  # fmt: skip


@pytest.fixture
def notes(tmp_path):
    """One question about three photos, one in two data sets, one with two inputs; two annotators on three models."""
    for name, colour in COLOURS.items():
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(png(colour))
    questions = [
        *({"instruction": "What is shown?", "image": name, "dataset": "photos"} for name in COLOURS),
        *({"instruction": "Be kind.", "dataset": dataset} for dataset in ("koala", "vicuna")),
        *({"instruction": "翻译", "input": text, "dataset": "koala"} for text in ("你好", "再见")),
    ]
    steps = {"weighs": (1.13, 1.9, 2.0, 1.5, 1.42, 1.7, 1.0), "ranks": (1, 2, 1.5, 0, 2, None, 1)}
    rows = [
        note(number=number, annotator=annotator, model=model, preference=steps[annotator][(number + at) % 7], **asked)
        for annotator, (at, model), (number, asked) in product(
            steps, enumerate(("m1", "m2", "模型")), enumerate(questions)
        )
    ]
    put(tmp_path / "in" / "annotations.json", rows)
    outputs = [{**asked, "output": f"m1 {number}", "generator": "m1"} for number, asked in enumerate(questions)]
    again = {**questions[0], "output": "another answer", "generator": "m1"}
    put(tmp_path / "in" / "model_outputs.json", [*outputs, again])
    return rows


def test_one_question_about_many_photos_is_many_items(cli, tmp_path, notes):
    items, said, ruled = taken(cli, "alpaca", tmp_path / "in")
    assert len(items) == 7
    shown = {item.pictures[0].data() for item in items.values() if item.question == "What is shown?"}
    assert shown == {png(colour) for colour in COLOURS.values()}
    assert sorted(item.question for item in items.values() if "翻译" in item.question) == [
        "翻译\n\n你好",
        "翻译\n\n再见",
    ]
    assert len(said) == 7 * 4 + 1, "each model answers each once, and one of them a second time"
    assert len(ruled) == 7 * 3 * 2 - 3, "three have no preference"
    assert Counter(verdict.trial for verdict in ruled) == {0: len(ruled)}
    wins: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in notes:
        if row["preference"] is not None:
            wins[row["annotator"], row["generator_2"]].append((row["preference"] or 1.5) - 1)
    marks: dict[tuple[str, str], list[float]] = defaultdict(list)
    for verdict in ruled:
        marks[verdict.judge, verdict.contestants[1]].append(verdict.marks[1])
    assert {key: fmean(all_) for key, all_ in marks.items()} == pytest.approx(
        {key: fmean(all_) for key, all_ in wins.items()}
    )
    assert {(verdict.judge, verdict.ballot) for verdict in ruled} == {("weighs", "real:0-1"), ("ranks", "choice+tie")}


def test_what_was_taken_as_one_is_counted(cli, tmp_path, notes):
    put(
        tmp_path / "in" / "more.json", [notes[0], {**notes[0], "output_2": notes[0]["output_1"], "generator_2": "base"}]
    )
    code, out, err = cli("import", "alpaca", "in", "--out", "o")
    assert code == 0, err
    for why in (
        "further answers of a model to the same question: taken as its next samples   1",
        "further annotations of the same two answers: taken as next trials            1",
        "annotations that compare an answer with itself                               1",
        "annotations without a preference                                             3",
    ):
        assert why in out + err, out + err


def test_annotations_go_out_and_come_back_with_everybody_and_every_share(cli, tmp_path, notes):
    items, said, ruled = taken(cli, "alpaca", tmp_path / "in")
    keep(tmp_path / "a.ledger", items, said, ruled)
    code, _, err = cli("export", "alpaca", "--ledger", "a.ledger", "--out", "back.json")
    assert code == 0, err
    back = json.loads((tmp_path / "back.json").read_text(encoding="utf-8"))
    told = ("output_1", "output_2", "generator_2", "annotator", "dataset")
    assert Counter((*(row[name] for name in told), round(row["preference"], 6)) for row in back) == Counter(
        (*(row[name] for name in told), row["preference"] or 1.5) for row in notes if row["preference"] is not None
    )
    _, _, again = taken(cli, "alpaca", tmp_path / "back.json")
    assert Counter((v.item, v.judge, v.contestants, v.samples) for v in again) == Counter(
        (v.item, v.judge, v.contestants, v.samples) for v in ruled
    )
    with Ledger(tmp_path / "a.ledger", read_only=True) as book:
        assert len(book.record()) == len(back)


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


@pytest.mark.parametrize("source", ["column", "weights"])
def test_length_controlled_win_rates_are_the_mean_of_its_own_shares(cli, tmp_path, source):
    """AlpacaEval's length-controlled win rate is the mean of `glm_preference`, or of its regression at equal length."""
    models, difficulty = {"m1": (0.4, 1.1), "m2": (-1.3, 0.2)}, (-0.7, 0.1, 2.0)
    rows = [
        note(f"Question {number}", number, "weighs", model, 1.2 + number / 4,
             **({"glm_preference": logistic(own + slope * hard)} if source == "column" else {}))
        for model, (own, slope) in models.items() for number, hard in enumerate(difficulty)
    ]  # fmt: skip
    for model in models:
        put(tmp_path / "results" / model / "weighs" / "annotations.json", [
            row for row in rows if row["generator_2"] == model
        ])  # fmt: skip
    words = []
    if source == "weights":
        table = tmp_path / "weighs" / "length_controlled_v1" / "baseline_base.csv"
        table.parent.mkdir(parents=True)
        lines = [f"{model},-0.5,{slope},{own}" for model, (own, slope) in models.items()]
        head = ",np.tanh(std_delta_len),instruction_difficulty,not_gamed_baseline.astype(float)"
        table.write_text("\n".join([head, *lines]), encoding="utf-8")
        hard = "\n".join(
            ["index,instruction_difficulty", *(f"{place},{value}" for place, value in enumerate(difficulty))]
        )
        (tmp_path / "difficulty.csv").write_text(hard, encoding="utf-8")
        words = ["--option", "difficulty=difficulty.csv", "--option", f"weights={table}"]
        assert cli("import", "results", "--ledger", "n.ledger", *words[:2])[0] == 2, "one of the two is not enough"
    code, out, err = cli("import", "results", "--ledger", "x.ledger", "--json", *words)
    assert code == 0, err
    board = next(table for table in json.loads(out) if table["name"].endswith("overall, length-controlled"))
    labels = [column["label"] if isinstance(column, dict) else column for column in board["columns"]]
    rates = {row[labels.index("contestant")]: row[labels.index("weighted win rate")]["value"] for row in board["rows"]}
    for model, (own, slope) in models.items():
        assert rates[model] == pytest.approx(fmean(logistic(own + slope * hard) for hard in difficulty), abs=1e-12)
