"""The verbs of a notebook: answer, judge, run, report, card. What is heavier stands in the rooms themselves.

Data are what a notebook holds: lists of dicts, frames of pandas or polars, data sets of Hugging Face, lists of nouns,
or paths. A ledger may be one that is open, a path, or left out: then it is `fullbench.ledger` here, as at the command
line.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from fullbench.analysis import all_tables
from fullbench.analysis import judge_card as cards
from fullbench.analysis.views.panel_verdicts import with_views
from fullbench.core.ballot import Ballot
from fullbench.core.case import Case, Meetings, Orders
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.rubric import OWN
from fullbench.core.table import Tables
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import DataWarning, DueWarning, InputError
from fullbench.files.dataframes import items_of, labels_of, responses_of
from fullbench.files.picture_access_policy import allowing
from fullbench.ledger.ledger import Ledger
from fullbench.reports import notebook_html as _drawn  # noqa: F401 (what comes back can be drawn)
from fullbench.studies import judge_and_model_specs, ledger_columns
from fullbench.studies.engines import Tally
from fullbench.studies.leaderboards.judge_replacement import with_seams
from fullbench.studies.rubrics.rubrics_in_studies import Filled, filled, rubrics_by, usual_calls
from fullbench.studies.run import answer_items as answering
from fullbench.studies.run import judge_cases as hearing
from fullbench.studies.run.cases_per_judge import nothing_to_hear
from fullbench.studies.run.progress_display import in_notebook, watching
from fullbench.studies.run.study_inputs import about_labels, enter_labels, of_changed_labels
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study, own_cases
from fullbench.studies.study_file_trust import refuse_risks
from fullbench.studies.study_kinds import conductor

DEFAULT_LEDGER = "fullbench.ledger"
Book = Ledger | str | Path
Judges = str | Judge | Sequence[str | Judge]
Contestants = str | Model | Sequence[str | Model]
Folders = str | Path | Sequence[str | Path]


@contextmanager
def _open(ledger: Book | None, *, study: str | None = None, read_only: bool = False) -> Iterator[Ledger]:
    """An open ledger as it is; one of a path for as long as it is needed."""
    if isinstance(ledger, Ledger):
        if study is not None:
            raise InputError("an open ledger has its study already: write Ledger(path, study=...), or give the path")
        yield ledger
        return
    if not isinstance(ledger, str | Path | None):
        raise InputError(f"a record, or the path of a ledger, is wanted here; found {type(ledger).__name__}")
    with Ledger(ledger or DEFAULT_LEDGER, study=study, read_only=read_only) as book:
        yield book


def _folders(named: Folders) -> list[Path]:
    return [Path(folder) for folder in _several(named)]


def _told(tallies: Iterable[Tally], what: str) -> None:
    """A warning for whoever did not get all that was asked for."""
    for tally in tallies:
        why = tally.stopped or ", ".join(f"{count:,}: {reason}" for reason, count in tally.failures.most_common(3))
        if tally.failed or tally.stopped:
            sentence = f"{tally.name}: {tally.failed:,} {what} failed ({why}); the same call asks for what is missing."
            warnings.warn(sentence, DueWarning, stacklevel=3)


def _several(named: Any) -> list[Any]:
    return list(named) if isinstance(named, list | tuple) else [named]


@overload
def answer(
    contestants: Sequence[Model | str], items: Iterable[Item], ledger: Ledger, *, samples: int = 1
) -> list[Response]: ...
@overload
def answer(
    contestants: Any, *, contestant: Contestants, ledger: Book | None = None, samples: int = 1,
    question: str | None = None, study: str | None = None, pictures_from: Folders = (),
) -> list[Response]: ...  # fmt: skip
def answer(
    contestants: Any,
    items: Any = None,
    ledger: Book | None = None,
    *,
    contestant: Contestants | None = None,
    samples: int = 1,
    question: str | None = None,
    study: str | None = None,
    pictures_from: Folders = (),
) -> list[Response]:
    """Let contestants (models, or specs such as `openai:gpt-4o`) answer items; what the ledger holds is not asked.

    `answer(items, contestant="openai:gpt-4o")`, or, with an open ledger, `answer(["openai:gpt-4o"], items, ledger)`.
    What is given back is every answer at hand, those of earlier runs among them, in the order of the items. A warning
    counts the calls that failed.
    """
    if contestant is not None:
        contestants, items = _several(contestant), contestants
    elif items is None:
        raise InputError("who answers? Write answer(items, contestant='openai:gpt-4o')")
    models = [judge_and_model_specs.contestant(model) if isinstance(model, str) else model for model in contestants]
    if not models or samples < 1:
        raise InputError(
            f"contestants answer: one or more, and once or more often; found {len(models)}, samples={samples}"
        )
    with allowing(*_folders(pictures_from)):
        asked = items_of(items if isinstance(items, str | Path) else _held(items), question=question)
    with _open(ledger, study=study) as book:
        names = [model.name for model in models]
        with watching("answers", names, len(asked) * samples, quiet=not in_notebook()) as watch:
            _told(answering.answer(models, asked, book, samples=samples, watch=watch), "answers")
        said = book.responses(names, item_keys=[item.key for item in asked])
        order = {item.id: place for place, item in enumerate(asked)}
        return sorted(said, key=lambda one: (order[one.item], names.index(one.contestant), one.sample))


def _held(data: Any) -> Any:
    """Data that can be looked at twice: an iterator is made a list."""
    return list(data) if isinstance(data, Iterator) else data


@overload
def judge(items: Sequence[Judge | str], responses: Iterable[Case], ledger: Ledger) -> Record: ...
@overload
def judge(
    items: Any, responses: Any, ledger: Book | None = None, *, judge: Judges,
    ballot: str | Ballot | Sequence[str] | None = None, rubric: Any = None,
    criterion: str | Sequence[str] = "overall", orders: Orders = "both", trials: int = 1, seed: int = 0,
    meetings: Meetings = "aligned", question: str | None = None, labels: Any = None, study: str | None = None,
    pictures_from: Folders = (),
) -> Record: ...  # fmt: skip
def judge(
    items: Any,
    responses: Any,
    ledger: Book | None = None,
    *,
    judge: Judges | None = None,
    ballot: str | Ballot | Sequence[str] | None = None,
    rubric: Any = None,
    criterion: str | Sequence[str] = "overall",
    orders: Orders = "both",
    trials: int = 1,
    seed: int = 0,
    meetings: Meetings = "aligned",
    question: str | None = None,
    labels: Any = None,
    study: str | None = None,
    pictures_from: Folders = (),
) -> Record:
    """Let judges rule on responses; what the ledger holds is not asked again.

    `judge(items, responses, judge="openai:gpt-4o", ballot="choice+tie")`, where items and responses are lists of dicts,
    frames, data sets or paths; so are people's `labels`, which enter the ledger and the record beside the verdicts.
    In place of a ballot, `rubric` (the path of its file, a list of criteria, or True for the items' own column) has
    each response marked by several criteria, and its total beside them.
    `study` keeps unrelated data apart in one ledger; pictures outside of this folder are read from `pictures_from`. A
    warning counts the calls that failed. Or, with cases of one's own making and an open ledger,
    `judge(judges, cases, ledger)`.
    """
    voted: list[Verdict] = []
    place = str(labels) if isinstance(labels, str | Path) else "labels"
    sheets: list[Filled] = []
    given: list[Response] = []
    asked: list[Item] = []
    if judge is None:
        judge, docket = items, list(responses)
        if docket and not isinstance(docket[0], Case):
            raise InputError("who judges? Write judge(items, responses, judge='openai:gpt-4o', ballot='choice+tie')")
    else:
        if rubric is None and (ballot is None or ballot in ([], ())):
            raise InputError("on what ballot? Say ballot='choice+tie', 'score:1-5' or 'ranking', or give a rubric")
        if rubric is not None and ballot is not None:
            raise InputError("the criteria of a rubric have ballots of their own: leave out ballot, or judge twice")
        with allowing(*_folders(pictures_from)):
            asked = items_of(_held(items), question=question)
            given = responses_of(_held(responses), asked)
        sheets = [] if rubric is None else _sheets(rubric, judge, asked)
        named_forms = [] if ballot is None else _several(ballot)
        forms = [form.spec if isinstance(form, Ballot) else form for form in named_forms]
        if odd := [form for form in forms if not isinstance(form, str)]:
            raise InputError(f"a ballot is named in words, as 'choice+tie' or 'score:1-5'; found {odd[0]!r}")
        judge_and_model_specs.distinct("ballots", forms)
        judge_and_model_specs.distinct("criteria", _several(criterion))
        docket = list(
            own_cases(
                asked, given, forms, criteria=_several(criterion), orders=orders,
                trials=trials, seed=seed, meetings=meetings,
            )
        )  # fmt: skip
        if not docket and not sheets:
            raise InputError(nothing_to_hear(given))
        if labels is not None:
            voted = labels_of(_held(labels), forms[0] if len(forms) == 1 else None)
            for sentence in about_labels(place, voted, {item.id for item in asked}, given):
                warnings.warn(sentence, DataWarning, stacklevel=2)
    bench = [sheet.judge for sheet in sheets] or [
        judge_and_model_specs.judge(named) if isinstance(named, str) else named for named in _several(judge)
    ]
    if not bench or not all(isinstance(named, Judge) for named in bench):
        raise InputError(
            f"who judges? A judge is a spec such as 'openai:gpt-4o', or has name, settings and hear; found {judge!r}"
        )
    names = [named.name for named in bench]
    dockets = dict.fromkeys(names, docket)
    dockets |= {sheet.judge.name: list(sheet.cases(asked, given, trials)) for sheet in sheets}
    with _open(ledger, study=study) as book:
        for sheet in sheets:
            book.declare("judge", sheet.rubric.name, sheet.rubric.settings)
        totals = {name: len(cases) for name, cases in dockets.items()}
        with watching("verdicts", names, totals, quiet=not in_notebook()) as watch:
            _told(hearing.hear(bench, lambda named: dockets[named.name], book, watch=watch), "verdicts")
        for sentence in of_changed_labels(place, enter_labels(voted, book)):
            warnings.warn(sentence, DataWarning, stacklevel=2)
        ruled = book.record(names, cases={case.key for cases in dockets.values() for case in cases})
        verdicts = with_views((*ruled.verdicts, *voted), [sheet.rubric for sheet in sheets])
        return replace(ruled, verdicts=verdicts) if voted or sheets else ruled


def _sheets(rubric: Any, judge: Judges, items: Sequence[Item]) -> list[Filled]:
    """A rubric with each judge that fills it in: in one call where it is asked in words, else in one each."""
    judges = _several(judge)
    if not all(isinstance(named, str) for named in judges):
        raise InputError("a rubric is filled in by judges that are named by a spec, such as 'openai:gpt-4o'")
    if isinstance(rubric, str | Path):
        tables = rubrics_by(judges, Path(rubric))
    else:
        own: dict[str, Any] = {} if rubric is True else {"criteria": list(rubric)}
        # A name stands for one rubric in a ledger, and nobody named this one.
        stem = f"criteria-{digest(own or [item.tags.get(OWN, '') for item in items])[:6]}"
        names = {spec: stem if len(judges) == 1 else f"{stem} by {spec}" for spec in judges}
        tables = {name: {"judge": spec, "calls": usual_calls(spec), **own} for spec, name in names.items()}
    return filled(Study("notebook", rubrics=tables), items)


def run(
    study: Study | Path | str | None = None,
    *,
    quiet: bool | None = None,
    items: Any = None,
    contestant: Contestants = (),
    judge: Judges = (),
    ballot: str | Ballot | Sequence[str] = (),
    ledger: Book | None = None,
    samples: int = 1,
    question: str | None = None,
    labels: Any = None,
    pictures_from: Folders = (),
) -> Conducted:
    """Conduct a study, or the study in a file, in the ledger that it names; the same call goes on where one stopped.

    In a notebook it shows how far it is, elsewhere with `quiet=False`.
    Without a study: `run(items=rows, contestant=[...], judge=[...], ballot="choice+tie")` lets contestants answer and
    judges rule.
    """
    if study is None:
        if items is None:
            raise InputError("what is run? Give the path of a study, or items, contestant, judge and ballot")
        with allowing(*_folders(pictures_from)):
            asked = items_of(_held(items), question=question)
        with _open(ledger) as book:
            said = answer(asked, contestant=contestant, ledger=book, samples=samples)
            record = _judge(asked, said, book, judge=judge, ballot=ballot, labels=labels)
        return Conducted(Study("notebook"), record, report(record))
    if not isinstance(study, Study | str | Path):
        raise InputError(
            f"a study is the path of its file; found {type(study).__name__}. Rows go by name: run(items=rows, "
            "contestant=[...], judge=[...], ballot='choice+tie')"
        )
    plan = study if isinstance(study, Study) else Study.read(study)
    refuse_risks(plan)
    conducting = conductor(plan)
    with Ledger(plan.ledger, pictures=plan.pictures, study=plan.name) as opened:
        return conducting.conduct(opened, budget=plan.budget, quiet=not in_notebook() if quiet is None else quiet)


_judge = judge  # `run` has an argument of that name


def report(
    verdicts: Record | Book,
    *,
    against: str | None = None,
    study: str | None = None,
    corrected: bool = False,
    seed: int = 0,
) -> Tables:
    """The tables that `fullbench report` prints: leaderboards, agreement, steadiness, faults and cost.

    Of a ledger, `study` shows one study alone; `corrected` puts leaderboards corrected by people's votes first.
    """
    if isinstance(verdicts, Record):
        if study is not None:
            raise InputError("a record is of one study already; give the ledger to choose one")
        return Tables(all_tables.tables(verdicts, against=against, corrected=corrected, seed=seed))
    with _open(verdicts, read_only=True) as book:
        columns = ledger_columns.columns(book, study=study)
        shown = all_tables.tables(columns, against=against, corrected=corrected, seed=seed)
        shown = with_seams(shown, book, study)
        who = ledger_columns.settled_by(book, study=study)
        return Tables(ledger_columns.noted(book, [*shown, *who], columns, study=study))


def card(verdicts: Record | Book, judge: str, *, people: str = PEOPLE, seed: int = 0) -> cards.Card:
    """The card of one judge, by its name or its beginning: agreement with people, biases, steadiness, faults, cost."""
    if isinstance(verdicts, Record):
        return cards.card(verdicts.ordered(), judge, people=people, seed=seed)
    with _open(verdicts, read_only=True) as book:
        (name,) = ledger_columns.judges_named(book, [judge])
        return cards.card(ledger_columns.record(book).ordered(), name, people=people, seed=seed)
