"""Panels and cascades: judges computed from the stored verdicts of their members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, ClassVar, Literal, get_args

from fullbench.core.judge import Kind
from fullbench.core.rubric import RUBRIC, Rubric
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError

PANEL, CASCADE = "panel:", "cascade:"
VIEW_PREFIXES = (PANEL, CASCADE, RUBRIC)
"""Prefixes of the names of judges that are computed from others."""
Rule = Literal["majority", "mean", "agreement"]
RULES: tuple[Rule, ...] = get_args(Rule)
Marks = tuple[float, ...]


def is_view(judge: str) -> bool:
    """True if a judge is computed from others: a panel, a cascade or a rubric.

    >>> is_view("panel:trio"), is_view("length")
    (True, False)
    """
    return judge.startswith(VIEW_PREFIXES)


def combine_marks(marks: Sequence[Marks], rule: Rule, weights: Sequence[float] | None = None) -> Marks:
    """Combine several verdicts on one case into one.

    `majority`: the most common verdict, or the mean of several such. `mean`: the mean mark of each response.
    `agreement`: the same, weighted by `weights`.

    >>> (combine_marks([(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)], "majority"),
    ...  combine_marks([(1.0, 0.0), (0.0, 1.0)], "majority"))
    ((1.0, 0.0), (0.5, 0.5))
    >>> combine_marks([(4.0,), (1.0,)], "agreement", [1.0, 0.5])
    (3.0,)
    """
    vote_weights = list(weights or [1.0] * len(marks))
    if rule == "majority":
        counts = Counter(marks)
        most = max(counts.values())
        marks = [vote_marks for vote_marks, count in counts.items() if count == most]
        vote_weights = [1.0] * len(marks)
    total = fsum(vote_weights)
    return tuple(
        fsum(mark * weight for mark, weight in zip(column, vote_weights, strict=True)) / total
        for column in zip(*marks, strict=True)
    )


@dataclass(frozen=True)
class Panel:
    """Several judges that decide as one.

    `members` are names of judges. `rule` combines their verdicts (`agreement`: weighted by agreement with people).
    `quorum` is the number of members that must have judged a case; 0 means more than half. Below the quorum, the panel
    abstains, and the case is counted so.
    """

    name: str
    members: tuple[str, ...]
    rule: Rule = "majority"
    quorum: int = 0

    kind: ClassVar[Kind] = "panel"

    def __post_init__(self) -> None:
        if not self.name.startswith(PANEL) or not self.name.removeprefix(PANEL).strip():
            raise InputError(f"a panel's name is {PANEL}NAME; found {self.name!r}")
        if len(set(self.members)) < 2:
            raise InputError(f"{self.name} needs at least two members; found {', '.join(self.members) or 'none'}")
        if self.rule not in RULES:
            raise InputError(f"{self.name}: unknown rule {self.rule!r}; known: {', '.join(RULES)}")
        if not 0 <= self.quorum <= len(self.members):
            raise InputError(f"{self.name}: a quorum of {self.quorum} is more than the {len(self.members)} members")

    @property
    def quorum_size(self) -> int:
        """The number of members that must have judged a case."""
        return self.quorum or len(self.members) // 2 + 1

    @property
    def source_judges(self) -> tuple[str, ...]:
        """The judges whose verdicts the panel is computed from."""
        return (*self.members, PEOPLE) if self.rule == "agreement" else self.members

    @property
    def settings(self) -> dict[str, Any]:
        return {"members": list(self.members), "rule": self.rule, "quorum": self.quorum_size}


@dataclass(frozen=True)
class Cascade:
    """A small judge, a large one for cases the small one leaves in doubt, and people for cases both do.

    A judge leaves a case in doubt if less than the share `threshold` of its verdicts on the same responses agree, over
    all orders and trials. Only such cases go to the large judge.

    With `agreement`, the thresholds of both judges are learned from people's marks, for each criterion and ballot
    separately. The cascade's verdicts then agree with people at least that much, except with a chance of at most
    `risk`. Cases without a confident judge wait for people, even if `people` is False.
    """

    name: str
    small: str
    large: str
    people: bool = False
    threshold: float = 1.0
    agreement: float | None = None
    risk: float = 0.05

    kind: ClassVar[Kind] = "panel"

    def __post_init__(self) -> None:
        if not self.name.startswith(CASCADE) or not self.name.removeprefix(CASCADE).strip():
            raise InputError(f"a cascade's name is {CASCADE}NAME; found {self.name!r}")
        if self.small == self.large:
            raise InputError(f"{self.name} needs two judges, a small and a large one; found {self.small!r} twice")
        if not 0 < self.threshold <= 1:
            raise InputError(f"{self.name}: the threshold is a share above 0, at most 1; found {self.threshold:g}")
        if self.agreement is not None and not 0 < self.agreement < 1:
            raise InputError(f"{self.name}: the agreement is a share between 0 and 1; found {self.agreement:g}")
        if not 0 < self.risk < 1:
            raise InputError(f"{self.name}: the risk is a share between 0 and 1; found {self.risk:g}")

    @property
    def members(self) -> tuple[str, ...]:
        return self.small, self.large

    @property
    def waits(self) -> bool:
        """True if cases that both judges leave in doubt go to people."""
        return self.people or self.agreement is not None

    @property
    def source_judges(self) -> tuple[str, ...]:
        """The judges whose verdicts the cascade is computed from."""
        return (*self.members, PEOPLE) if self.waits else self.members

    @property
    def settings(self) -> dict[str, Any]:
        guarantee = {} if self.agreement is None else {"agreement": self.agreement, "risk": self.risk}
        return {
            "small": self.small, "large": self.large, "people": self.people, "threshold": self.threshold, **guarantee,
        }  # fmt: skip


View = Panel | Cascade | Rubric


def view_from_settings(name: str, settings: Mapping[str, Any]) -> View:
    """Build the panel, cascade or rubric declared under a name."""
    if name.startswith(RUBRIC):
        return Rubric.from_settings(name, settings)
    if name.startswith(CASCADE):
        guarantee = {key: settings[key] for key in ("agreement", "risk") if key in settings}
        cascade_fields = (settings["small"], settings["large"], settings["people"], settings["threshold"])
        return Cascade(name, *cascade_fields, **guarantee)
    return Panel(name, tuple(settings["members"]), settings["rule"], settings["quorum"])
