"""Rubrics: several criteria, each with a description, a ballot and a weight, and their total per response."""

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
"""Prefix of the names of such judges."""
CHECK = "likert:no|yes"
"""Default ballot of a criterion, as in a checklist."""
RUBRIC_TAG = "rubric"
"""Tag of items with their own criteria, as a JSON list."""
TOTAL = "real:0-1"
"""Ballot of a rubric's total: the weighted mean of each criterion's share of its scale."""
_KEYS = ("name", "asks", "weight", "ballot")


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric: its name, its question, its weight and its ballot.

    A criterion of a single item (`item`) is named by its full text, so that it is not confused with another item's.
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
        """The question for the judge."""
        return self.asks or self.name

    @classmethod
    def from_entry(cls, entry: Any, *, item: str = "") -> Criterion:
        """Parse a criterion of a file: a text, or a table with `name`, `asks`, `weight` and `ballot`."""
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
            full_name = f"{name}: {asks}" if name and asks else asks or name
            return cls(full_name, "", float(weight), form, item)
        return cls(name or asks, asks if name else "", float(weight), form)

    @property
    def table(self) -> dict[str, Any]:
        """The criterion as a table of a file."""
        return {"name": self.name, "asks": self.words, "weight": self.weight, "ballot": self.ballot}


def parse_criteria(entries: Any, *, item: str = "") -> tuple[Criterion, ...]:
    """Parse a list of criteria; raise if a name occurs twice."""
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"a rubric is a list of criteria; found {str(entries)[:60]!r}")
    criteria = tuple(Criterion.from_entry(entry, item=item) for entry in entries)
    names = [criterion.name for criterion in criteria]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"the rubric names the criterion {twice[0]!r} twice; names must differ")
    return criteria


def criteria_of_items(items: Iterable[Item]) -> tuple[Criterion, ...]:
    """Return the criteria that items define themselves, in their column `rubric`."""
    criteria: list[Criterion] = []
    for item in items:
        text = item.tags.get(RUBRIC_TAG, "")
        if text:
            try:
                entries = json.loads(text) if text.lstrip().startswith("[") else [text]
                criteria += parse_criteria(entries, item=item.id)
            except (json.JSONDecodeError, InputError) as error:
                raise InputError(f"the rubric of item {item.id!r} cannot be read: {error}") from error
    return tuple(criteria)


@dataclass(frozen=True)
class Rubric:
    """The weighted total of a judge's marks by criterion, as a computed judge `rubric:NAME`.

    Verdicts on each criterion are stored under the judge's and the criterion's name. The total of a response is the
    weighted mean of its criteria's shares of their scales, from 0 to 1. A response that lacks a mark has no total: the
    rubric abstains and reports the number of missing marks.
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
    def source_judges(self) -> tuple[str, ...]:
        """The judges whose verdicts the totals are computed from."""
        return (self.judge,)

    def criteria_for_item(self, item: str) -> tuple[Criterion, ...]:
        """Return the criteria for the responses to an item."""
        return tuple(criterion for criterion in self.criteria if criterion.item in {"", item})

    @property
    def settings(self) -> dict[str, Any]:
        rows = [[c.name, c.weight, c.ballot, *([c.item] if c.item else [])] for c in self.criteria]
        return {"judge": self.judge, "criteria": rows}

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> Rubric:
        """Build the rubric declared under a name."""
        criteria = (Criterion(row[0], "", row[1], row[2], *row[3:]) for row in settings["criteria"])
        return cls(name, settings["judge"], tuple(criteria))


def criterion_code(criterion: str) -> str:
    """Return a code of four characters for a criterion in a sheet with several; it never changes."""
    return digest(["criterion", criterion])[:4].upper()


# Criteria that several packages use by name: those of peer review, and those for reviewing a verdict.

CORRECTNESS = "correctness"
VISUAL = "visual"
CORRELATION = "correlation"
"""Fit of an answer to its picture, by a metric instead of a reviewer."""

AGREES = "agrees"
REASONS = "reasons"
HALLUCINATES = "hallucinates"
"""Criterion for reasons of a verdict that mention things not in the picture."""
REVIEW_BALLOTS: Mapping[str, Ballot] = {
    AGREES: Likert(("no", "yes")),
    REASONS: Score(1, 5),
    HALLUCINATES: Likert(("no", "yes")),
}
"""Ballots for people who review a verdict, by criterion."""


FOLLOWS = "reference verified"
CAPTION_AT_FAULT = "caption at fault"
REFERENCE_AT_FAULT = "reference at fault"
CHECKS = (FOLLOWS, CAPTION_AT_FAULT, REFERENCE_AT_FAULT)
"""Yes/no criteria for a reference: it follows its instruction, and what was wrong if not."""

LESS_IS_BETTER = frozenset({HALLUCINATES, CAPTION_AT_FAULT, REFERENCE_AT_FAULT})
"""Criteria under which a lower mark is better."""


def is_review(verdict: Verdict) -> bool:
    """True if the verdict is about another verdict."""
    return verdict.criterion in REVIEW_BALLOTS


def is_check(verdict: Verdict) -> bool:
    """True if the verdict is about a reference, not an answer."""
    return verdict.criterion in CHECKS
