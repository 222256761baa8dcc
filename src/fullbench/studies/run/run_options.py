"""On what terms a study is conducted: the same for every kind of study, stated once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from fullbench.studies.engines import HERE, USUAL, Engine, Insistence, Stop


@dataclass(frozen=True)
class RunTerms:
    """Where the work is done, what it may cost, what stops it, and how much is looked at in the end.

    `spent` is what the study cost before, where the budget is for all of it. Without `whole`, tables of one's own data
    are made from columns: no verdict is held with its text.
    """

    engine: Engine = HERE
    budget: float | None = None
    spent: float = 0.0
    stop: Stop = field(default_factory=Stop)
    insist: Insistence = USUAL
    quiet: bool = False
    whole: bool = True


class RunTermsByName(TypedDict, total=False):
    """The same as keywords of a call, each of which may be left out: `conduct(ledger, budget=5.0, quiet=True)`."""

    engine: Engine
    budget: float | None
    spent: float
    stop: Stop
    insist: Insistence
    quiet: bool
    whole: bool
