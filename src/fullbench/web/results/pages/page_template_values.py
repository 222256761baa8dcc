"""Template values of all public pages, for the served site and the static copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from jinja2 import Environment
from sqlalchemy import Connection, Select

from fullbench.analysis.summary.judge_trust import is_baseline
from fullbench.analysis.summary.study_summary import JUDGES, sentences_of
from fullbench.core.ballot import LETTERS
from fullbench.core.table import Table
from fullbench.ledger.ledger import Ledger
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.site_info import Imprint
from fullbench.reports.table_cell_bars_and_sort_values import LaidCell
from fullbench.reports.translated_tables import localise_table
from fullbench.web.results.boards import board_store, judge_cards, judge_leaderboard, stored_study_summary
from fullbench.web.results.boards.board_store import Board, Heading, LinkedTable
from fullbench.web.results.boards.contestants_by_judges_matrix import (
    BoardSummary,
    Matrix,
    Task,
    build_matrices,
    first_places,
    task_matrices,
)
from fullbench.web.results.boards.interval_chart_of_contestants import build_interval_chart
from fullbench.web.results.boards.judge_trust_rows import trust_groups
from fullbench.web.results.boards.tag_columns import with_tags
from fullbench.web.results.catalogue import panels_created_on_site
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import (
    catalogue_version,
    judge_names_by_id,
    judges_in,
    study_ids_by_name,
)
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.results.lists import case_facets, case_list, verdict_counts_of_cells, verdict_list
from fullbench.web.results.lists import case_list as case_rows
from fullbench.web.results.lists.verdict_filters import FAULT_WORDS, SHOWN_WORDS, Filter
from fullbench.web.results.pages import case_page, social_card, study_summary
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names
from fullbench.web.results.pages.tables_and_charts_for_templates import (
    Sheet,
    build_sheet,
    build_sheets,
    chart_of,
    count_in_words,
    group_by_tab,
    leading_sentence,
    translate_linked_table,
    with_cards,
)
from fullbench.web.results.recent_value_cache import RecentCache
from fullbench.web.results.site import leaderboard_metrics_as_one_file
from fullbench.web.results.site.ledger_edition import edition_of
from fullbench.web.results.site.page_urls import PageUrls, judge_name
from fullbench.web.words import Language, key, translate_sentence

TITLES = (
    key("Leaderboard"), key("Wins between contestants"), key("Unusable verdicts"), key("Agreement"),
    key("Other judges"), key("Steadiness"), key("Criteria of items"),
    key("Biases"), key("Reviews"), key("Corrected"), key("Replacement"), key("Unusable verdicts and cost"),
    key("Orders"),
    key("system"), key("user"), key("assistant"), key("none"), key("any"), key("one"), key("several"),
    key("choice"), key("ranking"), key("Picture use"), key("Video use"),
    key("Recording use"), key("Document use"), key("Knows"), key("Steady"), key("Fooled"),
)  # fmt: skip
"""Texts from other packages that templates translate."""


class Views:
    """Compute the template values of every page. Expensive parts are cached by everything they depend on."""

    def __init__(
        self,
        environment: Environment,
        urls: PageUrls,
        *,
        drawing: bool | None = None,
        svg: Callable[[chart_specification_and_rendering.Chart], str] = chart_specification_and_rendering.render_svg,
        names: Callable[[], Names] = Names,
        imprint: Imprint | None = None,
    ) -> None:
        """`drawing` turns charts on or off; None means on if `vl_convert` is installed. `names` loads display names."""
        self.environment, self.urls, self.svg, self._load_names = environment, urls, svg, names
        self.imprint = imprint or Imprint()
        self.drawing = find_spec("vl_convert") is not None if drawing is None else drawing
        self._draw_svg = svg if self.drawing else None
        self._boards: RecentCache[Board | None] = RecentCache(64)
        self._offers: RecentCache[list[case_facets.FacetGroup]] = RecentCache(1024)
        self._leads: RecentCache[Board | None] = RecentCache(512)
        self._firsts: RecentCache[tuple[list[str], int]] = RecentCache(512)
        self._bodies: RecentCache[str] = RecentCache(64)
        self._counts: RecentCache[verdict_list.VerdictCount] = RecentCache(4096)
        self._choices: RecentCache[dict[str, list[str]]] = RecentCache(2)
        self._charts: RecentCache[str | None] = RecentCache(512)
        self._cards: RecentCache[Any] = RecentCache(64)
        self._parts: RecentCache[list[tuple[str, list[Sheet]]]] = RecentCache(64)
        self._matrix_cache: RecentCache[Sequence[Matrix]] = RecentCache(64)
        self._summaries: RecentCache[Sequence[Table]] = RecentCache(16)
        self._previews: RecentCache[bytes] = RecentCache(16)
        self._stories: RecentCache[study_summary.Story] = RecentCache(16)
        self.files = leaderboard_metrics_as_one_file.DownloadCache()

    @property
    def names(self) -> Names:
        """Display names as of now."""
        return self._load_names()

    def common(self, connection: Connection, tab: str, study: str = "") -> dict[str, Any]:
        """Return the values of all pages. An empty `study` is the first one."""
        study_names = list(study_ids_by_name(connection))
        links = {name: name if place else "" for place, name in enumerate(study_names)}
        shown_study = study or next(iter(study_names), "")
        return {
            "places": self.urls,
            "names": self.names,
            "tab": tab,
            "studies": links,
            "nothing": Filter(study=links.get(shown_study, "")),
            "shown_study": shown_study,
            "in_study": links.get(shown_study, ""),
            "edition": edition_of(connection, shown_study),
        }

    def home(
        self, connection: Connection, language: Language, study: str = "", task: str = ""
    ) -> dict[str, Any] | None:
        """Return the first page of a study, with numbers of all items or of one task."""
        study_ids = study_ids_by_name(connection)
        if study and study not in study_ids:
            return None
        shown_study = study or next(iter(study_ids), "")
        headings = board_store.board_headings(connection, shown_study)
        stamps = board_store.stamps_by_name(connection)
        board_stamps = tuple((heading.name, stamps[heading.name]) for heading in headings if heading.name in stamps)
        story = self._stories.get(
            (shown_study, board_stamps, catalogue_version(connection)),
            partial(study_summary.load_story, connection, shown_study),
        )
        selected_task = Task.from_text(task)
        if task and (
            selected_task is None
            or selected_task not in {entry for tasks in story.tasks.values() for entry, _ in tasks}
        ):
            return None
        overall = self._matrices(connection, board_stamps, language)
        shown_matrices = (
            overall if selected_task is None else self._matrices(connection, board_stamps, language, selected_task)
        )
        stored_summary = [] if selected_task else self._stored_summary(connection, shown_study, stamps)
        return {
            **self.common(connection, "boards", study),
            "summary_sentences": [
                str(sentence) for sentence in sentences_of(self._shown_summary(stored_summary, language))
            ],
            "verdicts": verdict_list.count_verdicts(connection, Filter(study=shown_study)).n,
            "story": story,
            "outcome": [
                translate_sentence(language, entry.words, **entry.values)
                for entry in study_summary.outcome_sentences(self.names.matrices(overall))
            ],
            "outcome_of": overall[0] if len(overall) > 1 else None,
            "groups": [
                self._group(connection, heading, stamps.get(heading.name))
                for heading in sorted(headings, key=_people_first)
            ],
            "matrices": shown_matrices,
            "body": self._bodies.get(
                (shown_study, board_stamps, language, selected_task, self.names.stamp),
                lambda: self._render_matrices(
                    connection,
                    shown_study,
                    shown_matrices,
                    stored_summary=stored_summary,
                    language=language,
                    task=selected_task,
                ),
            ),
            "task": selected_task,
        }

    def _stored_summary(self, connection: Connection, study: str, stamps: Mapping[str, str]) -> Sequence[Table]:
        """Return the summary of a study with full names, in English."""
        stamp = stamps.get(stored_study_summary.summary_name(study))
        if stamp is None:
            return []
        tables: Sequence[Table] = self._summaries.get(
            (study, stamp), partial(stored_study_summary.find_summary, connection, study)
        )
        return tables

    def _shown_summary(self, tables: Sequence[Table], language: Language) -> list[Table]:
        """Return tables of the summary with display names, in a language."""
        return [localise_table(self.names.table(table), language) for table in tables]

    def _render_matrices(
        self,
        connection: Connection,
        study: str,
        shown_matrices: Sequence[Matrix],
        *,
        stored_summary: Sequence[Table],
        language: Language,
        task: Task | None = None,
    ) -> str:
        template = self.environment.get_template("results/matrices.html")
        labels = self.imprint.for_language(language).of_study(study).labels
        links = {
            cell.link for matrix in shown_matrices for _, cells in matrix.rows for cell in cells if cell and cell.link
        }
        counts = verdict_counts_of_cells.count_cells(connection, links)
        return template.render(
            matrices=[(matrix, build_interval_chart(matrix, stored_summary, counts)) for matrix in shown_matrices],
            counts=counts,
            counted=partial(count_in_words, language),
            places=self.urls,
            t=partial(translate_sentence, language),
            names=self.names,
            task=task,
            labels=labels,
        )

    def preview(self, connection: Connection, language: Language, title: str, study: str = "") -> bytes | None:
        """Return the picture that other sites show next to a link to a study's page."""
        values = self.home(connection, language, study)
        if values is None:
            return None
        story, shown_study = values["story"], values["shown_study"]
        counts = " · ".join(
            (
                translate_sentence(language, "{count} verdicts", count=f"{values['verdicts']:,}"),
                translate_sentence(
                    language, key("one judge") if story.judges == 1 else key("{judges} judges"), judges=story.judges
                ),
                translate_sentence(
                    language,
                    "{items} items, answers of {contestants} contestants",
                    items=f"{story.items:,}",
                    contestants=story.contestants,
                ),
            )
        )
        study_title = self.imprint.for_language(language).of_study(shown_study).title or shown_study
        name = title if shown_study in {"", "default"} else f"{title}: {study_title}"
        social_preview = social_card.build_preview(
            name, values["outcome"], counts, self.names.matrices(values["matrices"])
        )
        return self._previews.get(
            (social_preview.title, social_preview.sentences, social_preview.counts, tuple(social_preview.rows)),
            partial(social_card.draw_preview, social_preview),
        )

    def _matrices(
        self,
        connection: Connection,
        board_stamps: Sequence[tuple[str, str]],
        language: Language,
        task: Task | None = None,
    ) -> Sequence[Matrix]:

        def make() -> Sequence[Matrix]:
            boards = (
                self._lead(connection, name, stamp)
                if task is None
                else board_store.find_board(connection, name, tag=task.tag)
                for name, stamp in board_stamps
            )
            translated_boards = (
                replace(board, tables=[translate_linked_table(linked_table, language) for linked_table in board.tables])
                for board in boards
                if board
            )
            return build_matrices(translated_boards) if task is None else task_matrices(translated_boards, task)

        return self._matrix_cache.get((board_stamps, language, task), make)

    def _group(self, connection: Connection, heading: Heading, stamp: str | None) -> BoardSummary:
        board = self._lead(connection, heading.name, stamp)
        link = Filter(study=_study_link(connection, heading.study), judge=heading.judge, criterion=heading.criterion)
        first, count = self._firsts.get((heading.name, stamp), partial(first_places, board)) if board else (None, 0)
        return BoardSummary(heading.name, heading.judge, heading.criterion, heading.verdicts, link, first, count)

    def _board(self, connection: Connection, name: str, stamp: str | None) -> Board | None:
        return (
            None
            if stamp is None
            else self._boards.get((name, stamp), partial(board_store.find_board, connection, name))
        )

    def _lead(self, connection: Connection, name: str, stamp: str | None) -> Board | None:
        make = partial(board_store.find_board, connection, name, leading=True)
        return None if stamp is None else self._leads.get((name, stamp), make)

    def board(self, connection: Connection, name: str, language: Language) -> dict[str, Any] | None:
        """Return a leaderboard with all its tables."""
        stamp = board_store.stamps_by_name(connection).get(name)
        board = self._board(connection, name, stamp)
        if board is None:
            return None
        body = self._bodies.get(
            (name, stamp, language, self.names.stamp), lambda: self._body(connection, board, language)
        )
        all_headings = sorted(board_store.board_headings(connection, board.study), key=_people_first)
        link = Filter(study=_study_link(connection, board.study), judge=board.judge, criterion=board.criterion)
        return {
            **self.common(connection, "boards", board.study),
            "board": board,
            "body": body,
            "criteria": [heading for heading in all_headings if heading.judge == board.judge],
            "judges": [heading for heading in all_headings if heading.criterion == board.criterion],
            "link": link,
            "leads": leading_sentence(self.names.tables(board.tables)),
            "closed": _panel_closed_at(connection, board.judge),
        }

    def _body(self, connection: Connection, board: Board, language: Language) -> str:
        template = self.environment.get_template("results/table_sections.html")
        counted = verdict_counts_of_cells.with_verdict_counts(connection, board.tables)
        tables, source = self.names.tables(counted), (board.name, board.stamp + self.names.stamp)
        board_sheets = build_sheets(tables, source, self.urls, language, svg=self._draw_svg)
        groups = group_by_tab(with_tags(board_sheets, tables, self.urls, language))
        in_order = [sheet for _, sheets in groups for sheet in sheets]
        return template.render(all=in_order, groups=groups, t=partial(translate_sentence, language))

    def chart(self, connection: Connection, name: str, place: tuple[int, int], language: Language) -> str | None:
        """Return a chart as SVG, by the number of its table and its own. None if it does not exist."""
        stamp = board_store.stamps_by_name(connection).get(name)
        number, chart = place

        def draw() -> str | None:
            tables = self.names.tables(self._tables(connection, name, stamp))
            if number >= len(tables) or chart >= len(tables[number].charts):
                return None
            translated_table = translate_linked_table(tables[number], language)
            drawable_chart = chart_of(translated_table, chart, self.urls)
            return None if drawable_chart is None else self.svg(drawable_chart)

        return self._charts.get((name, stamp, place, language, self.names.stamp), draw)

    def _tables(self, connection: Connection, name: str, stamp: str | None) -> Sequence[LinkedTable]:
        if not name.startswith("card-"):
            board = self._board(connection, name, stamp)
            return () if board is None else board.tables
        all_pairs = (
            (study, judge)
            for study in study_ids_by_name(connection)
            for judge in judge_names_by_id(connection).values()
        )
        study_and_judge = next((pair for pair in all_pairs if judge_cards.card_name(*pair) == name), None)
        card = None if study_and_judge is None else judge_cards.find_card(connection, *study_and_judge)
        return (
            ()
            if card is None
            else [linked_table for _, linked_tables in card[0].sections for linked_table in linked_tables]
        )

    def count(self, connection: Connection, verdict_filter: Filter) -> verdict_list.VerdictCount:
        """Count the verdicts that match a filter. The count is cached until the catalogue changes."""
        if verdict_filter.has_ready_count:
            return verdict_list.count_verdicts(connection, verdict_filter)
        return self._counts.get(
            (catalogue_version(connection), verdict_filter),
            partial(verdict_list.count_verdicts, connection, verdict_filter),
        )

    def verdicts(
        self,
        connection: Connection,
        verdict_filter: Filter,
        *,
        order: case_list.Order = "newest",
        before: int | None = None,
        after: int | None = None,
        withheld_items: Select[Any] | None = None,
        ledger: Ledger | None = None,
    ) -> dict[str, Any]:
        """Return the list of cases without those on `withheld_items`; with thumbnails if a ledger is given."""
        count = (
            self.count(connection, verdict_filter)
            if withheld_items is None
            else verdict_list.count_verdicts(connection, verdict_filter, withheld_items)
        )
        choices = self._choices.get(catalogue_version(connection), partial(verdict_list.filter_choices, connection))
        page = case_list.find_cases(
            connection, verdict_filter, count, order=order, before=before, after=after, withheld_items=withheld_items
        )
        rows = case_rows.case_rows(connection, page.response_sets, page.verdicts_by_response_set, self.names.shown_name)
        # With hidden items or a search, stored counts do not apply and each facet would need its own query.
        facets = partial(
            case_facets.build_facets,
            connection,
            verdict_filter,
            partial(self.count, connection),
            counting=withheld_items is None and not verdict_filter.q,
        )
        return {
            **self.common(connection, "verdicts", verdict_filter.study),
            "wanted": verdict_filter,
            "order": order,
            "choices": choices,
            "fault_words": FAULT_WORDS,
            "shown_words": SHOWN_WORDS,
            "count": count,
            "page": page,
            "rows": rows,
            "most_dots": case_rows.MAX_DOTS,
            "facets": self._offers.get((catalogue_version(connection), verdict_filter, withheld_items is None), facets),
            "thumbs": {} if ledger is None else case_facets.case_thumbnails(ledger, rows),
        }

    def case(self, connection: Connection, ledger: Ledger, case_key: str, study: str = "") -> dict[str, Any] | None:
        """Return one case with all its verdicts."""
        found = case_page.load_case_details(connection, ledger, case_key, study)
        return None if found is None else self.case_values(found, self.common(connection, "verdicts", found.study))

    @staticmethod
    def case_values(case_details: case_page.CaseDetails, common: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a case that is loaded; `common` are those of all pages of its study."""
        link = common["in_study"]
        return {
            **common,
            "details": case_details,
            "seats": case_details.colours(),
            "backers": case_details.backers(),
            "letters": LETTERS,
            "item_filter": Filter(study=link, item=case_details.item),
            "tag_filter": lambda name, value: Filter(study=link, tag=name, value=value),
        }

    def judges(self, connection: Connection, language: Language, study: str = "") -> dict[str, Any] | None:
        """Return all judges of a study and their unusable verdicts."""
        study_ids = study_ids_by_name(connection)
        if study and study not in study_ids:
            return None
        shown_study = study or next(iter(study_ids), "")
        fault_table = judge_cards.load_faults(connection, shown_study)
        names = sorted(judges_in(connection, study_ids[shown_study]).values()) if study_ids else []
        stamps = board_store.stamps_by_name(connection)
        stamped_cards = (
            self._card(connection, shown_study, name, stamps)
            for name in names
            if judge_cards.card_name(shown_study, name) in stamps
        )
        link = _study_link(connection, shown_study)
        table, standings = judge_leaderboard.judge_board([card for card, _ in stamped_cards], link) or (None, [])
        has_votes = any(row.has_votes for row in standings)
        sentences = [
            (row.judge, row.criterion, row.sentence if has_votes else row.sentence_without_people) for row in standings
        ]
        audit_tables = [
            (linked_table.table.name, linked_table)
            for linked_table in judge_cards.load_audited_judge_tables(connection, shown_study)
        ]
        parts = [
            (key("Audit"), audit_tables),
            (key("All numbers"), [] if table is None else [("judges", table)]),
            (key("Unusable verdicts"), [] if fault_table is None else [("unusable", fault_table)]),
        ]
        stored_summary = self._stored_summary(connection, shown_study, stamps)
        shown_summary = self._shown_summary(stored_summary, language)

        def lay_out(id_: str, linked_table: LinkedTable) -> Sheet:
            shown_table = translate_linked_table(self.names.tables([linked_table])[0], language)
            return with_cards(build_sheet(shown_table, self.urls, id_, language), names, self.urls, link)

        ranked_judges = {standing.judge for standing in standings}
        return {
            **self.common(connection, "judges", study),
            "judged": [(name, criterion, translate_sentence(language, words)) for name, criterion, words in sentences],
            "met_by_people": {row.criterion for row in standings if row.has_votes},
            "all_judges": [n for n in names if not is_person(n) and not is_panel(n) and n not in ranked_judges],
            "trusts": trust_groups(stored_summary, shown_summary),
            "trust_sentence": next(iter(sentences_of(shown_summary)[1:2]), "") if len(shown_summary) > 1 else "",
            "trust_notes": [str(note) for table in shown_summary if table.name == JUDGES for note in table.notes],
            "sheets_by_part": [
                (translate_sentence(language, title), [lay_out(id_, linked_table) for id_, linked_table in tables])
                for title, tables in parts
                if tables
            ],
        }

    def _card(
        self, connection: Connection, study: str, judge: str, stamps: Mapping[str, str]
    ) -> tuple[judge_cards.Card, str]:
        stamp = stamps[judge_cards.card_name(study, judge)]
        stamped_card: tuple[judge_cards.Card, str] = self._cards.get(
            ((study, judge), stamp), partial(judge_cards.find_card, connection, study, judge)
        )
        return stamped_card

    def judge(
        self, connection: Connection, name: str, language: Language, preferred_study: str = ""
    ) -> dict[str, Any] | None:
        """Return a judge's card in the preferred study, or in its first one. `name` is the judge's name in URLs."""
        study_ids = study_ids_by_name(connection)
        study_names = [preferred_study] if preferred_study else list(study_ids)
        all_pairs = (
            (study_name, judge)
            for study_name in study_names
            if study_name in study_ids
            for judge in judges_in(connection, study_ids[study_name]).values()
        )
        study_and_judge = next((pair for pair in all_pairs if judge_name(pair[1]) == name), None)
        if study_and_judge is None:
            return None
        study, judge = study_and_judge
        stamps = board_store.stamps_by_name(connection)
        stamped_card = (
            self._card(connection, study, judge, stamps) if judge_cards.card_name(study, judge) in stamps else None
        )
        link = _study_link(connection, study)
        values = {
            **self.common(connection, "judges", study),
            "judge": judge,
            "mine": [heading for heading in board_store.board_headings(connection, study) if heading.judge == judge],
            "link": Filter(study=link, judge=judge),
            "against": Filter(study=link, judge=judge, opposed=True),
            "lead": "",
            "verdicts_on": (),
            "sampled": 0,
            "total": 0,
            "sections": (),
            "badge": "",
            "closed": _panel_closed_at(connection, judge),
            "pending": stamped_card is None and not is_person(judge) and not is_panel(judge),
        }
        if stamped_card is None:
            return values
        card, stamp = stamped_card
        return {
            **values,
            "lead": translate_sentence(language, self.names.with_shown_names(card.lead)),
            "sampled": card.sampled,
            "total": card.total,
            "badge": card.badge,
            "verdicts_on": self._five_numbers(card, link, language),
            "sections": self._parts.get(
                (study, judge, stamp, language, self.names.stamp), lambda: self._sections(study, card, stamp, language)
            ),
        }

    def _five_numbers(
        self, card: judge_cards.Card, link: str, language: Language
    ) -> list[tuple[str, str, list[tuple[str, LaidCell]]]]:
        """Return a judge's verdict in words and its first five numbers with their names, for each criterion."""
        judge_table = judge_leaderboard.judge_board([card], link)
        if judge_table is None:
            return []
        linked_table, standings = judge_table
        sheet = build_sheet(translate_linked_table(linked_table, language), self.urls, "numbers", language)
        keys = [column.key for column in linked_table.table.typed_columns]
        by_key = [dict(zip(keys, zip(sheet.heads, row, strict=True), strict=True)) for row in sheet.rows]
        return [
            (
                standing.criterion,
                translate_sentence(language, standing.sentence),
                [
                    (heads_and_cells[key][0][0], heads_and_cells[key][1])
                    for key in judge_leaderboard.FIRST_NUMBERS
                    if standing.cells.get(key) is not None
                ][:5],
            )
            for standing, heads_and_cells in zip(standings, by_key, strict=True)
        ]

    def _sections(
        self, study: str, card: judge_cards.Card, stamp: str, language: Language
    ) -> list[tuple[str, list[Sheet]]]:
        source = (judge_cards.card_name(study, card.judge), stamp + self.names.stamp)
        start = 0
        sections = []
        for title, linked_tables in card.sections:
            tables = self.names.tables(linked_tables)
            sections.append((title, build_sheets(tables, source, self.urls, language, start=start, svg=self._draw_svg)))
            start += len(linked_tables)
        return sections


def _people_first(heading: Heading) -> tuple[bool, bool]:
    """Sort key of boards: people, then judges, then baselines."""
    return not is_person(heading.judge), is_baseline(heading.judge)


def _panel_closed_at(connection: Connection, judge: str) -> float | None:
    panel = panels_created_on_site.find_panel_by_judge(connection, judge)
    return None if panel is None else panel.closed_at


def _study_link(connection: Connection, study: str) -> str:
    """Name of the study in filters and URLs; empty for the first one."""
    return "" if study == next(iter(study_ids_by_name(connection)), "") else study
