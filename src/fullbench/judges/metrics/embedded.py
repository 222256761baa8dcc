"""BERTScore with any encoder: every word looks for its nearest in the other text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.nouns.text import words_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float64]
else:
    Vectors = Any


class Encoder(Protocol):
    """Whatever turns a text into vectors, a row for each of its tokens. The name says which."""

    @property
    def name(self) -> str: ...

    def __call__(self, text: str) -> Vectors: ...


def bert_score(candidate: Vectors, reference: Vectors) -> float:
    """The F1 of greedy matching by cosine (Zhang et al. 2020, arXiv:1904.09675), without weights or rescaling.

    >>> import numpy as np
    >>> round(bert_score(np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])), 3)
    0.667
    """
    import numpy as np

    if not len(candidate) or not len(reference):
        return 0.0
    candidate_units, reference_units = (_unit(vectors, np) for vectors in (candidate, reference))
    near = candidate_units @ reference_units.T
    precision, recall = float(near.max(axis=1).mean()), float(near.max(axis=0).mean())
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

    def __call__(self, text: str) -> Vectors:
        import numpy as np

        words = words_of(text)
        return np.stack([_word(word, self.size) for word in words]) if words else np.zeros((0, self.size))


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


def cached(encoder: Encoder, size: int = 4096) -> Callable[[str], Vectors]:
    """The encoder with its latest texts kept, for a reference is met many times."""
    return lru_cache(maxsize=size)(encoder)


def compared(encoder: Callable[[str], Vectors], texts: Sequence[str], reference: str) -> list[float]:
    """The BERTScore of each text with the reference."""
    return [bert_score(encoder(text), encoder(reference)) for text in texts]
