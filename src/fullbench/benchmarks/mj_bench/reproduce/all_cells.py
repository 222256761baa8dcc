"""All of the two papers that the released files allow, and what was odd in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.mj_bench.release import authors_repository
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import CLOSED
from fullbench.benchmarks.mj_bench.release.release_files import Release
from fullbench.benchmarks.mj_bench.reproduce import bias_tables, genai_bench_votes, score_model_tables, vlm_judge_tables
from fullbench.benchmarks.mj_bench.reproduce.score_model_tables import implied
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.stats.bias.group_fairness import by_group, near_pairs

# Every figure of MJ-Bench that the released files allow, computed again.


def cells(release: Release) -> Iterator[Reproduced]:
    """All of them, family by family."""
    yield from bias_tables.cells(release.bias)
    yield from score_model_tables.quality(release)
    yield from score_model_tables.safety(release)
    yield from score_model_tables.votes(release)
    yield from score_model_tables.categories(release)
    yield from vlm_judge_tables.cells(release)


_WELL_FORMED = ("0", "1", "tie")


def mj_bench(data: Path) -> Reproduction:
    """MJ-Bench: every cell, and the oddities of its files."""
    release = authors_repository.read(data) if authors_repository.is_clone(data) else Release.read(data)
    return Reproduction(list(cells(release)), [oddities(release)])


def genai_bench(data: Path) -> Reproduction:
    """GenAI-Bench: every cell, and the verdicts that could not be used."""
    votes = genai_bench_votes.read(data)
    return Reproduction(list(genai_bench_votes.cells(votes)), [_unused(votes)])


def oddities(release: Release) -> Table:
    """What a reader of the cells should know about the files they come from."""
    rows = [*_constant(release), *_gaps(release), *_predictions(release), *_undecided(release), *_lacking(release)]
    return Table(
        "oddities",
        Note("mj-bench.reproduction.title.what-was-odd-in-the", "What was odd in the released files"),
        headings("file", "rows", "what"),
        rows,
    )


def _lacking(release: Release) -> list[list[Cell]]:
    """What a clone of the repository does not hold."""
    parts = {"vlm_pairs": release.ruled, "pickapic_validation": release.votes}
    return [[file, 0, "not in this folder: its cells are not computed"] for file, part in parts.items() if not part]


def _constant(release: Release) -> list[list[Cell]]:
    odd_rows: list[list[Cell]] = []
    for name, scores in release.bias.scores.items():
        known = {score for score in scores if score is not None}
        if len(known) == 1:
            what = f"every score of {name} is {known.pop():g}: it has no bias figures"
            odd_rows.append(["bias_scores", len(scores), what])
        below = sum(score < 0 for score in scores if score is not None)
        if below:
            odd_rows.append(
                ["bias_scores", below, f"scores of {name} are negative: GES and NDS only after normalising"]
            )
    return odd_rows


def _gaps(release: Release) -> list[list[Cell]]:
    odd_rows: list[list[Cell]] = []
    sheet = release.bias
    for name, scores in sheet.scores.items():
        first = 301 if name.split("|")[0] in CLOSED and not name.endswith("number5") else None
        missing = sum(score is None for score in scores[:first])
        if missing:
            odd_rows.append(["bias_vlm_scores", missing, f"no rating of {name} was found: left out"])
        column = bias_tables.Column.of(sheet, scores, normalised=False)
        if alone := sum(size == 1 for size in by_group(near_pairs, column.scores, column.groups).sizes.values()):
            odd_rows.append(["bias_vlm_scores", alone, f"occupation with one rating of {name}: equal to itself"])
    return odd_rows


def _predictions(release: Release) -> list[list[Cell]]:
    counts: Counter[str] = Counter()
    for vote in release.votes:
        for judge, stored in vote.stored.items():
            if stored not in _WELL_FORMED:
                counts[f"predictions of {judge} are not 0, 1 or tie: wrong"] += 1
            elif stored != implied(vote, judge):
                counts[f"predictions of {judge} differ from its two scores: the prediction counts"] += 1
    judges = {judge for vote in release.votes for judge in vote.scores}
    stored_by = {judge for vote in release.votes for judge in vote.stored}
    for judge in sorted(judges - stored_by):
        counts[f"no prediction of {judge} is in the file: there is no cell 'stored_pred_agrees'"] = len(release.votes)
    return [["pickapic_validation", count, what] for what, count in counts.items()]


def _undecided(release: Release) -> list[list[Cell]]:
    empty = [run for run, ruled in release.ruled.items() if not any(ruling.pred in {"0", "1"} for ruling in ruled)]
    silent = Counter(run.judge for run in empty if run.mode != "multi")
    return [
        ["vlm_pairs", count, f"files of {judge} hold no decided ruling: 0 of 0 without ties"]
        for judge, count in sorted(silent.items())
    ]


def _unused(votes: list[genai_bench_votes.Vote]) -> Table:
    known = {*genai_bench_votes.VOTES.values(), genai_bench_votes.EITHER}
    rows: list[list[Cell]] = []
    for judge in votes[0].judges if votes else ():
        verdicts = [vote.judges[judge] for vote in votes]
        nothing = verdicts.count(None)
        rows.append([judge, len(verdicts), nothing, sum(verdict not in known for verdict in verdicts) - nothing])
    columns = headings("judge", "pairs", "no verdict found", "malformed")
    return Table(
        "unused",
        Note("mj-bench.reproduction.title.verdicts-that-count-as-wrong", "Verdicts that count as wrong"),
        columns,
        rows,
    )
