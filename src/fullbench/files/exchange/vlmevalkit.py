"""VLMEvalKit: a benchmark's table, the sheets of what models answered, and those of what judges made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.reproduction import Brought
from fullbench.core.verdict import Fault
from fullbench.errors import InputError
from fullbench.files.exchange.importer_base import Gathering, files_in, picture_of, pictures_among, stem_of, words_of
from fullbench.files.exchange.metric_scales import Measures, number_of
from fullbench.files.exchange.xlsx import sheet_rows

_MARKED = ("hit", "score", "match", "eval_score")
_UNANSWERED = "Failed to obtain answer"
"""What VLMEvalKit writes in place of an answer that no server gave."""
_UNREAD = "retries failed"
"""What it logs beside a score of 0 where nothing that the judge replied could be read."""
_NOTHING = {"", "nan", "null", "none", "n/a", "na", "<na>"}
"""What pandas reads as nothing: judged sheets have an answer of these words as none, or as `nan`."""
_FULL = 32_767
"""The most characters that a cell of .xlsx holds; VLMEvalKit cuts what is longer."""
_ABOUT = {"index", "id", "image", "image_path", "question", "answer", "prediction", "hint", "model", *ascii_uppercase}


def vlmevalkit(path: Path, options: Mapping[str, str]) -> Brought:
    """A benchmark's TSV (index, image, question, A, B, C, D, answer), or result sheets with a column `prediction`.

    A folder may hold several of both. A sheet is called MODEL_BENCHMARK.xlsx, or MODEL_BENCHMARK_JUDGE_result.xlsx; the
    model is the column or option `model`, the folder that the sheet lies in, or what stands before the benchmark.
    Columns `hit` and `score` (or those that the option `marks` names) become verdicts of the judge in the name (option
    `judge`), on the scale from 0 to 1 or on that of the option `scale`.
    """
    heads = {file: head for file in files_in(path, "*.tsv", "*.xlsx", "*.json") if (head := _columns(file, path))}
    benchmarks = {file: stem_of(file) for file, head in heads.items() if "prediction" not in head}
    titles = _titles([file for file in heads if file not in benchmarks], [*benchmarks.values()], options, heads)
    marked = tuple(options["marks"].split(",")) if "marks" in options else _MARKED
    absent = [column for column in marked if not any(column in head for head in heads.values())]
    if absent and "marks" in options:
        raise InputError(f"there is no column {absent[0]!r} in any sheet", path=path)
    titles |= {file: _Title("", name, "") for file, name in benchmarks.items()}
    asked = {titles[file].benchmark: head for file, head in heads.items() if titles[file].judge in {"", "vlmevalkit"}}
    held = Gathering(path)
    kit = _Kit(
        held, Measures(held, options), marked, asked, frozenset(benchmarks.values()),
        several=len({title.benchmark for title in titles.values()}) > 1,
    )  # fmt: skip
    for file in sorted(heads, key=lambda file: file not in benchmarks):
        for line, row in sheet_rows(file):
            kit.enter(row, line, file, titles[file])
    return kit.brought()


class _Title(NamedTuple):
    """What a sheet is of; a benchmark's table has no model and no judge, and a sheet with a column for it no model."""

    model: str
    benchmark: str
    judge: str


@dataclass(frozen=True)
class _Kit:
    """Tables and sheets as they are read, tables first."""

    held: Gathering
    measures: Measures
    marked: tuple[str, ...]
    asked: Mapping[str, set[str]]
    """The columns of each benchmark's questions, which are no marks."""
    tables: frozenset[str]
    several: bool
    pictures: dict[tuple[str, str], str] = field(default_factory=dict)
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    unanswered: set[tuple[str, str]] = field(default_factory=set)
    cut: set[tuple[str, str, int]] = field(default_factory=set)

    def enter(self, row: Mapping[str, Any], line: int, file: Path, title: _Title) -> None:
        """Enter a row: the item that it asks, and the answer and marks that it has."""
        item = self._item(row, words_of(row.get("index", row.get("id", line))), file, title.benchmark)
        if "prediction" not in row:
            return
        model = title.model or words_of(row.get("model"))
        answer = words_of(row["prediction"])
        if _UNANSWERED in answer:
            self.unanswered.add((item, model))
            return
        shown = (model, self.held.response(item, model, (self._answer(item, model, answer),)))
        if file.suffix == ".xlsx" and len(answer) == _FULL:
            self.cut.add((item, *shown))
        for column in self.marked:
            if row.get(column) is not None:
                self._mark(item, shown, title, column, row)
        for column in set(row) - _ABOUT - set(self.marked) - self.asked.get(title.benchmark, set()):
            if not isinstance(row[column], str) and number_of(row[column]) is not None:
                self.held.leave_out(
                    f"numbers in the column {column!r}, which is not among {', '.join(self.marked)}: --option "
                    f"marks={column} takes it"
                )

    def _item(self, row: Mapping[str, Any], index: str, file: Path, benchmark: str) -> str:
        place, image = (benchmark, index), row.get("image")
        if isinstance(image, str) and image:
            again = self.pictures.get((benchmark, image), image)  # one that occurs again is named by its index
            self.pictures[place] = again
        if place not in self.known:
            item = _asked(f"{benchmark}/{index}" if self.several else index, row, self.pictures.get(place), file)
            if not item.pictures and benchmark not in self.tables:
                self.held.leave_out("pictures that the sheets do not hold: put the benchmark's .tsv beside them")
                item = replace(item, tags={**item.tags, WITHOUT_PICTURES: f"{benchmark}.tsv, index {index}"})
            elif WITHOUT_PICTURES in item.tags:
                self.held.leave_out("items with pictures that the table names and that are not there")
            self.known[place] = self.held.item(item)
        return self.known[place]

    def _answer(self, item: str, model: str, answer: str) -> str:
        """What a model answered; where a judged sheet has nothing for it, what the sheet of its answers has."""
        before = self.held.responses.get((item, model, 0))
        if before is not None and answer.lower() in _NOTHING and before.text.lower() in _NOTHING:
            return before.text
        return "" if answer == "nan" else answer

    def _mark(self, item: str, shown: tuple[str, int], title: _Title, column: str, row: Mapping[str, Any]) -> None:
        mark, log = number_of(row[column]), words_of(row.get("log"))
        if mark is None:
            self.held.leave_out(f"marks in the column {column!r} that are no number")
            return
        unread = _UNREAD in log or mark == -1
        if unread:
            self.held.leave_out(
                "scores of 0 or -1 in place of replies that could not be read: taken as such, and as no marks"
            )
        ruling: float | Fault = "unreadable" if unread else mark
        self.measures.add(title.judge, item, shown, ruling, criterion=column, text=log, of=title.benchmark)

    def brought(self) -> Brought:
        """All of it, once the last row has been read."""
        if self.unanswered:
            self.held.leave_out("answers that VLMEvalKit could not obtain", len(self.unanswered))
        if self.cut:
            self.held.leave_out(
                f"answers of {_FULL:,} characters, all that a cell of .xlsx holds: their ends may be missing",
                len(self.cut),
            )
        self.measures.settle()
        return self.held.brought()


def _columns(file: Path, path: Path) -> set[str]:
    """The columns of a sheet; none of a .json in a folder that holds something else than what models answered."""
    try:
        head = set(next(iter(sheet_rows(file)))[1])
    except InputError:
        if file.suffix == ".json" and file != path:
            return set()
        raise
    return set() if file.suffix == ".json" and file != path and "prediction" not in head else head


def _titles(
    sheets: list[Path], benchmarks: list[str], options: Mapping[str, str], heads: Mapping[Path, set[str]]
) -> dict[Path, _Title]:
    """Model, benchmark and judge of every sheet, by its name and by the names around it; a column has the model's."""
    parts = {
        file: ("", stem_of(file)) if "model" in heads[file] else _model(file, benchmarks, options.get("model"))
        for file in sheets
    }
    known = sorted({*benchmarks, *(rest for _, rest in parts.values())}, key=len)
    titles = {}
    for file, (model, rest) in parts.items():
        whole = [name for name in known if f"{rest}_".startswith(f"{name}_")]
        benchmark = next((name for name in reversed(whole) if name in benchmarks), whole[0])
        judge = re.sub(r"_?(result|score)$", "", rest.removeprefix(benchmark).removeprefix("_"))
        titles[file] = _Title(model, benchmark, options.get("judge") or judge or "vlmevalkit")
    return titles


def _model(file: Path, benchmarks: list[str], named: str | None) -> tuple[str, str]:
    """The model of a sheet, and what of the sheet's name follows it."""
    stem = stem_of(file)
    around = [named, *(parent.name for parent in file.resolve().parents)]
    for model in filter(None, around):
        if stem.startswith(f"{model}_"):
            return model, stem.removeprefix(f"{model}_")
    for benchmark in sorted(benchmarks, key=len, reverse=True):
        model, found, rest = f"{stem}_".partition(f"_{benchmark}_")
        if found:
            return named or model, f"{benchmark}_{rest}".strip("_")
    if named is None and stem.count("_") != 1:
        raise InputError(
            f"which part of {stem!r} is the model's name? Put the sheet into a folder of that name, the benchmark's "
            ".tsv beside it, or say --option model=NAME",
            path=file,
        )
    model, _, rest = stem.partition("_")
    return named or model, stem if named else rest


def _asked(name: str, row: Mapping[str, Any], image: str | None, file: Path) -> Item:
    if "question" not in row:
        raise InputError(f"a row has no 'question'; found {', '.join(row)}; is it a file of this kind?", path=file)
    options = [f"{letter}. {row[letter]}" for letter in ascii_uppercase if row.get(letter) not in {None, ""}]
    hint = [f"Hint: {row['hint']}"] if isinstance(row.get("hint"), str) and row["hint"] else []
    words = "\n".join([*hint, words_of(row["question"]), *options])
    parts: list[Part] = [picture_of(f"data:;base64,{code}", file) for code in _coded(image)]
    tags = {name: str(row[name]) for name in ("category", "l2-category", "split") if row.get(name) is not None}
    if not image and isinstance(row.get("image_path"), str):
        found, missing = pictures_among(_quoted(row["image_path"]), file)
        parts.extend(found)
        tags |= {WITHOUT_PICTURES: "\n".join(missing)} if missing else {}
    answer = row.get("answer")
    return Item(name, (Turn("user", (*parts, words)),), None if answer is None else str(answer), tags=tags)


def _coded(image: str | None) -> list[str]:
    """The pictures of a cell, in base64: one, or several in brackets as Python writes a list."""
    if image is None or not image.startswith("["):
        return [image] if image else []
    return re.findall(r"[A-Za-z0-9+/=]{16,}", image)


def _quoted(names: str) -> list[str]:
    """The names in a cell: one, or several in brackets as Python writes a list."""
    return re.findall(r"['\"]([^'\"]+)['\"]", names) if names.startswith("[") else [names]
