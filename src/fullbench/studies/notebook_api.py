"""Notebook functions: answer, judge, run, report and card. The packages themselves offer more.

Data may be lists of dicts, pandas or polars frames, Hugging Face data sets, lists of core objects, or paths. A ledger
may be an open `Ledger` or a path. The default is `fullbench.ledger` in the current folder, as on the command line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar, cast, overload

from fullbench.analysis import judge_card as cards
from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import add_view_verdicts
from fullbench.core.ballot import Ballot
from fullbench.core.case import Case, Orders, SamplePairing
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.core.response import Response
from fullbench.core.table import Tables
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import DataWarning, DueWarning, InputError
from fullbench.files.existing_scores import ExistingVerdicts
from fullbench.files.notebook_data_conversion import existing_of, items_of, labels_of, responses_of
from fullbench.files.picture_access_policy import allow_picture_folders
from fullbench.ledger.ledger import Ledger
from fullbench.reports import notebook_html as _drawn  # noqa: F401 (what comes back can be drawn)
from fullbench.studies import judge_contestant_and_benchmark_specs, ledger_verdicts_with_panels
from fullbench.studies.engines import JobCounts
from fullbench.studies.leaderboards.common_scale_after_judge_replacement import with_judge_changes
from fullbench.studies.ledger_display_names_and_name_lookup import (
    find_contestants,
    find_judges,
    find_name,
    load_display_names,
    record_display_names,
    with_card_names,
    with_display_names,
)
from fullbench.studies.rubrics.rubrics_in_studies import (
    ITEMS,
    RubricWithJudge,
    declare_view,
    load_rubrics,
    rubric_source,
    rubrics_by,
)
from fullbench.studies.run import answer_items as answering
from fullbench.studies.run.base_run import StudyResult
from fullbench.studies.run.cases_per_judge_and_case_file import no_cases_message
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.studies.run.progress_display import in_notebook, watch_progress
from fullbench.studies.run.study_items_responses_and_labels import (
    StudyInputs,
    add_imported_verdicts,
    changed_label_messages,
    enter_labels,
    enter_responses,
    label_messages,
    strip_blanks_around_names,
)
from fullbench.studies.study_file import Study, own_cases
from fullbench.studies.study_file_trust import refuse_risks
from fullbench.studies.study_kinds import study_run_for

DEFAULT_LEDGER = "fullbench.ledger"
LedgerOrPath = Ledger | str | Path
Judges = str | Judge | Sequence[str | Judge]
Contestants = str | Model | Sequence[str | Model]
Ballots = str | Ballot | Sequence[str | Ballot]
Folders = str | Path | Sequence[str | Path]


@contextmanager
def _open_ledger(ledger: LedgerOrPath | None, *, study: str | None = None, read_only: bool = False) -> Iterator[Ledger]:
    if isinstance(ledger, Ledger):
        if study is not None:
            raise InputError("an open ledger has its study already: write Ledger(path, study=...), or give the path")
        yield ledger
        return
    if not isinstance(ledger, str | Path | None):
        raise InputError(f"a record or the path of a ledger is needed; found {type(ledger).__name__}")
    with Ledger(ledger or DEFAULT_LEDGER, study=study, read_only=read_only) as book:
        yield book


def _folder_paths(folders: Folders) -> list[Path]:
    return [Path(folder) for folder in _as_list(folders)]


def _warn_of_failures(job_counts: Iterable[JobCounts], what: str) -> None:
    for counts in job_counts:
        why = counts.stop_reason or ", ".join(
            f"{count:,}: {reason}" for reason, count in counts.failures.most_common(3)
        )
        if counts.failure_count or counts.stop_reason:
            failed = f"{counts.name}: {counts.failure_count:,} {what} failed ({why})"
            sentence = f"{failed}; the same call asks for what is missing."
            warnings.warn(sentence, DueWarning, stacklevel=4)  # 4: the line in the notebook
        elif counts.has_no_usable_verdict:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.faults.most_common())
            last = f"; the last: {counts.sample!r}" if counts.sample else ""
            sentence = f"{counts.name} has no usable verdict ({kinds or 'as in an earlier run'}{last})."
            warnings.warn(sentence, DueWarning, stacklevel=4)


def _as_list(entries: Any) -> list[Any]:
    return list(entries) if isinstance(entries, list | tuple) else [entries]


_Function = TypeVar("_Function", bound=Callable[..., Any])


_SIMPLE_TYPES: Mapping[str, tuple[Any, str]] = {
    "trials": (int, "a whole number"),
    "samples": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "strong": (int | float, "a number"),
    "study": (str, "the name of a study"),
    "question": (str, "a text"),
    "pictures_from": (str | Path | list | tuple, "a folder or a list of folders"),
}
"""Types of arguments that several functions take."""


def explain_arguments(function: _Function) -> _Function:
    """Refuse arguments that do not fit in one sentence, with the nearest name of an unknown one."""
    parameters = signature(function)
    names = list(parameters.parameters)

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            bound_values = parameters.bind(*arguments, **keywords).arguments
        except TypeError as error:
            unknown = next((name for name in keywords if name not in names), None)
            problem = str(error) if unknown is None else f"no argument is called {unknown!r}"
            hint = "" if unknown is None else did_you_mean(unknown, names)
            raise InputError(f"{function.__name__}(): {problem}{hint or ';'} it takes {', '.join(names)}") from None
        for name, (kind, words) in _SIMPLE_TYPES.items():
            value = bound_values.get(name)
            may_be_other = name == "study" and function.__name__ == "run"  # there it is a path or a Study
            if not may_be_other and value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                raise InputError(f"{function.__name__}(): {name} is {words}; found {value!r}")
        return function(*arguments, **keywords)

    return cast("_Function", call)


def _one_of(name: str, value: Any, other_name: str, other_value: Any, default: Any = None) -> Any:
    """Return the value of an argument that has two spellings, such as judge and judges."""
    if value is not None and other_value is not None:
        raise InputError(f"{name} and {other_name} mean the same; give one of them")
    return value if value is not None else default if other_value is None else other_value


@overload
def answer(
    first: Sequence[Model | str], items: Iterable[Item], ledger: Ledger, *, samples: int = 1, quiet: bool | None = None
) -> list[Response]: ...
@overload
def answer(
    first: Any = None, items: Any = None, ledger: LedgerOrPath | None = None, *, contestant: Contestants | None = None,
    contestants: Contestants | None = None, samples: int = 1, question: str | None = None, study: str | None = None,
    pictures_from: Folders = (), quiet: bool | None = None,
) -> list[Response]: ...  # fmt: skip
@explain_arguments
def answer(
    first: Any = None,
    items: Any = None,
    ledger: LedgerOrPath | None = None,
    *,
    contestant: Contestants | None = None,
    contestants: Contestants | None = None,
    samples: int = 1,
    question: str | None = None,
    study: str | None = None,
    pictures_from: Folders = (),
    quiet: bool | None = None,
) -> list[Response]:
    """Let contestants (models, or specs such as `openai:gpt-4o`) answer items that have no stored answer.

    `answer(items, contestant="openai:gpt-4o")`, or, with an open ledger, `answer(["openai:gpt-4o"], items, ledger)`.
    Returns all stored answers in the order of the items, including those of earlier runs. A warning counts the failed
    calls.

    Args:
        first: the items, or the contestants if `items` is given.
        items: items, rows with a question, a table, or the path of a file.
        ledger: an open ledger or its path; default: `fullbench.ledger`.
        contestant: models or their specs.
        contestants: another spelling of `contestant`.
        samples: answers of each contestant to each item.
        question: question for pictures without one.
        study: separates unrelated data in one ledger.
        pictures_from: folders outside the current one from which pictures may be read.
        quiet: shows no progress; by default it is shown in notebooks only.
    """
    named_contestants = _one_of("contestant", contestant, "contestants", contestants)
    if named_contestants is not None:
        answering_models, items = _as_list(named_contestants), items if first is None else first
    elif items is None:
        raise InputError("No contestant given. Write answer(items, contestant='openai:gpt-4o').")
    else:
        answering_models = _as_list(first)
    models = [
        judge_contestant_and_benchmark_specs.contestant_from_spec(model) if isinstance(model, str) else model
        for model in answering_models
    ]
    if odd_models := [model for model in models if not isinstance(model, Model)]:
        raise InputError(
            f"contestant must be a spec such as 'openai:gpt-4o', or an object with name, settings and answer; found "
            f"{odd_models[0]!r}"
        )
    if not models or samples < 1:
        raise InputError(f"at least one contestant and one sample are needed; found {len(models)}, samples={samples}")
    with allow_picture_folders(*_folder_paths(pictures_from)):
        loaded_items = items_of(items if isinstance(items, str | Path) else _list_if_iterator(items), question=question)
    with _open_ledger(ledger, study=study) as book:
        names = [model.name for model in models]
        with watch_progress("answers", names, len(loaded_items) * samples, quiet=_is_quiet(quiet)) as watch:
            _warn_of_failures(
                answering.collect_answers(models, loaded_items, book, samples=samples, watch=watch), "answers"
            )
        responses = book.responses(names, item_keys=[item.key for item in loaded_items])
        order = {item.id: place for place, item in enumerate(loaded_items)}
        return sorted(
            responses, key=lambda response: (order[response.item], names.index(response.contestant), response.sample)
        )


def _is_quiet(quiet: bool | None) -> bool:
    return not in_notebook() if quiet is None else quiet


def _list_if_iterator(data: Any) -> Any:
    """The data are read twice."""
    return list(data) if isinstance(data, Iterator) else data


@overload
def judge(
    items: Sequence[Judge | str], responses: Iterable[Case], ledger: Ledger, *, quiet: bool | None = None
) -> Record: ...
@overload
def judge(
    items: Any, responses: Any, ledger: LedgerOrPath | None = None, *, judge: Judges | None = None,
    judges: Judges | None = None, ballot: Ballots | None = None, ballots: Ballots | None = None, rubric: Any = None,
    criterion: str | Sequence[str] = "overall", criteria: str | Sequence[str] | None = None, orders: Orders = "both",
    trials: int = 1, seed: int = 0, sample_pairing: SamplePairing = "aligned", question: str | None = None,
    labels: Any = None, verdicts: Any = None, study: str | None = None, pictures_from: Folders = (),
    quiet: bool | None = None,
) -> Record: ...  # fmt: skip
@explain_arguments
def judge(
    items: Any,
    responses: Any,
    ledger: LedgerOrPath | None = None,
    *,
    judge: Judges | None = None,
    judges: Judges | None = None,
    ballot: Ballots | None = None,
    ballots: Ballots | None = None,
    rubric: Any = None,
    criterion: str | Sequence[str] = "overall",
    criteria: str | Sequence[str] | None = None,
    orders: Orders = "both",
    trials: int = 1,
    seed: int = 0,
    sample_pairing: SamplePairing = "aligned",
    question: str | None = None,
    labels: Any = None,
    verdicts: Any = None,
    study: str | None = None,
    pictures_from: Folders = (),
    quiet: bool | None = None,
) -> Record:
    """Let judges judge the responses that have no stored verdict.

    `judge(items, responses, judge="openai:gpt-4o", ballot="choice+tie")`, or, with your own cases and an open ledger,
    `judge(judges, cases, ledger)`. `judges`, `ballots` and `criteria` are other spellings of `judge`, `ballot` and
    `criterion`. A warning counts the failed calls.

    Args:
        items: items, rows with a question, a table, or the path of a file.
        responses: responses, rows, a table, or the path of a file.
        ledger: an open ledger or its path; default: `fullbench.ledger`.
        judge: judges or their specs.
        judges: another spelling of `judge`.
        ballot: ballots, such as `score:1-5`, `choice+tie` or `ranking`.
        ballots: another spelling of `ballot`.
        rubric: used instead of a ballot: a path, a list of criteria, or True for the items' own column. Each response
            is marked by every criterion and gets a total.
        criterion: what the responses are judged by.
        criteria: another spelling of `criterion`.
        orders: orders in which responses are shown; see `cases`.
        trials: number of times that each case is judged.
        seed: seed of shuffled orders.
        sample_pairing: which samples are shown together; see `samples` of `cases`.
        question: question for pictures without one.
        labels: people's verdicts; they are added to the ledger and to the record.
        verdicts: verdicts of judges that exist already: rows, a path or several; they are added in the same way. With
            them, no judge is needed.
        study: separates unrelated data in one ledger.
        pictures_from: folders outside the current one from which pictures may be read.
        quiet: shows no progress; by default it is shown in notebooks only.
    """
    judge = _one_of("judge", judge, "judges", judges)
    ballot = _one_of("ballot", ballot, "ballots", ballots)
    if criteria is not None:
        criterion = _one_of("criterion", None if criterion == "overall" else criterion, "criteria", criteria)
    label_verdicts: list[Verdict] = []
    imported = StudyInputs([])
    place = str(labels) if isinstance(labels, str | Path) else "labels"
    sheets: list[RubricWithJudge] = []
    loaded_responses: list[Response] = []
    loaded_items: list[Item] = []
    if judge is None and verdicts is None:
        judge, shared_cases = items, list(responses)
        if shared_cases and not isinstance(shared_cases[0], Case):
            raise InputError("No judge given. Write judge(items, responses, judge='openai:gpt-4o', ballot='choice').")
    else:
        judge = [] if judge is None else judge
        if judge and rubric is None and (ballot is None or ballot in ([], ())):
            raise InputError("No ballot given. Add ballot='score:1-5' (or 'choice+tie', 'ranking'), or a rubric.")
        if rubric is not None and ballot is not None:
            raise InputError("the criteria of a rubric have ballots of their own: leave out ballot, or judge twice")
        with allow_picture_folders(*_folder_paths(pictures_from)):
            loaded_items = items_of(_list_if_iterator(items), question=question)
            loaded_responses = responses_of(_list_if_iterator(responses), loaded_items)
        sheets = [] if rubric is None else _rubric_sheets(rubric, judge, loaded_items, ledger or DEFAULT_LEDGER)
        named_forms = [] if ballot is None else _as_list(ballot)
        forms = [form.spec if isinstance(form, Ballot) else form for form in named_forms]
        if odd := [form for form in forms if not isinstance(form, str)]:
            raise InputError(f"a ballot is a text such as 'choice+tie' or 'score:1-5'; found {odd[0]!r}")
        judge_contestant_and_benchmark_specs.refuse_duplicates("ballots", forms)
        judge_contestant_and_benchmark_specs.refuse_duplicates("criteria", _as_list(criterion))
        shared_cases = list(
            own_cases(
                loaded_items, loaded_responses, forms, criteria=_as_list(criterion), orders=orders,
                trials=trials, seed=seed, sample_pairing=sample_pairing,
            )
        )  # fmt: skip
        if not shared_cases and not sheets and judge:
            raise InputError(no_cases_message(loaded_responses))
        form = forms[0] if len(forms) == 1 else None
        imported = _imported_inputs(loaded_items, loaded_responses, verdicts, labels, form)
        label_verdicts = [label for label in imported.labels if label.judge not in imported.imported_judges]
        for sentence in imported.messages:
            warnings.warn(sentence, DataWarning, stacklevel=3)
    built_judges = [sheet.judge for sheet in sheets] or [
        judge_contestant_and_benchmark_specs.judge_from_spec(judge_or_spec)
        if isinstance(judge_or_spec, str)
        else judge_or_spec
        for judge_or_spec in _as_list(judge)
    ]
    if not (built_judges or imported.imported_judges) or not all(isinstance(entry, Judge) for entry in built_judges):
        raise InputError(
            f"judge must be a spec such as 'openai:gpt-4o', or an object with name, settings and judge; found {judge!r}"
        )
    names = [judge_or_spec.name for judge_or_spec in built_judges]
    cases_by_judge = dict.fromkeys(names, shared_cases)
    cases_by_judge |= {sheet.judge.name: list(sheet.cases(loaded_items, loaded_responses, trials)) for sheet in sheets}
    with _open_ledger(ledger, study=study) as book:
        for sheet in sheets:
            declare_view(book, sheet.rubric)
        totals = {name: len(cases) for name, cases in cases_by_judge.items()}
        with watch_progress("verdicts", names, totals, quiet=_is_quiet(quiet)) as watch:
            _warn_of_failures(
                judge_cases(built_judges, lambda judge_or_spec: cases_by_judge[judge_or_spec.name], book, watch=watch),
                "verdicts",
            )
        for sentence in changed_label_messages(place, enter_labels(label_verdicts, book)):
            warnings.warn(sentence, DataWarning, stacklevel=3)
        if imported.imported_judges:
            enter_responses(imported, book)
            by_judges = [label for label in imported.labels if label.judge in imported.imported_judges]
            for sentence in changed_label_messages("verdicts", enter_labels(by_judges, book), what="verdicts"):
                warnings.warn(sentence, DataWarning, stacklevel=3)
        keys = {case.key for cases in cases_by_judge.values() for case in cases}
        judged_record = book.record(names, cases=keys) if names else imported.record()
        judged_record = replace(judged_record, names=load_display_names(book).names)
        all_verdicts = (*judged_record.verdicts, *imported.labels) if names else judged_record.verdicts
        return replace(judged_record, verdicts=add_view_verdicts(all_verdicts, [sheet.rubric for sheet in sheets]))


def _imported_inputs(
    items: Sequence[Item], responses: Sequence[Response], verdicts: Any, labels: Any, ballot: str | None
) -> StudyInputs:
    """Return labels and verdicts that exist already, with messages on those that do not fit."""
    inputs = StudyInputs(list(items), list(responses))
    ids, contestants = {item.id for item in items}, {response.contestant for response in responses}
    if verdicts is not None:
        existing = existing_of(_list_if_iterator(verdicts), _list_if_iterator(labels), ballot)
    else:
        existing = ExistingVerdicts(labels=[] if labels is None else labels_of(_list_if_iterator(labels), ballot))
    inputs.messages = list(existing.messages)
    for what, given in (("labels", labels), ("verdicts", verdicts)):
        found = strip_blanks_around_names(getattr(existing, what), ids, contestants)
        place = str(given) if isinstance(given, str | Path) else what
        inputs.messages += label_messages(place, found, ids, responses, what=what)
        if what == "labels":
            inputs.labels = found
        else:
            add_imported_verdicts(inputs, found)
    return inputs


def _rubric_sheets(rubric: Any, judge: Judges, items: Sequence[Item], ledger: LedgerOrPath) -> list[RubricWithJudge]:
    judges = _as_list(judge)
    if not all(isinstance(judge_or_spec, str) for judge_or_spec in judges):
        raise InputError("a rubric needs a judge given as a spec, such as 'openai:gpt-4o'")
    if rubric is True:
        rubric = ITEMS
    if isinstance(rubric, str | Path):
        stem, source = Path(rubric).stem, rubric_source(Path(rubric))
    else:
        # A name belongs to one rubric per ledger. This rubric has no name, so use a digest of its criteria.
        source = {"criteria": list(rubric)}
        stem = f"criteria-{digest(source)[:6]}"
    tables = rubrics_by(judges, stem, source, ledger)
    return load_rubrics(Study("notebook", rubrics=tables), items)


@explain_arguments
def run(
    study: Study | Path | str | None = None,
    *,
    quiet: bool | None = None,
    items: Any = None,
    contestant: Contestants | None = None,
    contestants: Contestants | None = None,
    judge: Judges | None = None,
    judges: Judges | None = None,
    ballot: Ballots | None = None,
    ballots: Ballots | None = None,
    ledger: LedgerOrPath | None = None,
    samples: int = 1,
    question: str | None = None,
    labels: Any = None,
    verdicts: Any = None,
    pictures_from: Folders = (),
) -> StudyResult:
    """Run a study (an object or its file) in its ledger; the same call resumes a run that was stopped.

    Without a study, `run(items=rows, contestant=[...], judge=[...], ballot="choice+tie")` collects answers and
    verdicts.

    Args:
        study: A study or the path of its file. The arguments below, except `quiet`, are for runs without one.
        quiet: shows no progress; by default it is shown in notebooks only.
        items: items, rows with a question, a table, or the path of a file.
        contestant: models or their specs.
        contestants: another spelling of `contestant`.
        judge: judges or their specs.
        judges: another spelling of `judge`.
        ballot: ballots, such as `score:1-5`, `choice+tie` or `ranking`.
        ballots: another spelling of `ballot`.
        ledger: an open ledger or its path; default: `fullbench.ledger`.
        samples: answers of each contestant to each item.
        question: question for pictures without one.
        labels: people's verdicts; they are added to the ledger and to the record.
        verdicts: verdicts of judges that exist already, in files for a study, else as in `judge`.
        pictures_from: folders outside the current one from which pictures may be read.
    """
    contestant = _one_of("contestant", contestant, "contestants", contestants, ())
    judge = _one_of("judge", judge, "judges", judges, ())
    ballot = _one_of("ballot", ballot, "ballots", ballots, ())
    if study is None:
        if items is None:
            raise InputError("Nothing to run. Give the path of a study, or items, contestant, judge and ballot.")
        with allow_picture_folders(*_folder_paths(pictures_from)):
            loaded_items = items_of(_list_if_iterator(items), question=question)
        with _open_ledger(ledger) as book:
            responses = answer(loaded_items, contestant=contestant, ledger=book, samples=samples, quiet=quiet)
            record = _judge(
                loaded_items, responses, book, judge=judge or None, ballot=ballot or None, labels=labels,
                verdicts=verdicts, quiet=quiet,
            )  # fmt: skip
        return StudyResult(Study("notebook"), record, report(record))
    if not isinstance(study, Study | str | Path):
        raise InputError(
            f"a study is the path of its file; found {type(study).__name__}. Rows go by name: run(items=rows, "
            "contestant=[...], judge=[...], ballot='choice+tie')"
        )
    plan = study if isinstance(study, Study) else Study.read(study)
    if verdicts is not None:
        plan = replace(plan, verdicts=(*plan.verdict_files, *map(Path, _as_list(verdicts))))
    refuse_risks(plan)
    study_run = study_run_for(plan)
    with Ledger(plan.ledger, pictures=plan.pictures, study=plan.name) as study_ledger:
        return study_run.execute(study_ledger, budget=plan.budget, quiet=_is_quiet(quiet))


_judge = judge  # `run` has a parameter named judge


@explain_arguments
def report(
    verdicts: Any,
    *,
    items: Any = None,
    responses: Any = None,
    labels: Any = None,
    ballot: str | None = None,
    against: str | None = None,
    study: str | None = None,
    corrected: bool = False,
    strong: float = 1.0,
    seed: int = 0,
    quiet: bool = False,
) -> Tables:
    """Return the tables of `fullbench report`: leaderboards, agreement, consistency, unusable verdicts and cost.

    Args:
        verdicts: A record, an open ledger, or the path of a ledger. With `items`, rows or files of verdicts that exist
            already.
        items: items, rows with a question, a table, or the path of a file.
        responses: responses to these items.
        labels: people's verdicts on these responses.
        ballot: ballot of rows without one.
        against: judge that the others are compared with; default: people, if they voted.
        study: one study of the ledger.
        corrected: puts leaderboards corrected by people's votes first.
        strong: weight of the strongest preference of a graded choice (`choice:5`) in ratings.
        seed: seed of resampled intervals.
        quiet: hides warnings about the data. There is no progress to hide.
    """
    if items is not None:
        loaded_items = items_of(_list_if_iterator(items))
        inputs = _imported_inputs(
            loaded_items, responses_of(_list_if_iterator(responses), loaded_items), verdicts, labels, ballot
        )
        for sentence in () if quiet else inputs.messages:
            warnings.warn(sentence, DataWarning, stacklevel=3)
        verdicts = inputs.record()
    if isinstance(verdicts, Record):
        if study is not None:
            raise InputError("a record already belongs to one study; give the ledger to choose another")
        names = record_display_names(verdicts)
        against = against and find_name(against, verdicts.judges, names, "judge")
        tables = standard_verdict_tables.verdict_tables(
            verdicts, against=against, with_corrections=corrected, strong=strong, seed=seed
        )
        return Tables(names.attach_to(table) for table in tables)
    with _open_ledger(verdicts, read_only=True) as book:
        against = against and find_judges(book, [against])[0]
        columns = ledger_verdicts_with_panels.load_columns(book, study=study)
        facts = ledger_verdicts_with_panels.load_case_facts(book, columns, study=study) if corrected else None
        tables = standard_verdict_tables.verdict_tables(
            columns, against=against, with_corrections=corrected, strong=strong, facts=facts, seed=seed,
            texts=ledger_verdicts_with_panels.load_voted_texts(book, columns, study=study),
        )  # fmt: skip
        tables = with_judge_changes(tables, book, study)
        cascade_tables = ledger_verdicts_with_panels.cascade_tables(book, study=study)
        tables = ledger_verdicts_with_panels.add_ledger_notes(book, [*tables, *cascade_tables], columns, study=study)
        return Tables(with_display_names(book, tables))


@explain_arguments
def card(
    verdicts: Record | LedgerOrPath, judge: str, *, people: str = PEOPLE, by: Sequence[str] = (),
    own: Sequence[str] = (), epsilon: float = 0.15, seed: int = 0,
    quiet: bool = False,  # noqa: ARG001 - as in `judge`, `run` and `report`, so that one set of options fits all
) -> cards.Card:  # fmt: skip
    """Return the card of a judge: agreement with people, biases, consistency, cost.

    Args:
        verdicts: A record, an open ledger, or the path of a ledger.
        judge: name of the judge, or a unique prefix of it.
        people: name under which people's votes are stored.
        by: item tags by which agreement is split.
        own: contestants of the judge's own family, each by its name or a unique prefix.
        epsilon: how much worse than a person a judge may be and still replace people.
        seed: seed of resampled intervals.
        quiet: accepted as in the other functions. A card shows no progress and no warnings.
    """
    if isinstance(verdicts, Record):
        names = record_display_names(verdicts)
        name = find_name(judge, verdicts.judges, names, "judge")
        own = [find_name(one, verdicts.contestants, names, "contestant") for one in own]
        record = verdicts.in_canonical_order()
    else:
        with _open_ledger(verdicts, read_only=True) as book:
            (name,), own, names = find_judges(book, [judge]), find_contestants(book, own), load_display_names(book)
            record = ledger_verdicts_with_panels.load_record(book).in_canonical_order()
    return with_card_names(cards.build_card(record, name, people=people, tags=by, own_contestants=own, epsilon=epsilon,
                                            seed=seed), names)  # fmt: skip
