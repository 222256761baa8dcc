"""Questions to a ledger, each a plain SELECT on a connection handed in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import orjson

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, PILOT, Failure, Verdict
from fullbench.ledger import row_conversion, schema, study_members
from fullbench.ledger.aliases import Naming, voter
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Find, Row

Names = str | Sequence[str] | None
CHUNK = 500
_VOTE = ("case_key", "revision", "judge", "trial", "rater", "contestants", "samples")
"""What decides under which names, and whether, a verdict's row is given."""
_EXCHANGES, _WORDS = map(schema.columns("verdicts").index, ("exchanges", "words"))


def verdicts(
    reader: Connection,
    judge: Names,
    cases: Iterable[str] | None,
    *,
    texts: bool,
    study: str | None = None,
    revisions: bool = False,
) -> Iterator[Verdict]:
    """Verdicts in the order of entry; with `revisions` also those that a later vote or reading took the place of."""
    naming = Naming.read(reader)
    later = {} if revisions else _revised(reader, naming)
    older = set() if study is None else study_members.superseded(reader, study)
    columns = row_conversion.VERDICT if texts else row_conversion.WITHOUT_TEXTS
    narrowed = [naming.judge_condition(names_of(judge)), study_members.condition(study)]
    for condition, values in _conditions(narrowed, "verdicts.case_key", cases):
        stream = reader.stream(f"SELECT {columns} FROM verdicts{condition} ORDER BY verdicts.rowid", values)
        while batch := list(islice(stream, CHUNK)):
            apart = apart_of(reader, batch) if texts else row_conversion.NOTHING_APART
            for row in batch:
                if older and row[0] in older:
                    continue
                verdict = naming.verdict(row_conversion.verdict_of(row, apart))
                if not later or verdict.revision >= later.get(_place(verdict), 0):
                    yield verdict


def pilot_votes(reader: Connection, study: str | None) -> int:
    """How many votes of pilots a study has, or all studies; a vote that was changed is one."""
    where, values = study_members.condition(study)
    sql = (
        f"SELECT count(*) FROM (SELECT DISTINCT judge, case_key, trial, rater FROM verdicts WHERE "
        f"substr(rater, 1, {len(PILOT)}) = '{PILOT}'{f' AND {where}' if where else ''}) AS votes"
    )
    row = reader.execute(sql, values).fetchone()
    return 0 if row is None else int(row[0])


def pilots_since(reader: Connection, place: int) -> bool:
    """Whether a vote of a pilot was entered after a place in the order of entry."""
    sql = f"SELECT 1 FROM verdicts WHERE rowid > ? AND substr(rater, 1, {len(PILOT)}) = '{PILOT}' LIMIT 1"
    return reader.execute(sql, (place,)).fetchone() is not None


def as_stored(reader: Connection, study: str | None = None) -> bool:
    """Whether the verdicts of a study stand under today's names, but for people's, and none was revised."""
    naming = Naming.read(reader)
    superseded = study is not None and bool(study_members.superseded(reader, study))
    return naming.plain and not superseded and not _revised(reader, naming)


def narrow(
    reader: Connection, columns: Sequence[str], judge: Names = None, study: str | None = None, *, also: str = ""
) -> Iterator[Row]:
    """Rows of some narrow columns of verdicts, as they were entered but under today's names, newest revisions only.

    `also` is one more condition, in SQL.
    """
    naming = Naming.read(reader)
    later = _revised(reader, naming)
    older = set() if study is None else study_members.superseded(reader, study)
    wanted = (*columns, *_VOTE)
    listed = ", ".join(f"verdicts.{name}" for name in wanted)
    width, judged = len(columns), len(columns) + _VOTE.index("judge")
    as_stored = naming.plain and not later and not older
    narrowed = [naming.judge_condition(names_of(judge)), study_members.condition(study), (also, ())]
    for condition, values in _conditions(narrowed, "verdicts.case_key", None):
        for row in reader.stream(f"SELECT {listed} FROM verdicts{condition} ORDER BY verdicts.rowid", values):
            if as_stored and not row[judged].startswith(PEOPLE):
                yield row[:width]
                continue
            case, revision, who, trial, rater, contestants, samples = row[width:]
            today = naming.vote((who, trial, rater, contestants, samples))
            if case in older or revision < later.get((case, *today[:3]), 0):
                continue
            values_of = dict(zip(wanted, row, strict=True)) | dict(zip(_VOTE[2:], today, strict=True))
            yield tuple(values_of[name] for name in columns)


def heard(reader: Connection, judge: str, keys: Iterable[tuple[str, int]], rater: str = "") -> set[tuple[str, int]]:
    """Those of these cases and trials in which a judge, or one of the people that are one judge, has ruled."""
    wanted = set(keys)
    ruled: set[tuple[str, int]] = set()

    def looked_up_as(naming: Naming) -> list[tuple[str, Row]]:
        conditions = _conditions([naming.judge_condition((judge,))], "verdicts.case_key", (key for key, _ in wanted))
        return [
            (f"SELECT case_key, trial, judge, rater FROM verdicts{condition}", values)
            for condition, values in conditions
        ]

    naming, found = Naming.beside(reader, *looked_up_as(Naming({}, {})))
    if naming.judges:  # few ledgers have renamed a judge, and each look would cost all others a way more
        found = reader.together(*looked_up_as(naming))
    for case, trial, who, person in chain.from_iterable(found):
        _, when, voting = voter(who, trial, person)
        if voting == rater:
            ruled.add((case, when))
    return ruled & wanted


def answered(reader: Connection, contestant: str, keys: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of these items and samples that a contestant has answered."""
    wanted = set(keys)
    stored = Naming.read(reader).formers("contestant", (contestant,))
    narrowed = [_among("contestant", stored)]
    there: set[tuple[str, int]] = set()
    for condition, values in _conditions(narrowed, "item_key", (key for key, _ in wanted)):
        there |= set(map(tuple, reader.execute(f"SELECT item_key, trial FROM responses{condition}", values)))
    return there & wanted


def _place(verdict: Verdict) -> tuple[str, str, int, str]:
    return (verdict.case, verdict.judge, verdict.trial, verdict.rater)


def _revised(reader: Connection, naming: Naming) -> dict[tuple[str, str, int, str], int]:
    """The newest revision of each vote or reading that was revised."""
    sql = "SELECT case_key, judge, trial, rater, max(revision) FROM verdicts WHERE revision > 0 GROUP BY 1, 2, 3, 4"
    newest: dict[tuple[str, str, int, str], int] = {}
    for case, judge, trial, rater, revision in reader.execute(sql):
        who, when, person = voter(judge, trial, rater)
        newest[case, naming.judges.get(who, who), when, person] = revision
    return newest


def apart_of(reader: Connection, verdict_rows: Sequence[Row]) -> row_conversion.Apart:
    """The exchanges and texts that some rows of verdicts name; each row has all columns."""
    called = [name for row in verdict_rows if row[_EXCHANGES] != "[]" for name in orjson.loads(row[_EXCHANGES])]
    said = {row[_WORDS]: row[_WORDS].rpartition(".") for row in verdict_rows if row[_WORDS]}
    calls = (
        {row[0]: row_conversion.call_of(row) for row in _keyed(reader, row_conversion.CALL, "calls", called, "id")}
        if called
        else {}
    )
    texts: dict[str, tuple[str, tuple[str, ...]]] = {}
    if said:
        wanted = {name for name, _, _ in said.values()}
        bodies = {name: orjson.loads(body) for name, body in _keyed(reader, "id, body", "texts", wanted, "id")}
        for words, (name, _, place) in said.items():
            if name in bodies:
                text, earlier = bodies[name][int(place)]
                texts[words] = (text, tuple(earlier))
    return row_conversion.Apart(calls, texts)


def beginning_with(reader: Connection, key: str) -> list[tuple[str, str]]:
    begins = "substr({}, 1, ?) = ?"
    sql = (
        f"SELECT key, '' FROM cases WHERE {begins.format('key')} UNION "
        f"SELECT case_key, '' FROM verdicts WHERE {begins.format('case_key')} UNION "
        f"SELECT case_key, sum FROM verdicts WHERE {begins.format('sum')}"
    )
    return [(case, total) for case, total in reader.execute(sql, (len(key), key) * 3)]


def since(reader: Connection, place: int, limit: int) -> list[tuple[int, Verdict]]:
    naming = Naming.read(reader)
    columns = f"verdicts.rowid, {row_conversion.VERDICT}"
    sql = f"SELECT {columns} FROM verdicts WHERE verdicts.rowid > ? ORDER BY verdicts.rowid LIMIT ?"
    placed = [(row[0], row[1:]) for row in reader.execute(sql, (place, limit)).fetchall()]
    apart = apart_of(reader, [row for _, row in placed])
    return [(number, naming.verdict(row_conversion.verdict_of(row, apart))) for number, row in placed]


def responses(
    reader: Connection, contestant: Names, item_keys: Iterable[str] | None, find: Find, study: str | None = None
) -> Iterator[Response]:
    naming = Naming.read(reader)
    names = names_of(contestant)
    stored = None if names is None else naming.formers("contestant", names)
    named = ("", ()) if stored is None else _among("contestant", stored)
    members = None if study is None else set(_contents(reader, study).values())
    for condition, values in _conditions([named], "item_key", item_keys):
        for row in reader.stream(f"SELECT {row_conversion.RESPONSE} FROM responses{condition} ORDER BY rowid", values):
            if members is None or row[3] in members:
                yield naming.response(row_conversion.response_of(row, find))


def items(reader: Connection, find: Find, study: str | None = None) -> Iterator[Item]:
    latest = "SELECT max(rowid) FROM items GROUP BY key"
    members = None if study is None else set(_contents(reader, study).values())
    for row in reader.stream(f"SELECT {row_conversion.ITEM} FROM items WHERE rowid IN ({latest}) ORDER BY rowid", ()):
        if members is None or row[0] in members:
            yield row_conversion.item_of(row, find)


def _contents(reader: Connection, study: str) -> dict[str, str]:
    """What each item id stands for in a study: the key of its newest revision."""
    sql = "SELECT item, item_key FROM study_items WHERE study = ? ORDER BY revision"
    return dict(reader.stream(sql, (study,)))


def case(reader: Connection, key: str, trial: int, find: Find) -> Case | None:
    found = next(cases(reader, [key], find), None)
    return None if found is None else found.at(trial)


def cases(reader: Connection, keys: Iterable[str], find: Find) -> Iterator[Case]:
    naming = Naming.read(reader)
    found = list(_keyed(reader, "key, item_key, responses, ballot, criterion", "cases", keys))
    asked = {
        row[0]: row_conversion.item_of(row, find)
        for row in _keyed(reader, row_conversion.ITEM, "items", {row[1] for row in found})
    }
    shown = {key for row in found for key in row_conversion.load(row[2])}
    said: dict[str, Response] = {}
    for row in _keyed(reader, row_conversion.RESPONSE, "responses", shown):
        said.setdefault(row[0], naming.response(row_conversion.response_of(row, find)))
    for key, item_key, keys_text, spec, criterion in found:
        names = row_conversion.load(keys_text)
        if item_key in asked and all(name in said for name in names):
            case = Case(asked[item_key], tuple(said[name] for name in names), ballot(spec), criterion)
            case.__dict__["key"] = key
            yield case


def _keyed(reader: Connection, columns: str, table: str, keys: Iterable[str], key: str = "key") -> Iterator[Row]:
    """The rows of a table with these keys, in the order they came."""
    for condition, values in _conditions([], key, keys):
        yield from reader.stream(f"SELECT {columns} FROM {table}{condition} ORDER BY rowid", values)


def record(
    reader: Connection,
    find: Find,
    *,
    judge: Names,
    cases: Iterable[str] | None,
    tags: Mapping[str, str] | None,
    texts: bool,
    study: str | None,
    pilots: bool,
) -> Record:
    """Verdicts with what they speak of; votes of pilots only where `pilots` asks for them."""
    every = verdicts(reader, judge, cases, texts=texts, study=study)
    ruled = tuple(verdict for verdict in every if pilots or not verdict.rater.startswith(PILOT))
    return beside(reader, find, ruled, study, tags)


def beside(
    reader: Connection, find: Find, ruled: tuple[Verdict, ...], study: str | None, tags: Mapping[str, str] | None = None
) -> Record:
    """Some verdicts beside the items and responses that they speak of; with `tags`, those on items that bear these."""
    keys = _item_keys(reader, ruled, study)
    known = {row[1]: row_conversion.item_of(row, find) for row in _keyed(reader, row_conversion.ITEM, "items", keys)}
    if tags:
        known = {name: item for name, item in known.items() if tags.items() <= item.tags.items()}
        ruled = tuple(verdict for verdict in ruled if verdict.item in known)
    # Judges and trials speak of the same responses again and again: what each shows is looked at once.
    shows = {(verdict.item, verdict.contestants, verdict.samples): verdict for verdict in ruled}
    spoken = {(verdict.item, *shown) for verdict in shows.values() for shown in verdict.shown}
    given: dict[tuple[str, str, int], Response] = {}
    naming, (declared,) = Naming.beside(reader, ("SELECT name, settings FROM judges", ()))
    for row in _keyed(reader, row_conversion.RESPONSE, "responses", keys, "item_key"):
        _, contestant, item, _, sample, *_ = row
        place = (item, naming.contestants.get(contestant, contestant), sample)
        if place in spoken:
            given[place] = naming.response(row_conversion.response_of(row, find))
    return Record(ruled, known, given, labelled(declared, naming))


def labelled(declared: Iterable[Row], naming: Naming) -> dict[str, str]:
    """The model that a prompted judge asks, for those (name and settings) whose label hides it."""
    models: dict[str, str] = {}
    for name, text in declared:
        settings = row_conversion.load(text)
        model = settings.get("model") if "mode" in settings else None
        if isinstance(model, str) and not name.startswith(f"{model}+"):
            models[naming.judges.get(name, name)] = model
    return models


def items_of_tagged(reader: Connection, tag: str) -> set[str]:
    """The items that have a response with this tag, whatever its value."""
    # By `replace`, for SQLite and PostgreSQL have different names for a search within a text.
    sql = "SELECT DISTINCT item FROM responses WHERE replace(tags, ?, '') <> tags"
    return {item for (item,) in reader.execute(sql, (orjson.dumps(tag).decode() + ":",))}


def items_that_lack_pictures(reader: Connection, study: str | None) -> set[str]:
    """The items, of a study or of all, that name pictures which are not there."""
    sql = "SELECT DISTINCT items.item FROM items"
    sql += "" if study is None else " JOIN study_items ON study_items.item_key = items.key AND study_items.study = ?"
    sql += " WHERE replace(items.tags, ?, '') <> items.tags"
    searched = orjson.dumps(WITHOUT_PICTURES).decode() + ":"
    return {item for (item,) in reader.execute(sql, (searched,) if study is None else (study, searched))}


def _item_keys(reader: Connection, ruled: Collection[Verdict], study: str | None) -> list[str]:
    """The keys of the items that verdicts speak of: as the study has them, as their cases say, or the latest."""
    missing = dict.fromkeys(verdict.item for verdict in ruled)
    current = {} if study is None else _contents(reader, study)
    keys = {item: current[item] for item in missing if item in current}
    latest = {verdict.item: verdict.case for verdict in ruled if verdict.item not in keys}
    places = {case: item for item, case in latest.items()}
    for case, key in _keyed(reader, "key, item_key", "cases", places):
        keys[places[case]] = key
    if study is None:
        for key, item in _keyed(reader, "key, item", "items", [item for item in missing if item not in keys], "item"):
            keys[item] = key
    return [keys[item] for item in missing if item in keys]


def failures(reader: Connection, name: str) -> Iterator[Failure]:
    naming = Naming.read(reader)
    stored = dict.fromkeys((*naming.formers("judge", [name]), *naming.formers("contestant", [name])))
    columns = "key, trial, error, calls, retries, tokens_in, tokens_out, dollars, seconds, cached, stored, kind"
    for key, trial, error, *used, cached, written, kind in _keyed(reader, columns, "failures", stored, "name"):
        yield Failure(key, name, trial, error, row_conversion.usage_of(used, cached, written), kind)


def failed_for_good(reader: Connection, name: str) -> set[tuple[str, int]]:
    """The keys of cases or items, with the trial, of calls of a judge or contestant that can never bring anything."""
    sql = "SELECT name, key, trial FROM failures WHERE kind = 'permanent'"
    naming, (found,) = Naming.beside(reader, (sql, ()))
    stored = {*naming.formers("judge", [name]), *naming.formers("contestant", [name])}
    return {(key, trial) for who, key, trial in found if who in stored}


def has_ruled(reader: Connection, judge: str) -> bool:
    """Whether a verdict of this judge has marks."""
    names = tuple(Naming.read(reader).formers("judge", [judge]))
    by, values = _among("judge", names)
    return bool(reader.execute(f"SELECT 1 FROM verdicts WHERE fault IS NULL AND {by} LIMIT 1", values).fetchall())


def _among(column: str, values: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    return (f"{column} IN ({', '.join('?' * len(values))})" if values else "1 = 0"), values


def names_of(names: Names) -> tuple[str, ...] | None:
    return (names,) if isinstance(names, str) else None if names is None else tuple(names)


def _conditions(
    narrowed: Sequence[tuple[str, Sequence[Any]]], key_column: str, keys: Iterable[str] | None
) -> Iterator[tuple[str, Row]]:
    """WHERE clauses with their values: one, or one for each chunk of keys."""
    clauses = [clause for clause, _ in narrowed if clause]
    values = tuple(value for clause, given in narrowed if clause for value in given)
    if keys is None:
        yield (" WHERE " + " AND ".join(clauses) if clauses else ""), values
        return
    left = iter(dict.fromkeys(keys))
    while chunk := tuple(islice(left, CHUNK)):
        both = [*clauses, f"{key_column} IN ({', '.join('?' * len(chunk))})"]
        yield " WHERE " + " AND ".join(both), (*values, *chunk)
