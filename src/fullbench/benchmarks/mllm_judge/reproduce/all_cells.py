"""Every published cell that the released data allow, computed again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.file_layouts import read_ruling
from fullbench.benchmarks.mllm_judge.release.load_release import FINAL_RANKINGS, FINAL_SCORES, HQ, THIRD_PARTY, Release
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task, marks, trimmed
from fullbench.benchmarks.mllm_judge.reproduce import charts
from fullbench.benchmarks.mllm_judge.reproduce.charts import joined
from fullbench.benchmarks.mllm_judge.reproduce.metrics import (
    Figures,
    average,
    chosen,
    correlated,
    only,
    ranked,
    rounded,
    scored,
)
from fullbench.benchmarks.mllm_judge.source_datasets import DATASETS, FIRST_TEN
from fullbench.core.estimate import Estimate
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement.ranking_agreement import edit_distance

# The paper's Table 9, as printed: every judge, task and data set, and the average it prints beside them.


@dataclass(frozen=True)
class Printed:
    """One row of the table: a figure for each data set that has one, and the printed average."""

    task: str
    judge: str
    cells: Mapping[str, float]
    average: float

    @property
    def mean(self) -> float:
        """The unweighted mean of the cells that are there, which is what the paper's average is."""
        return sum(self.cells.values()) / len(self.cells)


@cache
def table9() -> tuple[Printed, ...]:
    """All rows.

    >>> row = next(row for row in table9() if (row.judge, row.task) == ("CogVLM", "score"))
    >>> len(row.cells), round(row.mean, 4), row.average
    (10, 0.0281, 0.028)
    """
    text = (resources.files("fullbench.benchmarks.mllm_judge") / "table9.tsv").read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines()[1:]:
        task, judge, *figures, average = line.split("\t")
        cells = {dataset.name: float(figure) for dataset, figure in zip(DATASETS, figures, strict=True) if figure}
        rows.append(Printed(task, judge, cells, float(average)))
    return tuple(rows)


def printed(judge: str, task: str, dataset: str) -> float | None:
    """What the paper prints in one cell; None where it prints nothing."""
    return next((row.cells.get(dataset) for row in table9() if (row.judge, row.task) == (judge, task)), None)


REVIEWED = ("GPT-4V", "Gemini")


def cells(release: Release) -> Iterator[Reproduced]:
    """All of them, family by family; each family has every member that the data allow."""
    yield from llava_rankings(release)
    yield from cogvlm_scores(release)
    yield from whole_runs(release)
    yield from third_party(release)
    yield from good_subset(release)
    yield from hard_subset(release)
    yield from reading(release)
    yield from charts.figures(release)
    yield from charts.annotators(release)
    yield from averages()


def llava_rankings(release: Release) -> Iterator[Reproduced]:
    """LLaVA-1.5-13b's rankings beside people's: strings as released, and with impossible letters taken out."""
    labels = release.labels(FINAL_RANKINGS, files.RANKINGS)
    labelled = [row for row in release.rows[files.LLAVA] if row.number in labels]
    distances = []
    for dataset in FIRST_TEN:
        rows = [row for row in labelled if row.dataset == dataset]
        if not rows:
            continue
        value, estimate = _rankings(rows, labels)
        distances.append(value["normalized_levenshtein"])
        n = value.pop("n")
        yield Reproduced(
            f"LLaVA-1.5-13b/batch/{dataset}", value, n, "normalized_levenshtein", estimate,
            printed("LLaVA-1.5-13b", "batch", dataset), "Table 9",
        )  # fmt: skip
    if not labelled:
        return
    value, estimate = _rankings(labelled, labels)
    value[f"normalized_levenshtein_mean_of_{len(distances)}"] = average(distances)
    yield Reproduced("LLaVA-1.5-13b/batch/ALL", value, value["n"], "normalized_levenshtein", estimate)


def _rankings(rows: Sequence[Row], labels: Mapping[int, str]) -> tuple[Figures, Estimate | None]:
    rulings, truth = [row.given[0].ruling for row in rows], [labels[row.number] for row in rows]
    value, estimate = ranked(rulings, truth)
    sound = [
        (trimmed(ours, len(row.contestants)), trimmed(label, len(row.contestants)))
        for row, ours, label in zip(rows, rulings, truth, strict=True)
        if label and len(set(label)) == len(label)
    ]
    distances = [edit_distance(ours, label) for ours, label in sound]
    value |= {"n_trimmed": len(distances), "normalized_levenshtein_trimmed": average(distances)}
    return value, estimate


def cogvlm_scores(release: Release) -> Iterator[Reproduced]:
    """CogVLM's scores beside people's, in four readings of a file that holds some rows twice."""
    variants = {
        "all_rows": joined(release),
        "last_row_wins": list({row.number: (row, judge, human) for row, judge, human in joined(release)}.values()),
        "first_run_rows": [entry for entry in joined(release) if not entry[0].given[0].again],
        "all_rows_all_labels": joined(release, *files.MARKED_SCORES),
    }
    rs: dict[str, list[Estimate | None]] = {name: [] for name in variants}
    for dataset in FIRST_TEN:
        value: Figures = {}
        for name, rows in variants.items():
            in_dataset = [(judge, human) for row, judge, human in rows if row.dataset == dataset]
            if in_dataset:
                value[name], estimate = correlated(*zip(*in_dataset, strict=True))
                rs[name].append(estimate)
        if "first_run_rows" in value:
            yield Reproduced(
                f"CogVLM/score/{dataset}", value, value["all_rows"]["n"], "first_run_rows.pearson",
                rs["first_run_rows"][-1], printed("CogVLM", "score", dataset), "Table 9",
            )  # fmt: skip
    pooled = {name: _pooled([row[1:] for row in rows], rs[name])[0] for name, rows in variants.items() if rows}
    if "first_run_rows" not in pooled:
        return
    mean = next(name for name in pooled["first_run_rows"] if "mean" in name)
    value = {**pooled, **_on_the_final_labels(release)}
    yield Reproduced(
        "CogVLM/score/ALL", value, pooled["all_rows"]["n"], f"first_run_rows.{mean}", None,
        next(row.average for row in table9() if (row.judge, row.task) == ("CogVLM", "score")), "Table 9",
    )  # fmt: skip


def _on_the_final_labels(release: Release) -> Figures:
    """CogVLM beside the final benchmark's scores, as another project compares its judges: pooled, exact and near."""
    labels = {row.score_id: row.human for row in release.scored if row.score_id is not None and row.human is not None}
    pairs = [
        (int(row.given[0].ruling), human)
        for row in release.rows[files.COGVLM]
        if (human := labels.get(row.number)) is not None and row.given[0].ruling in set("12345")
    ]
    if not pairs:
        return {}
    value, _ = scored(*zip(*pairs, strict=True))
    near = sum(abs(judge - human) <= 2 for judge, human in pairs) / len(pairs)
    return {
        **only(value, "n", "exact", "within_1"),
        "within_2": rounded(near),
        "mae": value["mae"],
        "pearson_pooled": value["pearson"],
    }


def whole_runs(release: Release) -> Iterator[Reproduced]:
    """The runs of the full download, where it is there: each judge, task and data set beside the paper's cell."""
    labels = {
        "score": release.labels(FINAL_SCORES, files.SCORES),
        "batch": release.labels(FINAL_RANKINGS, files.RANKINGS),
    }
    pairs = pair_labels(release)
    for file, (task, _) in files.WHOLE_RUNS.items():
        rows = release.rows.get(file, ()) if file.startswith("step3/") else ()
        for dataset in dict.fromkeys(row.dataset for row in rows):
            labelled = [
                (row.given[0].judge, row.given[0].ruling, label)
                for row in rows
                if row.dataset == dataset
                and (label := turned(pairs, row) if task == "pair" else labels[task].get(row.number))
                and marks(task, row.given[0].ruling, len(row.contestants))
                and marks(task, label, len(row.contestants))
            ]
            if labelled:
                yield _whole(task, dataset, labelled)


def _whole(task: Task, dataset: str, labelled: Sequence[tuple[str, str, str]]) -> Reproduced:
    judge = labelled[0][0]
    rulings, truth = [ruling for _, ruling, _ in labelled], [label for _, _, label in labelled]
    column = {"score": "score", "pair": "pair_tie", "batch": "batch"}[task]
    paper = printed({"Gemini": "Gemini-Pro"}.get(judge, judge), column, dataset)
    if task == "batch":
        value, estimate = ranked(rulings, truth)
        cell = Reproduced(f"{judge}/batch/{dataset}", value, value["n"], "normalized_levenshtein", estimate)
    else:
        cell = _subset(judge, task, dataset, rulings, truth)
    return replace(cell, paper=paper, source="Table 9")


def third_party(release: Release) -> Iterator[Reproduced]:
    """Three later judges on the final benchmark, data set by data set and pooled."""
    for judge in THIRD_PARTY:
        scores = [(row.dataset, score, row.human) for row in release.scored if (score := row.judges[judge])]
        pairs = [(dataset, score, human) for dataset, score, human in scores if human is not None]
        rs = []
        for dataset in DATASETS:
            in_dataset = [(score, human) for name, score, human in pairs if name == dataset.name]
            if not in_dataset:
                continue
            value, estimate = scored(*zip(*in_dataset, strict=True))
            rs.append(estimate)
            yield Reproduced(f"{judge}/score/{dataset.name}", value, value["n"], "pearson", estimate)
        if not pairs:
            continue
        value, estimate = _pooled([pair[1:] for pair in pairs], rs)
        yield Reproduced(f"{judge}/score/ALL", value, value["n"], "pearson_pooled", estimate)


def _pooled(pairs: Sequence[tuple[int, int]], rs: Sequence[Estimate | None]) -> tuple[Figures, Estimate | None]:
    """The two ways to sum up data sets, which papers mix up: all rows in one, or the mean of the data sets' figures."""
    pooled, estimate = correlated(*zip(*pairs, strict=True))
    known = [r.value for r in rs if r is not None]
    value = {
        "n": pooled["n"],
        "pearson_pooled": pooled["pearson"],
        "spearman_pooled": pooled["spearman"],
        f"pearson_mean_of_{len(known)}": average(known),
    }
    return value, estimate


def good_subset(release: Release) -> Iterator[Reproduced]:
    """The HQ subset, chosen by its authors for agreement: rulings, and what people said of them."""
    for judge in REVIEWED:
        rows = {task: [row for row in release.rows[file] if row.by(judge)] for task, file in HQ.items()}
        for task, task_rows in rows.items():
            rulings, truth = _both(task_rows, judge)
            if rulings and task == "batch":
                value, estimate = ranked(rulings, truth)
                short = only(value, "n", "normalized_levenshtein", "exact_match")
                yield Reproduced(f"{judge}/batch/HQ", short, value["n"], "normalized_levenshtein", estimate)
            elif rulings:
                yield _subset(judge, task, "HQ", rulings, truth)
        if not any(rows.values()):
            continue
        reviews = {task: _reviewed(task_rows, judge) for task, task_rows in rows.items()}
        yield Reproduced(f"{judge}/human_review/HQ", reviews, sum(r["n"] for r in reviews.values()), "score.agreed")


def _both(rows: Iterable[Row], judge: str) -> tuple[list[str], list[str]]:
    pairs = [
        (judgment.ruling, human.ruling) for row in rows if (judgment := row.by(judge)) and (human := row.by(PEOPLE))
    ]
    return [ruling for ruling, _ in pairs], [human for _, human in pairs]


def _subset(judge: str, task: Task, subset: str, rulings: Sequence[str], truth: Sequence[str]) -> Reproduced:
    name = f"{judge}/{task}/{subset}"
    if task == "pair":
        value, hits = chosen(rulings, truth)
        return Reproduced(name, value, value["n"], "accuracy_with_tie", hits)
    value, r = correlated([int(x) for x in rulings], [int(x) for x in truth])
    return Reproduced(name, value, value["n"], "pearson", r)


def _reviewed(rows: Sequence[Row], judge: str) -> Figures:
    reviews = [judgment.review for row in rows if (judgment := row.by(judge)) and judgment.review]
    return {
        "n": len(reviews),
        "agreed": sum(review.agrees is True for review in reviews),
        "hallucination": sum(review.hallucinates is True for review in reviews),
        "odd_judge_human": sum(review.stray for review in reviews),
    }


def hard_subset(release: Release) -> Iterator[Reproduced]:
    """The hard subset holds no labels: they come from the labelled files, pairs joined by item and names."""
    labels = release.labels(FINAL_RANKINGS, files.RANKINGS)
    for judge in REVIEWED:
        rankings = release.rows[files.HARD_RANKINGS]
        rows = [(row, judgment) for row in rankings if row.number in labels and (judgment := row.by(judge))]
        if not rows:
            continue
        value, estimate = ranked([judgment.ruling for _, judgment in rows], [labels[row.number] for row, _ in rows])
        short = only(value, "n", "normalized_levenshtein", "levenshtein")
        yield Reproduced(f"{judge}/batch/Hard", short, value["n"], "normalized_levenshtein", estimate)
    people = pair_labels(release)
    for judge in REVIEWED:
        pairs = [
            (judgment.ruling, label)
            for row in release.rows[files.HARD_PAIRS]
            if (judgment := row.by(judge)) and (label := turned(people, row))
        ]
        if pairs:
            cell = _subset(judge, "pair", "Hard", [ruling for ruling, _ in pairs], [label for _, label in pairs])
            yield replace(cell, value={**cell.value, **_decided(release, people, judge)})


def _decided(release: Release, people: PairLabels, judge: str) -> Figures:
    """A judge's accuracy on the hard pairs on which neither people nor any of the judges ties."""
    hits = [
        judgment.ruling == label
        for row in release.rows[files.HARD_PAIRS]
        if (judgment := row.by(judge))
        and (label := turned(people, row))
        and "C" not in {label, *(given.ruling for given in row.given)}
    ]
    return {
        "n_no_tie_in_human_or_any_judge": len(hits),
        "accuracy_no_tie_in_human_or_any_judge": average(hits),
    }


PairLabels = dict[tuple[int, frozenset[str]], tuple[tuple[str, ...], str]]


def pair_labels(release: Release) -> PairLabels:
    """People's choices by item and unordered names; where a pair was labelled twice, the last."""
    return {
        (row.item, frozenset(row.contestants)): (row.contestants, judgment.ruling)
        for file in (files.FINAL_PAIRS, *files.MARKED_PAIRS, files.PAIRS)
        for row in release.rows.get(file, ())
        if (judgment := row.by(PEOPLE))
    }


def turned(labels: PairLabels, row: Row) -> str | None:
    """People's choice on the pair of a row, in the order the row shows it."""
    order, label = labels.get((row.item, frozenset(row.contestants)), (row.contestants, ""))
    if order != row.contestants:
        label = {"A": "B", "B": "A"}.get(label, label)
    return label or None


def reading(release: Release) -> Iterator[Reproduced]:
    """How often the last ruling in a judge's words is what a person read from them."""
    for task in ("score", "batch"):
        if release.rows[HQ[task]]:
            yield _read(release, task)
    hard = [judgment for row in release.rows[files.HARD_RANKINGS] for judgment in row.given]
    rulings = {judge: [given.ruling for given in hard if given.judge == judge] for judge in REVIEWED}
    value: Figures = {
        judge: {"n": len(given), "read": sum(map(bool, given))} for judge, given in rulings.items() if given
    }
    # By the names of the released columns, too: Gemini's rulings are `result1`, GPT-4V's `result2`.
    value |= {
        column: [sum(map(bool, rulings[judge])), len(rulings[judge])]
        for column, judge in (("result1", "Gemini"), ("result2", "GPT-4V"))
        if rulings[judge]
    }
    if hard:
        yield Reproduced("parser/batch/Hard", value, len(hard))


def _read(release: Release, task: Task) -> Reproduced:
    rows = [(row, judgment) for row in release.rows[HQ[task]] for judgment in row.given if judgment.judge != PEOPLE]
    readings = [
        (row, judgment.ruling, read_ruling(judgment.text, task, len(row.contestants))) for row, judgment in rows
    ]
    value: Figures = {"n": len(readings), "equal": sum(ruling == read for _, ruling, read in readings)}
    bad = [row for row, ruling, read in readings if ruling != read]
    if task == "batch":
        bad = [row for row, ruling, read in readings if trimmed(ruling, len(row.contestants)) != read]
        value["equal_after_dropping_letters_without_an_answer"] = len(readings) - len(bad)
    value["known_bad_ids"] = sorted(row.number for row in bad)
    if task == "score":
        value["equal_at_least"] = value["equal"]
        value["known_bad_score_ids"] = value["known_bad_ids"]
        value["result_judge_last_char_equal"] = sum(given.written[-1:] == given.ruling for _, given in rows)
        value["result_judge_first_char_equal"] = sum(given.written[:1] == given.ruling for _, given in rows)
    return Reproduced(f"parser/{task}/HQ", value, len(readings), "equal")


def averages() -> Iterator[Reproduced]:
    """The paper's own averages, from the paper's own cells: do they follow?"""
    for row in table9():
        value = {"n_cells": len(row.cells), "mean": rounded(row.mean)}
        yield Reproduced(
            f"average/{row.judge}/{row.task}", value, len(row.cells), "mean", None, row.average, "Table 9", "printed"
        )


# All of the paper that the released data allow, and what was odd in them.


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and compute every cell again."""
    release = Release.read(data)
    return Reproduction(list(cells(release)), [release.oddities.table()])
