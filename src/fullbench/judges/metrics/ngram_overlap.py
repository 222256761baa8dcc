"""Metrics of shared words. All take words, not texts; see `core.text.words_of` for English and Chinese."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

Words = Sequence[str]
Stem = Callable[[str], str]

_ORDER = 4
_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5


def ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    """How often each run of n words occurs.

    >>> ngrams(["a", "b", "a", "b"], 2)[("a", "b")]
    2
    """
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def bleu4(candidate: Words, reference: Words) -> float:
    """Sentence BLEU from 0 to 1 (Papineni et al. 2002), smoothed as sacrebleu does by default.

    An order in which nothing matches counts half, a quarter, ... of a match (Chen and Cherry 2014, method 3); orders
    longer than the candidate are left out.

    >>> bleu4("the cat sat on the mat".split(), "the cat sat on the mat".split())
    1.0
    """
    if not candidate or not reference:
        return 0.0
    total, orders, smooth = 0.0, 0, 1.0
    for n in range(1, _ORDER + 1):
        possible = len(candidate) - n + 1
        if possible <= 0:
            break
        wanted = ngrams(reference, n)
        matched = 0
        for gram, count in ngrams(candidate, n).items():
            known = wanted.get(gram, 0)
            matched += min(known, count)
        if not matched and n == 1:
            return 0.0
        if not matched:
            smooth *= 2
        total += math.log((matched or 1 / smooth) / possible)
        orders += 1
    short = min(0.0, 1 - len(reference) / len(candidate))
    return math.exp(short + total / orders)


def rouge_l(candidate: Words, reference: Words) -> float:
    """ROUGE-L: the F1 of the longest common subsequence of words (Lin 2004).

    >>> round(rouge_l("police kill the gunman".split(), "police killed the gunman".split()), 2)
    0.75
    """
    from rapidfuzz.distance import LCSseq

    shared = LCSseq.similarity(candidate, reference)
    return 2 * shared / (len(candidate) + len(reference)) if shared else 0.0


def meteor_of(candidate: Words, reference: Words, stem: Stem | None = None) -> float:
    """METEOR from 0 to 1 (Banerjee and Lavie 2005): equal words, then equal stems, less a penalty for broken order.

    Synonyms need a word net, which does not ship with us; `stem` brings what stemmer you like.

    >>> round(meteor_of("the cat sat".split(), "on the mat sat the cat".split()), 3)
    0.448
    """
    pairs = _aligned(candidate, reference, stem)
    if not pairs:
        return 0.0
    precision, recall = len(pairs) / len(candidate), len(pairs) / len(reference)
    mean = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
    runs = 1 + sum(
        1
        for (here, there), (next_here, next_there) in pairwise(pairs)
        if next_here != here + 1 or next_there != there + 1
    )
    score: float = mean * (1 - _GAMMA * (runs / len(pairs)) ** _BETA)
    return score


def _aligned(candidate: Words, reference: Words, stem: Stem | None) -> list[tuple[int, int]]:
    """Which word of the candidate meets which of the reference: from the end, each the last one still free."""
    pairs: list[tuple[int, int]] = []
    places, theirs = list(range(len(candidate))), list(range(len(reference)))
    for form in (None, stem) if stem is not None else (None,):
        free: dict[str, list[int]] = {}
        for place in theirs:
            word = reference[place]
            free.setdefault(word if form is None else form(word), []).append(place)
        left = []
        for place in reversed(places):
            word = candidate[place]
            open_ = free.get(word if form is None else form(word))
            if open_:
                pairs.append((place, open_.pop()))
            else:
                left.append(place)
        taken = {there for _, there in pairs}
        places, theirs = left[::-1], [place for place in theirs if place not in taken]
    return sorted(pairs)
