"""The released layout: files as they are, and what is said where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullbench.benchmarks.alignmmbench import release_files
from fullbench.benchmarks.alignmmbench.benchmark_definition import align_mm
from fullbench.errors import InputError
from tests.support.data_builders import png

ROW = {
    "question_id": "00000001-0",
    "image_path": "images/1.jpg",
    "history": [],
    "prompt": "描述图片。",
    "ref_answer": "一只猫。",
    "task": "Descrpition",
    "category": "Perception & Understanding",
}
SAID = {"user": "这是什么？", "assistant": "一只狗。"}


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def folder(tmp_path: Path, *rows: object) -> Path:
    write(tmp_path / "data" / "metadata.jsonl", *rows)
    return tmp_path


def test_the_misspelt_task_is_taken_as_meant_and_counted(tmp_path):
    (question,) = release_files.read_questions(folder(tmp_path, ROW))
    assert question.task.name == "Description"
    assert question.seed == "00000001"
    odd = release_files.oddities_table([question], tmp_path)
    assert any("misspelt" in str(row[1]) for row in odd.rows)


def test_a_dialogue_becomes_turns_with_the_picture_first(tmp_path):
    asked = {**ROW, "history": [SAID, SAID], "task": "Coherence", "category": "Dialogue Context"}
    source = folder(tmp_path, asked)
    (source / "images").mkdir()
    (source / "images" / "1.jpg").write_bytes(png())
    (item,) = align_mm.items(source)
    assert [turn.role for turn in item.turns] == ["user", "assistant", "user", "assistant", "user"]
    assert len(item.turns[0].pictures) == 1
    assert item.turns[0].text == "这是什么？"
    assert item.question == "描述图片。"
    assert item.tags["turns"] == "several"


def test_responses_and_ratings_are_brought_as_the_evaluator_writes_them(tmp_path):
    second, third = ({**ROW, "question_id": f"00000001-{k}"} for k in (1, 2))
    source = folder(tmp_path, ROW, second, third)
    write(source / "responses" / "YiVL_34B.jsonl", {"question_id": "00000001-0", "predict": "一只猫"},
          {"question_id": "00000001-1", "predict": ""})  # fmt: skip
    write(
        source / "results" / "YiVL_34B.jsonl",
        {"question_id": "00000001-0", "Rating": 9, "Reason": '"对" }'},
        {"question_id": "00000001-1", "Rating": -1, "Reason": "Error"},
        {"question_id": "00000001-2", "Rating": 12, "Reason": "好"},
    )
    brought = align_mm.bring(source)
    assert [(verdict.marks, verdict.fault) for verdict in brought.record] == [
        ((9.0,), None), (None, "unreadable"), (None, "unreadable"),
    ]  # fmt: skip
    assert {verdict.judge for verdict in brought.record} == {release_files.CRITIC}
    assert brought.record.responses["00000001-1", "YiVL_34B"].text == ""
    cases = {case.key for case in align_mm.cases(list(brought.record.items.values()),
                                                 brought.record.responses.values())}  # fmt: skip
    assert brought.record.verdicts[0].case in cases
    assert {table.name for table in align_mm.tables(brought.record)} >= {"averages CritiqueVLM", "unusable"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**ROW, "question_id": "7"}, "SEED-NUMBER"),
        ({**ROW, "task": "Dancing"}, "unknown task 'Dancing'"),
        ({**ROW, "history": ["hello"]}, "'history'"),
        ({**ROW, "ref_answer": ""}, "'ref_answer' is empty"),
        ({key: value for key, value in ROW.items() if key != "prompt"}, "'prompt' is missing"),
        ('{"question_id": "00000001-0", "prompt": "描', "not valid JSON"),
    ],
)
def test_bad_questions_are_refused_with_their_place(tmp_path, row, says):
    source = folder(tmp_path, {**ROW, "question_id": "00000000-0"}, row)
    with pytest.raises(InputError, match=says) as caught:
        release_files.read_questions(source)
    assert caught.value.line == 2


def test_a_question_that_comes_twice(tmp_path):
    with pytest.raises(InputError, match="occurs twice"):
        release_files.read_questions(folder(tmp_path, ROW, ROW))


def test_bad_responses_and_ratings(tmp_path):
    source = folder(tmp_path, ROW)
    asked = {item.id: item for item in align_mm.items(source)}

    def refused(read, row, says):
        path = write(tmp_path / "x.jsonl", *row)
        with pytest.raises(InputError, match=says):
            list(read(path))

    answers = lambda path: release_files.read_responses(path, "m", asked)  # noqa: E731
    ratings = lambda path: release_files.read_ratings(path, "m", asked, {})  # noqa: E731
    refused(answers, [{"question_id": "9-0", "predict": "x"}], "not among the 1 released")
    refused(answers, [{"question_id": "00000001-0", "answer": "x"}], "'predict' is missing")
    refused(answers, [{"question_id": "00000001-0", "predict": "x"}] * 2, "answered twice")
    refused(ratings, [{"question_id": "00000001-0", "Reason": "x"}], "'Rating' is missing")
    refused(ratings, [{"question_id": "00000001-0", "Rating": "good"}], "finite number")


def test_a_folder_that_is_no_release(tmp_path):
    with pytest.raises(InputError, match=r"no metadata\.jsonl"):
        align_mm.reproduce(tmp_path)
    with pytest.raises(InputError, match="published_task_scores"):
        align_mm.reproduce(folder(tmp_path, ROW))
