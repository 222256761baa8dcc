"""The released files as they are: instances with one image or several, predictions, pairs asked about, Elo tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields

# The 70 instruction families: 45 gathered anew, 25 taken from existing data sets, ten of these with several images.

EXISTING_SINGLE = (
    "aokvqa", "aokvqg", "clevr", "gd_vcr", "gqa", "harmful_memes", "kilogram", "newyork", "okvqa", "scienceqa",
    "textcaps", "vcr", "vizwiz", "vqa", "whoops",
)  # fmt: skip
EXISTING_MULTI = (
    "imagecode", "irfl_idiom", "irfl_metaphor", "nlvr2", "pickapick", "rcc", "spot_the_diff", "vasr", "winogavil",
    "winoground",
)  # fmt: skip
FAMILIES = 70


def origin(family: str) -> str:
    """Whether a family was taken from an existing data set or gathered anew.

    >>> origin("gqa"), origin("Board Games")
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
"""How the two files are called in this and that release."""
EXAMPLES = "visit_fully_annotated_example"
"""A file of the authors that shows their annotation on a few rows; they are no part of the benchmark."""
APPROVED = "output_human_annotated"
"""The column of that file with the reference that a person approved, in place of flags."""
FLAGS = ("human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4")
_CAPTIONS = ("images_dense_captions", "image_dense_captions", "instruction_conditioned_caption", "image_dense_caption")
_TRUE, _FALSE = {"true", "1", "1.0"}, {"false", "0", "0.0"}


@dataclass(frozen=True, slots=True)
class Instance:
    """One row: an instruction about one image or several, its captions, a reference and what people said of it."""

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
    """Where the row comes from, if not from the file of its kind."""

    @property
    def id(self) -> str:
        return f"{self.source or self.kind}-{self.row}"

    @property
    def verified(self) -> bool:
        """Whether people found the reference right and nothing wrong with the caption: only these are judged."""
        return self.correct and not self.caption_at_fault

    @property
    def label(self) -> Label:
        """What people said, in one word; the release leaves some rows with no fault named."""
        if self.caption_at_fault:
            return "caption at fault"
        if self.reference_at_fault:
            return "reference at fault"
        return "correct" if self.correct else "not correct"

    @property
    def origin(self) -> str:
        return origin(self.family)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model answered to a single-image row; None where the release has no text."""

    row: int
    model: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of the paper's Elo tables."""

    table: str
    model: str
    elo: float
    matches: int
    win: float | None
    win_n: int


@dataclass(frozen=True)
class Release:
    """All files of the release that are there."""

    instances: tuple[Instance, ...]
    predictions: tuple[Prediction, ...]
    pairs: tuple[tuple[int, str, str], ...]
    standings: tuple[Standing, ...]

    @classmethod
    def read(cls, folder: Path) -> Release:
        """The release in a folder. Instances must be there; predictions, pairs and Elo tables may be."""
        return cls(
            tuple(read_instances(folder)),
            tuple(_predictions(folder)),
            tuple(_pairs(folder)),
            tuple(_standings(folder)),
        )

    def of(self, kind: Kind | None = None) -> Sequence[Instance]:
        """All instances, or those with one image, or with several."""
        return [instance for instance in self.instances if kind is None or instance.kind == kind]

    @property
    def absent(self) -> list[Kind]:
        """The kinds of which no instance is here: each of the authors' repositories holds one."""
        return [kind for kind in KINDS if not self.of(kind)]


def read_instances(folder: Path) -> Iterator[Instance]:
    """The instances of both files, whichever of their released names and forms they have.

    The authors' annotated examples are read where their file is given itself, or where nothing else is in the folder.
    """
    if is_examples(folder):
        yield from _examples(folder)
        return
    if not folder.is_dir():
        raise InputError("there is no such folder; give the one that holds single_image.jsonl.gz", path=folder)
    files = 0
    for kind in KINDS:
        path = _place(folder, *NAMES[kind])
        if path is not None:
            files += 1
            for number, (line, row) in enumerate(read_rows(path)):
                yield _instance(Fields(path, line, row, {}), kind, number)
    if not files and (examples := _place(folder, EXAMPLES)) is not None:
        files += 1
        yield from _examples(examples)
    if not files:
        known = ", ".join(name for names in NAMES.values() for name in names)
        raise InputError(f"no instances are here; looked for {known} ({', '.join(SUFFIXES)})", path=folder)


def is_examples(path: Path) -> bool:
    """Whether a file holds the authors' annotated examples, whatever it is called."""
    if not path.is_file() or not path.name.endswith((".csv", ".csv.gz")):
        return False
    return APPROVED in next((row for _, row in read_rows(path)), {})


def left_out_examples(folder: Path) -> int:
    """How many annotated examples lie beside instances of the benchmark, and are not among them."""
    examples = _place(folder, EXAMPLES)
    beside = any(_place(folder, *NAMES[kind]) is not None for kind in KINDS)
    return sum(1 for _ in read_rows(examples)) if examples is not None and beside else 0


def _examples(path: Path) -> Iterator[Instance]:
    for number, (line, row) in enumerate(read_rows(path)):
        fields = Fields(path, line, row, {})
        yield Instance(
            "single", number, fields.name("instruction_category"), fields.name("instruction"),
            _texts(fields, "image_url"), _texts(fields, "image_dense_caption"), fields.name(APPROVED), True, False,
            False, "example",
        )  # fmt: skip


def _place(folder: Path, *names: str) -> Path | None:
    places = (folder / f"{name}{suffix}" for name in names for suffix in SUFFIXES)
    return next((place for place in places if place.exists()), None)


def _instance(fields: Fields, kind: Kind, number: int) -> Instance:
    images = _texts(fields, "images" if kind == "multi" else "image") or _texts(fields, "image_url")
    if kind == "multi" and len(images) < 2:
        raise fields.error(f"an instance with several images has two at least; found {len(images)}")
    captions = next((_texts(fields, name) for name in _CAPTIONS if fields.has(name)), ())
    correct, caption, reference = (_flag(fields, name) for name in FLAGS)
    return Instance(
        kind, fields.integer("row", number), fields.name("instruction_category"), fields.text("instruction"), images,
        captions, fields.text(_reference(fields)), correct, caption, reference,
    )  # fmt: skip


def _reference(fields: Fields) -> str:
    """The column of the verified reference; where it is missing, as in the hub's layout, the one that stands for it."""
    return "gpt4_prediction" if fields.has("gpt4_prediction") else "reference_output"


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    """A text, a list, or a list written as JSON; the release pads lists with NaN, which is nothing."""
    value = fields.json(name)
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(text for text in listed if isinstance(text, str) and text.strip())


def _flag(fields: Fields, name: str) -> bool:
    if not fields.has(name):
        raise fields.error(f"the field {name!r} is missing: without people's labels no item is verified")
    value = str(fields.get(name)).strip().lower()
    if value not in _TRUE | _FALSE:
        raise fields.error(f"{name!r} must be true or false; found {value!r}")
    return value in _TRUE


def _fields(folder: Path, name: str) -> Iterator[Fields]:
    path = _place(folder, name)
    if path is not None:
        for line, row in read_rows(path):
            yield Fields(path, line, row, {})


def _predictions(folder: Path) -> Iterator[Prediction]:
    for fields in _fields(folder, "predictions"):
        yield Prediction(_row(fields), fields.name("model"), fields.text("prediction"))


def _pairs(folder: Path) -> Iterator[tuple[int, str, str]]:
    for fields in _fields(folder, "pair_queries"):
        first, second = fields.name("A_model"), fields.name("B_model")
        if first == second:
            raise fields.error(f"{first!r} meets itself; a pair needs two models")
        yield _row(fields), first, second


def _row(fields: Fields) -> int:
    fields.name("row")
    return fields.integer("row", 0)


def _standings(folder: Path) -> Iterator[Standing]:
    for fields in _fields(folder, "published_elo"):
        win = fields.number("win_vs_reference_pct", 0.0) if fields.text("win_vs_reference_pct") else None
        yield Standing(
            fields.name("table"), fields.name("model"), fields.number("elo", 0.0), fields.integer("matches", 0), win,
            fields.integer("win_n", 0),
        )  # fmt: skip
