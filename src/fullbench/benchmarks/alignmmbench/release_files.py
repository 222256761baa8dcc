"""Reader of AlignMMBench's released files: questions with references and histories, responses, ratings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fullbench.benchmarks.alignmmbench.task_names import MISSPELT, Task, task_of
from fullbench.core.ballot import Score
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import Item, Role, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Fault, Verdict
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows

BALLOT = Score(1, 10)
CRITIC = "CritiqueVLM"
"""Judge whose ratings the released evaluator writes."""
_SUFFIXES = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz")


@dataclass(frozen=True)
class Question:
    """One released question. Rewordings share the `seed`; `history` holds earlier questions and answers."""

    id: str
    image: str
    history: tuple[tuple[str, str], ...]
    prompt: str
    reference: str
    task: Task
    task_spelling: str

    @property
    def seed(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def variant(self) -> str:
        return self.id.rpartition("-")[2]


def find_file(folder: Path, name: str) -> Path | None:
    """Find a file of a release, compressed or not, in the folder or in its `data`."""
    candidate_paths = (subfolder / f"{name}{suffix}" for subfolder in (folder, folder / "data") for suffix in _SUFFIXES)
    return next((path for path in candidate_paths if path.is_file()), None)


def read_questions(folder: Path) -> list[Question]:
    """Read all questions of a release, in file order."""
    path = find_file(folder, "metadata")
    if path is None:
        raise InputError("the released questions are missing: there is no metadata.jsonl", path=folder)
    questions: dict[str, Question] = {}
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        question = _parse_question(fields)
        if question.id in questions:
            raise fields.error(f"the question {question.id!r} occurs twice; ids must differ")
        questions[question.id] = question
    return list(questions.values())


def _parse_question(fields: Fields) -> Question:
    name = fields.name("question_id")
    seed, dash, variant = name.rpartition("-")
    if not (seed and dash and variant.isdigit()):
        raise fields.error(f"a question_id is SEED-NUMBER, such as 00000000-0; found {name!r}")
    task_spelling = fields.name("task")
    with fields.locate_errors():
        task = task_of(task_spelling)
    history = tuple(_parse_exchange(fields, entry) for entry in fields.json("history") or ())
    return Question(
        name, fields.name("image_path"), history, fields.name("prompt"), fields.name("ref_answer"), task, task_spelling
    )


def _parse_exchange(fields: Fields, entry: object) -> tuple[str, str]:
    if isinstance(entry, dict):
        question, answer = entry.get("user"), entry.get("assistant")
        if isinstance(question, str) and isinstance(answer, str):
            return question, answer
    raise fields.error(f"an entry of 'history' is {{'user', 'assistant'}}; found {str(entry)[:40]!r}")


def build_items(questions: Iterable[Question], folder: Path) -> Iterator[Item]:
    """Build items from the questions. Pictures that are not in the folder are left out."""
    picture = cache(read_picture)
    for question in questions:
        pictures = (picture(folder, question.image),) if (folder / question.image).is_file() else ()
        earlier_turns = [
            Turn(role, (text,)) for pair in question.history for role, text in zip(_ROLES, pair, strict=True)
        ]
        turns = [*earlier_turns, Turn("user", (question.prompt,))]
        turns[0] = Turn("user", (*pictures, *turns[0].parts))
        yield Item(question.id, tuple(turns), question.reference, tags=_question_tags(question))


_ROLES: tuple[Role, Role] = ("user", "assistant")


def _question_tags(question: Question) -> dict[str, str]:
    return {
        "seed": question.seed,
        "variant": question.variant,
        "task": question.task.name,
        "category": question.task.category,
        "image": question.image,
        "turns": "several" if question.history else "one",
    }


def case_of(item: Item, response: Response, trial: int = 0) -> Case:
    """Build the case that rates a response from 1 to 10 by the rules of its task."""
    return Case(item, (response,), BALLOT, item.tags.get("task") or "overall", trial)


def read_responses(path: Path, contestant: str, items_by_id: Mapping[str, Item]) -> Iterator[Response]:
    """Read one model's responses in the released evaluator's input format: `question_id` and `predict`."""
    answered_ids: set[str] = set()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item = _find_item(fields, items_by_id)
        if not fields.has("predict"):
            raise fields.error("the field 'predict' is missing: a response file has question_id and predict")
        if item.id in answered_ids:
            raise fields.error(f"the question {item.id!r} is answered twice; keep one answer")
        answered_ids.add(item.id)
        yield Response.say(item.id, contestant, fields.text("predict") or "")


def _find_item(fields: Fields, items_by_id: Mapping[str, Item]) -> Item:
    name = fields.name("question_id")
    if name not in items_by_id:
        raise fields.error(f"the question {name!r} is not among the {len(items_by_id):,} released ones")
    return items_by_id[name]


def read_ratings(
    path: Path,
    contestant: str,
    items_by_id: Mapping[str, Item],
    responses: Mapping[tuple[str, str], Response],
    judge: str = CRITIC,
) -> Iterator[Verdict]:
    """Read ratings of one model in the released evaluator's output format: `question_id`, `Rating`, `Reason`.

    Its -1 for an unreadable reply, and any rating outside 1 to 10, become unusable verdicts.
    """
    rating_counts: Counter[str] = Counter()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item = _find_item(fields, items_by_id)
        if not fields.has("Rating"):
            raise fields.error("the field 'Rating' is missing: an output file has question_id, Rating and Reason")
        rating = fields.number("Rating", -1)
        marks_or_fault: tuple[float, ...] | Fault = (rating,) if BALLOT.allows((rating,)) else "unreadable"
        text = json.dumps({"Rating": fields.get("Rating"), "Reason": fields.get("Reason")}, ensure_ascii=False)
        trial = rating_counts[item.id]
        rating_counts[item.id] += 1
        # A results file may come without its responses; then the verdict gets a key without the answer's text.
        response = responses.get((item.id, contestant))
        if response is not None:
            yield Verdict.from_case(case_of(item, response, trial), judge, marks_or_fault, text=text)
            continue
        criterion = item.tags["task"]
        key = digest(["rating", item.id, contestant, BALLOT.spec, criterion])
        marks, fault = (None, marks_or_fault) if isinstance(marks_or_fault, str) else (marks_or_fault, None)
        yield Verdict(key, judge, item.id, (contestant,), BALLOT.spec, criterion, trial, marks, fault, text)


def files_by_model(folder: Path, kind: str) -> dict[str, Path]:
    """Return the files of responses or ratings by model name: `responses/NAME.jsonl`."""
    names_by_path = {path: path.name.partition(".jsonl")[0] for path in sorted((folder / kind).glob("*.jsonl*"))}
    if kind == "responses" and (demo := find_file(folder, "demo_response")):
        names_by_path[demo] = "demo"
    return {name: path for path, name in names_by_path.items()}


def oddities_table(questions: Sequence[Question], folder: Path) -> Table:
    """List oddities of the released questions and their treatment."""
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
        "questions whose task is misspelt: taken as meant": count(lambda question: question.task_spelling in MISSPELT),
    }
    rows: list[list[Cell]] = [[times, description] for description, times in counts.items() if times]
    return Table(
        "oddities",
        Note("align-mm.release.title.what-was-odd-in-the"),
        table_columns("rows", "what, and what was done"),
        rows,
    )
