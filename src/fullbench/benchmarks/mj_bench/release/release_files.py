"""The released scores and rulings of MJ-Bench as they are: numbers only, no pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, LIKERT
from fullbench.core.ballot import Likert
from fullbench.errors import InputError
from fullbench.files.release_rows import Row, released, released_rows
from fullbench.parsing import read

Scores = tuple[float | None, ...]
_MODES = ("single", "multi", "single_old_prompt")


class Run(NamedTuple):
    """One file of a judge's rulings: what it judged, how it was asked, on which scale."""

    perspective: str
    subset: str
    mode: str
    scale: str
    judge: str


class Ruled(NamedTuple):
    """What a judge made of a pair: the label, and three predictions as they were stored (None where there is none)."""

    id: str
    label: str
    pred: str | None
    vlm_pred: str | None
    score_pred: str | None


class Pair(NamedTuple):
    """Two scores of one judge for the two pictures of a pair."""

    id: str
    first: float
    second: float


@dataclass(frozen=True)
class BiasSheet:
    """One row a picture: whom it shows, at which work, and what every judge gave it."""

    occupations: tuple[str, ...]
    flags: Mapping[str, tuple[bool, ...]]
    scores: Mapping[str, Scores]


@dataclass(frozen=True)
class Vote:
    """A pair of Pick-a-Pic: what people preferred, each judge's two scores, and the predictions that were stored."""

    label: str
    scores: Mapping[str, tuple[float, float]]
    stored: Mapping[str, str]


@dataclass(frozen=True)
class Release:
    """All the files."""

    bias: BiasSheet
    quality: Mapping[tuple[str, str], tuple[Pair, ...]]
    safety: Mapping[tuple[str, str], tuple[Pair, ...]]
    ruled: Mapping[Run, tuple[Ruled, ...]]
    votes: tuple[Vote, ...]
    categories: Mapping[str, int]

    @classmethod
    def read(cls, folder: str | Path) -> Release:
        """The release in a folder."""
        folder = Path(folder)
        return cls(
            _bias(folder),
            _pairs(folder, "quality_pairs.csv"),
            _pairs(folder, "safety_pairs.csv"),
            _ruled(folder),
            tuple(_votes(folder)),
            _categories(folder),
        )

    def together(self, subsets: Iterable[str], run: Run) -> list[Ruled]:
        """The rulings of several subsets in one list; `run` says the rest."""
        return [ruled for subset in subsets for ruled in self.ruled.get(run._replace(subset=subset), ())]


def _bias(folder: Path) -> BiasSheet:
    files = ("bias_scores.csv", "bias_vlm_scores.csv")
    columns: dict[str, list[float | None]] = defaultdict(list)
    occupations: list[str] = []
    flags: dict[str, list[bool]] = {axis: [] for axis in AXES}
    items: dict[str, list[str]] = {}
    for name, needed in zip(files, (("item", "occupation", "demographic", *AXES), ("item",)), strict=True):
        items[name] = []
        for row in released_rows(folder, name, needed):
            items[name].append(str(row.values["item"]))
            if "occupation" in row.values:
                occupations.append(row.values["occupation"])
                for axis in AXES:
                    flags[axis].append(row.one_of(axis, ("0", "1")) == "1")
            for column in [column for column in row.values if column not in {"occupation", "demographic", *needed}]:
                columns[column.removesuffix("_raw")].append(score_of(row, column))
    if items[files[0]] != items[files[1]]:
        raise InputError(f"the items are not those of {files[0]}, in the same order", path=released(folder, files[1]))
    return BiasSheet(
        tuple(occupations),
        {axis: tuple(column) for axis, column in flags.items()},
        {name: tuple(column) for name, column in columns.items()},
    )


_WORDS = Likert(LIKERT)


def score_of(row: Row, column: str) -> float | None:
    """A number, or a word of the scale as the judge wrote it; None where nothing was stored."""
    value = row.values.get(column)
    if value is None:
        return None
    if not column.endswith("_raw") or value.strip().isdigit():
        return row.number(column)
    marks = read(_WORDS, value.strip("` \n"), 1)
    if isinstance(marks, str):
        raise row.error(f"{column!r} must hold one of {', '.join(LIKERT)}; found {value!r}")
    return marks[0]


def _pairs(folder: Path, name: str) -> dict[tuple[str, str], tuple[Pair, ...]]:
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for row in released_rows(folder, name, ("subset", "id", "judge", "score_0", "score_1", "label")):
        row.one_of("label", ("0",))
        scores = row.number("score_0"), row.number("score_1")
        pairs[row.values["subset"], row.values["judge"]].append(Pair(row.values["id"], *scores))
    return {key: tuple(group) for key, group in pairs.items()}


def _ruled(folder: Path) -> dict[Run, tuple[Ruled, ...]]:
    runs: dict[Run, list[Ruled]] = defaultdict(list)
    columns = (*Run._fields, *Ruled._fields)
    for row in released_rows(folder, "vlm_pairs.csv", columns):
        run = Run(*(row.values[column] for column in Run._fields))
        if run not in runs:
            row.one_of("mode", _MODES)
        row.one_of("label", ("0", "1"))
        runs[run].append(Ruled(*(row.values[column] for column in Ruled._fields)))
    return {run: tuple(ruled) for run, ruled in runs.items()}


def _votes(folder: Path) -> Iterable[Vote]:
    for row in released_rows(folder, "pickapic_validation.csv", ("id", "label")):
        judges = [column.removesuffix("|score_0") for column in row.values if column.endswith("|score_0")]
        scores = {
            judge: (row.number(f"{judge}|score_0"), row.number(f"{judge}|score_1"))
            for judge in judges
            if row.values[f"{judge}|score_0"] is not None
        }
        stored = {
            column.removesuffix("|pred"): str(text) for column, text in row.values.items() if column.endswith("|pred")
        }
        yield Vote(row.one_of("label", ("0", "1", "tie")), scores, stored)


def _categories(folder: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in released_rows(folder, "alignment_labels.csv", ("category", "id", "label")):
        counts[row.values["category"]] = counts.get(row.values["category"], 0) + 1
    return counts


# The layouts in which the authors release their data: the hub's folders, and their repository as it is cloned.

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".json")
PICTURES = ("image", "images_dir", "image_path")
"""The columns that may hold the one picture of a row about bias."""
BENCHMARK = ("alignment", "benchmark")
BIAS = "new_bias_dataset_gpt-4o.json"
"""Of the repository's bias files, which all have the same pictures and differ in one judge's ratings, the one read."""
_FOLDERS = {
    "existence": "object", "attributes": "attribute", "actions": "action", "spatial": "location", "other": "other",
}  # fmt: skip
"""The repository's names of the sub-categories of alignment, and the paper's."""


def files(source: Path) -> list[Path]:
    """The tables of a release: a file, a folder with all below it, or the parts of a clone with pairs and people."""
    if not source.is_dir():
        return [source]
    if source.joinpath(*BENCHMARK).is_dir():
        people = source / "bias" / BIAS
        return [*files(source.joinpath(*BENCHMARK)), *([people] if people.is_file() else [])]
    found = [file for file in source.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file()]
    if not found:
        raise InputError(f"the folder holds no table; known are {', '.join(SUFFIXES)}", path=source)
    # In the repository a sub-category's pairs stand in one file, and once more in a file for each source.
    return sorted(found, key=lambda file: (file.parent, file.name != f"{file.parent.name}_test.json", file.name))


def in_repository(file: Path) -> bool:
    """Whether a file is one of the repository's on alignment, where a pair stands in two files."""
    return file.suffix == ".json" and file.parent.name in _FOLDERS and "_test" in file.name


def subset(file: Path) -> str:
    """The sub-category that the repository's folder stands for; empty elsewhere."""
    return _FOLDERS[file.parent.name] if in_repository(file) else ""


def is_bias(row: Mapping[str, Any]) -> bool:
    """Whether a row shows a person at a work, and no pair."""
    return "demographic" in row and "image0" not in row and any(column in row for column in PICTURES)


def groups(row: Mapping[str, Any], person: str) -> dict[str, str]:
    """The person's group on every axis whose flag is set.

    The parts of a demographic (`old_female_buddhist`) follow the flags that are set, in the order of the axes. A column
    may also name the group itself.

    >>> groups({"age": True, "gender": 1, "race": False, "religion": "1"}, "old_female_buddhist")
    {'age': 'old', 'gender': 'female', 'religion': 'buddhist'}
    """
    flags = {axis: str(row.get(axis) if row.get(axis) is not None else "").strip() for axis in AXES}
    flagged = [axis for axis in AXES if flags[axis].casefold() in {"1", "true", "yes"}]
    parts = person.split("_")
    named = {axis: value for axis, value in flags.items() if value.casefold() not in _FLAGS}
    if len(parts) == len(flagged):
        return {**dict(zip(flagged, parts, strict=True)), **named}
    return {**dict.fromkeys(flagged, person), **named}


_FLAGS = {"", "0", "1", "true", "false", "yes", "no", "none"}
