"""HTML page in one file, without network access, for tables, charts, pictures and verdicts.

Texts of contestants and judges are untrusted. Every value goes through Jinja's autoescape. The page's content security
policy allows only the script whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fullbench.core.dialogue_turn_answers_and_criteria import turn_starts
from fullbench.core.item import SENSITIVE, Item, Part
from fullbench.core.json_digests_and_cached_properties import once
from fullbench.core.media import Media
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Column, Table
from fullbench.core.translatable_note import WORD, Note
from fullbench.core.verdict import Verdict
from fullbench.errors import MissingExtra
from fullbench.media_metadata_blanking import can_play, clean_pieces
from fullbench.picture_flattening_and_orientation import (
    apply_orientation,
    encode_image,
    has_transparency,
    to_eight_bits,
)
from fullbench.picture_flattening_and_orientation import veil_picture as under_a_veil
from fullbench.reports.cell_text import table_notes
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.charts.chart_specification_and_rendering import Chart
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.reports.logos_from_local_files import Logo
from fullbench.reports.page_bibtex import bibtex_entry
from fullbench.reports.site_info import Imprint
from fullbench.reports.table_cell_bars_and_sort_values import (
    LONG,
    TEMPLATES,
    Axis,
    LaidCell,
    column_axes,
    column_heads,
    laid_column,
    with_origins,
)
from fullbench.reports.translated_tables import localise_table
from fullbench.reports.words import Language, language_messages
from fullbench.secret_masking_and_text_escapes import replace_controls

if TYPE_CHECKING:
    from jinja2 import Environment

THUMBNAIL = 480
"""Longest side of a thumbnail in pixels."""
FONTS = ("roboto-regular.woff2", "roboto-bold.woff2")
SCRIPTS = ("sorting.js", "pointing.js", "saving.js")
SHARED_FILES = {name: TEMPLATES / name for name in (*SCRIPTS, "shared.css", *FONTS, "roboto-LICENSE.txt")}
"""Report files that the web app uses too: sorting of tables, tooltips, light and dark colours, fonts."""
ROW = "the row's place in the page"
"""Extra column with row links, used only for the chart."""


@dataclass(frozen=True)
class Exhibit:
    """One item as evidence: the question, the answers, and the verdict of each judge.
    Pictures of an item or a response with the tag `sensitive` are veiled unless `include_sensitive` is set.
    """

    item: Item
    responses: Sequence[Response] = ()
    verdicts: Sequence[Verdict] = ()
    note: str = ""
    include_sensitive: bool = False
    names: DisplayNames = field(default_factory=DisplayNames)


@dataclass(frozen=True)
class Section:
    """A part of a page. Tables with a chart hint get their chart above their rows."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    exhibits: Sequence[Exhibit] = ()


@dataclass(frozen=True)
class _ChartImages:
    alt: str
    svg: str = ""
    narrow: str = ""
    """SVG for a phone."""
    missing: str = ""


@dataclass(frozen=True)
class _Grid:
    table: Table
    heads: list[tuple[str, bool]]
    rows: list[tuple[LaidCell, ...]]
    ids: list[str]
    chart: _ChartImages | None
    source: list[tuple[str, str]]
    notes: list[str]
    id: str = ""

    @once
    def axes(self) -> list[Axis | None]:
        return column_axes(self.table)

    @property
    def with_origins(self) -> bool:
        return with_origins(self.table)

    @property
    def is_folded(self) -> bool:
        """True for a long table whose content the chart already shows."""
        return self.chart is not None and len(self.rows) > LONG


def render_page(
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    usage: Usage | None = None,
    source: Mapping[str, Any] | None = None,
    language: Language = "en",
    imprint: Imprint | None = None,
) -> str:
    """Return a whole page as HTML.

    Args:
        title: Title of the page.
        lead: First paragraph.
        sections: Tables, charts and cases.
        usage: Cost of the calls.
        source: How the page was made: versions, seeds, ledger digest.
        language: Language of notes, tables and imprint.
        imprint: Information that a lab provides about itself.

    >>> "<h1>Judges</h1>" in render_page("Judges", "Who agrees with people?", [])
    True
    """
    script = "".join(map(_read_template, (*SCRIPTS, "page.js")))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    imprint = (imprint or Imprint()).for_language(language)
    translate = partial(translate_words, language)
    section_views = [_section_view(number, section, language) for number, section in enumerate(sections, start=1)]
    page = _template_environment().get_template("page.html").render(
        title=imprint.title or title,
        imprint=imprint,
        cited=imprint.citation or _default_citation(imprint, title, source or {}) if imprint != Imprint() else "",
        lead=translate(lead),
        language=language,
        t=translate,
        style=_shared_style() + _read_template("page.css") + _logo_style(section_views),
        script=script,
        script_hash=f"sha256-{digest}",
        sections=section_views,
        usage=usage,
        source=_source_pairs(source or {}),
    )  # fmt: skip
    return replace_controls(page)


def table_fragment(table: Table, *, with_title: bool = True) -> str:
    """Return one table as an HTML fragment without style or script; `with_title` adds its title."""
    module: Any = _template_environment().get_template("macros.html").make_module({"t": partial(translate_words, "en")})
    return replace_controls(str(module.grid(_table_grid(table, str), titled=with_title)))


def translate_words(language: Language, words: str, **values: Any) -> str:
    """Translate words of the page and fill in `{names}`. Notes are translated by id, other words by their text.

    >>> translate_words("zh", "Cost"), translate_words("en", "{count} rows", count="12")
    ('花费', '12 rows')
    """
    if isinstance(words, Note):
        return words.translate_with(language_messages(language))
    translation = language_messages(language).get(f"{WORD}{words}", words)
    return translation.format(**values) if values else translation


def thumbnail_uri(picture: Picture, *, size: int = THUMBNAIL, is_veiled: bool = False) -> str | None:
    """Return the picture as a data URI with no side longer than `size`, or None if it cannot be decoded."""
    image = shrink_picture(picture, size=size, is_veiled=is_veiled)
    return None if image is None else "data:image/webp;base64," + base64.b64encode(image).decode()


def shrink_picture(picture: Picture, *, size: int, is_veiled: bool = False) -> bytes | None:
    """Return the picture as WebP with no side longer than `size`, or None if it cannot be decoded.

    A veiled picture keeps colours but no recognisable content. Only the colour profile is kept of the metadata; the
    EXIF orientation is applied.
    """
    from PIL import Image

    try:
        with Image.open(io.BytesIO(picture.data())) as image:
            image.draft("RGB", (size, size))  # JPEG is decoded at reduced size, which is faster
            upright_image = to_eight_bits(apply_orientation(image))
            small = upright_image.convert("RGBA" if has_transparency(upright_image) else "RGB")
            small.thumbnail((size, size))
            if is_veiled:
                small = under_a_veil(small)
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return None
    profile = _rgb_profile(upright_image.info)
    return encode_image(small, "WEBP", quality=80, exif=b"", xmp=b"", icc_profile=profile)


def _rgb_profile(info: Mapping[Any, Any]) -> bytes:
    """Return the colour profile of a picture if it describes RGB, the colour space of WebP, or empty bytes."""
    from fullbench.picture_metadata_removal import clean_profile

    profile = clean_profile(info.get("icc_profile") or b"")
    return profile if profile[16:20] == b"RGB " else b""


def _section_view(place: int, section: Section, language: Language) -> dict[str, Any]:
    tables = [localise_table(table, language) for table in section.tables]
    return {
        "id": f"section-{place}",
        "title": translate_words(language, section.title),
        "text": translate_words(language, section.text),
        "charts": [_draw_chart(chart) for chart in section.charts],
        "grids": [
            _table_grid(table, partial(translate_words, language), f"table-{place}-{number}")
            for number, table in enumerate(tables, start=1)
        ],
        "exhibits": [_exhibit_view(exhibit, partial(translate_words, language)) for exhibit in section.exhibits],
    }


def _table_grid(table: Table, translate: Callable[[str], str], place_in_page: str = "") -> _Grid:
    columns = [laid_column(table, place) for place in range(len(table.columns))]
    rows = list(zip(*columns, strict=True))
    ids = [f"{place_in_page}-{number}" for number in range(1, len(rows) + 1)] if table.chart and place_in_page else []
    chart = _linked_chart(table, ids) if ids else None
    return _Grid(
        table,
        column_heads(table),
        rows,
        ids,
        None if chart is None else _draw_chart(chart),
        _source_pairs(table.source),
        [translate(note) for note in table_notes(table)],
        place_in_page,
    )


def _linked_chart(table: Table, ids: Sequence[str]) -> Chart | None:
    rows = [(*row, f"#{row_id}") for row, row_id in zip(table.rows, ids, strict=True)]
    wider = replace(table, columns=(*table.columns, Column(ROW)), rows=rows)
    return chart_specification_and_rendering.build_chart(wider, {**(table.chart or {}), "href": ROW})


def _exhibit_view(exhibit: Exhibit, translate: Callable[..., str]) -> dict[str, Any]:
    item = exhibit.item
    is_veiled = not exhibit.include_sensitive
    shown_name = exhibit.names.shown_name
    captions = [*item.captions, *[""] * len(item.pictures)]
    item_views = [
        (
            thumbnail_uri(picture, is_veiled=is_veiled and bool(item.tags.get(SENSITIVE))),
            caption or translate("Picture {place} of item {item}", place=place, item=item.id),
        )
        for place, (picture, caption) in enumerate(zip(item.pictures, captions, strict=False), start=1)
    ]
    remaining_views = iter(item_views if item.is_interleaved else ())
    return {
        "item": item,
        "note": exhibit.note,
        "turns": [
            (
                translate(turn.role),
                _parts_in_place(
                    turn.parts, remaining_views, translate, is_veiled=is_veiled and bool(item.tags.get(SENSITIVE))
                ),
            )
            for turn in item.turns
        ],
        "pictures": [] if item.is_interleaved else item_views,
        "responses": [
            (
                shown_name(response.contestant),
                _parts_in_place(
                    response.parts,
                    (
                        (
                            thumbnail_uri(picture, is_veiled=is_veiled and bool(response.tags.get(SENSITIVE))),
                            translate("Picture {place} by {name}", place=place, name=shown_name(response.contestant)),
                        )
                        for place, picture in enumerate(response.pictures, start=1)
                    ),
                    translate,
                    {
                        index: translate("Turn {number}", number=number)
                        for index, number in turn_starts(item, response).items()
                    },
                    is_veiled=is_veiled and bool(response.tags.get(SENSITIVE)),
                ),
            )
            for response in exhibit.responses
        ],
        "verdicts": _verdict_rows(exhibit, translate),
    }


def _parts_in_place(
    parts: Sequence[Part],
    picture_views: Iterable[tuple[str | None, str]],
    translate: Callable[..., str],
    headings: Mapping[int, str] | None = None,
    *,
    is_veiled: bool = False,
) -> list[tuple[str, str, tuple[str | None, str] | None]]:
    """Return each text, each picture that has a view and other media, in order, as (heading, text, view)."""
    remaining_views, shown_headings = iter(picture_views), headings or {}
    views: list[tuple[str, str, tuple[str | None, str] | None]] = []
    for index, part in enumerate(parts):
        heading = shown_headings.get(index, "")
        if isinstance(part, str):
            views.append((heading, part, None))
        elif isinstance(part, Picture):
            views.append((heading, "", next(remaining_views, None)))
        elif uri := None if is_veiled else media_uri(part):
            views.append((heading, "", (uri, translate(NOUN_LABELS[part.kind]))))
        else:
            sentence = translate("{what} of {size} kB: not part of this page", what=translate(NOUN_LABELS[part.kind]),
                                 size=f"{part.byte_count // 1000:,}")  # fmt: skip
            views.append((heading, sentence, None))
    return [view for view in views if any(view)]


LARGEST_EMBEDDED = 3_000_000
"""Largest video or recording in bytes that becomes part of a page."""
NOUN_LABELS = {"video": "Video", "audio": "Recording", "document": "Document"}


def media_uri(media: Media) -> str | None:
    """Return a video or recording without metadata as a data URI.

    None for documents, large files, and files whose metadata cannot be removed.
    """
    if not can_play(media) or media.byte_count > LARGEST_EMBEDDED:
        return None
    return f"data:{media.media_type};base64," + base64.b64encode(b"".join(clean_pieces(media))).decode()


def _verdict_rows(exhibit: Exhibit, translate: Callable[..., str]) -> dict[str, Any]:
    response_contestants = [response.contestant for response in exhibit.responses]
    names = list(
        dict.fromkeys([*response_contestants, *(name for verdict in exhibit.verdicts for name in verdict.contestants)])
    )
    rows = []
    for verdict in exhibit.verdicts:
        marks = dict(zip(verdict.contestants, verdict.marks or (), strict=False))
        rows.append(
            {
                "judge": exhibit.names.shown_name(verdict.judge),
                "first": exhibit.names.shown_name(verdict.contestants[0]),
                "marks": [marks.get(name) for name in names],
                "fault": translate(verdict.fault) if verdict.fault else None,
                "text": verdict.text,
            }
        )
    orders = len({verdict.contestants for verdict in exhibit.verdicts})
    return {"names": exhibit.names.shown_names(names), "rows": rows, "orders": orders > 1}


def _draw_chart(chart: Chart) -> _ChartImages:
    try:
        wide, narrow = (
            chart_specification_and_rendering.inline_svg(chart_specification_and_rendering.render_svg(variant))
            for variant in (chart, chart_specification_and_rendering.narrow_chart(chart))
        )
        return _ChartImages(chart.alt, wide, narrow)
    except MissingExtra as error:
        return _ChartImages(chart.alt, missing=str(error))


def _source_pairs(source: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (key, ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
        for key, value in source.items()
    ]


@cache
def _template_environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _default_citation(imprint: Imprint, title: str, source: Mapping[str, Any]) -> str:
    made_from = ", ".join(f"{name} {source[name]}" for name in ("ledger", "fullbench") if name in source)
    name = imprint.title or title
    return bibtex_entry(name, name, made_from, imprint.homepage, authors=imprint.authors, date=imprint.date)


def _logo_style(sections: Sequence[Mapping[str, Any]]) -> str:
    logos: dict[Logo, None] = {}
    for grid in (grid for section in sections for grid in section["grids"] if grid.with_origins):
        logos |= dict.fromkeys(cell.logo for row in grid.rows for cell in row if cell.logo)
    return "".join(f'.logo-{logo.digest} {{ background-image: url("{logo.uri}"); }}\n' for logo in logos)


@cache
def _shared_style() -> str:
    style = _read_template("shared.css")
    for name in FONTS:
        data = base64.b64encode((TEMPLATES / name).read_bytes()).decode()
        style = re.sub(rf'url\("{re.escape(name)}[^"]*"\)', f'url("data:font/woff2;base64,{data}")', style)
    return style


@cache
def _read_template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
