"""fullbench: judge multimodal models, and judge the judges.

Public names for notebooks: the core classes, the errors, and `answer`, `judge`, `run`, `report` and `card`.
docs/reference/compatibility.md promises that these names stay. Each name is imported on first use, which keeps the
import fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fullbench.version_and_code_digest import __version__ as __version__

if TYPE_CHECKING:
    from fullbench.core.ballot import Ballot, Choice, GradedChoice, Likert, Ranking, Real, Score, ballot
    from fullbench.core.benchmark import Benchmark, LoadedData, Reproduced, Reproduction
    from fullbench.core.case import Case, cases
    from fullbench.core.estimate import Estimate
    from fullbench.core.item import Item, Turn
    from fullbench.core.judge import Judge
    from fullbench.core.media import Audio, Document, Media, Video
    from fullbench.core.model import Model, Prompt, Reply
    from fullbench.core.model_call import Call, Usage
    from fullbench.core.panel_and_cascade import Cascade, Panel
    from fullbench.core.picture import Picture
    from fullbench.core.response import Response
    from fullbench.core.table import Table
    from fullbench.core.verdict import Failure, Verdict
    from fullbench.core.verdict_record import Record
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
    from fullbench.ledger.ledger import Ledger
    from fullbench.studies.notebook_api import answer, card, judge, report, run
    from fullbench.studies.rewards.reward_function import reward

_HOMES = {
    "Audio": "core.media",
    "Document": "core.media",
    "Media": "core.media",
    "Video": "core.media",
    "Ballot": "core.ballot",
    "Benchmark": "core.benchmark",
    "LoadedData": "core.benchmark",
    "Call": "core.model_call",
    "Cascade": "core.panel_and_cascade",
    "Case": "core.case",
    "Choice": "core.ballot",
    "EngineError": "errors",
    "Estimate": "core.estimate",
    "Failure": "core.verdict",
    "FullbenchError": "errors",
    "GradedChoice": "core.ballot",
    "InputError": "errors",
    "Item": "core.item",
    "Judge": "core.judge",
    "Ledger": "ledger.ledger",
    "LedgerError": "errors",
    "Likert": "core.ballot",
    "MissingExtra": "errors",
    "Model": "core.model",
    "ModelError": "errors",
    "Panel": "core.panel_and_cascade",
    "Picture": "core.picture",
    "Prompt": "core.model",
    "Ranking": "core.ballot",
    "Real": "core.ballot",
    "Record": "core.verdict_record",
    "Reply": "core.model",
    "Reproduced": "core.benchmark",
    "Reproduction": "core.benchmark",
    "Response": "core.response",
    "Score": "core.ballot",
    "Table": "core.table",
    "Turn": "core.item",
    "Undefined": "errors",
    "Unscorable": "errors",
    "Usage": "core.model_call",
    "UserError": "errors",
    "Verdict": "core.verdict",
    "answer": "studies.notebook_api",
    "ballot": "core.ballot",
    "card": "studies.notebook_api",
    "cases": "core.case",
    "judge": "studies.notebook_api",
    "report": "studies.notebook_api",
    "reward": "studies.rewards.reward_function",
    "run": "studies.notebook_api",
}

_SHOWN = {"core.case", "core.item", "core.media", "core.picture", "core.verdict_record", "core.response", "core.table"}

__all__ = [
    "Audio",
    "Ballot",
    "Benchmark",
    "Call",
    "Cascade",
    "Case",
    "Choice",
    "Document",
    "EngineError",
    "Estimate",
    "Failure",
    "FullbenchError",
    "GradedChoice",
    "InputError",
    "Item",
    "Judge",
    "Ledger",
    "LedgerError",
    "Likert",
    "LoadedData",
    "Media",
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
    "Video",
    "answer",
    "ballot",
    "card",
    "cases",
    "judge",
    "report",
    "reward",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        if _HOMES[name] == "core.ballot":
            import_module("fullbench.parsing")  # registers the reply parser; core cannot import it
        if _HOMES[name] in _SHOWN:
            import_module("fullbench.reports.notebook_html")  # these two register HTML display and data frames
            import_module("fullbench.files.notebook_data_conversion")
        return getattr(import_module(f"fullbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fullbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
