"""Short PDF documents with known truth, written from a seed without a library, and questions about them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache

from fullbench.synthetic.media_questions import MediaQuestion

PAGES = 3
"""Pages of a document. Their numbers are not printed: only their order tells them."""
_WIDTH, _HEIGHT = 420, 300
_GOODS = ("apples", "boats", "chairs", "doors", "engines", "flags", "globes", "hats", "lamps", "mirrors")
_PLACES = ("harbour", "station", "market", "museum", "library", "bridge", "theatre", "garden")
KINDS = ("number on a page", "page of a word", "number")
"""Kinds of question. The first two need the order of the pages."""
_SHOWN, _INVISIBLE = 0, 3
"""Text rendering modes of PDF: filled, and neither filled nor stroked."""


def write_pdf(pages: Sequence[Sequence[str]], hidden: str = "", title: str = "") -> bytes:
    """Return a PDF with the lines of each page. `hidden` is text on every page that readers get but nobody sees, and
    `title` that of its metadata.
    """
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        stream = _page_stream(lines, hidden)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (_WIDTH, _HEIGHT, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    if title:
        objects.append(b"<< /Title (%s) >>" % _escape(title))
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    about = b" /Info %d 0 R" % len(objects) if title else b""
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, about, start)
    return bytes(out)


def _page_stream(lines: Sequence[str], hidden: str) -> bytes:
    shown = b"".join(b"(%s) Tj T*\n" % _escape(line) for line in lines)
    stream = b"BT %d Tr /F1 20 Tf 30 TL 40 %d Td\n%sET" % (_SHOWN, _HEIGHT - 60, shown)
    if hidden:
        stream += b"\nBT %d Tr /F1 8 Tf 40 20 Td (%s) Tj ET" % (_INVISIBLE, _escape(hidden))
    return stream


def _escape(text: str) -> bytes:
    return re.sub(r"([\\()])", r"\\\1", text).encode("latin-1")


def read_pages(data: bytes) -> list[list[str]]:
    """Return the lines of each page of a document that `write_pdf` wrote."""
    streams = re.findall(rb"stream\nBT 0 Tr(.*?)ET", data, re.DOTALL)
    return [
        [re.sub(r"\\(.)", r"\1", line.decode("latin-1")) for line in re.findall(rb"\((.*)\) Tj T\*", stream)]
        for stream in streams
    ]


def swap_pages(data: bytes) -> bytes:
    """Exchange the second and the third page."""
    first, second, third = read_pages(data)
    return write_pdf([first, third, second])


def keep_first_page(data: bytes) -> bytes:
    """Leave out all pages but the first, which does not tell the answer."""
    return write_pdf(read_pages(data)[:1])


def hide_text(data: bytes, text: str) -> bytes:
    """Add an invisible text layer to every page."""
    return write_pdf(read_pages(data), text)


def write_title(data: bytes, text: str) -> bytes:
    """Add a title to the metadata, which no page shows."""
    return write_pdf(read_pages(data), title=text)


@lru_cache(maxsize=1024)
def draw_document_question(seed: int, index: int) -> MediaQuestion:
    """Draw the question of that number with its two documents. Kinds rotate.

    >>> draw_document_question(0, 0).kind, draw_document_question(0, 0).shown[:5]
    ('number on a page', b'%PDF-')
    """
    name = f"document-{seed}-{index:03d}"
    rng = random.Random(name)
    kind = KINDS[index % len(KINDS)]
    places, goods, numbers = rng.sample(_PLACES, PAGES), rng.sample(_GOODS, PAGES), rng.sample(range(11, 99), PAGES + 1)
    if kind == "number on a page":
        goods = [goods[0]] * PAGES
    lines = [[f"{good}: {number}"] for good, number in zip(goods, numbers, strict=False)]
    titles = [[f"Store at the {place}"] for place in places]
    first, second, third = (title + line for title, line in zip(titles, lines, strict=True))
    if kind == "number on a page":
        question = f"How many {goods[0]} does page 2 list?"
        answers = f"{numbers[1]} {goods[0]}.", f"{numbers[2]} {goods[0]}."
        other = [first, titles[1] + lines[2], titles[2] + lines[1]]
    elif kind == "page of a word":
        question, answers = f"Which page is about the {places[1]}?", ("Page 2.", "Page 3.")
        other = [first, titles[2] + lines[1], titles[1] + lines[2]]
    else:
        question = f"How many {goods[1]} are there?"
        answers = f"{numbers[1]} {goods[1]}.", f"{numbers[3]} {goods[1]}."
        other = [first, [*titles[1], f"{goods[1]}: {numbers[3]}"], third]
    documents = write_pdf([first, second, third]), write_pdf(other)
    right = rng.randrange(2)
    is_ordered = kind != "number"
    return MediaQuestion(
        name,
        "document",
        kind,
        "en",
        question,
        answers[right],
        answers[1 - right],
        documents[right],
        documents[1 - right],
        needs_order=is_ordered,
        is_reversible=is_ordered,
    )
