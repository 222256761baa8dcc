"""The API of results, under `/api/v1`: boards, judge cards, verdicts, cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from pydantic import Field

from fullbench.core.case import Case
from fullbench.core.table import Table
from fullbench.reports.table_formats import render
from fullbench.web.api.schemas import RESPONSES, Limit, Page, Shape
from fullbench.web.api.token_authentication import Viewer
from fullbench.web.campaigns.votes import hidden_results
from fullbench.web.page_access import Database
from fullbench.web.results import hidden_cases
from fullbench.web.results.boards import board_store, judge_cards
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.catalogue.row_helpers import judges as all_judges
from fullbench.web.results.catalogue.row_helpers import judges_in, studies
from fullbench.web.results.catalogue.verdict_flags import FLAGS
from fullbench.web.results.lists import verdict_list
from fullbench.web.results.lists.verdict_filters import LONGEST, NAMES, Filter
from fullbench.web.results.page_routes import need_ledger, same_ledger, views_of
from fullbench.web.results.pages.verdict_text import answer_name
from fullbench.web.results.site.page_urls import judge_name


def _shows_results(caller: Viewer, connection: Database) -> None:
    if hidden_results.takes_part(connection, caller):
        raise HTTPException(403, hidden_cases.NO_RESULTS)


router = APIRouter(
    prefix="/api/v1",
    responses=RESPONSES,
    tags=["results"],
    dependencies=[Depends(same_ledger), Depends(_shows_results)],
)
Name = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
Key = Annotated[str, Path(min_length=1, max_length=64)]
Word = Annotated[str, Query(max_length=LONGEST)]


class BoardListed(Shape):
    """A leaderboard, by study, judge and criterion."""

    name: str
    study: str
    judge: str
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


class BoardShown(BoardListed):
    tables: Sequence[TableShown]


class JudgeListed(Shape):
    name: str
    judge: str


class CardShown(JudgeListed):
    """What is known about a judge in a study."""

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


class RulingShown(Shape):
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
    """What was asked and answered in a case, and every ruling on the same responses, whatever the order."""

    key: str
    study: str
    item: str
    question: str | None
    reference: str | None
    pictures: Sequence[str]
    tags: Mapping[str, str]
    ballot: str
    criterion: str
    contestants: Sequence[str]
    samples: Sequence[int] = Field(description="Which answer of each contestant is shown.")
    answers: Mapping[str, str]
    hidden: bool = False
    rulings: Sequence[RulingShown]


@router.get("/boards")
def list_boards(_caller: Viewer, connection: Database, study: Word = "") -> Page[BoardListed]:
    """All leaderboards, of one study or of every one."""
    rows = [BoardListed.model_validate(heading) for heading in board_store.headings(connection, study)]
    return Page(rows=rows)


@router.get("/boards/{name}")
def board(_caller: Viewer, connection: Database, name: Name) -> BoardShown:
    """A leaderboard with all its tables."""
    computed = board_store.find(connection, name)
    if computed is None:
        raise HTTPException(404, "there is no such board, or not yet")
    shown = [_table(linked) for linked in computed.tables]
    about = {name: getattr(computed, name) for name in ("study", "judge", "criterion", "verdicts")}
    return BoardShown(name=name, **about, tables=shown)


@router.get("/judges")
def list_judges(_caller: Viewer, connection: Database, study: Word = "") -> Page[JudgeListed]:
    """All judges, people among them, of one study or of every one."""
    there = studies(connection)
    known = judges_in(connection, there.get(study, 0)) if study else all_judges(connection)
    names = sorted(known.values())
    return Page(rows=[JudgeListed(name=judge_name(judge), judge=judge) for judge in names])


@router.get("/judges/{name}")
def card(_caller: Viewer, connection: Database, name: Name, study: Word = "") -> CardShown:
    """A judge's card, in a study or in the first one."""
    judge = next((candidate for candidate in all_judges(connection).values() if judge_name(candidate) == name), None)
    where = study or next(iter(studies(connection)), "")
    stamped = None if judge is None else judge_cards.find(connection, where, judge)
    if stamped is None:
        raise HTTPException(404, "there is no such card, or not yet")
    sections = {title: [_table(linked) for linked in some] for title, some in stamped[0].sections}
    about = {name: getattr(stamped[0], name) for name in ("judge", "lead", "sampled")}
    return CardShown(name=name, study=where, **about, sections=sections)


def _table(linked: Linked) -> TableShown:
    table: Table = linked.table
    value = orjson.loads(render(table, "json"))
    links = [[None if link is None else link.pairs() for link in row] for row in linked.links]
    copied = {name: value[name] for name in ("name", "title", "columns", "rows", "notes")}
    return TableShown(**copied, links=links)


_WORDS: Mapping[str, Any] = {
    "fault": Annotated[Literal["", "none", "any", "refused", "unreadable", "recused"], Query()],
    "shown": Annotated[Literal["", "one", "several", "choice", "ranking"], Query()],
    **dict.fromkeys(FLAGS, bool),
}
"""What a parameter takes where it is not any word."""


class _Wanted:
    """The filter that a call asks for: each of its names is a parameter."""

    __signature__ = Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=getattr(Filter, name), annotation=_WORDS.get(name, Word))
            for name in NAMES
        ]
    )

    def __call__(self, **asked: Any) -> Filter:
        return Filter(**asked)


@router.get("/verdicts")
def list_verdicts(
    request: Request,
    caller: Viewer,
    connection: Database,
    wanted: Annotated[Filter, Depends(_Wanted())],
    *,
    before: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    limit: Limit = 50,
) -> VerdictPage:
    """Verdicts that have all of what is asked for, the newest first."""
    kept_back = hidden_cases.withheld(connection, caller)
    page = verdict_list.page(connection, wanted, before=before, size=limit, withheld=kept_back)
    if kept_back is None:
        count = views_of(request).count(connection, wanted)
    else:
        count = verdict_list.count(connection, wanted, kept_back)
    following = None if page.older is None else str(page.older)
    rows = [_line(line) for line in page.lines]
    withheld = hidden_cases.count(connection, kept_back)
    return VerdictPage(rows=rows, next=following, count=count.n, exact=count.exact, withheld=withheld)


def _line(line: verdict_list.Line) -> VerdictShown:
    shown = [MarkShown(contestant=answer.contestant, sample=answer.sample, mark=answer.mark) for answer in line.shown]
    names = set(VerdictShown.model_fields) - {"shown", "hidden"}
    return VerdictShown(**{name: getattr(line, name) for name in names}, shown=shown)


@router.get("/cases/{case_key}")
def case(request: Request, caller: Viewer, connection: Database, case_key: Key, study: Word = "") -> CaseShown:
    """One case with everybody's rulings."""
    values = views_of(request).case(connection, need_ledger(request), case_key, study)
    if values is None:
        raise HTTPException(404, "there is no such case")
    hearing = values["hearing"]
    item = None if hearing.case is None else hearing.case.item
    if hidden_cases.hidden(connection, caller, [order_key for order_key, _ in hearing.orders]):
        raise HTTPException(403, hidden_cases.WITHHELD)
    rulings = [ruling for some in (*hearing.judges.values(), *hearing.people.values()) for ruling in some]
    return CaseShown(
        key=case_key,
        study=hearing.study,
        item=hearing.item,
        question=None if item is None else item.question,
        reference=None if item is None else item.reference,
        pictures=[] if item is None else [picture.digest for picture in item.pictures],
        tags={} if item is None else item.tags,
        ballot=hearing.ballot,
        criterion=hearing.criterion,
        contestants=hearing.contestants,
        samples=[] if hearing.case is None else hearing.case.samples or [0] * len(hearing.contestants),
        answers={} if hearing.case is None else _answers(hearing.case),
        rulings=[_ruling(ruling) for ruling in rulings],
    )


def _answers(case: Case) -> dict[str, str]:
    return {answer_name(response.contestant, response.sample): response.text for response in case.responses}


def _ruling(ruling: Any) -> RulingShown:
    verdict = ruling.verdict
    marks = verdict.marks or [None] * len(verdict.contestants)
    shown = [
        MarkShown(contestant=name, sample=sample, mark=mark)
        for (name, sample), mark in zip(verdict.shown, marks, strict=True)
    ]
    about = {name: getattr(verdict, name) for name in ("case", "judge", "rater", "revision", "trial", "fault", "text")}
    return RulingShown(**about, shown=shown, marks=ruling.marks)
