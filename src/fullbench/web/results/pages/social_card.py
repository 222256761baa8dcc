"""The picture that other sites show beside a link to this one: the study, what came out, and who is ahead."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.web.results.boards.first_page_matrix import Matrix

SIZE = (1200, 630)
EDGE = 70
ROWS = 5
LINES = 2
INK, MUTED, ACCENT, LINE, PAPER = "#1b2430", "#556170", "#2457c5", "#d5dbe2", "#ffffff"
FONTS = (
    "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
    "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc",
    "/System/Library/Fonts/PingFang.ttc",
    "C:/Windows/Fonts/msyh.ttc",
)
"""Fonts with Chinese, tried in this order; Pillow's own has Latin letters only."""


@dataclass(frozen=True)
class Preview:
    """What stands on the picture."""

    title: str
    sentences: tuple[str, ...]
    counts: str
    rows: Sequence[tuple[str, str, str]]
    """Rank set, contestant and figure of the best."""


def preview(title: str, outcome: Sequence[str], counts: str, matrices: Sequence[Matrix]) -> Preview:
    """The best of the first matrix, by its first column: people's where people voted."""
    rows = []
    for name, cells in matrices[0].rows[:ROWS] if matrices else ():
        cell = cells[0]
        rows.append(("", name, "") if cell is None else (cell.rank, name, f"{cell.figure} {cell.interval}".strip()))
    return Preview(title, tuple(outcome), counts, rows)


def draw(shown: Preview) -> bytes:
    """The picture as PNG; what is too long for its line ends in an ellipsis."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(image)
    width = SIZE[0] - 2 * EDGE
    pen.rectangle((0, 0, SIZE[0], 14), fill=ACCENT)
    pen.text((EDGE, 60), _cut(shown.title, 60, width), fill=INK, font=_font(60))
    below = 148
    for line in fitting(shown.sentences, width):
        pen.text((EDGE, below), line, fill=MUTED, font=_font(30))
        below += 42
    below = 262
    for rank, name, figure in shown.rows:
        pen.line((EDGE, below - 8, SIZE[0] - EDGE, below - 8), fill=LINE, width=2)
        pen.text((EDGE, below), rank, fill=ACCENT, font=_font(32))
        taken = _font(28).getlength(figure)
        pen.text((EDGE + 110, below), _cut(name, 32, width - 150 - taken), fill=INK, font=_font(32))
        pen.text((SIZE[0] - EDGE - taken, below + 3), figure, fill=MUTED, font=_font(28))
        below += 56
    pen.text((EDGE, SIZE[1] - 66), _cut(shown.counts, 26, width), fill=MUTED, font=_font(26))
    out = io.BytesIO()
    image.quantize(64).save(out, "PNG", optimize=True)
    return out.getvalue()


def fitting(sentences: Sequence[str], width: float, size: int = 30) -> list[str]:
    """As many whole sentences as two lines hold; of a first one that is longer, what fits and an ellipsis."""
    for count in range(len(sentences), 0, -1):
        lines = _wrapped(" ".join(sentences[:count]), size, width)
        if len(lines) <= LINES:
            return lines
    longer = _wrapped(sentences[0], size, width) if sentences else []
    return [*longer[: LINES - 1], *([_cut(" ".join(longer[LINES - 1 :]), size, width)] if longer else [])]


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    for path in FONTS:
        if Path(path).exists():
            return ImageFont.truetype(path, size)
    return ImageFont.load_default(size)


def _cut(text: str, size: int, width: float) -> str:
    text = " ".join(text.split())
    if _font(size).getlength(text) <= width:
        return text
    while text and _font(size).getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"


def _wrapped(text: str, size: int, width: float) -> list[str]:
    """Lines of at most this width; Chinese, which has no blanks, breaks anywhere."""
    lines: list[str] = []
    line = ""
    for word in (piece for blank in text.split() for piece in _pieces(f"{blank} ")):
        if line and _font(size).getlength((line + word).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [_cut(one, size, width) for one in (*lines, line) if one.strip()]


def _pieces(word: str) -> list[str]:
    return list(word) if any(ord(letter) >= 0x2E80 for letter in word) else [word]
