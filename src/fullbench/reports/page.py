"""A page: one HTML file that needs no network, shows tables, charts, pictures and verdicts, and trusts no text.

What contestants and judges wrote is hostile until escaped: every value goes through Jinja's autoescape, and the page's
own policy allows no script but the one whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fullbench.errors import MissingExtra
from fullbench.nouns.call import Usage
from fullbench.nouns.item import SENSITIVE, Item
from fullbench.nouns.picture import Picture
from fullbench.nouns.response import Response
from fullbench.nouns.table import Table
from fullbench.nouns.verdict import Verdict
from fullbench.pixels import eight_bits, transparent, upright
from fullbench.pixels import veiled as under_a_veil
from fullbench.reports import charts
from fullbench.reports.cells import notes
from fullbench.reports.charts import Chart
from fullbench.reports.layout import LONG, TEMPLATES, LaidCell, heads, laid_column

if TYPE_CHECKING:
    from jinja2 import Environment

THUMBNAIL = 480
"""The tag of items and responses whose pictures are not shown unasked."""
SORTING = TEMPLATES / "sorting.js"
"""The script that makes tables sortable, for whoever shows tables on pages."""
COLOURS = TEMPLATES / "colours.css"
"""The colours of all pages, light and dark."""
SHARED = {file.name: file for file in (SORTING, COLOURS)}
"""Files of the reports that the web app's pages use too."""


@dataclass(frozen=True)
class Exhibit:
    """One item as evidence: what was asked, what was answered, and how each judge ruled.

    Pictures of an item or a response with the tag `sensitive` are shown veiled, unless `unveiled` says otherwise.
    """

    item: Item
    responses: Sequence[Response] = ()
    verdicts: Sequence[Verdict] = ()
    note: str = ""
    unveiled: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a page. Tables that carry a chart hint are drawn above their rows."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    exhibits: Sequence[Exhibit] = ()


@dataclass(frozen=True)
class _Drawn:
    alt: str
    svg: str = ""
    missing: str = ""


@dataclass(frozen=True)
class _Grid:
    table: Table
    heads: list[tuple[str, bool]]
    rows: list[tuple[LaidCell, ...]]
    chart: _Drawn | None
    source: list[tuple[str, str]]

    @property
    def notes(self) -> list[str]:
        return notes(self.table)

    @property
    def folded(self) -> bool:
        """A long table folds when its chart already shows it."""
        return self.chart is not None and len(self.rows) > LONG


def page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    usage: Usage | None = None,
    source: Mapping[str, Any] | None = None,
    language: str = "en",
) -> str:
    """A whole page as one HTML text.

    `usage` is what the calls cost, `source` what made the page (versions, seeds, ledger digest).

    >>> "<h1>Judges</h1>" in page("Judges", "Who agrees with people?", [])
    True
    """
    script = _file(SORTING.name) + _file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _environment().get_template("page.html").render(
        title=title,
        lead=lead,
        language=language,
        style=_file(COLOURS.name) + _file("page.css"),
        script=script,
        script_hash=f"sha256-{digest}",
        sections=[_section(number, section) for number, section in enumerate(sections, start=1)],
        usage=usage,
        source=_pairs(source or {}),
    )  # fmt: skip


def fragment(table: Table) -> str:
    """One table as an HTML fragment, without style or script."""
    module: Any = _environment().get_template("macros.html").module
    return str(module.grid(_grid(table, draw=False)))


def thumbnail(picture: Picture, *, size: int = THUMBNAIL, veiled: bool = False) -> str | None:
    """The picture as a data URI, no side longer than `size`; None when it cannot be decoded."""
    image = shrunk(picture, size=size, veiled=veiled)
    return None if image is None else "data:image/webp;base64," + base64.b64encode(image).decode()


def shrunk(picture: Picture, *, size: int, veiled: bool = False) -> bytes | None:
    """The picture as WebP, no side longer than `size`; None when it cannot be decoded.

    A veiled one holds colours, and nothing that could be made out.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(picture.data())) as image:
            image.draft("RGB", (size, size))
            seen = eight_bits(upright(image))
            small = seen.convert("RGBA" if transparent(seen) else "RGB")
            small.thumbnail((size, size))
            if veiled:
                small = under_a_veil(small)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return None
    out = io.BytesIO()
    small.save(out, "WEBP", quality=80)
    return out.getvalue()


def _section(place: int, section: Section) -> dict[str, Any]:
    return {
        "id": f"section-{place}",
        "title": section.title,
        "text": section.text,
        "charts": [_draw(drawn) for drawn in section.charts],
        "grids": [_grid(table) for table in section.tables],
        "exhibits": [_exhibit(exhibit) for exhibit in section.exhibits],
    }


def _grid(table: Table, *, draw: bool = True) -> _Grid:
    columns = [laid_column(table, place) for place in range(len(table.columns))]
    drawn = charts.chart(table) if draw else None
    rows = list(zip(*columns, strict=True))
    return _Grid(table, heads(table), rows, None if drawn is None else _draw(drawn), _pairs(table.source))


def _exhibit(exhibit: Exhibit) -> dict[str, Any]:
    item = exhibit.item
    veiled = not exhibit.unveiled
    captions = [*item.captions, *[""] * len(item.pictures)]
    return {
        "item": item,
        "note": exhibit.note,
        "turns": [(turn.role, turn.text) for turn in item.turns],
        "pictures": [
            (
                thumbnail(picture, veiled=veiled and bool(item.tags.get(SENSITIVE))),
                caption or f"Picture {place} of item {item.id}",
            )
            for place, (picture, caption) in enumerate(zip(item.pictures, captions, strict=False), start=1)
        ],
        "responses": [
            (
                response.contestant,
                response.text,
                [
                    (
                        thumbnail(picture, veiled=veiled and bool(response.tags.get(SENSITIVE))),
                        f"Picture {place} by {response.contestant}",
                    )
                    for place, picture in enumerate(response.pictures, start=1)
                ],
            )
            for response in exhibit.responses
        ],
        "rulings": _rulings(exhibit),
    }


def _rulings(exhibit: Exhibit) -> dict[str, Any]:
    """Every verdict as a row of marks under the contestants' names; who was shown first, where orders differ."""
    shown = [response.contestant for response in exhibit.responses]
    names = list(dict.fromkeys([*shown, *(name for verdict in exhibit.verdicts for name in verdict.contestants)]))
    rows = []
    for verdict in exhibit.verdicts:
        marks = dict(zip(verdict.contestants, verdict.marks or (), strict=False))
        rows.append(
            {
                "judge": verdict.judge,
                "first": verdict.contestants[0],
                "marks": [marks.get(name) for name in names],
                "fault": verdict.fault,
                "text": verdict.text,
            }
        )
    return {"names": names, "rows": rows, "orders": len({verdict.contestants for verdict in exhibit.verdicts}) > 1}


def _draw(drawn: Chart) -> _Drawn:
    """The chart as SVG; it turns dark with the page."""
    try:
        return _Drawn(drawn.alt, charts.svg(drawn))
    except MissingExtra as error:
        return _Drawn(drawn.alt, missing=str(error))


def _pairs(source: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (key, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
        for key, value in source.items()
    ]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
