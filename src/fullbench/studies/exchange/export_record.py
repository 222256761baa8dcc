"""A record as a folder of files that can be run again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fullbench.core.record import Record
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import write_items, write_responses, write_verdicts
from fullbench.files.writers import replacing
from fullbench.studies.run.cases_per_judge import write_panels

_STUDY = """\
# What is asked, what was answered and what people ruled is in the files beside this one.
name = {name}
{source}
{answers}
{labels}judges = ["{judge}", "chance"]
trials = 1
ledger = "study.ledger"
report = "report.html"
"""


def export(
    record: Record, folder: Path, *, benchmark: str | None, people: str = "human", chosen: bool = False
) -> dict[str, int]:
    """Write items, responses, people's labels, judges' verdicts, and a study that names them; give their numbers.

    Without a benchmark the study is of one's own items, on the ballots that people, or else judges, ruled on. People's
    reviews of these verdicts go to a file of their own. Of a record of `chosen` cases the study hears these and no
    others. What speaks of items whose words were not released (the tag
    `released` is `no`) cannot be run again and is left out.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError("the folder is not empty; choose another one, or move it away", path=folder)
    items = [item for item in record.items.values() if item.tags.get("released") != "no"]
    known = {item.id for item in items}
    labels = [verdict for verdict in record if verdict.judge == people and verdict.item in known]
    judged = [verdict for verdict in record if verdict.judge != people and verdict.item in known]
    counts = {
        "items": write_items(folder / "items.jsonl", items),
        "responses": write_responses(
            folder / "responses.jsonl", (r for r in record.responses.values() if r.item in known)
        ),
    }
    if labels:
        counts["labels"] = write_verdicts(folder / "labels.jsonl", labels)
    if judged:
        counts["verdicts"] = write_verdicts(folder / "verdicts.jsonl", judged)
    if chosen:
        counts["cases"] = write_panels(folder / "cases.jsonl", record.where(lambda verdict: verdict.item in known))
    heard = {verdict.case for verdict in judged}
    if reviews := [verdict for verdict in record if verdict.judge == people and verdict.item in heard]:
        counts["reviews"] = write_verdicts(folder / "reviews.jsonl", reviews)
    with replacing(folder / "study.toml") as part:
        drawn = any(response.pictures and not response.text for response in record.responses.values())
        named = _STUDY.format(
            name=json.dumps(folder.name),
            source=_own(labels, judged)
            if benchmark is None
            else f'benchmark = {json.dumps(benchmark)}\ndata = "items.jsonl"',
            answers='responses = "responses.jsonl"'
            if counts["responses"]
            else '# contestants = ["openai:gpt-4o"]   # nobody has answered yet: name who does',
            labels=('labels = "labels.jsonl"\n' if labels else "") + ('cases = "cases.jsonl"\n' if chosen else ""),
            judge="picture:sharpness" if drawn else "length",
        )
        part.write_text(named, encoding="utf-8")
    return counts


def _own(labels: Sequence[Verdict], judged: Sequence[Verdict]) -> str:
    """Items of one's own, on the ballots of the labels, else of the verdicts, else in pairs."""
    specs = [verdict.ballot for verdict in labels] or [verdict.ballot for verdict in judged]
    ballots = ", ".join(json.dumps(spec) for spec in dict.fromkeys(specs)) or '"choice+tie"'
    criteria = dict.fromkeys(verdict.criterion for verdict in labels or judged) or ("overall",)
    named = ", ".join(json.dumps(criterion, ensure_ascii=False) for criterion in criteria)
    return f'items = "items.jsonl"\nballots = [{ballots}]\ncriteria = [{named}]'
