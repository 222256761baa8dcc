"""Keeping the public side up to date while the app runs: a thread that fills the catalogue and computes boards."""

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

from fullbench.core.digests import digest
from fullbench.core.note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.errors import UserError
from fullbench.ledger.judge_replacements import Succession, successions
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_columns
from fullbench.web import live_events
from fullbench.web.database import reading, writing
from fullbench.web.results import hidden_cases
from fullbench.web.results.boards import board_store, board_tables, judge_cards, judge_replacement_notes
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.catalogue import catalogue_tables, fill_catalogue, panel_verdicts
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.catalogue.row_helpers import get_state, set_state, studies
from fullbench.web.results.pages.page_contents import Views
from fullbench.web.results.site import ledger_edition

# Boards computed anew when verdicts came: outside of any request, one study after the other.


def refresh(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Compute the boards of which verdicts came, drop those that are gone; say how many were computed.

    `going` is asked before each; False ends it early.
    """
    failed, succeeded, pilots = ledger.failed(), successions(ledger), _pilots(engine, ledger)
    with reading(engine) as connection:
        wanted = _stamps(connection, failed, pilots, succeeded)
        known = board_store.computed_stamps(connection)
        there = studies(connection)
    computed = 0
    for place, study in enumerate(there):
        due = [
            subject
            for subject in wanted
            if subject[0] == study and known.get(board_store.board_name(*subject)) != wanted[subject]
        ]
        if not due or not going():
            continue
        columns = ledger_columns.columns(ledger, study=study)
        named = {view.name for view in ledger.views()}
        with reading(engine) as connection:
            tags = board_store.item_tags(connection, there[study])
        for _, judge, criterion in due:
            if not going():
                break
            if is_panel(judge) and judge not in named:
                with reading(engine) as connection:
                    source, times = panel_verdicts.columns(connection, study, judge), None
            else:
                source, times = (
                    columns,
                    board_tables.Times.of(ledger.narrow("case_key", "at", judge=judge, study=study)),
                )
            subject = board_tables.Subject(study, judge, criterion, study if place else "")
            board = board_tables.compute(source, subject, tags, times)
            note = ledger_columns.pilot_note(ledger, study) if is_person(judge) else None
            if note is not None:
                board = replace(board, tables=[_with_note(linked, note) for linked in board.tables])
            if any(each.study == study and judge in {each.old, each.new} for each in succeeded):
                board = judge_replacement_notes.seamed(board, ledger, subject.link)
            board_store.keep_board(engine, board, wanted[study, judge, criterion])
            computed += 1
    gone = set(known) - {board_store.board_name(*subject) for subject in wanted}
    if gone and going():
        with fill_catalogue.sole(engine) as connection:
            board_store.drop_boards(connection, gone)
    return computed


def _pilots(engine: Engine, ledger: Ledger) -> dict[str, int]:
    """How many votes of pilots each study has. A pass over all verdicts tells: it is taken only when one may be new."""
    with reading(engine) as connection:
        place, members, noted = (get_state(connection, name) for name in ("place", "members", "pilots"))
        there = list(studies(connection))
    if noted:
        before = orjson.loads(noted)
        known = before["members"] == members and before["votes"].keys() == set(there)
        if known and (before["place"] == place or not ledger.pilots_since(int(before["place"]))):
            return dict(before["votes"])
    votes = {study: ledger.pilot_votes(study) for study in there}
    with fill_catalogue.sole(engine) as connection:
        note = {"place": place or "0", "members": members, "votes": votes}
        set_state(connection, "pilots", orjson.dumps(note).decode())
    return votes


def _with_note(linked: Linked, note: Note) -> Linked:
    return replace(linked, table=replace(linked.table, notes=[*linked.table.notes, note]))


def _stamps(
    connection: Connection,
    failed: Mapping[str, int],
    pilots: Mapping[str, int],
    succeeded: Sequence[Succession],
) -> dict[tuple[str, str, str], str]:
    """What the board of each study, judge and criterion would be computed from: equal texts, equal boards.

    `pilots` counts the votes of pilots in each study, which people's boards say that they leave out; `succeeded` are
    the successions of judges, whose boards show the seam.
    """
    c, s = catalogue_tables.counts.c, catalogue_tables.state.c
    judged = hidden_cases.stamp(connection)
    tagged = connection.execute(select(func.count()).select_from(catalogue_tables.tags)).scalar_one()
    turned = [
        row.value for row in connection.execute(select(s.value).where(s.name.startswith("panel ")).order_by(s.name))
    ]
    counted = {
        (study, judge, criterion): (int(count), last)
        for study, judge, criterion, count, last in connection.execute(board_store.headed(func.max(c.last)))
    }

    def beside(study: str, judge: str, criterion: str) -> object:
        """What stands on a board beside the judge's own verdicts: people's votes, on people's own board every judge."""
        if is_person(judge):
            return sorted((*key, *value) for key, value in counted.items() if (key[0], key[2]) == (study, criterion))
        return counted.get((study, PEOPLE, criterion))

    return {
        key: hidden_cases.sealed(
            digest(
                [
                    *own,
                    tagged,
                    turned if is_panel(key[1]) else [],
                    beside(*key),
                    *([failed[key[1]]] if key[1] in failed else []),
                    *([{"pilot": pilots[key[0]]}] if is_person(key[1]) and pilots.get(key[0]) else []),
                    *judge_replacement_notes.behind(key, succeeded, counted),
                ]
            )[:16],
            judged,
        )
        for key, own in counted.items()
    }


# Pages made before somebody asks: the first page and the leaderboards that it leads to, whose charts take seconds.

MOST = 24
"""So many leaderboards are made ahead; the others when they are asked for."""
CALM = 10.0
"""Seconds after a start in which none are: whoever started the server looks at it then, and waits for other pages."""
REST = 20
"""After pages were made, none are for so many times as long as it took: verdicts that trickle in change all of them."""


class Ahead:
    """Makes pages in English when figures changed, and once after a start and its calm."""

    def __init__(self, engine: Engine, views: Callable[[], Views], *, calm: float = CALM) -> None:
        self._engine, self._views = engine, views
        self._made: dict[str, str] = {}
        self._until = time.monotonic() + calm

    def make(self, going: Callable[[], bool]) -> None:
        """Make what is new; `going` is asked before each page."""
        begun = time.monotonic()
        if begun < self._until or not going():
            return
        with reading(self._engine) as connection:
            stamps = board_store.stamps(connection)
            if stamps == self._made:
                return
            before, self._made = self._made, stamps
            first = next(iter(studies(connection)), "")
            self._views().home(connection, "en")
            listed = [heading.name for heading in board_store.headings(connection, first) if heading.name in stamps]
        for name in listed[:MOST]:
            if going() and before.get(name) != stamps[name]:
                with reading(self._engine) as connection:
                    self._views().board(connection, name, "en")
        self._until = time.monotonic() + REST * (time.monotonic() - begun)


log = logging.getLogger("fullbench.web.results")
PAUSE = 2.0
TOPIC = "public/boards"
"""Where open pages hear that the numbers moved."""


def update(
    engine: Engine, ledger: Ledger, *, study: str | None = None, going: Callable[[], bool] = lambda: True
) -> int:
    """Bring catalogue, boards and cards, which take longest, up to date, of one study or of all; say how many verdicts
    came."""
    filled = fill_catalogue.fill(engine, ledger, study=study, going=going)
    if panel_verdicts.derive(engine, ledger, going=going):
        while going() and not fill_catalogue.settle(engine):
            pass
    if going() and refresh(engine, ledger, going=going):
        _announce(engine)
    if going() and judge_cards.refresh(engine, ledger, going=going):
        _announce(engine)
    if going():
        fill_catalogue.whole(engine)
    if going() and not filled.verdicts:
        ledger_edition.note(engine, ledger)
    return filled.verdicts


def _announce(engine: Engine) -> None:
    with writing(engine) as connection:
        live_events.publish(connection, TOPIC)


class _Updater:
    """The thread that looks every `pause` seconds whether verdicts came."""

    def __init__(self, engine: Engine, ledger: Ledger, pause: float, ahead: Ahead) -> None:
        self._engine, self._ledger, self._pause, self._ahead = engine, ledger, pause, ahead
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fullbench-updater", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; what it is in the middle of is done again next time."""
        self._ended.set()
        self._thread.join(timeout=60)

    def _going(self) -> bool:
        return not self._ended.is_set()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                update(self._engine, self._ledger, going=self._going)
            except (UserError, SQLAlchemyError) as error:
                log.warning("the public side could not be brought up to date: %s", error)
            self._make_ahead()
            self._ended.wait(self._pause)

    def _make_ahead(self) -> None:
        try:
            self._ahead.make(self._going)
        except Exception as error:  # noqa: BLE001 (a chart that cannot be drawn must not end the updates)
            log.warning("a page could not be made ahead: %s", error)


_running: dict[Engine, _Updater] = {}
_lock = threading.Lock()


@contextmanager
def keeping_up(
    engine: Engine, ledger: Ledger | None, views: Callable[[], Views], *, pause: float = PAUSE
) -> Iterator[None]:
    """While the block runs, a thread keeps the public side up to date; one for each database, however often begun.

    It has ended when any of the blocks ends, so that the database can be let go of.
    """
    if ledger is None:
        yield
        return
    with _lock:
        if engine not in _running:
            _running[engine] = _Updater(engine, ledger, pause, Ahead(engine, views))
    try:
        yield
    finally:
        with _lock:
            updater = _running.pop(engine, None)
        if updater is not None:
            updater.stop()
