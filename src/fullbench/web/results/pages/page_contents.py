"""What the public pages show, whether they are served or written to files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from jinja2 import Environment
from sqlalchemy import Connection, Select

from fullbench.core.ballot import LETTERS
from fullbench.ledger.ledger import Ledger
from fullbench.reports.charts import vega_lite
from fullbench.reports.site_info import Imprint
from fullbench.web.results.boards import board_store, judge_cards, judge_leaderboard
from fullbench.web.results.boards.board_store import Board, Heading, Linked
from fullbench.web.results.boards.first_page_matrix import Group, Matrix, Task, first_places, matrices, task_matrices
from fullbench.web.results.boards.tag_columns import with_tags
from fullbench.web.results.catalogue import panel_verdicts
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.catalogue.row_helpers import judges, judges_in, studies, version
from fullbench.web.results.lists import case_facets, case_list, verdict_list
from fullbench.web.results.lists import case_list as case_rows
from fullbench.web.results.lists.verdict_filters import FAULT_WORDS, SHOWN_WORDS, Filter
from fullbench.web.results.pages import case_page, social_card, study_summary
from fullbench.web.results.pages.page_cache import Recent
from fullbench.web.results.pages.shown_names import Names
from fullbench.web.results.pages.table_cells import Sheet, chart_of, sheet, sheets, with_cards
from fullbench.web.results.pages.translated_tables import localised
from fullbench.web.results.site import metric_downloads
from fullbench.web.results.site.ledger_edition import edition_of
from fullbench.web.results.site.page_urls import Places, judge_name
from fullbench.web.words import Language, key, translate

TITLES = (
    key("Leaderboard"), key("Who beats whom"), key("Faults"), key("Agreement"), key("Standing"), key("Steadiness"),
    key("Biases"), key("Reviews"), key("Corrected"), key("Replacement"), key("Faults and cost"), key("Orders"),
    key("system"), key("user"), key("assistant"), key("none"), key("any"), key("one"), key("several"),
    key("choice"), key("ranking"), key("Sees"), key("Knows"), key("Steady"), key("Swayed"), key("Fooled"),
)  # fmt: skip
"""Words that come from elsewhere and are translated where templates show them."""


class Views:
    """Makes the values of every page; remembers what is expensive, under what it depends on."""

    def __init__(
        self,
        environment: Environment,
        places: Places,
        *,
        drawing: bool | None = None,
        svg: Callable[[vega_lite.Chart], str] = vega_lite.svg,
        names: Names | None = None,
        imprint: Imprint | None = None,
    ) -> None:
        """`drawing` says whether charts are shown; where left out, they are if `svg` can draw them here."""
        self.environment, self.places, self.svg, self.names = environment, places, svg, names or Names()
        self.imprint = imprint or Imprint()
        self.drawing = find_spec("vl_convert") is not None if drawing is None else drawing
        self._drawn = svg if self.drawing else None
        self._boards: Recent[Board | None] = Recent(64)
        self._offers: Recent[list[case_facets.Group]] = Recent(1024)
        self._leads: Recent[Board | None] = Recent(512)
        self._firsts: Recent[tuple[list[str], int]] = Recent(512)
        self._bodies: Recent[str] = Recent(64)
        self._counts: Recent[verdict_list.Count] = Recent(4096)
        self._choices: Recent[dict[str, list[str]]] = Recent(2)
        self._charts: Recent[str | None] = Recent(512)
        self._cards: Recent[Any] = Recent(64)
        self._parts: Recent[list[tuple[str, list[Sheet]]]] = Recent(64)
        self._made: Recent[Sequence[Matrix]] = Recent(64)
        self._previews: Recent[bytes] = Recent(16)
        self._stories: Recent[study_summary.Story] = Recent(16)
        self.files = metric_downloads.Files()

    def common(self, connection: Connection, tab: str, study: str = "") -> dict[str, Any]:
        """What all pages are given; `study` is the one shown, empty for the first."""
        there = list(studies(connection))
        links = {name: name if place else "" for place, name in enumerate(there)}
        shown = study or next(iter(there), "")
        return {"places": self.places, "names": self.names, "tab": tab, "studies": links,
                "nothing": Filter(study=links.get(shown, "")), "shown_study": shown,
                "in_study": links.get(shown, ""), "edition": edition_of(connection, shown)}  # fmt: skip

    def home(
        self, connection: Connection, language: Language, study: str = "", task: str = ""
    ) -> dict[str, Any] | None:
        """The first page of a study, with the figures of all its items or of one task's alone."""
        there = studies(connection)
        if study and study not in there:
            return None
        shown = study or next(iter(there), "")
        headings = board_store.headings(connection, shown)
        stamps = board_store.stamps(connection)
        computed = tuple((heading.name, stamps[heading.name]) for heading in headings if heading.name in stamps)
        told = self._stories.get(
            (shown, computed, version(connection)), partial(study_summary.story, connection, shown)
        )
        chosen = Task.of(task)
        if task and (chosen is None or chosen not in {one for some in told.tasks.values() for one, _ in some}):
            return None
        overall = self._matrices(connection, computed, language)
        shown_matrices = overall if chosen is None else self._matrices(connection, computed, language, chosen)
        return {
            **self.common(connection, "boards", study),
            "verdicts": verdict_list.count(connection, Filter(study=shown)).n,
            "story": told,
            "outcome": [
                translate(language, one.words, **one.values)
                for one in study_summary.outcome(self.names.matrices(overall))
            ],
            "outcome_of": overall[0] if len(overall) > 1 else None,
            "groups": [
                self._group(connection, heading, stamps.get(heading.name))
                for heading in sorted(headings, key=lambda heading: not is_person(heading.judge))
            ],
            "matrices": shown_matrices,
            "body": self._bodies.get(
                (shown, computed, language, chosen), partial(self._tabled, shown, shown_matrices, language, chosen)
            ),
            "task": chosen,
        }

    def _tabled(self, study: str, shown: Sequence[Matrix], language: Language, task: Task | None = None) -> str:
        template = self.environment.get_template("results/matrices.html")
        labels = self.imprint.said_in(language).of_study(study).labels
        return template.render(
            matrices=shown, places=self.places, t=partial(translate, language), names=self.names, task=task,
            labels=labels,
        )  # fmt: skip

    def preview(self, connection: Connection, language: Language, title: str, study: str = "") -> bytes | None:
        """The picture that other sites show beside a link to a study's page."""
        values = self.home(connection, language, study)
        if values is None:
            return None
        told, shown = values["story"], values["shown_study"]
        counts = " · ".join((
            translate(language, "{count} verdicts", count=f"{values['verdicts']:,}"),
            translate(language, key("one judge") if told.judges == 1 else key("{judges} judges"), judges=told.judges),
            translate(language, "{items} items, answers of {contestants} contestants", items=f"{told.items:,}",
                      contestants=told.contestants),
        ))  # fmt: skip
        own = self.imprint.said_in(language).of_study(shown).title or shown
        name = title if shown in {"", "default"} else f"{title}: {own}"
        wanted = social_card.preview(name, values["outcome"], counts, self.names.matrices(values["matrices"]))
        return self._previews.get((wanted.title, wanted.sentences, wanted.counts, tuple(wanted.rows)),
                                  partial(social_card.draw, wanted))  # fmt: skip

    def _matrices(
        self,
        connection: Connection,
        computed: Sequence[tuple[str, str]],
        language: Language,
        task: Task | None = None,
    ) -> Sequence[Matrix]:
        """Contestants by judges from boards, which are known by name and stamp."""

        def make() -> Sequence[Matrix]:
            known = (
                self._lead(connection, name, stamp)
                if task is None
                else board_store.find(connection, name, tag=task.tag)
                for name, stamp in computed
            )
            spoken = (
                replace(board, tables=[localised(linked, language) for linked in board.tables])
                for board in known
                if board
            )
            return matrices(spoken) if task is None else task_matrices(spoken, task)

        return self._made.get((computed, language, task), make)

    def _group(self, connection: Connection, heading: Heading, stamp: str | None) -> Group:
        board = self._lead(connection, heading.name, stamp)
        link = Filter(study=_link(connection, heading.study), judge=heading.judge, criterion=heading.criterion)
        first, count = self._firsts.get((heading.name, stamp), partial(first_places, board)) if board else (None, 0)
        return Group(heading.name, heading.judge, heading.criterion, heading.verdicts, link, first, count)

    def _board(self, connection: Connection, name: str, stamp: str | None) -> Board | None:
        return None if stamp is None else self._boards.get((name, stamp), partial(board_store.find, connection, name))

    def _lead(self, connection: Connection, name: str, stamp: str | None) -> Board | None:
        """A board with its leaderboards alone."""
        make = partial(board_store.find, connection, name, leading=True)
        return None if stamp is None else self._leads.get((name, stamp), make)

    def board(self, connection: Connection, name: str, language: Language) -> dict[str, Any] | None:
        """A leaderboard with all its tables."""
        stamp = board_store.stamps(connection).get(name)
        board = self._board(connection, name, stamp)
        if board is None:
            return None
        body = self._bodies.get((name, stamp, language), lambda: self._body(board, language))
        every = sorted(board_store.headings(connection, board.study), key=lambda heading: not is_person(heading.judge))
        link = Filter(study=_link(connection, board.study), judge=board.judge, criterion=board.criterion)
        return {**self.common(connection, "boards", board.study), "board": board, "body": body,
                "criteria": [heading for heading in every if heading.judge == board.judge],
                "judges": [heading for heading in every if heading.criterion == board.criterion],
                "link": link, "closed": _closed(connection, board.judge)}  # fmt: skip

    def _body(self, board: Board, language: Language) -> str:
        template = self.environment.get_template("results/sheets.html")
        tables, source = self.names.tables(board.tables), (board.name, board.stamp + self.names.stamp)
        shown = sheets(tables, source, self.places, language, svg=self._drawn)
        return template.render(all=with_tags(shown, tables, self.places, language), t=partial(translate, language))

    def chart(self, connection: Connection, name: str, place: tuple[int, int], language: Language) -> str | None:
        """A chart as SVG, by the number of its table and its own; None where there is no such chart."""
        stamp = board_store.stamps(connection).get(name)
        number, chart = place

        def draw() -> str | None:
            tables = self.names.tables(self._tables(connection, name, stamp))
            if number >= len(tables) or chart >= len(tables[number].charts):
                return None
            shown = localised(tables[number], language)
            drawn = chart_of(shown, chart, self.places)
            return None if drawn is None else self.svg(drawn)

        return self._charts.get((name, stamp, place, language), draw)

    def _tables(self, connection: Connection, name: str, stamp: str | None) -> Sequence[Linked]:
        """All tables of a board or card."""
        if not name.startswith("card-"):
            board = self._board(connection, name, stamp)
            return () if board is None else board.tables
        every = ((study, judge) for study in studies(connection) for judge in judges(connection).values())
        placed = next((pair for pair in every if judge_cards.card_name(*pair) == name), None)
        card = None if placed is None else judge_cards.find(connection, *placed)
        return () if card is None else [linked for _, some in card[0].sections for linked in some]

    def count(self, connection: Connection, wanted: Filter) -> verdict_list.Count:
        """How many verdicts a filter finds; remembered until the catalogue changes."""
        if wanted.counted:
            return verdict_list.count(connection, wanted)
        return self._counts.get((version(connection), wanted), partial(verdict_list.count, connection, wanted))

    def verdicts(
        self,
        connection: Connection,
        wanted: Filter,
        *,
        order: case_list.Order = "newest",
        before: int | None = None,
        after: int | None = None,
        withheld: Select[Any] | None = None,
        ledger: Ledger | None = None,
    ) -> dict[str, Any]:
        """The list of cases, without those on the items `withheld`; with thumbnails where the ledger is at hand."""
        count = self.count(connection, wanted) if withheld is None else verdict_list.count(connection, wanted, withheld)
        choices = self._choices.get(version(connection), partial(verdict_list.choices, connection))
        page = case_list.page(connection, wanted, count, order=order, before=before, after=after, withheld=withheld)
        rows = case_rows.case_rows(connection, page.meetings, page.matched, self.names.shown)
        # Counts of what is withheld, and of a search, would have to be taken anew for each.
        facets = partial(
            case_facets.facets,
            connection,
            wanted,
            partial(self.count, connection),
            counting=withheld is None and not wanted.q,
        )
        return {
            **self.common(connection, "verdicts", wanted.study),
            "wanted": wanted,
            "order": order,
            "choices": choices,
            "fault_words": FAULT_WORDS,
            "shown_words": SHOWN_WORDS,
            "count": count,
            "page": page,
            "rows": rows,
            "most_dots": case_rows.DOTS,
            "facets": self._offers.get((version(connection), wanted, withheld is None), facets),
            "thumbs": {} if ledger is None else case_facets.thumbs(ledger, rows),
        }

    def case(self, connection: Connection, ledger: Ledger, case_key: str, study: str = "") -> dict[str, Any] | None:
        """One case."""
        heard = case_page.hearing(connection, ledger, case_key, study)
        if heard is None:
            return None
        link = _link(connection, heard.study)
        return {
            **self.common(connection, "verdicts", heard.study),
            "hearing": heard,
            "seats": heard.seats(),
            "backers": heard.backers(),
            "letters": LETTERS,
            "item_filter": Filter(study=link, item=heard.item),
            "tag_filter": lambda name, value: Filter(study=link, tag=name, value=value),
        }

    def judges(self, connection: Connection, language: Language, study: str = "") -> dict[str, Any] | None:
        """All judges of a study, and what they did not rule on."""
        there = studies(connection)
        if study and study not in there:
            return None
        shown = study or next(iter(there), "")
        linked = judge_cards.faults(connection, shown)
        names = sorted(judges_in(connection, there[shown]).values()) if there else []
        stamps = board_store.stamps(connection)
        known = (
            self._card(connection, shown, one, stamps) for one in names if judge_cards.card_name(shown, one) in stamps
        )
        link = _link(connection, shown)
        table, standings = judge_leaderboard.board([card for card, _ in known], link) or (None, [])
        met = any(row.met for row in standings)
        told = [(row.judge, row.criterion, row.sentence if met else row.sentence_without_people) for row in standings]
        first = [] if table is None else [("judges", table)]
        audited = [(each.table.name, each) for each in judge_cards.audited_judges(connection, shown)]
        tables = [*audited, *first, *([] if linked is None else [("faults", linked)])]
        named = self.names.tables([each for _, each in tables])
        rest = {standing.judge for standing in standings}
        return {
            **self.common(connection, "judges", study),
            "judged": [(judge, criterion, translate(language, words)) for judge, criterion, words in told],
            "met_by_people": met,
            "all_judges": [n for n in names if not is_person(n) and not is_panel(n) and n not in rest],
            "sheets": [
                with_cards(sheet(each, self.places, id_, language), names, self.places, link)
                for (id_, _), each in zip(tables, named, strict=True)
            ],
        }

    def _card(
        self, connection: Connection, study: str, judge: str, stamps: Mapping[str, str]
    ) -> tuple[judge_cards.Card, str]:
        stamp = stamps[judge_cards.card_name(study, judge)]
        stamped: tuple[judge_cards.Card, str] = self._cards.get(
            ((study, judge), stamp), partial(judge_cards.find, connection, study, judge)
        )
        return stamped

    def judge(self, connection: Connection, name: str, language: Language, wanted: str = "") -> dict[str, Any] | None:
        """A judge's card in the study wanted, or in the first that it ruled in; `name` is its name in addresses."""
        there = studies(connection)
        some = [wanted] if wanted else list(there)
        every = (
            (where, judge) for where in some if where in there for judge in judges_in(connection, there[where]).values()
        )
        placed = next((pair for pair in every if judge_name(pair[1]) == name), None)
        if placed is None:
            return None
        study, judge = placed
        stamps = board_store.stamps(connection)
        stamped = (
            self._card(connection, study, judge, stamps) if judge_cards.card_name(study, judge) in stamps else None
        )
        link = _link(connection, study)
        values = {
            **self.common(connection, "judges", study),
            "judge": judge,
            "mine": [heading for heading in board_store.headings(connection, study) if heading.judge == judge],
            "link": Filter(study=link, judge=judge),
            "against": Filter(study=link, judge=judge, opposed=True),
            "lead": "",
            "verdicts_on": (),
            "sampled": 0,
            "total": 0,
            "sections": (),
            "badge": "",
            "closed": _closed(connection, judge),
            "pending": stamped is None and not is_person(judge) and not is_panel(judge),
        }
        if stamped is None:
            return values
        card, stamp = stamped
        return {**values, "lead": translate(language, self.names.said(card.lead)), "sampled": card.sampled,
                "total": card.total, "badge": card.badge,
                "verdicts_on": [(row.criterion, translate(language, row.sentence))
                                for row in judge_leaderboard.standings_of(card)],
                "sections": self._parts.get((study, judge, stamp, language),
                                            lambda: self._sections(study, card, stamp, language))}  # fmt: skip

    def _sections(
        self, study: str, card: judge_cards.Card, stamp: str, language: Language
    ) -> list[tuple[str, list[Sheet]]]:
        source = (judge_cards.card_name(study, card.judge), stamp + self.names.stamp)
        start = 0
        sections = []
        for title, some in card.sections:
            tables = self.names.tables(some)
            sections.append((title, sheets(tables, source, self.places, language, start=start, svg=self._drawn)))
            start += len(some)
        return sections


def _closed(connection: Connection, judge: str) -> float | None:
    """When a judge that is a panel was closed."""
    panel = panel_verdicts.of(connection, judge)
    return None if panel is None else panel.closed_at


def _link(connection: Connection, study: str) -> str:
    """How filters and addresses name a study: not at all where it is the first."""
    return "" if study == next(iter(studies(connection)), "") else study
