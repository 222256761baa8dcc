"""Mark the words that differ between two nearly equal answers, in the rendered text.

Marks are inserted between the tags of HTML that `render_prose` has rendered and cleaned, so they cannot break it.
Without the marks the text is the same, character by character. The order of the two answers does not change the
marks. If one answer has words that the other lacks, an empty mark in the other shows the place. So no mark is biased
towards either answer.
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

from fullbench.web.rich_text import LONGEST, render_prose

NEAR = 0.6
"""Answers are nearly equal if this share of their words is common, in the same order.

Two models that answer one question alone share a fifth of their words (median of 1,121 released pairs of
MLLM-as-a-Judge; 99 of 100 pairs stay below 0.53). At 0.6 two answers read as one text with changes; below, marks would
cover more than they leave.
"""
MOST_WORDS = 1_000
"""Longer answers are not compared word by word: a page must not wait for it."""
MOST_PAIRS = 20_000
"""Texts with more pairs of equal words than this are not compared either: difflib weighs all of them repeatedly. A
thousand words of English have about 12,000."""

_WORD = re.compile(
    # A formula is one word because marks cannot be inside it. Scripts without spaces are compared by character.
    r'<math[ >].*?</math>|(?P<tag><[^>"]*(?:"[^"]*"[^>"]*)*>)'
    r"|&[a-z]+;|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
    r"|[^\s<&]",
    re.DOTALL,
)


@dataclass(frozen=True)
class MarkedDifferences:
    """Two answers with marks, part by part; or the `reason` for none: `same` words, or too `long` to compare."""

    sides: tuple[tuple[Markup, ...], ...] = ()
    reason: Literal["", "same", "long"] = ""

    def part(self, side: int, place: int, text: str) -> Markup:
        """Return one part of a side, with marks if there are any."""
        return self.sides[side][place] if self.sides else render_prose(text)


@dataclass(frozen=True)
class _Word:
    part: int
    start: int
    end: int
    text: str
    is_adjacent: bool
    """In the same piece of text as the word before it, with no tag between them."""


def mark_differences(left: Iterable[str], right: Iterable[str], title: str) -> MarkedDifferences | None:
    r"""Mark the differences of two answers, each given as texts of its parts. None if they are not nearly equal.

    `title` is the tooltip of each mark.

    >>> both = mark_differences(("There are *three* dogs.",), ("There are *four* dogs.",), "differs")
    >>> str(both.sides[0][0]) if both else ""
    '<p>There are <em><mark class="differs" title="differs">three</mark></em> dogs.</p>\n'
    >>> mark_differences(("There are three dogs.",), ("A red car on a road at night.",), "differs") is None
    True
    """
    return _compute_differences(tuple(left), tuple(right), title)


@lru_cache(maxsize=512)
def _compute_differences(left: tuple[str, ...], right: tuple[str, ...], title: str) -> MarkedDifferences | None:
    if right < left:  # difflib's result depends on the order of the texts; ours must not
        mirror_image = _compute_differences(right, left, title)
        return None if mirror_image is None else MarkedDifferences(mirror_image.sides[::-1], mirror_image.reason)
    if any(len(text) > LONGEST for text in (*left, *right)):
        return (
            MarkedDifferences(reason="long") if _may_be_near(" ".join(left).split(), " ".join(right).split()) else None
        )
    parts = tuple(tuple(str(render_prose(text)) for text in side) for side in (left, right))
    words = [list(_split_words(side)) for side in parts]
    texts = [[word.text for word in side] for side in words]
    if not all(texts) or not _may_be_near(*texts):
        return None
    if texts[0] == texts[1]:
        return MarkedDifferences(reason="same")
    counts = [Counter(side) for side in texts]
    pairs = sum(count * counts[1][text] for text, count in counts[0].items())
    if max(map(len, texts)) > MOST_WORDS or pairs > MOST_PAIRS:
        return MarkedDifferences(reason="long")
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    if matcher.ratio() < NEAR:
        return None
    changes = [opcode[1:] for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    first = _insert_marks(parts[0], words[0], [(start, end) for start, end, _, _ in changes], title)
    second = _insert_marks(parts[1], words[1], [(start, end) for _, _, start, end in changes], title)
    return MarkedDifferences((first, second))


def _may_be_near(left_words: Sequence[str], right_words: Sequence[str]) -> bool:
    """Return False if too few words are common in any order. This is fast and an upper bound of the ordered share."""
    common = sum((Counter(left_words) & Counter(right_words)).values())
    return bool(left_words and right_words) and 2 * common / (len(left_words) + len(right_words)) >= NEAR


def _split_words(parts: Sequence[str]) -> Iterator[_Word]:
    for place, html in enumerate(parts):
        is_adjacent = False
        for match in _WORD.finditer(html):
            if match["tag"]:
                is_adjacent = False
                continue
            yield _Word(place, match.start(), match.end(), match[0], is_adjacent)
            is_adjacent = True


def _insert_marks(
    parts: Sequence[str], words: Sequence[_Word], changes: Sequence[tuple[int, int]], title: str
) -> tuple[Markup, ...]:
    """A gap gets an empty mark."""
    opening = f'<mark class="differs" title="{escape(title)}">'
    empty = f'<mark class="differs gap" title="{escape(title)}"></mark>'
    marks: list[tuple[int, int, int, str]] = []
    for start, end in changes:
        if start == end:
            neighbour = words[min(start, len(words) - 1)]
            at = neighbour.start if start < len(words) else neighbour.end
            marks.append((neighbour.part, at, at, empty))
            continue
        runs: list[list[_Word]] = []
        for word in words[start:end]:
            if runs and word.is_adjacent:
                runs[-1].append(word)
            else:
                runs.append([word])
        marks += [(run[0].part, run[0].start, run[-1].end, opening) for run in runs]
    marked_parts: list[Markup] = []
    for place, html in enumerate(parts):
        pieces, position = [], 0
        for _, start, end, sign in (mark for mark in marks if mark[0] == place):
            pieces += [html[position:start], sign, *([f"{html[start:end]}</mark>"] if end > start else [])]
            position = end
        marked_parts.append(Markup("".join((*pieces, html[position:]))))  # noqa: S704 - prose cleaned it; marks hold no text
    return tuple(marked_parts)
