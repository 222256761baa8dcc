"""Tables 3 to 14, as far as verdicts of VLM judges were released.

A verdict is right if it equals the label; a tie or an unreadable reply is wrong. The file and the stored prediction
behind a printed row differ from row to row. `SOURCES` lists those that match, found by trying all against the printed
numbers. If none matches, the first available one is used: one picture at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from fullbench.benchmarks.mj_bench.release.judge_and_category_names import (
    ALIGNMENT,
    BLUR,
    CLOSED_JUDGES,
    DISTORTION,
    ONE_PICTURE,
    OPEN_JUDGES,
    SAFETY,
    SCALES,
    TWO_PICTURES,
)
from fullbench.benchmarks.mj_bench.release.release_files import Release, ReleasedVerdict, Run
from fullbench.benchmarks.mj_bench.reproduce.cells_and_printed_numbers import metric_cell, share_cell
from fullbench.core.reproduction import Reproduced
from fullbench.stats.agreement.preferences_from_scores import decisive_mask


class Source(NamedTuple):
    """Mode of judging, and the stored prediction that counts: the stated choice, or the two ratings."""

    mode: str
    prediction: str


ONE_AT_A_TIME = Source("single", "pred")
BOTH_AT_ONCE = Source("multi", "vlm_pred")
EARLIER_PROMPT = Source("single_old_prompt", "pred")


class PrintedTable(NamedTuple):
    """A printed table: its name in cell names, its content, and the kind of its average."""

    name: str
    perspective: str
    scale: str
    subsets: Sequence[str]
    average: str = ""
    from_id_one: bool = False


_DEFOCUSED_13 = "Table 13 (file with motion-blurred names, printed under defocused)"
_DEFOCUSED_14 = "Table 14 (motion file against the defocused column)"
TABLES = (
    PrintedTable("Table 6", "alignment", "number10", ALIGNMENT, "pooled"),
    PrintedTable("Table 7", "alignment", "number5", ALIGNMENT, "mean"),
    PrintedTable("Table 8", "alignment", "likert5", ALIGNMENT, "pooled"),
    PrintedTable("Table 9 toxicity", "safety", "number10", ("toxic",), from_id_one=True),
    PrintedTable("Table 9 evasive", "safety", "number10", ("nsfw",)),
    PrintedTable("Table 10 toxicity", "safety", "number5", ("toxic",), from_id_one=True),
    PrintedTable("Table 10 nsfw average", "safety", "number5", ("nsfw",)),
    PrintedTable("Table 11 toxicity", "safety", "likert5", ("toxic",), from_id_one=True),
    PrintedTable("Table 11 nsfw average", "safety", "likert5", ("nsfw",)),
    PrintedTable("Table 12", "artifacts", "number10", DISTORTION, "pooled"),
    PrintedTable("Table 12 motion", "artifacts", "number10", (BLUR,)),
    PrintedTable("Table 13", "artifacts", "number5", DISTORTION, "mean"),
    PrintedTable(_DEFOCUSED_13, "artifacts", "number5", (BLUR,)),
    PrintedTable("Table 14", "artifacts", "likert5", DISTORTION, "pooled"),
    PrintedTable(_DEFOCUSED_14, "artifacts", "likert5", (BLUR,)),
)

SOURCES: dict[tuple[str, str], Source] = {
    **{("Table 6", judge): BOTH_AT_ONCE for judge in (*TWO_PICTURES, *CLOSED_JUDGES)},
    **{(table, judge): BOTH_AT_ONCE for table in ("Table 12", "Table 12 motion") for judge in TWO_PICTURES},
    ("Table 9 evasive", "qwen-vl-chat"): BOTH_AT_ONCE,
    ("Table 9 evasive", "idefics2-8b"): BOTH_AT_ONCE,
    ("Table 8", "llava-v1.6-vicuna-13b-hf"): EARLIER_PROMPT,
    ("Table 13", "llava-v1.6-mistral-7b-hf"): EARLIER_PROMPT,
}
"""Rows that do not use one picture at a time under the later prompt."""


def vlm_judge_cells(release: Release) -> Iterator[Reproduced]:
    """Yield all rows of all tables that have verdicts."""
    for table in TABLES:
        for judge in (*OPEN_JUDGES, *CLOSED_JUDGES):
            yield from _row_cells(release, table, judge)
    yield from _mode_cells(release)
    yield from _scale_cells(release)
    for judge in CLOSED_JUDGES:
        pooled_verdicts = release.pool_verdicts(ALIGNMENT, Run("alignment", "", BOTH_AT_ONCE.mode, "number10", judge))
        if pooled_verdicts:
            yield _accuracy_without_ties_cell(f"vlm/Table 3/{judge}/alignment_no_tie", pooled_verdicts, BOTH_AT_ONCE)


def _row_cells(release: Release, table: PrintedTable, judge: str) -> Iterator[Reproduced]:
    source = SOURCES.get((table.name, judge), ONE_AT_A_TIME)
    run = Run(table.perspective, "", source.mode, table.scale, judge)
    name = f"vlm/{table.name}/{judge}"
    by_subset: dict[str, list[ReleasedVerdict]] = {}
    for subset in table.subsets:
        verdicts = release.pool_verdicts([subset], run)
        if table.from_id_one:
            verdicts = [verdict for verdict in verdicts if verdict.id != "0"]
        if verdicts:
            by_subset[subset] = verdicts
            yield _accuracy_cell(f"{name}/{subset}", verdicts, source)
    if not table.average or not by_subset:
        return
    pooled_verdicts = [verdict for verdicts in by_subset.values() for verdict in verdicts]
    if table.average == "pooled":
        yield _accuracy_cell(f"{name}/avg", pooled_verdicts, source)
    else:
        mean = fmean(_count_hits(verdicts, source) / len(verdicts) for verdicts in by_subset.values())
        yield metric_cell(f"{name}/avg", mean, len(pooled_verdicts), table.name)
    yield _accuracy_without_ties_cell(f"{name}/avg_no_tie", pooled_verdicts, source)


def _mode_cells(release: Release) -> Iterator[Reproduced]:
    """Table 4: one picture at a time, and both at once in stored order."""
    # Per perspective: subsets of the single mode, subsets of the pair mode.
    kinds = {
        "alignment": ((*ALIGNMENT, "other"), ALIGNMENT),
        "safety": (SAFETY, SAFETY),
        "artifacts": ((*DISTORTION, BLUR), (*DISTORTION, BLUR)),
    }
    for judge in TWO_PICTURES:
        for perspective, (single_subsets, pair_subsets) in kinds.items():
            for end, subsets, source in (
                ("single", single_subsets, ONE_AT_A_TIME),
                ("pair", pair_subsets, BOTH_AT_ONCE),
            ):
                run = Run(perspective, "", source.mode, "number10", judge)
                if verdicts := release.pool_verdicts(subsets, run):
                    yield _accuracy_cell(f"vlm/Table 4/{judge}/{perspective}_{end}", verdicts, source)


def _scale_cells(release: Release) -> Iterator[Reproduced]:
    """Table 5. Judges of two pictures got single ones on 0 to 5 only. If need be, use the earlier prompt's file."""
    for judge in (*ONE_PICTURE, *TWO_PICTURES):
        for scale in SCALES:
            usual_source = BOTH_AT_ONCE if judge in TWO_PICTURES and scale != "number5" else ONE_AT_A_TIME
            for source in (usual_source, EARLIER_PROMPT):
                if verdicts := release.pool_verdicts(ALIGNMENT, Run("alignment", "", source.mode, scale, judge)):
                    yield _accuracy_cell(f"vlm/Table 5/{judge}/{scale}", verdicts, source)
                    break


def _count_hits(verdicts: Sequence[ReleasedVerdict], source: Source) -> int:
    return sum(getattr(verdict, source.prediction) == verdict.label for verdict in verdicts)


def _accuracy_cell(name: str, verdicts: Sequence[ReleasedVerdict], source: Source) -> Reproduced:
    return share_cell(name, _count_hits(verdicts, source), len(verdicts), name.split("/")[1])


def _accuracy_without_ties_cell(name: str, verdicts: Sequence[ReleasedVerdict], source: Source) -> Reproduced:
    """Count verdicts that name a picture. If there are none, the cell is 0 with n = 0."""
    keep = decisive_mask([getattr(verdict, source.prediction) for verdict in verdicts])
    decided_verdicts = [verdict for verdict, is_decided in zip(verdicts, keep, strict=True) if is_decided]
    return (
        _accuracy_cell(name, decided_verdicts, source)
        if decided_verdicts
        else metric_cell(name, 0.0, 0, name.split("/")[1])
    )
