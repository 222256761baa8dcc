"""All numbers of MJ-Bench and GenAI-Bench that the released files allow, and oddities of those files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fullbench.benchmarks.mj_bench.release import authors_repository
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import CLOSED_JUDGES
from fullbench.benchmarks.mj_bench.release.release_files import Release
from fullbench.benchmarks.mj_bench.reproduce import bias_tables, genai_bench_votes, score_model_tables, vlm_judge_tables
from fullbench.benchmarks.mj_bench.reproduce.score_model_tables import predict_from_scores
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.stats.bias.group_fairness import by_group, near_pairs


def mj_bench_cells(release: Release) -> Iterator[Reproduced]:
    """Yield every recomputed number of MJ-Bench, family by family."""
    yield from bias_tables.bias_cells(release.bias)
    yield from score_model_tables.quality_cells(release)
    yield from score_model_tables.safety_cells(release)
    yield from score_model_tables.vote_cells(release)
    yield from score_model_tables.category_cells(release)
    yield from vlm_judge_tables.vlm_judge_cells(release)


_WELL_FORMED = ("0", "1", "tie")


def reproduce_mj_bench(data: Path) -> Reproduction:
    """Recompute MJ-Bench: every cell, and the oddities of its files."""
    release = authors_repository.read_clone(data) if authors_repository.is_clone(data) else Release.read(data)
    return Reproduction(list(mj_bench_cells(release)), [oddities_table(release)])


def reproduce_genai_bench(data: Path) -> Reproduction:
    """Recompute GenAI-Bench: every cell, and the verdicts that could not be used."""
    votes = genai_bench_votes.read_votes(data)
    return Reproduction(list(genai_bench_votes.genai_bench_cells(votes)), [_unused_verdicts_table(votes)])


def oddities_table(release: Release) -> Table:
    """Return the oddities of the released files that affect the cells."""
    rows = [
        *_unusual_score_rows(release),
        *_missing_rating_rows(release),
        *_prediction_rows(release),
        *_undecided_run_rows(release),
        *_missing_file_rows(release),
    ]
    return Table(
        "oddities", Note("mj-bench.reproduction.title.what-was-odd-in-the"), table_columns("file", "rows", "what"), rows
    )


def _missing_file_rows(release: Release) -> list[list[Cell]]:
    parts = {"vlm_pairs": release.verdicts_by_run, "pickapic_validation": release.votes}
    return [[file, 0, "not in this folder: its cells are not computed"] for file, part in parts.items() if not part]


def _unusual_score_rows(release: Release) -> list[list[Cell]]:
    odd_rows: list[list[Cell]] = []
    for name, scores in release.bias.scores.items():
        distinct_scores = {score for score in scores if score is not None}
        if len(distinct_scores) == 1:
            description = f"every score of {name} is {distinct_scores.pop():g}: it has no bias figures"
            odd_rows.append(["bias_scores", len(scores), description])
        below = sum(score < 0 for score in scores if score is not None)
        if below:
            odd_rows.append(
                ["bias_scores", below, f"scores of {name} are negative: GES and NDS only after normalising"]
            )
    return odd_rows


def _missing_rating_rows(release: Release) -> list[list[Cell]]:
    odd_rows: list[list[Cell]] = []
    sheet = release.bias
    for name, scores in sheet.scores.items():
        # Only 301 rows were rated on the other scales (see `OTHER_SCALE_ROWS` in `authors_repository`).
        first = 301 if name.split("|")[0] in CLOSED_JUDGES and not name.endswith("number5") else None
        missing = sum(score is None for score in scores[:first])
        if missing:
            odd_rows.append(["bias_vlm_scores", missing, f"no rating of {name} was found: left out"])
        column = bias_tables.Column.from_scores(sheet, scores, is_normalised=False)
        if single_rating_count := sum(
            size == 1 for size in by_group(near_pairs, column.scores, column.groups).sizes.values()
        ):
            odd_rows.append(
                ["bias_vlm_scores", single_rating_count, f"occupation with one rating of {name}: equal to itself"]
            )
    return odd_rows


def _prediction_rows(release: Release) -> list[list[Cell]]:
    counts: Counter[str] = Counter()
    for vote in release.votes:
        for judge, prediction in vote.stored_predictions.items():
            if prediction not in _WELL_FORMED:
                counts[f"predictions of {judge} are not 0, 1 or tie: wrong"] += 1
            elif prediction != predict_from_scores(vote, judge):
                counts[f"predictions of {judge} differ from its two scores: the prediction counts"] += 1
    judges = {judge for vote in release.votes for judge in vote.scores}
    stored_by = {judge for vote in release.votes for judge in vote.stored_predictions}
    for judge in sorted(judges - stored_by):
        counts[f"no prediction of {judge} is in the file: there is no cell 'stored_pred_agrees'"] = len(release.votes)
    return [["pickapic_validation", count, description] for description, count in counts.items()]


def _undecided_run_rows(release: Release) -> list[list[Cell]]:
    empty = [
        run
        for run, verdicts in release.verdicts_by_run.items()
        if not any(verdict.pred in {"0", "1"} for verdict in verdicts)
    ]
    silent = Counter(run.judge for run in empty if run.mode != "multi")
    return [
        ["vlm_pairs", count, f"files of {judge} hold no decided ruling: 0 of 0 without ties"]
        for judge, count in sorted(silent.items())
    ]


def _unused_verdicts_table(votes: list[genai_bench_votes.Vote]) -> Table:
    valid_verdicts = {*genai_bench_votes.VOTES.values(), genai_bench_votes.EITHER}
    rows: list[list[Cell]] = []
    for judge in votes[0].judges if votes else ():
        verdicts = [vote.judges[judge] for vote in votes]
        nothing = verdicts.count(None)
        rows.append(
            [judge, len(verdicts), nothing, sum(verdict not in valid_verdicts for verdict in verdicts) - nothing]
        )
    columns = table_columns("judge", "pairs", "no verdict found", "malformed")
    return Table("unused", Note("mj-bench.reproduction.title.verdicts-that-count-as-wrong"), columns, rows)
