"""Rubrics: several criteria, each with a description, a ballot and points, and their total per response."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from fullbench.core.ballot import Ballot, Flaw, Likert, Real, Score, ballot
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Kind
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError

RUBRIC = "rubric:"
"""Prefix of the names of such judges."""
CHECK = "likert:no|yes"
"""Default ballot of a criterion, as in a checklist."""
RUBRIC_TAG = "rubric"
"""Tag of items with their own criteria, as a JSON list."""
TotalForm = Literal["clipped", "unclipped", "sum"]
TOTAL_FORMS: tuple[TotalForm, ...] = get_args(TotalForm)
_KEYS = ("name", "asks", "weight", "ballot", "required")
_TEXT_KEYS = ("criterion", "description", "title")
"""Keys with the text of a criterion in released rubrics, the first that is there: HealthBench, RaR, PRBench."""
_FORMS = f"{', '.join(_KEYS)}, or the keys of HealthBench (criterion, points), PRBench or RaR (title, weight)"


@dataclass(frozen=True)
class Criterion:
    """One line of a rubric: its name, its question, its points (`weight`) and its ballot.

    Negative points make it a flaw: having it costs points, and its ballot is `flaw:...`. A `required` criterion caps
    the total of a response that fails it. A criterion of a single item (`item`) is named by its full text, so that it
    is not confused with another item's.
    """

    name: str
    asks: str = ""
    weight: float = 1.0
    ballot: str = CHECK
    item: str = ""
    required: bool = False

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("a criterion of a rubric needs a name or a text; found neither")
        if not math.isfinite(self.weight) or not self.weight:
            raise InputError(
                f"the criterion {self.name!r} has the weight {self.weight:g}; give it points above 0, or below 0 if it "
                "describes a flaw, or leave it out"
            )
        form = ballot(self.ballot)
        if self.weight < 0 and isinstance(form, Likert) and not isinstance(form, Flaw):
            form = Flaw(form.words)
            object.__setattr__(self, "ballot", form.spec)
        if not isinstance(form, Score | Real | Likert):
            raise InputError(
                f"the criterion {self.name!r} is marked on a scale for each response alone (score:1-5, real:0-1, "
                f"likert:no|yes); found {self.ballot!r}"
            )
        if (self.weight < 0) != isinstance(form, Flaw):
            raise InputError(
                f"the criterion {self.name!r} has {self.weight:g} points and the ballot {self.ballot!r}; criteria with "
                "negative points are marked in words, as flaw:no|yes or flaw:none|some|much, and only these"
            )

    @property
    def words(self) -> str:
        """The question for the judge."""
        return self.asks or self.name

    @classmethod
    def from_entry(cls, entry: Any, *, item: str = "") -> Criterion:
        """Parse a criterion of a file: a text, a table with our keys, or one of a released rubric."""
        table = {"asks": entry} if isinstance(entry, str) else entry
        if isinstance(table, Mapping) and not {"asks", "name"} & table.keys():
            table = _released_table(table)
        if not isinstance(table, Mapping) or not all(isinstance(table.get(key, ""), str) for key in ("name", "asks")):
            raise InputError(f"a criterion is a text or a table with {_FORMS}; found {str(entry)[:60]!r}")
        if unknown := [str(key) for key in table if key not in _KEYS]:
            raise InputError(f"a criterion has {_FORMS}; found {unknown[0]!r}")
        weight, required = table.get("weight", 1), table.get("required", False)
        if not isinstance(weight, int | float) or isinstance(weight, bool):
            raise InputError(f"the weight of a criterion is a number; found {weight!r}")
        if not isinstance(required, bool):
            raise InputError(f"'required' of a criterion is true or false; found {required!r}")
        asks, name = str(table.get("asks", "")).strip(), str(table.get("name", "")).strip()
        form = str(table.get("ballot", CHECK))
        if item:
            full_name = f"{name}: {asks}" if name and asks else asks or name
            return cls(full_name, "", float(weight), form, item, required)
        return cls(name or asks, asks if name else "", float(weight), form, required=required)

    @property
    def table(self) -> dict[str, Any]:
        """The criterion as a table of a file."""
        required = {"required": True} if self.required else {}
        return {"name": self.name, "asks": self.words, "weight": self.weight, "ballot": self.ballot, **required}

    def is_failed(self, share: float) -> bool:
        """Return True if a response with this share of the scale fails the criterion: it gets less than half of it."""
        return (share if self.weight > 0 else 1 - share) < 0.5


def _released_table(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a criterion of a released rubric under our keys; an entry of an unknown form is returned as it is.

    HealthBench has `criterion` and `points`, RaR `title`, `description` and `weight`. PRBench has the text in `title`,
    and in `annotations` the class of the weight, whose name leads to the weight. Labels of criteria (tags, categories)
    are not read; they stay in the item's column.
    """
    notes = entry.get("annotations")
    key = next((key for key in _TEXT_KEYS if isinstance(entry.get(key), str) and entry[key].strip()), None)
    points = entry.get("points", entry.get("weight"))
    if points is None and isinstance(notes, Mapping):
        points = notes.get(str(notes.get("weight_class", "")).replace(" ", "_") + "_weight", notes.get("weight"))
    if key is None or points is None:
        return entry
    title = entry.get("title") if key == "description" else None
    return {"asks": entry[key], "weight": points, **({"name": title} if isinstance(title, str) else {})}


def parse_criteria(entries: Any, *, item: str = "") -> tuple[Criterion, ...]:
    """Parse a list of criteria. A name that occurs twice is an error, or is numbered in an item's own rubric."""
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"a rubric is a list of criteria; found {str(entries)[:60]!r}")
    criteria = [Criterion.from_entry(entry, item=item) for entry in entries]
    counts = Counter(criterion.name for criterion in criteria)
    if (twice := sorted(name for name, count in counts.items() if count > 1)) and not item:
        raise InputError(f"the rubric has the criterion {twice[0]!r} twice; names must differ")
    if twice:
        seen: Counter[str] = Counter()
        for place, criterion in enumerate(criteria):
            seen[criterion.name] += 1
            if seen[criterion.name] > 1:
                criteria[place] = replace(criterion, name=f"{criterion.name} ({seen[criterion.name]})")
    return tuple(criteria)


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
    """The total of a judge's marks by criterion, as a computed judge `rubric:NAME`.

    Verdicts on each criterion are stored under the judge's and the criterion's name. A criterion gives its points times
    the share of its scale; a flaw's points are negative. `total` is `clipped` (the sum of points as a share of all
    positive points, kept within 0 and 1), `unclipped`, or `sum` (the points themselves). The total of a response that
    fails a required criterion is at most `cap`. A response that lacks a mark has no total: the rubric abstains and
    reports the number of missing marks.
    """

    name: str
    judge: str
    criteria: tuple[Criterion, ...]
    total: TotalForm = "clipped"
    cap: float = 0.0

    kind: ClassVar[Kind] = "panel"

    def __post_init__(self) -> None:
        if not self.name.startswith(RUBRIC) or not self.name.removeprefix(RUBRIC).strip():
            raise InputError(f"a rubric's name is {RUBRIC}NAME; found {self.name!r}")
        if not self.criteria:
            raise InputError(f"{self.name} has no criterion")
        if self.total not in TOTAL_FORMS:
            raise InputError(f"the total of a rubric is {', '.join(TOTAL_FORMS)}; found {self.total!r}")
        for item, criteria in self._criteria_by_item.items():
            if self.total != "sum" and not any(criterion.weight > 0 for criterion in criteria):
                whose = f"the rubric of item {item!r}" if item else "the rubric"
                raise InputError(
                    f"{whose} has no criterion with positive points, so the total cannot be a share of them; add one, "
                    f"or "
                    'set total = "sum"'
                )
        if not any(criterion.required for criterion in self.criteria):
            # Items bring their own criteria in parts, so a required one may still come.
            if self.cap and not any(criterion.item for criterion in self.criteria):
                raise InputError(
                    f"the cap {self.cap:g} has no effect: no criterion is required; add required = true, or remove cap"
                )
            return
        if not math.isfinite(self.cap) or not 0 <= self.cap < self._bounds[1]:
            raise InputError(
                f"cap is the highest total of a response that fails a required criterion, from 0 to below the best "
                f"total {self._bounds[1]:g}; found {self.cap:g}"
            )

    @property
    def members(self) -> tuple[str, ...]:
        return (self.judge,)

    @property
    def source_judges(self) -> tuple[str, ...]:
        """The judges whose verdicts the totals are computed from."""
        return (self.judge,)

    @cached_property
    def _criteria_by_item(self) -> dict[str, tuple[Criterion, ...]]:
        """Criteria of each item, and under "" those of every item (the only ones if no item has its own)."""
        of_all = tuple(criterion for criterion in self.criteria if not criterion.item)
        own_criteria: dict[str, list[Criterion]] = {"": list(of_all)} if of_all else {}
        for criterion in self.criteria:
            if criterion.item:
                own_criteria.setdefault(criterion.item, list(of_all)).append(criterion)
        return {item: tuple(criteria) for item, criteria in own_criteria.items()}

    def criteria_for_item(self, item: str) -> tuple[Criterion, ...]:
        """Return the criteria for the responses to an item."""
        by_item = self._criteria_by_item
        return by_item.get(item, by_item.get("", ()))

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        """Lowest and highest possible total over all items."""
        sums = [(_points(criteria, -1), _points(criteria, 1)) for criteria in self._criteria_by_item.values()]
        if self.total == "sum":
            return min(low for low, _ in sums), max(high for _, high in sums)
        return (0.0 if self.total == "clipped" else min(low / high for low, high in sums)), 1.0

    @cached_property
    def ballot(self) -> str:
        """The ballot of the totals: their lowest and highest possible value, rounded outwards to two decimals."""
        low, high = self._bounds
        return Real(math.floor(round(low * 100, 6)) / 100, math.ceil(round(high * 100, 6)) / 100).spec

    def total_of(self, marks: Sequence[tuple[Criterion, float]]) -> tuple[float, tuple[Criterion, ...]]:
        """Return the total of a response, and the required criteria that it fails.

        Args:
            marks: Every criterion of the item with the response's share of its scale, from 0 to 1.
        """
        points = math.fsum(criterion.weight * share for criterion, share in marks)
        if self.total != "sum":
            points /= _points([criterion for criterion, _ in marks], 1)
        if self.total == "clipped":
            points = min(1.0, max(0.0, points))
        failed = tuple(criterion for criterion, share in marks if criterion.required and criterion.is_failed(share))
        return (min(points, self.cap) if failed else points), failed

    @property
    def settings(self) -> dict[str, Any]:
        """The rubric as a ledger stores it. Criteria of single items are apart, so that items can be added later."""
        rows_by_item: dict[str, list[list[Any]]] = {}
        for c in self.criteria:
            row = [c.name, c.weight, c.ballot, *([True] if c.required else [])]
            rows_by_item.setdefault(c.item, []).append(row)
        of_all, has_cap = rows_by_item.pop("", []), any(criterion.required for criterion in self.criteria)
        return {
            "judge": self.judge, "criteria": of_all, **({"items": rows_by_item} if rows_by_item else {}),
            **({} if self.total == "clipped" else {"total": self.total}), **({"cap": self.cap} if has_cap else {}),
        }  # fmt: skip

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> Rubric:
        """Build the rubric declared under a name."""
        rows_by_item = {"": settings["criteria"], **settings.get("items", {})}
        criteria = (
            Criterion(row[0], "", row[1], row[2], item, *row[3:]) for item, rows in rows_by_item.items() for row in rows
        )
        options = {key: settings[key] for key in ("total", "cap") if key in settings}
        return cls(name, settings["judge"], tuple(criteria), **options)


def _points(criteria: Iterable[Criterion], sign: int) -> float:
    """Return the sum of the positive (`sign` 1) or the negative points."""
    return math.fsum(criterion.weight for criterion in criteria if criterion.weight * sign > 0)


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


def is_less_better(criterion: str, specs: Iterable[str]) -> bool:
    """Return True if a lower mark is better under a criterion, marked on these ballots."""
    return criterion in LESS_IS_BETTER or any(spec.startswith(f"{Flaw.kind}:") for spec in specs)


def is_review(verdict: Verdict) -> bool:
    """True if the verdict is about another verdict."""
    return verdict.criterion in REVIEW_BALLOTS


def is_check(verdict: Verdict) -> bool:
    """True if the verdict is about a reference, not an answer."""
    return verdict.criterion in CHECKS
