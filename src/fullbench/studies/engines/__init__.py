"""Engines: where the asking of a run is done. This machine, or a cluster of machines."""

from fullbench.studies.engines.budget import Budget
from fullbench.studies.engines.engine_specs import engine
from fullbench.studies.engines.interrupt_handling import SIGNALLED, Stop
from fullbench.studies.engines.remote_factory import remade, wants_gpu
from fullbench.studies.engines.run_jobs import (
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
