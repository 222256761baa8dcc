"""Panels and cascades: judges that are views. Their members' verdicts are kept; what they come to is computed."""

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
VIEWED = (PANEL, CASCADE, RUBRIC)
"""How the names of such judges begin."""
Rule = Literal["majority", "mean", "agreement"]
RULES: tuple[Rule, ...] = get_args(Rule)
Marks = tuple[float, ...]


def is_view(judge: str) -> bool:
    """Whether a judge is a panel or a cascade of others, or the total of a rubric.

    >>> is_view("panel:trio"), is_view("length")
    (True, False)
    """
    return judge.startswith(VIEWED)


def combined(marks: Sequence[Marks], rule: Rule, weights: Sequence[float] | None = None) -> Marks:
    """What several rulings on one case come to.

    `majority`: the ruling that most gave; of several such, their mean. `mean`: the mean mark of each response, and
    `agreement`: the same, each ruling counting by its weight.

    >>> combined([(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)], "majority"), combined([(1.0, 0.0), (0.0, 1.0)], "majority")
    ((1.0, 0.0), (0.5, 0.5))
    >>> combined([(4.0,), (1.0,)], "agreement", [1.0, 0.5])
    (3.0,)
    """
    counted = list(weights or [1.0] * len(marks))
    if rule == "majority":
        counts = Counter(marks)
        most = max(counts.values())
        marks = [given for given, count in counts.items() if count == most]
        counted = [1.0] * len(marks)
    total = fsum(counted)
    return tuple(
        fsum(mark * weight for mark, weight in zip(column, counted, strict=True)) / total
        for column in zip(*marks, strict=True)
    )


@dataclass(frozen=True)
class Panel:
    """Several judges that rule as one.

    `members` are judges by their names, `rule` is how their rulings become one (`agreement`: by how far each agrees
    with people), and `quorum` how many must have ruled on a case; more than half of them where it is 0. A case on which
    fewer ruled is one from which the panel recuses itself, and is counted so.
    """

    name: str
    members: tuple[str, ...]
    rule: Rule = "majority"
    quorum: int = 0

    kind: ClassVar[Kind] = "panel"

    def __post_init__(self) -> None:
        if not self.name.startswith(PANEL) or not self.name.removeprefix(PANEL).strip():
            raise InputError(f"a panel is called {PANEL}NAME; found {self.name!r}")
        if len(set(self.members)) < 2:
            raise InputError(f"{self.name} needs two members or more; found {', '.join(self.members) or 'none'}")
        if self.rule not in RULES:
            raise InputError(f"{self.name}: unknown rule {self.rule!r}; known: {', '.join(RULES)}")
        if not 0 <= self.quorum <= len(self.members):
            raise InputError(f"{self.name}: a quorum of {self.quorum} is more than the {len(self.members)} members")

    @property
    def needed(self) -> int:
        """How many members must have ruled."""
        return self.quorum or len(self.members) // 2 + 1

    @property
    def heard(self) -> tuple[str, ...]:
        """The judges whose verdicts the panel's rulings are made from."""
        return (*self.members, PEOPLE) if self.rule == "agreement" else self.members

    @property
    def settings(self) -> dict[str, Any]:
        return {"members": list(self.members), "rule": self.rule, "quorum": self.needed}


@dataclass(frozen=True)
class Cascade:
    """A small judge, a large one for what the small one leaves in doubt, and people for what both do.

    A judge leaves a case in doubt when less than the share `threshold` of its rulings on the same responses, in
    whatever order and trial, say the same. The large judge is asked about such cases alone.

    With an `agreement`, the threshold of either judge is not given but learned from people's marks, for each criterion
    and ballot apart, so that what the cascade rules agrees with people at least so far; the chance that it does not is
    at most `risk`. What neither judge is sure enough of waits for people, whether `people` is said or not.
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
            raise InputError(f"a cascade is called {CASCADE}NAME; found {self.name!r}")
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
        """Whether what both judges leave in doubt is for people."""
        return self.people or self.agreement is not None

    @property
    def heard(self) -> tuple[str, ...]:
        """The judges whose verdicts the cascade's rulings are made from."""
        return (*self.members, PEOPLE) if self.waits else self.members

    @property
    def settings(self) -> dict[str, Any]:
        promised = {} if self.agreement is None else {"agreement": self.agreement, "risk": self.risk}
        return {
            "small": self.small, "large": self.large, "people": self.people, "threshold": self.threshold, **promised,
        }  # fmt: skip


View = Panel | Cascade | Rubric


def view_of(name: str, settings: Mapping[str, Any]) -> View:
    """The panel, cascade or rubric that was declared under a name."""
    if name.startswith(RUBRIC):
        return Rubric.from_settings(name, settings)
    if name.startswith(CASCADE):
        promised = {key: settings[key] for key in ("agreement", "risk") if key in settings}
        known = (settings["small"], settings["large"], settings["people"], settings["threshold"])
        return Cascade(name, *known, **promised)
    return Panel(name, tuple(settings["members"]), settings["rule"], settings["quorum"])
