"""All published cells that the released data allow, recomputed, and the paper's Table 9 as printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from statistics import fmean

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.load_release import (
    FINAL_RANKINGS,
    FINAL_SCORES,
    HQ,
    MARKERS,
    THIRD_PARTY,
    Release,
)
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task, parse_marks, trim_ranking
from fullbench.benchmarks.mllm_judge.release.released_line_parsers import read_verdict_text
from fullbench.benchmarks.mllm_judge.reproduce.metrics import (
    Metrics,
    choice_metrics,
    correlation_metrics,
    ranking_metrics,
    round_metric,
    rounded_mean,
    score_metrics,
    select_metrics,
)
from fullbench.benchmarks.mllm_judge.source_datasets import DATASETS, FIRST_TEN
from fullbench.core.ballot import LETTERS
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.estimate import Estimate
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement.per_item_ranking_agreement import edit_distance


@dataclass(frozen=True)
class PrintedRow:
    """One row of Table 9: a number for each data set that has one, and the printed average."""

    task: str
    judge: str
    cells: Mapping[str, float]
    average: float

    @property
    def mean(self) -> float:
        """Unweighted mean of the available cells, as in the paper's average."""
        return sum(self.cells.values()) / len(self.cells)


@cache
def read_table_9() -> tuple[PrintedRow, ...]:
    """Read all rows of Table 9.

    >>> row = next(row for row in read_table_9() if (row.judge, row.task) == ("CogVLM", "score"))
    >>> len(row.cells), round(row.mean, 4), row.average
    (10, 0.0281, 0.028)
    """
    text = (resources.files("fullbench.benchmarks.mllm_judge") / "table9.tsv").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines()[1:]:
        task, judge, *numbers, average = line.split("\t")
        cells = {dataset.name: float(number) for dataset, number in zip(DATASETS, numbers, strict=True) if number}
        rows.append(PrintedRow(task, judge, cells, float(average)))
    return tuple(rows)


def printed_number(judge: str, task: str, dataset: str) -> float | None:
    """Return the number that the paper prints in one cell, or None if the cell is empty."""
    return next((row.cells.get(dataset) for row in read_table_9() if (row.judge, row.task) == (judge, task)), None)


REVIEWED_JUDGES = ("GPT-4V", "Gemini")


def paper_cells(release: Release) -> Iterator[Reproduced]:
    """Yield all cells, family by family, as far as the data allow."""
    yield from llava_ranking_cells(release)
    yield from cogvlm_score_cells(release)
    yield from full_run_cells(release)
    yield from third_party_cells(release)
    yield from hq_subset_cells(release)
    yield from hard_subset_cells(release)
    yield from parser_cells(release)
    yield from figure_cells(release)
    yield from annotator_cells(release)
    yield from average_cells()


def llava_ranking_cells(release: Release) -> Iterator[Reproduced]:
    """Compare LLaVA-1.5-13b's rankings with people's: as released, and without impossible letters."""
    labels = release.labels(FINAL_RANKINGS, files.RANKINGS)
    labelled_rows = [row for row in release.rows[files.LLAVA] if row.number in labels]
    distances = []
    for dataset in FIRST_TEN:
        rows = [row for row in labelled_rows if row.dataset == dataset]
        if not rows:
            continue
        value, estimate = _ranking_metrics(rows, labels)
        distances.append(value["normalized_levenshtein"])
        n = value.pop("n")
        yield Reproduced(
            f"LLaVA-1.5-13b/batch/{dataset}", value, n, "normalized_levenshtein", estimate,
            printed_number("LLaVA-1.5-13b", "batch", dataset), "Table 9",
        )  # fmt: skip
    if not labelled_rows:
        return
    value, estimate = _ranking_metrics(labelled_rows, labels)
    value[f"normalized_levenshtein_mean_of_{len(distances)}"] = rounded_mean(distances)
    yield Reproduced("LLaVA-1.5-13b/batch/ALL", value, value["n"], "normalized_levenshtein", estimate)


def _ranking_metrics(rows: Sequence[Row], labels: Mapping[int, str]) -> tuple[Metrics, Estimate | None]:
    judge_rankings, truth = [row.verdicts[0].verdict_text for row in rows], [labels[row.number] for row in rows]
    value, estimate = ranking_metrics(judge_rankings, truth)
    ranking_pairs = [
        (trim_ranking(judge_ranking, len(row.contestants)), trim_ranking(label, len(row.contestants)))
        for row, judge_ranking, label in zip(rows, judge_rankings, truth, strict=True)
        if label and len(set(label)) == len(label)
    ]
    distances = [edit_distance(judge_ranking, label) for judge_ranking, label in ranking_pairs]
    value |= {"n_trimmed": len(distances), "normalized_levenshtein_trimmed": rounded_mean(distances)}
    return value, estimate


def cogvlm_score_cells(release: Release) -> Iterator[Reproduced]:
    """Compare CogVLM's scores with people's, in four readings of a file that holds some rows twice."""
    variants = {
        "all_rows": scores_with_labels(release),
        "last_row_wins": list(
            {row.number: (row, judge, human) for row, judge, human in scores_with_labels(release)}.values()
        ),
        "first_run_rows": [entry for entry in scores_with_labels(release) if not entry[0].verdicts[0].is_second_run],
        "all_rows_all_labels": scores_with_labels(release, *files.MARKED_SCORES),
    }
    rs: dict[str, list[Estimate | None]] = {name: [] for name in variants}
    for dataset in FIRST_TEN:
        value: Metrics = {}
        for name, rows in variants.items():
            in_dataset = [(judge, human) for row, judge, human in rows if row.dataset == dataset]
            if in_dataset:
                value[name], estimate = correlation_metrics(*zip(*in_dataset, strict=True))
                rs[name].append(estimate)
        if "first_run_rows" in value:
            yield Reproduced(
                f"CogVLM/score/{dataset}", value, value["all_rows"]["n"], "first_run_rows.pearson",
                rs["first_run_rows"][-1], printed_number("CogVLM", "score", dataset), "Table 9",
            )  # fmt: skip
    pooled_metrics = {
        name: _pooled_metrics([row[1:] for row in rows], rs[name])[0] for name, rows in variants.items() if rows
    }
    if "first_run_rows" not in pooled_metrics:
        return
    mean = next(name for name in pooled_metrics["first_run_rows"] if "mean" in name)
    value = {**pooled_metrics, **_final_label_metrics(release)}
    yield Reproduced(
        "CogVLM/score/ALL", value, pooled_metrics["all_rows"]["n"], f"first_run_rows.{mean}", None,
        next(row.average for row in read_table_9() if (row.judge, row.task) == ("CogVLM", "score")), "Table 9",
    )  # fmt: skip


def _final_label_metrics(release: Release) -> Metrics:
    """Compare CogVLM with the final benchmark's scores, pooled, as another project compares its judges."""
    labels = {
        row.score_id: row.human
        for row in release.third_party_scores
        if row.score_id is not None and row.human is not None
    }
    pairs = [
        (int(row.verdicts[0].verdict_text), human)
        for row in release.rows[files.COGVLM]
        if (human := labels.get(row.number)) is not None and row.verdicts[0].verdict_text in set("12345")
    ]
    if not pairs:
        return {}
    value, _ = score_metrics(*zip(*pairs, strict=True))
    within_2_share = sum(abs(judge - human) <= 2 for judge, human in pairs) / len(pairs)
    return {
        **select_metrics(value, "n", "exact", "within_1"),
        "within_2": round_metric(within_2_share),
        "mae": value["mae"],
        "pearson_pooled": value["pearson"],
    }


def full_run_cells(release: Release) -> Iterator[Reproduced]:
    """Yield runs of the full download, if present: each judge, task and data set with the paper's number."""
    labels = {
        "score": release.labels(FINAL_SCORES, files.SCORES),
        "batch": release.labels(FINAL_RANKINGS, files.RANKINGS),
    }
    pairs = pair_labels(release)
    for file, (task, _) in files.WHOLE_RUNS.items():
        rows = release.rows.get(file, ()) if file.startswith("step3/") else ()
        for dataset in dict.fromkeys(row.dataset for row in rows):
            labelled_verdicts = [
                (row.verdicts[0].judge, row.verdicts[0].verdict_text, label)
                for row in rows
                if row.dataset == dataset
                and (label := label_for_row(pairs, row) if task == "pair" else labels[task].get(row.number))
                and parse_marks(task, row.verdicts[0].verdict_text, len(row.contestants))
                and parse_marks(task, label, len(row.contestants))
            ]
            if labelled_verdicts:
                yield _full_run_cell(task, dataset, labelled_verdicts)


def _full_run_cell(task: Task, dataset: str, labelled_verdicts: Sequence[tuple[str, str, str]]) -> Reproduced:
    judge = labelled_verdicts[0][0]
    verdict_texts, truth = (
        [verdict_text for _, verdict_text, _ in labelled_verdicts],
        [label for _, _, label in labelled_verdicts],
    )
    column = {"score": "score", "pair": "pair_tie", "batch": "batch"}[task]
    paper = printed_number({"Gemini": "Gemini-Pro"}.get(judge, judge), column, dataset)
    if task == "batch":
        value, estimate = ranking_metrics(verdict_texts, truth)
        cell = Reproduced(f"{judge}/batch/{dataset}", value, value["n"], "normalized_levenshtein", estimate)
    else:
        cell = _subset_cell(judge, task, dataset, verdict_texts, truth)
    return replace(cell, paper=paper, source="Table 9")


def third_party_cells(release: Release) -> Iterator[Reproduced]:
    """Yield three later judges on the final benchmark, per data set and pooled."""
    for judge in THIRD_PARTY:
        scores = [(row.dataset, score, row.human) for row in release.third_party_scores if (score := row.judges[judge])]
        pairs = [(dataset, score, human) for dataset, score, human in scores if human is not None]
        rs = []
        for dataset in DATASETS:
            in_dataset = [(score, human) for name, score, human in pairs if name == dataset.name]
            if not in_dataset:
                continue
            value, estimate = score_metrics(*zip(*in_dataset, strict=True))
            rs.append(estimate)
            yield Reproduced(f"{judge}/score/{dataset.name}", value, value["n"], "pearson", estimate)
        if not pairs:
            continue
        value, estimate = _pooled_metrics([pair[1:] for pair in pairs], rs)
        yield Reproduced(f"{judge}/score/ALL", value, value["n"], "pearson_pooled", estimate)


def _pooled_metrics(pairs: Sequence[tuple[int, int]], rs: Sequence[Estimate | None]) -> tuple[Metrics, Estimate | None]:
    """Summarise data sets in both ways that papers confuse: over all rows, and as mean over data sets."""
    row_metrics, estimate = correlation_metrics(*zip(*pairs, strict=True))
    correlations = [r.value for r in rs if r is not None]
    value = {
        "n": row_metrics["n"],
        "pearson_pooled": row_metrics["pearson"],
        "spearman_pooled": row_metrics["spearman"],
        f"pearson_mean_of_{len(correlations)}": rounded_mean(correlations),
    }
    return value, estimate


def hq_subset_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the HQ subset, which its authors chose for agreement: verdicts, and people's reviews of them."""
    for judge in REVIEWED_JUDGES:
        rows = {task: [row for row in release.rows[file] if row.verdict_by(judge)] for task, file in HQ.items()}
        for task, task_rows in rows.items():
            verdict_texts, truth = _verdicts_and_labels(task_rows, judge)
            if verdict_texts and task == "batch":
                value, estimate = ranking_metrics(verdict_texts, truth)
                short = select_metrics(value, "n", "normalized_levenshtein", "exact_match")
                yield Reproduced(f"{judge}/batch/HQ", short, value["n"], "normalized_levenshtein", estimate)
            elif verdict_texts:
                yield _subset_cell(judge, task, "HQ", verdict_texts, truth)
        if not any(rows.values()):
            continue
        reviews = {task: _review_counts(task_rows, judge) for task, task_rows in rows.items()}
        yield Reproduced(f"{judge}/human_review/HQ", reviews, sum(r["n"] for r in reviews.values()), "score.agreed")


def _verdicts_and_labels(rows: Iterable[Row], judge: str) -> tuple[list[str], list[str]]:
    pairs = [
        (judgment.verdict_text, human.verdict_text)
        for row in rows
        if (judgment := row.verdict_by(judge)) and (human := row.verdict_by(PEOPLE))
    ]
    return [verdict_text for verdict_text, _ in pairs], [human for _, human in pairs]


def _subset_cell(judge: str, task: Task, subset: str, verdict_texts: Sequence[str], truth: Sequence[str]) -> Reproduced:
    name = f"{judge}/{task}/{subset}"
    if task == "pair":
        value, hits = choice_metrics(verdict_texts, truth)
        return Reproduced(name, value, value["n"], "accuracy_with_tie", hits)
    value, r = correlation_metrics([int(x) for x in verdict_texts], [int(x) for x in truth])
    return Reproduced(name, value, value["n"], "pearson", r)


def _review_counts(rows: Sequence[Row], judge: str) -> Metrics:
    reviews = [judgment.review for row in rows if (judgment := row.verdict_by(judge)) and judgment.review]
    return {
        "n": len(reviews),
        "agreed": sum(review.agrees is True for review in reviews),
        "hallucination": sum(review.hallucinates is True for review in reviews),
        "odd_judge_human": sum(review.stray for review in reviews),
    }


def hard_subset_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the hard subset. It has no labels; they come from the labelled files, joined by item and names."""
    labels = release.labels(FINAL_RANKINGS, files.RANKINGS)
    for judge in REVIEWED_JUDGES:
        rankings = release.rows[files.HARD_RANKINGS]
        rows = [(row, judgment) for row in rankings if row.number in labels and (judgment := row.verdict_by(judge))]
        if not rows:
            continue
        value, estimate = ranking_metrics(
            [judgment.verdict_text for _, judgment in rows], [labels[row.number] for row, _ in rows]
        )
        short = select_metrics(value, "n", "normalized_levenshtein", "levenshtein")
        yield Reproduced(f"{judge}/batch/Hard", short, value["n"], "normalized_levenshtein", estimate)
    people_labels = pair_labels(release)
    for judge in REVIEWED_JUDGES:
        pairs = [
            (judgment.verdict_text, label)
            for row in release.rows[files.HARD_PAIRS]
            if (judgment := row.verdict_by(judge)) and (label := label_for_row(people_labels, row))
        ]
        if pairs:
            cell = _subset_cell(
                judge, "pair", "Hard", [verdict_text for verdict_text, _ in pairs], [label for _, label in pairs]
            )
            yield replace(cell, value={**cell.value, **_decided_accuracy(release, people_labels, judge)})


def _decided_accuracy(release: Release, people_labels: PairLabels, judge: str) -> Metrics:
    hits = [
        judgment.verdict_text == label
        for row in release.rows[files.HARD_PAIRS]
        if (judgment := row.verdict_by(judge))
        and (label := label_for_row(people_labels, row))
        and "C" not in {label, *(verdict.verdict_text for verdict in row.verdicts)}
    ]
    return {
        "n_no_tie_in_human_or_any_judge": len(hits),
        "accuracy_no_tie_in_human_or_any_judge": rounded_mean(hits),
    }


PairLabels = dict[tuple[int, frozenset[str]], tuple[tuple[str, ...], str]]


def pair_labels(release: Release) -> PairLabels:
    """Return people's choices by item and unordered names; the last one if a pair was labelled twice."""
    return {
        (row.item, frozenset(row.contestants)): (row.contestants, judgment.verdict_text)
        for file in (files.FINAL_PAIRS, *files.MARKED_PAIRS, files.PAIRS)
        for row in release.rows.get(file, ())
        if (judgment := row.verdict_by(PEOPLE))
    }


def label_for_row(labels: PairLabels, row: Row) -> str | None:
    """Return people's choice on the pair of a row, in the row's order."""
    order, label = labels.get((row.item, frozenset(row.contestants)), (row.contestants, ""))
    if order != row.contestants:
        label = {"A": "B", "B": "A"}.get(label, label)
    return label or None


def parser_cells(release: Release) -> Iterator[Reproduced]:
    """Yield how often our parser and a person read the same verdict from a judge's text."""
    for task in ("score", "batch"):
        if release.rows[HQ[task]]:
            yield _parser_cell(release, task)
    hard = [judgment for row in release.rows[files.HARD_RANKINGS] for judgment in row.verdicts]
    texts_by_judge = {
        judge: [entry.verdict_text for entry in hard if entry.judge == judge] for judge in REVIEWED_JUDGES
    }
    value: Metrics = {
        judge: {"n": len(entry), "read": sum(map(bool, entry))} for judge, entry in texts_by_judge.items() if entry
    }
    # Also by released column name: `result1` holds Gemini's verdicts, `result2` those of GPT-4V.
    value |= {
        column: [sum(map(bool, texts_by_judge[judge])), len(texts_by_judge[judge])]
        for column, judge in (("result1", "Gemini"), ("result2", "GPT-4V"))
        if texts_by_judge[judge]
    }
    if hard:
        yield Reproduced("parser/batch/Hard", value, len(hard))


def _parser_cell(release: Release, task: Task) -> Reproduced:
    rows = [(row, judgment) for row in release.rows[HQ[task]] for judgment in row.verdicts if judgment.judge != PEOPLE]
    readings = [
        (row, judgment.verdict_text, read_verdict_text(judgment.text, task, len(row.contestants)))
        for row, judgment in rows
    ]
    value: Metrics = {"n": len(readings), "equal": sum(verdict_text == read for _, verdict_text, read in readings)}
    misread_rows = [row for row, verdict_text, read in readings if verdict_text != read]
    if task == "batch":
        misread_rows = [
            row for row, verdict_text, read in readings if trim_ranking(verdict_text, len(row.contestants)) != read
        ]
        value["equal_after_dropping_letters_without_an_answer"] = len(readings) - len(misread_rows)
    value["known_bad_ids"] = sorted(row.number for row in misread_rows)
    if task == "score":
        value["equal_at_least"] = value["equal"]
        value["known_bad_score_ids"] = value["known_bad_ids"]
        value["result_judge_last_char_equal"] = sum(
            verdict.raw_verdict_text[-1:] == verdict.verdict_text for _, verdict in rows
        )
        value["result_judge_first_char_equal"] = sum(
            verdict.raw_verdict_text[:1] == verdict.verdict_text for _, verdict in rows
        )
    return Reproduced(f"parser/{task}/HQ", value, len(readings), "equal")


def average_cells() -> Iterator[Reproduced]:
    """Recompute the paper's averages from its printed cells."""
    for row in read_table_9():
        value = {"n_cells": len(row.cells), "mean": round_metric(row.mean)}
        yield Reproduced(
            f"average/{row.judge}/{row.task}", value, len(row.cells), "mean", None, row.average, "Table 9", "printed"
        )


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and recompute every cell; also list oddities of its files."""
    release = Release.read(data)
    return Reproduction(list(paper_cells(release)), [release.oddities.table()])


Scores = list[tuple[Row, int, int]]
"""Rows with the judge's and people's score."""


def scores_with_labels(release: Release, *more: str) -> Scores:
    """Return CogVLM's rows that have a label from 1 to 5, with both scores."""
    labels = release.labels(files.FINAL_SCORES, files.SCORES, *more)
    scores = []
    for row in release.rows[files.COGVLM]:
        human, judge = labels.get(row.number, "0"), row.verdicts[0].verdict_text
        if human != "0" and judge:
            scores.append((row, int(judge), int(human)))
    return scores


def figure_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the data of the paper's figures on ego, length and position, for the released runs."""
    rows = scores_with_labels(release)
    if rows:
        yield Reproduced("figure/egocentric/CogVLM-score", egocentric_metrics(rows, "cogvlm"), len(rows), "excess")
        yield Reproduced("figure/length/CogVLM-score", length_metrics(rows), len(rows), "judge")
        yield Reproduced("figure/density/CogVLM-score", density_metrics(rows), len(rows), "judge_mean")
    value = position_metrics(release)
    if value["n"]:
        yield Reproduced("figure/position/LLaVA-batch", value, value["n"], "share_ABCD")
    value = mean_rank_metrics(release)
    if value["n"]:
        yield Reproduced("figure/egocentric/LLaVA-batch", value, value["n"], "judge_mean_rank.llava")


def egocentric_metrics(rows: Scores, own_contestant: str) -> Metrics:
    """Return mean scores per author, and the judge's bias towards its own answers beyond that of people."""
    names = [row.contestants[0] for row, _, _ in rows]
    marks = {"judge": [judge for _, judge, _ in rows], "human": [human for _, _, human in rows]}
    summary: Metrics = {"n": len(rows)}
    gaps: list[float | None] = []
    for rater, scores in marks.items():
        author_mark_pairs = list(zip(names, scores, strict=True))
        marks_by_author = {
            name: [mark for author, mark in author_mark_pairs if author == name] for name in dict.fromkeys(names)
        }
        summary[f"{rater}_mean"] = {name: rounded_mean(author_marks) for name, author_marks in marks_by_author.items()}
        other_marks = [mark for author, mark in author_mark_pairs if author != own_contestant]
        gaps.append(
            fmean(marks_by_author[own_contestant]) - fmean(other_marks)
            if own_contestant in marks_by_author and other_marks
            else None
        )
    excess = None if gaps[0] is None or gaps[1] is None else round_metric(gaps[0] - gaps[1])
    for rater, gap in zip(marks, gaps, strict=True):
        summary[f"{rater}_self_minus_others"] = None if gap is None else round_metric(gap)
    return {**summary, "excess": excess}


def length_metrics(rows: Scores) -> Metrics:
    """Correlate scores with the number of words of the answer, for the judge and for people."""
    words = [len(row.answers[0].split()) for row, _, _ in rows]
    judge, human = [mark for _, mark, _ in rows], [label for _, _, label in rows]
    by_score = {
        str(score): round_metric(fmean(count for count, mark in zip(words, judge, strict=True) if mark == score))
        for score in sorted(set(judge))
    }
    return {
        "n": len(rows),
        "judge": correlation_metrics(words, judge)[0]["pearson"],
        "human": correlation_metrics(words, human)[0]["pearson"],
        "mean_words_by_judge_score": by_score,
    }


def density_metrics(rows: Scores) -> Metrics:
    """Return the share of each score by the judge and by people on the same answers."""
    judge, human = Counter(mark for _, mark, _ in rows), Counter(label for _, _, label in rows)
    return {
        "n": len(rows),
        "judge": {str(score): round_metric(judge[score] / len(rows)) for score in range(1, 6)},
        "human": {str(score): round_metric(human[score] / len(rows)) for score in range(1, 6)},
        "judge_mean": round_metric(fmean(mark for _, mark, _ in rows)),
        "human_mean": round_metric(fmean(label for _, _, label in rows)),
    }


def position_metrics(release: Release) -> Metrics:
    """Return the shares of first places by letter, and of rankings that repeat the order shown."""
    labels = release.labels(files.FINAL_RANKINGS, files.RANKINGS)
    rows = [row for row in release.rows[files.LLAVA] if row.number in labels]
    rankings = [row.verdicts[0].verdict_text for row in rows]
    truth = [labels[row.number] for row in rows]
    letters = LETTERS[:4]
    firsts, human = Counter(x[:1] for x in rankings), Counter(x[:1] for x in truth)
    if not rows:
        return {"n": 0}
    return {
        "n": len(rows),
        "share_ABCD": round_metric(sum(x == letters for x in rankings) / len(rows)),
        "first_place": {letter: round_metric(firsts[letter] / len(rows)) for letter in letters},
        "human_first_place": {letter: round_metric(human[letter] / len(rows)) for letter in letters},
        "n_invalid_permutation": sum(len(set(x)) < len(x) for x in rankings),
        "n_ranks_more_answers_than_exist": sum(
            len(x) > len(row.contestants) for x, row in zip(rankings, rows, strict=True)
        ),
    }


def mean_rank_metrics(release: Release) -> Metrics:
    """Return each model's mean rank by LLaVA and by people (1 is best), over complete rankings of four answers."""
    labels = release.labels(files.FINAL_RANKINGS, files.RANKINGS)
    ranks: dict[str, dict[str, list[int]]] = {"judge": {}, "human": {}}
    n = 0
    for row in release.rows[files.LLAVA]:
        orders = {"judge": row.verdicts[0].verdict_text, "human": labels.get(row.number, "")}
        letters = LETTERS[: len(row.contestants)]
        # People's label must rank four answers. If the judge names an answer twice, the first place counts.
        if len(letters) != 4 or sorted(orders["human"]) != sorted(letters) or not set(letters) <= set(orders["judge"]):
            continue
        n += 1
        for rater, order in orders.items():
            for letter, name in zip(letters, row.contestants, strict=True):
                ranks[rater].setdefault(name, []).append(order.index(letter) + 1)
    return {
        "n": n,
        **{
            f"{rater}_mean_rank": {name: rounded_mean(places) for name, places in by_name.items()}
            for rater, by_name in ranks.items()
        },
    }


def annotator_cells(release: Release) -> Iterator[Reproduced]:
    """Yield the labels of each of the four annotators, and of the combined files."""
    annotators = (*map(str, MARKERS), "done")
    for annotator, file in zip(annotators, (*files.MARKED_PAIRS, files.PAIRS), strict=True):
        if rows := release.rows[file]:
            counts = Counter(row.verdicts[0].verdict_text for row in rows)
            value: Metrics = {"rows": len(rows), "unique_pair_id": len({row.number for row in rows})}
            value |= {letter: counts[letter] for letter in "ABC"}
            yield Reproduced(f"figure/annotator/pair-{annotator}", value, len(rows), "rows")
    for annotator, file in zip(annotators, (*files.MARKED_SCORES, files.SCORES), strict=True):
        if rows := release.rows[file]:
            counts = Counter(row.verdicts[0].verdict_text for row in rows)
            value = {
                "rows": len(rows),
                "unique_score_id": len({row.number for row in rows}),
                "mean": round_metric(fmean(int(row.verdicts[0].verdict_text) for row in rows)),
                "hist": {str(score): counts[str(score)] for score in range(6)},
            }
            yield Reproduced(f"figure/annotator/score-{annotator}", value, len(rows), "mean")
