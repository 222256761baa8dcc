"""Study kind `judging`, the default: collect answers, collect verdicts, build the tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fullbench.analysis.boards.user_facts_about_contestants import add_contestant_facts
from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import add_view_verdicts
from fullbench.core.ballot import ballot
from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import check_answers_by_turn, names_turns
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.panel_and_cascade import View, is_view
from fullbench.core.response import Response
from fullbench.core.rubric import is_check, is_review
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE, PILOT, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError, ModelError, UserError
from fullbench.files.existing_scores import ExistingVerdicts
from fullbench.ledger.ledger import Ledger
from fullbench.plugin_specs import Spec, judge_names
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts, Stop
from fullbench.studies.rubrics.rubrics_in_studies import RubricWithJudge, declare_view, load_rubrics
from fullbench.studies.run import call_and_cost_plan, panels_and_cascades
from fullbench.studies.run.base_run import BaseRun, StudyResult, add_source
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.call_cost_and_time_forecast import TOKENS_OUT
from fullbench.studies.run.cases_per_judge_and_case_file import (
    ResponseSet,
    cases_for,
    count_cases_per_judge,
    no_answers_message,
    no_cases_message,
    read_response_sets,
    refuse_excessive_trials,
    select_cases,
)
from fullbench.studies.run.contestant_facts_reader import read_contestant_facts
from fullbench.studies.run.missing_pictures import moving_picture_messages, note_missing_pictures
from fullbench.studies.run.paper_protocol import (
    follows_paper,
    orders_of_study,
    protocol_messages,
    refuse_differences,
)
from fullbench.studies.run.refusal_filter_and_benchmark_case_overrides import apply_case_overrides, exclude_answers
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.run.study_items_responses_and_labels import (
    StudyInputs,
    changed_label_messages,
    enter_labels,
    enter_responses,
    load_study_inputs,
    read_study_verdicts,
)
from fullbench.studies.study_file import Study, own_cases

if TYPE_CHECKING:
    from fullbench.columns.verdict_columns import Columns, Due, Family

# Keys in memory at once; a study may have millions of cases.
_KEYS_AT_ONCE = 5_000


class StudyRun(BaseRun):
    """Run of a study in which contestants answer and judges judge all answers."""

    def __init__(self, study: Study, inputs: StudyInputs | None = None) -> None:
        """Build the judges and contestants of a study.

        Args:
            study: The study.
            inputs: Items, responses and verdicts in memory; default: those of the study's files.
        """
        super().__init__(study)
        self.existing = ExistingVerdicts() if inputs else read_study_verdicts(study)
        self.imported_judges: list[str] = inputs.imported_judges if inputs else self.existing.judges
        judge_contestant_and_benchmark_specs.refuse_duplicates("ballots", [ballot(spec).spec for spec in study.ballots])
        judge_contestant_and_benchmark_specs.refuse_duplicates("criteria", study.criteria)
        refuse_excessive_trials(study.trials)
        self.benchmark: Benchmark | None = (
            judge_contestant_and_benchmark_specs.benchmark_from_name(study.benchmark, study.protocol)
            if study.benchmark
            else None
        )
        requested_study, self.dropped_views = panels_and_cascades.select_requested_views(study, self.imported_judges)
        self._build_judges(requested_study)
        self._build_contestants()
        if not self.judges and not requested_study.rubrics and not (study.verdicts or study.labels or inputs):
            raise InputError(
                'A study needs at least one judge, such as judges = ["openai:gpt-4o"], or a file of verdicts that '
                "exist already (verdicts).",
                path=study.path,
            )
        judge_contestant_and_benchmark_specs.refuse_duplicates("judges", [judge.name for judge in self.judges])
        judge_contestant_and_benchmark_specs.refuse_duplicates(
            "contestants", [model.name for model in self.contestants]
        )
        self._load_inputs(inputs)
        self._add_rubrics(requested_study)

    def _build_judges(self, requested_study: Study) -> None:
        """Build the judges and the members of panels and cascades, or the benchmark's own judges if none is named."""
        judge_specs = [spec for spec in self.study.judges if not is_view(spec)]
        judge_specs += [spec for spec in panels_and_cascades.member_specs(requested_study) if spec not in judge_specs]
        judge_specs = [spec for spec in judge_specs if spec not in self.imported_judges]
        full_specs = [self._spec_for_benchmark(spec) for spec in judge_specs]
        self.judges: list[Judge] = [judge_contestant_and_benchmark_specs.judge_from_spec(spec) for spec in full_specs]
        for spec in {*panels_and_cascades.member_specs(self.study)}.difference(judge_specs, self.imported_judges):
            # Members that are not used are built as well, so that a typo is reported.
            judge_contestant_and_benchmark_specs.judge_from_spec(self._spec_for_benchmark(spec))
        names = {spec: judge.name for spec, judge in zip(judge_specs, self.judges, strict=True)}
        names |= {name: name for name in self.imported_judges}
        self.views: list[View] = panels_and_cascades.build_views(requested_study, names)
        self.second: list[str] = panels_and_cascades.second_judges(requested_study, names)
        self.specs |= {judge.name: spec for judge, spec in zip(self.judges, full_specs, strict=True)}
        if self.benchmark is not None:
            options = {spec: Spec.parse(spec).options for spec in judge_specs}
            refuse_differences(self.study, self.benchmark, options)
            style_message = judge_contestant_and_benchmark_specs.default_style_message(self.benchmark, self.specs)
            self.messages += [style_message] if style_message else []
            sample_message = judge_contestant_and_benchmark_specs.bundled_sample_message(
                self.study.benchmark or "", self.study.data
            )
            self.messages += [sample_message] if sample_message else []
            self.messages += protocol_messages(self.study, self.benchmark, options)
            if self.benchmark.judges is not None:
                self.judges = self.judges or list(self.benchmark.judges())

    def _build_contestants(self) -> None:
        """Build the contestants, or the benchmark's own if none is named."""
        specs = self.study.contestants
        self.contestants: list[Model] = [
            judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in specs
        ]
        self.specs |= {model.name: spec for model, spec in zip(self.contestants, specs, strict=True)}
        if self.benchmark is not None and self.benchmark.contestants is not None:
            self.contestants = self.contestants or list(self.benchmark.contestants())

    def _load_inputs(self, inputs: StudyInputs | None) -> None:
        """Read items, responses, labels, facts about contestants and the sets of responses to judge."""
        study = self.study
        contestants = [model.name for model in self.contestants]
        self.inputs = inputs = inputs or load_study_inputs(study, self.benchmark, contestants, self.existing)
        self.items: list[Item] = inputs.items
        self.input_responses: list[Response] = inputs.input_responses
        if any(map(names_turns, study.criteria)):
            check_answers_by_turn(self.items, self.input_responses)
        self.labels: list[Verdict] = inputs.labels
        self.extra_tables: Sequence[Table] = inputs.extra_tables
        self.about = {} if study.about is None else read_contestant_facts(study.about)
        dropped_notes = [str(panels_and_cascades.dropped_views_note(self.dropped_views))] if self.dropped_views else []
        self.messages = [*inputs.messages, *dropped_notes, *self.messages]
        self.messages += moving_picture_messages(self.items, self.contestants, self.judges)
        self.selected_response_sets: frozenset[ResponseSet] | None = None
        if study.cases is not None:
            self.selected_response_sets = read_response_sets(study.cases)
            self.messages.append(
                f"Only the {len(self.selected_response_sets):,} sets of responses that {study.cases} lists are judged."
            )

    def _add_rubrics(self, requested_study: Study) -> None:
        """Load the rubrics, and add the judges that fill them in."""
        self.rubrics: list[RubricWithJudge] = load_rubrics(requested_study, self.items)
        self._cases_not_judged: list[Due] = []
        self._plain: set[str] = {judge.name for judge in self.judges}
        fillers = {entry.judge.name: entry.judge for entry in self.rubrics}
        self.judges += [judge for name, judge in fillers.items() if name not in self._plain]
        self.views += [entry.rubric for entry in self.rubrics]

    def _spec_for_benchmark(self, spec: str) -> str:
        """Return a judge's spec with the benchmark's prompt template, if it has one."""
        bench = self.benchmark
        return (
            spec
            if bench is None
            else judge_contestant_and_benchmark_specs.spec_for_benchmark(
                self.study.benchmark or "", spec, prompt_style=self._style_for(spec), together=bench.together
            )
        )

    def _style_for(self, spec: str) -> str:
        """Return the paper's prompt style if the study follows the paper and the judge takes prompts; else ""."""
        parsed_spec = Spec.parse(spec)
        has_prompts = parsed_spec.kind not in judge_names() and "template" not in parsed_spec.options
        if self.benchmark is None or not has_prompts or not follows_paper(self.study):
            return ""
        return self.benchmark.prompt_style_of_paper

    def cases(self, responses: Sequence[Response]) -> Iterator[Case]:
        """Yield the study's cases in a fixed order; those of rubrics come last."""
        yield from self._own_cases(responses)
        for entry in self.rubrics:
            yield from self._rubric_cases(entry, responses)

    def _rubric_cases(self, entry: RubricWithJudge, responses: Sequence[Response]) -> Iterator[Case]:
        study = self.study
        return entry.cases(self.items, exclude_answers(responses, study.leave_out).responses, study.trials)

    def _own_cases(self, responses: Sequence[Response]) -> Iterator[Case]:
        all_cases = self._every_case(responses)
        return (
            all_cases if self.selected_response_sets is None else select_cases(all_cases, self.selected_response_sets)
        )

    def _every_case(self, responses: Sequence[Response]) -> Iterator[Case]:
        study = self.study
        responses = exclude_answers(responses, study.leave_out).responses
        if self.benchmark is not None:
            orders = orders_of_study(study, self.benchmark)
            return apply_case_overrides(self.benchmark.cases(self.items, responses, trials=study.trials), study, orders)
        return own_cases(
            self.items, responses, study.ballots,
            criteria=study.criteria, orders=study.orders, trials=study.trials, seed=study.seed,
            sample_pairing=study.sample_pairing,
        )  # fmt: skip

    def cases_to_judge(self, judge: Judge, responses: Sequence[Response]) -> Iterator[Case]:
        """Yield the cases of a judge: the study's own, and those of the rubrics that it fills in."""
        if judge.name in self._plain:
            yield from cases_for(judge, self._own_cases(responses), self.benchmark)
        for entry in self.rubrics:
            if entry.judge.name == judge.name:
                yield from self._rubric_cases(entry, responses)

    def responses(self, ledger: Ledger) -> list[Response]:
        """Return the responses from the file, and the contestants' answers so far."""
        names = [model.name for model in self.contestants]
        keys = [item.key for item in self.items]
        ledger_responses = ledger.responses(names, item_keys=keys) if names else ()
        places = {item.id: place for place, item in enumerate(self.items)}
        requested_responses = (response for response in ledger_responses if response.sample < self.study.samples)
        sorted_responses = sorted(
            requested_responses, key=lambda answer: (places[answer.item], names.index(answer.contestant), answer.sample)
        )
        return [*self.input_responses, *sorted_responses]

    def plan(self, ledger: Ledger) -> Table:
        """Return the planned calls with their cost, without calls."""
        responses = self.responses(ledger)
        missing = self._placeholder_responses(responses)
        notes = []
        expected_responses: Sequence[Response] = [*responses, *missing]
        if missing:
            notes.append(Note("plan.answers-to-come", n=len(missing), tokens=TOKENS_OUT["answer"]))
            try:
                for _ in self.cases(expected_responses):
                    pass
            except UserError as error:
                expected_responses = responses
                notes[0] = Note("plan.answers-not-counted", n=len(missing), why=error_sentence(error))
        if not missing or expected_responses is not responses:
            self._refuse_without_cases(expected_responses)
        return self._plan_table(ledger, lambda judge: self.cases_to_judge(judge, expected_responses), notes)

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        self._refuse_open_batches(calls.ledger)
        job_counts: list[JobCounts] = []
        if self.contestants:
            responses = self.responses(calls.ledger)
            self._refuse_without_cases([*responses, *self._placeholder_responses(responses)])
            job_counts = calls.collect_answers(self.contestants, self.items, samples=self.study.samples)
        return self._judge_responses(calls, job_counts, with_texts=run_options.with_texts)

    def _placeholder_responses(self, responses: Sequence[Response]) -> list[Response]:
        return call_and_cost_plan.placeholder_responses(self.contestants, self.items, self.study.samples, responses)

    def _judge_responses(self, calls: CallContext, job_counts: list[JobCounts], *, with_texts: bool) -> StudyResult:
        """Judge the cases that are due after all answers were collected, and build the tables."""
        ledger, stop = calls.ledger, calls.stop
        if self.imported_judges or not self.judges:
            enter_responses(self.inputs, ledger)
        by_people = [label for label in self.labels if label.judge not in self.imported_judges]
        by_judges = [label for label in self.labels if label.judge in self.imported_judges]
        place = str(self.study.labels or "labels")
        self.messages += changed_label_messages(place, enter_labels(by_people, ledger))
        place = " and ".join(map(str, self.study.verdict_files)) or self.study.name
        self.messages += changed_label_messages(place, enter_labels(by_judges, ledger), what="verdicts")
        for view in self.views:
            declare_view(ledger, view)
        responses = self.responses(ledger)
        stopped_answering = bool(self.contestants and stop.reason)
        if not stop.reason and not responses and (why := no_answers_message(job_counts)):
            raise ModelError(why)
        totals = None if stop.reason else self._count_cases(responses, stop) if self.judges else {}
        if totals is not None and self.judges:
            job_counts += self._judge_cases(
                calls, self.cases(responses), lambda judge: self.cases_to_judge(judge, responses), totals
            )
        elif totals is None:
            job_counts += [JobCounts(judge.name, stop_reason=stop.reason) for judge in self.judges]
            if not stopped_answering:
                # No judge was called, and counting the cases takes too long: build no tables.
                return StudyResult(self.study, Record(()), (), job_counts=job_counts)
        stopped_names = {counts.name for counts in job_counts if counts.stop_reason}
        self._cases_not_judged = [
            due
            for judge in self.judges
            if judge.name in stopped_names
            for due in _count_cases_not_judged(judge, self.cases_to_judge(judge, responses), ledger)
        ]
        return self._build_result(ledger, responses, job_counts, with_texts=with_texts)

    def _count_cases(self, responses: Sequence[Response], stop: Stop) -> dict[str, int] | None:
        """Return the number of cases per judge, or None if stopped."""
        totals = count_cases_per_judge(self.judges, self.cases(responses), self.benchmark, stop, responses)
        if totals is None or not self.rubrics:
            return totals
        return {judge.name: sum(1 for _ in self.cases_to_judge(judge, responses)) for judge in self.judges}

    def _refuse_without_cases(self, expected_responses: Sequence[Response]) -> None:
        """Refuse a study without cases before its answers are paid for."""
        try:
            has_no_cases = (
                bool(self.judges) and self.benchmark is None and next(self.cases(expected_responses), None) is None
            )
        except InputError:  # cases may depend on the text of answers, which placeholders lack
            return
        if has_no_cases:
            raise InputError(no_cases_message(expected_responses))

    def _replay(self, ledger: Ledger) -> StudyResult:
        responses = self.responses(ledger)
        study_result = self._build_result(ledger, responses, [], with_texts=True)
        study_result.missing = self._count_missing(
            ledger,
            study_result.record,
            self.cases(responses),
            lambda judge: self.cases_to_judge(judge, responses),
        )
        return study_result

    def _build_result(
        self, ledger: Ledger, responses: Sequence[Response], job_counts: list[JobCounts], *, with_texts: bool
    ) -> StudyResult:
        study = self.study
        # Panels, cascades and rubrics combine verdicts of their members, so they need the verdicts themselves.
        if with_texts or self.views or self.benchmark is not None:
            record = self.record(ledger, responses)
            source = self._source(record.contestants, record.digest())
            shown_tables = self.tables(record, ledger)
            comparing = any(len(verdict.contestants) > 1 for verdict in record)
        else:
            from fullbench.analysis.standard_verdict_tables import verdict_tables
            from fullbench.ledger.columns_from_rows import load_case_columns

            names = [*(judge.name for judge in self.judges), PEOPLE]
            with ledger.reader() as reader:
                columns, digest = load_case_columns(reader, names, self._key_batches(ledger, responses), self.labels)
            columns = _with_due(columns, ledger, self.judges, self._cases_not_judged)
            record = Record((), {item.id: item for item in self.items}, _responses_by_key(responses))
            source = self._source(list(columns.names["contestant"]), digest)
            shown_tables = [
                *verdict_tables(columns, strong=study.strong, seed=study.seed, texts=record),
                *self.extra_tables,
            ]
            comparing = bool((columns.response_counts > 1).any())
        left_out = exclude_answers(responses, study.leave_out).table()
        shown_tables = note_missing_pictures(
            [*shown_tables, *([] if left_out is None else [left_out])], self.items, has_called_judges=bool(self.judges)
        )
        shown_tables = add_contestant_facts(shown_tables, self.about) if self.about else shown_tables
        return StudyResult(
            study, record, add_source(shown_tables, source), source, job_counts, messages=list(self.messages),
            comparing=comparing,
        )  # fmt: skip

    def _source(self, contestants: Sequence[str], verdicts: str) -> dict[str, Any]:
        """Return the source of the tables: enough to build them again and to check that they are the same."""
        study = self.study
        judge_names = [judge.name for judge in self.judges]
        own_settings = {"ballots": list(study.ballots), "criteria": list(study.criteria), "orders": study.orders}
        return {
            "study": study.name,
            **({"benchmark": study.benchmark} if study.benchmark else own_settings),
            **{key: own_settings[key] for key in own_settings if study.benchmark and key in study.keys_in_file},
            **({"leave_out": list(study.leave_out)} if study.leave_out else {}),
            "judges": [*judge_names, *self.imported_judges, *(view.name for view in self.views)],
            "contestants": list(contestants),
            "trials": study.trials,
            "seed": study.seed,
            **({"strong": study.strong} if study.strong != 1 else {}),
            "verdicts": verdicts,
            "fullbench": version("fullbench"),
        }

    def _key_batches(self, ledger: Ledger, responses: Sequence[Response]) -> Iterator[list[str]]:
        """Yield the keys of the study's cases; without judges, of those that people voted on, which may be few."""
        if self.judges:
            yield from _key_batches(self.cases(responses))
            return
        # A replay opens the ledger without a study, and `fullbench judge` has one of another name.
        names = [ledger.study, self.study.name] if ledger.study_named else [self.study.name, ledger.study]
        name = next((name for name in names if name in ledger.studies()), None)
        yield [] if name is None else [v.case for v in ledger.record([PEOPLE], study=name, texts=False)]

    def record(self, ledger: Ledger, responses: Sequence[Response]) -> Record:
        """Return the study's verdicts, including people's labels and votes.

        They are sorted by judge and case, not by time: bootstrap results depend on the order.
        """
        keys = (key for batch in self._key_batches(ledger, responses) for key in batch)
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        names = {judge.name: place for place, judge in enumerate(self.judges)}
        stored_record = ledger.record([*names, PEOPLE], cases=places)
        verdicts = stored_record.verdicts
        judge_verdicts = sorted(
            (verdict for verdict in verdicts if verdict.judge in names),
            key=lambda verdict: (names[verdict.judge], places[verdict.case], verdict.trial),
        )
        labelled_keys = {(label.case, label.judge, label.trial, label.rater) for label in self.labels}
        people_votes = [
            verdict
            for verdict in verdicts
            if verdict.judge not in names
            and (verdict.case, verdict.judge, verdict.trial, verdict.rater) not in labelled_keys
        ]
        items = {item.id: item for item in self.items}
        people_votes += self._votes_on_verdicts_and_references(ledger, places)
        all_verdicts = add_view_verdicts((*judge_verdicts, *self.labels, *people_votes), self.views)
        # References that compete are among the cases, but not among the responses of the study.
        own_responses = _responses_by_key(responses)
        all_responses = {**own_responses, **stored_record.responses, **own_responses}
        return Record(all_verdicts, items, all_responses, stored_record.asks)

    def _votes_on_verdicts_and_references(self, ledger: Ledger, case_keys: Collection[str]) -> list[Verdict]:
        """Return people's reviews of verdicts on these cases and their checks of references, for a benchmark's tables.

        They are votes on cases of their own, so they are not among the study's cases.
        """
        if self.benchmark is None:
            return []
        items = {item.id for item in self.items}
        return [
            verdict
            for verdict in ledger.verdicts(PEOPLE)
            if not verdict.rater.startswith(PILOT)
            and ((is_review(verdict) and verdict.item in case_keys) or (is_check(verdict) and verdict.item in items))
        ]

    def tables(self, record: Record, ledger: Ledger) -> Sequence[Table]:
        """Return the study's tables, with due cases and the cost of failed calls (after a benchmark's own)."""
        from fullbench.analysis import standard_verdict_tables
        from fullbench.analysis.summary.paper_study_summary_with_main_table import add_paper_summary
        from fullbench.analysis.views import cascade_verdicts
        from fullbench.columns.column_builder import columns_from_verdicts

        # Votes on verdicts and references say nothing about who answers best.
        own_record = record.where(lambda verdict: not is_review(verdict) and not is_check(verdict))
        columns = _with_due(columns_from_verdicts(own_record), ledger, self.judges, self._cases_not_judged)
        due, failed_calls = columns.due, columns.failed_calls
        cascade_tables = (
            [cascade_verdicts.cascade_table(cascades, record.verdicts)]
            if (cascades := cascade_verdicts.select_cascades(self.views))
            else []
        )
        if self.benchmark is None:
            shown_tables = standard_verdict_tables.verdict_tables(
                columns, strong=self.study.strong, seed=self.study.seed, texts=record
            )
            return [*shown_tables, *cascade_tables, *self.extra_tables]
        missing = (
            [standard_verdict_tables.fault_table(columns, together=True), standard_verdict_tables.cost_table(columns)]
            if due or failed_calls
            else []
        )
        tables = [*self.benchmark.tables(record), *cascade_tables, *self.extra_tables, *missing]
        return add_paper_summary(tables, columns, texts=record, seed=self.study.seed)


def _responses_by_key(responses: Iterable[Response]) -> dict[tuple[str, str, int], Response]:
    return {(response.item, response.contestant, response.sample): response for response in responses}


def _key_batches(cases: Iterable[Case]) -> Iterator[list[str]]:
    """Yield case keys in batches of thousands, without duplicates: equal cases are adjacent within an item."""
    keys: dict[str, None] = {}
    for _, of_item in groupby(cases, key=lambda case: case.item.id):
        keys |= dict.fromkeys(case.key for case in of_item)
        if len(keys) >= _KEYS_AT_ONCE:
            yield list(keys)
            keys = {}
    yield list(keys)


def _count_cases_not_judged(judge: Judge, cases: Iterable[Case], ledger: Ledger) -> Iterator[Due]:
    """Count the cases without a verdict of a judge that stopped; the ledger knows only those whose call failed."""
    from fullbench.columns.verdict_columns import STUDY, Due

    keys_by_kind: dict[tuple[str, Family], set[tuple[str, int]]] = defaultdict(set)
    for case in cases:
        is_ranking = case.ballot.spec == "ranking"
        family: Family = "score" if len(case.responses) == 1 else "ranking" if is_ranking else "pair"
        keys_by_kind[case.criterion, family].add((case.key, case.trial))
    for (criterion, family), keys in keys_by_kind.items():
        if count := len(keys) - len(ledger.judged_keys(judge.name, keys)):
            yield Due(STUDY, judge.name, criterion, family, count)


def _with_due(
    columns: Columns, ledger: Ledger, judges: Sequence[Judge], cases_not_judged: Sequence[Due] = ()
) -> Columns:
    """Add the due cases and failed calls of a study from its ledger, and the cases that a stopped run left."""
    from fullbench.columns.verdict_columns import STUDY
    from fullbench.ledger.columns_from_rows import due_cases_and_failed_calls

    with ledger.reader() as reader:
        due, failed_calls = due_cases_and_failed_calls(reader, tuple(judge.name for judge in judges), ledger.study)
    entries = {(entry.judge, entry.criterion, entry.family): replace(entry, study=STUDY) for entry in due}
    for entry in cases_not_judged:
        place = entry.judge, entry.criterion, entry.family
        entries[place] = replace(entry, lasting=entries[place].lasting if place in entries else 0)
    return replace(
        columns,
        due=tuple(entries.values()),
        failed_calls=tuple(replace(entry, study=STUDY) for entry in failed_calls),
    )
