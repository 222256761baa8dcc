"""A clone of the authors' repositories, or a download from the hub, as one record: answers, people's votes, battles.

Answers lie in `full_model_predictions/`, a file a model; people's votes in `visit_bench_human_preferences.csv`, one row
a vote; the judge's battles in `battle_info*.json` or `gpt-4_head2head.json`, one row a pair that was asked about in
both orders. Rows are joined with the instances by image and instruction. Where these are not in the same folder (the
votes were released apart from the single-image instances), the row itself says what was asked.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fullbench.benchmarks.visit_bench.items_from_release import (
    REFERENCE,
    answer_column,
    item_of,
    references,
    released_predictions,
)
from fullbench.benchmarks.visit_bench.release_files import Instance, Release, left_out_examples, read_instances
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.digests import digest
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields

PREDICTIONS = "full_model_predictions"
VOTES = ("visit_bench_human_preferences.csv", "visit_bench_human_preferences.csv.gz")
BATTLES = ("battle_info*.json", "battle_info*.json.gz", "battle_info*.json.zip", "*_head2head.json")
_REFERENCES = frozenset({"human_verified_reference", "gpt4_prediction", REFERENCE})
"""What the authors' files call the verified reference."""
_YES, _NO = {"true", "1", "1.0"}, {"false", "0", "0.0", ""}
_TIES = frozenset({"tie", "ties", "none", "unknown", ""})
Asked = tuple[str, str]


def is_here(folder: Path) -> bool:
    """Whether a folder holds answers, votes or battles of the release."""
    if not folder.is_dir():
        return False
    files = [folder / name for name in (*VOTES, PREDICTIONS)]
    return any(file.exists() for file in files) or any(any(folder.glob(name)) for name in BATTLES)


def bring(folder: Path) -> tuple[Record, Table]:
    """Everything that a folder of the release holds, and what was odd in it."""
    return _Assembly(folder).brought()


def _asked(image: str, instruction: str) -> Asked:
    """What a row asks about: the file's name, for the same picture lies under several addresses."""
    return Path(urlsplit(image).path).name, " ".join(instruction.split())


@dataclass
class _Assembly:
    """The record while it is being put together."""

    folder: Path
    items: dict[str, Item] = field(default_factory=dict)
    responses: dict[tuple[str, str], Response] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)
    instances: dict[Asked, Instance] = field(default_factory=dict)
    voted: Counter[str] = field(default_factory=Counter)

    def brought(self) -> tuple[Record, Table]:
        try:
            known = list(read_instances(self.folder))
        except InputError:
            if not is_here(self.folder):
                raise
            known = []
        for row in known:
            if len(row.images) == 1 and row.instruction:
                self.instances.setdefault(_asked(row.images[0], row.instruction), row)
            if row.verified and row.instruction:
                self.items[row.id] = item_of(row, self.folder)
        for answer in references(list(self.items.values())):
            self.responses[answer.item, answer.contestant] = answer
        if known:
            self._condensed()
        left = left_out_examples(self.folder)
        self._count("annotated examples, no part of the benchmark: left out (--data with their file reads them)", left)
        self._predictions()
        self._votes()
        self._battles()
        return Record(tuple(self.verdicts), self.items, self.responses), self._table()

    def _condensed(self) -> None:
        """The answers of the condensed form, where it is that."""
        if Release.read(self.folder).predictions:
            submitted = released_predictions(self.folder)
            self._count("answers to instances that are not judged: left out", submitted.left_out)
            for answer in submitted.responses:
                self.responses.setdefault((answer.item, answer.contestant), answer)

    def _predictions(self) -> None:
        for path in sorted((self.folder / PREDICTIONS).glob("*.csv*")):
            for line, row in read_rows(path):
                fields = Fields(path, line, row, {})
                image = fields.text("image") or fields.text("image_url") or ""
                instance = self.instances.get(_asked(image, fields.text("instruction") or ""))
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

    def _votes(self) -> None:
        path = next((self.folder / name for name in VOTES if (self.folder / name).exists()), None)
        if path is None:
            return
        for line, row in read_rows(path):
            fields = Fields(path, line, row, {})
            first, second = (_flag(fields, f"model_selection.{side}") for side in "AB")
            case = self._case(fields)
            if case is None:
                continue
            if first == second:
                self._count("votes that choose both or neither: a vote for a tie")
            # Votes on the same pair are of different people; the release does not say of whom.
            pair = digest([case.item.id, sorted(response.key for response in case.responses)])
            self.voted[pair] += 1
            marks = (0.5, 0.5) if first == second else (float(first), float(second))
            self.verdicts.append(Verdict.of(case, PEOPLE, marks, rater=f"voter {self.voted[pair]}"))

    def _battles(self) -> None:
        for path, line, row in self._battle_rows():
            fields = Fields(path, line, row, {})
            judge = fields.text("engine") or path.name.partition("_")[0]
            judge += "+reference" if str(row.get("evaluated_with_reference")).lower() == "true" else ""
            won = fields.json("auto_evaluation_result")
            words = fields.json("auto_evaluation_cot")
            if not isinstance(won, list) or len(won) != 2:
                raise fields.error(f"'auto_evaluation_result' names two winners, one for each order; found {won!r}")
            case = self._case(fields)
            if case is None:
                continue
            for turn, winner in enumerate(won):
                shown = case if turn == 0 else Case(case.item, case.responses[::-1], case.ballot)
                text = str(words[turn]) if isinstance(words, list) and turn < len(words) else ""
                marks = self._marks(fields, shown, winner)
                self.verdicts.append(Verdict.of(shown, judge, marks or "unreadable", text=text))

    def _battle_rows(self) -> Iterator[tuple[Path, int, Mapping[str, Any]]]:
        for path in sorted({path for name in BATTLES for path in self.folder.glob(name)}):
            if path.suffix != ".zip":
                yield from ((path, line, row) for line, row in read_rows(path))
                continue
            with zipfile.ZipFile(path) as packed:
                for name in packed.namelist():
                    if name.endswith(".json"):
                        yield from ((path, line, row) for line, row in enumerate(json.loads(packed.read(name)), 1))

    def _marks(self, fields: Fields, case: Case, winner: Any) -> tuple[float, float] | None:
        """The marks of who is named as the winner: a model, or a letter of the row; None where nobody is."""
        said = str(winner or "").strip()
        if said.lower() in _TIES:
            self._count("orders in which the judge named no winner: unreadable")
            return None
        letters = {side: fields.name(f"{side}_model") for side in "AB"}
        name = _named(letters.get(said, said))
        if name not in case.contestants:
            raise fields.error(f"the winner {said!r} is neither of the two: {', '.join(case.contestants)}")
        first, second = (float(contestant == name) for contestant in case.contestants)
        return first, second

    def _case(self, fields: Fields) -> Case | None:
        """The pair of a row; None, and counted, where it is not judged."""
        image, instruction = fields.name("image_url"), fields.name("instruction")
        instance = self.instances.get(_asked(image, instruction))
        if instance is not None and instance.id not in self.items:
            self._count("votes and battles on instances that are not judged: left out")
            return None
        item = self.items[instance.id] if instance is not None else self._own(fields, image, instruction)
        sides = [self._answer(fields, item, side) for side in "AB"]
        if sides[0].contestant == sides[1].contestant:
            self._count("votes and battles of a model with itself: left out")
            return None
        return Case(item, tuple(sides), Choice(tie=False))

    def _own(self, fields: Fields, image: str, instruction: str) -> Item:
        """An item made of a row, where the instances are not in the folder."""
        name = f"asked-{digest(list(_asked(image, instruction)))[:10]}"
        if name not in self.items:
            self._count("instructions that are in no file of instances here: taken from votes and battles")
            family = fields.text("instruction_category")
            tags = {"images": "single", WITHOUT_PICTURES: image, **({"family": family} if family else {})}
            self.items[name] = Item.ask(name, instruction, tags=tags)
        return self.items[name]

    def _answer(self, fields: Fields, item: Item, side: str) -> Response:
        name, text = _named(fields.name(f"{side}_model")), fields.text(side) or ""
        known = self.responses.setdefault((item.id, name), Response.say(item.id, name, text))
        if known.text.split() != text.split():
            self._count("answers in other words than an earlier file has: joined by the model's name")
        return known

    def _count(self, what: str, times: int = 1) -> None:
        if times:
            self.odd[what] += times

    def _table(self) -> Table:
        rows: list[list[Cell]] = [[times, what] for what, times in sorted(self.odd.items())]
        title = Note("visit-bench.reproduction.title.what-was-odd-in-the", "What was odd in the released files")
        return Table("oddities", title, headings("rows", "what, and what was done"), rows)


def _named(model: str) -> str:
    return REFERENCE if model in _REFERENCES else model


def _flag(fields: Fields, name: str) -> bool:
    value = str(fields.get(name) if fields.get(name) is not None else "").strip().lower()
    if value not in _YES | _NO:
        raise fields.error(f"{name!r} must be true or false; found {value!r}")
    return value in _YES
