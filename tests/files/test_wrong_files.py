"""A file of another kind, one that was cut off and an empty one: one sentence, exit code 2, and nothing is written."""

from __future__ import annotations

import base64
import json
import zipfile
from pathlib import Path

import pytest

from tests.files.test_exchange import battle, put, sheet
from tests.support.data_builders import png

ABOUT = {"item": "q", "contestants": ["x", "y"]}
TEXTS = {"question": "哪个?", "response_a": "a", "response_b": "b"}


def log(path: Path) -> Path:
    sample = {"id": 1, "epoch": 1, "input": "Q", "target": "T", "output": {"completion": "A"}, "scores": {}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    return path


def sound(kind: str, folder: Path) -> Path:
    """A small sound file of a kind."""
    picked = [{"from_name": "best", "type": "choices", "value": {"choices": ["A"]}}]
    if kind == "inspect":
        return log(folder / "log.eval")
    if kind == "vlmevalkit":
        path = folder / "qwen_MMBench.xlsx"
        sheet(path, [["index", "question", "prediction", "hit"], ["1", "什么?", "A", 1], ["2", "哪?", "B", 0]])
        return path
    if kind == "mt_bench":
        return put(folder / "question.jsonl", [{"question_id": n, "category": "math", "turns": ["一"]} for n in (1, 2)])
    samples = [{"doc_id": n, "doc": {}, "target": "4", "arguments": [["P", {}]], "resps": [["4"]], "acc": 1.0}
               for n in (1, 2)]  # fmt: skip
    rows = {
        "alpaca": [{"instruction": f"Do {n}", "output": "x", "generator": "m"} for n in (1, 2)],
        "arena": [battle(n, "model_a") for n in (1, 2)],
        "wildvision": [battle(n, "tie") | {"image": f"data:image/png;base64,{base64.b64encode(png()).decode()}"}
                       for n in (1, 2)],
        "label_studio": [{"id": 1, "data": {**ABOUT, **TEXTS}, "annotations": [{"completed_by": 7, "result": picked}]}],
        "argilla": [{"id": "1", "fields": TEXTS, "metadata": ABOUT,
                     "responses": {"best": [{"value": "A", "user_id": "u", "status": "submitted"}]}}],
        "lm_eval": samples, "lmms_eval": samples,
        "huggingface": [{"id": n, "question": "什么?"} for n in (1, 2)],
    }[kind]  # fmt: skip
    return put(folder / f"{kind}.{'jsonl' if kind in {'lm_eval', 'lmms_eval', 'huggingface'} else 'json'}", rows)


KINDS = {  # and one whose file is none of it
    "alpaca": "arena", "arena": "alpaca", "wildvision": "lm_eval", "mt_bench": "lm_eval", "inspect": "alpaca",
    "lm_eval": "arena", "lmms_eval": "label_studio", "vlmevalkit": "argilla", "label_studio": "arena",
    "argilla": "huggingface", "huggingface": "label_studio",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_file_is_one_sentence_and_nothing_is_written(cli, tmp_path, kind):
    good = sound(kind, tmp_path)
    assert cli("import", kind, good, "--out", "good")[0] == 0
    data = good.read_bytes()
    (tmp_path / "wrong").mkdir()
    cut, empty = tmp_path / "wrong" / f"cut_{good.name}", tmp_path / "wrong" / f"empty_{good.name}"
    cut.write_bytes(data[: len(data) * 2 // 3])
    empty.write_bytes(b"")
    for wrong in (sound(KINDS[kind], tmp_path / "wrong"), cut, empty):
        code, out, err = cli("import", kind, wrong, "--out", "o")
        assert (code, out, (tmp_path / "o").exists()) == (2, "", False), (wrong.name, out, err)
        assert err.startswith("fullbench: "), err
        assert err.count("\n") == 1, err


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("argilla", [{"fields": {**TEXTS, "item": "q", "contestants": "[1"}, "responses": {}}], "not a valid list"),
        (
            "argilla",
            [{"fields": {**TEXTS, **ABOUT, "samples": ["x", "y"]}, "responses": {}}],
            "a whole number for each",
        ),
        ("argilla", [{"fields": {**TEXTS, **ABOUT}, "responses": {"best": 7}}], "lists of objects"),
        ("argilla", [{"fields": {**TEXTS, **ABOUT, "picture_1": "no.png"}, "responses": {}}], "no.png"),
        ("label_studio", [{"data": {**TEXTS, **ABOUT}, "annotations": [3]}], "an annotation is an object"),
        ("inspect", {"eval": {"task": "t"}, "samples": [3]}, "a sample of Inspect is an object"),
        ("inspect", {"eval": [], "samples": []}, "not a log of Inspect"),
        ("alpaca", [1, 2], "one array of objects"),
    ],
)
def test_records_of_another_form_are_said_as_such(cli, tmp_path, kind, content, said):
    code, _, err = cli("import", kind, put(tmp_path / "f.json", content), "--out", "o")
    assert (code, said in err, (tmp_path / "o").exists()) == (2, True, False), err
