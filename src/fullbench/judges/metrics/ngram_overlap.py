"""Metrics of shared words: BLEU-4, ROUGE-L, METEOR. They take words (see `core.language_and_words.words_of`)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

Words = Sequence[str]
Stem = Callable[[str], str]
Synonyms = Callable[[str], Collection[str]]
"""Takes a word and returns the words that mean the same."""

_ORDER = 4
_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5  # METEOR: weight of precision, exponent and weight of the order penalty


def count_ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    """Count each run of n words.

    >>> count_ngrams(["a", "b", "a", "b"], 2)[("a", "b")]
    2
    """
    return Counter(zip(*(words[start:] for start in range(n)), strict=False))


def bleu4_score(candidate: Words, reference: Words) -> float:
    """Return sentence BLEU from 0 to 1 (Papineni et al. 2002), smoothed as sacrebleu does by default.

    An order without matches counts half, a quarter, ... of a match (Chen and Cherry 2014, method 3). Orders longer
    than the candidate are left out.

    >>> bleu4_score("the cat sat on the mat".split(), "the cat sat on the mat".split())
    1.0
    """
    if not candidate or not reference:
        return 0.0
    total, orders, smooth = 0.0, 0, 1.0
    for n in range(1, _ORDER + 1):
        possible = len(candidate) - n + 1
        if possible <= 0:
            break
        reference_ngrams = count_ngrams(reference, n)
        match_count = 0
        for gram, count in count_ngrams(candidate, n).items():
            reference_count = reference_ngrams.get(gram, 0)
            match_count += min(reference_count, count)
        if not match_count and n == 1:
            return 0.0
        if not match_count:
            smooth *= 2
        total += math.log((match_count or 1 / smooth) / possible)
        orders += 1
    short = min(0.0, 1 - len(reference) / len(candidate))
    return math.exp(short + total / orders)


def rouge_l(candidate: Words, reference: Words) -> float:
    """Return ROUGE-L: the F1 of the longest common subsequence of words (Lin 2004).

    >>> round(rouge_l("police kill the gunman".split(), "police killed the gunman".split()), 2)
    0.75
    """
    from rapidfuzz.distance import LCSseq

    common_length = LCSseq.similarity(candidate, reference)
    return 2 * common_length / (len(candidate) + len(reference)) if common_length else 0.0


def meteor_of(candidate: Words, reference: Words, stem: Stem | None = None, synonyms: Synonyms | None = None) -> float:
    """Return METEOR from 0 to 1 (Banerjee and Lavie 2005): equal words, then stems, then synonyms.

    A penalty lowers it if words are in another order. Stems and synonyms are matched only if `stem` and `synonyms` are
    given.

    >>> round(meteor_of("the cat sat".split(), "on the mat sat the cat".split()), 3)
    0.448
    >>> round(meteor_of(["big"], ["large"], synonyms={"big": {"large"}}.__getitem__), 3)
    0.5
    """
    pairs = _align_words(candidate, reference, stem, synonyms)
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


def _align_words(
    candidate: Words, reference: Words, stem: Stem | None, synonyms: Synonyms | None
) -> list[tuple[int, int]]:
    """Match words of the candidate to words of the reference, from the end, each to the last free one."""
    pairs: list[tuple[int, int]] = []
    candidate_places, reference_places = list(range(len(candidate))), list(range(len(reference)))
    for form in (None, stem) if stem is not None else (None,):
        free: dict[str, list[int]] = {}
        for place in reference_places:
            word = reference[place]
            free.setdefault(word if form is None else form(word), []).append(place)
        unmatched_places = []
        for place in reversed(candidate_places):
            word = candidate[place]
            free_places = free.get(word if form is None else form(word))
            if free_places:
                pairs.append((place, free_places.pop()))
            else:
                unmatched_places.append(place)
        used_places = {there for _, there in pairs}
        candidate_places, reference_places = (
            unmatched_places[::-1],
            [place for place in reference_places if place not in used_places],
        )
    if synonyms is None:
        return sorted(pairs)
    for place in reversed(candidate_places):
        same_meaning = synonyms(candidate[place])
        match = next((there for there in reversed(reference_places) if reference[there] in same_meaning), None)
        if match is not None:
            pairs.append((place, match))
            reference_places.remove(match)
    return sorted(pairs)
