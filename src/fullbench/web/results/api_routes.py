"""HTTP API of results, under `/api/v1`: boards, judge cards, verdicts, cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from pydantic import Field

from fullbench.analysis.summary.study_summary import sentences_of
from fullbench.core.table import Table
from fullbench.reports.table_formats import render_table
from fullbench.web.api.schemas import RESPONSES, Limit, MediaShown, Page, Shape, show_media
from fullbench.web.api.token_authentication import Viewer
from fullbench.web.campaigns.votes import hidden_open_campaign_cases_and_results
from fullbench.web.results import hidden_cases_and_results
from fullbench.web.results.boards import board_store, judge_cards, stored_study_summary
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judge_names_by_id as all_judges
from fullbench.web.results.catalogue.catalogue_state_name_ids_and_inserts import judges_in, study_ids_by_name
from fullbench.web.results.catalogue.verdict_flag_definitions import FLAGS
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import MAX_TEXT_LENGTH, NAMES, Filter
from fullbench.web.results.page_routes import need_ledger, require_same_ledger, views_of
from fullbench.web.results.pages.judge_and_contestant_names_on_pages import Names
from fullbench.web.results.pages.marks_and_rankings_in_words import answer_name
from fullbench.web.results.site.page_urls import judge_name
from fullbench.web.route_access_connection_and_csrf_checks import Database


def _refuse_hidden_results(caller: Viewer, connection: Database) -> None:
    if hidden_open_campaign_cases_and_results.takes_part(connection, caller):
        raise HTTPException(403, hidden_cases_and_results.NO_RESULTS)


router = APIRouter(
    prefix="/api/v1",
    responses=RESPONSES,
    tags=["results"],
    dependencies=[Depends(require_same_ledger), Depends(_refuse_hidden_results)],
)
Name = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
Key = Annotated[str, Path(min_length=1, max_length=64)]
Word = Annotated[str, Query(max_length=MAX_TEXT_LENGTH)]


DISPLAY_NAMES: Any = Field(
    default_factory=dict, description="Display names of judges and contestants by full name, where they differ."
)


class BoardListed(Shape):
    """A leaderboard, by study, judge and criterion."""

    name: str
    study: str
    judge: str
    display_name: str = Field(description="Display name of the judge.")
    criterion: str
    verdicts: int


class TableShown(Shape):
    """A table; an estimate is an object with `value`, `low`, `high` and `n`.

    `links` has for each cell the filter of `GET /verdicts` that finds the verdicts behind it, or null.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str]
    links: Sequence[Sequence[Mapping[str, str] | None]]
    names: Mapping[str, str] = DISPLAY_NAMES


class SummaryShown(Shape):
    """Leaders, trust in judges, and limits: the beginning of every report."""

    study: str
    sentences: Sequence[str]
    tables: Sequence[TableShown]


class BoardShown(BoardListed):
    tables: Sequence[TableShown]


class JudgeListed(Shape):
    name: str
    judge: str
    display_name: str = Field(description="Display name of the judge.")


class CardShown(JudgeListed):
    """Agreement, biases and cost of a judge in a study."""

    study: str

    lead: str
    sampled: int = Field(description="How many verdicts were looked at where not all were; 0: all.")
    sections: Mapping[str, Sequence[TableShown]]


class MarkShown(Shape):
    contestant: str
    sample: int = Field(description="Which of its answers: 0 for the first.")
    mark: float | None


class VerdictShown(Shape):
    """One verdict. `hidden` is always false: what you must not see is not among the rows."""

    id: int
    study: str
    case: str
    judge: str
    rater: str = Field(description="Who of the people that are one judge; a random id, empty for others.")
    revision: int = Field(description="How often this vote was changed, or this reply read again.")
    item: str
    ballot: str
    criterion: str
    trial: int
    fault: str | None
    shown: Sequence[MarkShown]
    split: bool
    swapped: bool
    met: bool
    opposed: bool
    hidden: bool = False


class VerdictPage(Page[VerdictShown]):
    """Some verdicts, the newest first; `count` of all that are found, at least so many where not `exact`.

    `withheld` verdicts of the whole ledger are kept back: people judge their cases in an open study, or their test set
    is not published.
    """

    count: int
    exact: bool
    withheld: int
    names: Mapping[str, str] = DISPLAY_NAMES


class CaseVerdictShown(Shape):
    case: str
    judge: str
    rater: str
    revision: int
    trial: int
    shown: Sequence[MarkShown]
    marks: Mapping[str, float]
    fault: str | None
    text: str


class CaseShown(Shape):
    """Question and responses of a case, and every verdict on the same responses in any order."""

    key: str
    study: str
    item: str
    question: str | None
    reference: str | None
    pictures: Sequence[str]
    media: Sequence[MediaShown] = Field(description="All files of the question, in their order.")
    tags: Mapping[str, str]
    ballot: str
    criterion: str
    contestants: Sequence[str]
    samples: Sequence[int] = Field(description="Which answer of each contestant is shown.")
    answers: Mapping[str, str]
    answer_media: Mapping[str, Sequence[MediaShown]] = Field(description="Files of the answers that have any.")
    hidden: bool = False
    verdicts: Sequence[CaseVerdictShown]
    names: Mapping[str, str] = DISPLAY_NAMES


@router.get("/summary")
def summary(request: Request, _caller: Viewer, connection: Database, study: Word = "") -> SummaryShown:
    """The summary of a study, or of the first one."""
    study_name = study or next(iter(study_ids_by_name(connection)), "")
    tables = stored_study_summary.find_summary(connection, study_name)
    if not tables:
        raise HTTPException(404, "there is no such study, or its summary is not computed yet")
    names = views_of(request).names
    sentences = [str(names.with_shown_names(sentence)) for sentence in sentences_of(tables)]
    return SummaryShown(
        study=study_name,
        sentences=sentences,
        tables=[_table_to_schema(LinkedTable(table), names) for table in tables],
    )


@router.get("/boards")
def list_boards(request: Request, _caller: Viewer, connection: Database, study: Word = "") -> Page[BoardListed]:
    """All leaderboards, of one study or of every one."""
    shown_name = views_of(request).names.shown_name
    names = set(BoardListed.model_fields) - {"display_name"}
    rows = [
        BoardListed(**{name: getattr(heading, name) for name in names}, display_name=shown_name(heading.judge))
        for heading in board_store.board_headings(connection, study)
    ]
    return Page(rows=rows)


@router.get("/boards/{name}")
def board(request: Request, _caller: Viewer, connection: Database, name: Name) -> BoardShown:
    """A leaderboard with all its tables."""
    stored_board = board_store.find_board(connection, name)
    if stored_board is None:
        raise HTTPException(404, "there is no such board, or not yet")
    names = views_of(request).names
    tables = [_table_to_schema(linked_table, names) for linked_table in stored_board.tables]
    about = {name: getattr(stored_board, name) for name in ("study", "judge", "criterion", "verdicts")}
    return BoardShown(name=name, **about, display_name=names.shown_name(stored_board.judge), tables=tables)


@router.get("/judges")
def list_judges(request: Request, _caller: Viewer, connection: Database, study: Word = "") -> Page[JudgeListed]:
    """All judges, people among them, of one study or of every one."""
    study_ids = study_ids_by_name(connection)
    judges_by_id = judges_in(connection, study_ids.get(study, 0)) if study else all_judges(connection)
    shown_name = views_of(request).names.shown_name
    rows = [
        JudgeListed(name=judge_name(judge), judge=judge, display_name=shown_name(judge))
        for judge in sorted(judges_by_id.values())
    ]
    return Page(rows=rows)


@router.get("/judges/{name}")
def card(request: Request, _caller: Viewer, connection: Database, name: Name, study: Word = "") -> CardShown:
    """A judge's card, in a study or in the first one."""
    judge = next((candidate for candidate in all_judges(connection).values() if judge_name(candidate) == name), None)
    study_name = study or next(iter(study_ids_by_name(connection)), "")
    stamped_card = None if judge is None else judge_cards.find_card(connection, study_name, judge)
    if stamped_card is None:
        raise HTTPException(404, "there is no such card, or not yet")
    names = views_of(request).names
    sections = {
        title: [_table_to_schema(linked_table, names) for linked_table in linked_tables]
        for title, linked_tables in stamped_card[0].sections
    }
    about = {name: getattr(stamped_card[0], name) for name in ("judge", "lead", "sampled")}
    display_name = names.shown_name(about["judge"])
    return CardShown(name=name, display_name=display_name, study=study_name, **about, sections=sections)


def _table_to_schema(linked_table: LinkedTable, names: Names) -> TableShown:
    table: Table = names.attach_to(linked_table.table)
    value = orjson.loads(render_table(table, "json"))
    links = [[None if link is None else link.pairs() for link in row] for row in linked_table.links]
    table_fields = {name: value[name] for name in ("name", "title", "columns", "rows", "notes")}
    return TableShown(**table_fields, links=links, names=table.names)


_PARAMETER_TYPES: Mapping[str, Any] = {
    "fault": Annotated[Literal["", "none", "any", "refused", "unreadable", "abstained"], Query()],
    "shown": Annotated[Literal["", "one", "several", "choice", "ranking"], Query()],
    **dict.fromkeys(FLAGS, bool),
}
"""Types of parameters that are not plain texts."""


class _FilterQuery:
    __signature__ = Signature(
        [
            Parameter(
                name, Parameter.KEYWORD_ONLY, default=getattr(Filter, name), annotation=_PARAMETER_TYPES.get(name, Word)
            )
            for name in NAMES
        ]
    )

    def __call__(self, **filter_values: Any) -> Filter:
        return Filter(**filter_values)


@router.get("/verdicts")
def list_verdicts(
    request: Request,
    caller: Viewer,
    connection: Database,
    verdict_filter: Annotated[Filter, Depends(_FilterQuery())],
    *,
    before: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    limit: Limit = 50,
) -> VerdictPage:
    """Verdicts that match all filters, newest first."""
    names = views_of(request).names
    judges = all_judges(connection).values()
    verdict_filter = replace(
        verdict_filter,
        judge=names.full_name(verdict_filter.judge, judges),
        beside=names.full_name(verdict_filter.beside, judges),
        contestant=names.full_name(verdict_filter.contestant),
        other=names.full_name(verdict_filter.other),
    )
    withheld_items = hidden_cases_and_results.withheld_items(connection, caller)
    page = verdict_list.find_verdicts(
        connection, verdict_filter, before=before, size=limit, withheld_items=withheld_items
    )
    if withheld_items is None:
        count = views_of(request).count(connection, verdict_filter)
    else:
        count = verdict_list.count_verdicts(connection, verdict_filter, withheld_items)
    next_cursor = None if page.older is None else str(page.older)
    rows = [_line_to_schema(line) for line in page.lines]
    withheld_count = hidden_cases_and_results.count_item_verdicts(connection, withheld_items)
    row_names = {row.judge for row in rows} | {mark.contestant for row in rows for mark in row.shown}
    return VerdictPage(
        rows=rows, next=next_cursor, count=count.n, exact=count.exact, withheld=withheld_count,
        names=names.differing(row_names),
    )  # fmt: skip


def _line_to_schema(line: verdict_list.VerdictLine) -> VerdictShown:
    marks = [
        MarkShown(contestant=answer.contestant, sample=answer.sample, mark=answer.mark) for answer in line.responses
    ]
    names = set(VerdictShown.model_fields) - {"shown", "hidden"}
    return VerdictShown(**{name: getattr(line, name) for name in names}, shown=marks)


@router.get("/cases/{case_key}")
def case(request: Request, caller: Viewer, connection: Database, case_key: Key, study: Word = "") -> CaseShown:
    """One case with all verdicts."""
    values = views_of(request).case(connection, need_ledger(request), case_key, study)
    if values is None:
        raise HTTPException(404, "there is no such case")
    case_details = values["details"]
    item = None if case_details.case is None else case_details.case.item
    if hidden_cases_and_results.hidden_case_keys(
        connection, caller, [order_key for order_key, _ in case_details.orders]
    ):
        raise HTTPException(403, hidden_cases_and_results.WITHHELD)
    all_details = [
        details for group in (*case_details.judges.values(), *case_details.people.values()) for details in group
    ]
    responses = () if case_details.case is None else case_details.case.responses
    return CaseShown(
        key=case_key,
        study=case_details.study,
        item=case_details.item,
        question=None if item is None else item.question,
        reference=None if item is None else item.reference,
        pictures=[] if item is None else [picture.digest for picture in item.pictures],
        media=[] if item is None else [show_media(media) for media in item.media],
        tags={} if item is None else item.tags,
        ballot=case_details.ballot,
        criterion=case_details.criterion,
        contestants=case_details.contestants,
        samples=[] if case_details.case is None else case_details.case.samples or [0] * len(case_details.contestants),
        answers={answer_name(response.contestant, response.sample): response.text for response in responses},
        answer_media={
            answer_name(response.contestant, response.sample): [show_media(media) for media in response.media]
            for response in responses
            if response.media
        },
        verdicts=[_verdict_to_schema(details) for details in all_details],
        names=views_of(request).names.differing(
            [*case_details.contestants, *(details.verdict.judge for details in all_details)]
        ),
    )


def _verdict_to_schema(details: Any) -> CaseVerdictShown:
    verdict = details.verdict
    marks = verdict.marks or [None] * len(verdict.contestants)
    shown_marks = [
        MarkShown(contestant=name, sample=sample, mark=mark)
        for (name, sample), mark in zip(verdict.shown_responses, marks, strict=True)
    ]
    about = {name: getattr(verdict, name) for name in ("case", "judge", "rater", "revision", "trial", "fault", "text")}
    return CaseVerdictShown(**about, shown=shown_marks, marks=details.marks)
