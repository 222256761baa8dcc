"""fullbench: judge multimodal models, and judge the judges.

Names are loaded when first used, so that `import fullbench` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullbench.core.ballots import Ballot, Choice, Likert, Ranking, Real, Score, ballot
    from fullbench.core.cases import Case, Failure, Usage, Verdict, panels
    from fullbench.core.items import Item, Response, Turn
    from fullbench.core.models import Prompt, Reply
    from fullbench.core.pictures import Picture
    from fullbench.core.record import Record
    from fullbench.core.results import Table
    from fullbench.ledger.store import Ledger
    from fullbench.stats.estimates import Estimate

__version__ = "0.1.0"

_HOMES = {
    "Ballot": "core.ballots",
    "Case": "core.cases",
    "Choice": "core.ballots",
    "Estimate": "stats.estimates",
    "Failure": "core.cases",
    "Item": "core.items",
    "Ledger": "ledger.store",
    "Likert": "core.ballots",
    "Picture": "core.pictures",
    "Prompt": "core.models",
    "Ranking": "core.ballots",
    "Real": "core.ballots",
    "Record": "core.record",
    "Reply": "core.models",
    "Response": "core.items",
    "Score": "core.ballots",
    "Table": "core.results",
    "Turn": "core.items",
    "Usage": "core.cases",
    "Verdict": "core.cases",
    "ballot": "core.ballots",
    "panels": "core.cases",
}

__all__ = [
    "Ballot",
    "Case",
    "Choice",
    "Estimate",
    "Failure",
    "Item",
    "Ledger",
    "Likert",
    "Picture",
    "Prompt",
    "Ranking",
    "Real",
    "Record",
    "Reply",
    "Response",
    "Score",
    "Table",
    "Turn",
    "Usage",
    "Verdict",
    "ballot",
    "panels",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"fullbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fullbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
