"""HTML of items, records, tables and other core objects in notebooks, and what `print` and `save` make of tables.

Texts of models are escaped.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fullbench.analysis.summary.study_summary import sentences_of, split_first_tables
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import turn_starts
from fullbench.core.item import Item, Part
from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.core.registered_display_and_frame_functions import register_html, register_text_and_writer
from fullbench.core.response import Response
from fullbench.core.table import Table, Tables
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import MissingExtra
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames, table_as_shown

ROWS = 20
"""Number of verdicts of a record that are shown."""
_PICTURE = 240
_BOX = "border:1px solid #8884;border-radius:4px;padding:.4em .6em;margin:.3em 0;white-space:pre-wrap"


def render_html(noun: Any) -> str:
    """Return a core object as an HTML fragment, and any other object as text."""
    if isinstance(noun, Table):
        return _tables_html([noun])
    if isinstance(noun, Tables):
        return _tables_html(noun)
    if isinstance(noun, Picture):
        return _picture_html(noun)
    if isinstance(noun, Item):
        return f"<b>{escape(noun.id)}</b>" + "".join(_parts_html(turn.parts, turn.role) for turn in noun.turns)
    if isinstance(noun, Response):
        return _response_html(noun, {})
    if isinstance(noun, Case):
        turns_by_response = [turn_starts(noun.item, response) for response in noun.responses]
        responses_html = "".join(map(_response_html, noun.responses, turns_by_response))
        return f"{render_html(noun.item)}{responses_html}<p>{escape(noun.ballot.spec)}, {escape(noun.criterion)}</p>"
    if isinstance(noun, Record):
        return _record_html(noun)
    if hasattr(noun, "lead") and hasattr(noun, "tables"):  # a judge card; importing its class here is not allowed
        names = DisplayNames.from_names(noun.names)
        title, lead = escape(names.shown_name(noun.judge)), escape(names.with_shown_names(noun.lead))
        return f"<h3>{title}</h3><p>{lead}</p>{_tables_html([names.table(table) for table in noun.tables])}"
    if hasattr(noun, "record") and hasattr(noun, "tables"):  # the result of a study, for the same reason
        messages = map(noun.names.with_shown_names, noun.messages)
        sentences_html = "".join(f"<p>{escape(sentence)}</p>" for sentence in messages)
        return f"<p>{escape(repr(noun))}</p>{sentences_html}{_tables_html(noun.tables)}"
    return f"<pre>{escape(repr(noun))}</pre>"


def _tables_html(tables: Sequence[Table]) -> str:
    from fullbench.reports.charts.chart_specification_and_rendering import build_chart, render_svg
    from fullbench.reports.html_page import table_fragment

    table_blocks, lacking = [], ""
    tables = [table_as_shown(table) for table in tables]
    sentences = [f"<p>{escape(str(sentence))}</p>" for sentence in sentences_of(tables)]
    first, other_tables = split_first_tables(tables) if sentences else ([], tables)
    for table in [*first, *other_tables]:
        chart_svg = ""
        try:
            hint = build_chart(table)
            chart_svg = render_svg(hint) if hint is not None else ""
        except MissingExtra as extra:
            lacking = f"<p><small>Without charts: {escape(str(extra))}.</small></p>"
        table_blocks.append(f"<h4>{escape(str(table.title))}</h4>{chart_svg}{table_fragment(table, with_title=False)}")
    if not first or not other_tables:
        return "".join([*sentences, *table_blocks]) + lacking
    more = "1 more table" if len(other_tables) == 1 else f"{len(other_tables)} more tables"
    details = f"<details><summary>{more}</summary>{''.join(table_blocks[len(first) :])}</details>"
    return "".join([*sentences, *table_blocks[: len(first)]]) + details + lacking


def _picture_html(picture: Media) -> str:
    from fullbench.reports.html_page import media_uri, thumbnail_uri

    if not isinstance(picture, Picture):
        uri = media_uri(picture)
        if uri is None:
            return f"<i>{picture.noun} {picture.digest[:12]} ({escape(picture.media_type)})</i>"
        return f'<{picture.kind} controls src="{escape(uri)}" style="max-width:100%"></{picture.kind}>'
    source = thumbnail_uri(picture, size=_PICTURE)
    if source is None:
        return f"<i>a picture that cannot be shown ({escape(picture.media_type)})</i>"
    return f'<img src="{escape(source)}" style="max-width:{_PICTURE}px">'


def _response_html(response: Response, turns: Mapping[int, int]) -> str:
    who = f"{response.contestant}, sample {response.sample}" if response.sample else response.contestant
    return _parts_html(response.parts, who, turns)


def _parts_html(parts: Sequence[Part], who: str, turns: Mapping[int, int] | None = None) -> str:
    shown_turns = turns or {}
    inside = "".join(
        (f"<p><i>turn {shown_turns[index]}</i></p>" if index in shown_turns else "")
        + (escape(part) if isinstance(part, str) else f"{_picture_html(part)}<br>")
        for index, part in enumerate(parts)
    )
    return f'<div style="{_BOX}"><b>{escape(who)}</b>\n{inside}</div>'


def _record_html(record: Record) -> str:
    several = any(any(verdict.samples) for verdict in record.verdicts)
    names = ("judge", "item", "contestants", *(["samples"] if several else []), "marks", "criterion", "said")
    head = "".join(f"<th>{name}</th>" for name in names)
    shown_name = DisplayNames.from_names(record.names).shown_name
    rows = "".join(_verdict_row(verdict, several, shown_name) for verdict in record.verdicts[:ROWS])
    more = len(record) - ROWS
    more_note = f"<p>and {more:,} more; <code>.frame()</code> has them all</p>" if more > 0 else ""
    return f"<p>{escape(repr(record))}</p><table><tr>{head}</tr>{rows}</table>{more_note}"


def _verdict_row(verdict: Verdict, several: bool, shown_name: Callable[[str], str]) -> str:
    marks = verdict.fault or ", ".join(f"{mark:g}" for mark in verdict.marks or ())
    verdict_text = " ".join(verdict.text.split())
    cells = (
        shown_name(verdict.judge),
        verdict.item,
        ", ".join(map(shown_name, verdict.contestants)),
        *([", ".join(str(sample) for _, sample in verdict.shown_responses)] if several else []),
        marks,
        verdict.criterion,
        verdict_text if len(verdict_text) <= 120 else f"{verdict_text[:119]}…",
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def render_plain(noun: Any) -> str:
    """Return tables, a judge card or the result of a study as text for `print`."""
    from fullbench.reports.table_formats import render_table
    from fullbench.reports.tables_as_terminal_text import render_texts
    from fullbench.secret_masking_and_text_escapes import neutralise_text

    width = shutil.get_terminal_size((100, 40)).columns
    if isinstance(noun, Table):
        return neutralise_text(render_table(noun, width=width)).rstrip("\n")
    lead = getattr(noun, "lead", "")
    head = [f"{noun.judge}\n{lead}"] if lead else [repr(noun), *noun.messages] if hasattr(noun, "messages") else []
    tables = [table_as_shown(table) for table in (noun if isinstance(noun, Tables) else noun.tables)]
    texts = render_texts(tables, width=width, selector=".find({name!r})")
    return "\n".join(map(neutralise_text, [*(f"{part}\n" for part in head), *texts])).rstrip("\n")


def write_noun(noun: Any, path: str | Path) -> list[Path]:
    """Write a table, several tables, the tables of a study or a judge card to a file."""
    from fullbench.analysis.judge_card import Card
    from fullbench.reports.judge_card_display import write_card
    from fullbench.reports.table_formats import write_tables

    if isinstance(noun, Card) and Path(path).suffix.lower() in {".html", ".json"}:
        return write_card(noun, path)
    return write_tables(noun if isinstance(noun, Table | Tables) else noun.tables, path)


register_html(render_html)
register_text_and_writer(render_plain, write_noun)
