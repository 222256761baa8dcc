"""Texts as vectors, token by token: every token looks for its nearest in the other text (BERTScore)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.core.text import words_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float64]
else:
    Vectors = Any


class Encoder(Protocol):
    """Whatever turns a text into vectors, a row for each of its tokens, and says which of these count (1 or 0)."""

    @property
    def name(self) -> str: ...

    def __call__(self, text: str) -> tuple[Vectors, Vectors]: ...


def bert_score(candidate: tuple[Vectors, Vectors], reference: tuple[Vectors, Vectors]) -> float:
    """The F1 of greedy matching by cosine (Zhang et al. 2020, arXiv:1904.09675), without weights by rarity.

    Tokens that do not count (the marks around a text) can be matched, as in the authors' code.

    >>> import numpy as np
    >>> one, two = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> round(bert_score((one, np.ones(1)), (two, np.ones(2))), 3)
    0.667
    """
    import numpy as np

    (ours, counts), (theirs, counted) = candidate, reference
    if not counts.sum() or not counted.sum():
        return 0.0
    near = _unit(ours, np) @ _unit(theirs, np).T
    precision = float(np.average(near.max(axis=1), weights=counts))
    recall = float(np.average(near.max(axis=0), weights=counted))
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _unit(vectors: Vectors, np: Any) -> Any:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)


class Spelling:
    """A small encoder that needs no download: words by the letters in them, so that likely forms of a word are near.

    Every run of three letters of a word (with its ends marked) has a fixed random direction; a word is their sum. It
    knows spelling and nothing of meaning: give a real encoder where meaning matters.
    """

    def __init__(self, size: int = 64) -> None:
        self.size = size
        self.name = f"spelling-{size}"

    def __call__(self, text: str) -> tuple[Vectors, Vectors]:
        import numpy as np

        words = words_of(text)
        vectors = np.stack([_word(word, self.size) for word in words]) if words else np.zeros((0, self.size))
        return vectors, np.ones(len(words))


@lru_cache(maxsize=100_000)
def _word(word: str, size: int) -> Any:
    import numpy as np

    marked = f"<{word}>"
    total = np.zeros(size)
    for start in range(max(1, len(marked) - 2)):
        total += _direction(marked[start : start + 3], size)
    return total


@lru_cache(maxsize=100_000)
def _direction(letters: str, size: int) -> Any:
    import numpy as np

    seed = int.from_bytes(hashlib.blake2b(letters.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(size)


def cached(encoder: Encoder, size: int = 4096) -> Callable[[str], tuple[Vectors, Vectors]]:
    """The encoder with its latest texts kept, for a reference is met many times."""
    return lru_cache(maxsize=size)(encoder)


def compared(
    encoder: Callable[[str], tuple[Vectors, Vectors]], texts: Sequence[str], reference: str, baseline: float = 0.0
) -> list[float]:
    """The BERTScore of each text with the reference; rescaled, so that texts that have nothing in common get 0."""
    scores = [bert_score(encoder(text), encoder(reference)) for text in texts]
    return [(score - baseline) / (1 - baseline) for score in scores]


def baseline_of(encoder: Callable[[str], tuple[Vectors, Vectors]], texts: Sequence[str]) -> float:
    """The mean score of texts that have nothing to do with each other: each beside the next of a sorted list."""
    listed = sorted(set(texts))
    pairs = zip(listed, [*listed[1:], *listed[:1]], strict=True)
    scores = [bert_score(encoder(one), encoder(two)) for one, two in pairs]
    return sum(scores) / len(scores)
