"""Background thread that keeps the public pages up to date: catalogue, boards, judge cards, prepared pages.

Boards are computed outside of requests, one study after another. The home page and its leaderboards are rendered in
advance because their charts take seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import orjson
from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import UserError
from fullbench.ledger.judge_replacements import JudgeReplacement, load_replacements
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.read_queries import stream_narrow_rows
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.web import live_events
from fullbench.web.database import read_transaction, write_transaction
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import (
    board_store,
    contestant_board_under_one_judge,
    judge_cards,
    judge_replacement_notes_and_common_scales,
)
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.criteria_of_items_without_boards import (
    find_item_criteria,
    read_item_criteria,
    store_item_criteria,
)
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue, panels_created_on_site
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import get_state, set_state, study_ids_by_name
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.results.catalogue.rater_pseudonyms import load_rater_names
from fullbench.web.results.pages.page_template_values import Views
from fullbench.web.results.site import ledger_edition


def refresh_boards(engine: Engine, ledger: Ledger, *, should_continue: Callable[[], bool] = lambda: True) -> int:
    """Recompute boards with new verdicts and drop obsolete ones. Return the number computed."""
    failed_calls, replacements, pilot_votes = (
        ledger.failed_call_counts(),
        load_replacements(ledger),
        _pilot_votes(engine, ledger),
    )
    with read_transaction(engine) as connection:
        current_stamps = _board_stamps(connection, failed_calls, pilot_votes, replacements)
        stored_stamps = board_store.computed_stamps(connection)
        study_ids = study_ids_by_name(connection)
        item_criteria = {study: known for study, known in read_item_criteria(connection).items() if study in study_ids}
    computed_count = 0

    def find_due(study: str) -> list[tuple[str, str, str]]:
        hidden = item_criteria[study].criteria if study in item_criteria else frozenset()
        return [
            subject
            for subject, stamp in current_stamps.items()
            if subject[0] == study
            and subject[2] not in hidden
            and stored_stamps.get(board_store.board_name(*subject)) != stamp
        ]

    for place, study in enumerate(study_ids):
        study_stamp = digest(sorted((*key, stamp) for key, stamp in current_stamps.items() if key[0] == study))[:16]
        is_known = study in item_criteria and item_criteria[study].stamp == study_stamp
        if (is_known and not find_due(study)) or not should_continue():
            continue
        with read_transaction(engine) as connection:
            rename_columns = load_rater_names(connection).rename_columns
        columns = rename_columns(ledger_verdicts_with_panels.load_columns(ledger, study=study))
        item_criteria[study] = find_item_criteria(columns, study_stamp)
        with fill_catalogue.exclusive_transaction(engine) as connection:
            store_item_criteria(connection, item_criteria)
        facts = ledger_verdicts_with_panels.load_case_facts(ledger, columns, study=study)
        panel_names = {view.name for view in ledger.views()}
        with read_transaction(engine) as connection:
            tags = board_store.item_tags(connection, study_ids[study])
        for _, judge, criterion in find_due(study):
            if not should_continue():
                break
            if is_panel(judge) and judge not in panel_names:
                with read_transaction(engine) as connection:
                    source, times = panels_created_on_site.panel_columns(connection, study, judge), None
            else:
                with ledger.reader() as reader:
                    time_rows = stream_narrow_rows(reader, ("case_key", "at"), judge, study)
                    source, times = columns, contestant_board_under_one_judge.VerdictTimes.from_rows(time_rows)
            subject = contestant_board_under_one_judge.Subject(study, judge, criterion, study if place else "")
            board = contestant_board_under_one_judge.compute_board(source, subject, tags, times, facts)
            note = ledger_verdicts_with_panels.pilot_note(ledger, study) if is_person(judge) else None
            if note is not None:
                board = replace(board, tables=[_with_note(linked_table, note) for linked_table in board.tables])
            if any(
                replacement.study == study and judge in {replacement.old, replacement.new}
                for replacement in replacements
            ):
                board = judge_replacement_notes_and_common_scales.with_replacement_notes(board, ledger, subject.link)
            board_store.store_board(engine, board, current_stamps[study, judge, criterion])
            computed_count += 1
    hidden = {(study, name) for study, known in item_criteria.items() for name in known.criteria}
    dropped_names = set(stored_stamps) - {
        board_store.board_name(*subject) for subject in current_stamps if (subject[0], subject[2]) not in hidden
    }
    if dropped_names and should_continue():
        with fill_catalogue.exclusive_transaction(engine) as connection:
            board_store.drop_boards(connection, dropped_names)
    return computed_count


def _pilot_votes(engine: Engine, ledger: Ledger) -> dict[str, int]:
    """Counting reads all verdicts, so it runs only if needed."""
    with read_transaction(engine) as connection:
        place, members, stored_text = (get_state(connection, name) for name in ("place", "members", "pilots"))
        study_names = list(study_ids_by_name(connection))
    if stored_text:
        stored_state = orjson.loads(stored_text)
        is_current = stored_state["members"] == members and stored_state["votes"].keys() == set(study_names)
        if is_current and (stored_state["place"] == place or not ledger.pilots_since(int(stored_state["place"]))):
            return dict(stored_state["votes"])
    votes = {study: ledger.pilot_votes(study) for study in study_names}
    with fill_catalogue.exclusive_transaction(engine) as connection:
        note = {"place": place or "0", "members": members, "votes": votes}
        set_state(connection, "pilots", orjson.dumps(note).decode())
    return votes


def _with_note(linked_table: LinkedTable, note: Note) -> LinkedTable:
    return replace(linked_table, table=replace(linked_table.table, notes=[*linked_table.table.notes, note]))


def _board_stamps(
    connection: Connection,
    failed_calls: Mapping[str, int],
    pilot_votes: Mapping[str, int],
    replacements: Sequence[JudgeReplacement],
) -> dict[tuple[str, str, str], str]:
    """Return a digest of the inputs of each board: equal stamps mean equal boards.

    `pilot_votes` are counted because people's boards mention the votes they leave out. `replacements` are shown on the
    boards of both judges.
    """
    c, s = catalogue_tables.counts.c, catalogue_tables.state.c
    campaign_stamps = hidden_cases_and_results.open_campaign_stamps(connection)
    tag_count = connection.execute(select(func.count()).select_from(catalogue_tables.tags)).scalar_one()
    panel_states = [
        row.value for row in connection.execute(select(s.value).where(s.name.startswith("panel ")).order_by(s.name))
    ]
    totals = {
        (study, judge, criterion): (int(count), last)
        for study, judge, criterion, count, last in connection.execute(board_store.heading_query(func.max(c.last)))
    }

    def compared_totals(study: str, judge: str, criterion: str) -> object:
        if is_person(judge):
            return sorted((*key, *value) for key, value in totals.items() if (key[0], key[2]) == (study, criterion))
        return totals.get((study, PEOPLE, criterion))

    return {
        key: hidden_cases_and_results.stamp_with_campaigns(
            digest(
                [
                    board_store.code_of_metrics(),
                    *judge_totals,
                    tag_count,
                    panel_states if is_panel(key[1]) else [],
                    compared_totals(*key),
                    *([failed_calls[key[1]]] if key[1] in failed_calls else []),
                    *([{"pilot": pilot_votes[key[0]]}] if is_person(key[1]) and pilot_votes.get(key[0]) else []),
                    *judge_replacement_notes_and_common_scales.replacement_inputs(key, replacements, totals),
                ]
            )[:16],
            campaign_stamps,
        )
        for key, judge_totals in totals.items()
    }


MAX_PREPARED_BOARDS = 24
"""Leaderboards rendered in advance; the others are rendered on request."""
CALM_SECONDS = 10.0
"""Seconds after a start without rendering in advance: the person who started the server waits for other pages."""
REST_FACTOR = 20
"""After rendering, pause for this many times as long as it took: a trickle of verdicts changes all pages."""


class PagePreparer:
    """Renders English pages in advance when numbers changed, and once after the start."""

    def __init__(self, engine: Engine, views: Callable[[], Views], *, calm: float = CALM_SECONDS) -> None:
        self._engine, self._views = engine, views
        self._prepared_stamps: dict[str, str] = {}
        self._until = time.monotonic() + calm

    def prepare_pages(self, should_continue: Callable[[], bool]) -> None:
        """Render changed pages. `should_continue` is called before each page."""
        started_at = time.monotonic()
        if started_at < self._until or not should_continue():
            return
        with read_transaction(self._engine) as connection:
            stamps = board_store.stamps_by_name(connection)
            if stamps == self._prepared_stamps:
                return
            earlier_stamps, self._prepared_stamps = self._prepared_stamps, stamps
            first_study = next(iter(study_ids_by_name(connection)), "")
            self._views().home(connection, "en")
            board_names = [
                heading.name
                for heading in board_store.board_headings(connection, first_study)
                if heading.name in stamps
            ]
        for name in board_names[:MAX_PREPARED_BOARDS]:
            if should_continue() and earlier_stamps.get(name) != stamps[name]:
                with read_transaction(self._engine) as connection:
                    self._views().board(connection, name, "en")
        self._until = time.monotonic() + REST_FACTOR * (time.monotonic() - started_at)


log = logging.getLogger("fullbench.web.results")
# New verdicts appear within seconds; a shorter pause recomputes boards that change again at once.
PAUSE_SECONDS = 2.0
TOPIC = "public/boards"
"""Topic for open pages: the numbers changed."""


def update_catalogue(
    engine: Engine, ledger: Ledger, *, study: str | None = None, should_continue: Callable[[], bool] = lambda: True
) -> int:
    """Update catalogue, boards and cards of one study or of all. Return the number of new verdicts."""
    fill_result = fill_catalogue.fill_from_ledger(engine, ledger, study=study, should_continue=should_continue)
    if panels_created_on_site.update_panel_verdicts(engine, ledger, should_continue=should_continue):
        while should_continue() and not fill_catalogue.settle_flags(engine):
            pass
    if should_continue() and refresh_boards(engine, ledger, should_continue=should_continue):
        _announce_boards(engine)
    if should_continue() and judge_cards.refresh_cards(engine, ledger, should_continue=should_continue):
        _announce_boards(engine)
    if should_continue():
        fill_catalogue.mark_complete(engine)
    # The edition's digest reads the whole ledger, so it waits until no verdicts arrive.
    if should_continue() and not fill_result.verdicts:
        ledger_edition.store_edition(engine, ledger)
    return fill_result.verdicts


def _announce_boards(engine: Engine) -> None:
    with write_transaction(engine) as connection:
        live_events.publish_event(connection, TOPIC)


class _Updater:
    def __init__(self, engine: Engine, ledger: Ledger, pause: float, page_preparer: PagePreparer) -> None:
        self._engine, self._ledger, self._pause, self._page_preparer = engine, ledger, pause, page_preparer
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fullbench-updater", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop_event.set()
        self._thread.join(timeout=60)

    def _should_continue(self) -> bool:
        return not self._stop_event.is_set()

    def _run(self) -> None:
        while not self._stop_event.is_set():
            try:
                update_catalogue(self._engine, self._ledger, should_continue=self._should_continue)
            except (UserError, SQLAlchemyError) as error:
                log.warning("the public side could not be brought up to date: %s", error)
            self._prepare_pages()
            self._stop_event.wait(self._pause)

    def _prepare_pages(self) -> None:
        try:
            self._page_preparer.prepare_pages(self._should_continue)
        except Exception as error:  # noqa: BLE001 (a chart that cannot be drawn must not end the updates)
            log.warning("a page could not be made ahead: %s", error)


_running: dict[Engine, _Updater] = {}
_lock = threading.Lock()


@contextmanager
def keep_updated(
    engine: Engine, ledger: Ledger | None, views: Callable[[], Views], *, pause: float = PAUSE_SECONDS
) -> Iterator[None]:
    """Run the updater thread while the block runs; at most one for each database.

    The thread ends when any of the blocks ends, so that the database can be closed.
    """
    if ledger is None:
        yield
        return
    with _lock:
        if engine not in _running:
            _running[engine] = _Updater(engine, ledger, pause, PagePreparer(engine, views))
    try:
        yield
    finally:
        with _lock:
            updater = _running.pop(engine, None)
        if updater is not None:
            updater.stop()
