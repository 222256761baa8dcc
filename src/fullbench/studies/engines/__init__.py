"""Engines: where the asking of a run is done. This machine, or a cluster of machines."""

from fullbench.studies.engines.naming import engine
from fullbench.studies.engines.recipes import remade, wants_gpu
from fullbench.studies.engines.work import HERE, LOOKUP, Ask, Budget, Engine, Job, Key, Recipe, Stop, Tally, Watch, work

__all__ = [
    "HERE",
    "LOOKUP",
    "Ask",
    "Budget",
    "Engine",
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
