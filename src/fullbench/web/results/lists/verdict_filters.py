"""Filter of verdicts: from and to a query string, and as SQL conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, Connection, Select, and_, false, select, true

from fullbench.core.translatable_note import Note
from fullbench.core.verdict import FAULTS
from fullbench.errors import InputError
from fullbench.web.results.catalogue import catalogue_tables
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import DOUBT_WEIGHTS
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS, Flags

FAULT_WORDS = ("none", "any", *FAULTS)
SHOWN_WORDS = ("one", "several", "choice", "ranking")
MAX_TEXT_LENGTH = 400


@dataclass(frozen=True, kw_only=True)
class Filter(Flags):
    """Verdicts of one study that have all given values. An empty text means any value.

    An empty `study` means the first one. `rater` is a person of the judge `human`. `beside` is another judge of the
    same responses. `contestant` and `other` are both shown. `fault` is `none` (marks were given), `any`, or a fault.
    `shown` is `one` response, `several`, or of these a `choice` or `ranking`. `tag` and `value` are a tag of the item.
    The flags select verdicts that have them. `q` is the search text.
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
    def from_query(cls, query: Mapping[str, str]) -> Filter:
        """Build a filter from a query string. Unknown names are ignored.

        >>> Filter.from_query({"judge": "length", "split": "1", "page": "3"}).address()
        'judge=length&split=1'
        """
        values: dict[str, Any] = {name: query.get(name, "").strip() for name in NAMES}
        verdict_filter = cls(**values | {name: values[name] in {"1", "on", "true"} for name in FLAGS})
        verdict_filter.check()
        return verdict_filter

    def check(self) -> None:
        """Raise `InputError` for values that no verdict can have."""
        if self.fault and self.fault not in FAULT_WORDS:
            raise InputError(Note("web.wrong.unknown-fault-known", fault=self.fault, names=", ".join(FAULT_WORDS)))
        if self.shown and self.shown not in SHOWN_WORDS:
            raise InputError(
                Note("web.wrong.unknown-number-of-responses-shown", shown=self.shown, names=", ".join(SHOWN_WORDS))
            )
        if len(self.q) > MAX_TEXT_LENGTH:
            raise InputError(Note("web.wrong.a-search-may-have-characters", longest=MAX_TEXT_LENGTH, n=len(self.q)))

    def pairs(self) -> dict[str, str]:
        """Return the values that are set, as texts."""
        values = {name: getattr(self, name) for name in NAMES}
        return {name: "1" if value is True else str(value) for name, value in values.items() if value}

    def address(self, **more: object) -> str:
        """Return the query string, with further names."""
        return urlencode({**self.pairs(), **{name: str(value) for name, value in more.items()}})

    def without(self, name: str) -> Filter:
        """Return the filter without one of its values."""
        empty_value: dict[str, Any] = {name: False if name in FLAGS else ""}
        return replace(self, **empty_value)

    @property
    def has_ready_count(self) -> bool:
        """Return True if the table `counts` has the number of matching verdicts."""
        uncounted_values = (self.rater, self.beside, self.other, self.item, self.tag, self.q)
        return not any((*uncounted_values, *(getattr(self, name) for name in FLAGS)))

    @property
    def single_flag(self) -> str:
        """Return the only flag of a filter that has nothing else but a study and a judge, else an empty string.

        `flag_counts` has the number of verdicts for such filters.

        >>> Filter(judge="length", split=True).single_flag, Filter(split=True, met=True).single_flag
        ('split', '')
        """
        flags = [name for name in FLAGS if getattr(self, name)]
        if len(flags) != 1 or self.without(flags[0]) != Filter(study=self.study, judge=self.judge):
            return ""
        return flags[0]


_OWN_NAMES = tuple(field.name for field in fields(Filter) if field.name not in FLAGS)
NAMES = (*_OWN_NAMES[:-1], *FLAGS, _OWN_NAMES[-1])
"""Names of a filter's values, in the order of its address: the search text comes last."""


@dataclass(frozen=True)
class ResolvedFilter:
    """A filter with catalogue ids for its names. `impossible` if a name is not in the catalogue."""

    filter: Filter
    ids: Mapping[str, int]
    impossible: bool
    dialect: str

    @classmethod
    def from_filter(cls, connection: Connection, verdict_filter: Filter) -> ResolvedFilter:
        kinds = {name: name for name in ("judge", "rater", "contestant", "criterion", "ballot")}
        kinds |= {"beside": "judge", "other": "contestant"}
        name_keys = {
            name: (kind, getattr(verdict_filter, name)) for name, kind in kinds.items() if getattr(verdict_filter, name)
        }
        n = catalogue_tables.names.c
        ids_by_key = {}
        if name_keys:
            rows = connection.execute(
                select(n.kind, n.name, n.id).where(n.name.in_({name for _, name in name_keys.values()}))
            )
            ids_by_key = {(kind, name): id_ for kind, name, id_ in rows}
        ids = {name: ids_by_key[place] for name, place in name_keys.items() if place in ids_by_key}
        is_impossible = len(ids) < len(name_keys)
        study_ids = study_ids_by_name(connection)
        if verdict_filter.study and verdict_filter.study not in study_ids:
            is_impossible = True
        elif len(study_ids) > 1:
            ids["study"] = study_ids[verdict_filter.study or next(iter(study_ids))]
        if verdict_filter.item:
            i = catalogue_tables.items.c
            within = i.study_id == ids["study"] if "study" in ids else true()
            item = connection.execute(select(i.id).where(i.name == verdict_filter.item, within)).scalar()
            is_impossible = is_impossible or item is None
            ids["item"] = item or 0
        return cls(verdict_filter, ids, is_impossible, connection.dialect.name)

    def without(self, name: str) -> ResolvedFilter:
        """Return the resolved filter without one of its values."""
        ids = {kind: id_ for kind, id_ in self.ids.items() if kind != name}
        return ResolvedFilter(self.filter.without(name), ids, self.impossible, self.dialect)

    @property
    def uses_judge_index(self) -> bool:
        """Return True if a judge's verdicts are read through the index on (judge, id).

        Judges often run one after another, so the newest verdicts may contain none of this judge. PostgreSQL does not
        expect that and would scan them all. A range instead of an equality, and the judge in ORDER BY, force the right
        index.
        """
        return self.dialect == "postgresql" and "judge" in self.ids

    def conditions(self, *, in_known_response_sets: bool = False, has_known_ids: bool = False) -> ColumnElement[bool]:
        """Return the filter without its search text, as a condition on `verdicts`.

        SQLite does not know how selective an index is. So columns are written as `column + 0` to disable every index
        but the right one. `in_known_response_sets` is for verdicts that are found by response set, `has_known_ids` for
        verdicts that are found by id, such as search hits.
        """
        if self.impossible:
            return false()
        verdict_filter, ids = self.filter, self.ids
        v: Any = catalogue_tables.verdicts.c
        is_sqlite = self.dialect == "sqlite"
        unindexed_columns = {column.name: column + 0 for column in v}
        columns = unindexed_columns if is_sqlite and (in_known_response_sets or has_known_ids) else v
        has_narrower_index = ids.keys() & {"judge", "item"} or verdict_filter.fault not in {"", "none"}
        conditions: list[ColumnElement[bool]] = [
            columns[f"{name}_id"] == ids[name] for name in ("item", "rater", "criterion", "ballot") if name in ids
        ]
        # Rows of items belong to one study, so a filter by item or tag implies the study.
        if "study" in ids and not verdict_filter.item and not verdict_filter.tag:
            conditions.append(
                (unindexed_columns if is_sqlite and has_narrower_index else columns)["study_id"] == ids["study"]
            )
        if "judge" in ids:
            judge, column = ids["judge"], unindexed_columns["judge_id"] if is_sqlite and has_known_ids else v.judge_id
            conditions.append(column.between(judge, judge) if self.uses_judge_index else column == judge)
        id_ = unindexed_columns["id"] if is_sqlite and has_known_ids else v.id
        conditions += [id_.in_(self._verdicts_showing(ids[name])) for name in ("contestant", "other") if name in ids]
        conditions += [columns[name] == 1 for name in FLAGS if getattr(verdict_filter, name)]
        if "beside" in ids:
            other_verdicts = catalogue_tables.verdicts.alias("there")
            other_conditions = (
                other_verdicts.c.response_set_id == v.response_set_id,
                other_verdicts.c.judge_id == ids["beside"],
                other_verdicts.c.fault == 0,
            )
            conditions.append(
                select(other_verdicts.c.id).where(*other_conditions).correlate(catalogue_tables.verdicts).exists()
            )
        if verdict_filter.shown:
            conditions.append(v.shape.in_(shape_codes(verdict_filter.shown)))
        if verdict_filter.fault == "any":
            conditions.append(columns["fault"].in_(range(1, len(FAULTS) + 1)))
        elif verdict_filter.fault == "none":
            # Most verdicts have no fault, so an index does not help and SQLite must not use it.
            conditions.append((unindexed_columns if is_sqlite else v)["fault"] == 0)
        elif verdict_filter.fault:
            conditions.append(columns["fault"] == fault_code(verdict_filter.fault))
        if verdict_filter.tag:
            conditions.append(columns["item_id"].in_(self._items_with_tag()))
        return and_(true(), *conditions)

    def response_set_conditions(self) -> ColumnElement[bool]:
        """Return a condition on `response_sets` that excludes most of them without reading their verdicts."""
        m = catalogue_tables.response_sets.c
        conditions: list[ColumnElement[bool]] = [
            m.doubt.bitwise_and(weight) > 0 for name, weight in DOUBT_WEIGHTS.items() if getattr(self.filter, name)
        ]
        if "item" in self.ids:
            conditions.append(m.item_id == self.ids["item"])
        if self.filter.tag:
            conditions.append(m.item_id.in_(self._items_with_tag()))
        return and_(true(), *conditions)

    def _items_with_tag(self) -> Select[tuple[int]]:
        t, verdict_filter = catalogue_tables.tags.c, self.filter
        tag_condition = (
            and_(t.name == verdict_filter.tag, t.value == verdict_filter.value)
            if verdict_filter.value
            else t.name == verdict_filter.tag
        )
        query = select(t.item_id).where(tag_condition)
        if "study" not in self.ids:
            return query
        i = catalogue_tables.items.c
        return query.join(catalogue_tables.items, i.id == t.item_id).where(i.study_id == self.ids["study"])

    def _verdicts_showing(self, contestant: int) -> Select[tuple[int]]:
        s = catalogue_tables.shown_contestants.c
        query = select(s.verdict_id).where(s.contestant_id == contestant)
        return query.where(s.judge_id == self.ids["judge"]) if "judge" in self.ids else query

    def count_conditions(self, *, of_contestants: bool = False) -> ColumnElement[bool]:
        """Return a condition on `counts` for a filter that `has_ready_count`; by contestant if `of_contestants`."""
        c, verdict_filter = catalogue_tables.counts.c, self.filter
        contestant_condition = (
            c.contestant_id > 0 if of_contestants else c.contestant_id == self.ids.get("contestant", 0)
        )
        conditions: list[ColumnElement[bool]] = [contestant_condition]
        conditions += [
            c[f"{name}_id"] == self.ids[name] for name in ("study", "judge", "criterion", "ballot") if name in self.ids
        ]
        if verdict_filter.shown:
            conditions.append(c.shape.in_(shape_codes(verdict_filter.shown)))
        if verdict_filter.fault == "any":
            conditions.append(c.fault > 0)
        elif verdict_filter.fault:
            conditions.append(c.fault == fault_code(verdict_filter.fault))
        return and_(*conditions)


def fault_code(word: str) -> int:
    """Return the catalogue's number for a fault; 0 for `none`.

    >>> fault_code("none"), fault_code("refused")
    (0, 1)
    """
    return 0 if word == "none" else [str(fault) for fault in FAULTS].index(word) + 1


def shape_codes(word: str) -> tuple[int, ...]:
    """Return the catalogue's numbers for the verdict shapes that a filter word means."""
    return {"one": (0,), "several": (1, 2), "choice": (1,), "ranking": (2,)}[word]
