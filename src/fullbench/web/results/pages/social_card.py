"""Preview picture that other sites show next to a link: study, outcome, best contestants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.picture_flattening_and_orientation import encode_image
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix

SIZE = (1200, 630)  # the usual size of Open Graph previews
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
    """Texts on the preview picture."""

    title: str
    sentences: tuple[str, ...]
    counts: str
    rows: Sequence[tuple[str, str, str]]
    """Rank set, contestant and metric of the best."""


def build_preview(title: str, outcome: Sequence[str], counts: str, matrices: Sequence[Matrix]) -> Preview:
    """Take the best rows of the first matrix, with its first column: people's if people voted."""
    rows = []
    for name, cells in matrices[0].rows[:ROWS] if matrices else ():
        cell = cells[0]
        rows.append(("", name, "") if cell is None else (cell.rank, name, f"{cell.metric} {cell.interval}".strip()))
    return Preview(title, tuple(outcome), counts, rows)


def draw_preview(card: Preview) -> bytes:
    """Draw the picture as PNG. Texts that are too long end in an ellipsis."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(image)
    width = SIZE[0] - 2 * EDGE
    pen.rectangle((0, 0, SIZE[0], 14), fill=ACCENT)
    pen.text((EDGE, 60), _shorten_text(card.title, 60, width), fill=INK, font=_load_font(60))
    below = 148
    for line in fit_sentences(card.sentences, width):
        pen.text((EDGE, below), line, fill=MUTED, font=_load_font(30))
        below += 42
    below = 262
    for rank, name, metric in card.rows:
        pen.line((EDGE, below - 8, SIZE[0] - EDGE, below - 8), fill=LINE, width=2)
        pen.text((EDGE, below), rank, fill=ACCENT, font=_load_font(32))
        metric_width = _load_font(28).getlength(metric)
        pen.text(
            (EDGE + 110, below), _shorten_text(name, 32, width - 150 - metric_width), fill=INK, font=_load_font(32)
        )
        pen.text((SIZE[0] - EDGE - metric_width, below + 3), metric, fill=MUTED, font=_load_font(28))
        below += 56
    pen.text((EDGE, SIZE[1] - 66), _shorten_text(card.counts, 26, width), fill=MUTED, font=_load_font(26))
    return encode_image(image.quantize(64), optimize=True)


def fit_sentences(sentences: Sequence[str], width: float, size: int = 30) -> list[str]:
    """Return as many whole sentences as fit in two lines. A first sentence that is too long is cut."""
    for count in range(len(sentences), 0, -1):
        lines = _wrap_text(" ".join(sentences[:count]), size, width)
        if len(lines) <= LINES:
            return lines
    wrapped_lines = _wrap_text(sentences[0], size, width) if sentences else []
    return [
        *wrapped_lines[: LINES - 1],
        *([_shorten_text(" ".join(wrapped_lines[LINES - 1 :]), size, width)] if wrapped_lines else []),
    ]


@cache
def _load_font(size: int) -> Any:
    from PIL import ImageFont

    for path in FONTS:
        if Path(path).exists():
            return ImageFont.truetype(path, size)
    return ImageFont.load_default(size)


def _shorten_text(text: str, size: int, width: float) -> str:
    text = " ".join(text.split())
    if _load_font(size).getlength(text) <= width:
        return text
    while text and _load_font(size).getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"


def _wrap_text(text: str, size: int, width: float) -> list[str]:
    """Chinese, which has no spaces, breaks anywhere."""
    lines: list[str] = []
    line = ""
    for word in (piece for blank in text.split() for piece in _split_word(f"{blank} ")):
        if line and _load_font(size).getlength((line + word).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += word
    return [_shorten_text(wrapped_line, size, width) for wrapped_line in (*lines, line) if wrapped_line.strip()]


def _split_word(word: str) -> list[str]:
    return list(word) if any(ord(letter) >= 0x2E80 for letter in word) else [word]
