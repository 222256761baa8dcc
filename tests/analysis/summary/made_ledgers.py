"""Random ledgers with judges of known quality, for tests of the summary."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from fullbench.core.ballot import Choice, Score
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.ledger.ledger import Ledger


@dataclass(frozen=True)
class MadeJudge:
    """A judge with noise, a lead for the first response shown, and a share of refusals; it may be constant."""

    noise: float = 0.3
    first: float = 0.0
    refuses: float = 0.0
    is_constant: bool = False


@dataclass(frozen=True)
class Made:
    """What a random ledger holds."""

    judges: Mapping[str, MadeJudge]
    worth: Mapping[str, float] = field(default_factory=lambda: {"ann": 1.5, "bob": 0.0, "cid": -1.5})
    items: int = 40
    raters: int = 3
    voted: int = 40
    criteria: Sequence[str] = ("overall",)
    scores: bool = False
    seed: int = 0

    def verdicts(self) -> list[tuple[Case, list[Verdict]]]:
        """Return the cases with all their verdicts."""
        draw = random.Random(self.seed)
        rows = []
        for number in range(self.items):
            item = Item.ask(f"q{number:03}", f"Question {number}?")
            quality = {name: value + draw.gauss(0, 0.5) for name, value in self.worth.items()}
            responses = [Response.say(item.id, name, " ".join(["word"] * draw.randint(3, 40))) for name in self.worth]
            for criterion in self.criteria:
                for pair in combinations(responses, 2):
                    for order in (pair, pair[::-1]):
                        case = Case(item, order, Choice(tie=True), criterion)
                        verdicts = [self._verdict(case, name, quality, draw) for name in self.judges]
                        if number < self.voted and order == pair:
                            verdicts += self._votes(case, quality, draw)
                        rows.append((case, verdicts))
                for response in responses if self.scores else ():
                    case = Case(item, (response,), Score(1, 5), criterion)
                    verdicts = [self._verdict(case, name, quality, draw) for name in self.judges]
                    rows.append((case, verdicts + (self._votes(case, quality, draw) if number < self.voted else [])))
        return rows

    def record(self) -> Record:
        """Return all verdicts as a record."""
        rows = self.verdicts()
        responses = {(case.item.id, one.contestant, 0): one for case, _ in rows for one in case.responses}
        items = {case.item.id: case.item for case, _ in rows}
        return Record(tuple(verdict for _, verdicts in rows for verdict in verdicts), items, responses)

    def write(self, path: Path) -> Path:
        """Write all verdicts to a ledger."""
        with Ledger(path) as ledger:
            for case, verdicts in self.verdicts():
                ledger.add(case, *verdicts)
        return path

    def _votes(self, case: Case, quality: Mapping[str, float], draw: random.Random) -> list[Verdict]:
        person = MadeJudge(noise=0.4)
        return [
            Verdict.from_case(case, "human", _marks(case, person, quality, draw), rater=f"r{rater}")
            for rater in range(self.raters)
        ]

    def _verdict(self, case: Case, name: str, quality: Mapping[str, float], draw: random.Random) -> Verdict:
        judge = self.judges[name]
        if draw.random() < judge.refuses:
            return Verdict.from_case(case, name, "refused")
        return Verdict.from_case(case, name, _marks(case, judge, quality, draw))


def _marks(case: Case, judge: MadeJudge, quality: Mapping[str, float], draw: random.Random) -> tuple[float, ...]:
    values = [quality[response.contestant] + draw.gauss(0, judge.noise) for response in case.responses]
    if len(values) == 1:
        return (3.0 if judge.is_constant else float(min(5, max(1, round(3 + values[0])))),)
    if judge.is_constant:
        return (1.0, 0.0)
    gap = values[0] + judge.first - values[1]
    return (0.5, 0.5) if abs(gap) < 0.2 else (1.0, 0.0) if gap > 0 else (0.0, 1.0)
