"""Reader of VisIT-Bench's released files: instances with one or several images, predictions, pairs, Elo tables.

The 70 instruction families are 45 new ones and 25 from existing data sets, ten of these with several images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows

EXISTING_SINGLE = (
    "aokvqa", "aokvqg", "clevr", "gd_vcr", "gqa", "harmful_memes", "kilogram", "newyork", "okvqa", "scienceqa",
    "textcaps", "vcr", "vizwiz", "vqa", "whoops",
)  # fmt: skip
EXISTING_MULTI = (
    "imagecode", "irfl_idiom", "irfl_metaphor", "nlvr2", "pickapick", "rcc", "spot_the_diff", "vasr", "winogavil",
    "winoground",
)  # fmt: skip


def family_origin(family: str) -> str:
    """Return "existing" for a family from an existing data set, "new" otherwise.

    >>> family_origin("gqa"), family_origin("Board Games")
    ('existing', 'new')
    """
    return "existing" if family in {*EXISTING_SINGLE, *EXISTING_MULTI} else "new"


Kind = Literal["single", "multi"]
Label = Literal["correct", "caption at fault", "reference at fault", "not correct"]
KINDS: tuple[Kind, ...] = ("single", "multi")
SUFFIXES = (".jsonl.gz", ".jsonl", ".csv.gz", ".csv", ".parquet")
NAMES: Mapping[Kind, tuple[str, ...]] = {
    "single": ("single_image", "single_image_full_dataset", "visit_bench_single_image"),
    "multi": ("multi_image", "visit_bench_multi_images"),
}
"""Names of the two files in the different releases."""
EXAMPLES = "visit_fully_annotated_example"
"""File with the authors' annotation of a few example rows; they are no part of the benchmark."""
APPROVED_COLUMN = "output_human_annotated"
"""Column of that file with the reference that a person approved; it has no flags."""
FLAGS = ("human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4")
_CAPTIONS = ("images_dense_captions", "image_dense_captions", "instruction_conditioned_caption", "image_dense_caption")
_TRUE, _FALSE = {"true", "1", "1.0"}, {"false", "0", "0.0"}


@dataclass(frozen=True, slots=True)
class Instance:
    """One row: an instruction about one or several images, captions, a reference and people's flags."""

    kind: Kind
    row: int
    family: str
    instruction: str | None
    images: tuple[str, ...]
    captions: tuple[str, ...]
    reference: str | None
    correct: bool
    caption_at_fault: bool
    reference_at_fault: bool
    source: str = ""
    """Origin of the row, if it is not the file of its kind."""

    @property
    def id(self) -> str:
        return f"{self.source or self.kind}-{self.row}"

    @property
    def is_verified(self) -> bool:
        """True if people found the reference right and the caption sound; only these instances are judged."""
        return self.correct and not self.caption_at_fault

    @property
    def label(self) -> Label:
        """People's label; some rows of the release are not correct but name no fault."""
        if self.caption_at_fault:
            return "caption at fault"
        if self.reference_at_fault:
            return "reference at fault"
        return "correct" if self.correct else "not correct"

    @property
    def origin(self) -> str:
        return family_origin(self.family)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A model's answer to a single-image row; None if the release has no text."""

    row: int
    model: str
    text: str | None


@dataclass(frozen=True, slots=True)
class EloRow:
    """A row of the paper's Elo tables."""

    table: str
    model: str
    elo: float
    matches: int
    win: float | None
    win_n: int


@dataclass(frozen=True)
class Release:
    """Contents of all files of the release that are present."""

    instances: tuple[Instance, ...]
    predictions: tuple[Prediction, ...]
    pairs: tuple[tuple[int, str, str], ...]
    elo_rows: tuple[EloRow, ...]

    @classmethod
    def read(cls, folder: Path) -> Release:
        """Read the release from a folder. Instances are required; predictions, pairs and Elo tables are optional."""
        return cls(
            tuple(read_instances(folder)),
            tuple(_read_predictions(folder)),
            tuple(_read_pairs(folder)),
            tuple(_read_elo_rows(folder)),
        )

    def instances_of_kind(self, kind: Kind | None = None) -> Sequence[Instance]:
        """Return all instances, or those with one image or with several."""
        return [instance for instance in self.instances if kind is None or instance.kind == kind]

    @property
    def absent_kinds(self) -> list[Kind]:
        """Kinds without instances; each of the authors' repositories holds only one kind."""
        return [kind for kind in KINDS if not self.instances_of_kind(kind)]


def read_instances(folder: Path) -> Iterator[Instance]:
    """Read the instances of both files under any of their released names and formats.

    The authors' annotated examples are read only if their file is given, or if the folder holds nothing else.
    """
    if is_examples(folder):
        yield from _read_examples(folder)
        return
    if not folder.is_dir():
        raise InputError("there is no such folder; give the one with single_image.jsonl.gz", path=folder)
    files = 0
    for kind in KINDS:
        path = _find_file(folder, *NAMES[kind])
        if path is not None:
            files += 1
            for number, (line, row) in enumerate(read_rows(path)):
                yield _parse_instance(Fields(path, line, row, {}), kind, number)
    if not files and (examples := _find_file(folder, EXAMPLES)) is not None:
        files += 1
        yield from _read_examples(examples)
    if not files:
        known_names = ", ".join(name for names in NAMES.values() for name in names)
        raise InputError(
            f"the folder contains no instances; expected {known_names} ({', '.join(SUFFIXES)})", path=folder
        )


def is_examples(path: Path) -> bool:
    """Return True if a file holds the authors' annotated examples, whatever its name."""
    if not path.is_file() or not path.name.endswith((".csv", ".csv.gz")):
        return False
    return APPROVED_COLUMN in next((row for _, row in read_rows(path)), {})


def count_left_out_examples(folder: Path) -> int:
    """Count annotated examples next to instances of the benchmark; they are not part of it."""
    examples = _find_file(folder, EXAMPLES)
    has_instances = any(_find_file(folder, *NAMES[kind]) is not None for kind in KINDS)
    return sum(1 for _ in read_rows(examples)) if examples is not None and has_instances else 0


def _read_examples(path: Path) -> Iterator[Instance]:
    for number, (line, row) in enumerate(read_rows(path)):
        fields = Fields(path, line, row, {})
        yield Instance(
            "single",
            number,
            fields.name("instruction_category"),
            fields.name("instruction"),
            _text_list(fields, "image_url"),
            _text_list(fields, "image_dense_caption"),
            fields.name(APPROVED_COLUMN),
            True,
            False,
            False,
            "example",
        )


def _find_file(folder: Path, *names: str) -> Path | None:
    candidate_paths = (folder / f"{name}{suffix}" for name in names for suffix in SUFFIXES)
    return next((path for path in candidate_paths if path.exists()), None)


def _parse_instance(fields: Fields, kind: Kind, number: int) -> Instance:
    images = _text_list(fields, "images" if kind == "multi" else "image") or _text_list(fields, "image_url")
    if kind == "multi" and len(images) < 2:
        raise fields.error(f"an instance with several images has two at least; found {len(images)}")
    captions = next((_text_list(fields, name) for name in _CAPTIONS if fields.has(name)), ())
    correct, caption, reference = (_parse_flag(fields, name) for name in FLAGS)
    return Instance(
        kind, fields.integer("row", number), fields.name("instruction_category"), fields.text("instruction"), images,
        captions, fields.text(_reference_column(fields)), correct, caption, reference,
    )  # fmt: skip


def _reference_column(fields: Fields) -> str:
    return "gpt4_prediction" if fields.has("gpt4_prediction") else "reference_output"


def _text_list(fields: Fields, name: str) -> tuple[str, ...]:
    """Read a text, a list, or a list written as JSON; the release pads lists with NaN, which is dropped."""
    value = fields.json(name)
    entries = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(text for text in entries if isinstance(text, str) and text.strip())


def _parse_flag(fields: Fields, name: str) -> bool:
    if not fields.has(name):
        raise fields.error(f"the field {name!r} is missing: without people's labels no item is verified")
    value = str(fields.get(name)).strip().lower()
    if value not in _TRUE | _FALSE:
        raise fields.error(f"{name!r} must be true or false; found {value!r}")
    return value in _TRUE


def _read_fields(folder: Path, name: str) -> Iterator[Fields]:
    path = _find_file(folder, name)
    if path is not None:
        for line, row in read_rows(path):
            yield Fields(path, line, row, {})


def _read_predictions(folder: Path) -> Iterator[Prediction]:
    for fields in _read_fields(folder, "predictions"):
        yield Prediction(_row_number(fields), fields.name("model"), fields.text("prediction"))


def _read_pairs(folder: Path) -> Iterator[tuple[int, str, str]]:
    for fields in _read_fields(folder, "pair_queries"):
        first, second = fields.name("A_model"), fields.name("B_model")
        if first == second:
            raise fields.error(f"{first!r} meets itself; a pair needs two models")
        yield _row_number(fields), first, second


def _row_number(fields: Fields) -> int:
    fields.name("row")
    return fields.integer("row", 0)


def _read_elo_rows(folder: Path) -> Iterator[EloRow]:
    for fields in _read_fields(folder, "published_elo"):
        win = fields.number("win_vs_reference_pct", 0.0) if fields.text("win_vs_reference_pct") else None
        yield EloRow(
            fields.name("table"), fields.name("model"), fields.number("elo", 0.0), fields.integer("matches", 0), win,
            fields.integer("win_n", 0),
        )  # fmt: skip
