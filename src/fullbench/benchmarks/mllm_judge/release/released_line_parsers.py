"""Layouts of the released files, and parsers that turn a line of each into a `Row`.

The files were written by hand and by several scripts. One label has three keys, numbers come as text, letters are
small, a key is misspelt, numbers are glued together. Each known defect is fixed or excluded here, and counted. Any
other defect is an error with file and line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.benchmarks.mllm_judge.release.release_row import (
    BALLOTS,
    ReleasedVerdict,
    Review,
    Row,
    Task,
    parse_marks,
    spell_marks,
)
from fullbench.benchmarks.mllm_judge.source_datasets import BY_NAME
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.parsing import read

HUMAN_KEYS = ("human_answer", "Human_answer", "human")
JUDGES = {"gpt4": "GPT-4V", "gemini": "Gemini", "llava": "LLaVA-1.5-13b", "cogvlm": "CogVLM"}
_FILES = {"GPT-4V": "gpt4", "Gemini": "gemini", "LLaVA": "llava", "CogVLM": "cogvlm"}
_LEGAL: dict[Task, str] = {"score": "[0-5]", "pair": "[ABC]", "batch": "[A-D]{0,4}"}
_SHAPE: dict[Task, str] = {"score": "score_id", "pair": "pair_id", "batch": "answers"}
_END = "</s>"


@dataclass
class Line:
    """A line of a file while it is parsed: its values, its location, and the counter of oddities."""

    file: str
    path: str
    number: int
    values: Mapping[str, Any]
    oddities: Oddities

    def error(self, sentence: str) -> InputError:
        return InputError(sentence, path=self.path, line=self.number)

    def note(self, action: str) -> None:
        self.oddities.note(self.file, action)

    @property
    def keys(self) -> str:
        """Clause for error messages that lists the present keys."""
        return f"its keys are {', '.join(map(repr, self.values)) or 'none'}"

    def __getitem__(self, key: str) -> Any:
        if key not in self.values:
            raise self.error(f"the row has no {key!r}; {self.keys}")
        return self.values[key]

    def integer(self, key: str) -> int:
        value = self[key]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{key!r} must be a whole number; found {value!r}")
        return value

    def inner(self, key: str) -> Line:
        """Return the object under a key as a `Line` with the same location."""
        return self.within(key, self[key])

    def within(self, key: str, value: Any) -> Line:
        """Wrap a value that was found under a key; it must be an object."""
        if not isinstance(value, dict):
            raise self.error(f"{key!r} must hold an object {{...}}; found {str(value)[:40]!r}")
        return Line(self.file, self.path, self.number, value, self.oddities)


VerdictReader = Callable[[Line, Task, int], Iterator[ReleasedVerdict]]


def read_people_label(line: Line, task: Task, n: int) -> Iterator[ReleasedVerdict]:
    """Read the label by people."""
    key = next((key for key in HUMAN_KEYS if key in line.values), None)
    if key is None:
        raise line.error(f"the row has no label: none of {', '.join(HUMAN_KEYS)} is there")
    if key != HUMAN_KEYS[0]:
        line.note(f"the label is called {key!r}: read like {HUMAN_KEYS[0]!r}")
    yield ReleasedVerdict(PEOPLE, _parse_label(line, task, line[key], n))


def _parse_label(line: Line, task: Task, value: Any, n: int) -> str:
    """An unknown value is an error; a label without a verdict is counted."""
    label = str(value).strip()
    if task == "score" and isinstance(value, str):
        line.note("the score is a text: read as a number")
    if task != "score" and label != label.upper():
        line.note("the letters are small: read as capitals")
        label = label.upper()
    if re.fullmatch(_LEGAL[task], label) is None:
        expected_label = {"score": "1 to 5 (0 for none)", "pair": "A, B or C", "batch": "letters of A to D"}[task]
        raise line.error(f"the label must be {expected_label}; found {value!r}")
    if task == "batch" and len(label) > n and parse_marks(task, label, n) is not None:
        line.note("the label ranks more answers than exist: extra letters are ignored if verdicts are compared")
    elif parse_marks(task, label, n) is None:
        line.note("the label has no verdict (0, empty, incomplete or repeated): no verdict of people")
    return label


def read_judge_verdict(line: Line, task: Task, n: int) -> Iterator[ReleasedVerdict]:
    """Read the verdict of the one judge whose run the file holds."""
    yield _parse_result(line, line.inner("result"), task, n)


def read_reviewed_verdict(line: Line, task: Task, n: int) -> Iterator[ReleasedVerdict]:
    """Read a label, a judge's verdict and a person's review of it (scores and pairs of the HQ subset)."""
    yield from read_people_label(line, task, n)
    judgment = _parse_result(line, line.inner("result"), task, n)
    review = line.inner("evaluator")
    verdict_text = judgment.verdict_text
    if "judge_Evaluator" in review.values:
        verdict_text = _parse_label(review, task, review["judge_Evaluator"], n)
    yield ReleasedVerdict(
        judgment.judge,
        verdict_text,
        judgment.text,
        review=_parse_review(review),
        raw_verdict_text=judgment.raw_verdict_text,
    )


def read_reviewed_ranking(line: Line, task: Task, n: int) -> Iterator[ReleasedVerdict]:
    """Read the same for rankings of the HQ subset, which hold the judge's text and a person's reading of it."""
    yield from read_people_label(line, task, n)
    review = line.inner("evaluator")
    verdict_text = _parse_label(review, task, review["judge_evaluator"], n)
    yield ReleasedVerdict(
        _judge_name(review), verdict_text, _optional_text(review, "judge"), review=_parse_review(review)
    )


def read_two_judges(line: Line, task: Task, n: int) -> Iterator[ReleasedVerdict]:
    """Read the verdicts of Gemini and GPT-4V on a hard item; rankings are parsed from their texts."""
    for key in ("result1", "result2"):
        if key in line.values:
            yield _parse_result(line, line.inner(key), task, n)
        else:
            line.note(f"one judge's verdict ({key!r}) is missing: the other one is used")
    if any(key in line.values for key in HUMAN_KEYS):
        line.note("the row holds a label, which no other row of this file does: used")
        yield from read_people_label(line, task, n)


def _parse_result(line: Line, result: Line, task: Task, n: int) -> ReleasedVerdict:
    text_key = "oral" if "oral" in result.values else "analysis"
    text = _optional_text(result, text_key)
    if text_key == "oral":
        line.note("the verdict of a second run: its text is called 'oral', read like 'analysis'")
    judge_key = "jduge" if "jduge" in result.values else "judge"
    if judge_key == "jduge":
        line.note("the verdict is called 'jduge': read like 'judge'")
    verdict_text = str(result.values.get(judge_key, "")).strip()
    if verdict_text and task == "score" and isinstance(result.values[judge_key], str):
        line.note("the judge's score is a text: read as a number")
    if not verdict_text:
        verdict_text = read_verdict_text(text, task, n)
        line.note("the verdict is only in the judge's text: read from it")
    elif task == "score" and len(verdict_text) > 1:
        verdict_text = read_verdict_text(text, task, n)
        line.note("the digits of several numbers run together: the verdict was read from the judge's text")
    elif task == "batch" and len(verdict_text) > n:
        line.note("the verdict ranks more answers than exist: extra letters are ignored if verdicts are compared")
    if parse_marks(task, verdict_text, n) is None:
        line.note("the verdict is not allowed on the ballot: it is 'unreadable'")
    raw_verdict_text = str(result.values.get(judge_key, "")).strip()
    return ReleasedVerdict(
        _judge_name(result), verdict_text, text, is_second_run=text_key == "oral", raw_verdict_text=raw_verdict_text
    )


def read_verdict_text(text: str, task: Task, n: int) -> str:
    """Parse the last verdict in a judge's text, in the release's notation; empty if there is none."""
    parsed_marks = read(BALLOTS[task], text, n)
    return "" if isinstance(parsed_marks, str) else spell_marks(task, parsed_marks)


def _judge_name(line: Line) -> str:
    if "name" not in line.values and (keys := [key for word, key in _FILES.items() if word in line.file]):
        line.note("the judge has no name: taken from the file name")
        return JUDGES[keys[0]]
    name = str(line["name"])
    if name not in JUDGES and name.lower() in JUDGES:
        line.note(f"the judge is called {name!r}: read like {name.lower()!r}")
    if name.lower() not in JUDGES:
        raise line.error(f"the judge must be one of {', '.join(JUDGES)}; found {name!r}")
    return JUDGES[name.lower()]


def _optional_text(line: Line, key: str) -> str:
    return str(line.values.get(key, ""))


def _parse_review(line: Line) -> Review:
    agrees, grade, hallucinates = (line.integer(key) for key in ("judge_human", "analysis", "hallucination"))
    stray = agrees not in {0, 1, -1}
    if stray:
        line.note("'judge_human' is neither 0, 1 nor -1: taken as not judged")
    if -1 in {agrees, grade, hallucinates}:
        line.note("a review holds -1: taken as not judged")
    return Review(
        bool(agrees) if agrees in {0, 1} else None,
        grade if grade in range(1, 6) else None,
        bool(hallucinates) if hallucinates in {0, 1} else None,
        stray,
    )


def parse_row(line: Line, task: Task, read_verdicts: VerdictReader) -> Row:
    """Parse a line into a `Row`."""
    _check_shape(line, task)
    answer_pairs = list(_read_answers(line, task))
    if any(answer.endswith(_END) for _, answer in answer_pairs):
        line.note(f"an answer ends with the model's own {_END}: cut off")
    names = [name for name, _ in answer_pairs]
    for place, name in enumerate(names):
        if name in names[:place]:
            line.note("a model is compared with itself: its second answer gets another name")
            names[place] = f"{name}#2"
    dataset = known_dataset(line)
    number = line.integer({"score": "score_id", "pair": "pair_id", "batch": "id"}[task])
    answers = tuple(answer.removesuffix(_END).rstrip() for _, answer in answer_pairs)
    verdicts = tuple(read_verdicts(line, task, len(names)))
    picture, question = str(line["image_path"]), str(line["instruction"])
    return Row(
        line.file,
        line.number,
        task,
        number,
        line.integer("id"),
        dataset,
        picture,
        question,
        tuple(names),
        answers,
        verdicts,
    )


def known_dataset(line: Line) -> str:
    """Return the data set of a row, one of the fourteen."""
    dataset = line["original_dataset"]
    if not isinstance(dataset, str) or dataset not in BY_NAME:
        raise line.error(f"the data set must be one of {', '.join(BY_NAME)}; found {dataset!r}")
    return dataset


def _check_shape(line: Line, task: Task) -> None:
    layout_keys = {kind: key in line.values for kind, key in _SHAPE.items()}
    layout_keys["batch"] = layout_keys["batch"] or "answer0" in line.values
    if not layout_keys[task]:
        layout = next((kind for kind, is_present in layout_keys.items() if is_present), None)
        layout_text = f"it is laid out for the task {layout!r}" if layout else line.keys
        raise line.error(f"a row of the task {task!r} is expected here, but {layout_text}: is it the right file?")


def _read_answers(line: Line, task: Task) -> Iterator[tuple[str, str]]:
    if task == "score":
        nested = isinstance(line["answer"], dict)
        source = line.inner("answer") if nested else line
        if nested:
            line.note("name and answer are one level deeper: read anyway")
        yield str(source["name"]), str(source["answer"])
        return
    if task == "pair":
        keys = ["answer1", "answer2"]
    elif "answers" in line.values:
        answers = line["answers"]
        if not isinstance(answers, list) or not 2 <= len(answers) <= len("ABCD"):
            raise line.error(f"'answers' must list two to four answers; found {str(answers)[:40]!r}")
        for answer in answers:
            inner = line.within("answers", answer)
            yield str(inner["name"]), str(inner["answer"])
        return
    else:
        keys = [key for key in ("answer0", "answer1", "answer2", "answer3") if key in line.values]
    for key in keys:
        inner = line.inner(key)
        yield str(inner["name"]), str(inner["answer"])


class Oddities:
    """Number of affected rows for each file and action."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, file: str, action: str, times: int = 1) -> None:
        """Count `times` rows of a file; `action` is a clause that says what was done to them."""
        if times:
            self.counts[file, action] += times

    def table(self) -> Table:
        """Return all counts, file by file."""
        rows: list[list[Cell]] = [[file, times, action] for (file, action), times in sorted(self.counts.items())]
        notes = [Note("mllm-judge.oddities.each-row-of-the-released")]
        return Table(
            "oddities",
            Note("mllm-judge.oddities.title.what-was-odd-in-the"),
            table_columns("file", "rows", "what was done"),
            rows,
            notes,
        )
