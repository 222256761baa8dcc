"""fullbench: judge multimodal models, and judge the judges.

The nouns, the errors and the verbs `answer`, `judge`, `run`, `report` and `card`: what a notebook needs, and what is
promised to stay (docs/compatibility.md). Names are loaded when first used, so that the import costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fullbench.version import __version__ as __version__

if TYPE_CHECKING:
    from fullbench.errors import (
        EngineError,
        FullbenchError,
        InputError,
        LedgerError,
        MissingExtra,
        ModelError,
        Undefined,
        Unscorable,
        UserError,
    )
    from fullbench.ledger.store import Ledger
    from fullbench.nouns.ballot import Ballot, Choice, Likert, Ranking, Real, Score, ballot
    from fullbench.nouns.benchmark import Benchmark
    from fullbench.nouns.call import Call, Usage
    from fullbench.nouns.case import Case, cases
    from fullbench.nouns.estimate import Estimate
    from fullbench.nouns.item import Item, Turn
    from fullbench.nouns.judge import Judge
    from fullbench.nouns.model import Model, Prompt, Reply
    from fullbench.nouns.panel import Cascade, Panel
    from fullbench.nouns.picture import Picture
    from fullbench.nouns.record import Record
    from fullbench.nouns.reproduction import Brought, Reproduced, Reproduction
    from fullbench.nouns.response import Response
    from fullbench.nouns.table import Table
    from fullbench.nouns.verdict import Failure, Verdict
    from fullbench.studies.verbs import answer, card, judge, report, run

_HOMES = {
    "Ballot": "nouns.ballot",
    "Benchmark": "nouns.benchmark",
    "Brought": "nouns.reproduction",
    "Call": "nouns.call",
    "Cascade": "nouns.panel",
    "Case": "nouns.case",
    "Choice": "nouns.ballot",
    "EngineError": "errors",
    "Estimate": "nouns.estimate",
    "Failure": "nouns.verdict",
    "FullbenchError": "errors",
    "InputError": "errors",
    "Item": "nouns.item",
    "Judge": "nouns.judge",
    "Ledger": "ledger.store",
    "LedgerError": "errors",
    "Likert": "nouns.ballot",
    "MissingExtra": "errors",
    "Model": "nouns.model",
    "ModelError": "errors",
    "Panel": "nouns.panel",
    "Picture": "nouns.picture",
    "Prompt": "nouns.model",
    "Ranking": "nouns.ballot",
    "Real": "nouns.ballot",
    "Record": "nouns.record",
    "Reply": "nouns.model",
    "Reproduced": "nouns.reproduction",
    "Reproduction": "nouns.reproduction",
    "Response": "nouns.response",
    "Score": "nouns.ballot",
    "Table": "nouns.table",
    "Turn": "nouns.item",
    "Undefined": "errors",
    "Unscorable": "errors",
    "Usage": "nouns.call",
    "UserError": "errors",
    "Verdict": "nouns.verdict",
    "answer": "studies.verbs",
    "ballot": "nouns.ballot",
    "card": "studies.verbs",
    "cases": "nouns.case",
    "judge": "studies.verbs",
    "report": "studies.verbs",
    "run": "studies.verbs",
}

_SHOWN = {"nouns.case", "nouns.item", "nouns.picture", "nouns.record", "nouns.response", "nouns.table"}

__all__ = [
    "Ballot",
    "Benchmark",
    "Brought",
    "Call",
    "Cascade",
    "Case",
    "Choice",
    "EngineError",
    "Estimate",
    "Failure",
    "FullbenchError",
    "InputError",
    "Item",
    "Judge",
    "Ledger",
    "LedgerError",
    "Likert",
    "MissingExtra",
    "Model",
    "ModelError",
    "Panel",
    "Picture",
    "Prompt",
    "Ranking",
    "Real",
    "Record",
    "Reply",
    "Reproduced",
    "Reproduction",
    "Response",
    "Score",
    "Table",
    "Turn",
    "Undefined",
    "Unscorable",
    "Usage",
    "UserError",
    "Verdict",
    "answer",
    "ballot",
    "card",
    "cases",
    "judge",
    "report",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        if _HOMES[name] == "nouns.ballot":
            import_module("fullbench.parsing")  # a ballot from here can read: the nouns know no reader themselves
        if _HOMES[name] in _SHOWN:
            import_module("fullbench.reports.notebook")  # and these can be drawn and made frames, for the same reason
            import_module("fullbench.files.frames")
        return getattr(import_module(f"fullbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fullbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
