"""The released scores and rulings of MJ-Bench as they are: numbers only, no pictures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fullbench.benchmarks.mj_bench.names import AXES, LIKERT
from fullbench.benchmarks.mj_bench.sheets import found, number, one_of, rows
from fullbench.errors import InputError
from fullbench.nouns.ballot import Likert
from fullbench.reading import read

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
        path = found(folder, name)
        items[name] = []
        for line, row in rows(folder, name, needed):
            items[name].append(str(row["item"]))
            if "occupation" in row:
                occupations.append(row["occupation"])
                for axis in AXES:
                    flags[axis].append(one_of(row[axis], ("0", "1"), path, line, axis) == "1")
            for column in [column for column in row if column not in {"occupation", "demographic", *needed}]:
                columns[column.removesuffix("_raw")].append(score_of(row[column], column, path, line))
    if items[files[0]] != items[files[1]]:
        raise InputError(f"the items are not those of {files[0]}, in the same order", path=found(folder, files[1]))
    return BiasSheet(
        tuple(occupations),
        {axis: tuple(column) for axis, column in flags.items()},
        {name: tuple(column) for name, column in columns.items()},
    )


_WORDS = Likert(LIKERT)


def score_of(value: Any, column: str, path: Path, line: int) -> float | None:
    """A number, or a word of the scale as the judge wrote it; None where nothing was stored."""
    if value is None:
        return None
    if not column.endswith("_raw") or value.strip().isdigit():
        return number(value, path, line, column)
    marks = read(_WORDS, value.strip("` \n"), 1)
    if isinstance(marks, str):
        raise InputError(f"{column!r} must hold one of {', '.join(LIKERT)}; found {value!r}", path=path, line=line)
    return marks[0]


def _pairs(folder: Path, name: str) -> dict[tuple[str, str], tuple[Pair, ...]]:
    path = found(folder, name)
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for line, row in rows(folder, name, ("subset", "id", "judge", "score_0", "score_1", "label")):
        one_of(row["label"], ("0",), path, line, "label")
        scores = [number(row[column], path, line, column) for column in ("score_0", "score_1")]
        pairs[row["subset"], row["judge"]].append(Pair(row["id"], *scores))
    return {key: tuple(group) for key, group in pairs.items()}


def _ruled(folder: Path) -> dict[Run, tuple[Ruled, ...]]:
    name = "vlm_pairs.csv"
    path = found(folder, name)
    runs: dict[Run, list[Ruled]] = defaultdict(list)
    columns = (*Run._fields, *Ruled._fields)
    for line, row in rows(folder, name, columns):
        run = Run(row["perspective"], row["subset"], row["mode"], row["scale"], row["judge"])
        if run not in runs:
            one_of(run.mode, _MODES, path, line, "mode")
        if row["label"] not in {"0", "1"}:
            one_of(row["label"], ("0", "1"), path, line, "label")
        runs[run].append(Ruled(row["id"], row["label"], row["pred"], row["vlm_pred"], row["score_pred"]))
    return {run: tuple(ruled) for run, ruled in runs.items()}


def _votes(folder: Path) -> Iterable[Vote]:
    name = "pickapic_validation.csv"
    path = found(folder, name)
    for line, row in rows(folder, name, ("id", "label")):
        judges = [column.removesuffix("|score_0") for column in row if column.endswith("|score_0")]
        scores = {judge: _two(row, judge, path, line) for judge in judges if row[f"{judge}|score_0"] is not None}
        stored = {column.removesuffix("|pred"): str(row[column]) for column in row if column.endswith("|pred")}
        yield Vote(one_of(row["label"], ("0", "1", "tie"), path, line, "label"), scores, stored)


def _two(row: Mapping[str, Any], judge: str, path: Path, line: int) -> tuple[float, float]:
    first, second = (number(row[f"{judge}|{end}"], path, line, f"{judge}|{end}") for end in ("score_0", "score_1"))
    return first, second


def _categories(folder: Path) -> dict[str, int]:
    counts: dict[str, int] = {}
    for _, row in rows(folder, "alignment_labels.csv", ("category", "id", "label")):
        counts[row["category"]] = counts.get(row["category"], 0) + 1
    return counts
