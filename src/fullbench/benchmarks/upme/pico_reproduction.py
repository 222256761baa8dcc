"""PiCO: recomputed scores of the logged rankings of fifteen chat models, and one judge's reviews, graded."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from math import comb
from pathlib import Path
from statistics import fmean

from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.errors import InputError
from fullbench.files.release_rows import MissingReleaseFile, released_rows

MODES = ("Uniform", "Order", "Reversed", "Peer_review")
ORDER = 3
SEED = 4
GAMES = ("model_1", "model_2", "tie", "error")


def reproduce(data: Path) -> Reproduction:
    """Recompute four rank metrics of every logged run, the entropy over all triples, and grades by one judge."""
    truth = true_order(data)
    return Reproduction([*_run_cells(data, truth), *_grade_cells(data, truth)])


def true_order(data: Path) -> list[str]:
    """Read the models, best first, from the reference."""
    path = data / "true_order.json"
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["true_order_best_first"]
    except OSError as error:
        raise MissingReleaseFile(f"it cannot be read ({error.strerror})", path=path) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("it must be JSON with a list 'true_order_best_first'", path=path) from error
    if not isinstance(names, list) or len(set(map(str, names))) != len(names):
        raise InputError("'true_order_best_first' must be a list of different names", path=path)
    return [str(name) for name in names]


def ranks_of(ranking: Sequence[str], truth: Sequence[str]) -> list[int]:
    """Return the true ranks of the names, in the order of the ranking."""
    place = {name: index for index, name in enumerate(truth)}
    return [place[name] for name in ranking]


def _run_cells(data: Path, truth: Sequence[str]) -> Iterator[Reproduced]:
    """Runs of a mode share one random stream, from the smallest fraction up."""
    runs: dict[str, dict[float, list[int]]] = {}
    for row in released_rows(data, "runs.jsonl"):
        ranking = row.names("models_by_grade")
        if sorted(ranking) != sorted(truth):
            raise row.error("the run must rank the models of true_order.json, each once")
        runs.setdefault(row.one_of("mode", MODES), {})[row.number("fraction_of_reviews")] = ranks_of(ranking, truth)
    for mode, by_fraction in runs.items():
        rng = random.Random(SEED)
        for fraction in sorted(by_fraction):
            ranks = by_fraction[fraction]
            for metric, value in _rank_metrics(ranks, rng):
                source = "the authors' logs" if metric != "all_triples_perm_entropy" else ""
                yield Reproduced(f"{mode}/{fraction}/{metric}", value, len(ranks), source=source)


def _rank_metrics(ranks: Sequence[int], rng: random.Random) -> Iterator[tuple[str, float]]:
    from fullbench.stats.peer_review.list_disorder import (
        count_inversions,
        longest_increasing,
        pattern_entropy,
        permutation_entropy,
        subsequence_entropy,
    )

    yield "perm_entropy", permutation_entropy(ranks, order=ORDER)
    sampled_places = [sorted(rng.sample(range(len(ranks)), ORDER)) for _ in range(comb(len(ranks), ORDER))]
    yield "random_perm_entropy", pattern_entropy([[ranks[place] for place in places] for places in sampled_places])
    yield "all_triples_perm_entropy", subsequence_entropy(ranks, order=ORDER)
    yield "count_inversions", count_inversions(ranks)
    yield "lis", longest_increasing(ranks)


def _grade_cells(data: Path, truth: Sequence[str]) -> Iterator[Reproduced]:
    """Both orders of a pair are two games; a game without a winner counts for neither."""
    points: dict[str, list[float]] = {name: [] for name in truth}
    shown_first: list[bool] = []
    for row in released_rows(data, "gpt35_reviews.csv"):
        games = [row.one_of(game, GAMES) for game in ("g1_winner", "g2_winner")]
        # The second game shows the answers in the reverse order.
        shown_first += [games[0] == "model_1", games[1] == "model_2"]
        lead = games.count("model_1") - games.count("model_2")
        outcome = (lead > 0) + 0.5 * (lead == 0)
        points[row.one_of("model_1", truth)].append(outcome)
        points[row.one_of("model_2", truth)].append(1 - outcome)
    yield Reproduced("gpt35_position/first_answer_share", fmean(shown_first), len(shown_first))
    for name, outcomes in points.items():
        if outcomes:
            yield Reproduced(f"gpt35_only_grade/{name}", fmean(outcomes), len(outcomes))
    ranked_names = sorted((name for name in truth if points[name]), key=lambda name: -fmean(points[name]))
    ranks = ranks_of(ranked_names, truth)
    for metric, value in (*_rank_metrics(ranks, random.Random(SEED)), *_rank_correlations(ranks)):
        yield Reproduced(f"gpt35_only/{metric}", value, len(ranked_names))


def _rank_correlations(ranks: Sequence[int]) -> Iterator[tuple[str, float]]:
    from scipy.stats import kendalltau, spearmanr

    for metric, test in (("spearman", spearmanr), ("kendall", kendalltau)):
        yield metric, float(test(range(len(ranks)), ranks).statistic)
