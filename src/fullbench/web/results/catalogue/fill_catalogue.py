"""Filling the catalogue from the ledger: in the order of entry, a batch a transaction, resumable, while runs write.

A batch is there wholly or not at all, with the place in the ledger up to which it goes. One filler works at a time,
whatever the number of server processes; the others find nothing to do.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import orjson
from sqlalchemy import Connection, Engine, bindparam, delete, func, select, text, update

from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.web.database import reading, writing
from fullbench.web.results.catalogue import catalogue_tables, disagreement, flag_counts, full_text_search
from fullbench.web.results.catalogue.case_cache import KnownCases
from fullbench.web.results.catalogue.insert_verdicts import Batch
from fullbench.web.results.catalogue.rater_pseudonyms import any_named
from fullbench.web.results.catalogue.row_helpers import chunks, get_state, many, set_state, version
from fullbench.web.results.catalogue.verdict_flags import FLAGS
from fullbench.web.words import key

BATCH = 4_000
MANY = 10_000
"""After so many new verdicts PostgreSQL is told to look at the tables again, for its plans."""
SAID = 20_000
"""After so many new verdicts the log says how far it is."""
LOCK = 0x6675_6C6C
ANOTHER = key("Another server fills this site's database from another ledger; give each its own --data or --database.")
_FLAGGING = (
    update(catalogue_tables.verdicts)
    .where(catalogue_tables.verdicts.c.id == bindparam("of"))
    .values({name: bindparam(f"now_{name}") for name in FLAGS})
)
log = logging.getLogger("fullbench.web.results")


@dataclass(frozen=True, slots=True)
class Filled:
    """What one call brought: so many verdicts, up to this version of the catalogue."""

    verdicts: int
    version: int


def fill(
    engine: Engine,
    ledger: Ledger,
    *,
    batch: int = BATCH,
    most: int | None = None,
    study: str | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Filled:
    """Bring the catalogue up to date with the ledger; stop early after `most` verdicts, or when not `going`.

    With `study`, nothing of other studies enters. A catalogue that was filled from another ledger is refused: `bind`
    empties it first.
    """
    with reading(engine) as connection:
        bound = get_state(connection, "ledger")
        place = int(get_state(connection, "place") or 0)
        aliased = int(get_state(connection, "aliased") or 0)
        named = any_named(connection)
    names_changed = place and (named or ledger.aliased() != aliased)
    if bound is None:
        bind(engine, ledger.identity)
    elif bound != ledger.identity:
        raise InputError(ANOTHER)
    elif place and not ledger.since(place - 1, 1):
        log.warning("the ledger has lost verdicts that the catalogue has; the catalogue is filled again")
        forget(engine)
        bind(engine, ledger.identity)
    elif names_changed:
        log.info("names changed; the catalogue is filled again")
        forget(engine)
        bind(engine, ledger.identity)
    with sole(engine) as connection:
        Batch(connection).set_aside(ledger)
        flag_counts.begin(connection)
    _, aside = ledger.superseded(-1)
    added, known = 0, KnownCases()
    while going():
        with sole(engine) as connection:
            count, full = Batch(connection, study, aside, known).take(ledger, batch)
        added += count
        if added // SAID > (added - count) // SAID:
            with reading(engine) as connection:
                now = progress(connection, ledger)
            log.info("read in %s verdicts, %d %% of the ledger", f"{added:,}", now.percent)
        if not full or (most is not None and added >= most):
            break
    while going() and not settle(engine):
        pass
    if added >= MANY and engine.dialect.name == "postgresql":
        with writing(engine) as connection:
            connection.execute(text("ANALYZE"))
    with reading(engine) as connection:
        return Filled(added, version(connection))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the ledger has been read in: up to which of its verdicts, and whether all was once read and computed."""

    place: int
    last: int
    whole: bool

    @property
    def percent(self) -> int:
        """Rounded down, so that 100 is the end."""
        return 100 if self.place >= self.last else 100 * self.place // self.last


def progress(connection: Connection, ledger: Ledger) -> Progress:
    """How far filling has come."""
    place = int(get_state(connection, "place") or 0)
    return Progress(place, ledger.last_place(), get_state(connection, "whole") is not None)


def whole(engine: Engine) -> None:
    """Note that everything was read in and computed once: from now on the site is ready, also while more comes."""
    with reading(engine) as connection:
        noted = get_state(connection, "whole") is not None
    if not noted:
        with sole(engine) as connection:
            set_state(connection, "whole", 1)


@contextmanager
def sole(engine: Engine) -> Iterator[Connection]:
    """A transaction that no second filler is in."""
    with writing(engine) as connection:
        turn(connection)
        yield connection


def turn(connection: Connection) -> None:
    """Wait until no filler is at work, and keep others waiting until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))


def forget(engine: Engine) -> None:
    """Empty the catalogue, so that it is filled anew."""
    with sole(engine) as connection:
        _empty(connection)


def _empty(connection: Connection) -> None:
    full_text_search.clear(connection)
    for table in catalogue_tables.CATALOGUE:
        connection.execute(delete(table))


def bind(engine: Engine, identity: str) -> None:
    """Let the catalogue belong to one ledger (empty: to none); what it holds of another one is thrown away."""
    with sole(engine) as connection:
        bound = get_state(connection, "ledger")
        if bound == identity:
            return
        if bound:
            log.warning("the catalogue held another ledger; it was emptied and is filled again from this one")
            _empty(connection)
        set_state(connection, "ledger", identity)


def settle(engine: Engine) -> bool:
    """Set the flags of some meetings to which verdicts came; True when none is left."""
    with sole(engine) as connection:
        waiting = list(connection.execute(select(catalogue_tables.dirty.c.meeting_id).limit(BATCH)).scalars())
        if not waiting:
            return True
        for chunk in chunks(waiting):
            _flag(connection, chunk)
            connection.execute(delete(catalogue_tables.dirty).where(catalogue_tables.dirty.c.meeting_id.in_(chunk)))
        set_state(connection, "version", version(connection) + 1)
        return len(waiting) < BATCH


def _flag(connection: Connection, meetings: Sequence[int]) -> None:
    known = {id_: (kind, name) for id_, kind, name in connection.execute(select(catalogue_tables.names))}
    v = catalogue_tables.verdicts.c
    flags = [v[name] for name in FLAGS]
    columns = (v.study_id, v.meeting_id, v.id, v.judge_id, v.trial, v.rater_id, v.shown, v.marks, v.ballot_id, *flags)
    grouped: dict[int, list[disagreement.Ruling]] = {}
    specs: dict[int, str] = {}
    before: dict[int, tuple[int, ...]] = {}
    whose: dict[int, tuple[int, int]] = {}
    numbers = cache(lambda text: tuple(orjson.loads(text)))
    for row in connection.execute(select(*columns).where(v.meeting_id.in_(meetings))):
        study, meeting, id_, judge, trial, rater, shown, marks, spec, *earlier = row
        parsed = None if marks is None else numbers(marks)
        name = known[judge][1]
        person, panel = disagreement.is_person(name), disagreement.is_panel(name)
        ruling = disagreement.Ruling(id_, judge, person, panel, trial, rater, numbers(shown), parsed)
        grouped.setdefault(meeting, []).append(ruling)
        specs[meeting] = known[spec][1]
        before[id_] = tuple(earlier)
        whose[id_] = study, judge
    weighed = {meeting: disagreement.weigh(together, specs[meeting]) for meeting, together in grouped.items()}
    changed = [
        {"of": id_} | {f"now_{name}": int(value) for name, value in vars(flags_now).items()}
        for some in weighed.values()
        for id_, flags_now in some.items()
        if tuple(vars(flags_now).values()) != before[id_]
    ]
    many(connection, _FLAGGING, changed)
    more: Counter[tuple[int, int, str]] = Counter()
    for flagged in changed:
        for name, was in zip(FLAGS, before[flagged["of"]], strict=True):
            more[*whose[flagged["of"]], name] += flagged[f"now_{name}"] - was
    flag_counts.change(connection, more)
    m = catalogue_tables.meetings.c
    rows = connection.execute(select(m.id, m.doubt).where(m.id.in_(meetings)))
    doubts = [
        {"of": id_, "doubt": now}
        for id_, was in rows
        if (now := disagreement.doubt(weighed.get(id_, {}).values())) != was
    ]
    many(connection, text("UPDATE public_meetings SET doubt = :doubt WHERE id = :of"), doubts)
