"""Export of a record as a folder of files with a runnable study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import write_items, write_responses, write_verdicts
from fullbench.files.row_writers import replace_atomically
from fullbench.studies.run.cases_per_judge_and_case_file import write_response_sets

_STUDY = """\
# Items, responses, people's labels and judges' verdicts are in the files next to this one.
name = {name}
{source}
{answers}
{labels}{judges}
trials = 1
ledger = {ledger}
report = "report.html"
"""
_NO_JUDGES = """\
judges = []   # the verdicts exist already; to add a judge, name it, such as "openai:gpt-4o\""""


def export_study(
    record: Record,
    folder: Path,
    *,
    benchmark: str | None,
    people: str = "human",
    only_these_cases: bool = False,
    name: str = "",
    ledger: str = "study.ledger",
) -> dict[str, int]:
    """Write items, responses, people's labels, judges' verdicts and a study file; return the counts.

    Without a benchmark, the study uses the ballots of the labels, or else of the verdicts; it names these verdicts and
    calls no judge. People's reviews of these verdicts go to a separate file. Items with the tag `released = no` cannot
    be run again and are excluded, with all that refers to them.

    Args:
        record: Items, responses and verdicts.
        folder: A new or empty folder.
        benchmark: The benchmark of the study.
        people: Judge whose verdicts are the labels.
        only_these_cases: The study judges no other cases.
        name: Name of the study; default: that of the folder.
        ledger: Ledger of the study.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty; choose another one, or move it away", path=folder)
    items = [item for item in record.items.values() if item.tags.get("released") != "no"]
    item_ids = {item.id for item in items}
    labels = [verdict for verdict in record if verdict.judge == people and verdict.item in item_ids]
    judge_verdicts = [verdict for verdict in record if verdict.judge != people and verdict.item in item_ids]
    counts = {
        "items": write_items(folder / "items.jsonl", items),
        "responses": write_responses(
            folder / "responses.jsonl", (r for r in record.responses.values() if r.item in item_ids)
        ),
    }
    if labels:
        counts["labels"] = write_verdicts(folder / "labels.jsonl", labels)
    if judge_verdicts:
        counts["verdicts"] = write_verdicts(folder / "verdicts.jsonl", judge_verdicts)
    if only_these_cases:
        counts["cases"] = write_response_sets(
            folder / "cases.jsonl", record.where(lambda verdict: verdict.item in item_ids)
        )
    judged_case_keys = {verdict.case for verdict in judge_verdicts}
    if reviews := [verdict for verdict in record if verdict.judge == people and verdict.item in judged_case_keys]:
        counts["reviews"] = write_verdicts(folder / "reviews.jsonl", reviews)
    names_verdicts = benchmark is None and bool(judge_verdicts)
    with replace_atomically(folder / "study.toml") as part:
        has_picture_answers = any(response.pictures and not response.text for response in record.responses.values())
        study_text = _STUDY.format(
            name=json.dumps(name or folder.name, ensure_ascii=False),
            source=_own_items_source(labels, judge_verdicts)
            if benchmark is None
            else f'benchmark = {json.dumps(benchmark)}\ndata = "items.jsonl"',
            answers='responses = "responses.jsonl"'
            if counts["responses"]
            else '# contestants = ["openai:gpt-4o"]   # nobody has answered yet: name who does',
            labels=('labels = "labels.jsonl"\n' if labels else "")
            + ('verdicts = "verdicts.jsonl"\n' if names_verdicts else "")
            + ('cases = "cases.jsonl"\n' if only_these_cases else ""),
            judges=_NO_JUDGES
            if benchmark is None and (labels or judge_verdicts)
            else f'judges = ["{"picture:sharpness" if has_picture_answers else "length"}", "chance"]',
            ledger=json.dumps(ledger, ensure_ascii=False),
        )
        part.write_text(study_text, encoding="utf-8")
    return counts


def _own_items_source(labels: Sequence[Verdict], judge_verdicts: Sequence[Verdict]) -> str:
    """The default ballot is choice+tie."""
    specs = [verdict.ballot for verdict in labels] or [verdict.ballot for verdict in judge_verdicts]
    ballots = ", ".join(json.dumps(spec) for spec in dict.fromkeys(specs)) or '"choice+tie"'
    criteria = dict.fromkeys(verdict.criterion for verdict in labels or judge_verdicts) or ("overall",)
    criteria_text = ", ".join(json.dumps(criterion, ensure_ascii=False) for criterion in criteria)
    return f'items = "items.jsonl"\nballots = [{ballots}]\ncriteria = [{criteria_text}]'
