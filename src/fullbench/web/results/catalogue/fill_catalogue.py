"""Fill the catalogue from the ledger in order of entry: one transaction per batch, resumable, during runs.

A batch is stored completely or not at all, together with its last place in the ledger. Only one process fills at a
time; the others then find nothing to do.
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
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results.catalogue import catalogue_tables, disagreement_flags, flag_counts, full_text_search
from fullbench.web.results.catalogue.case_cache_between_batches import CaseCache
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    catalogue_version,
    execute_many,
    get_state,
    set_state,
    split_into_chunks,
)
from fullbench.web.results.catalogue.insert_verdicts import Batch
from fullbench.web.results.catalogue.rater_pseudonyms import RATER_KEY, ensure_rater_key, has_other_names
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS
from fullbench.web.words import key

# One transaction each: other writers wait for it.
BATCH_SIZE = 4_000
ANALYZE_AFTER = 10_000
"""After this many new verdicts PostgreSQL analyses the tables again, for its plans."""
LOG_INTERVAL = 20_000
"""After this many new verdicts the progress is logged."""
LOCK = 0x6675_6C6C  # PostgreSQL advisory lock, held by the process that fills
OTHER_LEDGER_ERROR = key(
    "Another server fills this site's database from another ledger; give each its own --data or --database."
)
_FLAGGING = (
    update(catalogue_tables.verdicts)
    .where(catalogue_tables.verdicts.c.id == bindparam("of"))
    .values({name: bindparam(f"now_{name}") for name in FLAGS})
)
log = logging.getLogger("fullbench.web.results")


@dataclass(frozen=True, slots=True)
class FillResult:
    """Number of verdicts added by one call, and the new version of the catalogue."""

    verdicts: int
    version: int


def fill_from_ledger(
    engine: Engine,
    ledger: Ledger,
    *,
    batch: int = BATCH_SIZE,
    max_verdicts: int | None = None,
    study: str | None = None,
    should_continue: Callable[[], bool] = lambda: True,
) -> FillResult:
    """Bring the catalogue up to date with the ledger.

    Raise if the catalogue was filled from another ledger; `bind_ledger` empties it.

    Args:
        engine: Engine of the web database.
        ledger: The ledger.
        batch: Verdicts of one transaction.
        max_verdicts: Number of verdicts after which to stop; None for all.
        study: Only this study.
        should_continue: Asked between batches; False stops.
    """
    with read_transaction(engine) as connection:
        bound_ledger = get_state(connection, "ledger")
        place = int(get_state(connection, "place") or 0)
        stored_alias_number = int(get_state(connection, "aliased") or 0)
        shows_other_names = has_other_names(connection)
    names_changed = place and (shows_other_names or ledger.last_alias_place() != stored_alias_number)
    if bound_ledger is None:
        bind_ledger(engine, ledger.identity)
    elif bound_ledger != ledger.identity:
        raise InputError(OTHER_LEDGER_ERROR)
    elif place and not ledger.verdicts_since(place - 1, 1):
        log.warning("the ledger has lost verdicts that the catalogue has; the catalogue is filled again")
        empty_catalogue(engine)
        bind_ledger(engine, ledger.identity)
    elif names_changed:
        log.info("names changed; the catalogue is filled again")
        empty_catalogue(engine)
        bind_ledger(engine, ledger.identity)
    with exclusive_transaction(engine) as connection:
        Batch(connection).drop_superseded(ledger)
        flag_counts.ensure_counts(connection)
    _, superseded_cases = ledger.superseded_cases(-1)
    added_count, case_cache = 0, CaseCache()
    while should_continue():
        with exclusive_transaction(engine) as connection:
            count, is_full = Batch(connection, study, superseded_cases, case_cache).take(ledger, batch)
        added_count += count
        if added_count // LOG_INTERVAL > (added_count - count) // LOG_INTERVAL:
            with read_transaction(engine) as connection:
                current_progress = fill_progress(connection, ledger)
            log.info("read in %s verdicts, %d %% of the ledger", f"{added_count:,}", current_progress.percent)
        if not is_full or (max_verdicts is not None and added_count >= max_verdicts):
            break
    while should_continue() and not settle_flags(engine):
        pass
    if added_count >= ANALYZE_AFTER and engine.dialect.name == "postgresql":
        with write_transaction(engine) as connection:
            connection.execute(text("ANALYZE"))
    with read_transaction(engine) as connection:
        return FillResult(added_count, catalogue_version(connection))


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of filling: last place read, last place of the ledger, and whether all was read and computed once."""

    place: int
    last: int
    is_complete: bool

    @property
    def percent(self) -> int:
        """Return the percentage, rounded down so that 100 means complete."""
        return 100 if self.place >= self.last else 100 * self.place // self.last


def fill_progress(connection: Connection, ledger: Ledger) -> Progress:
    """Return the progress of filling."""
    place = int(get_state(connection, "place") or 0)
    return Progress(place, ledger.last_place(), get_state(connection, "whole") is not None)


def mark_complete(engine: Engine) -> None:
    """Record that everything was read and computed once. The site then stays ready while more verdicts arrive."""
    with read_transaction(engine) as connection:
        is_complete = get_state(connection, "whole") is not None
    if not is_complete:
        with exclusive_transaction(engine) as connection:
            set_state(connection, "whole", 1)


@contextmanager
def exclusive_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a write transaction that excludes other processes that fill the catalogue."""
    with write_transaction(engine) as connection:
        wait_for_turn(connection)
        yield connection


def wait_for_turn(connection: Connection) -> None:
    """Wait until no other process fills the catalogue, and lock it until this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(LOCK)))


def empty_catalogue(engine: Engine) -> None:
    """Empty the catalogue, so that it is filled again."""
    with exclusive_transaction(engine) as connection:
        _delete_all_rows(connection)


def _delete_all_rows(connection: Connection) -> None:
    """Delete everything but the key of pseudonyms, so that a rater keeps its pseudonym."""
    rater_key = get_state(connection, RATER_KEY)
    full_text_search.clear_index(connection)
    for table in catalogue_tables.CATALOGUE:
        connection.execute(delete(table))
    if rater_key is not None:
        set_state(connection, RATER_KEY, rater_key)


def bind_ledger(engine: Engine, identity: str) -> None:
    """Bind the catalogue to one ledger (empty: to none). Content of another ledger is deleted."""
    with exclusive_transaction(engine) as connection:
        ensure_rater_key(connection)
        bound_ledger = get_state(connection, "ledger")
        if bound_ledger == identity:
            return
        if bound_ledger:
            log.warning("the catalogue held another ledger; it was emptied and is filled again from this one")
            _delete_all_rows(connection)
        set_state(connection, "ledger", identity)


def settle_flags(engine: Engine) -> bool:
    """Set the flags of some response sets with new verdicts. Return True if none is left."""
    with exclusive_transaction(engine) as connection:
        waiting_response_sets = list(
            connection.execute(
                select(catalogue_tables.unflagged_response_sets.c.response_set_id).limit(BATCH_SIZE)
            ).scalars()
        )
        if not waiting_response_sets:
            return True
        for chunk in split_into_chunks(waiting_response_sets):
            _flag_response_sets(connection, chunk)
            connection.execute(
                delete(catalogue_tables.unflagged_response_sets).where(
                    catalogue_tables.unflagged_response_sets.c.response_set_id.in_(chunk)
                )
            )
        set_state(connection, "version", catalogue_version(connection) + 1)
        return len(waiting_response_sets) < BATCH_SIZE


def _flag_response_sets(connection: Connection, response_sets: Sequence[int]) -> None:
    names_by_id = {id_: (kind, name) for id_, kind, name in connection.execute(select(catalogue_tables.names))}
    v = catalogue_tables.verdicts.c
    flags = [v[name] for name in FLAGS]
    columns = (
        v.study_id,
        v.response_set_id,
        v.id,
        v.judge_id,
        v.trial,
        v.rater_id,
        v.shown,
        v.marks,
        v.ballot_id,
        *flags,
    )
    verdicts_by_response_set: dict[int, list[disagreement_flags.CatalogueVerdict]] = {}
    specs: dict[int, str] = {}
    earlier_flags: dict[int, tuple[int, ...]] = {}
    study_and_judge: dict[int, tuple[int, int]] = {}
    numbers = cache(lambda text: tuple(orjson.loads(text)))
    for row in connection.execute(select(*columns).where(v.response_set_id.in_(response_sets))):
        study, response_set, id_, judge, trial, rater, shown_json, marks, spec, *flag_values = row
        parsed_marks = None if marks is None else numbers(marks)
        name = names_by_id[judge][1]
        person, panel = disagreement_flags.is_person(name), disagreement_flags.is_panel(name)
        verdict = disagreement_flags.CatalogueVerdict(
            id_, judge, person, panel, trial, rater, numbers(shown_json), parsed_marks
        )
        verdicts_by_response_set.setdefault(response_set, []).append(verdict)
        specs[response_set] = names_by_id[spec][1]
        earlier_flags[id_] = tuple(flag_values)
        study_and_judge[id_] = study, judge
    flags_by_response_set = {
        response_set: disagreement_flags.compute_flags(verdicts, specs[response_set])
        for response_set, verdicts in verdicts_by_response_set.items()
    }
    changed_rows = [
        {"of": id_} | {f"now_{name}": int(value) for name, value in vars(flags_now).items()}
        for flags_by_id in flags_by_response_set.values()
        for id_, flags_now in flags_by_id.items()
        if tuple(vars(flags_now).values()) != earlier_flags[id_]
    ]
    execute_many(connection, _FLAGGING, changed_rows)
    count_changes: Counter[tuple[int, int, str]] = Counter()
    for changed_row in changed_rows:
        for name, was in zip(FLAGS, earlier_flags[changed_row["of"]], strict=True):
            count_changes[*study_and_judge[changed_row["of"]], name] += changed_row[f"now_{name}"] - was
    flag_counts.change_counts(connection, count_changes)
    m = catalogue_tables.response_sets.c
    rows = connection.execute(select(m.id, m.doubt).where(m.id.in_(response_sets)))
    doubts = [
        {"of": id_, "doubt": new_doubt}
        for id_, was in rows
        if (new_doubt := disagreement_flags.doubt_score(flags_by_response_set.get(id_, {}).values())) != was
    ]
    execute_many(connection, text("UPDATE public_response_sets SET doubt = :doubt WHERE id = :of"), doubts)
