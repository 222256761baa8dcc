"""A filter of verdicts: what a visitor chose, what a number links to; as an address and as SQL conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, Connection, Select, and_, false, select, true

from fullbench.core.note import Note
from fullbench.core.verdict import FAULTS
from fullbench.errors import InputError
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.disagreement import DOUBTS
from fullbench.web.results.catalogue.row_helpers import studies
from fullbench.web.results.catalogue.verdict_flags import FLAGS, Flags

FAULT_WORDS = ("none", "any", *FAULTS)
SHOWN_WORDS = ("one", "several", "choice", "ranking")
LONGEST = 400


@dataclass(frozen=True, kw_only=True)
class Filter(Flags):
    """Verdicts of one study that have all of what is named here; an empty text asks for nothing.

    `study` is the first one where it is empty; `rater` is one of the people that are the judge `human`; `beside` is
    another judge that ruled on the same responses; `contestant` and `other` are shown; `fault` is `none`
    (marks were given), `any`, or a fault; `shown` is `one` response, `several`, and of these a `choice` or a
    `ranking`; `tag` and `value` name a tag of the item; the flags ask for verdicts marked so; `q` are words to
    search for.
    """

    study: str = ""
    judge: str = ""
    rater: str = ""
    beside: str = ""
    contestant: str = ""
    other: str = ""
    item: str = ""
    tag: str = ""
    value: str = ""
    criterion: str = ""
    ballot: str = ""
    fault: str = ""
    shown: str = ""
    q: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Filter:
        """The filter that a query string asks for; names that are no part of it are ignored.

        >>> Filter.of({"judge": "length", "split": "1", "page": "3"}).address()
        'judge=length&split=1'
        """
        values: dict[str, Any] = {name: query.get(name, "").strip() for name in NAMES}
        wanted = cls(**values | {name: values[name] in {"1", "on", "true"} for name in FLAGS})
        wanted.check()
        return wanted

    def check(self) -> None:
        """Refuse words that no verdict can have."""
        if self.fault and self.fault not in FAULT_WORDS:
            raise InputError(
                Note(
                    "web.wrong.unknown-fault-known",
                    "unknown fault {fault!r}; known: {names}",
                    fault=self.fault,
                    names=", ".join(FAULT_WORDS),
                )
            )
        if self.shown and self.shown not in SHOWN_WORDS:
            raise InputError(
                Note(
                    "web.wrong.unknown-number-of-responses-shown",
                    "unknown number of responses shown {shown!r}; known: {names}",
                    shown=self.shown,
                    names=", ".join(SHOWN_WORDS),
                )
            )
        if len(self.q) > LONGEST:
            raise InputError(
                Note(
                    "web.wrong.a-search-may-have-characters",
                    "a search may have {longest} characters; found {n}",
                    longest=LONGEST,
                    n=len(self.q),
                )
            )

    def pairs(self) -> dict[str, str]:
        """What is asked for, as texts."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: "1" if value is True else str(value) for name, value in values.items() if value}

    def address(self, **more: object) -> str:
        """The query string, with further names."""
        return urlencode({**self.pairs(), **{name: str(value) for name, value in more.items()}})

    def without(self, name: str) -> Filter:
        """The same, asking for less."""
        emptied: dict[str, Any] = {name: False if name in FLAGS else ""}
        return replace(self, **emptied)

    @property
    def counted(self) -> bool:
        """Whether `public_counts` knows how many verdicts there are, without looking at any."""
        more = (self.rater, self.beside, self.other, self.item, self.tag, self.q)
        return not any((*more, *(getattr(self, name) for name in FLAGS)))

    @property
    def flagged(self) -> str:
        """The one flag that is asked for, where nothing else is but a study and a judge: `flag_counts` knows how many
        verdicts have it. Else empty.

        >>> Filter(judge="length", split=True).flagged, Filter(split=True, met=True).flagged
        ('split', '')
        """
        flags = [name for name in FLAGS if getattr(self, name)]
        if len(flags) != 1 or self.without(flags[0]) != Filter(study=self.study, judge=self.judge):
            return ""
        return flags[0]


_OWN = tuple(field.name for field in fields(Filter) if field.name not in FLAGS)
NAMES = (*_OWN[:-1], *FLAGS, _OWN[-1])
"""What a filter can ask for, in the order in which its address names it: the words to search for come last."""


@dataclass(frozen=True)
class Numbered:
    """A filter whose names were looked up. `impossible` where one is not in the catalogue: nothing can be found."""

    filter: Filter
    ids: Mapping[str, int]
    impossible: bool
    dialect: str

    @classmethod
    def of(cls, connection: Connection, wanted: Filter) -> Numbered:
        kinds = {name: name for name in ("judge", "rater", "contestant", "criterion", "ballot")}
        kinds |= {"beside": "judge", "other": "contestant"}
        asked = {name: (kind, getattr(wanted, name)) for name, kind in kinds.items() if getattr(wanted, name)}
        n = catalogue_tables.names.c
        known = {}
        if asked:
            rows = connection.execute(
                select(n.kind, n.name, n.id).where(n.name.in_({name for _, name in asked.values()}))
            )
            known = {(kind, name): id_ for kind, name, id_ in rows}
        ids = {name: known[place] for name, place in asked.items() if place in known}
        lost = len(ids) < len(asked)
        there = studies(connection)
        if wanted.study and wanted.study not in there:
            lost = True
        elif len(there) > 1:
            ids["study"] = there[wanted.study or next(iter(there))]
        if wanted.item:
            i = catalogue_tables.items.c
            within = i.study_id == ids["study"] if "study" in ids else true()
            item = connection.execute(select(i.id).where(i.name == wanted.item, within)).scalar()
            lost = lost or item is None
            ids["item"] = item or 0
        return cls(wanted, ids, lost, connection.dialect.name)

    def less(self, name: str) -> Numbered:
        """The same, asking for less."""
        ids = {kind: id_ for kind, id_ in self.ids.items() if kind != name}
        return Numbered(self.filter.without(name), ids, self.impossible, self.dialect)

    @property
    def walked(self) -> bool:
        """Whether a judge's verdicts are walked through by their own index, in the order of (judge, id).

        Judges often rule one after another, so that the newest verdicts of all may hold none of this judge's.
        PostgreSQL does not expect that and would look through them; a range instead of an equality, and the judge in
        the order, leave it no other index.
        """
        return self.dialect == "postgresql" and "judge" in self.ids

    def conditions(self, *, inside: bool = False, found: bool = False) -> ColumnElement[bool]:
        """All but the search, as a condition on `verdicts`.

        SQLite knows nothing of how many rows an index leaves, and is given none to choose but the right one. `inside`
        is for verdicts of meetings that are known: they are found by meeting, and not among all that have a flag.
        `found` is for verdicts whose ids are known, as those of a search.
        """
        if self.impossible:
            return false()
        wanted, ids = self.filter, self.ids
        v: Any = catalogue_tables.verdicts.c
        lite = self.dialect == "sqlite"
        bare = {column.name: column + 0 for column in v}
        plain = bare if lite and (inside or found) else v
        narrower = ids.keys() & {"judge", "item"} or wanted.fault not in {"", "none"}
        conditions: list[ColumnElement[bool]] = [
            plain[f"{name}_id"] == ids[name] for name in ("item", "rater", "criterion", "ballot") if name in ids
        ]
        if "study" in ids and not wanted.item and not wanted.tag:  # an item is one study's own
            conditions.append((bare if lite and narrower else plain)["study_id"] == ids["study"])
        if "judge" in ids:
            judge, column = ids["judge"], bare["judge_id"] if lite and found else v.judge_id
            conditions.append(column.between(judge, judge) if self.walked else column == judge)
        id_ = bare["id"] if lite and found else v.id
        conditions += [id_.in_(self._showing(ids[name])) for name in ("contestant", "other") if name in ids]
        conditions += [plain[name] == 1 for name in FLAGS if getattr(wanted, name)]
        if "beside" in ids:
            there = catalogue_tables.verdicts.alias("there")
            ruled = (there.c.meeting_id == v.meeting_id, there.c.judge_id == ids["beside"], there.c.fault == 0)
            conditions.append(select(there.c.id).where(*ruled).correlate(catalogue_tables.verdicts).exists())
        if wanted.shown:
            conditions.append(v.shape.in_(shape_codes(wanted.shown)))
        if wanted.fault == "any":
            conditions.append(plain["fault"].in_(range(1, len(FAULTS) + 1)))
        elif wanted.fault == "none":
            # Most verdicts have none: an index is no help, and SQLite must not try it.
            conditions.append((bare if lite else v)["fault"] == 0)
        elif wanted.fault:
            conditions.append(plain["fault"] == fault_code(wanted.fault))
        if wanted.tag:
            conditions.append(plain["item_id"].in_(self._tagged()))
        return and_(true(), *conditions)

    def meetings(self) -> ColumnElement[bool]:
        """What is true of every meeting that has such a verdict, as a condition on `meetings`: it spares a look at the
        verdicts of most others."""
        m = catalogue_tables.meetings.c
        conditions: list[ColumnElement[bool]] = [
            m.doubt.bitwise_and(weight) > 0 for name, weight in DOUBTS.items() if getattr(self.filter, name)
        ]
        if "item" in self.ids:
            conditions.append(m.item_id == self.ids["item"])
        if self.filter.tag:
            conditions.append(m.item_id.in_(self._tagged()))
        return and_(true(), *conditions)

    def _tagged(self) -> Select[tuple[int]]:
        """The items with the tag that is asked for."""
        t, wanted = catalogue_tables.tags.c, self.filter
        same = and_(t.name == wanted.tag, t.value == wanted.value) if wanted.value else t.name == wanted.tag
        asked = select(t.item_id).where(same)
        if "study" not in self.ids:
            return asked
        i = catalogue_tables.items.c
        return asked.join(catalogue_tables.items, i.id == t.item_id).where(i.study_id == self.ids["study"])

    def _showing(self, contestant: int) -> Select[tuple[int]]:
        s = catalogue_tables.shown.c
        asked = select(s.verdict_id).where(s.contestant_id == contestant)
        return asked.where(s.judge_id == self.ids["judge"]) if "judge" in self.ids else asked

    def counts(self, *, of_contestants: bool = False) -> ColumnElement[bool]:
        """The same as a condition on `counts`; only where the filter is `counted`.

        `of_contestants` asks for the counts of each contestant in place of those of all verdicts.
        """
        c, wanted = catalogue_tables.counts.c, self.filter
        whose = c.contestant_id > 0 if of_contestants else c.contestant_id == self.ids.get("contestant", 0)
        conditions: list[ColumnElement[bool]] = [whose]
        conditions += [
            c[f"{name}_id"] == self.ids[name] for name in ("study", "judge", "criterion", "ballot") if name in self.ids
        ]
        if wanted.shown:
            conditions.append(c.shape.in_(shape_codes(wanted.shown)))
        if wanted.fault == "any":
            conditions.append(c.fault > 0)
        elif wanted.fault:
            conditions.append(c.fault == fault_code(wanted.fault))
        return and_(*conditions)


def fault_code(word: str) -> int:
    """The number under which the catalogue keeps a fault; 0 where marks were given.

    >>> fault_code("none"), fault_code("refused")
    (0, 1)
    """
    return 0 if word == "none" else [str(fault) for fault in FAULTS].index(word) + 1


def shape_codes(word: str) -> tuple[int, ...]:
    """The numbers under which the catalogue keeps the shapes of rulings that a word names."""
    return {"one": (0,), "several": (1, 2), "choice": (1,), "ranking": (2,)}[word]
