"""WildVision-Bench: one judge compares each contestant with one baseline, once a question, the baseline shown first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.pairwise_releases.published_numbers import columns, printed
from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.errors import InputError
from fullbench.files.release_rows import released, released_rows
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.stats.ratings.bradley_terry import bradley_terry

NAME = "wildvision_bench"
SOURCE = "leaderboard of the WildVision-Bench repository"
LEVELS = ("B>>A", "B>A", "A=B", "A>B", "A>>B")
INVALID = "INVALID"
REWARDS = dict(zip((*LEVELS, INVALID), (100, 50, 0, -50, -100, 0), strict=True))
STRONG = 3.0


@dataclass(frozen=True)
class Release:
    """The verdicts on each contestant, the length of its answers, and the ratings of the released resamples."""

    baseline: str
    scores: Mapping[str, Sequence[str]]
    tokens: Mapping[str, Sequence[float]]
    resampled: Mapping[str, Sequence[float]]

    @classmethod
    def read(cls, folder: Path) -> Release:
        """The release in a folder: `verdicts.csv` and `bootstrap_ratings.csv`."""
        scores: dict[str, list[str]] = defaultdict(list)
        tokens: dict[str, list[float]] = defaultdict(list)
        seen: set[tuple[str, str]] = set()
        baselines: set[str] = set()
        for row in released_rows(folder, "verdicts.csv"):
            who, question = row.text("model_b"), row.text("question")
            if (who, question) in seen:
                raise row.error(f"{who!r} is compared twice on question {question}")
            seen.add((who, question))
            baselines.add(row.text("model_a"))
            scores[who].append(row.one_of("score", REWARDS))
            tokens[who].append(row.number("token_len_b"))
        if len(baselines) != 1:
            names = ", ".join(sorted(baselines))
            raise InputError(
                f"all verdicts must compare with one baseline; found {names}", path=released(folder, "verdicts.csv")
            )
        return cls(baselines.pop(), scores, tokens, columns(folder, "bootstrap_ratings.csv", but="row"))


def reproduce(data: Path) -> Reproduction:
    """Every cell of the published leaderboard."""
    release = Release.read(data)
    return Reproduction(list(cells(release)))


def cells(release: Release) -> Iterator[Reproduced]:
    """Score, rating, reward, win rate, counts, length and interval of every contestant."""
    ratings = rated(release)
    for who, scores in release.scores.items():
        n = len(scores)
        counts = Counter(scores)
        won = counts["B>>A"] + counts["B>A"]
        win = wilson(won, n)
        shown: dict[str, object] = {
            "score": chance(ratings[who]),
            "win_rate": 100 * win.value,
            "reward": sum(REWARDS[score] for score in scores) / n,
            "counts": [counts[level] + (counts[INVALID] if level == "A=B" else 0) for level in LEVELS],
            "avg_tokens": math.floor(sum(release.tokens[who]) / n),
            "rating": ratings[who],
        }
        if who in release.resampled:
            shown["ci95"] = spread(release.resampled[who], chance(ratings[who]))
        for figure, value in shown.items():
            cell = f"{who}/{figure}"
            yield Reproduced(cell, value, n, paper=printed(NAME).get(cell), source=SOURCE)


def chance(rating: float) -> float:
    """The chance, in per cent, to beat a baseline of 1000 points.

    >>> chance(1000.0)
    50.0
    """
    return 100 / (1 + 10 ** ((1000 - rating) / 400))


def rated(release: Release) -> dict[str, float]:
    """Ratings with the baseline at 1000; a strong preference counts three times, what was not ruled is left out.

    The release also compares the baseline with itself; these rows rate nobody and are left out as well.
    """
    names = [release.baseline, *(who for who in release.scores if who != release.baseline)]
    first, outcome, weight = [], [], []
    for place_, who in enumerate(names[1:], 1):
        ruled = [score for score in release.scores[who] if score != INVALID]
        first += [place_] * len(ruled)
        outcome += [1.0 if REWARDS[score] > 0 else 0.5 if score == "A=B" else 0.0 for score in ruled]
        weight += [STRONG if ">>" in score else 1.0 for score in ruled]
    ratings = bradley_terry(first, [0] * len(first), outcome, weight=weight, interval="sandwich", anchor=0)
    return {who: rating.value for who, rating in zip(names, ratings.estimates, strict=True) if rating is not None}


def spread(ratings: Sequence[float], score: float) -> list[float]:
    """The ends of the released resamples' 95% range, as chances, from the score on; rounded twice, as there."""
    import numpy as np

    ends = np.quantile(ratings, (0.025, 0.975))
    return [round(round(chance(float(end)), 2) - round(score, 2), 1) for end in ends]
