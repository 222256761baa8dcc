"""Results of promptfoo and test runs of DeepEval: the tools' own scores on the board and the page."""

from __future__ import annotations

import base64
import json
from statistics import fmean

import pytest

from fullbench import Ledger
from tests.files.test_exchange import put
from tests.files.test_mm_vet_and_llava_bench import board
from tests.support.data_builders import png

SCORES = {"openai:gpt-5": (1.0, 0.25, 1.0), "openai:gpt-5-mini": (0.5, 0.0, 0.75)}


def result(test: int, provider: str, score: float, prompt: int = 0, **rest: object) -> dict:
    """A row as promptfoo writes it from version 3 on, with two assertions, one in a set."""
    rubric = {"pass": score > 0.5, "score": score, "reason": f"graded {score}",
              "assertion": {"type": "llm-rubric", "value": "is right", "metric": "right"}}  # fmt: skip
    latency = {"pass": True, "score": 1, "reason": "Assertion passed", "assertion": {"type": "latency"}}
    return {
        "promptIdx": prompt, "testIdx": test, "provider": {"id": provider, "label": ""},
        "prompt": {"raw": f"Riddle {test}, said {prompt}", "label": f"Riddle {{{{n}}}}, said {prompt}"},
        "vars": {"n": str(test)}, "response": {"output": f"{provider} on {test}"}, "score": score,
        "gradingResult": {"score": score, "reason": "all", "componentResults": [
            rubric, {"score": 1, "assertion": None, "componentResults": [latency]}, None,
        ]}, **rest,
    }  # fmt: skip


def test_promptfoo_scores_of_columns_are_its_own(cli, tmp_path):
    """promptfoo's `metrics.score` of a column is the sum of its scores."""
    rows = [result(test, who, scores[test]) for who, scores in SCORES.items() for test in range(3)]
    rows.append({**result(3, "openai:gpt-5", 1), "gradingResult": {"reason": "No assertions", "score": 1}})
    rows.append({**result(3, "openai:gpt-5-mini", 0), "response": {"error": "timeout"}, "failureReason": 2})
    content = {"evalId": "eval-1", "results": {"version": 3, "prompts": [], "results": rows}, "config": {}}
    found, left = board(cli, put(tmp_path / "results.json", content))
    with Ledger("x.ledger", read_only=True) as book:
        record = book.record()
    totals: dict[str, float] = {}
    for verdict in record.where(judge="promptfoo"):
        totals[verdict.contestants[0]] = totals.get(verdict.contestants[0], 0) + verdict.marks[0]
    assert totals == {who: sum(scores) for who, scores in SCORES.items()}
    assert set(found) == set(SCORES)
    assert {(v.judge, v.criterion) for v in record} == {
        ("promptfoo", "overall"), ("llm-rubric", "right"), ("latency", "overall"),
    }  # fmt: skip
    assert {v.text for v in record.where(judge="llm-rubric")} >= {"graded 0.25"}
    assert left == {
        "results without assertions, which promptfoo counts as passed": 1,
        "results without an answer, since the call failed": 1,
    }


@pytest.mark.parametrize("layout", ["first", "shared", "fourth"])
def test_promptfoo_with_several_prompts_and_in_older_layouts(cli, tmp_path, layout):
    """A column is a provider with a prompt; messages with pictures are turns; three more shapes of the file."""
    uri = f"data:image/png;base64,{base64.b64encode(png((7, 7, 7))).decode()}"
    rows = [result(test, "p", (0.2, 0.8)[prompt], prompt) for prompt in (0, 1) for test in (0, 1)]
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": uri}}]
    messages = json.dumps([{"role": "user", "content": content}])
    if layout == "first":
        for row in rows:
            row["prompt"] = {"raw": row["prompt"]["raw"], "display": row["prompt"]["label"]}
        file: dict = {"version": 1, "results": rows, "table": {}}
    elif layout == "shared":
        file = {"data": {"version": 3, "results": {"version": 2, "results": rows}}}
    else:
        rows = [{**row, "providerResponse": row["response"], "testCase": {"vars": row["vars"]}} for row in rows[:2]]
        for row in rows:
            del row["response"], row["vars"]
            row["prompt"] = {"raw": messages, "label": "x"}
        file = {"createdAt": 1, "results": rows, "prompts": []}
    found, _ = board(cli, put(tmp_path / "results.json", file))
    with Ledger("x.ledger", read_only=True) as book:
        items = list(book.items())
    if layout == "fourth":
        assert set(found) == {"p"}
        assert [part if isinstance(part, str) else part.data() for part in items[0].turns[0].parts] == [
            "see", png((7, 7, 7)),
        ]  # fmt: skip
        return
    assert set(found) == {"p prompt 1", "p prompt 2"}
    assert {item.question for item in items} == {"0", "1"}


METRICS = {"Answer Relevancy": (0.92, 0.5), "Correctness [GEval]": (0.4, 0.9)}


def test_deepeval_means_are_its_own(cli, tmp_path):
    """DeepEval reports the mean score of each metric; a metric that failed is no score."""
    image = {"dataBase64": base64.b64encode(png((3, 4, 5))).decode(), "mimeType": "image/png", "filename": "a.png"}

    def case(place: int) -> dict:
        metrics = [
            {"name": name, "score": scores[place], "success": True, "reason": f"{name} {place}", "threshold": 0.5,
             "evaluationModel": "gpt-5"} for name, scores in METRICS.items()
        ]  # fmt: skip
        return {"name": f"test_{place}", "input": f"[DEEPEVAL:IMAGE:i1]What is it {place}?", "order": place,
                "actualOutput": f"A {place}", "expectedOutput": "red", "success": True, "imagesMapping": {"i1": image},
                "metricsData": [*metrics, {"name": "Bias", "error": "timeout", "success": False}],
                "toolsCalled": [{"name": "search"}], "retrievalContext": ["chunk"]}  # fmt: skip

    talk = {"name": "talk", "success": True, "turns": [
        {"role": "user", "content": "Hi", "order": 0}, {"role": "assistant", "content": "Hello", "order": 1},
        {"role": "user", "content": "Bye", "order": 2}, {"role": "assistant", "content": "Ciao", "order": 3},
    ], "metricsData": [{"name": "Tone", "score": 1, "success": True}]}  # fmt: skip
    run = {"testCases": [case(0), case(1)], "conversationalTestCases": [talk], "hyperparameters": {"model": "mine"}}
    _, left = board(cli, put(tmp_path / "run.json", {"testRunData": run}))
    with Ledger("x.ledger", read_only=True) as book:
        record = book.record()
        items = list(book.items())
    for name, scores in METRICS.items():
        marks = [verdict.marks[0] for verdict in record.where(judge="gpt-5", criterion=name)]
        assert fmean(marks) == pytest.approx(fmean(scores))
    assert record.contestants == ["mine"]
    assert [verdict.marks for verdict in record.where(judge="Tone")] == [(1.0,)]
    asked = next(item for item in items if "it 0" in item.question)
    assert (asked.pictures[0].data(), asked.reference) == (png((3, 4, 5)), "red")
    said = next(item for item in items if "Hi" in item.question or len(item.turns) == 2)
    assert [turn.text for turn in said.turns] == ["Hi", "Bye"]
    assert left == {
        "scores of Bias that ended in an error or are missing": 2,
        "contexts of tests, which the question does not have": 2,
        "tool calls of models: only the output is taken": 2,
    }  # fmt: skip
