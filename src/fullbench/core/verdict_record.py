"""Records: verdicts in memory, with filters, groups, matches and digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from statistics import fmean
from typing import Any, Literal

from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.registered_display_and_frame_functions import FrameConvertible
from fullbench.core.response import Response
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.errors import InputError
from fullbench.number_agreement import agree_with_one

Field = Literal["case", "judge", "item", "ballot", "criterion", "trial", "rater", "fault"]
Rule = Literal["each", "majority", "mean"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """A verdict and another judge's marks on the same responses, both in the order of the verdict."""

    verdict: Verdict
    marks: tuple[float, ...]
    other_marks: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Two responses to one item compared by one judge: `outcome` is 1 if `first` won, 0 if it lost, 0.5 for a tie.

    `together` is True if one verdict marked both; then `first` is the one shown first. If they were marked separately,
    `first` is the one whose name sorts first.
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
    """Responses by item, contestant and sample; a key of two elements means the first sample."""

    def __init__(self, responses: Mapping[Any, Response] | Iterable[tuple[Any, Response]] = ()) -> None:
        super().__init__({self._full_key(key): response for key, response in dict(responses).items()})

    @staticmethod
    def _full_key(key: Any) -> tuple[str, str, int]:
        return (key[0], key[1], key[2] if len(key) > 2 else 0)

    def __getitem__(self, key: Any) -> Response:
        return super().__getitem__(self._full_key(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._full_key(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(self._full_key(key), default)


@dataclass(frozen=True, repr=False)
class Record(FrameConvertible):
    """Verdicts, with the items and responses they refer to if available.

    `asks` maps a judge to the model that it calls, if the judge's name has a label instead of the model's name. `names`
    are the display names of judges and contestants by full name.
    """

    verdicts: tuple[Verdict, ...]
    items: Mapping[str, Item] = field(default_factory=dict)
    responses: Mapping[Any, Response] = field(default_factory=Responses)
    asks: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.responses, Responses):
            object.__setattr__(self, "responses", Responses(self.responses))

    def __repr__(self) -> str:
        """One line, because the texts of a thousand verdicts would fill a screen."""
        items = len({verdict.item for verdict in self.verdicts})
        return agree_with_one(f"Record({len(self):,} verdicts of {len(self.judges):,} judges on {items:,} items)")

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def _with(self, verdicts: Iterable[Verdict]) -> Record:
        return replace(self, verdicts=tuple(verdicts))

    def where(self, test: Callable[[Verdict], bool] | None = None, **fields: object) -> Record:
        """Return the verdicts whose fields have the given values and that pass the test.

        `fault=None` keeps those with marks; `contestant=NAME` those that show it.
        """
        field_names = set(Verdict.__dataclass_fields__) | {"contestant"}
        for name in fields:
            if name not in field_names:
                raise InputError(f"a verdict has no field {name!r}; known: {', '.join(sorted(field_names))}")
        contestant = fields.pop("contestant", None)
        verdicts: Sequence[Verdict] = self.verdicts
        for name, value in fields.items():  # one field at a time, for speed: tables filter a record hundreds of times
            field_of = attrgetter(name)
            verdicts = [verdict for verdict in verdicts if field_of(verdict) == value]
        if contestant is not None:
            verdicts = [verdict for verdict in verdicts if contestant in verdict.contestants]
        return self._with(verdicts if test is None else filter(test, verdicts))

    def by(self, field_: Field | Callable[[Verdict], object]) -> dict[str, Record]:
        """Return one record for each value of a field (or of a function of the verdict), in sorted order."""
        groups: dict[str, list[Verdict]] = {}
        for verdict in self.verdicts:
            value = field_(verdict) if callable(field_) else getattr(verdict, field_)
            groups.setdefault(str(value), []).append(verdict)
        return {name: self._with(groups[name]) for name in sorted(groups)}

    def tag(self, verdict: Verdict, name: str) -> str:
        """Return the tag `name` of the verdict's item, or an empty string."""
        item = self.items.get(verdict.item)
        return "" if item is None else item.tags.get(name, "")

    def in_canonical_order(self) -> Record:
        """Return the record in an order independent of arrival: resampling and choices among equals depend on it."""
        verdicts = sorted(self.verdicts, key=_sort_key)
        items = {name: self.items[name] for name in sorted(self.items)}
        responses = {name: self.responses[name] for name in sorted(self.responses)}
        return Record(tuple(verdicts), items, responses, self.asks, self.names)

    @property
    def judges(self) -> list[str]:
        return sorted({verdict.judge for verdict in self.verdicts})

    @property
    def contestants(self) -> list[str]:
        return sorted({name for verdict in self.verdicts for name in verdict.contestants})

    def spellings(self, judge: str) -> tuple[str, ...]:
        """Return a judge's name and, if it has a label, its names by model: alone, or at that label.

        >>> Record((), asks={"lab+direct#1": "qwen@host:80/v1+t0"}).spellings("lab+direct#1")
        ('lab+direct#1', 'qwen@host:80/v1+t0+direct#1', 'qwen@lab+direct#1')
        """
        if judge not in self.asks:
            return (judge,)
        model = self.asks[judge]
        label, _, prompt_style = judge.partition("+")
        return judge, f"{model}+{prompt_style}", f"{model.partition('@')[0].partition('+')[0]}@{label}+{prompt_style}"

    def faults(self) -> dict[str, dict[str, int]]:
        """Return, for each judge, the number of verdicts and the number of each fault."""
        counts = Counter((verdict.judge, verdict.fault) for verdict in self.verdicts)
        return {
            judge: {
                "verdicts": sum(count for (name, _), count in counts.items() if name == judge),
                **{fault: counts[judge, fault] for fault in FAULTS},
            }
            for judge in self.judges
        }

    def against(self, other_judge: str, rule: Rule = "each") -> list[Pairing]:
        """Pair every marked verdict of the other judges with the marks of `other_judge` on the same responses.

        Verdicts match if item, criterion, ballot and the set of contestants are the same. Marks are in the order of
        the verdict. `rule` handles several verdicts of `other_judge`: `each` pairs with every one, `majority` with the
        most common (tied votes are left out), `mean` with the mean mark.
        """
        theirs: dict[tuple[object, ...], list[dict[tuple[str, int], float]]] = {}
        for verdict in self.verdicts:
            if verdict.judge == other_judge and verdict.marks is not None:
                marks = dict(zip(verdict.shown_responses, verdict.marks, strict=True))
                theirs.setdefault(_comparison_key(verdict), []).append(marks)
        if not theirs:
            raise InputError(f"the record has no marked verdict of judge {other_judge!r}; judges there: {self.judges}")
        pairings = []
        for verdict in self.verdicts:
            if verdict.judge == other_judge or verdict.marks is None:
                continue
            for marks in _combine_votes(theirs.get(_comparison_key(verdict), []), rule):
                pairings.append(
                    Pairing(
                        verdict, verdict.marks, tuple(marks[response_key] for response_key in verdict.shown_responses)
                    )
                )
        return pairings

    def matches(self, margin: float = 0.0) -> Iterator[Match]:
        """Yield every two responses that a judge marked on one item, compared.

        Marks that differ by at most `margin` tie. Responses marked together are compared as shown. Single marks of the
        same judge, person, item, ballot, criterion and trial are compared with each other. Sample i of a contestant
        meets sample i of another; a contestant with a single sample meets every sample; nobody meets itself.
        """
        separate_marks: dict[tuple[str, str, str, str, int, str], list[_MarkedResponse]] = {}
        for verdict in self.verdicts:
            if verdict.marks is None:
                continue
            marked_responses = [
                (*response_key, mark) for response_key, mark in zip(verdict.shown_responses, verdict.marks, strict=True)
            ]
            if len(marked_responses) == 1:
                key = (verdict.judge, verdict.item, verdict.ballot, verdict.criterion, verdict.trial, verdict.rater)
                separate_marks.setdefault(key, []).append(marked_responses[0])
                continue
            where = (verdict.judge, verdict.item, verdict.criterion, verdict.trial)
            for first, second in combinations(marked_responses, 2):
                if first[0] != second[0]:
                    yield _make_match(where, first, second, margin, together=True, rater=verdict.rater)
        for (judge, item, _, criterion, trial, rater), marked_responses in separate_marks.items():
            repeated_contestants = {
                name for name, count in Counter(name for name, _, _ in marked_responses).items() if count > 1
            }
            for first, second in combinations(sorted(marked_responses), 2):
                if first[0] != second[0] and (
                    first[1] == second[1] or not {first[0], second[0]} <= repeated_contestants
                ):
                    yield _make_match(
                        (judge, item, criterion, trial), first, second, margin, together=False, rater=rater
                    )

    def digest(self) -> str:
        """Return a digest of all verdicts and their subjects, independent of order, time and cost."""
        return digest(sorted(map(verdict_digest, self.verdicts)))

    def verdicts_as_responses(self) -> list[Response]:
        """Return the verdicts' texts as responses to their cases, so that they can be judged in turn."""
        return [
            Response(verdict.case, verdict.judge, (verdict.text,), sample=verdict.trial)
            for verdict in self.verdicts
            if verdict.text
        ]


def verdict_digest(v: Verdict) -> str:
    """Return a digest of a verdict and its subject; a record's digest is that of these in sorted order."""
    subject = (v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial)
    return digest_of_parts(subject, (v.marks, v.fault, v.text), (v.rater, v.revision, v.samples))


def digest_of_parts(subject: Sequence[Any], outcome: Sequence[Any], vote: Sequence[Any]) -> str:
    """Return the digest of a verdict from its parts, which a store can pass without a `Verdict`."""
    # Votes with the default values keep the digest of older versions, which had no such fields.
    return digest([*subject, *outcome, *([vote] if any(vote) else [])])


def _sort_key(verdict: Verdict) -> tuple[object, ...]:
    marks = () if verdict.marks is None else verdict.marks
    return (
        verdict.judge, verdict.item, verdict.criterion, verdict.ballot, verdict.contestants, verdict.case,
        verdict.trial, verdict.rater, verdict.revision, marks, verdict.fault or "", verdict.text, repr(verdict.usage),
    )  # fmt: skip


_MarkedResponse = tuple[str, int, float]
"""Contestant, sample number and mark."""


def _comparison_key(verdict: Verdict) -> tuple[object, ...]:
    return (verdict.item, verdict.criterion, verdict.ballot, *sorted(verdict.shown_responses))


def _combine_votes(votes: list[dict[tuple[str, int], float]], rule: Rule) -> list[dict[tuple[str, int], float]]:
    if len(votes) < 2 or rule == "each":
        return votes
    if rule == "mean":
        return [{name: fmean(vote[name] for vote in votes) for name in votes[0]}]
    commonest_votes = Counter(tuple(sorted(vote.items())) for vote in votes).most_common(2)
    if len(commonest_votes) > 1 and commonest_votes[0][1] == commonest_votes[1][1]:
        return []
    return [dict(commonest_votes[0][0])]


def _make_match(
    where: tuple[str, str, str, int],
    first: _MarkedResponse,
    second: _MarkedResponse,
    margin: float,
    *,
    together: bool,
    rater: str,
) -> Match:
    difference = first[2] - second[2]
    outcome = 0.5 if abs(difference) <= margin else 1.0 if difference > 0 else 0.0
    return Match(*where, first[0], second[0], outcome, together, rater, (first[1], second[1]))
