"""What nouns look like in a notebook. All that contestants and judges wrote is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from fullbench.nouns.case import Case
from fullbench.nouns.item import Item, Part
from fullbench.nouns.picture import Picture
from fullbench.nouns.record import Record
from fullbench.nouns.response import Response
from fullbench.nouns.shown import show_with
from fullbench.nouns.table import Table, Tables
from fullbench.nouns.verdict import Verdict

ROWS = 20
"""So many verdicts of a record are shown."""
_PICTURE = 240
_BOX = "border:1px solid #8884;border-radius:4px;padding:.4em .6em;margin:.3em 0;white-space:pre-wrap"


def html(noun: Any) -> str:
    """A noun as a piece of HTML; any other object as its text."""
    if isinstance(noun, Table):
        return _table(noun)
    if isinstance(noun, Tables):
        return "".join(map(_table, noun))
    if isinstance(noun, Picture):
        return _picture(noun)
    if isinstance(noun, Item):
        return f"<b>{escape(noun.id)}</b>" + "".join(_parts(turn.parts, turn.role) for turn in noun.turns)
    if isinstance(noun, Response):
        return _parts(noun.parts, noun.contestant)
    if isinstance(noun, Case):
        shown = "".join(_parts(response.parts, response.contestant) for response in noun.responses)
        return f"{html(noun.item)}{shown}<p>{escape(noun.ballot.spec)}, {escape(noun.criterion)}</p>"
    if isinstance(noun, Record):
        return _record(noun)
    if hasattr(noun, "lead") and hasattr(noun, "tables"):  # a judge card, which lives in a room that we may not import
        return f"<h3>{escape(noun.judge)}</h3><p>{escape(noun.lead)}</p>" + "".join(map(_table, noun.tables))
    return f"<pre>{escape(repr(noun))}</pre>"


def _table(table: Table) -> str:
    from fullbench.reports.charts import chart, svg
    from fullbench.reports.page import fragment

    drawn = ""
    try:
        hint = chart(table)
        drawn = svg(hint) if hint is not None else ""
    except ModuleNotFoundError:  # charts are an extra: without it the table stands alone
        drawn = ""
    return f"<h4>{escape(str(table.title))}</h4>{drawn}{fragment(table)}"


def _picture(picture: Picture) -> str:
    from fullbench.reports.page import thumbnail

    source = thumbnail(picture, size=_PICTURE)
    if source is None:
        return f"<i>a picture that cannot be shown ({escape(picture.media)})</i>"
    return f'<img src="{escape(source)}" style="max-width:{_PICTURE}px">'


def _parts(parts: Sequence[Part], who: str) -> str:
    inside = "".join(escape(part) if isinstance(part, str) else f"{_picture(part)}<br>" for part in parts)
    return f'<div style="{_BOX}"><b>{escape(who)}</b>\n{inside}</div>'


def _record(record: Record) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("judge", "item", "contestants", "marks", "criterion", "said"))
    rows = "".join(map(_row, record.verdicts[:ROWS]))
    more = len(record) - ROWS
    rest = f"<p>and {more:,} more; <code>.frame()</code> has them all</p>" if more > 0 else ""
    return f"<p>{escape(repr(record))}</p><table><tr>{head}</tr>{rows}</table>{rest}"


def _row(verdict: Verdict) -> str:
    marks = verdict.fault or ", ".join(f"{mark:g}" for mark in verdict.marks or ())
    said = " ".join(verdict.text.split())
    cells = (
        verdict.judge, verdict.item, ", ".join(verdict.contestants), marks, verdict.criterion,
        said if len(said) <= 120 else f"{said[:119]}…",
    )  # fmt: skip
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


show_with(html)
