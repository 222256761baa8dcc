"""WildVision-Bench: one judge compares each contestant with one baseline per question, baseline shown first."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.benchmarks.pairwise_releases.released_and_printed_number_readers import printed_numbers, read_columns
from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.errors import InputError
from fullbench.files.release_rows import release_file, released_rows
from fullbench.files.row_readers import read_rows
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.stats.ratings.bradley_terry import bradley_terry

NAME = "wildvision_bench"
SOURCE = "leaderboard of the WildVision-Bench repository"
LEVELS = ("B>>A", "B>A", "A=B", "A>B", "A>>B")
INVALID = "INVALID"
# Model A is the baseline, so a positive reward is a win of the contestant B.
REWARDS = dict(zip((*LEVELS, INVALID), (100, 50, 0, -50, -100, 0), strict=True))
STRONG_WEIGHT = 3.0


@dataclass(frozen=True)
class Release:
    """Verdicts on each contestant, lengths of its answers, and ratings from the released resamples."""

    baseline: str
    scores: Mapping[str, Sequence[str]]
    tokens: Mapping[str, Sequence[float]]
    resampled_ratings: Mapping[str, Sequence[float]]

    @classmethod
    def read(cls, folder: Path) -> Release:
        """Read the release from a clone of the authors' repository, or from our condensed tables."""
        if (bench := clone_folder(folder)) is not None:
            return cls._read_clone(bench)
        scores: dict[str, list[str]] = defaultdict(list)
        tokens: dict[str, list[float]] = defaultdict(list)
        seen_keys: set[tuple[str, str]] = set()
        baselines: set[str] = set()
        for row in released_rows(folder, "verdicts.csv"):
            contestant, question = row.text("model_b"), row.text("question")
            if (contestant, question) in seen_keys:
                raise row.error(f"{contestant!r} is compared twice on question {question}")
            seen_keys.add((contestant, question))
            baselines.add(row.text("model_a"))
            scores[contestant].append(row.one_of("score", REWARDS))
            tokens[contestant].append(row.number("token_len_b"))
        if len(baselines) != 1:
            names = ", ".join(sorted(baselines))
            raise InputError(
                f"all verdicts must compare with one baseline; found {names}", path=release_file(folder, "verdicts.csv")
            )
        return cls(
            baselines.pop(), scores, tokens, read_columns(folder, "bootstrap_ratings.csv", excluded_column="row")
        )

    @classmethod
    def _read_clone(cls, bench: Path) -> Release:
        """Read `model_judgements/judge_JUDGE_reference_BASELINE/MODEL.jsonl` and the files next to it."""
        scores: dict[str, list[str]] = {}
        tokens: dict[str, list[float]] = {}
        judged = [file for folder in _judgment_folders(bench) for file in sorted(folder.glob("*.jsonl"))]
        baselines = {file.parent.name.rpartition("_reference_")[2] for file in judged}
        if len(baselines) != 1:
            raise InputError(f"all verdicts must compare with one baseline; found {', '.join(baselines)}", path=bench)
        for file in judged:
            rows = [row for _, row in read_rows(file)]
            model = str(rows[0].get("model"))
            scores[model] = [_level_of(row) for row in rows]
            answers = bench / "model_answers" / file.name
            lengths = [row.get("token_len") for _, row in read_rows(answers)] if answers.exists() else []
            tokens[model] = [float(length) for length in lengths if length is not None]
        ratings = bench.parent / "bootstrapping_results.jsonl"
        resamples = [row for _, row in read_rows(ratings)] if ratings.exists() else []
        names = resamples[0] if resamples else ()
        return cls(baselines.pop(), scores, tokens, {name: [float(row[name]) for row in resamples] for name in names})


def clone_folder(folder: Path) -> Path | None:
    """Return the folder of the benchmark in a clone, or None if this is no clone."""
    candidates = [folder, *sorted(folder.glob("data/*")), *sorted(folder.glob("*"))]
    return next((place for place in candidates if _judgment_folders(place)), None)


def _judgment_folders(bench: Path) -> list[Path]:
    return sorted(place for place in bench.glob("model_judgements/*_reference_*") if place.is_dir())


def _level_of(row: Mapping[str, Any]) -> str:
    """Return the level of a judgment's only game; other texts in its place are invalid, as the authors count them."""
    games = row.get("games")
    game = games[0] if isinstance(games, list) and games else None
    score = game.get("score") if isinstance(game, Mapping) else None
    return score if score in LEVELS else INVALID


def reproduce(data: Path) -> Reproduction:
    """Recompute every cell of the published leaderboard."""
    release = Release.read(data)
    return Reproduction(list(contestant_cells(release)))


def contestant_cells(release: Release) -> Iterator[Reproduced]:
    """Yield score, rating, reward, win rate, counts, length and interval of every contestant."""
    ratings = contestant_ratings(release)
    for contestant, scores in release.scores.items():
        n = len(scores)
        counts = Counter(scores)
        wins = counts["B>>A"] + counts["B>A"]
        win = wilson_interval(wins, n)
        metrics: dict[str, object] = {
            "score": win_chance(ratings[contestant]),
            "win_rate": 100 * win.value,
            "reward": sum(REWARDS[score] for score in scores) / n,
            # The leaderboard counts invalid verdicts as ties.
            "counts": [counts[level] + (counts[INVALID] if level == "A=B" else 0) for level in LEVELS],
        }
        if tokens := release.tokens[contestant]:
            metrics["avg_tokens"] = math.floor(sum(tokens) / len(tokens))
        metrics["rating"] = ratings[contestant]
        if contestant in release.resampled_ratings:
            metrics["ci95"] = chance_interval(release.resampled_ratings[contestant], win_chance(ratings[contestant]))
        for metric, value in metrics.items():
            cell = f"{contestant}/{metric}"
            # The authors' optimizer stops at the sixth decimal of a rating.
            decimals = 3 if metric == "rating" else None
            yield Reproduced(cell, value, n, paper=printed_numbers(NAME).get(cell), source=SOURCE, decimals=decimals)


def win_chance(rating: float) -> float:
    """Return the chance, in per cent, to beat a baseline of 1000 points.

    >>> win_chance(1000.0)
    50.0
    """
    return 100 / (1 + 10 ** ((1000 - rating) / 400))


def contestant_ratings(release: Release) -> dict[str, float]:
    """Rate contestants with the baseline at 1000. A strong preference counts three times; INVALID is left out.

    The release also compares the baseline with itself; these rows are left out as well.
    """
    names = [release.baseline, *(contestant for contestant in release.scores if contestant != release.baseline)]
    first, outcome, weight = [], [], []
    for index, contestant in enumerate(names[1:], 1):
        valid_scores = [score for score in release.scores[contestant] if score != INVALID]
        first += [index] * len(valid_scores)
        outcome += [1.0 if REWARDS[score] > 0 else 0.5 if score == "A=B" else 0.0 for score in valid_scores]
        weight += [STRONG_WEIGHT if ">>" in score else 1.0 for score in valid_scores]
    ratings = bradley_terry(first, [0] * len(first), outcome, weight=weight, interval="sandwich", anchor=0)
    return {
        contestant: rating.value
        for contestant, rating in zip(names, ratings.estimates, strict=True)
        if rating is not None
    }


def chance_interval(ratings: Sequence[float], score: float) -> list[float]:
    """Return the resamples' 95% range as win chances relative to the score, rounded twice as in the release."""
    import numpy as np

    ends = np.quantile(ratings, (0.025, 0.975))
    return [round(round(win_chance(float(end)), 2) - round(score, 2), 1) for end in ends]
