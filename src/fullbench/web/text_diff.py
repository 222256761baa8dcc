"""Where two answers differ that are nearly equal: the words that differ are marked in both, in the rendered text.

Marks go into the text between the tags of what `prose` has rendered and cleaned, so that they cannot break it: without
the marks it is the same text again, character by character. Both answers are marked in the same way, whichever of them
stands first, and where one has words that the other lacks, the other shows the place: no mark speaks for either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from markupsafe import Markup, escape

from fullbench.web.rich_text import LONGEST, prose

NEAR = 0.6
"""Answers are nearly equal if this share of their words is common, in the same order.

Two models that answer one question alone share a fifth of their words (median of 1,121 released pairs of
MLLM-as-a-Judge; 99 of 100 pairs stay below 0.53). What reaches 0.6 there reads as one text with changes; in what does
not, marks would cover more than they leave."""
MOST_WORDS = 1_000
"""Longer answers are not compared word by word: a page must not wait for it."""
MOST_PAIRS = 20_000
"""Nor are texts that repeat themselves so much that there are more pairs of equal words than this: difflib weighs them
all, again and again. A thousand words of English have about 12,000."""

_WORD = re.compile(
    # One formula is one word, for marks cannot stand in it. Scripts without spaces are compared by characters.
    r'<math[ >].*?</math>|(?P<tag><[^>"]*(?:"[^"]*"[^>"]*)*>)'
    r"|&[a-z]+;|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    r"|[^\s<&]",
    re.DOTALL,
)


@dataclass(frozen=True)
class Differing:
    """Two answers with their differences marked, part by part; or why nothing is marked: `same` words, too `long`."""

    sides: tuple[tuple[Markup, ...], ...] = ()
    reason: Literal["", "same", "long"] = ""

    def part(self, side: int, place: int, text: str) -> Markup:
        """One part of a side, marked where there is something to mark."""
        return self.sides[side][place] if self.sides else prose(text)


@dataclass(frozen=True)
class _Word:
    part: int
    start: int
    end: int
    text: str
    joined: bool
    """Whether it stands in the same piece of text as the word before it, with no tag between them."""


def differing(left: Iterable[str], right: Iterable[str], title: str) -> Differing | None:
    """What differs between two answers, each the texts of its parts; None where they are not nearly equal.

    `title` is what a mark says to whoever points at it.

    >>> both = differing(("There are *three* dogs.",), ("There are *four* dogs.",), "differs")
    >>> str(both.sides[0][0]) if both else ""
    '<p>There are <em><mark class="differs" title="differs">three</mark></em> dogs.</p>\\n'
    >>> differing(("There are three dogs.",), ("A red car on a road at night.",), "differs") is None
    True
    """
    return _differing(tuple(left), tuple(right), title)


@lru_cache(maxsize=512)
def _differing(left: tuple[str, ...], right: tuple[str, ...], title: str) -> Differing | None:
    if right < left:  # difflib's answer depends on which text comes first: whoever is shown first must not matter
        turned = _differing(right, left, title)
        return None if turned is None else Differing(turned.sides[::-1], turned.reason)
    if any(len(text) > LONGEST for text in (*left, *right)):
        return Differing(reason="long") if _may_be_near(" ".join(left).split(), " ".join(right).split()) else None
    parts = tuple(tuple(str(prose(text)) for text in side) for side in (left, right))
    words = [list(_words(side)) for side in parts]
    texts = [[word.text for word in side] for side in words]
    if not all(texts) or not _may_be_near(*texts):
        return None
    if texts[0] == texts[1]:
        return Differing(reason="same")
    counts = [Counter(side) for side in texts]
    pairs = sum(count * counts[1][text] for text, count in counts[0].items())
    if max(map(len, texts)) > MOST_WORDS or pairs > MOST_PAIRS:
        return Differing(reason="long")
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    if matcher.ratio() < NEAR:
        return None
    changes = [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    first = _marked(parts[0], words[0], [(start, end) for start, end, _, _ in changes], title)
    second = _marked(parts[1], words[1], [(start, end) for _, _, start, end in changes], title)
    return Differing((first, second))


def _may_be_near(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether enough words are common in whatever order, which is quickly known and never less than in order."""
    common = sum((Counter(one) & Counter(two)).values())
    return bool(one and two) and 2 * common / (len(one) + len(two)) >= NEAR


def _words(parts: Sequence[str]) -> Iterator[_Word]:
    for place, html in enumerate(parts):
        joined = False
        for match in _WORD.finditer(html):
            if match["tag"]:
                joined = False
                continue
            yield _Word(place, match.start(), match.end(), match[0], joined)
            joined = True


def _marked(
    parts: Sequence[str], words: Sequence[_Word], changes: Sequence[tuple[int, int]], title: str
) -> tuple[Markup, ...]:
    """The parts with marks around the changed words; where there are none to mark, a mark without words."""
    opening = f'<mark class="differs" title="{escape(title)}">'
    empty = f'<mark class="differs gap" title="{escape(title)}"></mark>'
    marks: list[tuple[int, int, int, str]] = []
    for start, end in changes:
        if start == end:
            beside = words[min(start, len(words) - 1)]
            at = beside.start if start < len(words) else beside.end
            marks.append((beside.part, at, at, empty))
            continue
        runs: list[list[_Word]] = []
        for word in words[start:end]:
            if runs and word.joined:
                runs[-1].append(word)
            else:
                runs.append([word])
        marks += [(run[0].part, run[0].start, run[-1].end, opening) for run in runs]
    written: list[Markup] = []
    for place, html in enumerate(parts):
        pieces, done = [], 0
        for _, start, end, sign in (mark for mark in marks if mark[0] == place):
            pieces += [html[done:start], sign, *([f"{html[start:end]}</mark>"] if end > start else [])]
            done = end
        written.append(Markup("".join((*pieces, html[done:]))))  # noqa: S704 - prose cleaned it; marks hold no text
    return tuple(written)
