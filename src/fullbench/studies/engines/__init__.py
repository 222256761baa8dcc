"""Engines: where the asking of a run is done. This machine, or a cluster of machines."""

from fullbench.studies.engines.naming import engine
from fullbench.studies.engines.recipes import remade, wants_gpu
from fullbench.studies.engines.spending import Budget
from fullbench.studies.engines.stopping import SIGNALLED, Stop
from fullbench.studies.engines.work import (
    HERE,
    LOOKUP,
    USUAL,
    Ask,
    Engine,
    Insistence,
    Job,
    Key,
    Recipe,
    Tally,
    Watch,
    work,
)

__all__ = [
    "HERE",
    "LOOKUP",
    "SIGNALLED",
    "USUAL",
    "Ask",
    "Budget",
    "Engine",
    "Insistence",
    "Job",
    "Key",
    "Recipe",
    "Stop",
    "Tally",
    "Watch",
    "engine",
    "remade",
    "wants_gpu",
    "work",
]
