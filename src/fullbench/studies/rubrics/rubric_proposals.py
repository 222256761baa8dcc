"""Rubrics proposed by a model from examples; the file cannot be used until a person confirms it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fullbench.core.item import REQUEST, Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.language_and_words import language_of
from fullbench.core.model import DECLINED_STOPS, Model
from fullbench.core.response import Response
from fullbench.core.rubric import Criterion, parse_criteria
from fullbench.errors import InputError
from fullbench.files.row_writers import replace_atomically
from fullbench.studies.authoring.human_review_of_rewordings_and_references import study_template
from fullbench.studies.engines import JobCounts
from fullbench.studies.rubrics.rubrics_in_studies import CONFIRMED_KEY, OPTION_KEYS, read_rubric_file, words_digest
from fullbench.studies.run.call_context import CallContext

EXAMPLES = 12
"""Number of answers in the prompt: it stays short, and shows both ends of the marks."""
_LINE = re.compile(r"^\W{0,6}(?:\d{1,2}\s*[.、)）]\s*)?\**(?P<name>[^:：*]{1,60}?)\**\s*[:：]\**\s*(?P<asks>\S.*)$")

MarkedExample = tuple[Item, Response, float | None]


def select_examples(examples: Sequence[MarkedExample], most: int = EXAMPLES) -> list[MarkedExample]:
    """Return at most `most` examples: half from each end of people's marks, or a random choice without marks."""
    if len(examples) <= most:
        return list(examples)
    if all(mark is not None for _, _, mark in examples):
        sorted_examples = sorted(examples, key=lambda example: (example[2] or 0.0, digest([example[1].key])))
        return [*sorted_examples[: most // 2], *sorted_examples[-(most - most // 2) :]]
    return sorted(examples, key=lambda example: digest([example[1].key]))[:most]


def proposal_request(examples: Sequence[MarkedExample], count: int) -> Item:
    """Return the item that asks a model for `count` criteria, with examples."""
    if not examples:
        raise InputError("a rubric is proposed from examples, but none of the items has a response")
    shown_examples = select_examples(examples)
    texts = []
    for item, response, mark in shown_examples:
        mark_text = "" if mark is None else f"\n<people's mark>{mark:g}</people's mark>"
        texts.append(f"<question>{item.question}</question>\n<answer>{response.text}</answer>{mark_text}")
    pictures = {picture.digest: picture for item, _, _ in shown_examples for picture in item.pictures[:1]}
    language = language_of("".join(item.question for item, _, _ in shown_examples))
    values = {"examples": ("\n\n".join(texts),), "count": (str(count),)}
    (*before, last) = study_template("rubric", language, *values).fill(values)
    turns = (*before, type(last)(last.role, (*list(pictures.values())[:4], *last.parts)))
    name = f"rubric/{digest([[turn.role, turn.text] for turn in turns])[:8]}"
    return Item(name, turns, tags={REQUEST: "rubric"})


def propose_criteria(
    model: Model, examples: Sequence[MarkedExample], calls: CallContext, *, count: int
) -> tuple[list[Criterion], JobCounts]:
    """Return the criteria that a model proposes. A stored reply is used again."""
    request_item = proposal_request(examples, count)
    (counts,) = calls.collect_answers([model], [request_item], what="rubrics")
    replies = list(calls.ledger.responses([model.name], item_keys=[request_item.key]))
    if not replies or replies[0].tags.get("stop") in DECLINED_STOPS:
        raise InputError(f"{model.name} proposed nothing: {'it refused' if replies else 'its call failed'}; try again")
    return points_in(replies[0].text, model.name), counts


def points_in(text: str, who: str) -> list[Criterion]:
    """Parse the criteria of a reply: one per line, as name, colon, statement. A repeated name gets a number."""
    criteria: list[dict[str, str]] = []
    for line in text.splitlines():
        if match := _LINE.match(line.strip()):
            name = match["name"].strip()
            before = sum(entry["name"].partition(" (")[0] == name for entry in criteria)
            criteria.append({"name": f"{name} ({before + 1})" if before else name, "asks": match["asks"].strip()})
    if not criteria:
        raise InputError(f"{who} proposed no readable criterion (a name, a colon, a statement); found {text[:80]!r}")
    return list(parse_criteria(criteria))


def write_rubric(
    path: Path,
    criteria: Sequence[Criterion],
    *,
    proposer: str = "",
    confirmation: Mapping[str, Any] | None = None,
    total_options: Mapping[str, Any] | None = None,
) -> None:
    """Write a rubric file with the options of its total. With a `proposer`, the file says how to confirm it."""
    lines = []
    if proposer:
        lines += [
            "# Read every point; change, add and leave out what you like. Then:",
            f"#   fullbench rubric confirm {path.name}",
        ]
        lines += [f"proposed = {_toml_text(proposer)}", ""]
    for key, value in (total_options or {}).items():
        lines.append(f"{key} = {_toml_text(value) if isinstance(value, str) else repr(value)}")
    for criterion in criteria:
        lines += ["[[criteria]]", f"name = {_toml_text(criterion.name)}", f"asks = {_toml_text(criterion.words)}"]
        lines += [f"weight = {criterion.weight:.6g}", f"ballot = {_toml_text(criterion.ballot)}"]
        lines += [*(["required = true"] if criterion.required else []), ""]
    if confirmation:
        lines += [
            f"[{CONFIRMED_KEY}]",
            *(f"{key} = {_toml_text(str(value))}" for key, value in confirmation.items()),
            "",
        ]
    with replace_atomically(path) as target:
        target.write_text("\n".join(lines), encoding="utf-8")


def confirm_rubric(path: Path, by: str, *, leave_out: Sequence[str] = ()) -> list[Criterion]:
    """Record that a person accepts the criteria except those in `leave_out`. Later changes need a new confirmation."""
    criteria, table = read_rubric_file(path)
    names = [criterion.name for criterion in criteria]
    if unknown := [name for name in leave_out if name not in names]:
        raise InputError(f"there is no criterion {unknown[0]!r} to leave out; there are: {', '.join(names)}", path=path)
    accepted_criteria = [criterion for criterion in criteria if criterion.name not in leave_out]
    if not accepted_criteria:
        raise InputError("all criteria are left out, so nothing would be confirmed; keep at least one", path=path)
    if not by.strip():
        raise InputError("No name given. Add --by NAME, the person who confirms")
    confirmation = {"by": by, "at": time.strftime("%Y-%m-%d", time.gmtime()), "digest": words_digest(accepted_criteria)}
    write_rubric(
        path, accepted_criteria, proposer=str(table.get("proposed", "")), confirmation=confirmation,
        total_options={key: table[key] for key in OPTION_KEYS if key in table},
    )  # fmt: skip
    return accepted_criteria


def current_user() -> str:
    """Return the user name from the environment, or ""."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or ""


def _toml_text(value: str) -> str:
    """Quote a text for TOML. JSON escapes are valid there, but JSON does not escape DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
