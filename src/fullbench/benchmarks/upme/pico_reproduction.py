"""PiCO: rankings of fifteen chat models that its authors logged, scored again; and one judge's reviews, graded."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from math import comb
from pathlib import Path
from statistics import fmean

from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.errors import InputError
from fullbench.files.release_rows import released_rows

MODES = ("Uniform", "Order", "Reversed", "Peer_review")
ORDER = 3
SEED = 4
GAMES = ("model_1", "model_2", "tie", "error")


def reproduce(data: Path) -> Reproduction:
    """Four rank metrics of every logged run, the entropy over all triples, and the grades by one judge alone."""
    truth = true_order(data)
    return Reproduction([*_runs(data, truth), *_grades(data, truth)])


def true_order(data: Path) -> list[str]:
    """The models, best first, by the reference."""
    path = data / "true_order.json"
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["true_order_best_first"]
    except OSError as error:
        raise InputError(f"true_order.json cannot be read ({error.strerror})", path=data) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("it must be JSON with a list 'true_order_best_first'", path=path) from error
    if not isinstance(names, list) or len(set(map(str, names))) != len(names):
        raise InputError("'true_order_best_first' must be a list of different names", path=path)
    return [str(name) for name in names]


def ranks_of(ranked: Sequence[str], truth: Sequence[str]) -> list[int]:
    """The true places of some ranked names, in the order of the ranking."""
    place = {name: index for index, name in enumerate(truth)}
    return [place[name] for name in ranked]


def _runs(data: Path, truth: Sequence[str]) -> Iterator[Reproduced]:
    """The runs of a mode share one stream of random numbers, from the smallest fraction to the largest."""
    runs: dict[str, dict[float, list[int]]] = {}
    for row in released_rows(data, "runs.jsonl"):
        ranked = row.names("models_by_grade")
        if sorted(ranked) != sorted(truth):
            raise row.error("the run must rank the models of true_order.json, each once")
        runs.setdefault(row.one_of("mode", MODES), {})[row.number("fraction_of_reviews")] = ranks_of(ranked, truth)
    for mode, by_fraction in runs.items():
        rng = random.Random(SEED)
        for fraction in sorted(by_fraction):
            ranks = by_fraction[fraction]
            for figure, value in _figures(ranks, rng):
                source = "the authors' logs" if figure != "all_triples_perm_entropy" else ""
                yield Reproduced(f"{mode}/{fraction}/{figure}", value, len(ranks), source=source)


def _figures(ranks: Sequence[int], rng: random.Random) -> Iterator[tuple[str, float]]:
    from fullbench.stats.peer_review.list_disorder import (
        inversions,
        longest_increasing,
        pattern_entropy,
        permutation_entropy,
        subsequence_entropy,
    )

    yield "perm_entropy", permutation_entropy(ranks, order=ORDER)
    drawn = [sorted(rng.sample(range(len(ranks)), ORDER)) for _ in range(comb(len(ranks), ORDER))]
    yield "random_perm_entropy", pattern_entropy([[ranks[place] for place in places] for places in drawn])
    yield "all_triples_perm_entropy", subsequence_entropy(ranks, order=ORDER)
    yield "count_inversions", inversions(ranks)
    yield "lis", longest_increasing(ranks)


def _grades(data: Path, truth: Sequence[str]) -> Iterator[Reproduced]:
    """Both orders of a pair are two games; who wins more games wins the pair. A game without a winner is nobody's."""
    points: dict[str, list[float]] = {name: [] for name in truth}
    shown_first: list[bool] = []
    for row in released_rows(data, "gpt35_reviews.csv"):
        games = [row.one_of(game, GAMES) for game in ("g1_winner", "g2_winner")]
        # The second game shows the answers the other way round.
        shown_first += [games[0] == "model_1", games[1] == "model_2"]
        lead = games.count("model_1") - games.count("model_2")
        outcome = (lead > 0) + 0.5 * (lead == 0)
        points[row.one_of("model_1", truth)].append(outcome)
        points[row.one_of("model_2", truth)].append(1 - outcome)
    yield Reproduced("gpt35_position/first_answer_share", fmean(shown_first), len(shown_first))
    for name, outcomes in points.items():
        if outcomes:
            yield Reproduced(f"gpt35_only_grade/{name}", fmean(outcomes), len(outcomes))
    graded = sorted((name for name in truth if points[name]), key=lambda name: -fmean(points[name]))
    ranks = ranks_of(graded, truth)
    for figure, value in (*_figures(ranks, random.Random(SEED)), *_correlations(ranks)):
        yield Reproduced(f"gpt35_only/{figure}", value, len(graded))


def _correlations(ranks: Sequence[int]) -> Iterator[tuple[str, float]]:
    from scipy.stats import kendalltau, spearmanr

    for figure, test in (("spearman", spearmanr), ("kendall", kendalltau)):
        yield figure, float(test(range(len(ranks)), ranks).statistic)
