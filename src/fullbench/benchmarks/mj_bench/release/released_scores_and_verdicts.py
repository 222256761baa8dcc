"""Reader of MJ-Bench's released scores and verdicts (numbers, no pictures), and the layouts of its data files.

The data files come in the hub's folders, or in a clone of the authors' repository.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, LIKERT
from fullbench.core.ballot import Likert
from fullbench.errors import InputError
from fullbench.files.release_rows import Row, release_file, released_rows
from fullbench.parsing import read

Scores = tuple[float | None, ...]
_MODES = ("single", "multi", "single_old_prompt")


class Run(NamedTuple):
    """One file of a judge's verdicts: perspective, subset, mode, scale, judge."""

    perspective: str
    subset: str
    mode: str
    scale: str
    judge: str


class ReleasedVerdict(NamedTuple):
    """A judge's verdict on a pair: the label, and three predictions as stored (None if missing)."""

    id: str
    label: str
    pred: str | None
    vlm_pred: str | None
    score_pred: str | None


class Pair(NamedTuple):
    """One judge's scores of the two pictures of a pair."""

    id: str
    first: float
    second: float


@dataclass(frozen=True)
class BiasSheet:
    """One row per picture: occupation, demographic flags of the person, and each judge's score."""

    occupations: tuple[str, ...]
    flags: Mapping[str, tuple[bool, ...]]
    scores: Mapping[str, Scores]


@dataclass(frozen=True)
class Vote:
    """A pair of Pick-a-Pic: people's preference, each judge's two scores, and the stored predictions."""

    label: str
    scores: Mapping[str, tuple[float, float]]
    stored_predictions: Mapping[str, str]


@dataclass(frozen=True)
class Release:
    """Contents of all released files."""

    bias: BiasSheet
    quality: Mapping[tuple[str, str], tuple[Pair, ...]]
    safety: Mapping[tuple[str, str], tuple[Pair, ...]]
    verdicts_by_run: Mapping[Run, tuple[ReleasedVerdict, ...]]
    votes: tuple[Vote, ...]
    categories: Mapping[str, int]

    @classmethod
    def read(cls, folder: str | Path) -> Release:
        """Read the release from a folder."""
        folder = Path(folder)
        return cls(
            _read_bias_sheet(folder),
            _read_pairs(folder, "quality_pairs.csv"),
            _read_pairs(folder, "safety_pairs.csv"),
            _read_verdicts(folder),
            tuple(_read_votes(folder)),
            _count_category_pairs(folder),
        )

    def pool_verdicts(self, subsets: Iterable[str], run: Run) -> list[ReleasedVerdict]:
        """Return the verdicts of several subsets in one list; `run` gives the other fields."""
        return [verdict for subset in subsets for verdict in self.verdicts_by_run.get(run._replace(subset=subset), ())]


def _read_bias_sheet(folder: Path) -> BiasSheet:
    files = ("bias_scores.csv", "bias_vlm_scores.csv")
    columns: dict[str, list[float | None]] = defaultdict(list)
    occupations: list[str] = []
    flags: dict[str, list[bool]] = {axis: [] for axis in AXES}
    items: dict[str, list[str]] = {}
    for name, required_columns in zip(files, (("item", "occupation", "demographic", *AXES), ("item",)), strict=True):
        items[name] = []
        for row in released_rows(folder, name, required_columns):
            items[name].append(str(row.values["item"]))
            if "occupation" in row.values:
                occupations.append(row.values["occupation"])
                for axis in AXES:
                    flags[axis].append(row.one_of(axis, ("0", "1")) == "1")
            for column in [
                column for column in row.values if column not in {"occupation", "demographic", *required_columns}
            ]:
                columns[column.removesuffix("_raw")].append(score_of(row, column))
    if items[files[0]] != items[files[1]]:
        raise InputError(
            f"the items differ from those of {files[0]}, or have another order", path=release_file(folder, files[1])
        )
    return BiasSheet(
        tuple(occupations),
        {axis: tuple(column) for axis, column in flags.items()},
        {name: tuple(column) for name, column in columns.items()},
    )


_WORDS = Likert(LIKERT)


def score_of(row: Row, column: str) -> float | None:
    """Parse a number, or a scale word as the judge wrote it; None if nothing was stored."""
    value = row.values.get(column)
    if value is None:
        return None
    if not column.endswith("_raw") or value.strip().isdigit():
        return row.number(column)
    marks = read(_WORDS, value.strip("` \n"), 1)
    if isinstance(marks, str):
        raise row.error(f"{column!r} must hold one of {', '.join(LIKERT)}; found {value!r}")
    return marks[0]


def _read_pairs(folder: Path, name: str) -> dict[tuple[str, str], tuple[Pair, ...]]:
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for row in released_rows(folder, name, ("subset", "id", "judge", "score_0", "score_1", "label")):
        # Both files store the intact or original picture first, so any other label is an error.
        row.one_of("label", ("0",))
        scores = row.number("score_0"), row.number("score_1")
        pairs[row.values["subset"], row.values["judge"]].append(Pair(row.values["id"], *scores))
    return {key: tuple(group) for key, group in pairs.items()}


def _read_verdicts(folder: Path) -> dict[Run, tuple[ReleasedVerdict, ...]]:
    runs: dict[Run, list[ReleasedVerdict]] = defaultdict(list)
    columns = (*Run._fields, *ReleasedVerdict._fields)
    for row in released_rows(folder, "vlm_pairs.csv", columns):
        run = Run(*(row.values[column] for column in Run._fields))
        if run not in runs:
            row.one_of("mode", _MODES)
        row.one_of("label", ("0", "1"))
        runs[run].append(ReleasedVerdict(*(row.values[column] for column in ReleasedVerdict._fields)))
    return {run: tuple(verdicts) for run, verdicts in runs.items()}


def _read_votes(folder: Path) -> Iterable[Vote]:
    for row in released_rows(folder, "pickapic_validation.csv", ("id", "label")):
        judges = [column.removesuffix("|score_0") for column in row.values if column.endswith("|score_0")]
        scores = {
            judge: (row.number(f"{judge}|score_0"), row.number(f"{judge}|score_1"))
            for judge in judges
            if row.values[f"{judge}|score_0"] is not None
        }
        predictions = {
            column.removesuffix("|pred"): str(text) for column, text in row.values.items() if column.endswith("|pred")
        }
        yield Vote(row.one_of("label", ("0", "1", "tie")), scores, predictions)


def _count_category_pairs(folder: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in released_rows(folder, "alignment_labels.csv", ("category", "id", "label")):
        counts[row.values["category"]] = counts.get(row.values["category"], 0) + 1
    return counts


SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".json")
PICTURES = ("image", "images_dir", "image_path")
"""Columns that may hold the one picture of a row about bias."""
BENCHMARK = ("alignment", "benchmark")
BIAS = "new_bias_dataset_gpt-4o.json"
"""The bias file that is read. All of them have the same pictures and differ in one judge's ratings."""
_FOLDERS = {
    "existence": "object", "attributes": "attribute", "actions": "action", "spatial": "location", "other": "other",
}  # fmt: skip
"""Sub-categories of alignment: the repository's names and the paper's."""


def find_tables(source: Path) -> list[Path]:
    """Return the tables of a release: a file, all tables below a folder, or the pair and bias files of a clone."""
    if not source.is_dir():
        return [source]
    if source.joinpath(*BENCHMARK).is_dir():
        people = source / "bias" / BIAS
        return [*find_tables(source.joinpath(*BENCHMARK)), *([people] if people.is_file() else [])]
    paths = [file for file in source.rglob("*") if file.name.endswith(SUFFIXES) and file.is_file()]
    if not paths:
        raise InputError(f"the folder contains no table; known types are {', '.join(SUFFIXES)}", path=source)
    # The repository has each pair twice: in one file per sub-category and in one file per source. The file of the
    # sub-category comes first, so that its rows count and the repetitions are skipped.
    return sorted(paths, key=lambda file: (file.parent, file.name != f"{file.parent.name}_test.json", file.name))


def in_repository(file: Path) -> bool:
    """Return True for an alignment file of the repository, where each pair occurs in two files."""
    return file.suffix == ".json" and file.parent.name in _FOLDERS and "_test" in file.name


def file_subset(file: Path) -> str:
    """Return the sub-category that the repository's folder means; empty elsewhere."""
    return _FOLDERS[file.parent.name] if in_repository(file) else ""


def is_bias_row(row: Mapping[str, Any]) -> bool:
    """Return True if a row shows one person at work instead of a pair."""
    return "demographic" in row and "image0" not in row and any(column in row for column in PICTURES)


def demographic_groups(row: Mapping[str, Any], person: str) -> dict[str, str]:
    """Return the person's group on every axis whose flag is set.

    The parts of a demographic (`old_female_buddhist`) follow the set flags, in the order of the axes. A column may also
    name the group itself.

    >>> demographic_groups({"age": True, "gender": 1, "race": False, "religion": "1"}, "old_female_buddhist")
    {'age': 'old', 'gender': 'female', 'religion': 'buddhist'}
    """
    flags = {axis: str(row.get(axis) if row.get(axis) is not None else "").strip() for axis in AXES}
    flagged_axes = [axis for axis in AXES if flags[axis].casefold() in {"1", "true", "yes"}]
    parts = person.split("_")
    named_groups = {axis: value for axis, value in flags.items() if value.casefold() not in _FLAGS}
    if len(parts) == len(flagged_axes):
        return {**dict(zip(flagged_axes, parts, strict=True)), **named_groups}
    return {**dict.fromkeys(flagged_axes, person), **named_groups}


_FLAGS = {"", "0", "1", "true", "false", "yes", "no", "none"}
