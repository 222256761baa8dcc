"""What the paper draws: ego, length, density and position, for the runs released; and what annotators gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.load_release import MARKERS, Release
from fullbench.benchmarks.mllm_judge.release.release_row import Row
from fullbench.benchmarks.mllm_judge.reproduce.metrics import Figures, average, correlated, rounded
from fullbench.core.ballot import LETTERS
from fullbench.core.reproduction import Reproduced

Scores = list[tuple[Row, int, int]]
"""Rows with the judge's score and people's."""


def joined(release: Release, *more: str) -> Scores:
    """CogVLM's rows that have a label from 1 to 5, with both scores."""
    labels = release.labels(files.FINAL_SCORES, files.SCORES, *more)
    scores = []
    for row in release.rows[files.COGVLM]:
        human, judge = labels.get(row.number, "0"), row.given[0].ruling
        if human != "0" and judge:
            scores.append((row, int(judge), int(human)))
    return scores


def figures(release: Release) -> Iterator[Reproduced]:
    """What the paper's figures on ego, length and position show, for the runs that were released."""
    rows = joined(release)
    if rows:
        yield Reproduced("figure/egocentric/CogVLM-score", egocentric(rows, "cogvlm"), len(rows), "excess")
        yield Reproduced("figure/length/CogVLM-score", length(rows), len(rows), "judge")
        yield Reproduced("figure/density/CogVLM-score", density(rows), len(rows), "judge_mean")
    value = position(release)
    if value["n"]:
        yield Reproduced("figure/position/LLaVA-batch", value, value["n"], "share_ABCD")
    value = mean_ranks(release)
    if value["n"]:
        yield Reproduced("figure/egocentric/LLaVA-batch", value, value["n"], "judge_mean_rank.llava")


def egocentric(rows: Scores, own: str) -> Figures:
    """Mean scores by who wrote the answer, and how much more the judge favours its own than people do."""
    names = [row.contestants[0] for row, _, _ in rows]
    marks = {"judge": [judge for _, judge, _ in rows], "human": [human for _, _, human in rows]}
    summary: Figures = {"n": len(rows)}
    gaps: list[float | None] = []
    for who, scores in marks.items():
        named = list(zip(names, scores, strict=True))
        by = {name: [mark for author, mark in named if author == name] for name in dict.fromkeys(names)}
        summary[f"{who}_mean"] = {name: average(author_marks) for name, author_marks in by.items()}
        others = [mark for author, mark in named if author != own]
        gaps.append(fmean(by[own]) - fmean(others) if own in by and others else None)
    excess = None if gaps[0] is None or gaps[1] is None else rounded(gaps[0] - gaps[1])
    for who, gap in zip(marks, gaps, strict=True):
        summary[f"{who}_self_minus_others"] = None if gap is None else rounded(gap)
    return {**summary, "excess": excess}


def length(rows: Scores) -> Figures:
    """How scores go with the number of words of the answer, for the judge and for people."""
    words = [len(row.answers[0].split()) for row, _, _ in rows]
    judge, human = [mark for _, mark, _ in rows], [label for _, _, label in rows]
    by_score = {
        str(score): rounded(fmean(count for count, mark in zip(words, judge, strict=True) if mark == score))
        for score in sorted(set(judge))
    }
    return {
        "n": len(rows),
        "judge": correlated(words, judge)[0]["pearson"],
        "human": correlated(words, human)[0]["pearson"],
        "mean_words_by_judge_score": by_score,
    }


def density(rows: Scores) -> Figures:
    """How often each score is given, by the judge and by people on the same answers."""
    judge, human = Counter(mark for _, mark, _ in rows), Counter(label for _, _, label in rows)
    return {
        "n": len(rows),
        "judge": {str(score): rounded(judge[score] / len(rows)) for score in range(1, 6)},
        "human": {str(score): rounded(human[score] / len(rows)) for score in range(1, 6)},
        "judge_mean": rounded(fmean(mark for _, mark, _ in rows)),
        "human_mean": rounded(fmean(label for _, _, label in rows)),
    }


def position(release: Release) -> Figures:
    """Who is put first, and how often the order shown is simply given back."""
    labels = release.labels(files.FINAL_RANKINGS, files.RANKINGS)
    rows = [row for row in release.rows[files.LLAVA] if row.number in labels]
    rankings = [row.given[0].ruling for row in rows]
    truth = [labels[row.number] for row in rows]
    letters = LETTERS[:4]
    firsts, human = Counter(x[:1] for x in rankings), Counter(x[:1] for x in truth)
    if not rows:
        return {"n": 0}
    return {
        "n": len(rows),
        "share_ABCD": rounded(sum(x == letters for x in rankings) / len(rows)),
        "first_place": {letter: rounded(firsts[letter] / len(rows)) for letter in letters},
        "human_first_place": {letter: rounded(human[letter] / len(rows)) for letter in letters},
        "n_invalid_permutation": sum(len(set(x)) < len(x) for x in rankings),
        "n_ranks_more_answers_than_exist": sum(
            len(x) > len(row.contestants) for x, row in zip(rankings, rows, strict=True)
        ),
    }


def mean_ranks(release: Release) -> Figures:
    """The mean rank, 1 for the best, that LLaVA and people give to each model, where four answers are ranked whole."""
    labels = release.labels(files.FINAL_RANKINGS, files.RANKINGS)
    ranks: dict[str, dict[str, list[int]]] = {"judge": {}, "human": {}}
    n = 0
    for row in release.rows[files.LLAVA]:
        orders = {"judge": row.given[0].ruling, "human": labels.get(row.number, "")}
        letters = LETTERS[: len(row.contestants)]
        # People's label must rank four answers; where the judge names one twice, the first place counts.
        if len(letters) != 4 or sorted(orders["human"]) != sorted(letters) or not set(letters) <= set(orders["judge"]):
            continue
        n += 1
        for who, order in orders.items():
            for letter, name in zip(letters, row.contestants, strict=True):
                ranks[who].setdefault(name, []).append(order.index(letter) + 1)
    return {
        "n": n,
        **{
            f"{who}_mean_rank": {name: average(places) for name, places in by_name.items()}
            for who, by_name in ranks.items()
        },
    }


def annotators(release: Release) -> Iterator[Reproduced]:
    """What each of the four annotators gave, and what the files of all together hold."""
    named = {str(who): file for who, file in zip(MARKERS, files.MARKED_PAIRS, strict=True)} | {"done": files.PAIRS}
    for who, file in named.items():
        rows = release.rows[file]
        if not rows:
            continue
        counts = Counter(row.given[0].ruling for row in rows)
        value: Figures = {"rows": len(rows), "unique_pair_id": len({row.number for row in rows})}
        value |= {letter: counts[letter] for letter in "ABC"}
        yield Reproduced(f"figure/annotator/pair-{who}", value, len(rows), "rows")
    named = {str(who): file for who, file in zip(MARKERS, files.MARKED_SCORES, strict=True)} | {"done": files.SCORES}
    for who, file in named.items():
        rows = release.rows[file]
        if not rows:
            continue
        scores = [int(row.given[0].ruling) for row in rows]
        counts = Counter(row.given[0].ruling for row in rows)
        value = {
            "rows": len(rows),
            "unique_score_id": len({row.number for row in rows}),
            "mean": rounded(fmean(scores)),
            "hist": {str(score): counts[str(score)] for score in range(6)},
        }
        yield Reproduced(f"figure/annotator/score-{who}", value, len(rows), "mean")
