"""Rubrics that a model proposes from examples, in a file that waits until a person has confirmed it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fullbench.core.ballot import Language
from fullbench.core.digests import digest
from fullbench.core.item import REQUEST, Item
from fullbench.core.model import DECLINED, Model
from fullbench.core.response import Response
from fullbench.core.rubric import Criterion, criteria_of
from fullbench.core.text import language_of
from fullbench.errors import InputError
from fullbench.files.writers import replacing
from fullbench.judges.prompt_templates import Template
from fullbench.studies.authoring.model_references import Going
from fullbench.studies.engines import Tally
from fullbench.studies.rubrics.rubrics_in_studies import CONFIRMED, read_file, words_digest
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.progress_display import watching

EXAMPLES = 12
"""So many answers are shown to whoever proposes: the prompt stays short, and both ends of the marks are in it."""
_LINE = re.compile(r"^\W{0,6}(?:\d{1,2}\s*[.、)）]\s*)?\**(?P<name>[^:：*]{1,60}?)\**\s*[:：]\**\s*(?P<asks>\S.*)$")

Marked = tuple[Item, Response, float | None]
"""An example: a question, an answer, and what people marked it, where they did."""


@cache
def _wording(language: Language) -> Template:
    file = resources.files("fullbench.studies") / "prompts" / f"rubric_{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), {"examples", "count"}, path=file.name)


def chosen(examples: Sequence[Marked], most: int = EXAMPLES) -> list[Marked]:
    """The examples that are shown: half from either end of people's marks, or an even choice where nobody marked."""
    if len(examples) <= most:
        return list(examples)
    if all(mark is not None for _, _, mark in examples):
        ranked = sorted(examples, key=lambda example: (example[2] or 0.0, digest([example[1].key])))
        return [*ranked[: most // 2], *ranked[-(most - most // 2) :]]
    return sorted(examples, key=lambda example: digest([example[1].key]))[:most]


def request(examples: Sequence[Marked], count: int) -> Item:
    """What a model is asked: some points, from examples."""
    if not examples:
        raise InputError("a rubric is proposed from examples; no response to any of the items is there")
    shown = chosen(examples)
    texts = []
    for item, response, mark in shown:
        marked = "" if mark is None else f"\n<people's mark>{mark:g}</people's mark>"
        texts.append(f"<question>{item.question}</question>\n<answer>{response.text}</answer>{marked}")
    pictures = {picture.digest: picture for item, _, _ in shown for picture in item.pictures[:1]}
    language = language_of("".join(item.question for item, _, _ in shown))
    values = {"examples": ("\n\n".join(texts),), "count": (str(count),)}
    (*before, last) = _wording(language).fill(values)
    turns = (*before, type(last)(last.role, (*list(pictures.values())[:4], *last.parts)))
    name = f"rubric/{digest([[turn.role, turn.text] for turn in turns])[:8]}"
    return Item(name, turns, tags={REQUEST: "rubric"})


def proposed(model: Model, examples: Sequence[Marked], going: Going, *, count: int) -> tuple[list[Criterion], Tally]:
    """The points that a model proposes; a reply that the ledger holds is not asked for again."""
    asked = request(examples, count)
    with watching("rubrics", [model.name], 1, quiet=going.quiet) as watch:
        (tally,) = answer(
            [model], [asked], going.ledger, engine=going.engine, specs=going.specs, budget=going.budget,
            stop=going.stop, watch=watch,
        )  # fmt: skip
    replies = list(going.ledger.responses([model.name], item_keys=[asked.key]))
    if not replies or replies[0].tags.get("stop") in DECLINED:
        raise InputError(f"{model.name} proposed nothing: {'it refused' if replies else 'its call failed'}; try again")
    return points_in(replies[0].text, model.name), tally


def points_in(text: str, who: str) -> list[Criterion]:
    """The points of a reply, a line each: a name, a colon, a statement. A name that comes again gets a number."""
    criteria: list[dict[str, str]] = []
    for line in text.splitlines():
        if match := _LINE.match(line.strip()):
            name = match["name"].strip()
            before = sum(entry["name"].partition(" (")[0] == name for entry in criteria)
            criteria.append({"name": f"{name} ({before + 1})" if before else name, "asks": match["asks"].strip()})
    if not criteria:
        raise InputError(
            f"{who} proposed no point that can be read (a name, a colon, a statement); found {text[:80]!r}"
        )
    return list(criteria_of(criteria))


def write_rubric(
    path: Path, criteria: Sequence[Criterion], *, proposer: str = "", confirmed: Mapping[str, Any] | None = None
) -> None:
    """A rubric's file; what a model proposed says so, and waits for a person."""
    lines = []
    if proposer:
        lines += [
            "# Read every point; change, add and leave out what you like. Then:",
            f"#   fullbench rubric confirm {path.name}",
        ]
        lines += [f"proposed = {_text(proposer)}", ""]
    for criterion in criteria:
        lines += ["[[criteria]]", f"name = {_text(criterion.name)}", f"asks = {_text(criterion.words)}"]
        lines += [f"weight = {criterion.weight:.6g}", f"ballot = {_text(criterion.ballot)}", ""]
    if confirmed:
        lines += [f"[{CONFIRMED}]", *(f"{key} = {_text(str(value))}" for key, value in confirmed.items()), ""]
    with replacing(path) as target:
        target.write_text("\n".join(lines), encoding="utf-8")


def confirm(path: Path, by: str, *, leave_out: Sequence[str] = ()) -> list[Criterion]:
    """Note that a person read and accepts these words, less what they leave out; any later change needs them again."""
    criteria, table = read_file(path)
    names = [criterion.name for criterion in criteria]
    if unknown := [name for name in leave_out if name not in names]:
        raise InputError(f"there is no criterion {unknown[0]!r} to leave out; there are: {', '.join(names)}", path=path)
    accepted = [criterion for criterion in criteria if criterion.name not in leave_out]
    if not accepted:
        raise InputError("every criterion is left out: nothing would be confirmed", path=path)
    if not by.strip():
        raise InputError("who confirms? Give --by NAME")
    noted = {"by": by, "at": time.strftime("%Y-%m-%d", time.gmtime()), "digest": words_digest(accepted)}
    write_rubric(path, accepted, proposer=str(table.get("proposed", "")), confirmed=noted)
    return accepted


def user() -> str:
    """Who sits at this machine, as far as it says."""
    return os.environ.get("USER") or os.environ.get("USERNAME") or ""


def _text(value: str) -> str:
    """A text as TOML writes it: what JSON escapes, TOML reads."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
