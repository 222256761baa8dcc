"""Study kind `experiment`: a model writes texts first, then judges judge the result.

`lengthening`: the model rewrites every answer that is scored alone at greater length, and judges score both. The gain
is the length bias.
`vision-expert`: the model describes every picture. Each judge then judges with the picture, with the description, and
with neither. `captions`: the model writes references from two kinds of captions, and judges decide which are right. The
plain captions come from a file, or from a model that sees the picture alone.
`references`: the model writes the references of items, which people verify later. All these texts are stored in the
ledger like answers. They are planned, paid for once, and only failed ones are requested again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fullbench.analysis.lengthening_references_from_captions_and_picture_modes import (
    lengthening_table,
    picture_mode_table,
    reference_accuracy_table,
)
from fullbench.analysis.summary.paper_study_summary_with_main_table import replace_main_table
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.response import LENGTHENS, Response
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_items, write_items
from fullbench.judges.model_written_texts_for_experiments import (
    Composing,
    Describing,
    Lengthening,
    WritingResult,
    WritingTask,
)
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.answer_items import RecordingModel, model_from_ledger
from fullbench.studies.run.base_run import StudyResult
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.judging_study_kind import StudyRun
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.study_file import Study, own_cases

EXPERIMENTS = ("lengthening", "vision-expert", "captions", "references")
PICTURE_MODES = ("image", "described", "none")
CAPTION_BALLOT = "likert:wrong|right"
"""Default ballot of the caption experiment: is a reference right?"""
CONDITIONED_CAPTIONS, PLAIN_CAPTIONS = "conditioned captions", "plain captions"


class ExperimentRun(StudyRun):
    """Runner of a study in which a model completes items or responses before anyone judges."""

    def __init__(self, study: Study) -> None:
        options = study.options
        self.what = str(options.get("what", ""))
        if self.what not in EXPERIMENTS:
            experiment_names = ", ".join(EXPERIMENTS)
            raise InputError(
                f"'what' under [experiment] is one of {experiment_names}; found {self.what!r}", path=study.path
            )
        plain_items_path: Path | None = options.get("plain")
        caption_keys = [key for key in ("plain", "captioner") if key in options]
        if caption_keys and (self.what != "captions" or len(caption_keys) > 1):
            raise InputError(
                "plain (a file of items with plain captions) and captioner (a model that writes them from the "
                "pictures) are for what = 'captions', and exclude each other",
                path=study.path,
            )
        if self.what == "references" and "out" not in options:
            raise InputError(
                "references are written to a file of items: add out = FILE under [experiment]", path=study.path
            )
        self.writer: Model = judge_contestant_and_benchmark_specs.contestant_from_spec(str(options["model"]))
        judges = study.judges
        if self.what == "vision-expert":
            judges = tuple(_with_picture_mode(spec, picture_mode) for spec in judges for picture_mode in PICTURE_MODES)
        # StudyRun requires a judge. `length` makes no calls, so it is the default.
        super().__init__(replace(study, judges=judges or ("length",)))
        self.original = list(self.items)
        self.plain_items = [] if plain_items_path is None else list(read_items(plain_items_path))
        self.captioner: Model | None = None
        if self.what == "captions" and plain_items_path is None:
            captioner_spec = str(options.get("captioner", options["model"]))
            self.captioner = judge_contestant_and_benchmark_specs.contestant_from_spec(captioner_spec)
            self.specs[self.captioner.name] = captioner_spec
            if not any(item.pictures for item in self.original):
                raise InputError(
                    "the captioner has no pictures to describe: the items have none. Name a file of items with plain "
                    "captions as plain under [experiment]",
                    path=study.path,
                )
        self.writing_results: list[WritingResult] = []
        self.caption_failures: list[str] = []

    def _spec_for_benchmark(self, spec: str) -> str:
        """Return a judge's spec, with the benchmark's template unless references are marked one by one.

        The template of VisIT-Bench asks which of two responses is better, so a judge could not mark a single reference.
        """
        return spec if self.what == "captions" else super()._spec_for_benchmark(spec)

    def _writing_tasks(self, responses: Sequence[Response]) -> list[WritingTask]:
        if self.what == "lengthening":
            return [Lengthening(self.original, self._responses_scored_alone(responses))]
        if self.what == "vision-expert":
            return [Describing(self.original)]
        if self.what == "captions":
            return [Composing(self.original, CONDITIONED_CAPTIONS), Composing(self.plain_items, PLAIN_CAPTIONS)]
        return [Composing(self.original, self.writer.name)]

    def _responses_scored_alone(self, responses: Sequence[Response]) -> list[Response]:
        """Return the responses with text that a case scores alone: the gain is computed from these scores only."""
        scored_alone = {
            _place(case.responses[0]) for case in super()._every_case(responses) if len(case.responses) == 1
        }
        selected = [response for response in responses if response.text.strip() and _place(response) in scored_alone]
        if responses and not selected:
            raise InputError(
                "lengthening compares scores of single responses, and this study scores none. Add items with the tag "
                "task = score (mllm-as-a-judge), or a ballot such as score:1-5 in a study without a benchmark",
                path=self.study.path,
            )
        message = (
            f"{len(responses) - len(selected):,} of {len(responses):,} responses are not scored alone in this study, "
            "so they are not lengthened."
        )
        if len(selected) < len(responses) and message not in self.messages:
            self.messages.append(message)
        return selected

    def _every_case(self, responses: Sequence[Response]) -> Iterator[Case]:
        """Yield all cases; for lengthening, only single scores of an answer and of its longer form.

        References by caption source are marked one by one, also in a benchmark that compares pairs.
        """
        if self.what == "captions":
            ballots = self.study.ballots if "ballots" in self.study.keys_in_file else (CAPTION_BALLOT,)
            yield from own_cases(
                self.items, responses, ballots, criteria=self.study.criteria, orders=self.study.orders,
                trials=self.study.trials, seed=self.study.seed, sample_pairing=self.study.sample_pairing,
            )  # fmt: skip
            return
        if self.what != "lengthening":
            yield from super()._every_case(responses)
            return
        lengthened = {
            (response.item, response.tags[LENGTHENS], response.sample)
            for response in responses
            if LENGTHENS in response.tags
        }
        compared = [response for response in responses if LENGTHENS in response.tags or _place(response) in lengthened]
        yield from (case for case in super()._every_case(compared) if len(case.responses) == 1)

    def _caption_tasks(self) -> list[Describing]:
        """Return the task of writing plain captions from the pictures alone, if no file has them."""
        return [] if self.captioner is None else [Describing([replace(item, captions=()) for item in self.original])]

    def _apply_captions(self, captioner: Model) -> None:
        self.caption_failures = []
        for task in self._caption_tasks():
            caption_result = task.apply_replies(captioner.answer(task.prompts()))
            self.plain_items = caption_result.items
            self.caption_failures = caption_result.failures

    def _apply_writings(self, writings: Sequence[WritingTask], model: Model) -> None:
        self.writing_results = [writing.apply_replies(model.answer(writing.prompts())) for writing in writings]
        if self.what in {"vision-expert", "references"}:
            items_by_id = {item.id: item for item in self.writing_results[0].items}
            self.items = [items_by_id.get(item.id, item) for item in self.original]

    def responses(self, ledger: Ledger) -> list[Response]:
        """Return the stored responses and those that the model wrote."""
        if self.what == "captions":
            return [
                Response.say(item.id, name, item.reference or "")
                for name, writing_result in zip(
                    (CONDITIONED_CAPTIONS, PLAIN_CAPTIONS), self.writing_results, strict=False
                )
                for item in writing_result.items
            ]
        study_responses = super().responses(ledger)
        return [
            *study_responses,
            *(response for writing_result in self.writing_results for response in writing_result.responses),
        ]

    def plan(self, ledger: Ledger) -> Table:
        """Return the planned calls of contestants, writer and judges, as if every text were already written."""
        study_responses = StudyRun.responses(self, ledger)
        placeholders = call_and_cost_plan.placeholder_responses(
            self.contestants, self.original, self.study.samples, study_responses
        )
        if self.captioner is not None:
            self._apply_captions(_VerboseModel(self.captioner))
        writings = self._writing_tasks([*study_responses, *placeholders])
        writing_items = _prompts_as_items(writings)
        usage_by_name = call_and_cost_plan.ledger_usage(ledger)
        self._apply_writings(writings, _VerboseModel(self.writer))
        expected_responses = [*self.responses(ledger), *placeholders]
        judges = [] if self.what == "references" else self.judges
        answer_loads = [
            call_and_cost_plan.answer_load(model, self.original, self.study.samples, ledger, usage_by_name)
            for model in self.contestants
        ]
        writer_loads = [(self.writer, writing_items)]
        if self.captioner is not None:
            writer_loads.insert(0, (self.captioner, _prompts_as_items(self._caption_tasks())))
        answer_loads += [
            replace(call_and_cost_plan.answer_load(model, prompts, 1, ledger, usage_by_name), what="writing")
            for model, prompts in writer_loads
        ]
        verdict_loads = [
            call_and_cost_plan.verdict_load(
                judge, self.cases_to_judge(judge, expected_responses), ledger, usage_by_name
            )
            for judge in judges
        ]
        note = Note("experiment.first", model=self.writer.name)
        return call_and_cost_plan.plan_table_from_loads(answer_loads, verdict_loads, [note])

    def models(self) -> list[Model]:
        captioners = [] if self.captioner is None else [self.captioner]
        own_models = {model.name: model for model in [self.writer, *captioners, *super().models()]}
        return list(own_models.values())

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        """Collect the missing answers, texts and verdicts, in this order."""
        ledger = calls.ledger
        self._refuse_open_batches(ledger)
        job_counts: list[JobCounts] = []
        if self.contestants:
            job_counts += calls.collect_answers(self.contestants, self.original, samples=self.study.samples)
        if self.captioner is not None:
            captioner = RecordingModel(
                self.captioner, ledger, self.specs[self.captioner.name], calls.engine, calls.budget, calls.stop
            )
            self._apply_captions(captioner)
            job_counts += captioner.job_counts
        writer = RecordingModel(
            self.writer, ledger, str(self.study.options["model"]), calls.engine, calls.budget, calls.stop
        )
        self._apply_writings(self._writing_tasks(StudyRun.responses(self, ledger)), writer)
        job_counts += writer.job_counts
        if self.what == "references":
            return self._add_experiment_outputs(self._result_without_verdicts(job_counts))
        return self._add_experiment_outputs(self._judge_responses(calls, job_counts, with_texts=True))

    def replay(self, ledger: Ledger) -> StudyResult:
        """Return the tables from the ledger; the writer is not called again."""
        if self.captioner is not None:
            self._apply_captions(model_from_ledger(self.captioner, ledger))
        self._apply_writings(
            self._writing_tasks(StudyRun.responses(self, ledger)), model_from_ledger(self.writer, ledger)
        )
        if self.what == "references":
            return self._with_names(self._add_experiment_outputs(self._result_without_verdicts([])), ledger)
        return super().replay(ledger)

    def _replay(self, ledger: Ledger) -> StudyResult:
        return self._add_experiment_outputs(super()._replay(ledger))

    def _result_without_verdicts(self, job_counts: list[JobCounts]) -> StudyResult:
        return StudyResult(
            self.study, Record((), {item.id: item for item in self.items}, {}), (), job_counts=job_counts
        )

    def tables(self, record: Record, ledger: Ledger) -> Sequence[Table]:
        """Return the study's tables; the experiment's own table is the main table."""
        own_tables = [table for table in self._experiment_tables(record) if table.rows]
        return replace_main_table(super().tables(record, ledger), own_tables)

    def _experiment_tables(self, record: Record) -> list[Table]:
        if self.what == "lengthening":
            return [lengthening_table(record)]
        if self.what == "captions":
            return [reference_accuracy_table(record)]
        if self.what == "vision-expert":
            names = [judge.name for judge in self.judges[: len(self.study.judges)]]
            starts = range(0, len(names), len(PICTURE_MODES))
            return [
                picture_mode_table(record, [dict(zip(PICTURE_MODES, names[start:], strict=False)) for start in starts])
            ]
        return []

    def _add_experiment_outputs(self, study_result: StudyResult) -> StudyResult:
        failure_reasons = [
            *self.caption_failures,
            *(reason for writing_result in self.writing_results for reason in writing_result.failures),
        ]
        if failure_reasons:
            study_result.messages.append(
                f"{len(failure_reasons):,} were not written; the first is {failure_reasons[0]}"
            )
        out: Path | None = self.study.options.get("out")
        if out is not None:
            items = self.writing_results[0].items if self.what in {"captions", "references"} else self.items
            study_result.files[out] = lambda path, place: write_items(path, items, place=place)
        return study_result


def _prompts_as_items(tasks: Iterable[WritingTask]) -> list[Item]:
    """Return the prompts of writing tasks as items, so that a plan counts them like answers."""
    return [Item(prompt.digest, prompt.turns) for task in tasks for prompt in task.prompts()]


def _place(response: Response) -> tuple[str, str, int]:
    return response.item, response.contestant, response.sample


def _with_picture_mode(spec: str, picture_mode: str) -> str:
    """The picture mode is the option `picture_mode` of a spec."""
    if "picture_mode=" in spec:
        raise InputError(f"the judge {spec!r} is called with every picture mode here: leave out its own")
    return f"{spec}{'&' if '?' in spec else '?'}picture_mode={picture_mode}"


class _VerboseModel:
    """Stand-in writer for plans: returns twice as many words as the prompt has, without a call."""

    def __init__(self, model: Model) -> None:
        self.name, self.settings, self.price = model.name, model.settings, model.price

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            yield Reply(prompt, "word " * (2 * sum(len(turn.text.split()) for turn in prompt.turns) + 10))
