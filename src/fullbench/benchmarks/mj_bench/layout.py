"""The layouts in which the authors release their data: the hub's folders, and their repository as it is cloned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.benchmarks.mj_bench.names import AXES
from fullbench.errors import InputError

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
