"""Pages of verdicts: filtered, searched, counted, and turned by key, never by offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Select, func, select

from fullbench.core.verdict import FAULTS
from fullbench.web.results.catalogue import catalogue_tables, flag_counts, full_text_search
from fullbench.web.results.catalogue.verdict_flags import FLAGS, Flags
from fullbench.web.results.lists.verdict_filters import Filter, Numbered

PAGE = 50
MOST = 10_000
"""How far a search is counted."""


@dataclass(frozen=True)
class Shown:
    """One response of a verdict's case: whose, and the mark it got."""

    contestant: str
    mark: float | None
    sample: int = 0


@dataclass(frozen=True, kw_only=True)
class Line(Flags):
    """One verdict as a line of the list."""

    id: int
    study: str
    case: str
    judge: str
    rater: str
    revision: int
    item: str
    title: str
    ballot: str
    criterion: str
    trial: int
    fault: str | None
    shown: Sequence[Shown]


@dataclass(frozen=True)
class Page:
    """Some lines, newest first, and the ids from which older and newer pages go on."""

    lines: Sequence[Line]
    older: int | None
    newer: int | None


@dataclass(frozen=True)
class Count:
    """How many verdicts a filter finds; not `exact` where a search finds at least so many."""

    n: int
    exact: bool = True


def page(connection: Connection, wanted: Filter, *, before: int | None = None, after: int | None = None,
         size: int = PAGE, withheld: Select[Any] | None = None) -> Page:  # fmt: skip
    """The verdicts that a filter finds: those entered before an id, or the next ones after it, newest first.

    Verdicts on the items `withheld` are not among them, whatever the filter asks for.
    """
    numbered = Numbered.of(connection, wanted)
    if numbered.impossible:
        return Page((), None, None)
    v, n, i, c = catalogue_tables.verdicts.c, catalogue_tables.names, catalogue_tables.items.c, catalogue_tables.cases.c
    ids = _ids(connection, numbered, _Stretch(before, after), size + 1, withheld)
    more, ids = len(ids) > size, ids[:size]
    if after is not None:
        ids.reverse()
    columns = (
        *(v.id, c.key, i.name, i.title, v.judge_id, v.ballot_id, v.criterion_id, v.trial, v.fault, v.shown, v.marks),
        *(v.study_id, v.rater_id, v.revision, v.samples),
        *(v[flag] for flag in FLAGS),
    )
    rows = connection.execute(
        select(*columns)
        .select_from(catalogue_tables.verdicts)
        .join(catalogue_tables.items, i.id == v.item_id)
        .join(catalogue_tables.cases, c.id == v.case_id)
        .where(v.id.in_(ids))
        .order_by(v.id.desc())
    ).all()
    named = ("judge_id", "ballot_id", "criterion_id", "study_id", "rater_id")
    numbers = {getattr(row, name) for row in rows for name in named}
    numbers |= {number for row in rows for number in orjson.loads(row.shown)}
    known = {row.id: row.name for row in connection.execute(select(n.c.id, n.c.name).where(n.c.id.in_(numbers)))}
    lines = [_line(row, known) for row in rows]
    older = ids[-1] if ids and (more or after is not None) else None
    newer = ids[0] if ids and (before is not None or (after is not None and more)) else None
    return Page(lines, older, newer)


@dataclass(frozen=True)
class _Stretch:
    """The newest verdicts, those entered before an id, or the next ones after it."""

    before: int | None = None
    after: int | None = None

    def bounds(self, id_: Any) -> list[ColumnElement[bool]]:
        if self.after is not None:
            return [id_ > self.after]
        return [] if self.before is None else [id_ < self.before]

    def order(self, *columns: Any) -> list[Any]:
        return [column if self.after is not None else column.desc() for column in columns]


_ALL = _Stretch()


def _ids(
    connection: Connection, numbered: Numbered, stretch: _Stretch, most: int, withheld: Select[Any] | None
) -> list[int]:
    """At most so many ids of a stretch that a filter finds, in the stretch's order."""

    def found(within: int | None) -> list[int]:
        selected = matching(connection, numbered, within, stretch)
        if selected is None:
            return []
        asked, id_ = selected
        if withheld is not None:
            asked = asked.where(id_.not_in(_on(withheld)))
        v = catalogue_tables.verdicts.c
        walked = (v.judge_id,) if numbered.walked and id_ is v.id else ()
        ordered = asked.where(*stretch.bounds(id_)).order_by(*stretch.order(*walked, id_))
        return list(connection.execute(ordered.limit(most)).scalars())

    # Asked for the newest hits of a rare word, PostgreSQL walks through all verdicts; asked for the newest thousands,
    # it looks the word up. Where those do not fill a page, it is asked for all of them.
    if numbered.filter.q and connection.dialect.name == "postgresql":
        ids = found(MOST + 1)
        hits = _hits(connection, numbered, MOST + 1, stretch)
        if len(ids) == most or hits is None or _counted(connection, hits[0]) <= MOST:
            return ids
    return found(None)


def _on(items: Select[Any]) -> Select[Any]:
    """The verdicts on some items."""
    return select(catalogue_tables.verdicts.c.id).where(catalogue_tables.verdicts.c.item_id.in_(items))


def _line(row: Any, known: dict[int, str]) -> Line:
    shown = orjson.loads(row.shown)
    marks = [None] * len(shown) if row.marks is None else orjson.loads(row.marks)
    samples = orjson.loads(row.samples) if row.samples else [0] * len(shown)
    flags: dict[str, Any] = {flag: bool(getattr(row, flag)) for flag in FLAGS}
    return Line(
        id=row.id,
        study=known[row.study_id],
        case=row.key,
        judge=known[row.judge_id],
        rater=known[row.rater_id],
        revision=row.revision,
        item=row.name,
        title=row.title,
        ballot=known[row.ballot_id],
        criterion=known[row.criterion_id],
        trial=row.trial,
        fault=FAULTS[row.fault - 1] if row.fault else None,
        shown=[
            Shown(known[contestant], mark, sample)
            for contestant, mark, sample in zip(shown, marks, samples, strict=True)
        ],
        **flags,
    )


def matching(
    connection: Connection, numbered: Numbered, within: int | None = None, stretch: _Stretch = _ALL
) -> tuple[Select[Any], Any] | None:
    """A SELECT of the ids that are found, and its column of ids; None where a search asks for nothing.

    It begins where the ids come in order and few: at the search, else at a contestant's verdicts, else at all of them.
    `within` looks at so many hits of a search only, the first ones of a stretch.
    """
    v, s, wanted = catalogue_tables.verdicts.c, catalogue_tables.shown.c, numbered.filter
    if wanted.q:
        hits = _hits(connection, numbered, within, stretch)
        if hits is None:
            return None
        asked, id_ = hits
        return asked.join(catalogue_tables.verdicts, v.id == id_).where(numbered.conditions(found=True)), id_
    if "contestant" not in numbered.ids:
        return select(v.id).where(numbered.conditions()), v.id
    asked = select(s.verdict_id).where(s.contestant_id == numbered.ids["contestant"])
    if "judge" in numbered.ids:
        asked = asked.where(s.judge_id == numbered.ids["judge"])
    rest = numbered.less("contestant")
    if "study" in rest.ids or rest.filter.without("judge") != Filter(study=rest.filter.study):
        asked = asked.join(catalogue_tables.verdicts, v.id == s.verdict_id).where(rest.conditions(found=True))
    return asked, s.verdict_id


def _hits(
    connection: Connection, numbered: Numbered, within: int | None, stretch: _Stretch = _ALL
) -> tuple[Select[Any], Any] | None:
    """What a search finds between the first and the last verdict of the study and of the judge that are asked for."""
    hits = full_text_search.matching(connection.dialect.name, numbered.filter.q)
    if hits is None:
        return None
    index, id_, match = hits
    v = catalogue_tables.verdicts.c
    asked = select(id_).select_from(index).where(match)
    own = [v.judge_id == numbered.ids["judge"]] if "judge" in numbered.ids else []
    if "study" in numbered.ids:
        # A judge's verdicts are looked through for those of the study, never the other way round.
        own.append((v.study_id + 0 if own else v.study_id) == numbered.ids["study"])
    if own:
        first, last = (connection.execute(select(end(v.id)).where(*own)).scalar() or 0 for end in (func.min, func.max))
        asked = asked.where(id_ >= first, id_ <= last)
    if within is not None:
        inner = asked.where(*stretch.bounds(id_)).order_by(*stretch.order(id_)).limit(within).subquery()
        id_ = inner.c[0]
        asked = select(id_)
    return asked, id_


def count(connection: Connection, wanted: Filter, withheld: Select[Any] | None = None) -> Count:
    """How many verdicts a filter finds, those on the items `withheld` left out."""
    numbered = Numbered.of(connection, wanted)
    if numbered.impossible:
        return Count(0)
    if withheld is not None:
        selected = matching(connection, numbered, MOST + 1 if wanted.q else None)
        n = 0 if selected is None else _counted(connection, selected[0].where(selected[1].not_in(_on(withheld))))
        return Count(n, not wanted.q or n <= MOST)
    if wanted.counted:
        total = select(func.coalesce(func.sum(catalogue_tables.counts.c.n), 0)).where(numbered.counts())
        return Count(int(connection.execute(total).scalar_one()))
    if wanted.flagged:
        ready = flag_counts.total(connection, wanted.flagged, numbered.ids.get("study"), numbered.ids.get("judge"))
        if ready is not None:
            return Count(ready)
    selected = matching(connection, numbered, MOST + 1)
    hits = _hits(connection, numbered, MOST + 1) if wanted.q else None
    if selected is None:
        return Count(0)
    n = _counted(connection, selected[0])
    if hits is None:
        return Count(n)
    exact = _counted(connection, hits[0]) <= MOST
    if not n and not exact:  # what is asked for may lie behind the hits that were looked at
        every = matching(connection, numbered)
        n = 0 if every is None else _counted(connection, every[0].limit(1))
        exact = not n
    return Count(min(n, MOST), exact)


def _counted(connection: Connection, asked: Select[Any]) -> int:
    return int(connection.execute(select(func.count()).select_from(asked.subquery())).scalar_one())


def choices(connection: Connection) -> dict[str, list[str]]:
    """What can be chosen in the form of filters: judges, contestants, criteria, ballots, tags."""
    n, t = catalogue_tables.names.c, catalogue_tables.tags.c
    by_kind: dict[str, list[str]] = {
        "study": [],
        "judge": [],
        "contestant": [],
        "criterion": [],
        "ballot": [],
        "rater": [],
    }
    for kind, name in connection.execute(select(n.kind, n.name).order_by(n.name)):
        by_kind[kind].append(name)
    by_kind["tag"] = list(connection.execute(select(t.name).distinct().order_by(t.name)).scalars())
    return by_kind
