"""Building a benchmark of one's own: rewordings that people confirm, and references that people review.

What waits for people is a queue: a file with a row for each question to them (`.csv`, `.jsonl`, `.parquet`), with a
column that they fill in. Nothing enters the benchmark that nobody confirmed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from fullbench.core.ballot import Language
from fullbench.core.column_labels import headings
from fullbench.core.item import Item, Turn
from fullbench.core.model import DECLINED
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.text import language_of
from fullbench.errors import InputError
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields
from fullbench.files.writers import Columns
from fullbench.judges.prompt_templates import Template

REWRITES = 5
Reason = Literal["factual error", "does not follow", "incomplete", "common-sense mistake"]
REASONS: Mapping[Reason, str] = {
    "factual error": "事实错误",
    "does not follow": "未遵循要求",
    "incomplete": "不完整",
    "common-sense mistake": "违背常识",
}
"""Why a reference answer is turned down, in English and Chinese."""
REWRITE_COLUMNS: Columns = {
    "seed": "text", "variant": "int", "question": "text", "text": "text", "same": "text", "writer": "text",
}  # fmt: skip
REFERENCE_COLUMNS: Columns = {
    "item": "text", "question": "text", "reference": "text", "accept": "text", "reason": "text", "note": "text",
}  # fmt: skip
_YES, _NO = {"yes", "y", "true", "1", "是"}, {"no", "n", "false", "0", "否"}
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|[（(]?\d{1,2}\s*[.、)）:：]\s*)?")
_QUOTES = "\"'“”‘’「」"


@cache
def wording(language: Language) -> Template:
    """How a model is asked to reword a question."""
    file = resources.files("fullbench.studies") / "prompts" / f"rewrite_{language}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), {"question", "count"}, path=file.name)


# Rewording


def seeds(items: Iterable[Item]) -> list[Item]:
    """The items that can be reworded: those of a single turn."""
    return [item for item in items if len(item.turns) == 1]


def requests(items: Iterable[Item], count: int = REWRITES, language: Language | None = None) -> list[Item]:
    """What a model is asked for each seed: `count` rewordings, in the language of the seed or the one given."""
    if count < 1:
        raise InputError(f"at least one rewording must be asked for; found {count}")
    writing = []
    for item in seeds(items):
        spoken = language or language_of(item.question)
        turns = wording(spoken).fill({"question": (item.question,), "count": (str(count),)})
        writing.append(Item(f"{item.id}/reworded", turns, tags={"seed": item.id}))
    return writing


@dataclass
class Reworded:
    """Rewordings that wait for people, and what is amiss with others."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def reworded(items: Sequence[Item], replies: Iterable[Response], count: int = REWRITES) -> Reworded:
    """The queue of rewordings that models wrote, one a line.

    Numbers, bullets and quotation marks around a line are taken off. A line that repeats the seed or another line of
    any writer is set aside, and so is what goes beyond `count`; each with the reason.
    """
    asked = {f"{item.id}/reworded": item for item in seeds(items)}
    seen = {item.id: {_bare(item.question)} for item in asked.values()}
    variants = Counter[str]()
    queue = Reworded()
    for reply in sorted(replies, key=lambda reply: (reply.item, reply.contestant)):
        item = asked[reply.item]
        where = f"{item.id}, by {reply.contestant}"
        if reply.tags.get("stop") in DECLINED:
            queue.failed.append(f"{where}: refused")
            continue
        lines = [line for line in map(_line, reply.text.splitlines()) if line]
        fresh = list(islice(_fresh(lines, seen[item.id]), count))
        if len(lines) > count:
            queue.failed.append(
                f"{where}: {len(lines)} lines where {count} were asked for; the first {len(fresh)} that are new stay"
            )
        if len(fresh) < count:
            queue.failed.append(f"{where}: {len(fresh)} of {count} rewordings are new")
        for text in fresh:
            variants[item.id] += 1
            queue.rows.append({
                "seed": item.id, "variant": variants[item.id], "question": item.question, "text": text, "same": None,
                "writer": reply.contestant,
            })  # fmt: skip
    return queue


def _fresh(lines: Iterable[str], seen: set[str]) -> Iterator[str]:
    for line in lines:
        if _bare(line) not in seen:
            seen.add(_bare(line))
            yield line


def _line(line: str) -> str:
    return _BULLET.sub("", line, count=1).strip().strip(_QUOTES).strip()


def _bare(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


@dataclass(frozen=True)
class Confirmed:
    """The items that people's answers leave, and a table of what they said."""

    items: Sequence[Item]
    table: Table


def confirm(items: Sequence[Item], queue: Path, *, dropped: Collection[str] = ()) -> Confirmed:
    """Items with the rewordings that people confirmed (`same` is yes), as `ID-1`, `ID-2`...; the seed itself is `ID-0`.

    A person may have edited the `text`. What has no answer yet waits, and is counted; rewordings of seeds that were
    dropped before are passed over.
    """
    known = {item.id: item for item in items}
    accepted: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for fields in _rows(queue):
        seed = fields.name("seed")
        if seed in dropped:
            counts["of a seed that was dropped"] += 1
            continue
        if seed not in known:
            raise fields.error(f"the seed {seed!r} is not among the {len(known)} items")
        same = _yes(fields, "same")
        counts["waiting" if same is None else "same meaning" if same else "another meaning"] += 1
        if same:
            accepted.setdefault(seed, []).append(fields.name("text"))
    variants = [variant for item in items for variant in _variants(item, accepted.get(item.id, []))]
    return Confirmed(variants, _counted("rewordings", "Rewordings", counts))


def _variants(item: Item, texts: Sequence[str]) -> Iterator[Item]:
    for place, text in enumerate([item.question, *texts]):
        tags = {**item.tags, "seed": item.id, "variant": str(place)}
        turns = item.turns if place == 0 else (Turn("user", (*item.turns[0].pictures, text)),)
        yield replace(item, id=f"{item.id}-{place}", turns=turns, tags=tags)


# References


def references(items: Iterable[Item]) -> list[dict[str, Any]]:
    """The queue in which people review reference answers; `accept` is theirs to fill in, and the reason where not."""
    return [
        {"item": item.id, "question": item.question, "reference": item.reference, "accept": None, "reason": None,
         "note": None}
        for item in items
        if item.reference
    ]  # fmt: skip


def review(items: Sequence[Item], queue: Path) -> Confirmed:
    """The items whose reference people accepted, and how often others were turned down, and why.

    A person may have edited the reference and accepted it. An item without an answer waits and is left out. Marks that
    kept an item from being judged until somebody looked at its reference say now that somebody did.
    """
    known = {item.id: item for item in items}
    accepted: dict[str, Item] = {}
    counts: Counter[str] = Counter()
    for fields in _rows(queue):
        name = fields.name("item")
        if name not in known:
            raise fields.error(f"the item {name!r} is not among the {len(known)} items")
        accept = _yes(fields, "accept")
        if accept:
            counts["accepted"] += 1
            accepted[name] = _verified(known[name], fields.name("reference"))
        else:
            counts["waiting" if accept is None else _reason(fields)] += 1
    counts["no reference"] += sum(not item.reference for item in items)
    return Confirmed(
        [accepted[item.id] for item in items if item.id in accepted], _counted("references", "References", counts)
    )


def _verified(item: Item, reference: str) -> Item:
    """The item with a reference that a person accepted; an older label was said of the reference before it."""
    said = {tag: value for tag, value in (("verified", "yes"), ("label", "correct")) if tag in item.tags}
    return replace(item, reference=reference, tags={**item.tags, **said})


def _reason(fields: Fields) -> str:
    reason = (fields.text("reason") or "").strip()
    if not reason and fields.text("fault"):
        return str(fields.text("fault"))  # people who check references say whose fault it is; a reason is up to them
    for name, chinese in REASONS.items():
        if reason.lower() in {name, chinese}:
            return name
    raise fields.error(f"a reference that is turned down needs a reason: {', '.join(REASONS)}; found {reason!r}")


def _rows(queue: Path) -> Iterator[Fields]:
    for line, row in read_rows(queue):
        yield Fields(queue, line, row, {})


def _yes(fields: Fields, name: str) -> bool | None:
    answer = str(fields.get(name) if fields.get(name) is not None else "").strip().lower()
    if not answer:
        return None
    if answer not in _YES | _NO:
        raise fields.error(f"{name!r} is yes or no, or empty while it waits; found {answer!r}")
    return answer in _YES


def _counted(name: str, title: str, counts: Mapping[str, int]) -> Table:
    rows: list[list[Cell]] = [[what, times] for what, times in counts.items() if times]
    return Table(
        name,
        Note("rewording.title.as-people-see-them", "{title}, as people see them", title=title),
        headings("people say", "rows"),
        rows,
    )
