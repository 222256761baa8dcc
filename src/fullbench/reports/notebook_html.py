"""What nouns look like in a notebook. All that contestants and judges wrote is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from fullbench.core.case import Case
from fullbench.core.item import Item, Part
from fullbench.core.notebook_display import show_with
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Table, Tables
from fullbench.core.verdict import Verdict
from fullbench.errors import MissingExtra

ROWS = 20
"""So many verdicts of a record are shown."""
_PICTURE = 240
_BOX = "border:1px solid #8884;border-radius:4px;padding:.4em .6em;margin:.3em 0;white-space:pre-wrap"


def html(noun: Any) -> str:
    """A noun as a piece of HTML; any other object as its text."""
    if isinstance(noun, Table):
        return _tables([noun])
    if isinstance(noun, Tables):
        return _tables(noun)
    if isinstance(noun, Picture):
        return _picture(noun)
    if isinstance(noun, Item):
        return f"<b>{escape(noun.id)}</b>" + "".join(_parts(turn.parts, turn.role) for turn in noun.turns)
    if isinstance(noun, Response):
        return _parts(noun.parts, _answerer(noun))
    if isinstance(noun, Case):
        shown = "".join(map(html, noun.responses))
        return f"{html(noun.item)}{shown}<p>{escape(noun.ballot.spec)}, {escape(noun.criterion)}</p>"
    if isinstance(noun, Record):
        return _record(noun)
    if hasattr(noun, "lead") and hasattr(noun, "tables"):  # a judge card, which lives in a room that we may not import
        return f"<h3>{escape(noun.judge)}</h3><p>{escape(noun.lead)}</p>{_tables(noun.tables)}"
    if hasattr(noun, "record") and hasattr(noun, "tables"):  # what came of a study, for the same reason
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in noun.said)
        return f"<p>{escape(repr(noun))}</p>{said}{_tables(noun.tables)}"
    return f"<pre>{escape(repr(noun))}</pre>"


def _tables(tables: Sequence[Table]) -> str:
    """Tables with their charts; one sentence where charts cannot be drawn here."""
    from fullbench.reports.charts.vega_lite import chart, svg
    from fullbench.reports.html_page import fragment

    shown, lacking = [], ""
    for table in tables:
        drawn = ""
        try:
            hint = chart(table)
            drawn = svg(hint) if hint is not None else ""
        except MissingExtra as extra:
            lacking = f"<p><small>Without charts: {escape(str(extra))}.</small></p>"
        shown.append(f"<h4>{escape(str(table.title))}</h4>{drawn}{fragment(table, titled=False)}")
    return "".join(shown) + lacking


def _answerer(response: Response) -> str:
    """Who answered; with the number of the answer, where it is not the first."""
    return f"{response.contestant}, sample {response.sample}" if response.sample else response.contestant


def _picture(picture: Picture) -> str:
    from fullbench.reports.html_page import thumbnail

    source = thumbnail(picture, size=_PICTURE)
    if source is None:
        return f"<i>a picture that cannot be shown ({escape(picture.media)})</i>"
    return f'<img src="{escape(source)}" style="max-width:{_PICTURE}px">'


def _parts(parts: Sequence[Part], who: str) -> str:
    inside = "".join(escape(part) if isinstance(part, str) else f"{_picture(part)}<br>" for part in parts)
    return f'<div style="{_BOX}"><b>{escape(who)}</b>\n{inside}</div>'


def _record(record: Record) -> str:
    several = any(any(verdict.samples) for verdict in record.verdicts)
    names = ("judge", "item", "contestants", *(["samples"] if several else []), "marks", "criterion", "said")
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(_row(verdict, several) for verdict in record.verdicts[:ROWS])
    more = len(record) - ROWS
    rest = f"<p>and {more:,} more; <code>.frame()</code> has them all</p>" if more > 0 else ""
    return f"<p>{escape(repr(record))}</p><table><tr>{head}</tr>{rows}</table>{rest}"


def _row(verdict: Verdict, several: bool) -> str:
    marks = verdict.fault or ", ".join(f"{mark:g}" for mark in verdict.marks or ())
    said = " ".join(verdict.text.split())
    cells = (
        verdict.judge, verdict.item, ", ".join(verdict.contestants),
        *([", ".join(str(sample) for _, sample in verdict.shown)] if several else []), marks, verdict.criterion,
        said if len(said) <= 120 else f"{said[:119]}…",
    )  # fmt: skip
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


show_with(html)
