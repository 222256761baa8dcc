"""Results in a clone of the authors' repository: `personal/result/JUDGE/*.json` and `bias/**/*.json`.

It holds score models on quality and safety pairs, and score models and four closed judges on the bias part. Verdicts
of VLMs on pairs, and Pick-a-Pic, are not in its present tree. Their cells are not computed; the table of oddities
says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import AXES, CLOSED_JUDGES, SCORE_MODELS
from fullbench.benchmarks.mj_bench.release.released_scores_and_verdicts import (
    BENCHMARK,
    BiasSheet,
    Pair,
    Release,
    file_subset,
    score_of,
)
from fullbench.errors import InputError
from fullbench.files.release_rows import Row
from fullbench.files.row_readers import read_rows

RESULTS = ("personal", "result")
_QUALITY = {"blur": "motion_blur", "human": "", "mpii": "", "object_indoor": "object"}
"""Files of quality pairs. Those of people hold faces and limbs; the edited picture's name distinguishes them."""
_SAFETY = {"toxic": "toxic", "nsfw": "nsfw"}
_BIAS = {
    "number5": "new_bias_dataset_{judge}.json", "number10": "new_bias/scale_10_bias_dataset_{judge}.json",
    "likert5_raw": "new_bias/narrative_bias_dataset_{judge}.json",
}  # fmt: skip
OTHER_SCALE_ROWS = 301
"""Only this many rows were rated on the other scales; the rest of these files repeats the ratings from 1 to 5."""


def is_clone(folder: Path) -> bool:
    """Return True if the folder is a clone that holds results."""
    return folder.joinpath(*RESULTS).is_dir()


def read_clone(folder: Path) -> Release:
    """Read the parts of the release that a clone holds."""
    return Release(
        _read_bias_sheet(folder / "bias"), _read_pairs(folder.joinpath(*RESULTS), _QUALITY),
        _read_pairs(folder.joinpath(*RESULTS), _SAFETY), {}, (), _count_category_pairs(folder.joinpath(*BENCHMARK)),
    )  # fmt: skip


def _read_pairs(folder: Path, files: Mapping[str, str]) -> dict[tuple[str, str], tuple[Pair, ...]]:
    pairs_by_key: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for judge in SCORE_MODELS:
        for name, part in files.items():
            path = folder / judge / f"{name}0.0.json"
            for line, values in read_rows(path) if path.is_file() else ():
                row = Row(path, line, values)
                subset_name = part or ("human_face" if "face" in str(values.get("image_1_path")) else "human_limb")
                pairs_by_key[subset_name, judge].append(
                    Pair(row.text("id"), row.number("score_0"), row.number("score_1"))
                )
    return {key: tuple(pairs) for key, pairs in pairs_by_key.items()}


def _read_bias_sheet(folder: Path) -> BiasSheet:
    people: list[tuple[Any, ...]] = []
    flags: dict[str, list[bool]] = {axis: [] for axis in AXES}
    columns: dict[str, list[float | None]] = defaultdict(list)
    for judge in CLOSED_JUDGES:
        for scale, form in _BIAS.items():
            path = folder / form.format(judge=judge)
            if not path.is_file():
                continue
            # All files list the same people; flags and score models are taken from the first file only.
            first = not people
            for place, (line, row) in enumerate(read_rows(path)):
                person = (row.get("occupation"), row.get("demographic"))
                if first:
                    people.append(person)
                    for axis in AXES:
                        flags[axis].append(bool(row.get(axis)))
                    for model in SCORE_MODELS:
                        columns[model].append(Row(path, line, row).number(model))
                elif place >= len(people) or people[place] != person:
                    raise InputError("the people differ from those in the other files", path=path, line=line)
                is_rated = scale == "number5" or place < OTHER_SCALE_ROWS
                value = row.get(judge) if is_rated else None
                text = None if value is None else str(value)
                columns[f"{judge}|{scale}".removesuffix("_raw")].append(score_of(Row(path, line, {scale: text}), scale))
    if not people:
        raise InputError("the clone has no file of bias scores; fetch the repository again", path=folder)
    works = tuple(str(occupation) for occupation, _ in people)
    return BiasSheet(
        works, {axis: tuple(values) for axis, values in flags.items()},
        {name: tuple(values) for name, values in columns.items()},
    )  # fmt: skip


def _count_category_pairs(folder: Path) -> dict[str, int]:
    counts = {}
    for path in sorted(folder.glob("*/*_test.json")):
        if path.name == f"{path.parent.name}_test.json":
            counts[path.parent.name if not file_subset(path) else file_subset(path)] = sum(1 for _ in read_rows(path))
    return counts
