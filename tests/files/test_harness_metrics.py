"""Metrics of harnesses beyond 0 to 1, by filter, or with lower being better keep their meaning.

The layouts are those that lmms-eval 0.7.3, lm-eval 0.4 and VLMEvalKit (August 2026) wrote when they were run.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from fullbench.core.item import WITHOUT_PICTURES
from tests.files.several import left_out
from tests.files.test_evaluation_harness_folders import tsv
from tests.files.test_exchange import put, sheet, taken

DAY = "20261117_132927"
FILTERS = ("raw", "first-letter")


def row(number: int, said: str, score: float, wer: float) -> dict:
    return {"doc_id": number, "target": "A", "filtered_resps": said, "token_counts": [None], "doc_hash": "7423",
            "exact_match": float(said == "A"), "judge_score": {"question_id": f"v{number}", "score": score},
            "wer": wer, "input": f"图 {number}: which?\nA. red"}  # fmt: skip


@pytest.fixture
def run(tmp_path):
    """Two models, two tasks, one with two filters; the results say what each metric and filter is."""
    better = {"exact_match": True, "judge_score": True, "wer": False}
    config = {"doc_to_visual": "<function visual>", "doc_to_text": "<function text>"}
    named = [{"name": name, "filter": [{"function": "take_first"}]} for name in FILTERS]
    for model in ("org__one-7b", "org__two_v1.5"):
        folder = tmp_path / "out" / model
        said = ["A", "B", "", "A, 红"]
        put(folder / f"{DAY}_samples_colours.jsonl", [row(n, text, 2.5 * n, 0.5) for n, text in enumerate(said)])
        both = [row(n, text, 2.5 * n, 1.5) for n, text in enumerate(said)]
        both += [row(n, text[:1] or "[invalid]", 9.0, 0.0) for n, text in enumerate(said)]
        put(folder / f"{DAY}_samples_colours_two.jsonl", both)
        results = {"higher_is_better": {"colours": better, "colours_two": better},
                   "configs": {"colours": config, "colours_two": {**config, "filter_list": named}}}  # fmt: skip
        put(folder / f"{DAY}_results.json", results)
    return tmp_path / "out"


def test_results_beside_samples_say_what_filters_metrics_and_pictures_are(cli, run):
    items, answers, ruled = taken(cli, "lmms_eval", run)
    assert {sample for _, _, sample in answers} == {0}, "what a filter left is no further answer"
    assert answers["colours_two/2", "org__one-7b", 0].text == ""
    assert {item.tags[WITHOUT_PICTURES] for item in items.values()} == {
        f"{task}, doc {n}" for task in ("colours", "colours_two") for n in range(4)
    }
    assert Counter((v.judge, v.ballot) for v in ruled) == {
        ("exact_match", "real:0-1"): 8, ("judge_score", "real:0-8"): 8, ("wer", "real:-1-0"): 8,
        ("exact_match,raw", "real:0-1"): 8, ("exact_match,first-letter", "real:0-1"): 8,
        ("judge_score,raw", "real:0-8"): 8, ("judge_score,first-letter", "real:9-10"): 8,
        ("wer,raw", "real:-2--1"): 8, ("wer,first-letter", "real:-1-0"): 8,
    }  # fmt: skip
    assert {v.marks for v in ruled if v.judge == "wer"} == {(-0.5,)}
    code, out, err = cli("import", "lmms-eval", run, "--out", "o")
    assert code == 0, err
    said = " ".join(out.split())
    assert "values of wer in colours, of which less is better: taken with a minus, on the scale from -1 to 0" in said
    assert left_out(out)["rows of a further filter: their marks belong to the answer of the first"] == 8


def test_without_results_filters_have_numbers_and_pictures_are_not_known(cli, run):
    for file in run.rglob("*_results.json"):
        file.unlink()
    items, _, ruled = taken(cli, "lmms_eval", run)
    assert not any(WITHOUT_PICTURES in item.tags for item in items.values())
    assert Counter(v.judge for v in ruled) == {
        f"{metric}{how}": 16 if not how else 8
        for metric in ("exact_match", "judge_score", "wer") for how in ("", ",filter 2")
    }  # fmt: skip
    _, out, _ = cli("import", "lmms-eval", run, "--out", "o")
    why = "questions of lmms-eval of which nothing here says whether pictures were shown with them"
    assert left_out(out)[why] == 8


def test_a_scale_can_be_named_for_all_or_for_one(cli, run):
    _, _, ruled = taken(cli, "lmms_eval", run, "--option", "scale.judge_score=0-10", "--option", "scale.wer=0-2")
    assert {(v.judge.partition(",")[0], v.ballot) for v in ruled} == {
        ("exact_match", "real:0-1"), ("judge_score", "real:0-10"), ("wer", "real:-2-0")
    }  # fmt: skip
    code, out, _ = cli("import", "lmms-eval", run, "--out", "all", "--option", "scale=0-5")
    assert code == 0
    assert left_out(out)["values of judge_score outside of 0 to 5"] == 2
    for option, told in (("scale=ten", "a scale runs from low to high, as scale=0-10; found 'ten'"),
                         ("scale.bleu=0-10", "the option scale.bleu belongs to no measured metric")):  # fmt: skip
        code, _, err = cli("import", "lmms-eval", run, "--out", "no", "--option", option)
        assert (code, told in err, (run.parent / "no").exists()) == (2, True, False), err


def test_scores_of_inspect_beyond_one_come_on_their_scale(cli, tmp_path):
    def sample(number: int, value: object) -> dict:
        return {"id": number, "input": f"Q{number}", "target": "4", "output": {"completion": "4"},
                "scores": {"judge": {"value": value, "explanation": "因为"}, "match": {"value": "C"}}}  # fmt: skip

    for model, values in (("a", (3, 7.5, {"style": 9, "facts": "N"})), ("b", (10, 1, {"style": 2, "facts": "I"}))):
        samples = [sample(n, value) for n, value in enumerate(values)]
        put(tmp_path / "logs" / f"{model}.json", {"eval": {"task": "t", "model": model}, "samples": samples})
    _, _, ruled = taken(cli, "inspect", tmp_path / "logs", "--option", "scale=1-10")
    assert sorted((v.judge, v.criterion, v.ballot, v.marks[0]) for v in ruled if v.judge == "judge") == [
        ("judge", "facts", "real:0-1", 0), *(("judge", "overall", "real:1-10", mark) for mark in (1, 3, 7.5, 10)),
        ("judge", "style", "real:1-10", 2), ("judge", "style", "real:1-10", 9),
    ]  # fmt: skip
    code, out, _ = cli("import", "inspect", tmp_path / "logs", "--out", "o")
    assert (code, left_out(out)["scores of judge that are no grade and no number"]) == (0, 1)
    assert "values of judge in t on the scale from 1 to 10, as observed" in " ".join(out.split())


@pytest.fixture
def sheets(tmp_path):
    """Two models on two benchmarks: scores to 10 with a reply that could not be read, shares with failed tries, answers
    that VLMEvalKit has as nothing or cut, one model's sheets as JSON."""
    for model in ("llava_v1.5_7b", "Qwen2.5-VL"):
        folder = tmp_path / "kit" / model / "T20261117-052900"
        folder.mkdir(parents=True)
        said = ["fine", "NaN", "长" * 32_767, None]
        judged = ["fine", None, "长" * 32_767, "nan"]
        asked = [(n, f"Describe {n}", f"gpt {n}") for n in range(4)]
        head = ["index", "question", "answer", "prediction"]
        plain = [[*row, text] for row, text in zip(asked, said, strict=True)]
        scored = [[*row, text, score, mark] for row, text, score, mark
                  in zip(asked, judged, (8, 7, 10, 9), (6, 9.5, 10, -1), strict=True)]  # fmt: skip
        shares = [[*row, text, mark, log] for row, text, mark, log
                  in zip(asked, judged, (0.5, 1, 0, 0), ("Succeed", "Succeed", "Succeed",
                         "Try 0: output is hm\nAll 5 retries failed.\n"), strict=True)]  # fmt: skip
        for benchmark, judge, rows, more in (
            ("LLaVABench", "openai_result", scored, ("gpt4_score", "score")),
            ("MMVet", "gpt-4o", shares, ("score", "log")),
        ):
            for name, columns, content in (
                (f"{model}_{benchmark}", head, plain),
                (f"{model}_{benchmark}_{judge}", [*head, *more], rows),
            ):
                if model == "Qwen2.5-VL":
                    put(folder / f"{name}.json", [dict(zip(columns, row, strict=True)) for row in content])
                else:
                    sheet(folder / f"{name}.xlsx", [columns, *content])
        put(folder / "status.json", {"run": "done"})
        put(folder / f"{model}_MMVet_score.json", [{"Category": "rec", "acc": 50.0}])
    for benchmark in ("LLaVABench", "MMVet"):
        tsv(tmp_path / "kit" / f"{benchmark}.tsv", [{"index": n, "question": f"Describe {n}", "answer": f"gpt {n}",
                                                     "image": ""} for n in range(4)])  # fmt: skip
    return tmp_path / "kit"


def test_sheets_with_scores_failed_replies_and_lost_answers(cli, sheets):
    _, answers, ruled = taken(cli, "vlmevalkit", sheets, "--option", "scale=0-10")
    assert {sample for _, _, sample in answers} == {0}, "an answer that was read as nothing is no further answer"
    assert {answers[f"MMVet/{n}", "llava_v1.5_7b", 0].text[:4] for n in range(4)} == {"fine", "NaN", "长长长长", ""}
    assert Counter((v.judge, v.ballot, v.marks, v.fault) for v in ruled) == {
        **{("openai", "real:0-10", (mark,), None): 2 for mark in (6, 9.5, 10)},
        **{("gpt-4o", "real:0-1", (mark,), None): 2 for mark in (0.5, 1, 0)},
        ("openai", "real:0-10", None, "unreadable"): 2, ("gpt-4o", "real:0-1", None, "unreadable"): 2,
    }  # fmt: skip
    code, out, err = cli("import", "vlmevalkit", sheets, "--out", "o", "--option", "marks=gpt4_score")
    assert code == 0, err
    told = left_out(out)
    assert told["answers of 32,767 characters, all that a cell of .xlsx holds: their ends may be missing"] == 2
    verdicts = [json.loads(line) for line in (sheets.parent / "o" / "verdicts.jsonl").read_text().splitlines()]
    assert Counter(v["marks"][0] for v in verdicts) == {8: 2, 7: 2, 10: 2, 9: 2}
    code, _, err = cli("import", "vlmevalkit", sheets, "--out", "no", "--option", "marks=nowhere")
    assert (code, "there is no column 'nowhere' in any sheet" in err) == (2, True), err


def test_one_sheet_may_hold_several_models(cli, tmp_path):
    rows = [{"index": n, "question": f"Q{n}", "answer": "A", "model": model, "prediction": f"{model} {n}", "hit": n}
            for n in (0, 1) for model in ("one", "two_b")]  # fmt: skip
    tsv(tmp_path / "all.tsv", rows)
    _, answers, ruled = taken(cli, "vlmevalkit", tmp_path / "all.tsv")
    assert {key: one.text for key, one in answers.items()} == {
        (str(n), model, 0): f"{model} {n}" for n in (0, 1) for model in ("one", "two_b")
    }
    assert sorted((v.item, v.marks[0]) for v in ruled) == [("0", 0), ("0", 0), ("1", 1), ("1", 1)]


def test_several_runs_in_one_folder_are_several_contestants(cli, tmp_path):
    """Runs of several models in one folder go by their results files; a second run of a model gives next samples."""
    marks = {"20260501_120000": ("Qwen/Qwen2.5-VL", 1.0), "20260502_120000": ("LLaVA/1.6", 0.25),
             "20260503_120000": ("Qwen/Qwen2.5-VL", 0.5)}  # fmt: skip
    for day, (model, mark) in marks.items():
        put(tmp_path / "logs" / f"{day}_samples_mme.jsonl", [
            {"doc_id": n, "doc": {}, "input": f"Q{n}", "target": "Yes", "resps": [[f"{day} {n}"]],
             "filtered_resps": [f"{day} {n}"], "mme_score": {"question_id": n, "score": mark}} for n in range(3)
        ])  # fmt: skip
        put(tmp_path / "logs" / f"{day}_results.json", {"results": {}, "configs": {}, "model_name": model})
    code, out, err = cli("import", "logs", "--ledger", "x.ledger", "--json")
    assert code == 0, err
    tables = {table["name"]: table for table in json.loads(out)}
    board = tables["leaderboard mme_score"]
    labels = [column["label"] if isinstance(column, dict) else column for column in board["columns"]]
    means = {row[labels.index("contestant")]: row[labels.index("mean real:0-1")]["value"] for row in board["rows"]}
    assert means == {"Qwen/Qwen2.5-VL": pytest.approx(0.75), "LLaVA/1.6": pytest.approx(0.25)}
    assert ["further answers of a model to the same question: taken as its next samples", 3] in tables["left-out"][
        "rows"
    ]
