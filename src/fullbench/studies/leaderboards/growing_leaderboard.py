"""A leaderboard that grows: a newcomer is played against those that are there, and everybody is rated anew.

Whatever the ledger holds is never asked again. Opponents are drawn uniformly, or chosen by how much a match with each
would narrow the newcomer's interval for its price, until the interval is narrow enough.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from fullbench.analysis.boards.leaderboard import Settings, battles
from fullbench.analysis.boards.matches_from_verdicts import Matches, settle
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.judge import Judge, models_of, prompts_of
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import HERE, USUAL, Budget, Engine, Insistence, Stop, Tally, Watch
from fullbench.studies.run.judge_cases import hear

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

Schedule = Literal["uniform", "adaptive"]
_ROUND = 32
# on fewer items than this, the interval that a board shows is too unsure to stop by
_ITEMS = 12
_REPLY = 300


@dataclass(frozen=True)
class Pool:
    """The items, and who answered which of them."""

    items: Sequence[Item]
    responses: Sequence[Response]

    def __post_init__(self) -> None:
        if not self.items:
            raise InputError("a leaderboard needs items")
        twice = [key for key, count in Counter((r.item, r.contestant) for r in self.responses).items() if count > 1]
        if twice:
            raise InputError(f"{twice[0][1]!r} answers item {twice[0][0]!r} twice; keep one answer")

    def of(self, contestant: str) -> dict[str, Response]:
        return {response.item: response for response in self.responses if response.contestant == contestant}

    def contestants(self) -> list[str]:
        return sorted({response.contestant for response in self.responses})


@dataclass(frozen=True)
class Newcomer:
    """Who is added, and how: so many sampled opponents on every item, so many items against the reference."""

    name: str
    opponents: int = 1
    reference: str | None = None
    reference_matches: int = 150
    seed: int = 0


def pair(item: Item, first: Response, second: Response) -> tuple[Case, Case]:
    """A match as its two cases, one in each order."""
    form = Choice(tie=False)
    return Case(item, (first, second), form), Case(item, (second, first), form)


def opponents(pool: Pool, newcomer: Newcomer) -> list[str]:
    """Who there is to play against, the reference left aside; a name that answered nothing is refused."""
    known = pool.contestants()
    if newcomer.name not in known:
        raise InputError(f"{newcomer.name!r} has answered none of the {len(pool.items)} items; give its predictions")
    if newcomer.reference is not None and newcomer.reference not in known:
        raise InputError(f"the reference {newcomer.reference!r} has no answers; contestants: {', '.join(known)}")
    others = [name for name in known if name not in {newcomer.name, newcomer.reference}]
    if not others and newcomer.reference is None:
        raise InputError(f"there is nobody to play {newcomer.name!r} against; give the responses of others")
    return others


def uniform(pool: Pool, newcomer: Newcomer) -> Iterator[Case]:
    """Each item against sampled opponents, some items against the reference, always in both orders.

    What is drawn depends on the seed and the names alone, so the same call gives the same cases on every machine.
    """
    others = opponents(pool, newcomer)
    own_responses = pool.of(newcomer.name)
    responses = {name: pool.of(name) for name in pool.contestants()}
    for item in pool.items:
        there = [name for name in others if item.id in responses[name]]
        draw = random.Random(f"{newcomer.seed}/{newcomer.name}/{item.id}")
        if item.id in own_responses:
            for name in sorted(draw.sample(there, min(newcomer.opponents, len(there)))):
                yield from pair(item, own_responses[item.id], responses[name][item.id])
    if newcomer.reference is not None:
        both = [item for item in pool.items if item.id in own_responses and item.id in responses[newcomer.reference]]
        draw = random.Random(f"{newcomer.seed}/{newcomer.name}")
        for item in draw.sample(both, min(newcomer.reference_matches, len(both))):
            yield from pair(item, own_responses[item.id], responses[newcomer.reference][item.id])


@dataclass
class Added:
    """What came of adding a newcomer."""

    tallies: list[Tally] = field(default_factory=list)
    matches: int = 0
    uniform_matches: int | None = None
    width: float | None = None
    reason: str = ""

    def table(self, newcomer: str) -> Table:
        """What was played, and what uniform sampling would have needed for the same interval."""
        saved = None
        if self.uniform_matches:
            saved = 1 - self.matches / self.uniform_matches
        rows: list[list[Cell]] = [[newcomer, self.matches, self.width, self.uniform_matches, saved]]
        columns = headings("newcomer", "matches", "half interval (points)", "uniform would need", "saved")
        notes = [Note("leaderboard.stopped", "Stopped: {reason}.", reason=self.reason)] if self.reason else []
        return Table("schedule", Note("leaderboard.title.what-was-played", "What was played"), columns, rows, notes)


@dataclass(frozen=True)
class Board:
    """One judge's leaderboard over a pool, kept in a ledger."""

    pool: Pool
    judge: Judge
    ledger: Ledger
    settings: Settings = field(default_factory=Settings)
    engine: Engine = HERE
    insist: Insistence = USUAL

    def record(self) -> Record:
        """The judge's verdicts on the pool's items, old and new."""
        items = {item.id: item for item in self.pool.items}
        stored = self.ledger.record([self.judge.name]).where(lambda verdict: verdict.item in items)
        responses = {(response.item, response.contestant): response for response in self.pool.responses}
        return replace(stored, items=items, responses={**stored.responses, **responses})

    def settled(self) -> Matches | None:
        """The matches so far; None before the first."""
        record = self.record()
        return settle(record, self.judge.name, self.settings.rule) if len(record) else None

    def play(
        self, cases: Callable[[], Iterable[Case]], *, budget: Budget | None, stop: Stop, watch: Watch | None = None
    ) -> list[Tally]:
        """Hear what is due of some cases."""
        return hear(
            [self.judge], lambda _: cases(), self.ledger, engine=self.engine, budget=budget, stop=stop, watch=watch,
            insist=self.insist,
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
    ) -> Added:
        """Play a newcomer. Stopped half-way (a budget, a key press), the same call goes on from there."""
        stop = stop or Stop()
        if schedule == "uniform":
            tallies = self.play(lambda: uniform(self.pool, newcomer), budget=budget, stop=stop, watch=watch)
            return Added(tallies, len(list(uniform(self.pool, newcomer))) // 2, reason=tallies[0].stopped)
        return _Adaptive(self, newcomer, width, most).run(budget, stop, watch)


@dataclass
class _Adaptive:
    """Rounds of matches, each with the opponents that narrow the newcomer's interval most for their price."""

    board: Board
    newcomer: Newcomer
    width: float
    most: int | None
    added: Added = field(default_factory=Added)

    def run(self, budget: Budget | None, stop: Stop, watch: Watch | None) -> Added:
        from fullbench.stats.ratings.next_match import Design

        board, newcomer, added = self.board, self.newcomer, self.added
        others = opponents(board.pool, newcomer)
        names = [newcomer.name, *others, *filter(None, [newcomer.reference])]
        left = self._left(names[1:])
        prices = {name: match_price(board.judge, left[name]) for name in names[1:] if left[name]}
        now = Design.of(self._wins(names))
        while True:
            # What the board shows may be narrower than the model's: the mean of two orders is less than a coin's toss.
            part = min(1.0, self._shown(now.width(0)) / now.width(0))
            added.width = part * now.width(0)
            if reason := self._enough(added.width, left, stop):
                added.reason = reason
                break
            chosen: list[Case] = []
            while len(chosen) < 2 * _ROUND and any(left.values()) and part * now.width(0) > self.width:
                worth = {name: now.gain(0, names.index(name), 0) / prices[name] for name in left if left[name]}
                best = max(sorted(worth), key=lambda name: worth[name])
                chosen += pair(*left[best].pop())
                now = now.after(0, names.index(best))
                if self.most is not None and added.matches + len(chosen) // 2 >= self.most:
                    break
            tallies = board.play(partial(iter, tuple(chosen)), budget=budget, stop=stop, watch=watch)
            added.tallies += tallies
            added.matches += len(chosen) // 2
            if tallies[0].stopped or tallies[0].failed:
                added.reason = tallies[0].stopped or "calls failed"
                break
            now = Design.of(self._wins(names))
        rivals = [names.index(name) for name in names[1:]]
        before = Design.of(self._wins(names, without=newcomer.name)).covariance
        added.uniform_matches = Design(now.strengths, before).uniform_needed(0, rivals, now.width(0))
        return added

    def _shown(self, expected: float) -> float:
        """Half of the interval that the board shows for the newcomer; what is expected while it shows too little."""
        from fullbench.stats.ratings.penalised_ratings import rate_everyone

        settled = self.board.settled()
        if settled is None or self.newcomer.name not in settled.names:
            return expected
        who = settled.names.index(self.newcomer.name)
        rating = rate_everyone(battles(settled), interval="sandwich").estimates[who]
        if rating is None or rating.why or rating.one_sided or (rating.units or 0) < _ITEMS:
            return expected
        return (rating.high - rating.low) / 2

    def _enough(self, width: float, left: dict[str, list[tuple[Item, Response, Response]]], stop: Stop) -> str:
        if width <= self.width:
            return f"the interval is narrow enough (±{width:.0f} points)"
        if stop.reason:
            return stop.reason
        if not any(left.values()):
            return "every pair was played"
        if self.most is not None and self.added.matches >= self.most:
            return f"{self.most} matches were played"
        return ""

    def _left(self, rivals: Sequence[str]) -> dict[str, list[tuple[Item, Response, Response]]]:
        """For each opponent the items still to be played, in an order drawn from the seed."""
        pool, own_responses = self.board.pool, self.board.pool.of(self.newcomer.name)
        settled = self.board.settled()
        done = {(m.item, m.first, m.second) for m in settled.matches} if settled else set()
        left = {}
        for rival in rivals:
            theirs = pool.of(rival)
            sides = tuple(sorted((self.newcomer.name, rival)))
            open_ = [
                (item, own_responses[item.id], theirs[item.id])
                for item in pool.items
                if item.id in own_responses and item.id in theirs and (item.id, *sides) not in done
            ]
            random.Random(f"{self.newcomer.seed}/{self.newcomer.name}/{rival}").shuffle(open_)
            left[rival] = open_
        return left

    def _wins(self, names: Sequence[str], without: str = "") -> Floats:
        import numpy as np

        wins = np.zeros((len(names), len(names)))
        settled = self.board.settled()
        place = {name: code for code, name in enumerate(names) if name != without}
        for match in settled.matches if settled else ():
            if match.first in place and match.second in place:
                wins[place[match.first], place[match.second]] += match.outcome
                wins[place[match.second], place[match.first]] += 1 - match.outcome
        return wins


def match_price(judge: Judge, open_: Sequence[tuple[Item, Response, Response]]) -> float:
    """What a match costs: dollars where prices are known, tokens where they are not, 1 for a judge that is free."""
    from fullbench.models.wire.token_estimates import estimate

    cases = [case for item, first, second in open_[:8] for case in pair(item, first, second)]
    sent = [prompts[0] for case in cases if (prompts := prompts_of(judge, case))]
    models = models_of(judge)
    if not sent or not models:
        return 1.0
    tokens = 2 * sum(map(estimate, sent)) / len(sent)
    into, out = models[0].price or (1.0, 1.0)
    return (tokens * into + 2 * _REPLY * out) / 1e6 if into or out else 1.0
