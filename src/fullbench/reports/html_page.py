"""A page: one HTML file that needs no network, shows tables, charts, pictures and verdicts, and trusts no text.

What contestants and judges wrote is hostile until escaped: every value goes through Jinja's autoescape, and the page's
own policy allows no script but the one whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fullbench.core.call import Usage
from fullbench.core.digests import once
from fullbench.core.item import SENSITIVE, Item
from fullbench.core.note import WORD, Note
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Column, Table
from fullbench.core.verdict import Verdict
from fullbench.errors import MissingExtra
from fullbench.picture_decoding import eight_bits, transparent, upright
from fullbench.picture_decoding import veiled as under_a_veil
from fullbench.reports.cell_text import notes
from fullbench.reports.charts import vega_lite
from fullbench.reports.charts.vega_lite import Chart
from fullbench.reports.citation import citation
from fullbench.reports.display_names import ShownNames
from fullbench.reports.html_table_layout import LONG, TEMPLATES, Axis, LaidCell, axes, heads, laid_column, with_origins
from fullbench.reports.logos import Logo
from fullbench.reports.site_info import Imprint
from fullbench.reports.translated_tables import localised
from fullbench.reports.words import Language, messages

if TYPE_CHECKING:
    from jinja2 import Environment

THUMBNAIL = 480
"""The tag of items and responses whose pictures are not shown unasked."""
FONTS = ("roboto-regular.woff2", "roboto-bold.woff2")
SCRIPTS = ("sorting.js", "pointing.js", "saving.js")
SHARED = {name: TEMPLATES / name for name in (*SCRIPTS, "shared.css", *FONTS, "roboto-LICENSE.txt")}
"""Files of the reports that the web app's pages use too: tables that can be sorted, what is pointed at, the colours of
all pages, light and dark, and their font."""
ROW = "the row's place in the page"
"""The column that a table has for its chart alone."""


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
    names: ShownNames = field(default_factory=ShownNames)
    """The names that contestants and judges are shown by."""


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
    narrow: str = ""
    """The same for a phone."""
    missing: str = ""


@dataclass(frozen=True)
class _Grid:
    table: Table
    heads: list[tuple[str, bool]]
    rows: list[tuple[LaidCell, ...]]
    ids: list[str]
    chart: _Drawn | None
    source: list[tuple[str, str]]
    notes: list[str]
    id: str = ""

    @once
    def axes(self) -> list[Axis | None]:
        return axes(self.table)

    @property
    def with_origins(self) -> bool:
        return with_origins(self.table)

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
    language: Language = "en",
    imprint: Imprint | None = None,
) -> str:
    """A whole page as one HTML text.

    `usage` is what the calls cost, `source` what made the page (versions, seeds, ledger digest), `imprint` what a lab
    says of it. Notes among the words, tables and what the lab says are in the `language`.

    >>> "<h1>Judges</h1>" in page("Judges", "Who agrees with people?", [])
    True
    """
    script = "".join(map(_file, (*SCRIPTS, "page.js")))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    imprint = (imprint or Imprint()).said_in(language)
    said = partial(said_in, language)
    shown = [_section(number, section, language) for number, section in enumerate(sections, start=1)]
    return _environment().get_template("page.html").render(
        title=imprint.title or title,
        imprint=imprint,
        cited=imprint.citation or _citation(imprint, title, source or {}) if imprint != Imprint() else "",
        lead=said(lead),
        language=language,
        t=said,
        style=_shared_style() + _file("page.css") + _logo_style(shown),
        script=script,
        script_hash=f"sha256-{digest}",
        sections=shown,
        usage=usage,
        source=_pairs(source or {}),
    )  # fmt: skip


def fragment(table: Table, *, titled: bool = True) -> str:
    """One table as an HTML fragment, without style or script; `titled` where nothing above it says what it is."""
    module: Any = _environment().get_template("macros.html").make_module({"t": partial(said_in, "en")})
    return str(module.grid(_grid(table, str), titled=titled))


def said_in(language: Language, words: str, **values: Any) -> str:
    """Words of the page in a language, `{names}` filled in; a note by its id, other words are their own.

    >>> said_in("zh", "Cost"), said_in("en", "{count} rows", count="12")
    ('花费', '12 rows')
    """
    if isinstance(words, Note):
        return words.said_in(messages(language))
    shown = messages(language).get(f"{WORD}{words}", words)
    return shown.format(**values) if values else shown


def thumbnail(picture: Picture, *, size: int = THUMBNAIL, veiled: bool = False) -> str | None:
    """The picture as a data URI, no side longer than `size`; None when it cannot be decoded."""
    image = shrunk(picture, size=size, veiled=veiled)
    return None if image is None else "data:image/webp;base64," + base64.b64encode(image).decode()


def shrunk(picture: Picture, *, size: int, veiled: bool = False) -> bytes | None:
    """The picture as WebP, no side longer than `size`; None when it cannot be decoded.

    A veiled one holds colours, and nothing that could be made out. Of the metadata only the colour profile is kept: the
    picture is turned as its EXIF asks for.
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
    small.save(out, "WEBP", quality=80, exif=b"", xmp=b"", icc_profile=_profile_of_colours(seen.info))
    return out.getvalue()


def _profile_of_colours(info: Mapping[Any, Any]) -> bytes:
    """Return the colour profile of a picture if it describes RGB, in which WebP is saved; empty otherwise."""
    from fullbench.picture_metadata import clean_profile

    profile = clean_profile(info.get("icc_profile") or b"")
    return profile if profile[16:20] == b"RGB " else b""


def _section(place: int, section: Section, language: Language) -> dict[str, Any]:
    tables = [localised(table, language) for table in section.tables]
    return {
        "id": f"section-{place}",
        "title": said_in(language, section.title),
        "text": said_in(language, section.text),
        "charts": [_draw(drawn) for drawn in section.charts],
        "grids": [
            _grid(table, partial(said_in, language), f"table-{place}-{number}")
            for number, table in enumerate(tables, start=1)
        ],
        "exhibits": [_exhibit(exhibit, partial(said_in, language)) for exhibit in section.exhibits],
    }


def _grid(table: Table, said: Callable[[str], str], place_in_page: str = "") -> _Grid:
    """A table; one that has a place in a page is drawn too, and the marks of its chart lead to its rows."""
    columns = [laid_column(table, place) for place in range(len(table.columns))]
    rows = list(zip(*columns, strict=True))
    ids = [f"{place_in_page}-{number}" for number in range(1, len(rows) + 1)] if table.chart and place_in_page else []
    drawn = _leading_to(table, ids) if ids else None
    return _Grid(
        table, heads(table), rows, ids, None if drawn is None else _draw(drawn), _pairs(table.source),
        [said(note) for note in notes(table)], place_in_page,
    )  # fmt: skip


def _leading_to(table: Table, ids: Sequence[str]) -> Chart | None:
    """The chart of a table whose marks lead to the rows that they are drawn from."""
    rows = [(*row, f"#{row_id}") for row, row_id in zip(table.rows, ids, strict=True)]
    wider = replace(table, columns=(*table.columns, Column(ROW)), rows=rows)
    return vega_lite.chart(wider, {**(table.chart or {}), "href": ROW})


def _exhibit(exhibit: Exhibit, said: Callable[..., str]) -> dict[str, Any]:
    item = exhibit.item
    veiled = not exhibit.unveiled
    captions = [*item.captions, *[""] * len(item.pictures)]
    return {
        "item": item,
        "note": exhibit.note,
        "turns": [(said(turn.role), turn.text) for turn in item.turns],
        "pictures": [
            (
                thumbnail(picture, veiled=veiled and bool(item.tags.get(SENSITIVE))),
                caption or said("Picture {place} of item {item}", place=place, item=item.id),
            )
            for place, (picture, caption) in enumerate(zip(item.pictures, captions, strict=False), start=1)
        ],
        "responses": [
            (
                exhibit.names.shown(response.contestant),
                response.text,
                [
                    (
                        thumbnail(picture, veiled=veiled and bool(response.tags.get(SENSITIVE))),
                        said("Picture {place} by {name}", place=place, name=exhibit.names.shown(response.contestant)),
                    )
                    for place, picture in enumerate(response.pictures, start=1)
                ],
            )
            for response in exhibit.responses
        ],
        "rulings": _rulings(exhibit, said),
    }


def _rulings(exhibit: Exhibit, said: Callable[..., str]) -> dict[str, Any]:
    """Every verdict as a row of marks under the contestants' names; who was shown first, where orders differ."""
    shown = [response.contestant for response in exhibit.responses]
    names = list(dict.fromkeys([*shown, *(name for verdict in exhibit.verdicts for name in verdict.contestants)]))
    rows = []
    for verdict in exhibit.verdicts:
        marks = dict(zip(verdict.contestants, verdict.marks or (), strict=False))
        rows.append(
            {
                "judge": exhibit.names.shown(verdict.judge),
                "first": exhibit.names.shown(verdict.contestants[0]),
                "marks": [marks.get(name) for name in names],
                "fault": said(verdict.fault) if verdict.fault else None,
                "text": verdict.text,
            }
        )
    orders = len({verdict.contestants for verdict in exhibit.verdicts})
    return {"names": exhibit.names.several(names), "rows": rows, "orders": orders > 1}


def _draw(drawn: Chart) -> _Drawn:
    """The chart as SVG; it turns dark with the page."""
    try:
        wide, narrow = (vega_lite.inline(vega_lite.svg(one)) for one in (drawn, vega_lite.narrowed(drawn)))
        return _Drawn(drawn.alt, wide, narrow)
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


def _citation(imprint: Imprint, title: str, source: Mapping[str, Any]) -> str:
    """How the page is cited where the lab does not say so itself: with what it was made from."""
    made_from = ", ".join(f"{name} {source[name]}" for name in ("ledger", "fullbench") if name in source)
    name = imprint.title or title
    return citation(name, name, made_from, imprint.homepage, authors=imprint.authors, date=imprint.date)


def _logo_style(sections: Sequence[Mapping[str, Any]]) -> str:
    """Each logo once, however many rows show it."""
    logos: dict[Logo, None] = {}
    for grid in (grid for section in sections for grid in section["grids"] if grid.with_origins):
        logos |= dict.fromkeys(cell.logo for row in grid.rows for cell in row if cell.logo)
    return "".join(f'.logo-{logo.digest} {{ background-image: url("{logo.uri}"); }}\n' for logo in logos)


@cache
def _shared_style() -> str:
    """What all pages share, with the font in it: a page is one file."""
    style = _file("shared.css")
    for name in FONTS:
        data = base64.b64encode((TEMPLATES / name).read_bytes()).decode()
        style = re.sub(rf'url\("{re.escape(name)}[^"]*"\)', f'url("data:font/woff2;base64,{data}")', style)
    return style


@cache
def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
