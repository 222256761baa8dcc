"""From verdicts on pairs to matches: the rule that turns two orders into one result is named, never silent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fullbench.errors import InputError
from fullbench.nouns.record import Record
from fullbench.nouns.verdict import Verdict

Rule = Literal["both-agree", "majority", "each"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, slots=True)
class Match:
    """What one judge made of two responses to an item: 1 when `first` (by name) won, 0 when it lost, 0.5 for a tie.

    `definite` is how many of its verdicts named a winner.
    """

    item: str
    first: str
    second: str
    outcome: float
    definite: int


@dataclass(frozen=True)
class Matches:
    """All matches of one judge under one rule, and what they leave out."""

    judge: str
    rule: Rule
    names: tuple[str, ...]
    matches: tuple[Match, ...]
    half_heard: int

    @property
    def first(self) -> list[int]:
        place = {name: code for code, name in enumerate(self.names)}
        return [place[match.first] for match in self.matches]

    @property
    def second(self) -> list[int]:
        place = {name: code for code, name in enumerate(self.names)}
        return [place[match.second] for match in self.matches]

    @property
    def outcome(self) -> list[float]:
        return [match.outcome for match in self.matches]

    @property
    def item(self) -> list[str]:
        return [match.item for match in self.matches]

    @property
    def ties(self) -> int:
        return sum(match.outcome == 0.5 for match in self.matches)

    def only(self, items: Iterable[str]) -> Matches:
        """The matches on some items."""
        kept = set(items)
        return Matches(
            self.judge, self.rule, self.names, tuple(m for m in self.matches if m.item in kept), self.half_heard
        )


def one_judge(record: Record, judge: str | None = None) -> str:
    """The judge meant; verdicts of several judges never mix by mistake."""
    judges = record.judges
    if judge is None:
        if len(judges) == 1:
            return judges[0]
        found = ", ".join(judges) or "none"
        raise InputError(f"a leaderboard belongs to one judge; the verdicts are those of {found}: name one")
    if judge not in judges:
        raise InputError(f"there is no verdict of {judge!r}; judges there: {', '.join(judges) or 'none'}")
    return judge


def settle(record: Record, judge: str | None = None, rule: Rule = "both-agree") -> Matches:
    """The matches of one judge.

    `both-agree`: who won in both orders won, anything else is a tie. `majority`: a winner named in one order wins when
    the other order names none; opposite ones tie. `each`: every verdict that could be read is a match of its own.
    Under the first two a verdict that names nobody (a tie, or one that could not be read) is nothing definite, and a
    pair of which one order was not heard is no match yet: it is counted as half heard.
    """
    if rule not in RULES:
        raise InputError(f"unknown rule {rule!r}; known: {', '.join(RULES)}")
    who = one_judge(record, judge)
    pairs = [v for v in record if v.judge == who and len(v.contestants) == 2]
    for verdict in pairs:
        if verdict.contestants[0] == verdict.contestants[1]:
            raise InputError(f"{verdict.contestants[0]!r} meets itself on item {verdict.item!r}; a match needs two")
    names = tuple(sorted({name for verdict in pairs for name in verdict.contestants}))
    if rule == "each":
        alone = [_match(v.item, _sides(v), _vote(v), 1) for v in pairs if v.marks is not None]
        return Matches(who, rule, names, tuple(alone), 0)
    heard: dict[tuple[Any, ...], dict[tuple[str, ...], Verdict]] = defaultdict(dict)
    for verdict in pairs:
        key = (verdict.item, verdict.criterion, verdict.ballot, verdict.trial, verdict.rater, _sides(verdict))
        heard[key][verdict.contestants] = verdict
    made = []
    for (item, _, _, _, _, sides), orders in heard.items():
        if len(orders) == 2:
            votes = [_vote(verdict) for verdict in orders.values()]
            definite = sum(vote != 0 for vote in votes)
            made.append(_match(item, sides, _ruled(votes, rule), definite))
    return Matches(who, rule, names, tuple(made), len(heard) - len(made))


def _ruled(votes: Sequence[int], rule: Rule) -> int:
    """1, -1 or 0 from the votes of two orders.

    >>> _ruled([1, 0], "both-agree"), _ruled([1, 0], "majority"), _ruled([1, -1], "majority")
    (0, 1, 0)
    """
    total = sum(votes)
    if rule == "both-agree":
        return total // 2 if abs(total) == 2 else 0
    return (total > 0) - (total < 0)


def _sides(verdict: Verdict) -> tuple[str, str]:
    one, two = sorted(verdict.contestants)
    return one, two


def _vote(verdict: Verdict) -> int:
    """1 for the contestant whose name sorts first, -1 for the other, 0 for nothing definite."""
    if verdict.marks is None or verdict.marks[0] == verdict.marks[1]:
        return 0
    winner = verdict.contestants[0] if verdict.marks[0] > verdict.marks[1] else verdict.contestants[1]
    return 1 if winner == min(verdict.contestants) else -1


def _match(item: str, sides: tuple[str, str], vote: int, definite: int) -> Match:
    return Match(item, *sides, (vote + 1) / 2, definite)
