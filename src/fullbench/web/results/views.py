"""What the public pages show, whether they are served or written to files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from jinja2 import Environment
from sqlalchemy import Connection, Select, func, select

from fullbench.ledger.store import Ledger
from fullbench.reports import charts
from fullbench.reports.cells import decimals, show
from fullbench.web.results import boards, cards, hearing, listing, panels, tables
from fullbench.web.results.boards import Board, Heading, Linked
from fullbench.web.results.filters import FAULT_WORDS, SHOWN_WORDS, Filter
from fullbench.web.results.localised import localised
from fullbench.web.results.places import Places, judge_name
from fullbench.web.results.recent import Recent
from fullbench.web.results.rows import judges, judges_in, studies, version
from fullbench.web.results.rulings import is_panel, is_person
from fullbench.web.results.showing import sheet, sheets
from fullbench.web.words import Language, key, translate

TOP = 5
MARGIN = 18
TITLES = (
    key("Leaderboard"), key("Who beats whom"), key("Faults"), key("Agreement"), key("Standing"), key("Steadiness"),
    key("Biases"), key("Reviews"), key("Corrected"), key("Replacement"), key("Faults and cost"), key("Orders"),
    key("system"), key("user"), key("assistant"), key("none"), key("any"), key("one"), key("several"),
    key("choice"), key("ranking"), key("Sees"), key("Knows"), key("Steady"), key("Swayed"), key("Fooled"),
)  # fmt: skip
"""Words that come from elsewhere and are translated where templates show them."""


@dataclass(frozen=True)
class Totals:
    """How much there is."""

    verdicts: int
    judges: int
    contestants: int


@dataclass(frozen=True)
class Group:
    """A board on the first page, with the best of it."""

    name: str
    judge: str
    criterion: str
    verdicts: int
    link: Filter
    top: Sequence[tuple[str, str, str]]


class Views:
    """Makes the values of every page; remembers what is expensive, under what it depends on."""

    def __init__(self, environment: Environment, places: Places, *, drawing: bool | None = None) -> None:
        """`drawing` says whether charts are shown; where left out, they are if they can be drawn here."""
        self.environment, self.places = environment, places
        self.drawing = find_spec("vl_convert") is not None if drawing is None else drawing
        self._boards: Recent[Board | None] = Recent(64)
        self._tops: Recent[Sequence[tuple[str, str, str]]] = Recent(512)
        self._bodies: Recent[str] = Recent(64)
        self._counts: Recent[listing.Count] = Recent(4096)
        self._choices: Recent[dict[str, list[str]]] = Recent(2)
        self._charts: Recent[str | None] = Recent(512)
        self._cards: Recent[Any] = Recent(64)

    def common(self, connection: Connection, tab: str, study: str = "") -> dict[str, Any]:
        """What all pages are given; `study` is the one shown, empty for the first."""
        there = list(studies(connection))
        links = {name: name if place else "" for place, name in enumerate(there)}
        shown = study or next(iter(there), "")
        return {"places": self.places, "tab": tab, "nothing": Filter(study=links.get(shown, "")), "studies": links,
                "shown_study": shown, "in_study": links.get(shown, "")}  # fmt: skip

    def home(self, connection: Connection, language: Language, study: str = "") -> dict[str, Any] | None:
        """The first page of a study."""
        there = studies(connection)
        if study and study not in there:
            return None
        headings = boards.headings(connection, study or next(iter(there), ""))
        stamps = boards.stamps(connection)
        return {
            **self.common(connection, "boards", study),
            "totals": totals(connection, study or next(iter(there), "")),
            "groups": [self._group(connection, one, stamps.get(one.name), language) for one in headings],
        }

    def _group(self, connection: Connection, one: Heading, stamp: str | None, language: Language) -> Group:
        board = self._board(connection, one.name, stamp)
        link = Filter(study=_link(connection, one.study), judge=one.judge, criterion=one.criterion)
        top = self._tops.get((one.name, stamp, language), partial(_best, board, language)) if board else ()
        return Group(one.name, one.judge, one.criterion, one.verdicts, link, top)

    def _board(self, connection: Connection, name: str, stamp: str | None) -> Board | None:
        return None if stamp is None else self._boards.get((name, stamp), partial(boards.find, connection, name))

    def board(self, connection: Connection, name: str, language: Language) -> dict[str, Any] | None:
        """A leaderboard with all its tables."""
        stamp = boards.stamps(connection).get(name)
        board = self._board(connection, name, stamp)
        if board is None:
            return None
        body = self._bodies.get((name, stamp, language), lambda: self._body(board, language))
        others = [one for one in boards.headings(connection, board.study) if one.name != name]
        link = Filter(study=_link(connection, board.study), judge=board.judge, criterion=board.criterion)
        closed = _closed(connection, board.judge)
        return {**self.common(connection, "boards", board.study), "board": board, "body": body, "others": others[:40],
                "link": link, "closed": closed}  # fmt: skip

    def _body(self, board: Board, language: Language) -> str:
        template = self.environment.get_template("public/sheets.html")
        return template.render(
            all=sheets(board.tables, (board.name, board.stamp), self.places, language, drawing=self.drawing),
            t=partial(translate, language),
        )

    def chart(self, connection: Connection, name: str, place: tuple[int, int], language: Language) -> str | None:
        """A chart as SVG, by the number of its table and its own; None where there is no such chart."""
        stamp = boards.stamps(connection).get(name)
        number, chart = place

        def draw() -> str | None:
            found = self._tables(connection, name, stamp)
            if number >= len(found) or chart >= len(found[number].charts):
                return None
            return _svg(localised(found[number], language), chart)

        return self._charts.get((name, stamp, place, language), draw)

    def _tables(self, connection: Connection, name: str, stamp: str | None) -> Sequence[Linked]:
        """All tables of a board or card."""
        if not name.startswith("card-"):
            board = self._board(connection, name, stamp)
            return () if board is None else board.tables
        every = ((study, judge) for study in studies(connection) for judge in judges(connection).values())
        found = next((one for one in every if cards.card_name(*one) == name), None)
        card = None if found is None else cards.find(connection, *found)
        return () if card is None else [one for _, some in card[0].sections for one in some]

    def count(self, connection: Connection, wanted: Filter) -> listing.Count:
        """How many verdicts a filter finds; remembered until the catalogue changes."""
        if wanted.counted:
            return listing.count(connection, wanted)
        return self._counts.get((version(connection), wanted), partial(listing.count, connection, wanted))

    def verdicts(
        self,
        connection: Connection,
        wanted: Filter,
        *,
        before: int | None = None,
        after: int | None = None,
        withheld: Select[Any] | None = None,
    ) -> dict[str, Any]:
        """The list of verdicts, without those on the items `withheld`."""
        count = self.count(connection, wanted) if withheld is None else listing.count(connection, wanted, withheld)
        choices = self._choices.get(version(connection), partial(listing.choices, connection))
        return {
            **self.common(connection, "verdicts", wanted.study),
            "wanted": wanted,
            "choices": choices,
            "fault_words": FAULT_WORDS,
            "shown_words": SHOWN_WORDS,
            "count": count,
            "page": listing.page(connection, wanted, before=before, after=after, withheld=withheld),
        }

    def case(self, connection: Connection, ledger: Ledger, case_key: str, study: str = "") -> dict[str, Any] | None:
        """One case."""
        found = hearing.hearing(connection, ledger, case_key, study)
        if found is None:
            return None
        link = _link(connection, found.study)
        return {
            **self.common(connection, "verdicts", found.study),
            "hearing": found,
            "item_filter": Filter(study=link, item=found.item),
            "tag_filter": lambda name, value: Filter(study=link, tag=name, value=value),
        }

    def judges(self, connection: Connection, language: Language, study: str = "") -> dict[str, Any] | None:
        """All judges of a study, and what they did not rule on."""
        there = studies(connection)
        if study and study not in there:
            return None
        shown = study or next(iter(there), "")
        linked = cards.faults(connection, shown)
        names = sorted(judges_in(connection, there[shown]).values()) if there else []
        return {
            **self.common(connection, "judges", study),
            "all_judges": [n for n in names if not is_person(n) and not is_panel(n)],
            "sheets": [] if linked is None else [sheet(linked, self.places, "faults", language)],
        }

    def judge(self, connection: Connection, name: str, language: Language, wanted: str = "") -> dict[str, Any] | None:
        """A judge's card in the study wanted, or in the first that it ruled in; `name` is its name in addresses."""
        there = studies(connection)
        some = [wanted] if wanted else list(there)
        every = ((one, judge) for one in some if one in there for judge in judges_in(connection, there[one]).values())
        placed = next((one for one in every if judge_name(one[1]) == name), None)
        if placed is None:
            return None
        study, judge = placed
        stamp = boards.stamps(connection).get(cards.card_name(study, judge))
        found = self._cards.get((placed, stamp), partial(cards.find, connection, study, judge)) if stamp else None
        link = _link(connection, study)
        values = {
            **self.common(connection, "judges", study),
            "judge": judge,
            "mine": [one for one in boards.headings(connection, study) if one.judge == judge],
            "link": Filter(study=link, judge=judge),
            "against": Filter(study=link, judge=judge, opposed=True),
            "lead": "",
            "sampled": 0,
            "total": 0,
            "sections": (),
            "closed": _closed(connection, judge),
            "pending": found is None and not is_person(judge) and not is_panel(judge),
        }
        if found is None:
            return values
        card, stamp = found
        return {**values, "lead": translate(language, card.lead), "sampled": card.sampled, "total": card.total,
                "sections": self._sections(study, card, stamp, language)}  # fmt: skip

    def _sections(self, study: str, card: cards.Card, stamp: str, language: Language) -> list[tuple[str, list[Any]]]:
        source = (cards.card_name(study, card.judge), stamp)
        start = 0
        made = []
        for title, some in card.sections:
            made.append((title, sheets(some, source, self.places, language, start=start, drawing=self.drawing)))
            start += len(some)
        return made


def _svg(linked: Linked, place: int) -> str | None:
    """A chart of a table, with a margin: labels may be wider in the reader's font than where it was laid out."""
    drawn = charts.chart(linked.table, linked.charts[place])
    if drawn is None:
        return None

    def wider(found: re.Match[str]) -> str:
        width, height = float(found[1]) + 2 * MARGIN, float(found[2])
        return f'width="{width:g}" height="{height:g}" viewBox="{-MARGIN} 0 {width:g} {height:g}"'

    return re.sub(r'width="([\d.]+)" height="([\d.]+)" viewBox="[^"]+"', wider, charts.svg(drawn), count=1)


def _closed(connection: Connection, judge: str) -> float | None:
    """When a judge that is a panel was closed."""
    panel = panels.of(connection, judge)
    return None if panel is None else panel.closed_at


def _link(connection: Connection, study: str) -> str:
    """How filters and addresses name a study: not at all where it is the first."""
    return "" if study == next(iter(studies(connection)), "") else study


def totals(connection: Connection, study: str) -> Totals:
    """How much there is of a study in the catalogue."""
    c, number = tables.counts.c, studies(connection).get(study, 0)
    mine = (c.study_id == number, c.n > 0)
    counted = [
        int(connection.execute(select(func.count(column.distinct())).where(*mine, c.contestant_id != 0)).scalar_one())
        for column in (c.judge_id, c.contestant_id)
    ]
    return Totals(listing.count(connection, Filter(study=study)).n, *counted)


def _best(board: Board, language: Language) -> list[tuple[str, str, str]]:
    """Rank set, name and figure of the best few: the first figure that most of them have."""
    if not board.tables:
        return []
    table = board.tables[0].table
    best = localised(board.tables[0], language).table.rows[:TOP]
    places = [place for place, column in enumerate(table.typed) if column.kind not in {"rank", "name", "fault"}]
    column = max(places, key=lambda place: sum(row[place] is not None for row in best), default=None)
    if column is None:
        return [(show(row[0]), show(row[1]), "") for row in best]
    digits = decimals(table.cells(column))
    return [(show(row[0]), show(row[1]), show(row[column], digits)) for row in best]
