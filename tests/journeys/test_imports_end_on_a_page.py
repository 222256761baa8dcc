"""Files in the layouts of other tools, one command, and a page and a board by the imported judge.

Two models answer two dozen questions. `strong` is better on all but a few of them. The numbers on the board are
compared with what the tool itself reports, computed here from the rows that are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest

from fullbench import Ledger
from tests.support.data_builders import png
from tests.support.media_files import empty_mp4

MODELS = ("strong", "weak")
COUNT = 24
NUMBERS = range(COUNT)
QUESTIONS = tuple(f"What is shown in picture {number}?" for number in NUMBERS)
UPSETS = (3, 9, 15)
"""Questions on which `weak` is better."""
CORRECT = {"strong": [float(n not in {3, 7}) for n in NUMBERS], "weak": [float(n in {3, 5}) for n in NUMBERS]}
SCORES = {
    "strong": [(7.0, 8.5, 9.0)[n % 3] for n in NUMBERS],
    "weak": [(2.0, 3.5, 1.0)[n % 3] for n in NUMBERS],
}
WIN_SHARE = {"strong": 1 - len(UPSETS) / COUNT, "weak": len(UPSETS) / COUNT}


def answer(model: str, number: int) -> str:
    return f"{model} says {number}"


def put(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.suffix == ".jsonl"
    assert isinstance(content, list) or not lines
    rows = "".join(f"{json.dumps(row)}\n" for row in content) if isinstance(content, list) and lines else ""
    path.write_text(rows or json.dumps(content), encoding="utf-8")


@dataclass(frozen=True)
class Layout:
    """What one tool writes, the judge in it, the column of the board, and the tool's own numbers."""

    write: Callable[[Path], None]
    judge: str
    column: str
    numbers: dict[str, float]


def shares(number: int) -> float:
    """AlpacaEval's weighted preference for the second output."""
    return 1.2 if number in UPSETS else 1.85


def write_alpaca(folder: Path) -> None:
    question = [{"instruction": text, "dataset": "pictures"} for text in QUESTIONS]
    for model in MODELS:
        rows = [{**row, "output": answer(model, n), "generator": model} for n, row in enumerate(question)]
        put(folder / "results" / model / "model_outputs.json", rows)
    annotations = [
        {**row, "output_1": answer("weak", n), "generator_1": "weak", "output_2": answer("strong", n),
         "generator_2": "strong", "annotator": "weighted_gpt4", "preference": shares(n)}
        for n, row in enumerate(question)
    ]  # fmt: skip
    put(folder / "results" / "strong" / "weighted_gpt4" / "annotations.json", annotations)
    put(folder / "leaderboard.json", {"strong": 0.8})


ALPACA = {"strong": fmean(shares(n) - 1 for n in NUMBERS), "weak": 1 - fmean(shares(n) - 1 for n in NUMBERS)}


def talk(number: int, model: str) -> list[dict]:
    return [{"role": "user", "content": QUESTIONS[number]}, {"role": "assistant", "content": answer(model, number)}]


def pairs() -> Iterator[tuple[int, str, str, bool]]:
    """Yield question, first and second model, and whether the first wins; the order alternates."""
    for number in NUMBERS:
        first, second = MODELS if number % 2 else MODELS[::-1]
        yield number, first, second, (first == "strong") != (number in UPSETS)


def write_arena(folder: Path) -> None:
    rows = [
        {"question_id": f"b{n}", "model_a": first, "model_b": second, "winner": "model_a" if wins else "model_b",
         "judge": f"user{n % 3}", "conversation_a": talk(n, first), "conversation_b": talk(n, second)}
        for n, first, second, wins in pairs()
    ]  # fmt: skip
    put(folder / "clean_battle_conv.json", rows)
    put(folder / "elo_results.json", {"rating": {"strong": 1100}})


def write_mt_bench(folder: Path) -> None:
    put(folder / "question.jsonl", [{"question_id": n, "category": "vision", "turns": [QUESTIONS[n]]}
                                    for n in NUMBERS])  # fmt: skip
    for model in MODELS:
        put(folder / "model_answer" / f"{model}.jsonl", [
            {"question_id": n, "answer_id": f"{model}{n}", "model_id": model,
             "choices": [{"index": 0, "turns": [answer(model, n)]}]} for n in NUMBERS
        ])  # fmt: skip
    put(folder / "model_judgment" / "gpt-4_single.jsonl", [
        {"question_id": n, "model": model, "judge": ["gpt-4", "single-v1"], "score": SCORES[model][n], "turn": 1,
         "judgment": f"[[{SCORES[model][n]}]]"} for n in NUMBERS for model in MODELS
    ])  # fmt: skip


PROMPT = (
    "<|User Prompt|>\n{}\n\n<|The Start of Assistant A's Answer|>\n{}\n<|The End of Assistant A's Answer|>\n\n"
    "<|The Start of Assistant B's Answer|>\n{}\n<|The End of Assistant B's Answer|>"
)


def write_arena_hard(folder: Path) -> None:
    rows = []
    for n in NUMBERS:
        games = [
            {"user_prompt": PROMPT.format(QUESTIONS[n], answer(first, n), answer(second, n)), "judgment": "so",
             "score": "A>B" if (first == "strong") != (n in UPSETS) else "B>A"}
            for first, second in (MODELS[::-1], MODELS)
        ]  # fmt: skip
        rows.append({"question_id": f"h{n}", "model": "strong", "judge": "gpt-4o", "games": games})
    put(folder / "gpt-4o_judge_reference_weak" / "strong.jsonl", rows)
    put(folder / "elo.json", [{"model": "strong", "score": 90}])


def write_harness(folder: Path, name: str, sample: Callable[[str, int], dict]) -> None:
    for model in MODELS:
        put(folder / model / f"{name}.jsonl", [sample(model, n) for n in NUMBERS])


def write_lm_eval(folder: Path) -> None:
    write_harness(folder, "samples_pictures_2026-05-01T12-30-00.123456", lambda model, n: {
        "doc_id": n, "doc": {"question": QUESTIONS[n]}, "target": "red", "arguments": [[QUESTIONS[n], {}]],
        "resps": [[answer(model, n)]], "filtered_resps": [answer(model, n)], "exact_match": CORRECT[model][n],
    })  # fmt: skip


def write_lmms_eval(folder: Path) -> None:
    write_harness(folder, "20260501_123000_samples_mme", lambda model, n: {
        "doc_id": n, "doc": {"question": QUESTIONS[n]}, "input": QUESTIONS[n], "target": "Yes",
        "resps": [[answer(model, n)]], "filtered_resps": [answer(model, n)],
        "mme_score": {"question_id": f"p{n}", "category": "color", "score": CORRECT[model][n]},
    })  # fmt: skip


def write_vlmevalkit(folder: Path) -> None:
    header = "index\tquestion\tanswer\n"
    (folder / "Pictures.tsv").write_text(
        header + "".join(f"{n}\t{QUESTIONS[n]}\tred\n" for n in NUMBERS), encoding="utf-8"
    )
    for model in MODELS:
        rows = [{"index": n, "question": QUESTIONS[n], "answer": "red", "prediction": answer(model, n),
                 "hit": int(CORRECT[model][n])} for n in NUMBERS]  # fmt: skip
        put(folder / model / f"{model}_Pictures_gpt-4_result.json", rows)


def write_inspect(folder: Path) -> None:
    for model in MODELS:
        samples = [
            {"id": n, "epoch": 1, "input": QUESTIONS[n], "target": "red",
             "output": {"model": model, "completion": answer(model, n)},
             "scores": {"model_graded_qa": {"value": "C" if CORRECT[model][n] else "I", "explanation": "so"}}}
            for n in NUMBERS
        ]  # fmt: skip
        log = {"version": 2, "status": "success", "eval": {"task": "pictures", "model": model}, "samples": samples}
        put(folder / f"2026-05-01_pictures_{model}.json", log)
    put(folder / "logs.json", {"index": ["2026-05-01"]})


def write_mm_vet(folder: Path) -> None:
    questions = {f"v2_{n}": {"question": QUESTIONS[n], "answer": "red", "capability": ["rec"]} for n in NUMBERS}
    put(folder / "mm-vet-v2.json", questions)
    for model in MODELS:
        put(folder / f"{model}.json", {f"v2_{n}": answer(model, n) for n in NUMBERS})
        grades = {f"v2_{n}": {"model": ["gpt-4"], "content": [str(SCORES[model][n] / 10)],
                              "score": [SCORES[model][n] / 10]} for n in NUMBERS}  # fmt: skip
        put(folder / f"{model}_gpt-4-grade-1runs.json", grades)


def write_llava_bench(folder: Path) -> None:
    put(folder / "questions.jsonl", [{"question_id": n, "image": f"{n}.jpg", "text": QUESTIONS[n], "category": "conv"}
                                     for n in NUMBERS])  # fmt: skip
    for model in MODELS:
        put(folder / "answers" / f"{model}.jsonl", [
            {"question_id": n, "prompt": QUESTIONS[n], "text": answer(model, n), "answer_id": f"{model}{n}",
             "model_id": model} for n in NUMBERS
        ])  # fmt: skip
    put(folder / "reviews" / "strong.jsonl", [
        {"id": n + 1, "question_id": n, "answer1_id": f"weak{n}", "answer2_id": f"strong{n}", "content": "so",
         "reviewer_id": "gpt-4", "tuple": [SCORES["weak"][n], SCORES["strong"][n]]} for n in NUMBERS
    ])  # fmt: skip


def write_helpsteer(folder: Path) -> None:
    rows = [
        {"domain": "general", "context": [{"role": "user", "content": QUESTIONS[n]}], "response1": answer("a", n),
         "response2": answer("b", n), "overall_preference": -2 if n not in UPSETS else 1,
         "contestant1": "strong", "contestant2": "weak"}
        for n in NUMBERS
    ]  # fmt: skip
    put(folder / "preference.jsonl", rows)


def write_genai_bench(folder: Path) -> None:
    rows = []
    for n in NUMBERS:
        for model in MODELS:
            (folder / f"{model}{n}.mp4").write_bytes(empty_mp4(64 + len(model) * n))
        rows.append({
            "prompt": QUESTIONS[n], "left_model": "strong", "right_model": "weak", "left_video": f"strong{n}.mp4",
            "right_video": f"weak{n}.mp4", "vote_type": "rightvote" if n in UPSETS else "leftvote",
        })  # fmt: skip
    put(folder / "video_generation.jsonl", rows)


def write_mmrb2(folder: Path) -> None:
    (folder / "p.png").write_bytes(png())
    sides = {"a": "strong", "b": "weak"}
    rows = [
        {"id": f"t{n}", "prompt_content": [["text", QUESTIONS[n]], ["image", "p.png"]],
         **{f"response_{side}": {"model_name": model, "response_content": [["text", answer(model, n)]]}
            for side, model in sides.items()},
         "human_annotations": [1, 2, 2] if n in UPSETS else [5, 6, 6], "chosen": "B" if n in UPSETS else "A"}
        for n in NUMBERS
    ]  # fmt: skip
    put(folder / "t2i.json", {"pairs": rows})


def label_data(n: int) -> dict:
    return {"item": f"l{n}", "contestants": list(MODELS), "question": QUESTIONS[n],
            "response_a": answer("strong", n), "response_b": answer("weak", n), "ballot": "choice+tie"}  # fmt: skip


def write_label_studio(folder: Path) -> None:
    tasks = [
        {"id": n, "data": label_data(n), "annotations": [
            {"completed_by": {"email": f"p{person}@x.org"}, "result": [
                {"from_name": "choice", "to_name": "question", "type": "choices",
                 "value": {"choices": ["B" if n in UPSETS else "A"]}}]} for person in range(2)]}
        for n in NUMBERS
    ]  # fmt: skip
    put(folder / "project-1-at-2026-05-01.json", tasks)


def write_argilla(folder: Path) -> None:
    records = [
        {"id": f"r{n}", "status": "completed", "fields": label_data(n),
         "metadata": {}, "responses": {"choice": [
             {"value": "B" if n in UPSETS else "A", "user_id": f"p{person}", "status": "submitted"}
             for person in range(2)]}}
        for n in NUMBERS
    ]  # fmt: skip
    put(folder / "records.json", records)


def write_huggingface(folder: Path) -> None:
    (folder / "README.md").write_text("---\npretty_name: pictures\n---\n", encoding="utf-8")
    put(folder / "items.jsonl", [{"id": f"i{n}", "question": QUESTIONS[n]} for n in NUMBERS])
    rows = [{"item": f"i{n}", "contestant": model, "text": answer(model, n)} for n in NUMBERS for model in MODELS]
    put(folder / "responses.jsonl", rows)
    put(folder / "verdicts.jsonl", [
        {"item": f"i{n}", "contestants": [model], "judge": "gpt-4o", "ballot": "real:0-10", "marks": [SCORES[model][n]]}
        for n in NUMBERS for model in MODELS
    ])  # fmt: skip


def write_promptfoo(folder: Path) -> None:
    results = [
        {"provider": {"id": model, "label": ""}, "prompt": {"raw": QUESTIONS[n], "label": "{{question}}"},
         "vars": {"question": QUESTIONS[n]}, "response": {"output": answer(model, n)}, "success": True,
         "score": CORRECT[model][n], "testIdx": n, "promptIdx": 0,
         "gradingResult": {"pass": bool(CORRECT[model][n]), "score": CORRECT[model][n], "componentResults": [
             {"pass": bool(CORRECT[model][n]), "score": CORRECT[model][n], "reason": "so",
              "assertion": {"type": "llm-rubric", "value": "is right"}}]}}
        for n in NUMBERS for model in MODELS
    ]  # fmt: skip
    put(folder / "results.json", {"evalId": "e1", "results": {"version": 3, "results": results}})


def write_deepeval(folder: Path) -> None:
    for model in MODELS:
        cases = [
            {"name": f"test_{n}", "input": QUESTIONS[n], "actualOutput": answer(model, n), "expectedOutput": "red",
             "metricsData": [{"name": "Correctness", "score": SCORES[model][n] / 10, "threshold": 0.5,
                              "success": True, "reason": "so", "evaluationModel": "gpt-4o"}]}
            for n in NUMBERS
        ]  # fmt: skip
        put(folder / f"run_{model}.json", {"identifier": model, "hyperparameters": {"model": model},
                                           "testCases": cases})  # fmt: skip


MEANS = {model: fmean(values) for model, values in SCORES.items()}
TENTHS = {model: mean / 10 for model, mean in MEANS.items()}
ACCURACY = {model: fmean(values) for model, values in CORRECT.items()}
LAYOUTS = {
    "alpaca": Layout(write_alpaca, "weighted_gpt4", "weighted win rate", ALPACA),
    "arena": Layout(write_arena, "human", "matches won", WIN_SHARE),
    "mt_bench": Layout(write_mt_bench, "gpt-4", "mean", MEANS),
    "arena_hard": Layout(write_arena_hard, "gpt-4o", "matches won", WIN_SHARE),
    "lm_eval": Layout(write_lm_eval, "exact_match", "mean", ACCURACY),
    "lmms_eval": Layout(write_lmms_eval, "mme_score", "mean", ACCURACY),
    "vlmevalkit": Layout(write_vlmevalkit, "gpt-4", "mean", ACCURACY),
    "inspect": Layout(write_inspect, "model_graded_qa", "mean", ACCURACY),
    "mm_vet": Layout(write_mm_vet, "gpt-4", "mean", TENTHS),
    "llava_bench": Layout(write_llava_bench, "gpt-4", "mean", MEANS),
    "helpsteer": Layout(write_helpsteer, "human", "matches won", WIN_SHARE),
    "genai_bench": Layout(write_genai_bench, "human", "matches won", WIN_SHARE),
    "mmrb2": Layout(write_mmrb2, "human", "matches won", WIN_SHARE),
    "label_studio": Layout(write_label_studio, "human", "matches won", WIN_SHARE),
    "argilla": Layout(write_argilla, "human", "matches won", WIN_SHARE),
    "huggingface": Layout(write_huggingface, "gpt-4o", "mean", MEANS),
    "promptfoo": Layout(write_promptfoo, "llm-rubric", "mean", ACCURACY),
    "deepeval": Layout(write_deepeval, "gpt-4o", "mean", TENTHS),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_one_command_leads_from_files_to_a_page(cli, tmp_path, kind):
    layout = LAYOUTS[kind]
    files = tmp_path / "files"
    files.mkdir()
    layout.write(files)
    code, out, err = cli("import", files, "--ledger", "l.ledger", "--report", "page.html", "--json", "--quiet")
    assert code == 0, err
    assert any(kind in line.split(";")[0] for line in err.splitlines() if line.startswith("Format:")), err
    tables = {table["name"]: table for table in json.loads(out)}
    lead = tables["summary contestants"]["notes"][0]
    by = "people's votes" if layout.judge == "human" else layout.judge
    assert "strong leads" in lead, lead
    assert by in lead or kind in {"promptfoo", "deepeval"}, lead
    board = next(table for name, table in tables.items() if name.startswith(f"leaderboard {layout.judge}"))
    place = next(n for n, column in enumerate(board["columns"]) if column.startswith(layout.column))
    numbers = {row[board["columns"].index("contestant")]: row[place]["value"] for row in board["rows"]}
    assert numbers == pytest.approx(layout.numbers)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert lead.split(";")[0] in page.replace("&#x27;", "'").replace("&#39;", "'")
    assert {"strong", "weak"} <= {name for name in MODELS if name in page}
    assert any(text in page for text in QUESTIONS)
    with Ledger(tmp_path / "l.ledger", read_only=True) as book:
        study = book.one_study()
        record = book.record(study=study)
        assert len(list(book.items(study=study))) == COUNT
        texts = {answer(model, n) for model in (("a", "b") if kind == "helpsteer" else MODELS) for n in NUMBERS}
        # The answers of GenAI-Bench are videos.
        assert {one.text for one in book.responses(study=study)} == ({""} if kind == "genai_bench" else texts)
    assert layout.judge in record.judges


def test_a_layout_exists_for_every_importer():
    from fullbench.core.plugin_entry_points import plugin_names

    same = {"wildvision": "arena", "wildvision_bench": "arena_hard"}
    assert {same.get(name, name) for name in plugin_names("importers")} == set(LAYOUTS)
