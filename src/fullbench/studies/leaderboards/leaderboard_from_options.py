"""From the words of a command line to a leaderboard: items, answers, judge, newcomer."""

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
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.files.item_files import read_responses
from fullbench.files.picture_access_policy import allowing, without_pictures
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_and_model_specs
from fullbench.studies.engines import HERE, USUAL, Budget, Engine, Insistence, Tally
from fullbench.studies.leaderboards.growing_leaderboard import Board, Newcomer, Pool, Schedule, uniform
from fullbench.studies.leaderboards.withheld_test_sets import marked
from fullbench.studies.run import study_plan
from fullbench.studies.run.answer_items import answer as answer_all
from fullbench.studies.run.missing_pictures import refuse_blind
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms
from fullbench.studies.run.study_inputs import left_by_limit


@dataclass(frozen=True)
class Asked:
    """What a user asked for."""

    benchmark: str
    data: Path | None
    responses: tuple[Path, ...]
    model: str
    predictions: Path | None
    judge: str
    manner: str = ""
    reader: str | None = None
    without_pictures: bool = False
    pictures_from: tuple[Path, ...] = ()
    limit: int | None = None
    """Play on so many of the first items alone; submissions are kept whole all the same."""
    withheld: bool = False
    """Whether the items are a test set that is not published."""


@dataclass
class Ready:
    """Everything made and read; nothing heard yet."""

    pool: Pool
    judge: Judge
    name: str
    reference: str | None
    models: list[Model]
    contestant: Model | None = None
    purse: Budget | None = None
    tallies: list[Tally] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def newcomer(self, opponents: int, reference_matches: int, seed: int) -> Newcomer:
        return Newcomer(self.name, opponents, self.reference, reference_matches, seed)

    def board(self, ledger: Ledger, chosen: Settings, engine: Engine = HERE, insist: Insistence = USUAL) -> Board:
        return Board(self.pool, self.judge, ledger, replace(chosen, reference=self.reference), engine, insist)

    def total(self, newcomer: Newcomer) -> int:
        return sum(1 for _ in uniform(self.pool, newcomer))

    def forecast(self, ledger: Ledger, newcomer: Newcomer) -> Table:
        """What uniform sampling would ask, and what it would cost; nothing is asked."""
        models = [self.contestant] if self.contestant is not None else []
        pool = self.pool if self.name in self.pool.contestants() else self._stand_in()
        forecast = study_plan.table(
            ledger, contestants=models, items=pool.items, judges=[self.judge], cases=lambda _: uniform(pool, newcomer)
        )
        notes: list[str] = [*forecast.notes, *self.said]
        if pool is not self.pool:
            notes.append(
                Note(
                    "boards.stand-in",
                    "{name} has not answered yet: answers of others stand in for its own.",
                    name=self.name,
                )
            )
        return replace(forecast, notes=notes)

    def _stand_in(self) -> Pool:
        """The pool with somebody's answer to each item said to be the newcomer's, to know about what it will cost."""
        others = {response.item: response for response in self.pool.responses}
        stand_ins = [replace(response, contestant=self.name) for response in others.values()]
        return Pool(self.pool.items, (*self.pool.responses, *stand_ins))


def prepare(asked: Asked, ledger: Ledger, terms: RunTerms, *, answer: bool) -> Ready:
    """Read the files, make the judge, and let the newcomer answer where it is a model."""
    bench = judge_and_model_specs.benchmark(asked.benchmark)
    with allowing(*asked.pictures_from), without_pictures(asked.without_pictures):
        items = marked(ledger, bench.items(asked.data), withheld=asked.withheld)
    played = items[: asked.limit]
    spec = judge_and_model_specs.in_words_of(
        asked.benchmark, asked.judge, manner=asked.manner, reader=asked.reader or ""
    )
    judge = judge_and_model_specs.judge(spec)
    brought = [response for path in asked.responses for response in read_answers(bench, path, items, asked.data, "")]
    contestant = (
        None
        if asked.predictions is not None or ":" not in asked.model
        else judge_and_model_specs.contestant(asked.model)
    )
    name = contestant.name if contestant is not None else asked.model
    models = [*study_plan.models_asked([judge]), *([] if contestant is None else [contestant])]
    ready = Ready(Pool(played, ()), judge, name, None, models, contestant)
    ready.said = left_by_limit(len(played), len(items))
    answering = [] if contestant is None else [contestant]
    refuse_blind(played, answering, [judge], allowed=asked.without_pictures)
    if answer and terms.budget is not None:
        ready.purse = study_plan.purse(terms.budget, ready.models, spent=terms.spent)
    if contestant is not None and answer:
        with watching("answers", [name], len(played), quiet=terms.quiet) as watch:
            ready.tallies = answer_all(
                [contestant], played, ledger, engine=terms.engine, specs={name: asked.model}, budget=ready.purse,
                stop=terms.stop, watch=watch, insist=terms.insist,
            )  # fmt: skip
    if asked.predictions is not None:
        brought += read_answers(bench, asked.predictions, items, asked.data, name)
    stored = sorted(
        ledger.responses(None, item_keys=[item.key for item in played]), key=lambda response: -response.sample
    )
    # Of several answers of one contestant to an item, the first plays.
    responses = {(response.item, response.contestant): response for response in stored}
    if bench.references is not None:
        references = list(bench.references(items))
        brought += references
        ready.reference = references[0].contestant if references else None
    if answer:
        keep(ledger, items, brought)
    ids = {item.id for item in played}
    responses.update({(response.item, response.contestant): response for response in brought if response.item in ids})
    ready.pool = Pool(played, tuple(responses.values()))
    return ready


def keep(ledger: Ledger, items: Sequence[Item], responses: Sequence[Response]) -> int:
    """Enter whole submissions: every answer, played or not, so that whoever comes later can meet it on every item."""
    by_id = {item.id: item for item in items}
    asked = [(by_id[response.item].key, response.sample) for response in responses]
    known = {name: ledger.answered(name, asked) for name in {response.contestant for response in responses}}
    entered = 0
    for response, place in zip(responses, asked, strict=True):
        # A known answer goes in too: the ledger refuses one that says something else under the same name.
        ledger.add_response(by_id[response.item], response)
        entered += place not in known[response.contestant]
    ledger.flush()
    return entered


def read_answers(bench: Benchmark, path: Path, items: Sequence[Item], data: Path | None, name: str) -> list[Response]:
    if bench.submission is not None:
        return list(bench.submission(path, items, data, name))
    return list(read_responses(path, contestant=name or None, items={item.id for item in items}))


def schedule(word: str) -> Schedule:
    """A schedule from its word."""
    known: tuple[Schedule, ...] = get_args(Schedule)
    if word not in known:
        raise InputError(f"unknown schedule {word!r}; known: {', '.join(known)}")
    return known[known.index(word)]
