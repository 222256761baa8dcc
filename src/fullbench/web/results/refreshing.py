"""Boards computed anew when verdicts came: outside of any request, one study after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import orjson
from sqlalchemy import Connection, Engine, func, select

from fullbench.ledger.ledger import Ledger
from fullbench.ledger.judge_replacements import Succession, successions
from fullbench.core.digests import digest
from fullbench.core.note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.studies import ledger_columns
from fullbench.web.database import reading
from fullbench.web.results import blindness, boards, catalogue, figures, panels, seams, tables
from fullbench.web.results.boards import Linked
from fullbench.web.results.rows import get_state, set_state, studies
from fullbench.web.results.rulings import is_panel, is_person


def refresh(engine: Engine, ledger: Ledger, *, going: Callable[[], bool] = lambda: True) -> int:
    """Compute the boards of which verdicts came, drop those that are gone; say how many were computed.

    `going` is asked before each; False ends it early.
    """
    failed, succeeded, pilots = ledger.failed(), successions(ledger), _pilots(engine, ledger)
    with reading(engine) as connection:
        wanted = _stamps(connection, failed, pilots, succeeded)
        known = boards.computed_stamps(connection)
        there = studies(connection)
    computed = 0
    for place, study in enumerate(there):
        due = [
            subject
            for subject in wanted
            if subject[0] == study and known.get(boards.board_name(*subject)) != wanted[subject]
        ]
        if not due or not going():
            continue
        columns = ledger_columns.columns(ledger, study=study)
        named = {view.name for view in ledger.views()}
        with reading(engine) as connection:
            tags = boards.item_tags(connection, there[study])
        for _, judge, criterion in due:
            if not going():
                break
            if is_panel(judge) and judge not in named:
                with reading(engine) as connection:
                    source, times = panels.columns(connection, study, judge), None
            else:
                source, times = columns, figures.Times.of(ledger.narrow("case_key", "at", judge=judge, study=study))
            subject = figures.Subject(study, judge, criterion, study if place else "")
            board = figures.compute(source, subject, tags, times)
            note = ledger_columns.pilot_note(ledger, study) if is_person(judge) else None
            if note is not None:
                board = replace(board, tables=[_with_note(linked, note) for linked in board.tables])
            if any(each.study == study and judge in {each.old, each.new} for each in succeeded):
                board = seams.seamed(board, ledger, subject.link)
            boards.keep_board(engine, board, wanted[study, judge, criterion])
            computed += 1
    gone = set(known) - {boards.board_name(*subject) for subject in wanted}
    if gone and going():
        with catalogue.sole(engine) as connection:
            boards.drop_boards(connection, gone)
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
    with catalogue.sole(engine) as connection:
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
    c, s = tables.counts.c, tables.state.c
    judged = blindness.stamp(connection)
    tagged = connection.execute(select(func.count()).select_from(tables.tags)).scalar_one()
    turned = [
        row.value for row in connection.execute(select(s.value).where(s.name.startswith("panel ")).order_by(s.name))
    ]
    counted = {
        (study, judge, criterion): (int(count), last)
        for study, judge, criterion, count, last in connection.execute(boards.headed(func.max(c.last)))
    }

    def beside(study: str, judge: str, criterion: str) -> object:
        """What stands on a board beside the judge's own verdicts: people's votes, on people's own board every judge."""
        if is_person(judge):
            return sorted((*key, *value) for key, value in counted.items() if (key[0], key[2]) == (study, criterion))
        return counted.get((study, PEOPLE, criterion))

    return {
        key: blindness.sealed(
            digest(
                [
                    *own,
                    tagged,
                    turned if is_panel(key[1]) else [],
                    beside(*key),
                    *([failed[key[1]]] if key[1] in failed else []),
                    *([{"pilot": pilots[key[0]]}] if is_person(key[1]) and pilots.get(key[0]) else []),
                    *seams.behind(key, succeeded, counted),
                ]
            )[:16],
            judged,
        )
        for key, own in counted.items()
    }
