"""Ratings of a million battles and metrics on ten thousand pairs, beside limits and the usual libraries in one run.

Linear algebra is held to one thread, so that CPU seconds are those of the work and not of waiting threads.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys

from scripts.bench import Row, cpu

BATTLES, MODELS, RESAMPLES = 1_000_000, 100, 1000
PAIRS, WORDS = 10_000, 60


def _battles(n: int):  # noqa: ANN202
    import numpy as np

    rng = np.random.default_rng(0)
    truth = rng.normal(0, 0.6, MODELS)
    first = rng.integers(0, MODELS, n, dtype=np.int16)
    second = ((first + rng.integers(1, MODELS, n, dtype=np.int16)) % MODELS).astype(np.int16)
    outcome = (rng.random(n) < 1 / (1 + np.exp(truth[second] - truth[first]))).astype(np.float32)
    outcome[rng.random(n) < 0.15] = 0.5
    return first, second, outcome


def _fits() -> list[Row]:
    import evalica
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from fullbench.stats.ratings.bradley_terry import bradley_terry
    from fullbench.stats.ratings.elo import elo_orders

    first, second, outcome = _battles(BATTLES)
    bradley_terry(first[:5000], second[:5000], outcome[:5000], interval="sandwich")
    fit = cpu(lambda: bradley_terry(first, second, outcome, interval="sandwich"), 5)
    boot = cpu(lambda: bradley_terry(first, second, outcome, interval="bootstrap", resamples=RESAMPLES), 2)
    elo = cpu(lambda: elo_orders(first, second, outcome, np.arange(BATTLES)[:, None], k=4.0), 2)
    winners = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    xs, ys, won = first.tolist(), second.tolist(), [winners[one] for one in outcome.tolist()]
    theirs = cpu(lambda: evalica.bradley_terry(xs, ys, won), 1)
    their_elo = cpu(lambda: evalica.elo(xs, ys, won), 1)

    def recipe() -> None:
        wins = np.zeros((MODELS, MODELS))
        np.add.at(wins, (first, second), outcome)
        np.add.at(wins, (second, first), 1 - outcome)
        one, two = np.nonzero(wins)
        design = np.zeros((len(one), MODELS))
        design[np.arange(len(one)), one], design[np.arange(len(one)), two] = 1.0, -1.0
        rows, labels = np.vstack([design, -design]), np.repeat([1, 0], len(one))
        weights = np.concatenate([wins[one, two], wins[one, two]])
        LogisticRegression(fit_intercept=False, C=1e9, tol=1e-6).fit(rows, labels, sample_weight=weights)

    what = "1M battles of 100 models"
    return [
        Row.of(f"Bradley-Terry, sandwich, {what}", fit, 0.020, "the limit", "CPU s"),
        Row.of(f"Bradley-Terry, sandwich, {what}", fit, theirs, "evalica, no interval", "CPU s"),
        Row.of(f"Bradley-Terry, sandwich, {what}", fit, cpu(recipe, 1), "scikit-learn on counts", "CPU s"),
        Row.of(f"{RESAMPLES} resamples, {what}", boot, 1.0, "the limit", "CPU s"),
        Row.of(f"{RESAMPLES} resamples, {what}", boot, theirs * RESAMPLES, "evalica, scaled", "CPU s"),
        Row.of(f"Elo in order, {what}", elo, 0.35, "the limit", "CPU s"),
        Row.of(f"Elo in order, {what}", elo, their_elo, "evalica", "CPU s"),
    ]


def _memory() -> list[Row]:
    from fullbench.stats.ratings.bradley_terry import bradley_terry

    first, second, outcome = _battles(10 * BATTLES)
    bradley_terry(first, second, outcome, interval="sandwich")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [Row.of("10M battles: drawn, counted and rated", used, 1024.0, "the limit", "MB")]


class _NoSynonyms:
    def synsets(self, _: str) -> list[str]:
        return []


class _NoStems:
    def stem(self, word: str) -> str:
        return word


def _metrics() -> list[Row]:
    from nltk.translate.meteor_score import single_meteor_score
    from sacrebleu.metrics import BLEU

    from fullbench.judges.metrics.ngram_overlap import bleu4_score, meteor_of

    rng = random.Random(0)
    words = [f"w{place}" for place in range(400)]
    pairs = [
        ([rng.choice(words) for _ in range(WORDS)], [rng.choice(words) for _ in range(WORDS)]) for _ in range(PAIRS)
    ]
    texts = [(" ".join(one), " ".join(two)) for one, two in pairs]
    library = BLEU(tokenize="none", effective_order=True)
    bleu = cpu(lambda: [bleu4_score(one.split(), two.split()) for one, two in texts], 2)
    their_bleu = cpu(lambda: [library.sentence_score(one, [two]) for one, two in texts], 1)
    meteor = cpu(lambda: [meteor_of(one, two) for one, two in pairs], 2)
    part = pairs[: PAIRS // 10]
    theirs = cpu(
        lambda: [single_meteor_score(two, one, stemmer=_NoStems(), wordnet=_NoSynonyms()) for one, two in part], 1
    )
    what = f"{PAIRS:,} pairs of {WORDS} words"
    return [
        Row.of(f"BLEU-4, {what}", bleu, their_bleu, "sacrebleu", "CPU s"),
        Row.of(f"METEOR, {what}", meteor, 10 * theirs, "nltk, scaled", "CPU s"),
    ]


def main() -> list[Row]:
    """All rows; ours divided by theirs, smaller is better."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    found = []
    for part in ("fits", "memory", "metrics"):
        command = [sys.executable, "-m", "scripts.bench.ratings", part]
        done = subprocess.run(command, check=True, env=env, stdout=subprocess.PIPE, text=True)
        found += [Row(**row) for row in json.loads(done.stdout)]
    return found


if __name__ == "__main__":
    made = {"fits": _fits, "memory": _memory, "metrics": _metrics}[sys.argv[1]]()
    print(json.dumps([vars(row) for row in made]))
