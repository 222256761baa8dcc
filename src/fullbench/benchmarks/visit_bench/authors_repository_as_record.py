"""Clone of the authors' repositories, or a download from the hub, as one record: answers, votes, matches.

Answers are in `full_model_predictions/`, one file per model. People's votes are in
`visit_bench_human_preferences.csv`, one row per vote. The judge's matches are in `battle_info*.json` or
`gpt-4_head2head.json`, one row per pair judged in both orders. Rows are joined with the instances by image and
instruction. If these are not in the same folder (the votes were released apart from the single-image instances), the
row itself provides the instruction.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.benchmarks.visit_bench.items_and_responses_from_release import (
    REFERENCE,
    answer_column,
    item_of,
    reference_responses,
    released_predictions,
)
from fullbench.benchmarks.visit_bench.release_files import Instance, Release, count_left_out_examples, read_instances
from fullbench.core.ballot import Choice
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.bounded_archives import BoundedArchive
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows

PREDICTIONS = "full_model_predictions"
VOTE_FILES = ("visit_bench_human_preferences.csv", "visit_bench_human_preferences.csv.gz")
MATCH_FILES = ("battle_info*.json", "battle_info*.json.gz", "battle_info*.json.zip", "*_head2head.json")
_REFERENCES = frozenset({"human_verified_reference", "gpt4_prediction", REFERENCE})
"""Names of the verified reference in the authors' files."""
_YES, _NO = {"true", "1", "1.0"}, {"false", "0", "0.0", ""}
_TIES = frozenset({"tie", "ties", "none", "unknown", ""})
QuestionKey = tuple[str, str]


def is_release_folder(folder: Path) -> bool:
    """Return True if a folder holds answers, votes or matches of the release."""
    if not folder.is_dir():
        return False
    files = [folder / name for name in (*VOTE_FILES, PREDICTIONS)]
    return any(file.exists() for file in files) or any(any(folder.glob(name)) for name in MATCH_FILES)


def assemble_release(folder: Path) -> tuple[Record, Table]:
    """Read a folder of the release: its record, and a table of oddities."""
    return _Assembly(folder).assemble()


def _question_key(image: str, instruction: str) -> QuestionKey:
    """The image's file name and the instruction: the same picture has several addresses."""
    return Path(urlsplit(image).path).name, " ".join(instruction.split())


@dataclass
class _Assembly:
    folder: Path
    items: dict[str, Item] = field(default_factory=dict)
    responses: dict[tuple[str, str], Response] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    oddity_counts: Counter[str] = field(default_factory=Counter)
    instances: dict[QuestionKey, Instance] = field(default_factory=dict)
    vote_counts: Counter[str] = field(default_factory=Counter)

    def assemble(self) -> tuple[Record, Table]:
        try:
            released_instances = list(read_instances(self.folder))
        except InputError:
            # Votes and matches were also released without instances; `_item_from_row` builds those items.
            if not is_release_folder(self.folder):
                raise
            released_instances = []
        for row in released_instances:
            if len(row.images) == 1 and row.instruction:
                self.instances.setdefault(_question_key(row.images[0], row.instruction), row)
            if row.is_verified and row.instruction:
                self.items[row.id] = item_of(row, self.folder)
        for answer in reference_responses(list(self.items.values())):
            self.responses[answer.item, answer.contestant] = answer
        if released_instances:
            self._add_condensed_answers()
        example_count = count_left_out_examples(self.folder)
        self._count(
            "annotated examples, no part of the benchmark: left out (--data with their file reads them)", example_count
        )
        self._add_predictions()
        self._add_votes()
        self._add_matches()
        return Record(tuple(self.verdicts), self.items, self.responses), self._table()

    def _add_condensed_answers(self) -> None:
        if Release.read(self.folder).predictions:
            submission = released_predictions(self.folder)
            self._count("answers to instances that are not judged: left out", submission.left_out)
            for answer in submission.responses:
                self.responses.setdefault((answer.item, answer.contestant), answer)

    def _add_predictions(self) -> None:
        for path in sorted((self.folder / PREDICTIONS).glob("*.csv*")):
            for line, row in read_rows(path):
                fields = Fields(path, line, row, {})
                image = fields.text("image") or fields.text("image_url") or ""
                instance = self.instances.get(_question_key(image, fields.text("instruction") or ""))
                if instance is None:
                    self._count("answers whose image and instruction match no instance: left out")
                elif instance.id not in self.items:
                    self._count("answers to instances that are not judged: left out")
                else:
                    column = answer_column(fields, row)
                    name = fields.text("model_name") or column
                    if (instance.id, name) in self.responses:
                        self._count("answers to an instance that the model answered before: the first is used")
                    else:
                        text = fields.text(column) or ""
                        self.responses[instance.id, name] = Response.say(instance.id, name, text)

    def _add_votes(self) -> None:
        path = next((self.folder / name for name in VOTE_FILES if (self.folder / name).exists()), None)
        if path is None:
            return
        for line, row in read_rows(path):
            fields = Fields(path, line, row, {})
            first, second = (_parse_flag(fields, f"model_selection.{side}") for side in "AB")
            case = self._case(fields)
            if case is None:
                continue
            if first == second:
                self._count("votes that choose both or neither: a vote for a tie")
            # Votes on the same pair are by different people; the release does not identify them.
            pair = digest([case.item.id, sorted(response.key for response in case.responses)])
            self.vote_counts[pair] += 1
            marks = (0.5, 0.5) if first == second else (float(first), float(second))
            self.verdicts.append(Verdict.from_case(case, PEOPLE, marks, rater=f"voter {self.vote_counts[pair]}"))

    def _add_matches(self) -> None:
        for path, line, row in self._match_rows():
            fields = Fields(path, line, row, {})
            judge = fields.text("engine") or path.name.partition("_")[0]
            judge += "+reference" if str(row.get("evaluated_with_reference")).lower() == "true" else ""
            winners = fields.json("auto_evaluation_result")
            words = fields.json("auto_evaluation_cot")
            if not isinstance(winners, list) or len(winners) != 2:
                raise fields.error(f"'auto_evaluation_result' names two winners, one for each order; found {winners!r}")
            case = self._case(fields)
            if case is None:
                continue
            for turn, winner in enumerate(winners):
                ordered_case = case if turn == 0 else Case(case.item, case.responses[::-1], case.ballot)
                text = str(words[turn]) if isinstance(words, list) and turn < len(words) else ""
                marks = self._marks(fields, ordered_case, winner)
                self.verdicts.append(Verdict.from_case(ordered_case, judge, marks or "unreadable", text=text))

    def _match_rows(self) -> Iterator[tuple[Path, int, Mapping[str, Any]]]:
        for path in sorted({path for name in MATCH_FILES for path in self.folder.glob(name)}):
            if path.suffix != ".zip":
                yield from ((path, line, row) for line, row in read_rows(path))
                continue
            with BoundedArchive(path) as archive:
                for name in (member.filename for member in archive.members):
                    if name.endswith(".json"):
                        rows = json.loads(archive.read_member(name))
                        yield from ((path, line, row) for line, row in enumerate(rows, 1))

    def _marks(self, fields: Fields, case: Case, winner: Any) -> tuple[float, float] | None:
        winner_name = str(winner or "").strip()
        if winner_name.lower() in _TIES:
            self._count("orders in which the judge named no winner: unreadable")
            return None
        letters = {side: fields.name(f"{side}_model") for side in "AB"}
        name = _contestant_name(letters.get(winner_name, winner_name))
        if name not in case.contestants:
            raise fields.error(f"the winner {winner_name!r} is neither of the two: {', '.join(case.contestants)}")
        first, second = (float(contestant == name) for contestant in case.contestants)
        return first, second

    def _case(self, fields: Fields) -> Case | None:
        image, instruction = fields.name("image_url"), fields.name("instruction")
        instance = self.instances.get(_question_key(image, instruction))
        if instance is not None and instance.id not in self.items:
            self._count("votes and battles on instances that are not judged: left out")
            return None
        item = self.items[instance.id] if instance is not None else self._item_from_row(fields, image, instruction)
        sides = [self._answer(fields, item, side) for side in "AB"]
        if sides[0].contestant == sides[1].contestant:
            self._count("votes and battles of a model with itself: left out")
            return None
        return Case(item, tuple(sides), Choice(tie=False))

    def _item_from_row(self, fields: Fields, image: str, instruction: str) -> Item:
        name = f"asked-{digest(list(_question_key(image, instruction)))[:10]}"
        if name not in self.items:
            self._count("instructions that are in no file of instances here: taken from votes and battles")
            family = fields.text("instruction_category")
            tags = {"images": "single", WITHOUT_PICTURES: image, **({"family": family} if family else {})}
            self.items[name] = Item.ask(name, instruction, tags=tags)
        return self.items[name]

    def _answer(self, fields: Fields, item: Item, side: str) -> Response:
        name, text = _contestant_name(fields.name(f"{side}_model")), fields.text(side) or ""
        response = self.responses.setdefault((item.id, name), Response.say(item.id, name, text))
        if response.text.split() != text.split():
            self._count("answers in other words than an earlier file has: joined by the model's name")
        return response

    def _count(self, description: str, times: int = 1) -> None:
        if times:
            self.oddity_counts[description] += times

    def _table(self) -> Table:
        rows: list[list[Cell]] = [[times, description] for description, times in sorted(self.oddity_counts.items())]
        title = Note("visit-bench.reproduction.title.what-was-odd-in-the")
        return Table("oddities", title, table_columns("rows", "what, and what was done"), rows)


def _contestant_name(model: str) -> str:
    return REFERENCE if model in _REFERENCES else model


def _parse_flag(fields: Fields, name: str) -> bool:
    value = str(fields.get(name) if fields.get(name) is not None else "").strip().lower()
    if value not in _YES | _NO:
        raise fields.error(f"{name!r} must be true or false; found {value!r}")
    return value in _YES
