"""Tables 3 to 14, as far as the VLM judges' rulings were released.

A ruling is right when it equals the label; a tie or an unread reply is wrong. Which file and which stored prediction is
behind a printed row differs from row to row. `SOURCES` says what was found by trying them all against the printed
figures; where none of them gives the printed row, it is the first that there is: one picture at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import (
    ALIGNMENT,
    BLUR,
    CLOSED,
    DISTORTION,
    ONE_PICTURE,
    OPEN,
    SAFETY,
    SCALES,
    TWO_PICTURES,
)
from fullbench.benchmarks.mj_bench.release.release_files import Release, Ruled, Run
from fullbench.benchmarks.mj_bench.reproduce.cells_and_printed_numbers import figure_cell, share_cell
from fullbench.core.reproduction import Reproduced
from fullbench.stats.agreement.preferences_from_scores import decided


class Source(NamedTuple):
    """How the judge was asked, and which stored prediction counts: the choice it stated, or its two ratings."""

    mode: str
    prediction: str


ALONE = Source("single", "pred")
BOTH = Source("multi", "vlm_pred")
EARLIER = Source("single_old_prompt", "pred")


class Printed(NamedTuple):
    """A printed table: what it is called in cells' names, what it is about, and how its average was taken."""

    name: str
    perspective: str
    scale: str
    subsets: Sequence[str]
    average: str = ""
    from_id_one: bool = False


_DEFOCUSED_13 = "Table 13 (file with motion-blurred names, printed under defocused)"
_DEFOCUSED_14 = "Table 14 (motion file against the defocused column)"
TABLES = (
    Printed("Table 6", "alignment", "number10", ALIGNMENT, "pooled"),
    Printed("Table 7", "alignment", "number5", ALIGNMENT, "mean"),
    Printed("Table 8", "alignment", "likert5", ALIGNMENT, "pooled"),
    Printed("Table 9 toxicity", "safety", "number10", ("toxic",), from_id_one=True),
    Printed("Table 9 evasive", "safety", "number10", ("nsfw",)),
    Printed("Table 10 toxicity", "safety", "number5", ("toxic",), from_id_one=True),
    Printed("Table 10 nsfw average", "safety", "number5", ("nsfw",)),
    Printed("Table 11 toxicity", "safety", "likert5", ("toxic",), from_id_one=True),
    Printed("Table 11 nsfw average", "safety", "likert5", ("nsfw",)),
    Printed("Table 12", "artifacts", "number10", DISTORTION, "pooled"),
    Printed("Table 12 motion", "artifacts", "number10", (BLUR,)),
    Printed("Table 13", "artifacts", "number5", DISTORTION, "mean"),
    Printed(_DEFOCUSED_13, "artifacts", "number5", (BLUR,)),
    Printed("Table 14", "artifacts", "likert5", DISTORTION, "pooled"),
    Printed(_DEFOCUSED_14, "artifacts", "likert5", (BLUR,)),
)

SOURCES: dict[tuple[str, str], Source] = {
    **{("Table 6", judge): BOTH for judge in (*TWO_PICTURES, *CLOSED)},
    **{(table, judge): BOTH for table in ("Table 12", "Table 12 motion") for judge in TWO_PICTURES},
    ("Table 9 evasive", "qwen-vl-chat"): BOTH,
    ("Table 9 evasive", "idefics2-8b"): BOTH,
    ("Table 8", "llava-v1.6-vicuna-13b-hf"): EARLIER,
    ("Table 13", "llava-v1.6-mistral-7b-hf"): EARLIER,
}
"""The rows that are not made from one picture at a time under the later prompt."""


def cells(release: Release) -> Iterator[Reproduced]:
    """All rows of all tables for which there are rulings."""
    for table in TABLES:
        for judge in (*OPEN, *CLOSED):
            yield from _row(release, table, judge)
    yield from _modes(release)
    yield from _scales(release)
    for judge in CLOSED:
        pooled = release.together(ALIGNMENT, Run("alignment", "", BOTH.mode, "number10", judge))
        if pooled:
            yield _without_ties(f"vlm/Table 3/{judge}/alignment_no_tie", pooled, BOTH)


def _row(release: Release, table: Printed, judge: str) -> Iterator[Reproduced]:
    source = SOURCES.get((table.name, judge), ALONE)
    run = Run(table.perspective, "", source.mode, table.scale, judge)
    name = f"vlm/{table.name}/{judge}"
    by_subset: dict[str, list[Ruled]] = {}
    for subset in table.subsets:
        ruled = release.together([subset], run)
        if table.from_id_one:
            ruled = [ruling for ruling in ruled if ruling.id != "0"]
        if ruled:
            by_subset[subset] = ruled
            yield _share(f"{name}/{subset}", ruled, source)
    if not table.average or not by_subset:
        return
    pooled = [ruling for ruled in by_subset.values() for ruling in ruled]
    if table.average == "pooled":
        yield _share(f"{name}/avg", pooled, source)
    else:
        mean = fmean(_hits(ruled, source) / len(ruled) for ruled in by_subset.values())
        yield figure_cell(f"{name}/avg", mean, len(pooled), table.name)
    yield _without_ties(f"{name}/avg_no_tie", pooled, source)


def _modes(release: Release) -> Iterator[Reproduced]:
    """Table 4: one picture at a time, and both at once in the order stored."""
    kinds = {
        "alignment": ((*ALIGNMENT, "other"), ALIGNMENT),
        "safety": (SAFETY, SAFETY),
        "artifacts": ((*DISTORTION, BLUR), (*DISTORTION, BLUR)),
    }
    for judge in TWO_PICTURES:
        for perspective, (alone, both) in kinds.items():
            for end, subsets, source in (("single", alone, ALONE), ("pair", both, BOTH)):
                run = Run(perspective, "", source.mode, "number10", judge)
                if ruled := release.together(subsets, run):
                    yield _share(f"vlm/Table 4/{judge}/{perspective}_{end}", ruled, source)


def _scales(release: Release) -> Iterator[Reproduced]:
    """Table 5: the same judge on every scale. Judges of two pictures saw one at a time on 0 to 5 only.

    Where only the earlier prompt's file was released, it stands in.
    """
    for judge in (*ONE_PICTURE, *TWO_PICTURES):
        for scale in SCALES:
            usual = BOTH if judge in TWO_PICTURES and scale != "number5" else ALONE
            for source in (usual, EARLIER):
                if ruled := release.together(ALIGNMENT, Run("alignment", "", source.mode, scale, judge)):
                    yield _share(f"vlm/Table 5/{judge}/{scale}", ruled, source)
                    break


def _hits(ruled: Sequence[Ruled], source: Source) -> int:
    return sum(getattr(ruling, source.prediction) == ruling.label for ruling in ruled)


def _share(name: str, ruled: Sequence[Ruled], source: Source) -> Reproduced:
    return share_cell(name, _hits(ruled, source), len(ruled), name.split("/")[1])


def _without_ties(name: str, ruled: Sequence[Ruled], source: Source) -> Reproduced:
    """Only the rulings that name a picture. Where there is none the cell is 0 of 0, written as 0 with n = 0."""
    keep = decided([getattr(ruling, source.prediction) for ruling in ruled])
    decided_rulings = [ruling for ruling, there in zip(ruled, keep, strict=True) if there]
    return _share(name, decided_rulings, source) if decided_rulings else figure_cell(name, 0.0, 0, name.split("/")[1])
