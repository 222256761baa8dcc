"""fullbench: judge multimodal models, and judge the judges.

Names are loaded when first used, so that `import fullbench` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fullbench.ledger.store import Ledger
    from fullbench.nouns.ballot import Ballot, Choice, Likert, Ranking, Real, Score, ballot
    from fullbench.nouns.call import Usage
    from fullbench.nouns.case import Case, panels
    from fullbench.nouns.estimate import Estimate
    from fullbench.nouns.item import Item, Turn
    from fullbench.nouns.model import Prompt, Reply
    from fullbench.nouns.picture import Picture
    from fullbench.nouns.record import Record
    from fullbench.nouns.response import Response
    from fullbench.nouns.table import Table
    from fullbench.nouns.verdict import Failure, Verdict

__version__ = "0.1.0"

_HOMES = {
    "Ballot": "nouns.ballot",
    "Case": "nouns.case",
    "Choice": "nouns.ballot",
    "Estimate": "nouns.estimate",
    "Failure": "nouns.verdict",
    "Item": "nouns.item",
    "Ledger": "ledger.store",
    "Likert": "nouns.ballot",
    "Picture": "nouns.picture",
    "Prompt": "nouns.model",
    "Ranking": "nouns.ballot",
    "Real": "nouns.ballot",
    "Record": "nouns.record",
    "Reply": "nouns.model",
    "Response": "nouns.response",
    "Score": "nouns.ballot",
    "Table": "nouns.table",
    "Turn": "nouns.item",
    "Usage": "nouns.call",
    "Verdict": "nouns.verdict",
    "ballot": "nouns.ballot",
    "panels": "nouns.case",
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
        if _HOMES[name] == "nouns.ballot":
            import_module("fullbench.reading")  # a ballot from here can read: the nouns know no reader themselves
        return getattr(import_module(f"fullbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fullbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
