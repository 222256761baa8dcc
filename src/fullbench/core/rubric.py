"""A rubric: several criteria, each with words, a ballot and a weight, that one judge fills in for a response."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from fullbench.core.ballot import Ballot, Likert, Real, Score, ballot
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.judge import Kind
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError

RUBRIC = "rubric:"
"""How the names of such judges begin."""
CHECK = "likert:no|yes"
"""The ballot of a criterion that names none: a checklist's."""
OWN = "rubric"
"""The tag of items that bring criteria of their own, as a JSON list."""
TOTAL = "real:0-1"
"""The ballot of a rubric's total: each criterion's share of its scale, weighted."""
_KEYS = ("name", "asks", "weight", "ballot")


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric: its name, what it asks in words, how much it counts and how it is marked.

    One that belongs to a single item (`item`) goes by its words alone, so that no other item's is taken for it.
    """

    name: str
    asks: str = ""
    weight: float = 1.0
    ballot: str = CHECK
    item: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("a criterion of a rubric has a name or words; found none")
        if not 0 < self.weight < float("inf"):
            raise InputError(
                f"the criterion {self.name!r} has the weight {self.weight:g}; it must be above 0: turn its words round"
            )
        if not isinstance(ballot(self.ballot), Score | Real | Likert):
            raise InputError(
                f"the criterion {self.name!r} is marked on a scale for each response alone (score:1-5, real:0-1, "
                f"likert:no|yes); found {self.ballot!r}"
            )

    @property
    def words(self) -> str:
        """What the judge is asked."""
        return self.asks or self.name

    @classmethod
    def of(cls, entry: Any, *, item: str = "") -> Criterion:
        """A criterion as files have it: a text, or a table with `name`, `asks`, `weight` and `ballot`."""
        table = {"asks": entry} if isinstance(entry, str) else entry
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key, ""), str) for key in ("name", "asks")):
            raise InputError(f"a criterion is a text or a table with {', '.join(_KEYS)}; found {str(entry)[:60]!r}")
        if unknown := [str(key) for key in table if key not in _KEYS]:
            raise InputError(f"a criterion has {', '.join(_KEYS)}; found {unknown[0]!r}")
        weight = table.get("weight", 1)
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise InputError(f"the weight of a criterion is a number; found {weight!r}")
        asks, name = str(table.get("asks", "")).strip(), str(table.get("name", "")).strip()
        form = str(table.get("ballot", CHECK))
        if item:
            named = f"{name}: {asks}" if name and asks else asks or name
            return cls(named, "", float(weight), form, item)
        return cls(name or asks, asks if name else "", float(weight), form)

    @property
    def table(self) -> dict[str, Any]:
        """As a file has it."""
        return {"name": self.name, "asks": self.words, "weight": self.weight, "ballot": self.ballot}


def criteria_of(entries: Any, *, item: str = "") -> tuple[Criterion, ...]:
    """The criteria of a list; a name that comes twice is refused."""
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"a rubric is a list of criteria; found {str(entries)[:60]!r}")
    criteria = tuple(Criterion.of(entry, item=item) for entry in entries)
    names = [criterion.name for criterion in criteria]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the rubric names the criterion {twice[0]!r} twice; names must differ")
    return criteria


def own_criteria(items: Iterable[Item]) -> tuple[Criterion, ...]:
    """The criteria that items bring themselves, in their column `rubric`."""
    criteria: list[Criterion] = []
    for item in items:
        text = item.tags.get(OWN, "")
        if text:
            try:
                entries = json.loads(text) if text.lstrip().startswith("[") else [text]
                criteria += criteria_of(entries, item=item.id)
            except (json.JSONDecodeError, InputError) as error:
                raise InputError(f"the rubric of item {item.id!r} cannot be read: {error}") from error
    return tuple(criteria)


@dataclass(frozen=True)
class Rubric:
    """What a judge's marks by each criterion come to: a judge of its own, `rubric:NAME`, that is a view.

    Each criterion's verdicts are kept under the judge's name and the criterion's. The total of a response is the
    weighted mean of its criteria's shares of their scales, from 0 to 1. A response that lacks a criterion's mark has
    no total: the rubric recuses itself and says how many it lacks.
    """

    name: str
    judge: str
    criteria: tuple[Criterion, ...]

    kind: ClassVar[Kind] = "panel"

    def __post_init__(self) -> None:
        if not self.name.startswith(RUBRIC) or not self.name.removeprefix(RUBRIC).strip():
            raise InputError(f"a rubric is called {RUBRIC}NAME; found {self.name!r}")
        if not self.criteria:
            raise InputError(f"{self.name} has no criterion")

    @property
    def members(self) -> tuple[str, ...]:
        return (self.judge,)

    @property
    def heard(self) -> tuple[str, ...]:
        """The judges whose verdicts the rubric's totals are made from."""
        return (self.judge,)

    def of_item(self, item: str) -> tuple[Criterion, ...]:
        """The criteria by which the responses to an item are judged."""
        return tuple(criterion for criterion in self.criteria if criterion.item in {"", item})

    @property
    def settings(self) -> dict[str, Any]:
        rows = [[c.name, c.weight, c.ballot, *([c.item] if c.item else [])] for c in self.criteria]
        return {"judge": self.judge, "criteria": rows}

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> Rubric:
        """The rubric that was declared under a name."""
        criteria = (Criterion(row[0], "", row[1], row[2], *row[3:]) for row in settings["criteria"])
        return cls(name, settings["judge"], tuple(criteria))


def code(criterion: str) -> str:
    """Four signs by which a criterion is called in a sheet with several: the same wherever it stands."""
    return digest(["criterion", criterion])[:4].upper()


# Criteria that several rooms know by name: those of a peer review, and those under which a ruling is reviewed.

CORRECTNESS = "correctness"
VISUAL = "visual"
CORRELATION = "correlation"
"""How well an answer fits its picture, by a measure and not by a reviewer."""

AGREES = "agrees"
REASONS = "reasons"
HALLUCINATES = "hallucinates"
"""The criterion under which people say that a ruling's reasons see what is not there."""
REVIEW_BALLOTS: Mapping[str, Ballot] = {
    AGREES: Likert(("no", "yes")),
    REASONS: Score(1, 5),
    HALLUCINATES: Likert(("no", "yes")),
}
"""On what people review a judge's ruling, by criterion."""


FOLLOWS = "reference verified"
CAPTION_AT_FAULT = "caption at fault"
REFERENCE_AT_FAULT = "reference at fault"
CHECKS = (FOLLOWS, CAPTION_AT_FAULT, REFERENCE_AT_FAULT)
"""What people say of a reference, each a yes or no: that it follows its instruction, and what was wrong if not."""

LESS_IS_BETTER = frozenset({HALLUCINATES, CAPTION_AT_FAULT, REFERENCE_AT_FAULT})
"""Criteria under which the lower mark is the better one."""


def is_review(verdict: Verdict) -> bool:
    """Whether a verdict is on another verdict."""
    return verdict.criterion in REVIEW_BALLOTS


def is_check(verdict: Verdict) -> bool:
    """Whether a verdict is what somebody said of a reference, not of an answer."""
    return verdict.criterion in CHECKS
