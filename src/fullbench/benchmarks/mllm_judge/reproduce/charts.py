"""Data behind the paper's figures for the released runs: ego, length, density, position; and annotators' labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from fullbench.benchmarks.mllm_judge.release import load_release as files
from fullbench.benchmarks.mllm_judge.release.load_release import MARKERS, Release
from fullbench.benchmarks.mllm_judge.release.release_row import Row
from fullbench.benchmarks.mllm_judge.reproduce.metrics import Metrics, correlation_metrics, round_metric, rounded_mean
from fullbench.core.ballot import LETTERS
from fullbench.core.reproduction import Reproduced

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
    files_by_annotator = {str(annotator): file for annotator, file in zip(MARKERS, files.MARKED_PAIRS, strict=True)} | {
        "done": files.PAIRS
    }
    for annotator, file in files_by_annotator.items():
        rows = release.rows[file]
        if not rows:
            continue
        counts = Counter(row.verdicts[0].verdict_text for row in rows)
        value: Metrics = {"rows": len(rows), "unique_pair_id": len({row.number for row in rows})}
        value |= {letter: counts[letter] for letter in "ABC"}
        yield Reproduced(f"figure/annotator/pair-{annotator}", value, len(rows), "rows")
    files_by_annotator = {
        str(annotator): file for annotator, file in zip(MARKERS, files.MARKED_SCORES, strict=True)
    } | {"done": files.SCORES}
    for annotator, file in files_by_annotator.items():
        rows = release.rows[file]
        if not rows:
            continue
        scores = [int(row.verdicts[0].verdict_text) for row in rows]
        counts = Counter(row.verdicts[0].verdict_text for row in rows)
        value = {
            "rows": len(rows),
            "unique_score_id": len({row.number for row in rows}),
            "mean": round_metric(fmean(scores)),
            "hist": {str(score): counts[str(score)] for score in range(6)},
        }
        yield Reproduced(f"figure/annotator/score-{annotator}", value, len(rows), "mean")
