"""Add a newcomer to a leaderboard: choose its matches, play them and rate everyone again.

Stored verdicts are not requested again. Opponents are drawn uniformly, or by how much a match narrows the newcomer's
interval per dollar, until the interval is narrow enough.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from fullbench.analysis.boards.leaderboard import Settings, count_matches
from fullbench.analysis.boards.matches_from_verdicts import Matches, build_matches
from fullbench.core.ballot import Choice
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge, models_of, prompts_of
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import DEFAULT_RETRY_POLICY, HERE, Budget, Engine, JobCounts, RetryPolicy, Stop, Watch
from fullbench.studies.run.judge_cases import judge_cases

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

Schedule = Literal["uniform", "adaptive"]
# Pairs are chosen again after each round: shorter rounds choose better and take longer.
_ROUND = 32
# With fewer items, the interval that the board shows is too uncertain for a decision to stop.
_ITEMS = 12
_REPLY = 300  # assumed tokens of a reply, as in `cost_forecast.TOKENS_OUT`


@dataclass(frozen=True)
class Pool:
    """The items and all responses to them."""

    items: Sequence[Item]
    responses: Sequence[Response]

    def __post_init__(self) -> None:
        if not self.items:
            raise InputError("a leaderboard needs items")
        twice = [key for key, count in Counter((r.item, r.contestant) for r in self.responses).items() if count > 1]
        if twice:
            raise InputError(f"{twice[0][1]!r} answers item {twice[0][0]!r} twice; keep one answer")

    def responses_of(self, contestant: str) -> dict[str, Response]:
        return {response.item: response for response in self.responses if response.contestant == contestant}

    def contestants(self) -> list[str]:
        return sorted({response.contestant for response in self.responses})


@dataclass(frozen=True)
class Newcomer:
    """The new contestant, the number of opponents per item, and the number of items against the reference."""

    name: str
    opponents: int = 1
    reference: str | None = None
    reference_matches: int = 150
    seed: int = 0


def match_cases(item: Item, first: Response, second: Response) -> tuple[Case, Case]:
    """Return the two cases of a match, one in each order."""
    form = Choice(tie=False)
    return Case(item, (first, second), form), Case(item, (second, first), form)


def available_opponents(pool: Pool, newcomer: Newcomer) -> list[str]:
    """Return the opponents without the reference; refuse names that have no responses."""
    contestants = pool.contestants()
    if newcomer.name not in contestants:
        raise InputError(f"{newcomer.name!r} has answered none of the {len(pool.items)} items; give its predictions")
    if newcomer.reference is not None and newcomer.reference not in contestants:
        raise InputError(f"the reference {newcomer.reference!r} has no answers; contestants: {', '.join(contestants)}")
    rival_names = [name for name in contestants if name not in {newcomer.name, newcomer.reference}]
    if not rival_names and newcomer.reference is None:
        raise InputError(f"{newcomer.name!r} has no opponents; give the responses of others")
    return rival_names


def uniform_cases(pool: Pool, newcomer: Newcomer) -> Iterator[Case]:
    """Yield each item against sampled opponents, and some items against the reference, in both orders.

    The sample depends only on the seed and the names, so every machine gets the same cases.
    """
    rival_names = available_opponents(pool, newcomer)
    own_responses = pool.responses_of(newcomer.name)
    responses = {name: pool.responses_of(name) for name in pool.contestants()}
    for item in pool.items:
        there = [name for name in rival_names if item.id in responses[name]]
        draw = random.Random(f"{newcomer.seed}/{newcomer.name}/{item.id}")
        if item.id in own_responses:
            for name in sorted(draw.sample(there, min(newcomer.opponents, len(there)))):
                yield from match_cases(item, own_responses[item.id], responses[name][item.id])
    if newcomer.reference is not None:
        both = [item for item in pool.items if item.id in own_responses and item.id in responses[newcomer.reference]]
        draw = random.Random(f"{newcomer.seed}/{newcomer.name}")
        for item in draw.sample(both, min(newcomer.reference_matches, len(both))):
            yield from match_cases(item, own_responses[item.id], responses[newcomer.reference][item.id])


@dataclass
class NewcomerResult:
    """Result of adding a newcomer."""

    job_counts: list[JobCounts] = field(default_factory=list)
    matches: int = 0
    uniform_matches: int | None = None
    width: float | None = None
    reason: str = ""

    def table(self, newcomer: str) -> Table:
        """Return the matches played, and the number that uniform sampling would need for the same interval."""
        saved_share = None
        if self.uniform_matches:
            saved_share = 1 - self.matches / self.uniform_matches
        rows: list[list[Cell]] = [[newcomer, self.matches, self.width, self.uniform_matches, saved_share]]
        columns = table_columns("newcomer", "matches", "half interval (points)", "uniform would need", "saved")
        notes = [Note("leaderboard.stopped", reason=self.reason)] if self.reason else []
        return Table("schedule", Note("leaderboard.title.what-was-played"), columns, rows, notes)


@dataclass(frozen=True)
class Board:
    """Leaderboard of one judge over a pool, stored in a ledger."""

    pool: Pool
    judge: Judge
    ledger: Ledger
    settings: Settings = field(default_factory=Settings)
    engine: Engine = HERE
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY

    def record(self) -> Record:
        """Return all verdicts of the judge on the pool's items."""
        items = {item.id: item for item in self.pool.items}
        stored_record = self.ledger.record([self.judge.name]).where(lambda verdict: verdict.item in items)
        responses = {(response.item, response.contestant): response for response in self.pool.responses}
        return replace(stored_record, items=items, responses={**stored_record.responses, **responses})

    def load_matches(self) -> Matches | None:
        """Return the matches so far, or None before the first."""
        columns = self.ledger.columns([self.judge.name], study=self.ledger.one_study())
        columns = columns.where(item=[item.id for item in self.pool.items])
        return build_matches(columns, self.judge.name, self.settings.rule) if len(columns) else None

    def play(
        self, cases: Callable[[], Iterable[Case]], *, budget: Budget | None, stop: Stop, watch: Watch | None = None
    ) -> list[JobCounts]:
        """Judge the cases that are due."""
        return judge_cases(
            [self.judge], lambda _: cases(), self.ledger, engine=self.engine, budget=budget, stop=stop, watch=watch,
            retry_policy=self.retry_policy,
        )  # fmt: skip

    def add(
        self,
        newcomer: Newcomer,
        *,
        schedule: Schedule = "uniform",
        width: float = 25.0,
        most: int | None = None,
        budget: Budget | None = None,
        stop: Stop | None = None,
        watch: Watch | None = None,
    ) -> NewcomerResult:
        """Play the matches of a newcomer. The same call resumes a run that was stopped."""
        stop = stop or Stop()
        if schedule == "uniform":
            job_counts = self.play(lambda: uniform_cases(self.pool, newcomer), budget=budget, stop=stop, watch=watch)
            return NewcomerResult(
                job_counts, len(list(uniform_cases(self.pool, newcomer))) // 2, reason=job_counts[0].stop_reason
            )
        return _AdaptiveSchedule(self, newcomer, width, most).run(budget, stop, watch)


@dataclass
class _AdaptiveSchedule:
    board: Board
    newcomer: Newcomer
    width: float
    most: int | None
    newcomer_result: NewcomerResult = field(default_factory=NewcomerResult)

    def run(self, budget: Budget | None, stop: Stop, watch: Watch | None) -> NewcomerResult:
        from fullbench.stats.ratings.next_match import Design

        board, newcomer, newcomer_result = self.board, self.newcomer, self.newcomer_result
        rival_names = available_opponents(board.pool, newcomer)
        names = [newcomer.name, *rival_names, *filter(None, [newcomer.reference])]
        left = self._open_matches(names[1:])
        prices = {name: match_price(board.judge, left[name]) for name in names[1:] if left[name]}
        now = Design.from_wins(self._wins(names))
        while True:
            # The board's interval may be narrower than the model's: the mean of two orders varies less than a coin.
            part = min(1.0, self._shown_half_width(now.width(0)) / now.width(0))
            newcomer_result.width = part * now.width(0)
            if reason := self._stop_reason(newcomer_result.width, left, stop):
                newcomer_result.reason = reason
                break
            next_cases: list[Case] = []
            while len(next_cases) < 2 * _ROUND and any(left.values()) and part * now.width(0) > self.width:
                worth = {name: now.gain(0, names.index(name), 0) / prices[name] for name in left if left[name]}
                best = max(sorted(worth), key=lambda name: worth[name])
                next_cases += match_cases(*left[best].pop())
                now = now.after(0, names.index(best))
                if self.most is not None and newcomer_result.matches + len(next_cases) // 2 >= self.most:
                    break
            job_counts = board.play(partial(iter, tuple(next_cases)), budget=budget, stop=stop, watch=watch)
            newcomer_result.job_counts += job_counts
            newcomer_result.matches += len(next_cases) // 2
            if job_counts[0].stop_reason or job_counts[0].failure_count:
                newcomer_result.reason = job_counts[0].stop_reason or "calls failed"
                break
            now = Design.from_wins(self._wins(names))
        rivals = [names.index(name) for name in names[1:]]
        before = Design.from_wins(self._wins(names, without=newcomer.name)).covariance
        newcomer_result.uniform_matches = Design(now.strengths, before).uniform_needed(0, rivals, now.width(0))
        return newcomer_result

    def _shown_half_width(self, expected_width: float) -> float:
        """Return `expected_width` if the newcomer has too few items."""
        from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import rate_everyone

        matches = self.board.load_matches()
        if matches is None or self.newcomer.name not in matches.names:
            return expected_width
        who = matches.names.index(self.newcomer.name)
        rating = rate_everyone(count_matches(matches), interval="sandwich").estimates[who]
        if rating is None or rating.why or rating.one_sided or (rating.units or 0) < _ITEMS:
            return expected_width
        return (rating.high - rating.low) / 2

    def _stop_reason(self, width: float, left: dict[str, list[tuple[Item, Response, Response]]], stop: Stop) -> str:
        if width <= self.width:
            return f"the interval is narrow enough (±{width:.0f} points)"
        if stop.reason:
            return stop.reason
        if not any(left.values()):
            return "every pair was played"
        if self.most is not None and self.newcomer_result.matches >= self.most:
            return f"{self.most} matches were played"
        return ""

    def _open_matches(self, rivals: Sequence[str]) -> dict[str, list[tuple[Item, Response, Response]]]:
        pool, own_responses = self.board.pool, self.board.pool.responses_of(self.newcomer.name)
        matches = self.board.load_matches()
        played_keys = matches.played() if matches else set()
        left = {}
        for rival in rivals:
            theirs = pool.responses_of(rival)
            sides = tuple(sorted((self.newcomer.name, rival)))
            open_ = [
                (item, own_responses[item.id], theirs[item.id])
                for item in pool.items
                if item.id in own_responses and item.id in theirs and (item.id, *sides) not in played_keys
            ]
            random.Random(f"{self.newcomer.seed}/{self.newcomer.name}/{rival}").shuffle(open_)
            left[rival] = open_
        return left

    def _wins(self, names: Sequence[str], without: str = "") -> Floats:
        import numpy as np

        wins = np.zeros((len(names), len(names)))
        matches = self.board.load_matches()
        if matches:
            codes = [code for code, name in enumerate(matches.names) if name in names and name != without]
            places = [names.index(matches.names[code]) for code in codes]
            wins[np.ix_(places, places)] = count_matches(matches).matrix()[np.ix_(codes, codes)]
        return wins


def match_price(judge: Judge, open_: Sequence[tuple[Item, Response, Response]]) -> float:
    """Return the cost of a match: in dollars if prices are known, else in tokens; 1 for a free judge."""
    from fullbench.models.wire.token_estimates import estimate_tokens

    cases = [case for item, first, second in open_[:8] for case in match_cases(item, first, second)]
    first_prompts = [prompts[0] for case in cases if (prompts := prompts_of(judge, case))]
    models = models_of(judge)
    if not first_prompts or not models:
        return 1.0
    tokens = 2 * sum(map(estimate_tokens, first_prompts)) / len(first_prompts)
    into, out = models[0].price or (1.0, 1.0)
    return (tokens * into + 2 * _REPLY * out) / 1e6 if into or out else 1.0
