"""Study kind `peer-review`: contestants review each other, starting from pictures alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from fullbench.analysis.peer_review.ground_truth import Truth, truth_from_scores
from fullbench.analysis.peer_review.repeated_runs import Run, runs_table
from fullbench.analysis.peer_review.reviews_from_record import PARTS
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.language_and_words import parse_language
from fullbench.core.model import Model, family_of
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.files.external_benchmark_questions import read_questions
from fullbench.files.items_from_picture_folder import Pictures
from fullbench.files.release_rows import Row
from fullbench.files.row_readers import read_rows
from fullbench.judges.peer_review import review_items_and_cases
from fullbench.judges.peer_review.multiple_choice_answers import KeyedTruth
from fullbench.judges.peer_review.review_items_and_cases import KEY
from fullbench.judges.peer_review.review_prompts import ReviewTemplate, default_review_template, read_review_template
from fullbench.judges.prompt_templates import Template
from fullbench.judges.prompted_judge import Mode, read_template
from fullbench.ledger.ledger import Ledger
from fullbench.stats.peer_review.equation_variants import USUAL as USUAL_READING
from fullbench.stats.peer_review.equation_variants import initial_named, reading_named
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.peer_review.peer_review_steps import COSTS, PeerReview, PeerReviewResult
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.base_run import BaseRun, StudyResult
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.call_cost_and_time_forecast import TOKENS_OUT, Load, UsageByName
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.study_file import Study
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.pixel_reading_contestants import build_reviewers
from fullbench.synthetic.truth_judge import PictureTruth

_SAMPLE = 25
_QUESTION = 20
"""Assumed tokens of a question that is not written yet."""


class PeerReviewRun(BaseRun):
    """Runner of a `peer-review` study. The constructor calls no model.

    `runs` has one peer review per seed. `unreadable` has the reasons for excluded pictures or questions.
    """

    def __init__(self, study: Study) -> None:
        super().__init__(study)
        options = study.options
        self.contestants = (
            [judge_contestant_and_benchmark_specs.contestant_from_spec(spec) for spec in study.contestants]
            if study.contestants
            else list(build_reviewers())
        )
        if options.get("best_first") and not study.contestants:
            raise InputError("--best-first needs the order of the contestants. Add --contestants, best first")
        seeds = _parse_seeds(options.get("seeds", [study.seed]))
        self.unreadable: list[str] = []
        self.runs = [self._run(self.contestants, seed, is_drawn=len(seeds) > 1) for seed in seeds]
        self.specs = dict(zip(self.review.names, study.contestants, strict=False))

    @property
    def review(self) -> PeerReview:
        """The peer review of the first seed."""
        return self.runs[0]

    def _run(self, models: Sequence[Model], seed: int, *, is_drawn: bool) -> PeerReview:
        options = self.study.options
        about, truth = self._about(seed, is_drawn=is_drawn)
        correlation, scores = options.get("correlation"), options.get("human_scores")
        names = [model.name for model in models]
        kin = parse_families(options.get("families", ()), names)
        return PeerReview(
            models,
            **about,
            reviews=options.get("reviews"),
            families=None
            if options.get("own_family", True)
            else {name: kin.get(name) or family_of(name) for name in names},
            orders="both" if options.get("both_orders") else "shuffled",
            mode=_parse_mode(options.get("mode", "analyze")),
            constrained=options.get("constrained", False),
            correlation=None
            if correlation is None
            else judge_contestant_and_benchmark_specs.correlation_from_spec(correlation),
            gamma=_parse_gamma(options.get("gamma", [0.4, 0.4, 0.2])),
            truth=truth,
            reading=reading_named(options.get("reading", USUAL_READING)).name,
            initial=initial_named(options.get("initial", "many")),
            best_first=options.get("best_first", False),
            seed=seed,
            kin=kin,
            scores=Truth({}) if scores is None else read_scores(scores, names),
            review_template=_load_wording(options),
            template=_load_template(options),
        )

    def _about(self, seed: int, *, is_drawn: bool) -> tuple[dict[str, Any], Judge | None]:
        options = self.study.options
        images, questions = options.get("images"), options.get("questions")
        limit = options.get("limit", self.study.limit)
        if questions is not None:
            if images is not None:
                raise InputError("a peer review needs either pictures (images) or given questions; add one of them")
            question_items, left_out = read_questions(questions)
            self.unreadable += [line for line in left_out if line not in self.unreadable]
            if not question_items:
                raise InputError("none of the questions is about a picture", path=questions)
            if is_drawn:
                random.Random(seed).shuffle(question_items)
            question_items = question_items[:limit]
            return {"given_questions": question_items}, KeyedTruth() if any(
                KEY in item.tags for item in question_items
            ) else None
        if images is not None:
            pictures = Pictures.read(images, limit, seed=seed if is_drawn else None)
            self.unreadable += [line for line in pictures.unreadable if line not in self.unreadable]
            return {"images": pictures.images}, None
        scenes = build_items(7 + seed, limit or _SAMPLE)
        return {"images": {scene.item.id: scene.item.pictures[0] for scene in scenes}}, PictureTruth(scenes)

    def plan(self, ledger: Ledger) -> Table:
        """Return the planned questions, answers and reviews with their cost; placeholders replace missing texts."""
        usage_by_name = call_and_cost_plan.ledger_usage(ledger)
        all_answer_loads: list[Load] = []
        all_verdict_loads: list[Load] = []
        for review in self.runs:
            answer_loads, verdict_loads = _review_loads(review, ledger, usage_by_name)
            all_answer_loads += answer_loads
            all_verdict_loads += verdict_loads
        return call_and_cost_plan.plan_table_from_loads(all_answer_loads, all_verdict_loads)

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        """Collect questions, answers and reviews, seed by seed, and return the tables."""
        review_results: list[PeerReviewResult] = []
        for review in self.runs:
            review_results.append(review.execute_with(calls))
            if calls.stop.reason:
                break
        first = review_results[0]
        # The cost of this run depends on what the ledger had before, so a replay cannot reproduce this table.
        tables = [table for table in first.tables if table.name != COSTS] + self._runs_tables(calls.ledger)
        job_counts = [counts for review_result in review_results for counts in review_result.job_counts]
        study_result = self._build_sourced_result(first.record, tables, self._judges(), job_counts)
        study_result.run_tables = [table for table in first.tables if table.name == COSTS]
        return study_result

    def _judges(self) -> list[str]:
        return [judge.name for judge in self.review.judges()]

    def _runs_tables(self, ledger: Ledger) -> list[Table]:
        if len(self.runs) < 2:
            return []
        stored_reviews = [(review, *review.stored(ledger)[1:]) for review in self.runs]
        return [
            runs_table([
                Run(record, review.terms, review.known_truth(responses))
                for review, responses, record in stored_reviews if len(record)
            ])
        ]  # fmt: skip

    def _replay(self, ledger: Ledger) -> StudyResult:
        due = 0
        for review in self.runs:
            items, responses, record = review.stored(ledger)
            due -= len(record.where(lambda verdict: verdict.judge != PEOPLE))
            due += sum(1 for judge in review.judges() for _ in review.cases_to_judge(judge, items, responses))
        review = self.review
        _, responses, record = review.stored(ledger)
        tables = [*review.tables(record, responses), *self._runs_tables(ledger)] if len(record) else []
        study_result = self._build_sourced_result(record, tables, self._judges())
        study_result.missing = due
        return study_result


def _review_loads(review: PeerReview, ledger: Ledger, usage_by_name: UsageByName) -> tuple[list[Load], list[Load]]:
    """Loads of questions and answers, and of verdicts."""
    names = review.names
    writing = review.question_requests()
    requests = {item.key: item for items in writing.values() for item in items}
    written_questions = list(ledger.responses(names, item_keys=list(requests))) if requests else []
    written_questions += _placeholder_responses(writing, written_questions, _QUESTION)
    items = review.questions(ledger) if review.given_questions else review.questions_in_design(
        review_items_and_cases.written_questions(review.images, written_questions, review.review_template)
    )  # fmt: skip
    items_by_contestant = review.questions_to_answer(items)
    responses = list(ledger.responses(names, item_keys=[item.key for item in items]))
    responses += _placeholder_responses(items_by_contestant, responses, TOKENS_OUT["answer"])
    questions = [
        replace(call_and_cost_plan.answer_load(model, writing[model.name], 1, ledger, usage_by_name), what="questions")
        for model in review.contestants
    ]
    answers = [
        call_and_cost_plan.answer_load(model, items_by_contestant[model.name], 1, ledger, usage_by_name)
        for model in review.contestants
    ]
    verdict_loads = [
        call_and_cost_plan.verdict_load(judge, review.cases_to_judge(judge, items, responses), ledger, usage_by_name)
        for judge in review.judges()
    ]
    return [*([] if review.given_questions else questions), *answers], verdict_loads


def _placeholder_responses(
    items_by_contestant: dict[str, list[Item]], responses: Sequence[Response], tokens: int
) -> list[Response]:
    answered_keys = {(response.item, response.contestant) for response in responses}
    return [
        Response.say(item.id, name, call_and_cost_plan.filler_text(tokens))
        for name, items in items_by_contestant.items() for item in items if (item.id, name) not in answered_keys
    ]  # fmt: skip


def _parse_mode(word: str) -> Mode:
    modes: tuple[Mode, ...] = get_args(Mode)
    if word not in modes:
        raise InputError(f"unknown mode {word!r}; known: {', '.join(modes)}")
    return modes[modes.index(word)]


def _parse_gamma(numbers: Sequence[Any]) -> dict[str, float]:
    if not all(isinstance(number, int | float) for number in numbers) or len(numbers) != len(PARTS):
        raise InputError(f"gamma takes three numbers such as 0.4, 0.4, 0.2; found {list(numbers)!r}")
    if min(numbers) < 0 or not 0 < sum(numbers[:2]) < float("inf"):
        raise InputError(
            f"gamma takes three numbers of 0 or more, the first two not both 0: {', '.join(PARTS)}; "
            f"found {list(numbers)!r}"
        )
    return dict(zip(PARTS, map(float, numbers), strict=True))


def _parse_seeds(numbers: Sequence[Any]) -> list[int]:
    if not numbers or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise InputError(f"seeds are whole numbers such as 1, 2, 3, 4; found {list(numbers)!r}")
    if len(set(numbers)) < len(numbers):
        raise InputError(f"the seeds {list(numbers)!r} must differ, because runs with the same seed are the same")
    return list(numbers)


def _load_wording(options: Mapping[str, Any]) -> ReviewTemplate:
    language = parse_language(options.get("language", "en"))
    path = options.get("review_template")
    return default_review_template(language) if path is None else read_review_template(path, language)


def _load_template(options: Mapping[str, Any]) -> Template | None:
    path = options.get("template")
    return None if path is None else read_template(path)


def parse_families(entries: Sequence[Any], names: Sequence[str]) -> dict[str, str]:
    """Parse families given as NAME=FAMILY; a name may omit the part after its first @ or +.

    >>> parse_families(["gpt-4o=openai"], ["gpt-4o@127.0.0.1:8000/v1", "o1"])
    {'gpt-4o@127.0.0.1:8000/v1': 'openai'}
    """
    family_by_name: dict[str, str] = {}
    for entry in entries:
        name, _, family = str(entry).partition("=")
        full_names = [full_name for full_name in names if is_name_of(name.strip(), full_name)]
        if not family.strip() or not full_names:
            raise InputError(f"a family is CONTESTANT=FAMILY, for {', '.join(names)}; found {entry!r}")
        family_by_name |= dict.fromkeys(full_names, family.strip())
    return family_by_name


_NAMES = ("contestant", "model", "name")
_SCORES = ("score", "accuracy", "value", "rating")


def is_name_of(short: str, name: str) -> bool:
    """Return True if `short` names a contestant: its full name, or the part before its server or settings.

    >>> (is_name_of("gpt-4o", "gpt-4o@127.0.0.1:8000/v1"), is_name_of("gpt-4o", "gpt-4o-mini"),
    ...  is_name_of("keen", "synthetic/keen"))
    (True, False, True)
    """
    model = name.partition("@")[0]
    return short in {name, model, model.partition("+")[0], name.rpartition("/")[2]}


def read_scores(path: str | Path, names: Sequence[str]) -> Truth:
    """Read a file with one score per contestant. All contestants need one; other rows are ignored."""
    path = Path(path)
    scores: dict[str, float] = {}
    for line, values in read_rows(path):
        row = Row(path, line, values)
        who = next((column for column in _NAMES if values.get(column) is not None), None)
        score = next((column for column in _SCORES if values.get(column) is not None), None)
        if who is None or score is None:
            raise row.error(
                f"a row needs a contestant and a score ({' or '.join(_NAMES)}; {' or '.join(_SCORES)}); found "
                f"{', '.join(map(str, values))}"
            )
        value = row.number(score)
        for name in (name for name in names if is_name_of(row.text(who), name)):
            if name in scores:
                raise row.error(f"{name!r} has two scores; keep one")
            scores[name] = value
    missing = [name for name in names if name not in scores]
    if missing:
        raise InputError(f"the file has no score of {', '.join(missing)}; add a row for each contestant", path=path)
    return truth_from_scores(scores, path.name)
