"""A study from its file to its tables: answer, hear, look at the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from fullbench.analysis.boards.contestant_facts import with_about
from fullbench.analysis.views.panel_verdicts import with_views
from fullbench.core.ballot import ballot
from fullbench.core.benchmark import Benchmark
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.note import Note, sentence
from fullbench.core.notebook_display import Shown
from fullbench.core.panel import View, is_view
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError, ModelError, UserError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_and_model_specs
from fullbench.studies.batches.batch_folders import refuse_open
from fullbench.studies.engines import Budget, Tally
from fullbench.studies.rubrics.rubrics_in_studies import Filled, filled
from fullbench.studies.run import panels_and_cascades, study_plan
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.cases_per_judge import (
    Panel,
    among,
    cases_for,
    counted,
    nothing_to_hear,
    read_panels,
    refuse_slip,
    unanswered,
)
from fullbench.studies.run.contestant_facts import read_about
from fullbench.studies.run.cost_forecast import TOKENS_OUT
from fullbench.studies.run.excluded_answers import cleaned, rearranged
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.missing_pictures import counted as counted_blind
from fullbench.studies.run.missing_pictures import refuse_blind
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_inputs import enter_labels, material, of_changed_labels
from fullbench.studies.study_file import Study, own_cases


@dataclass(repr=False)
class Conducted(Shown):
    """What came of a study; a notebook shows its tables."""

    study: Study
    record: Record
    """What was ruled, with texts; without any verdict where only tables were asked for (`whole=False`)."""
    tables: Sequence[Table]
    source: Mapping[str, Any] = field(default_factory=dict)
    tallies: list[Tally] = field(default_factory=list)
    files: dict[Path, Callable[[Path, Path], object]] = field(default_factory=dict)
    """Further files of the study, and what writes each: to a path, with pictures named as seen from another."""
    said: list[str] = field(default_factory=list)
    """Sentences for whoever ran it."""
    plain: Sequence[Table] = ()
    """The tables without what made them, for a command that is no study of its own."""
    run_tables: Sequence[Table] = ()
    """Tables of this run alone, which a replay cannot make again."""
    missing: int = 0
    """So many verdicts of the study are not there yet; a replay counts them."""
    comparing: bool = False
    """Whether a verdict shows several responses."""

    def __repr__(self) -> str:
        return f"Conducted({self.study.name!r}: {self.record!r}, {len(self.tables)} tables)"


class Conductor:
    """A study with its files read and its judges and contestants made: nothing was asked yet."""

    def __init__(self, study: Study) -> None:
        self.study = study
        judge_and_model_specs.distinct("ballots", [ballot(spec).spec for spec in study.ballots])
        judge_and_model_specs.distinct("criteria", study.criteria)
        refuse_slip(study.trials)
        self.benchmark: Benchmark | None = (
            judge_and_model_specs.benchmark(study.benchmark, study.protocol) if study.benchmark else None
        )
        seated, self.idle = panels_and_cascades.listed(study)
        listed = [spec for spec in study.judges if not is_view(spec)]
        listed += [spec for spec in panels_and_cascades.member_specs(seated) if spec not in listed]
        worded = [self._worded(spec) for spec in listed]
        self.judges: list[Judge] = [judge_and_model_specs.judge(spec) for spec in worded]
        for spec in {*panels_and_cascades.member_specs(study)}.difference(listed):
            judge_and_model_specs.judge(self._worded(spec))  # a slip in what is not asked is one all the same
        names = {spec: judge.name for spec, judge in zip(listed, self.judges, strict=True)}
        self.views: list[View] = panels_and_cascades.named_views(seated, names)
        self.second: list[str] = panels_and_cascades.second_judges(seated, names)
        self.contestants: list[Model] = [judge_and_model_specs.contestant(spec) for spec in study.contestants]
        judging = {judge.name: spec for judge, spec in zip(self.judges, worded, strict=True)}
        answering = {model.name: spec for model, spec in zip(self.contestants, study.contestants, strict=True)}
        self.specs: dict[str, str] = {**judging, **answering}
        if self.benchmark is not None and self.benchmark.judges is not None:
            self.judges = self.judges or list(self.benchmark.judges())
        if self.benchmark is not None and self.benchmark.contestants is not None:
            self.contestants = self.contestants or list(self.benchmark.contestants())
        if not self.judges and not seated.rubrics:
            raise InputError("a study names at least one judge", path=study.path)
        judge_and_model_specs.distinct("judges", [judge.name for judge in self.judges])
        judge_and_model_specs.distinct("contestants", [model.name for model in self.contestants])
        read = material(study, self.benchmark, [model.name for model in self.contestants])
        self.items: list[Item] = read.items
        self.given: list[Response] = read.given
        self.labels: list[Verdict] = read.labels
        self.odd: Sequence[Table] = read.odd
        self.about = {} if study.about is None else read_about(study.about)
        self.said: list[str] = read.said
        self.said += [str(panels_and_cascades.idle_note(self.idle))] if self.idle else []
        if self.benchmark is not None and (sentence := judge_and_model_specs.unmannered(self.benchmark, judging)):
            self.said.append(sentence)
        self.chosen: frozenset[Panel] | None = read_panels(study.cases) if study.cases is not None else None
        if self.chosen is not None:
            self.said.append(f"Only the {len(self.chosen):,} sets of responses that {study.cases} lists are heard.")
        self.rubrics: list[Filled] = filled(seated, self.items)
        self._plain: set[str] = {judge.name for judge in self.judges}
        fillers = {entry.judge.name: entry.judge for entry in self.rubrics}
        self.judges += [judge for name, judge in fillers.items() if name not in self._plain]
        self.views += [entry.rubric for entry in self.rubrics]

    def _worded(self, spec: str) -> str:
        """A judge's spec, in the words of the benchmark where it has some."""
        bench = self.benchmark
        return (
            spec
            if bench is None
            else judge_and_model_specs.in_words_of(self.study.benchmark or "", spec, together=bench.together)
        )

    def cases(self, responses: Sequence[Response]) -> Iterator[Case]:
        """The study's cases, the same ones in the same order each time; those of its rubrics last."""
        yield from self._own_cases(responses)
        for entry in self.rubrics:
            yield from self._rubric_cases(entry, responses)

    def _rubric_cases(self, entry: Filled, responses: Sequence[Response]) -> Iterator[Case]:
        study = self.study
        return entry.cases(self.items, cleaned(responses, study.leave_out).responses, study.trials)

    def _own_cases(self, responses: Sequence[Response]) -> Iterator[Case]:
        every = self._every_case(responses)
        return every if self.chosen is None else among(every, self.chosen)

    def _every_case(self, responses: Sequence[Response]) -> Iterator[Case]:
        study = self.study
        responses = cleaned(responses, study.leave_out).responses
        if self.benchmark is not None:
            return rearranged(self.benchmark.cases(self.items, responses, trials=study.trials), study)
        return own_cases(
            self.items, responses, study.ballots,
            criteria=study.criteria, orders=study.orders, trials=study.trials, seed=study.seed, meetings=study.meetings,
        )  # fmt: skip

    def docket(self, judge: Judge, responses: Sequence[Response]) -> Iterator[Case]:
        """The cases that a judge is to hear: the study's own, and those of a rubric that it fills in."""
        if judge.name in self._plain:
            yield from cases_for(judge, self._own_cases(responses), self.benchmark)
        for entry in self.rubrics:
            if entry.judge.name == judge.name:
                yield from self._rubric_cases(entry, responses)

    def responses(self, ledger: Ledger) -> list[Response]:
        """The responses at hand: those given in a file, and those that the contestants have answered so far."""
        names = [model.name for model in self.contestants]
        keys = [item.key for item in self.items]
        answered = ledger.responses(names, item_keys=keys) if names else ()
        places = {item.id: place for place, item in enumerate(self.items)}
        wanted = (response for response in answered if response.sample < self.study.samples)
        ordered = sorted(
            wanted, key=lambda answer: (places[answer.item], names.index(answer.contestant), answer.sample)
        )
        return [*self.given, *ordered]

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked, and what it would take; nothing is asked."""
        responses = self.responses(ledger)
        missing = study_plan.stand_ins(self.contestants, self.items, self.study.samples, responses)
        notes = []
        expected: Sequence[Response] = [*responses, *missing]
        if missing:
            notes.append(
                Note(
                    "plan.answers-to-come",
                    "{n:,} answers are still to be given; verdicts on them are counted as if each had {tokens} tokens.",
                    n=len(missing),
                    tokens=TOKENS_OUT["answer"],
                )
            )
            try:
                for _ in self.cases(expected):
                    pass
            except UserError as error:
                expected = responses
                notes[0] = Note(
                    "plan.answers-not-counted",
                    "{n:,} answers are still to be given; verdicts on them are not counted: {why}",
                    n=len(missing), why=sentence(error),
                )  # fmt: skip
        if not missing or expected is not responses:
            self._refuse_empty(expected)
        notes += [
            Note(
                "plan.second",
                "{judge} is asked only about what a smaller judge leaves in doubt: this is the most.",
                judge=name,
            )
            for name in self.second
        ]
        notes += [panels_and_cascades.idle_note(self.idle)] if self.idle else []
        return study_plan.table(
            ledger, contestants=self.contestants, items=self.items, judges=self.judges,
            cases=lambda judge: self.docket(judge, expected), samples=self.study.samples, notes=notes,
        )  # fmt: skip

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse what cannot go well (a missing key, a budget without prices) before anything is made or asked.

        `spent` is what the study cost before, where the budget is for all of it.
        """
        refuse_blind(self.items, self.contestants, self.judges, allowed=self.study.without_pictures)
        return study_plan.ready([*self.contestants, *study_plan.models_asked(self.judges)], budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Answer, hear, and look at the record. Stopped half-way, the same call goes on from there.

        What may be named stands in `RunTerms`.
        """
        terms = RunTerms(**named)
        stop = terms.stop
        purse = self.ready(terms.budget, spent=terms.spent)
        asked: list[Model | Judge] = [*self.contestants, *self.judges]
        refuse_open(ledger.path, [who.name for who in asked])
        tallies: list[Tally] = []
        if self.contestants:
            given = self.responses(ledger)
            self._refuse_empty([*given, *study_plan.stand_ins(self.contestants, self.items, self.study.samples, given)])
            names = [model.name for model in self.contestants]
            with watching("answers", names, len(self.items) * self.study.samples, quiet=terms.quiet) as watch:
                tallies += answer(
                    self.contestants, self.items, ledger, samples=self.study.samples,
                    engine=terms.engine, specs=self.specs, budget=purse, stop=stop, watch=watch, insist=terms.insist,
                )  # fmt: skip
        self.said += of_changed_labels(str(self.study.labels or "labels"), enter_labels(self.labels, ledger))
        for view in self.views:
            ledger.declare("judge", view.name, view.settings)
        responses = self.responses(ledger)
        stopped_answering = bool(self.contestants and stop.reason)
        if not stop.reason and not responses and (why := unanswered(tallies)):
            raise ModelError(why)
        heard = None if stop.reason else self._hear(ledger, responses, purse, terms)
        if heard is None:
            tallies += [Tally(judge.name, stopped=stop.reason) for judge in self.judges]
            if not stopped_answering:
                # No judge was asked, and there may be more cases than anybody waits for: no tables are made of them.
                return Conducted(self.study, Record(()), (), tallies=tallies)
        else:
            tallies += heard
        return self._look(ledger, responses, tallies, whole=terms.whole)

    def _refuse_empty(self, expected: Sequence[Response]) -> None:
        """Refuse, before answers are paid for, what leaves nothing to judge when all are there."""
        try:
            nothing = self.benchmark is None and next(self.cases(expected), None) is None
        except InputError:  # cases may hang on the words of answers
            return
        if nothing:
            raise InputError(nothing_to_hear(expected))

    def replay(self, ledger: Ledger) -> Conducted:
        """The tables of what the ledger holds; nothing is asked, and no key is needed."""
        responses = self.responses(ledger)
        done = self._look(ledger, responses, [], whole=True)
        if not len(done.record):
            raise InputError(f"{ledger.place} holds no verdict of this study; `fullbench run` asks for them")
        cases = list(self.cases(responses))
        first = [judge for judge in self.judges if judge.name not in self.second]
        wanted = sum(1 for judge in first for _ in self.docket(judge, responses)) + len(self.labels)
        wanted += sum(len(panels_and_cascades.left_in_doubt(name, cases, ledger, self.views)) for name in self.second)
        done.missing = wanted - sum(not is_view(verdict.judge) for verdict in done.record)
        return done

    def _look(self, ledger: Ledger, responses: Sequence[Response], tallies: list[Tally], *, whole: bool) -> Conducted:
        study = self.study
        # Panels, cascades and rubrics join what their members ruled: that needs the verdicts themselves.
        if whole or self.views or self.benchmark is not None:
            record = self.record(ledger, responses)
            source = self._source(record.contestants, record.digest())
            shown = self.tables(record, ledger)
            comparing = any(len(verdict.contestants) > 1 for verdict in record)
        else:
            from fullbench.analysis.all_tables import tables
            from fullbench.studies.run.columns_from_stream import read, with_due

            ruled, digest = read(self._ruled(ledger, responses))
            columns = with_due(ruled, ledger, self.judges)
            record = Record((), {item.id: item for item in self.items}, _by_place(responses))
            source = self._source(list(columns.names["contestant"]), digest)
            shown = [*tables(columns, seed=study.seed), *self.odd]
            comparing = bool((columns.shown > 1).any())
        left_out = cleaned(responses, study.leave_out).table()
        shown = counted_blind([*shown, *([] if left_out is None else [left_out])], self.items)
        shown = with_about(shown, self.about) if self.about else shown
        tables_ = [replace(table, source={**source, **table.source}) for table in shown]
        return Conducted(study, record, tables_, source, tallies, said=list(self.said), comparing=comparing)

    def _ruled(self, ledger: Ledger, responses: Sequence[Response]) -> Iterator[Verdict]:
        """The study's verdicts, people's among them, one after the other."""
        from fullbench.studies.run.columns_from_stream import keys_of

        names = [*(judge.name for judge in self.judges), PEOPLE]
        yield from self.labels
        labelled = {(label.case, label.judge, label.trial, label.rater) for label in self.labels}
        for keys in keys_of(self.cases(responses)):
            for verdict in ledger.verdicts(names, cases=keys):
                if (verdict.case, verdict.judge, verdict.trial, verdict.rater) not in labelled:
                    yield verdict

    def _source(self, contestants: Sequence[str], verdicts: str) -> dict[str, Any]:
        """What made the tables: enough to make them again, and to see whether they are the same."""
        study = self.study
        own = {"ballots": list(study.ballots), "criteria": list(study.criteria), "orders": study.orders}
        return {
            "study": study.name,
            **({"benchmark": study.benchmark} if study.benchmark else own),
            **{key: own[key] for key in own if study.benchmark and key in study.said},
            **({"leave_out": list(study.leave_out)} if study.leave_out else {}),
            "judges": [*(judge.name for judge in self.judges), *(view.name for view in self.views)],
            "contestants": list(contestants),
            "trials": study.trials,
            "seed": study.seed,
            "verdicts": verdicts,
            "fullbench": version("fullbench"),
        }

    def _hear(
        self, ledger: Ledger, responses: Sequence[Response], purse: Budget | None, terms: RunTerms
    ) -> list[Tally] | None:
        """What came of hearing; None where it was stopped before the cases were counted."""
        stop = terms.stop
        totals = counted(self.judges, self.cases(responses), self.benchmark, stop, responses)
        if totals is None:
            return None
        if self.rubrics:
            totals = {judge.name: sum(1 for _ in self.docket(judge, responses)) for judge in self.judges}
        first = [judge for judge in self.judges if judge.name not in self.second]
        with watching("verdicts", [judge.name for judge in first], totals, quiet=terms.quiet) as watch:
            tallies = hear(
                first, lambda judge: self.docket(judge, responses), ledger,
                engine=terms.engine, specs=self.specs, budget=purse, stop=stop, watch=watch, insist=terms.insist,
            )  # fmt: skip
        cases = list(self.cases(responses)) if self.second else []
        second = [judge for judge in self.judges if judge.name in self.second]
        tallies += panels_and_cascades.hear_doubts(
            second, cases, ledger, self.views,
            engine=terms.engine, specs=self.specs, budget=purse, stop=stop, insist=terms.insist, quiet=terms.quiet,
        )  # fmt: skip
        return tallies

    def record(self, ledger: Ledger, responses: Sequence[Response]) -> Record:
        """The study's verdicts, people's labels and votes among them.

        They stand in the order of judges and cases, whoever was quicker: what is resampled depends on it.
        """
        places = {key: place for place, key in enumerate(dict.fromkeys(case.key for case in self.cases(responses)))}
        names = {judge.name: place for place, judge in enumerate(self.judges)}
        stored = ledger.record([*names, PEOPLE], cases=places)
        verdicts = stored.verdicts
        ruled = sorted(
            (verdict for verdict in verdicts if verdict.judge in names),
            key=lambda verdict: (names[verdict.judge], places[verdict.case], verdict.trial),
        )
        labelled = {(label.case, label.judge, label.trial, label.rater) for label in self.labels}
        voted = [
            verdict
            for verdict in verdicts
            if verdict.judge not in names
            and (verdict.case, verdict.judge, verdict.trial, verdict.rater) not in labelled
        ]
        items = {item.id: item for item in self.items}
        heard = with_views((*ruled, *self.labels, *voted), self.views)
        return Record(heard, items, _by_place(responses), stored.asks)

    def tables(self, record: Record, ledger: Ledger) -> Sequence[Table]:
        """The study's tables; what is due and what failed calls cost stands in them, or beside a benchmark's own."""
        from fullbench.analysis import all_tables
        from fullbench.analysis.views import cascade_verdicts
        from fullbench.columns.column_builder import columns_of
        from fullbench.studies.run.columns_from_stream import with_due

        columns = with_due(columns_of(record), ledger, self.judges)
        due, failed = columns.due, columns.failed
        who = [cascade_verdicts.table(named, record.verdicts)] if (named := cascade_verdicts.among(self.views)) else []
        if self.benchmark is None:
            return [*all_tables.tables(columns, seed=self.study.seed), *who, *self.odd]
        missing = [all_tables.faults(columns, together=True), all_tables.costs(columns)] if due or failed else []
        return [*self.benchmark.tables(record), *who, *self.odd, *missing]


def _by_place(responses: Iterable[Response]) -> dict[tuple[str, str, int], Response]:
    return {(response.item, response.contestant, response.sample): response for response in responses}
