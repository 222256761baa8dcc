"""Importer of VLMEvalKit: benchmark tables, sheets with models' answers, and sheets with judges' scores."""

from __future__ import annotations

import re
import warnings
import zipfile
from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.media import Media
from fullbench.core.verdict import Fault
from fullbench.errors import FullbenchError, InputError, require_extra
from fullbench.files.bounded_archives import TooMuchUnpacked, copy_archive
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import Measures, number_of
from fullbench.files.exchange.import_record_builder import RecordBuilder, files_in, stem_of, words_of
from fullbench.files.exchange.message_parts import media_among, picture_of
from fullbench.files.row_readers import read_rows

_MARK_COLUMNS = ("hit", "score", "match", "eval_score")
_NO_ANSWER = "Failed to obtain answer"
"""VLMEvalKit's text for an answer that no server returned."""
_UNREADABLE_NOTE = "retries failed"
"""Log entry next to a score of 0 if no reply of the judge could be parsed."""
_NOTHING = {"", "nan", "null", "none", "n/a", "na", "<na>"}
"""Texts that pandas reads as missing: judged sheets contain such an answer as empty or as `nan`."""
_FULL = 32_767
"""Maximum characters of a cell in .xlsx; VLMEvalKit truncates longer ones."""
_SUBJECT_COLUMNS = {
    "index",
    "id",
    "image",
    "image_path",
    "video",
    "video_path",
    "candidates",
    "question",
    "answer",
    "prediction",
    "hint",
    "model",
    *ascii_uppercase,
}


def is_vlmevalkit_file(head: FileHead) -> bool:
    """Return True for benchmark tables (.tsv) and sheets of predictions."""
    if head.suffix == ".xlsx":
        try:
            return "prediction" in next(iter(sheet_rows(head.path)))[1]
        except FullbenchError:  # broken, or without the package: the name is MODEL_BENCHMARK, and the import says why
            return "_" in head.path.stem
    return head.has("index") and (head.has("prediction") or (head.suffix == ".tsv" and head.has("question")))


@detected_by(is_vlmevalkit_file)
def import_vlmevalkit(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import a benchmark's TSV, or result sheets with a column `prediction`.

    The TSV has the columns index, image, question, A, B, C, D, answer. A folder may hold several of both. A sheet is
    called MODEL_BENCHMARK.xlsx, or MODEL_BENCHMARK_JUDGE_result.xlsx. The model is the column or option `model`, the
    sheet's folder, or the part of the name before the benchmark. Columns `hit` and `score` (or those in the option
    `marks`) become verdicts of the judge in the name (option `judge`), on the scale 0 to 1 or the option `scale`.
    """
    heads = {file: head for file in files_in(path, "*.tsv", "*.xlsx", "*.json") if (head := _read_columns(file, path))}
    benchmarks = {file: stem_of(file) for file, head in heads.items() if "prediction" not in head}
    titles = _sheet_titles([file for file in heads if file not in benchmarks], [*benchmarks.values()], options, heads)
    mark_columns = tuple(options["marks"].split(",")) if "marks" in options else _MARK_COLUMNS
    absent = [column for column in mark_columns if not any(column in head for head in heads.values())]
    if absent and "marks" in options:
        raise InputError(f"there is no column {absent[0]!r} in any sheet", path=path)
    titles |= {file: _Title("", name, "") for file, name in benchmarks.items()}
    question_columns = {
        titles[file].benchmark: head for file, head in heads.items() if titles[file].judge in {"", "vlmevalkit"}
    }
    builder = RecordBuilder(path)
    kit = _SheetImporter(
        builder, Measures(builder, options), mark_columns, question_columns, frozenset(benchmarks.values()),
        several=len({title.benchmark for title in titles.values()}) > 1,
    )  # fmt: skip
    for file in sorted(heads, key=lambda file: file not in benchmarks):
        for line, row in sheet_rows(file):
            kit.enter(row, line, file, titles[file])
    return kit.build()


class _Title(NamedTuple):
    """Model, benchmark and judge of a sheet.
    A benchmark's table has neither model nor judge. A sheet with a model column has no model here.
    """

    model: str
    benchmark: str
    judge: str


@dataclass(frozen=True)
class _SheetImporter:
    """Imports rows of tables and sheets; tables must come first."""

    builder: RecordBuilder
    measures: Measures
    mark_columns: tuple[str, ...]
    question_columns: Mapping[str, set[str]]
    """Columns of each benchmark's questions, which are not marks."""
    tables: frozenset[str]
    several: bool
    pictures: dict[tuple[str, str], str] = field(default_factory=dict)
    item_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    unanswered_keys: set[tuple[str, str]] = field(default_factory=set)
    cut_answers: set[tuple[str, str, int]] = field(default_factory=set)

    def enter(self, row: Mapping[str, Any], line: int, file: Path, title: _Title) -> None:
        item = self._item(row, words_of(row.get("index", row.get("id", line))), file, title.benchmark)
        if "prediction" not in row:
            return
        model = title.model or words_of(row.get("model"))
        answer = words_of(row["prediction"])
        if _NO_ANSWER in answer:
            self.unanswered_keys.add((item, model))
            return
        shown_response = (model, self.builder.add_response(item, model, (self._answer(item, model, answer),)))
        if file.suffix == ".xlsx" and len(answer) == _FULL:
            self.cut_answers.add((item, *shown_response))
        for column in self.mark_columns:
            if row.get(column) is not None:
                self._mark(item, shown_response, title, column, row)
        for column in (
            set(row) - _SUBJECT_COLUMNS - set(self.mark_columns) - self.question_columns.get(title.benchmark, set())
        ):
            if not isinstance(row[column], str) and number_of(row[column]) is not None:
                self.builder.leave_out(
                    f"numbers in the column {column!r}, which is not among {', '.join(self.mark_columns)}: --option "
                    f"marks={column} takes it"
                )

    def _item(self, row: Mapping[str, Any], index: str, file: Path, benchmark: str) -> str:
        place, image = (benchmark, index), row.get("image")
        if isinstance(image, str) and image:
            again = self.pictures.get((benchmark, image), image)  # a repeated picture is given by its index
            self.pictures[place] = again
        if place not in self.item_ids:
            item = _question_item(
                f"{benchmark}/{index}" if self.several else index, row, self.pictures.get(place), file
            )
            if _names_video(row) and not item.media:
                self.builder.leave_out("items with videos that are not next to the table, nor in a folder video there")
            elif not item.media and benchmark not in self.tables:
                self.builder.leave_out("pictures that the sheets do not hold: put the benchmark's .tsv next to them")
                item = replace(item, tags={**item.tags, WITHOUT_PICTURES: f"{benchmark}.tsv, index {index}"})
            elif WITHOUT_PICTURES in item.tags:
                self.builder.leave_out("items with pictures that the table names and that are not there")
            self.item_ids[place] = self.builder.add_item(item)
        return self.item_ids[place]

    def _answer(self, item: str, model: str, answer: str) -> str:
        before = self.builder.responses.get((item, model, 0))
        if before is not None and answer.lower() in _NOTHING and before.text.lower() in _NOTHING:
            return before.text
        return "" if answer == "nan" else answer

    def _mark(
        self, item: str, shown_response: tuple[str, int], title: _Title, column: str, row: Mapping[str, Any]
    ) -> None:
        mark, log = number_of(row[column]), words_of(row.get("log"))
        if mark is None:
            self.builder.leave_out(f"marks in the column {column!r} that are no number")
            return
        is_unreadable = _UNREADABLE_NOTE in log or mark == -1
        if is_unreadable:
            self.builder.leave_out(
                "scores of 0 or -1 in place of replies that could not be read: taken as such, and as no marks"
            )
        mark_or_fault: float | Fault = "unreadable" if is_unreadable else mark
        self.measures.add(
            title.judge, item, shown_response, mark_or_fault, criterion=column, text=log, task=title.benchmark
        )

    def build(self) -> LoadedData:
        if self.unanswered_keys:
            self.builder.leave_out("answers that VLMEvalKit could not obtain", len(self.unanswered_keys))
        if self.cut_answers:
            self.builder.leave_out(
                f"answers of {_FULL:,} characters, all that a cell of .xlsx holds: their ends may be missing",
                len(self.cut_answers),
            )
        self.measures.settle()
        return self.builder.build()


def _read_columns(file: Path, path: Path) -> set[str]:
    """Return the columns of a sheet; empty for a .json in a folder that contains no models' answers."""
    try:
        head = set(next(iter(sheet_rows(file)))[1])
    except InputError:
        if file.suffix == ".json" and file != path:
            return set()
        raise
    return set() if file.suffix == ".json" and file != path and "prediction" not in head else head


def _sheet_titles(
    sheets: list[Path], benchmarks: list[str], options: Mapping[str, str], heads: Mapping[Path, set[str]]
) -> dict[Path, _Title]:
    parts = {
        file: ("", stem_of(file)) if "model" in heads[file] else _split_model(file, benchmarks, options.get("model"))
        for file in sheets
    }
    benchmark_names = sorted({*benchmarks, *(name_end for _, name_end in parts.values())}, key=len)
    titles = {}
    for file, (model, name_end) in parts.items():
        matching_names = [name for name in benchmark_names if f"{name_end}_".startswith(f"{name}_")]
        benchmark = next((name for name in reversed(matching_names) if name in benchmarks), matching_names[0])
        judge = re.sub(r"_?(result|score)$", "", name_end.removeprefix(benchmark).removeprefix("_"))
        titles[file] = _Title(model, benchmark, options.get("judge") or judge or "vlmevalkit")
    return titles


def _split_model(file: Path, benchmarks: list[str], model_name: str | None) -> tuple[str, str]:
    stem = stem_of(file)
    around = [model_name, *(parent.name for parent in file.resolve().parents)]
    for model in filter(None, around):
        if stem.startswith(f"{model}_"):
            return model, stem.removeprefix(f"{model}_")
    for benchmark in sorted(benchmarks, key=len, reverse=True):
        model, separator, name_end = f"{stem}_".partition(f"_{benchmark}_")
        if separator:
            return model_name or model, f"{benchmark}_{name_end}".strip("_")
    if model_name is None and stem.count("_") != 1:
        raise InputError(
            f"which part of {stem!r} is the model's name? Put the sheet into a folder of that name, put the "
            "benchmark's .tsv next to it, or add --option model=NAME",
            path=file,
        )
    model, _, name_end = stem.partition("_")
    return model_name or model, stem if model_name else name_end


def _question_item(name: str, row: Mapping[str, Any], image: str | None, file: Path) -> Item:
    if "question" not in row:
        raise InputError(f"a row has no 'question'; found {', '.join(row)}; is it a file of this kind?", path=file)
    options = [f"{letter}. {row[letter]}" for letter in ascii_uppercase if row.get(letter) not in {None, ""}]
    options = options or _candidate_lines(row.get("candidates"))
    hint = [f"Hint: {row['hint']}"] if isinstance(row.get("hint"), str) and row["hint"] else []
    words = "\n".join([*hint, words_of(row["question"]), *options])
    parts: list[Part] = [picture_of(f"data:;base64,{code}", file) for code in _base64_pictures(image)]
    tags = {name: str(row[name]) for name in ("category", "l2-category", "split") if row.get(name) is not None}
    if not image and isinstance(row.get("image_path"), str):
        pictures, missing = media_among(_picture_names(row["image_path"]), file)
        parts.extend(pictures)
        tags |= {WITHOUT_PICTURES: "\n".join(missing)} if missing else {}
    if _names_video(row):
        videos, missing = _video_of(row, file)
        parts.extend(videos)
        tags |= {WITHOUT_PICTURES: "\n".join(missing)} if missing else {}
    answer = row.get("answer")
    return Item(name, (Turn("user", (*parts, words)),), None if answer is None else str(answer), tags=tags)


_VIDEO_COLUMNS = ("video_path", "video")
"""A path from the folder of the set, and the name of a video, mostly without a suffix."""


def _names_video(row: Mapping[str, Any]) -> bool:
    return any(words_of(row.get(name)) for name in _VIDEO_COLUMNS)


def _video_of(row: Mapping[str, Any], file: Path) -> tuple[list[Media], list[str]]:
    """Return the video of a row and the name of a missing one: a path, or a name here or in the folder `video`."""
    path, name = (words_of(row.get(column)) for column in _VIDEO_COLUMNS)
    beside = [name, f"{name}.mp4", f"video/{name}.mp4"] if name else []
    for place in filter(None, [path.removeprefix("./"), *beside]):
        videos, _ = media_among([place], file, "video")
        if videos:
            return videos, []
    return [], [path or name]


def _candidate_lines(cell: Any) -> list[str]:
    """Return the options of a video set, which stores them as a list in one cell."""
    try:
        options = literal_eval(cell) if isinstance(cell, str) and cell.startswith("[") else cell
    except (ValueError, SyntaxError):
        return [str(cell)]
    return [str(option) for option in options] if isinstance(options, list) else []


def _base64_pictures(image: str | None) -> list[str]:
    """Return the base64 pictures of a cell: one, or several in a Python list."""
    if image is None or not image.startswith("["):
        return [image] if image else []
    return re.findall(r"[A-Za-z0-9+/=]{16,}", image)


def _picture_names(names: str) -> list[str]:
    """Return the names in a cell: one, or several in a Python list."""
    return re.findall(r"['\"]([^'\"]+)['\"]", names) if names.startswith("[") else [names]


_LARGEST = 256 << 20
_MOST_TAGS = 10_000_000
"""Maximum bytes and XML tags of an unpacked sheet. Sheets of 100,000 answers have half as many."""
_MOST_ROWS = 1_048_576
_LIBRARY_ERRORS = (
    OSError, zipfile.BadZipFile, LookupError, ValueError, TypeError, AttributeError, ArithmeticError, SyntaxError,
)  # fmt: skip
"""Errors that openpyxl raises for broken files. Parsers' errors are SyntaxErrors."""


def sheet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a sheet, or of any other readable file, by the names in its first row."""
    if path.suffix.lower() != ".xlsx":
        yield from read_rows(path)
        return
    lines = _read_sheet(path)
    _, first = next(lines, (0, {}))
    header = {place: str(cell) for place, cell in first.items() if cell not in {None, ""}}
    count = 0
    for count, (line, cells) in enumerate(lines, 1):  # noqa: B007
        yield line, {name: cells.get(place) for place, name in header.items()}
    if not count:
        raise InputError("the sheet has no rows", path=path)


def _read_sheet(path: Path) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield the number and the filled cells of each row of the first sheet that has any."""
    with require_extra("reading .xlsx", "xlsx"):
        openpyxl = import_module("openpyxl")
    try:
        with copy_archive(path, _LARGEST, _MOST_TAGS) as copy:
            with warnings.catch_warnings():  # about styles
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(copy, read_only=True, data_only=True, keep_links=False)
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # the size that a sheet declares may be false
            for number, row in enumerate(sheet.iter_rows(), 1):
                if number > _MOST_ROWS:
                    raise InputError(
                        f"it has more than {_MOST_ROWS:,} rows, the most that a spreadsheet can have", path=path
                    )
                cells = {cell.column: _cell_value(cell) for cell in row if cell.value is not None}
                if cells:
                    yield number, cells
    except TooMuchUnpacked as error:
        raise InputError(f"{error}; or save the sheet as .tsv") from error
    except _LIBRARY_ERRORS as error:
        raise InputError(f"this is not a valid .xlsx file ({error})", path=path) from error


def _cell_value(cell: Any) -> Any:
    value = cell.value
    if cell.data_type == "e":
        return None
    if isinstance(value, str):
        # A sheet writes characters that XML cannot contain as _x000D_.
        return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float) else str(value)
