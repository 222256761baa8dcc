"""Every published cell that the released data allow, computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from fullbench.benchmarks.mllm_judge import release as files
from fullbench.benchmarks.mllm_judge.datasets import DATASETS, FIRST_TEN
from fullbench.benchmarks.mllm_judge.figures import (
    Figures,
    chosen,
    correlated,
    only,
    ranked,
    rounded,
    scored,
)
from fullbench.benchmarks.mllm_judge.layouts import read_ruling
from fullbench.benchmarks.mllm_judge.published import printed, table9
from fullbench.benchmarks.mllm_judge.release import HQ, MARKERS, THIRD_PARTY, Release
from fullbench.benchmarks.mllm_judge.rows import PEOPLE, Row, Task, trimmed
from fullbench.core.ballots import LETTERS
from fullbench.core.reproduced import Reproduced
from fullbench.stats.estimates import Estimate

REVIEWED = ("GPT-4V", "Gemini")
Scores = list[tuple[Row, int, int]]


def cells(release: Release) -> Iterator[Reproduced]:
    """All of them, family by family; each family has every member that the data allow."""
    yield from llava_rankings(release)
    yield from cogvlm_scores(release)
    yield from third_party(release)
    yield from good_subset(release)
    yield from hard_subset(release)
    yield from reading(release)
    yield from figures(release)
    yield from annotators(release)
    yield from averages()


def llava_rankings(release: Release) -> Iterator[Reproduced]:
    """LLaVA-1.5-13b's rankings beside people's: strings as released, and with impossible letters taken out."""
    labels = release.labels(files.RANKINGS)
    for dataset in FIRST_TEN:
        rows = [row for row in release.rows[files.LLAVA] if row.dataset == dataset]
        if not rows:
            continue
        given = [row.given[0].ruling for row in rows]
        truth = [labels[row.number] for row in rows]
        value, estimate = ranked(given, truth)
        sizes = [len(row.contestants) for row in rows]
        sound = [place for place, label in enumerate(truth) if label and len(set(label)) == len(label)]
        cut, _ = ranked(
            [trimmed(given[place], sizes[place]) for place in sound],
            [trimmed(truth[place], sizes[place]) for place in sound],
        )
        n = value.pop("n")
        value |= {"n_trimmed": cut["n"], "normalized_levenshtein_trimmed": cut["normalized_levenshtein"]}
        yield Reproduced(
            f"LLaVA-1.5-13b/batch/{dataset}", value, n, "normalized_levenshtein", estimate,
            printed("LLaVA-1.5-13b", "batch", dataset), "Table 9",
        )  # fmt: skip


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
            mine = [(judge, human) for row, judge, human in rows if row.dataset == dataset]
            if mine:
                value[name], estimate = correlated(*zip(*mine, strict=True))
                rs[name].append(estimate)
        if "first_run_rows" in value:
            yield Reproduced(
                f"CogVLM/score/{dataset}", value, value["all_rows"]["n"], "first_run_rows.pearson",
                rs["first_run_rows"][-1], printed("CogVLM", "score", dataset), "Table 9",
            )  # fmt: skip
    pooled = {name: _pooled([row[1:] for row in rows], rs[name])[0] for name, rows in variants.items()}
    mean = f"pearson_mean_of_{len(FIRST_TEN)}"
    yield Reproduced(
        "CogVLM/score/ALL", pooled, pooled["all_rows"]["n"], f"first_run_rows.{mean}", None,
        next(row.average for row in table9() if (row.judge, row.task) == ("CogVLM", "score")), "Table 9",
    )  # fmt: skip


def joined(release: Release, *more: str) -> Scores:
    """CogVLM's rows that have a label from 1 to 5, with both scores."""
    labels = release.labels(files.SCORES, *more)
    found = []
    for row in release.rows[files.COGVLM]:
        human, judge = labels.get(row.number, "0"), row.given[0].ruling
        if human != "0" and judge:
            found.append((row, int(judge), int(human)))
    return found


def third_party(release: Release) -> Iterator[Reproduced]:
    """Three later judges on the final benchmark, data set by data set and pooled."""
    for judge in THIRD_PARTY:
        kept = [(row.dataset, given, row.human) for row in release.scored if (given := row.judges[judge])]
        pairs = [(dataset, given, human) for dataset, given, human in kept if human is not None]
        rs = []
        for dataset in DATASETS:
            mine = [(given, human) for name, given, human in pairs if name == dataset.name]
            if not mine:
                continue
            value, estimate = scored(*zip(*mine, strict=True))
            rs.append(estimate)
            yield Reproduced(f"{judge}/score/{dataset.name}", value, value["n"], "pearson", estimate)
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
        f"pearson_mean_of_{len(known)}": rounded(fmean(known)),
    }
    return value, estimate


def good_subset(release: Release) -> Iterator[Reproduced]:
    """The HQ subset, chosen by its authors for agreement: rulings, and what people said of them."""
    for judge in REVIEWED:
        rows = {task: [row for row in release.rows[file] if row.by(judge)] for task, file in HQ.items()}
        yield _subset(judge, "score", "HQ", *_both(rows["score"], judge))
        yield _subset(judge, "pair", "HQ", *_both(rows["pair"], judge))
        value, estimate = ranked(*_both(rows["batch"], judge))
        short = only(value, "n", "normalized_levenshtein", "exact_match")
        yield Reproduced(f"{judge}/batch/HQ", short, value["n"], "normalized_levenshtein", estimate)
        reviews = {task: _reviewed(mine, judge) for task, mine in rows.items()}
        yield Reproduced(f"{judge}/human_review/HQ", reviews, sum(r["n"] for r in reviews.values()), "score.agreed")


def _both(rows: Iterable[Row], judge: str) -> tuple[list[str], list[str]]:
    pairs = [(mine.ruling, human.ruling) for row in rows if (mine := row.by(judge)) and (human := row.by(PEOPLE))]
    return [mine for mine, _ in pairs], [human for _, human in pairs]


def _subset(judge: str, task: Task, subset: str, given: Sequence[str], truth: Sequence[str]) -> Reproduced:
    name = f"{judge}/{task}/{subset}"
    if task == "pair":
        value, hits = chosen(given, truth)
        return Reproduced(name, value, value["n"], "accuracy_with_tie", hits)
    value, r = correlated([int(x) for x in given], [int(x) for x in truth])
    return Reproduced(name, value, value["n"], "pearson", r)


def _reviewed(rows: Sequence[Row], judge: str) -> Figures:
    reviews = [given.review for row in rows if (given := row.by(judge)) and given.review]
    return {
        "n": len(reviews),
        "agreed": sum(review.agrees is True for review in reviews),
        "hallucination": sum(review.hallucinates is True for review in reviews),
        "odd_judge_human": sum(review.stray for review in reviews),
    }


def hard_subset(release: Release) -> Iterator[Reproduced]:
    """The hard subset holds no labels: they come from the labelled files, pairs joined by item and names."""
    labels = release.labels(files.RANKINGS)
    for judge in REVIEWED:
        rows = [(row, given) for row in release.rows[files.HARD_RANKINGS] if (given := row.by(judge))]
        value, estimate = ranked([given.ruling for _, given in rows], [labels[row.number] for row, _ in rows])
        short = only(value, "n", "normalized_levenshtein", "levenshtein")
        yield Reproduced(f"{judge}/batch/Hard", short, value["n"], "normalized_levenshtein", estimate)
    people = pair_labels(release)
    for judge in REVIEWED:
        pairs = [
            (given.ruling, label)
            for row in release.rows[files.HARD_PAIRS]
            if (given := row.by(judge)) and (label := turned(people, row))
        ]
        yield _subset(judge, "pair", "Hard", [given for given, _ in pairs], [label for _, label in pairs])


PairLabels = dict[tuple[int, frozenset[str]], tuple[tuple[str, ...], str]]


def pair_labels(release: Release) -> PairLabels:
    """People's choices by item and unordered names; where a pair was labelled twice, the last."""
    return {
        (row.item, frozenset(row.contestants)): (row.contestants, given.ruling)
        for file in (files.PAIRS, *files.MARKED_PAIRS)
        for row in release.rows[file]
        if (given := row.by(PEOPLE))
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
        yield _read(release, task)
    hard = [given for row in release.rows[files.HARD_RANKINGS] for given in row.given]
    value = {
        judge: {"n": len(mine), "read": sum(map(bool, mine))}
        for judge in REVIEWED
        if (mine := [given.ruling for given in hard if given.judge == judge])
    }
    yield Reproduced("parser/batch/Hard", value, len(hard))


def _read(release: Release, task: Task) -> Reproduced:
    rows = [(row, given) for row in release.rows[HQ[task]] for given in row.given if given.judge != PEOPLE]
    found = [(row, given.ruling, read_ruling(given.text, task, len(row.contestants))) for row, given in rows]
    value: Figures = {"n": len(found), "equal": sum(ruling == mine for _, ruling, mine in found)}
    bad = [row for row, ruling, mine in found if ruling != mine]
    if task == "batch":
        bad = [row for row, ruling, mine in found if trimmed(ruling, len(row.contestants)) != mine]
        value["equal_after_dropping_letters_without_an_answer"] = len(found) - len(bad)
    value["known_bad_ids"] = sorted(row.number for row in bad)
    return Reproduced(f"parser/{task}/HQ", value, len(found), "equal")


def figures(release: Release) -> Iterator[Reproduced]:
    """What the paper's figures on ego, length and position show, for the runs that were released."""
    rows = joined(release)
    yield Reproduced("figure/egocentric/CogVLM-score", egocentric(rows, "cogvlm"), len(rows), "excess")
    yield Reproduced("figure/length/CogVLM-score", length(rows), len(rows), "judge")
    value = position(release)
    yield Reproduced("figure/position/LLaVA-batch", value, value["n"], "share_ABCD")


def egocentric(rows: Scores, own: str) -> Figures:
    """Mean scores by who wrote the answer, and how much more the judge favours its own than people do."""
    names = [row.contestants[0] for row, _, _ in rows]
    marks = {"judge": [judge for _, judge, _ in rows], "human": [human for _, _, human in rows]}
    means: dict[str, dict[str, float]] = {}
    gaps: dict[str, float] = {}
    for who, given in marks.items():
        named = list(zip(names, given, strict=True))
        means[who] = {name: fmean(mark for author, mark in named if author == name) for name in dict.fromkeys(names)}
        gaps[who] = means[who][own] - fmean(mark for author, mark in named if author != own)
    return {
        "n": len(rows),
        **{f"{who}_mean": {name: rounded(figure) for name, figure in by.items()} for who, by in means.items()},
        "judge_self_minus_others": rounded(gaps["judge"]),
        "human_self_minus_others": rounded(gaps["human"]),
        "excess": rounded(gaps["judge"] - gaps["human"]),
    }


def length(rows: Scores) -> Figures:
    """How scores go with the number of words of the answer, for the judge and for people."""
    words = [len(row.answers[0].split()) for row, _, _ in rows]
    judge, human = [given for _, given, _ in rows], [label for _, _, label in rows]
    by_score = {
        str(score): rounded(fmean(count for count, given in zip(words, judge, strict=True) if given == score))
        for score in sorted(set(judge))
    }
    return {
        "n": len(rows),
        "judge": correlated(words, judge)[0]["pearson"],
        "human": correlated(words, human)[0]["pearson"],
        "mean_words_by_judge_score": by_score,
    }


def position(release: Release) -> Figures:
    """Who is put first, and how often the order shown is simply given back."""
    rows = release.rows[files.LLAVA]
    labels = release.labels(files.RANKINGS)
    given = [row.given[0].ruling for row in rows]
    truth = [labels[row.number] for row in rows]
    letters = LETTERS[:4]
    firsts, human = Counter(x[:1] for x in given), Counter(x[:1] for x in truth)
    return {
        "n": len(rows),
        "share_ABCD": rounded(sum(x == letters for x in given) / len(rows)),
        "first_place": {letter: rounded(firsts[letter] / len(rows)) for letter in letters},
        "human_first_place": {letter: rounded(human[letter] / len(rows)) for letter in letters},
        "n_invalid_permutation": sum(len(set(x)) < len(x) for x in given),
        "n_ranks_more_answers_than_exist": sum(
            len(x) > len(row.contestants) for x, row in zip(given, rows, strict=True)
        ),
    }


def annotators(release: Release) -> Iterator[Reproduced]:
    """What each of the four annotators gave."""
    for who, file in zip(MARKERS, files.MARKED_PAIRS, strict=True):
        rows = release.rows[file]
        counts = Counter(row.given[0].ruling for row in rows)
        value: Figures = {"rows": len(rows), "unique_pair_id": len({row.number for row in rows})}
        value |= {letter: counts[letter] for letter in "ABC"}
        yield Reproduced(f"figure/annotator/pair-{who}", value, len(rows), "rows")
    for who, file in zip(MARKERS, files.MARKED_SCORES, strict=True):
        rows = release.rows[file]
        scores = [int(row.given[0].ruling) for row in rows]
        counts = Counter(row.given[0].ruling for row in rows)
        value = {
            "rows": len(rows),
            "unique_score_id": len({row.number for row in rows}),
            "mean": rounded(fmean(scores)),
            "hist": {str(score): counts[str(score)] for score in range(6)},
        }
        yield Reproduced(f"figure/annotator/score-{who}", value, len(rows), "mean")


def averages() -> Iterator[Reproduced]:
    """The paper's own averages, from the paper's own cells: do they follow?"""
    for row in table9():
        value = {"n_cells": len(row.cells), "mean": rounded(row.mean)}
        yield Reproduced(
            f"average/{row.judge}/{row.task}", value, len(row.cells), "mean", paper=row.average, source="Table 9"
        )
