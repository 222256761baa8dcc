"""The released files as they are: questions with references and histories, responses, ratings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fullbench.benchmarks.align_mm.task_names import MISSPELT, Task, task_of
from fullbench.core.ballot import Score
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.digests import digest
from fullbench.core.item import Item, Role, Turn
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Fault, Verdict
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields

BALLOT = Score(1, 10)
CRITIC = "CritiqueVLM"
"""The judge whose ratings the released evaluator writes."""
_SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")


@dataclass(frozen=True)
class Question:
    """One released question. `seed` is what its rewrites share; `history` holds what was asked and answered before."""

    id: str
    image: str
    history: tuple[tuple[str, str], ...]
    prompt: str
    reference: str
    task: Task
    spelt: str

    @property
    def seed(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def variant(self) -> str:
        return self.id.rpartition("-")[2]


def place(folder: Path, name: str) -> Path | None:
    """The file of that name in a release, packed or not, in the folder itself or in its `data`."""
    places = (part / f"{name}{suffix}" for part in (folder, folder / "data") for suffix in _SUFFIXES)
    return next((path for path in places if path.is_file()), None)


def read_questions(folder: Path) -> list[Question]:
    """All questions of a release, in its order."""
    path = place(folder, "metadata")
    if path is None:
        raise InputError("the released questions are missing: there is no metadata.jsonl", path=folder)
    questions: dict[str, Question] = {}
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        question = _question(fields)
        if question.id in questions:
            raise fields.error(f"the question {question.id!r} occurs twice; ids must differ")
        questions[question.id] = question
    return list(questions.values())


def _question(fields: Fields) -> Question:
    name = fields.name("question_id")
    seed, dash, variant = name.rpartition("-")
    if not (seed and dash and variant.isdigit()):
        raise fields.error(f"a question_id is SEED-NUMBER, such as 00000000-0; found {name!r}")
    spelt = fields.name("task")
    with fields.placed():
        task = task_of(spelt)
    history = tuple(_exchange(fields, entry) for entry in fields.json("history") or ())
    return Question(
        name, fields.name("image_path"), history, fields.name("prompt"), fields.name("ref_answer"), task, spelt
    )


def _exchange(fields: Fields, entry: object) -> tuple[str, str]:
    if isinstance(entry, dict):
        asked, answered = entry.get("user"), entry.get("assistant")
        if isinstance(asked, str) and isinstance(answered, str):
            return asked, answered
    raise fields.error(f"an entry of 'history' is {{'user', 'assistant'}}; found {str(entry)[:40]!r}")


def items(questions: Iterable[Question], folder: Path) -> Iterator[Item]:
    """The questions as items. Pictures are taken from the folder where they were fetched to, else left out."""
    picture = cache(read_picture)
    for question in questions:
        seen = (picture(folder, question.image),) if (folder / question.image).is_file() else ()
        earlier = [Turn(role, (text,)) for pair in question.history for role, text in zip(_ROLES, pair, strict=True)]
        turns = [*earlier, Turn("user", (question.prompt,))]
        turns[0] = Turn("user", (*seen, *turns[0].parts))
        yield Item(question.id, tuple(turns), question.reference, tags=_tags(question))


_ROLES: tuple[Role, Role] = ("user", "assistant")


def _tags(question: Question) -> dict[str, str]:
    return {
        "seed": question.seed,
        "variant": question.variant,
        "task": question.task.name,
        "category": question.task.category,
        "image": question.image,
        "turns": "several" if question.history else "one",
    }


def case_of(item: Item, response: Response, trial: int = 0) -> Case:
    """The case in which a response is rated from 1 to 10 by the rules of its task."""
    return Case(item, (response,), BALLOT, item.tags.get("task") or "overall", trial)


def read_responses(path: Path, contestant: str, asked: Mapping[str, Item]) -> Iterator[Response]:
    """The responses of one model, as the released evaluator takes them: `question_id` and `predict`."""
    seen: set[str] = set()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item = _asked(fields, asked)
        if not fields.has("predict"):
            raise fields.error("the field 'predict' is missing: a response file has question_id and predict")
        if item.id in seen:
            raise fields.error(f"the question {item.id!r} is answered twice; keep one answer")
        seen.add(item.id)
        yield Response.say(item.id, contestant, fields.text("predict") or "")


def _asked(fields: Fields, asked: Mapping[str, Item]) -> Item:
    name = fields.name("question_id")
    if name not in asked:
        raise fields.error(f"the question {name!r} is not among the {len(asked):,} released ones")
    return asked[name]


def read_ratings(
    path: Path,
    contestant: str,
    asked: Mapping[str, Item],
    responses: Mapping[tuple[str, str], Response],
    judge: str = CRITIC,
) -> Iterator[Verdict]:
    """The ratings of one model's responses, as the released evaluator writes them: `question_id`, `Rating`, `Reason`.

    Its -1 for a reply that it could not read, and any rating outside 1 to 10, are faults here.
    """
    times: Counter[str] = Counter()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item = _asked(fields, asked)
        if not fields.has("Rating"):
            raise fields.error("the field 'Rating' is missing: an output file has question_id, Rating and Reason")
        rating = fields.number("Rating", -1)
        ruling: tuple[float, ...] | Fault = (rating,) if BALLOT.allows((rating,)) else "unreadable"
        text = json.dumps({"Rating": fields.get("Rating"), "Reason": fields.get("Reason")}, ensure_ascii=False)
        trial = times[item.id]
        times[item.id] += 1
        response = responses.get((item.id, contestant))
        if response is not None:
            yield Verdict.of(case_of(item, response, trial), judge, ruling, text=text)
            continue
        criterion = item.tags["task"]
        key = digest(["rating", item.id, contestant, BALLOT.spec, criterion])
        marks, fault = (None, ruling) if isinstance(ruling, str) else (ruling, None)
        yield Verdict(key, judge, item.id, (contestant,), BALLOT.spec, criterion, trial, marks, fault, text)


def files(folder: Path, kind: str) -> dict[str, Path]:
    """The files of responses or ratings of a release, by the name of the model: `responses/NAME.jsonl`."""
    names_by_path = {path: path.name.partition(".jsonl")[0] for path in sorted((folder / kind).glob("*.jsonl*"))}
    if kind == "responses" and (demo := place(folder, "demo_response")):
        names_by_path[demo] = "demo"
    return {name: path for path, name in names_by_path.items()}


def oddities(questions: Sequence[Question], folder: Path) -> Table:
    """What is odd in the released questions, and what was done about it."""
    wordings: dict[str, list[str]] = {}
    for question in questions:
        wordings.setdefault(question.seed, []).append(question.prompt)
    images = {question.image: question.seed for question in questions}

    def count(test: Callable[[Question], bool]) -> int:
        return sum(map(test, questions))

    counts = {
        "seeds that have one wording only: they say nothing of steadiness": sum(
            len(words) == 1 for words in wordings.values()
        ),
        "seeds of which two wordings are the same: both are kept": sum(
            len(set(words)) < len(words) for words in wordings.values()
        ),
        "seeds that share their picture with another one": len(wordings) - len(images),
        "references that hold a line break as two characters: kept as they are": count(
            lambda question: "\\n" in question.reference
        ),
        "questions of which the picture is not there: asked without": count(
            lambda question: not (folder / question.image).is_file()
        ),
        "questions whose task is misspelt: taken as meant": count(lambda question: question.spelt in MISSPELT),
    }
    rows: list[list[Cell]] = [[times, what] for what, times in counts.items() if times]
    return Table(
        "oddities",
        Note("align-mm.release.title.what-was-odd-in-the", "What was odd in the released files"),
        headings("rows", "what, and what was done"),
        rows,
    )
