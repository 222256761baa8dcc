"""What people are told at the desk: texts of our own for every kind of task and for the papers' studies, in English and
Chinese, and the words that a text puts beside each point of a scale.

A study may have a text of its own. Where it speaks to readers of both languages, a line `<!-- zh -->` parts it: English
before, Chinese after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from fullbench.core.digests import digest
from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.words import Language

PLAIN = "plain"
"""The texts that belong to no paper: one for every kind."""
AGAINST_REFERENCE = frozenset({("score", "alignmmbench")})
"""Kinds and papers whose text asks people to mark against the reference, so that it must be in view."""
_FOLDER = Path(__file__).parents[1] / "guidelines"
_PART = re.compile(r"^<!-- kind: (\w+) -->$", re.MULTILINE)
_CHINESE = re.compile(r"^<!-- zh -->\s*$", re.MULTILINE)
_ANCHOR = re.compile(r"^\s*[-*]\s+\**(-?\d+|lowest|middle|highest|最低|中间|最高)\**\s*[:：]\s*(.+)$", re.MULTILINE)
_ENDS = {"最低": "lowest", "中间": "middle", "最高": "highest"}


@cache
def _texts(name: str, language: Language) -> dict[str, str]:
    """The texts of a paper, or the plain ones, by kind."""
    whole = (_FOLDER / f"{name}.{language}.md").read_text(encoding="utf-8")
    _, *parts = _PART.split(whole)
    return {kind: text.strip() for kind, text in zip(parts[::2], parts[1::2], strict=True)}


@cache
def papers() -> tuple[str, ...]:
    """The papers that texts are shipped for."""
    return tuple(
        sorted(path.name.removesuffix(".en.md") for path in _FOLDER.glob("*.en.md") if path.stem != "plain.en")
    )


def papers_with(kind: str) -> list[str]:
    """The papers that have a text for a kind."""
    return [name for name in papers() if kind in _texts(name, "en")]


def shipped(kind: str, language: Language, paper: str = PLAIN) -> str:
    """The text of a paper for a kind; the kind's plain text where the paper is not named. Empty for a plugin's kind."""
    return _texts(paper, language).get(kind, "")


def checked(paper: str, kind: str) -> str:
    """The name of a paper that has a text for this kind; refused where there is none."""
    if paper and paper not in papers_with(kind):
        raise InputError(
            Note(
                "web.wrong.no-guideline-of-paper",
                "there is no guideline of {paper!r} for {kind} tasks; there are: {names}",
                paper=paper, kind=kind, names=", ".join(papers_with(kind)) or "none",
            )
        )  # fmt: skip
    return paper


def version(kind: str, paper: str = PLAIN) -> str:
    """What a vote notes that was given under a shipped text: a changed text has another version by itself."""
    both = [shipped(kind, "en", paper), shipped(kind, "zh", paper)]
    return f"shipped {paper} {kind} {digest(both)[:8]}"


def in_language(text: str, language: Language) -> str:
    """The part of a study's own text for readers of a language; all of it where it is not parted.

    >>> in_language("Look.\\n<!-- zh -->\\n看。", "zh"), in_language("Look.", "zh")
    ('看。', 'Look.')
    """
    parts = _CHINESE.split(text, maxsplit=1)
    return parts[-1 if language == "zh" else 0].strip() if len(parts) > 1 else text


def with_pictures(text: str, addresses: Mapping[str, str], *, unnamed_too: bool = False) -> str:
    """A text whose pictures are named by files, with their addresses on the site; those that it does not name stand at
    the end of each language's part, if they are wanted.

    >>> with_pictures("Look: ![a cat](cat.png)", {"cat.png": "/pictures/ab"})
    'Look: ![a cat](/pictures/ab)'
    """
    unnamed = [address for name, address in addresses.items() if f"]({name})" not in text]
    for name, address in addresses.items():
        text = text.replace(f"]({name})", f"]({address})")
    further = "".join(f"\n\n![]({address})" for address in unnamed) if unnamed_too else ""
    parts = _CHINESE.split(text, maxsplit=1)
    return "\n\n<!-- zh -->\n\n".join(part.strip() + further for part in parts) if further else text


def anchors(text: str, scale: Sequence[str]) -> dict[str, str]:
    """What a text says beside the points of a scale, in lines such as `- 3: partly right`.

    `lowest`, `middle` and `highest` stand for the ends and the middle of whatever scale the study has.

    >>> anchors("- 1: wrong\\n- highest: right", ["1", "2", "3"])
    {'1': 'wrong', '3': 'right'}
    """
    anchored = {_ENDS.get(point, point): words.strip() for point, words in _ANCHOR.findall(text)}
    if not scale:
        return {}
    ends = {scale[0]: "lowest", scale[(len(scale) - 1) // 2]: "middle", scale[-1]: "highest"}
    words = {point: anchored.get(point) or anchored.get(ends.get(point, "")) for point in scale}
    return {point: meaning for point, meaning in words.items() if meaning}
