"""How the released files are laid out, and how a line of each becomes a `Row`.

The files were written by hand and by several scripts: one label has three keys, numbers come as text, letters small, a
misspelt key, markers glued together. Every such thing is mended or set aside here, and counted; whatever is none of
them is an error with its file and line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fullbench.benchmarks.mllm_judge.release.oddities import Oddities
from fullbench.benchmarks.mllm_judge.release.release_row import BALLOTS, Given, Review, Row, Task, marks, written
from fullbench.benchmarks.mllm_judge.source_datasets import BY_NAME
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
    """A line of a file while it is being read: its values, where it is, and where to count what is odd."""

    file: str
    path: str
    number: int
    values: Mapping[str, Any]
    odd: Oddities

    def error(self, sentence: str) -> InputError:
        return InputError(sentence, path=self.path, line=self.number)

    def note(self, done: str) -> None:
        self.odd.note(self.file, done)

    @property
    def keys(self) -> str:
        """The keys that are there, in words."""
        return f"its keys are {', '.join(map(repr, self.values)) or 'none'}"

    def __getitem__(self, key: str) -> Any:
        if key not in self.values:
            raise self.error(f"the row has no {key!r}; {self.keys}")
        return self.values[key]

    def whole(self, key: str) -> int:
        value = self[key]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"{key!r} must be a whole number; found {value!r}")
        return value

    def inner(self, key: str) -> Line:
        """A value that is an object, read with the same care."""
        return self.within(key, self[key])

    def within(self, key: str, value: Any) -> Line:
        """A value found under a key, which must be an object."""
        if not isinstance(value, dict):
            raise self.error(f"{key!r} must hold an object {{...}}; found {str(value)[:40]!r}")
        return Line(self.file, self.path, self.number, value, self.odd)


Rulings = Callable[[Line, Task, int], Iterator[Given]]


def people(line: Line, task: Task, n: int) -> Iterator[Given]:
    """The label that people gave."""
    key = next((key for key in HUMAN_KEYS if key in line.values), None)
    if key is None:
        raise line.error(f"the row has no label: none of {', '.join(HUMAN_KEYS)} is there")
    if key != HUMAN_KEYS[0]:
        line.note(f"the label is called {key!r}: read like {HUMAN_KEYS[0]!r}")
    yield Given(PEOPLE, _label(line, task, line[key], n))


def _label(line: Line, task: Task, value: Any, n: int) -> str:
    """A person's label in one spelling. A value the authors do not use is an error; one that rules nothing is noted."""
    label = str(value).strip()
    if task == "score" and isinstance(value, str):
        line.note("the score is a text: read as a number")
    if task != "score" and label != label.upper():
        line.note("the letters are small: read as capitals")
        label = label.upper()
    if re.fullmatch(_LEGAL[task], label) is None:
        wanted = {"score": "1 to 5 (0 for none)", "pair": "A, B or C", "batch": "letters of A to D"}[task]
        raise line.error(f"the label must be {wanted}; found {value!r}")
    if task == "batch" and len(label) > n and marks(task, label, n) is not None:
        line.note("the label ranks more answers than there are: surplus letters left out where verdicts are compared")
    elif marks(task, label, n) is None:
        line.note("the label rules nothing (0, empty, incomplete or repeating): no verdict of people")
    return label


def judge(line: Line, task: Task, n: int) -> Iterator[Given]:
    """The ruling of the one judge whose run the file holds."""
    yield _result(line, line.inner("result"), task, n)


def judged_and_labelled(line: Line, task: Task, n: int) -> Iterator[Given]:
    """A label, a judge's ruling, and a person's review of that ruling (scores and pairs of the HQ subset)."""
    yield from people(line, task, n)
    judgment = _result(line, line.inner("result"), task, n)
    review = line.inner("evaluator")
    ruling = judgment.ruling
    if "judge_Evaluator" in review.values:
        ruling = _label(review, task, review["judge_Evaluator"], n)
    yield Given(judgment.judge, ruling, judgment.text, review=_review(review), written=judgment.written)


def ranked_and_labelled(line: Line, task: Task, n: int) -> Iterator[Given]:
    """The same for rankings of the HQ subset, where the judge's words stand beside what a person read from them."""
    yield from people(line, task, n)
    review = line.inner("evaluator")
    ruling = _label(review, task, review["judge_evaluator"], n)
    yield Given(_name(review), ruling, _words(review, "judge"), review=_review(review))


def two_judges(line: Line, task: Task, n: int) -> Iterator[Given]:
    """The rulings of Gemini and GPT-4V on a hard item; rankings have to be read from their words."""
    for key in ("result1", "result2"):
        if key in line.values:
            yield _result(line, line.inner(key), task, n)
        else:
            line.note(f"one judge's ruling ({key!r}) is missing: the other one is used")
    if any(key in line.values for key in HUMAN_KEYS):
        line.note("the row holds a label, which no other row of this file does: used")
        yield from people(line, task, n)


def _result(line: Line, result: Line, task: Task, n: int) -> Given:
    text_key = "oral" if "oral" in result.values else "analysis"
    text = _words(result, text_key)
    if text_key == "oral":
        line.note("the ruling of a second run: the words are called 'oral', read like 'analysis'")
    judge_key = "jduge" if "jduge" in result.values else "judge"
    if judge_key == "jduge":
        line.note("the ruling is called 'jduge': read like 'judge'")
    ruling = str(result.values.get(judge_key, "")).strip()
    if ruling and task == "score" and isinstance(result.values[judge_key], str):
        line.note("the judge's score is a text: read as a number")
    if not ruling:
        ruling = read_ruling(text, task, n)
        line.note("the ruling is in the judge's words alone: read from them")
    elif task == "score" and len(ruling) > 1:
        ruling = read_ruling(text, task, n)
        line.note("the digits of several numbers are glued together: the ruling was read from the judge's words")
    elif task == "batch" and len(ruling) > n:
        line.note("the ruling ranks more answers than there are: surplus letters left out where verdicts are compared")
    if marks(task, ruling, n) is None:
        line.note("the ruling is not legal: the verdict is 'unreadable'")
    written_ = str(result.values.get(judge_key, "")).strip()
    return Given(_name(result), ruling, text, again=text_key == "oral", written=written_)


def read_ruling(text: str, task: Task, n: int) -> str:
    """The last ruling in a judge's words, in the release's spelling; nothing where there is none."""
    ruling = read(BALLOTS[task], text, n)
    return "" if isinstance(ruling, str) else written(task, ruling)


def _name(line: Line) -> str:
    if "name" not in line.values and (keys := [key for word, key in _FILES.items() if word in line.file]):
        line.note("the judge is not named: taken from the name of the file")
        return JUDGES[keys[0]]
    name = str(line["name"])
    if name not in JUDGES and name.lower() in JUDGES:
        line.note(f"the judge is called {name!r}: read like {name.lower()!r}")
    if name.lower() not in JUDGES:
        raise line.error(f"the judge must be one of {', '.join(JUDGES)}; found {name!r}")
    return JUDGES[name.lower()]


def _words(line: Line, key: str) -> str:
    return str(line.values.get(key, ""))


def _review(line: Line) -> Review:
    agrees, grade, hallucinates = (line.whole(key) for key in ("judge_human", "analysis", "hallucination"))
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


def row(line: Line, task: Task, rulings: Rulings) -> Row:
    """The row that a line is."""
    _check_shape(line, task)
    named = list(_answers(line, task))
    if any(answer.endswith(_END) for _, answer in named):
        line.note(f"an answer ends with the model's own {_END}: cut off")
    names = [name for name, _ in named]
    for place, name in enumerate(names):
        if name in names[:place]:
            line.note("a model is compared with itself: its second answer is named apart")
            names[place] = f"{name}#2"
    dataset = known_dataset(line)
    number = line.whole({"score": "score_id", "pair": "pair_id", "batch": "id"}[task])
    answers = tuple(answer.removesuffix(_END).rstrip() for _, answer in named)
    judgments = tuple(rulings(line, task, len(names)))
    picture, question = str(line["image_path"]), str(line["instruction"])
    return Row(
        line.file,
        line.number,
        task,
        number,
        line.whole("id"),
        dataset,
        picture,
        question,
        tuple(names),
        answers,
        judgments,
    )


def known_dataset(line: Line) -> str:
    """The data set of a row, one of the fourteen."""
    dataset = line["original_dataset"]
    if not isinstance(dataset, str) or dataset not in BY_NAME:
        raise line.error(f"the data set must be one of {', '.join(BY_NAME)}; found {dataset!r}")
    return dataset


def _check_shape(line: Line, task: Task) -> None:
    has = {kind: key in line.values for kind, key in _SHAPE.items()}
    has["batch"] = has["batch"] or "answer0" in line.values
    if not has[task]:
        layout = next((kind for kind, there in has.items() if there), None)
        what = f"it is laid out for the task {layout!r}" if layout else line.keys
        raise line.error(f"a row of the task {task!r} is expected here, but {what}: is it the right file?")


def _answers(line: Line, task: Task) -> Iterator[tuple[str, str]]:
    if task == "score":
        nested = isinstance(line["answer"], dict)
        source = line.inner("answer") if nested else line
        if nested:
            line.note("name and answer stand one level deeper: read all the same")
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
