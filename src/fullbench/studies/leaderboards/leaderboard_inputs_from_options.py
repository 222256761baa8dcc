"""Build a leaderboard from command-line options: read items and answers, build judge and newcomer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.core.benchmark import Benchmark
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_responses
from fullbench.files.picture_access_policy import allow_picture_folders, without_pictures
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import DEFAULT_RETRY_POLICY, HERE, Budget, Engine, JobCounts, RetryPolicy
from fullbench.studies.leaderboards.growing_leaderboard import Board, Newcomer, Pool, Schedule, uniform_cases
from fullbench.studies.leaderboards.withheld_test_sets import mark_withheld_items
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.missing_pictures import refuse_missing_pictures
from fullbench.studies.run.run_options import RunOptions
from fullbench.studies.run.study_items_responses_and_labels import VERIFIED_TAG, is_unverified, limit_messages


@dataclass(frozen=True)
class LeaderboardRequest:
    """Options of a leaderboard, as the user gave them."""

    benchmark: str
    data: Path | None
    responses: tuple[Path, ...]
    model: str
    predictions: Path | None
    judge: str
    prompt_style: str = ""
    reader: str | None = None
    without_pictures: bool = False
    pictures_from: tuple[Path, ...] = ()
    limit: int | None = None
    """Play only on the first items; submissions are still stored as a whole."""
    withheld: bool = False

    def build_judge(self) -> Judge:
        """Build the judge with the benchmark's prompt template."""
        spec = judge_contestant_and_benchmark_specs.spec_for_benchmark(
            self.benchmark, self.judge, prompt_style=self.prompt_style, reader=self.reader or ""
        )
        return judge_contestant_and_benchmark_specs.judge_from_spec(spec)


@dataclass
class PreparedLeaderboard:
    """A leaderboard with files read and models built. No case was judged yet."""

    pool: Pool
    judge: Judge
    name: str
    reference: str | None
    models: list[Model]
    contestant: Model | None = None
    budget: Budget | None = None
    job_counts: list[JobCounts] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def newcomer(self, opponents: int, reference_matches: int, seed: int) -> Newcomer:
        return Newcomer(self.name, opponents, self.reference, reference_matches, seed)

    def board(
        self,
        ledger: Ledger,
        settings: Settings,
        engine: Engine = HERE,
        retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    ) -> Board:
        return Board(self.pool, self.judge, ledger, replace(settings, reference=self.reference), engine, retry_policy)

    def total(self, newcomer: Newcomer) -> int:
        return sum(1 for _ in uniform_cases(self.pool, newcomer))

    def forecast(self, ledger: Ledger, newcomer: Newcomer) -> Table:
        """Return the calls and cost of uniform sampling, without calls."""
        models = [self.contestant] if self.contestant is not None else []
        pool = self.pool if self.name in self.pool.contestants() else self._with_placeholder_newcomer()
        forecast = call_and_cost_plan.plan_table(
            ledger,
            contestants=models,
            items=pool.items,
            judges=[self.judge],
            cases=lambda _: uniform_cases(pool, newcomer),
        )
        notes: list[str] = [*forecast.notes, *self.messages]
        if pool is not self.pool:
            notes.append(Note("boards.stand-in", name=self.name))
        return replace(forecast, notes=notes)

    def _with_placeholder_newcomer(self) -> Pool:
        """Other contestants' answers replace the newcomer's, for a cost estimate."""
        responses_by_item = {response.item: response for response in self.pool.responses}
        stand_ins = [replace(response, contestant=self.name) for response in responses_by_item.values()]
        return Pool(self.pool.items, (*self.pool.responses, *stand_ins))


def prepare_leaderboard(
    request: LeaderboardRequest, ledger: Ledger, run_options: RunOptions, *, answer: bool
) -> PreparedLeaderboard:
    """Read the files, build the judge, and let the newcomer answer if it is a model."""
    bench = judge_contestant_and_benchmark_specs.benchmark_from_name(request.benchmark)
    with allow_picture_folders(*request.pictures_from), without_pictures(request.without_pictures):
        items = mark_withheld_items(ledger, bench.items(request.data), withheld=request.withheld)
    verified_items = [item for item in items if not is_unverified(item)]
    if items and not verified_items:
        raise InputError(
            f"all {len(items):,} items are marked as not verified ({VERIFIED_TAG}: no), so none is played; people "
            "verify references with `fullbench people add --kind verify`",
            path=request.data,
        )
    played_items = verified_items[: request.limit]
    judge = request.build_judge()
    new_responses = [
        response for path in request.responses for response in read_answers(bench, path, items, request.data, "")
    ]
    contestant = (
        None
        if request.predictions is not None or ":" not in request.model
        else judge_contestant_and_benchmark_specs.contestant_from_spec(request.model)
    )
    name = contestant.name if contestant is not None else request.model
    models = [*call_and_cost_plan.models_of_judges([judge]), *([] if contestant is None else [contestant])]
    prepared = PreparedLeaderboard(Pool(played_items, ()), judge, name, None, models, contestant)
    prepared.messages = limit_messages(len(played_items), len(verified_items))
    if len(verified_items) < len(items):
        prepared.messages.append(
            f"Not played: {len(items) - len(verified_items):,} of {len(items):,} items, marked as not verified "
            f"({VERIFIED_TAG}: no)."
        )
    answering = [] if contestant is None else [contestant]
    refuse_missing_pictures(played_items, answering, [judge], is_allowed=request.without_pictures)
    if answer and run_options.budget is not None:
        prepared.budget = call_and_cost_plan.priced_budget(
            run_options.budget, prepared.models, spent_dollars=run_options.spent_dollars
        )
    if contestant is not None and answer:
        calls = CallContext.from_options(ledger, run_options, prepared.budget, {name: request.model})
        prepared.job_counts = calls.collect_answers([contestant], played_items)
    if request.predictions is not None:
        new_responses += read_answers(bench, request.predictions, items, request.data, name)
    stored_responses = sorted(
        ledger.responses(None, item_keys=[item.key for item in played_items]), key=lambda response: -response.sample
    )
    # If a contestant has several answers to an item, the first sample plays: it comes last and overwrites the others.
    responses = {(response.item, response.contestant): response for response in stored_responses}
    if bench.references is not None:
        references = list(bench.references(items))
        new_responses += references
        prepared.reference = references[0].contestant if references else None
    if answer:
        store_submissions(ledger, items, new_responses)
    ids = {item.id for item in played_items}
    responses.update(
        {(response.item, response.contestant): response for response in new_responses if response.item in ids}
    )
    prepared.pool = Pool(played_items, tuple(responses.values()))
    return prepared


def store_submissions(ledger: Ledger, items: Sequence[Item], responses: Sequence[Response]) -> int:
    """Store every answer of the submissions, played or not, so that later newcomers can be matched on every item."""
    by_id = {item.id: item for item in items}
    response_keys = [(by_id[response.item].key, response.sample) for response in responses]
    stored_keys_by_name = {
        name: ledger.answered_keys(name, response_keys) for name in {response.contestant for response in responses}
    }
    new_count = 0
    for response, response_key in zip(responses, response_keys, strict=True):
        # Stored answers are added, too: the ledger then refuses a different answer under the same name.
        ledger.add_response(by_id[response.item], response)
        new_count += response_key not in stored_keys_by_name[response.contestant]
    ledger.flush()
    return new_count


def read_answers(bench: Benchmark, path: Path, items: Sequence[Item], data: Path | None, name: str) -> list[Response]:
    if bench.submission is not None:
        return list(bench.submission(path, items, data, name))
    return list(read_responses(path, contestant=name or None, items={item.id for item in items}))


def parse_schedule(word: str) -> Schedule:
    """Return the schedule with this name."""
    schedules: tuple[Schedule, ...] = get_args(Schedule)
    if word not in schedules:
        raise InputError(f"unknown schedule {word!r}; known: {', '.join(schedules)}")
    return schedules[schedules.index(word)]
