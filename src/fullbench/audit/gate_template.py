"""First gate file for a ledger: thresholds a little below what is measured now."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from fullbench.analysis.agreement import judges_with_people
from fullbench.audit import audit_card_and_board as cards
from fullbench.audit.audit_run import parse_study_name
from fullbench.audit.audited_judge_loader import view_members
from fullbench.audit.threshold_gate import AUDIT_THRESHOLDS, audit_measurements
from fullbench.core.estimate import Estimate
from fullbench.core.verdict import PEOPLE
from fullbench.ledger.ledger import Ledger
from fullbench.studies import ledger_verdicts_with_panels
from fullbench.studies.disputed_and_unusable_ledger_cases import BASELINES

MARGIN = 0.05
"""Distance between a threshold and the value measured now."""
_ALTERNATIVE = """# Compare the ratings of a contestant with an earlier ledger:
# [[regression]]
# contestant = {contestant}
# base = "base.ledger"
# points = 20
"""


def gate_template(ledger: Ledger, place: str) -> str:
    """Return the text of a gate file with a threshold for each judge that was audited or that people can be compared
    with.
    """
    parts = [
        "# Thresholds for `fullbench gate`. Each is a little below the value measured when this file was written.",
        "# With `sure = true`, the end of the interval must pass, not only the estimate.",
        f"ledger = {_quoted(place)}\n",
    ]
    contestants: list[str] = []
    for study in ledger.studies():
        if parse_study_name(study):
            parts += _audit_parts(ledger, study)
            continue
        record = ledger.record(study=study, texts=False)
        contestants += [name for name in record.contestants if name not in contestants]
        if PEOPLE not in record.judges:
            continue
        comparison = judges_with_people.compare_with_people(record)
        for judge in record.judges:
            if judge == PEOPLE or judge in BASELINES:
                continue
            for agreement in judges_with_people.judge_agreements(comparison, judge):
                if agreement.shape in {"pairs", "scores"} and isinstance(agreement.first, Estimate):
                    value = agreement.first.value
                    parts.append(
                        f"[[agreement]]  # now {value:.3g}\nstudy = {_quoted(study)}\njudge = {_quoted(judge)}\n"
                        f"on = {_quoted(agreement.shape)}\nat_least = {_lower(value)}\n"
                    )
    if contestants:
        parts.append(_ALTERNATIVE.format(contestant=_quoted(contestants[0])))
    return "\n".join(parts)


def _audit_parts(ledger: Ledger, study: str) -> Iterator[str]:
    record = ledger_verdicts_with_panels.load_record(ledger, study=study).in_canonical_order()
    for judge in record.judges:
        findings = cards.build_findings(record, judge, members=view_members(ledger, judge))
        lines = [f"[[audit]]\nstudy = {_quoted(study)}\njudge = {_quoted(judge)}"]
        for name, measurement in audit_measurements(findings).items():
            value = measurement.value if isinstance(measurement, Estimate) else measurement
            if value is not None and name not in {"place_use_index", "bias", "reading_misled"}:
                threshold = _lower(value) if AUDIT_THRESHOLDS[name] else _upper(value)
                lines.append(f"{name} = {threshold}  # now {value:.3g}")
        yield "\n".join(lines) + "\n"


def _lower(value: float) -> float:
    return math.floor((value - MARGIN) * 100) / 100


def _upper(value: float) -> float:
    return math.ceil((value + MARGIN) * 100) / 100


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
