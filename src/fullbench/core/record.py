"""A record: rulings in memory, and the few ways to look at them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from statistics import fmean
from typing import Any, Literal

from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.notebook_display import Framed
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.errors import InputError

Field = Literal["case", "judge", "item", "ballot", "criterion", "trial", "rater", "fault"]
Rule = Literal["each", "majority", "mean"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """One verdict beside another judge's marks on the same responses, both in the order the verdict was shown."""

    verdict: Verdict
    marks: tuple[float, ...]
    other: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Duel:
    """Two responses to one item compared by one judge: `outcome` is 1 when `first` won, 0 when it lost, 0.5 for a tie.

    `together` is True when one verdict marked both, and then `first` is the one shown first; when they were marked
    apart, `first` is the one whose name sorts first.
    """

    judge: str
    item: str
    criterion: str
    trial: int
    first: str
    second: str
    outcome: float
    together: bool
    rater: str = ""
    samples: tuple[int, int] = (0, 0)


class Responses(dict[tuple[str, str, int], Response]):
    """Responses by item, contestant and sample; a key of two names the first sample."""

    def __init__(self, responses: Mapping[Any, Response] | Iterable[tuple[Any, Response]] = ()) -> None:
        super().__init__({self._whole(key): response for key, response in dict(responses).items()})

    @staticmethod
    def _whole(key: Any) -> tuple[str, str, int]:
        return (key[0], key[1], key[2] if len(key) > 2 else 0)

    def __getitem__(self, key: Any) -> Response:
        return super().__getitem__(self._whole(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._whole(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._whole(key), default)


@dataclass(frozen=True, repr=False)
class Record(Framed):
    """Verdicts, and the items and responses they speak of where these are at hand.

    `asks` is the model that a judge asks, where the judge has a label in the place of the model's name.
    """

    verdicts: tuple[Verdict, ...]
    items: Mapping[str, Item] = field(default_factory=dict)
    responses: Mapping[Any, Response] = field(default_factory=Responses)
    asks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.responses, Responses):
            object.__setattr__(self, "responses", Responses(self.responses))

    def __repr__(self) -> str:
        """In a line: a record of a thousand verdicts would fill a screen with its texts."""
        items = len({verdict.item for verdict in self.verdicts})
        return f"Record({len(self):,} verdicts of {len(self.judges):,} judges on {items:,} items)"

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def _with(self, verdicts: Iterable[Verdict]) -> Record:
        return replace(self, verdicts=tuple(verdicts))

    def where(self, test: Callable[[Verdict], bool] | None = None, **fields: object) -> Record:
        """The verdicts whose fields have the given values, and that pass the test.

        `fault=None` keeps those with marks; `contestant=NAME` those that show it.
        """
        known = set(Verdict.__dataclass_fields__) | {"contestant"}
        for name in fields:
            if name not in known:
                raise InputError(f"a verdict has no field {name!r}; known: {', '.join(sorted(known))}")
        contestant = fields.pop("contestant", None)
        verdicts: Sequence[Verdict] = self.verdicts
        for name, value in fields.items():  # field by field: tables look through a record hundreds of times
            field_of = attrgetter(name)
            verdicts = [verdict for verdict in verdicts if field_of(verdict) == value]
        if contestant is not None:
            verdicts = [verdict for verdict in verdicts if contestant in verdict.contestants]
        return self._with(verdicts if test is None else filter(test, verdicts))

    def by(self, field_: Field | Callable[[Verdict], object]) -> dict[str, Record]:
        """One record for each value of a field (or of a function of the verdict), in sorted order."""
        groups: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            value = field_(verdict) if callable(field_) else getattr(verdict, field_)
            groups.setdefault(str(value), []).append(verdict)
        return {name: self._with(groups[name]) for name in sorted(groups)}

    def tag(self, verdict: Verdict, name: str) -> str:
        """The tag `name` of the verdict's item; an empty string where it has none."""
        item = self.items.get(verdict.item)
        return "" if item is None else item.tags.get(name, "")

    def ordered(self) -> Record:
        """The same record in an order of its own: by what was ruled and on what, whenever it came in.

        What is resampled, and which of several equal cases is shown, depends on the order.
        """
        verdicts = sorted(self.verdicts, key=_place)
        items = {name: self.items[name] for name in sorted(self.items)}
        responses = {name: self.responses[name] for name in sorted(self.responses)}
        return Record(tuple(verdicts), items, responses, self.asks)

    @property
    def judges(self) -> list[str]:
        return sorted({verdict.judge for verdict in self.verdicts})

    @property
    def contestants(self) -> list[str]:
        return sorted({name for verdict in self.verdicts for name in verdict.contestants})

    def spellings(self, judge: str) -> tuple[str, ...]:
        """A judge's name and, where it has a label, what it would be called by its model: alone, or at that label.

        >>> Record((), asks={"lab+direct#1": "qwen@host:80/v1+t0"}).spellings("lab+direct#1")
        ('lab+direct#1', 'qwen@host:80/v1+t0+direct#1', 'qwen@lab+direct#1')
        """
        if judge not in self.asks:
            return (judge,)
        model = self.asks[judge]
        label, _, manner = judge.partition("+")
        return judge, f"{model}+{manner}", f"{model.partition('@')[0].partition('+')[0]}@{label}+{manner}"

    def faults(self) -> dict[str, dict[str, int]]:
        """For each judge, how many verdicts it gave and how many of them are which fault."""
        counts = Counter((verdict.judge, verdict.fault) for verdict in self.verdicts)
        return {
            judge: {
                "verdicts": sum(count for (name, _), count in counts.items() if name == judge),
                **{fault: counts[judge, fault] for fault in FAULTS},
            }
            for judge in self.judges
        }

    def against(self, other: str, rule: Rule = "each") -> list[Pairing]:
        """Every marked verdict of the other judges beside the marks of `other` on the same responses.

        They meet when item, criterion, ballot and the set of contestants are the same; marks are turned to the order
        the verdict was shown. `rule` says what to do with several verdicts of `other`: `each` pairs with every one,
        `majority` with the commonest (ties of the vote are left out), `mean` with the mean mark.
        """
        theirs: dict[tuple[object, ...], list[dict[tuple[str, int], float]]] = {}
        for verdict in self.verdicts:
            if verdict.judge == other and verdict.marks is not None:
                marks = dict(zip(verdict.shown, verdict.marks, strict=True))
                theirs.setdefault(_meeting(verdict), []).append(marks)
        if not theirs:
            raise InputError(f"no marked verdict of judge {other!r} is in the record; judges there: {self.judges}")
        pairings = []
        for verdict in self.verdicts:
            if verdict.judge == other or verdict.marks is None:
                continue
            for marks in _combine(theirs.get(_meeting(verdict), []), rule):
                pairings.append(Pairing(verdict, verdict.marks, tuple(marks[one] for one in verdict.shown)))
        return pairings

    def duels(self, margin: float = 0.0) -> Iterator[Duel]:
        """Every two responses that a judge marked on one item, compared.

        Marks that differ by at most `margin` tie. Responses marked together are compared as they were shown; single
        marks of the same judge, person, item, ballot, criterion and trial are compared with each other. Sample i of a
        contestant meets sample i of another; one with a single sample meets every sample; nobody meets itself.
        """
        apart: dict[tuple[str, str, str, str, int, str], list[_Marked]] = {}
        for verdict in self.verdicts:
            if verdict.marks is None:
                continue
            marked = [(*shown, mark) for shown, mark in zip(verdict.shown, verdict.marks, strict=True)]
            if len(marked) == 1:
                key = (verdict.judge, verdict.item, verdict.ballot, verdict.criterion, verdict.trial, verdict.rater)
                apart.setdefault(key, []).append(marked[0])
                continue
            where = (verdict.judge, verdict.item, verdict.criterion, verdict.trial)
            for one, two in combinations(marked, 2):
                if one[0] != two[0]:
                    yield _duel(where, one, two, margin, together=True, rater=verdict.rater)
        for (judge, item, _, criterion, trial, rater), marked in apart.items():
            several = {name for name, count in Counter(name for name, _, _ in marked).items() if count > 1}
            for one, two in combinations(sorted(marked), 2):
                if one[0] != two[0] and (one[1] == two[1] or not {one[0], two[0]} <= several):
                    yield _duel((judge, item, criterion, trial), one, two, margin, together=False, rater=rater)

    def meeting_themselves(self) -> int:
        """How many verdicts show a contestant twice. No table counts them."""
        return sum(len(set(verdict.contestants)) < len(verdict.contestants) for verdict in self.verdicts)

    def digest(self) -> str:
        """Stands for all that was ruled here, and on what: whatever the order, the times and the cost."""
        return digest(sorted(map(verdict_digest, self.verdicts)))

    def appeal(self) -> list[Response]:
        """The verdicts' texts as responses: of each case, what each judge wrote. They can be judged in turn."""
        return [
            Response(verdict.case, verdict.judge, (verdict.text,), sample=verdict.trial)
            for verdict in self.verdicts
            if verdict.text
        ]


def verdict_digest(v: Verdict) -> str:
    """Stands for what a verdict says, and on what; a record's digest is that of these in sorted order."""
    apart = [[v.rater, v.revision, v.samples]] if v.rater or v.revision or v.samples else []
    return digest([
        v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, v.marks, v.fault, v.text, *apart,
    ])  # fmt: skip


def _place(verdict: Verdict) -> tuple[object, ...]:
    marks = () if verdict.marks is None else verdict.marks
    return (
        verdict.judge, verdict.item, verdict.criterion, verdict.ballot, verdict.contestants, verdict.case,
        verdict.trial, verdict.rater, verdict.revision, marks, verdict.fault or "", verdict.text, repr(verdict.usage),
    )  # fmt: skip


_Marked = tuple[str, int, float]
"""A contestant, which of its samples, and the mark that it got."""


def _meeting(verdict: Verdict) -> tuple[object, ...]:
    return (verdict.item, verdict.criterion, verdict.ballot, *sorted(verdict.shown))


def _combine(votes: list[dict[tuple[str, int], float]], rule: Rule) -> list[dict[tuple[str, int], float]]:
    if len(votes) < 2 or rule == "each":
        return votes
    if rule == "mean":
        return [{name: fmean(vote[name] for vote in votes) for name in votes[0]}]
    ranked = Counter(tuple(sorted(vote.items())) for vote in votes).most_common(2)
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return []
    return [dict(ranked[0][0])]


def _duel(
    where: tuple[str, str, str, int], one: _Marked, two: _Marked, margin: float, *, together: bool, rater: str
) -> Duel:
    difference = one[2] - two[2]
    outcome = 0.5 if abs(difference) <= margin else 1.0 if difference > 0 else 0.0
    return Duel(*where, one[0], two[0], outcome, together, rater, (one[1], two[1]))
