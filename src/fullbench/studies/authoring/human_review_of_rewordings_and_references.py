"""Rewordings that people confirm, and reference answers, by a model or not, that people review.

People work on a queue: a file (`.csv`, `.jsonl`, `.parquet`) with one row per decision and a column to fill in. Nothing
enters the benchmark without a confirmation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from fullbench.core.ballot import Language
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.item import Item, Turn
from fullbench.core.language_and_words import language_of
from fullbench.core.model import DECLINED_STOPS, Model
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows
from fullbench.files.row_writers import Columns
from fullbench.judges.prompt_templates import Template, load_template
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import HERE, Budget, Engine, JobCounts, Stop
from fullbench.studies.run.answer_items import collect_answers
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.progress_display import watch_progress

REWRITES = 5
Reason = Literal["factual error", "does not follow", "incomplete", "common-sense mistake"]
REASONS: Mapping[Reason, str] = {
    "factual error": "事实错误",
    "does not follow": "未遵循要求",
    "incomplete": "不完整",
    "common-sense mistake": "违背常识",
}
REWRITE_COLUMNS: Columns = {
    "seed": "text", "variant": "int", "question": "text", "text": "text", "same": "text", "writer": "text",
}  # fmt: skip
REFERENCE_COLUMNS: Columns = {
    "item": "text", "question": "text", "reference": "text", "accept": "text", "reason": "text", "note": "text",
}  # fmt: skip
_YES, _NO = {"yes", "y", "true", "1", "是"}, {"no", "n", "false", "0", "否"}
_BULLET = re.compile(r"^\s*(?:[-*•]\s+|[（(]?\d{1,2}\s*[.、)）:：]\s*)?")
_QUOTES = "\"'“”‘’「」"


def study_template(what: str, language: Language, *slots: str) -> Template:
    """Return a prompt of `studies/prompts`, which has these slots."""
    return load_template("fullbench.studies", f"{what}_{language}", frozenset(slots))


# Rewording


def rewordable_items(items: Iterable[Item]) -> list[Item]:
    """Return the items that can be reworded: those with a single turn, and no picture behind a text."""
    return [item for item in items if len(item.turns) == 1 and not item.is_interleaved]


def rewording_requests(items: Iterable[Item], count: int = REWRITES, language: Language | None = None) -> list[Item]:
    """Return one request per seed item for `count` rewordings, in the seed's language or in `language`."""
    if count < 1:
        raise InputError(f"the number of rewordings must be at least 1; found {count}")
    writing = []
    for item in rewordable_items(items):
        seed_language = language or language_of(item.question)
        turns = study_template("rewrite", seed_language, "question", "count").fill(
            {"question": (item.question,), "count": (str(count),)}
        )
        writing.append(Item(f"{item.id}/reworded", turns, tags={"seed": item.id}))
    return writing


@dataclass
class RewordingQueue:
    """Rewordings that wait for people, and the failures."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def build_rewording_queue(items: Sequence[Item], replies: Iterable[Response], count: int = REWRITES) -> RewordingQueue:
    """Build the queue from the models' replies, which have one rewording per line.

    Numbers, bullets and quotation marks around a line are removed. A line that repeats the seed or another line is
    excluded, and so are lines beyond `count`. Failures give the reasons.
    """
    items_by_request = {f"{item.id}/reworded": item for item in rewordable_items(items)}
    used_texts = {item.id: {_alphanumeric_only(item.question)} for item in items_by_request.values()}
    variants = Counter[str]()
    queue = RewordingQueue()
    for reply in sorted(replies, key=lambda reply: (reply.item, reply.contestant)):
        item = items_by_request[reply.item]
        where = f"{item.id}, by {reply.contestant}"
        if reply.tags.get("stop") in DECLINED_STOPS:
            queue.failures.append(f"{where}: refused")
            continue
        lines = [line for line in map(_clean_line, reply.text.splitlines()) if line]
        fresh = list(islice(_new_lines(lines, used_texts[item.id]), count))
        if len(lines) > count:
            queue.failures.append(
                f"{where}: {len(lines)} lines where {count} were asked for; the first {len(fresh)} that are new stay"
            )
        if len(fresh) < count:
            queue.failures.append(f"{where}: {len(fresh)} of {count} rewordings are new")
        for text in fresh:
            variants[item.id] += 1
            queue.rows.append({
                "seed": item.id, "variant": variants[item.id], "question": item.question, "text": text, "same": None,
                "writer": reply.contestant,
            })  # fmt: skip
    return queue


def _new_lines(lines: Iterable[str], used_texts: set[str]) -> Iterator[str]:
    for line in lines:
        if _alphanumeric_only(line) not in used_texts:
            used_texts.add(_alphanumeric_only(line))
            yield line


def _clean_line(line: str) -> str:
    return _BULLET.sub("", line, count=1).strip().strip(_QUOTES).strip()


def _alphanumeric_only(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


@dataclass(frozen=True)
class ConfirmedItems:
    """The items that people confirmed, and a table of their decisions."""

    items: Sequence[Item]
    table: Table


def confirm_rewordings(items: Sequence[Item], queue: Path, *, dropped_seeds: Collection[str] = ()) -> ConfirmedItems:
    """Return items with confirmed rewordings (`same` is yes) as `ID-1`, `ID-2`, ...; the seed is `ID-0`.

    A person may have edited the `text`. Rows without a decision are counted as waiting. Rewordings of `dropped_seeds`
    are skipped.
    """
    items_by_id = {item.id: item for item in items}
    accepted_texts: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for fields in _queue_rows(queue):
        seed = fields.name("seed")
        if seed in dropped_seeds:
            counts["of a seed that was dropped"] += 1
            continue
        if seed not in items_by_id:
            raise fields.error(f"the seed {seed!r} is not among the {len(items_by_id)} items")
        same = _parse_yes_no(fields, "same")
        counts["waiting" if same is None else "same meaning" if same else "another meaning"] += 1
        if same:
            accepted_texts.setdefault(seed, []).append(fields.name("text"))
    variants = [variant for item in items for variant in _item_variants(item, accepted_texts.get(item.id, []))]
    return ConfirmedItems(variants, _counts_table("rewordings", "Rewordings", counts))


def _item_variants(item: Item, texts: Sequence[str]) -> Iterator[Item]:
    for place, text in enumerate([item.question, *texts]):
        tags = {**item.tags, "seed": item.id, "variant": str(place)}
        turns = item.turns if place == 0 else (Turn("user", (*item.turns[0].pictures, text)),)
        yield replace(item, id=f"{item.id}-{place}", turns=turns, tags=tags)


# References


def reference_queue(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Return the queue in which people review references: they fill in `accept`, and `reason` if they reject."""
    return [
        {"item": item.id, "question": item.question, "reference": item.reference, "accept": None, "reason": None,
         "note": None}
        for item in items
        if item.reference
    ]  # fmt: skip


def review_references(items: Sequence[Item], queue: Path) -> ConfirmedItems:
    """Return the items with an accepted reference, and a table of rejections by reason.

    A person may have edited the reference before accepting it. Items without a decision are excluded. Tags that kept an
    item from being judged are set to verified and correct.
    """
    items_by_id = {item.id: item for item in items}
    accepted_items: dict[str, Item] = {}
    counts: Counter[str] = Counter()
    for fields in _queue_rows(queue):
        name = fields.name("item")
        if name not in items_by_id:
            raise fields.error(f"the item {name!r} is not among the {len(items_by_id)} items")
        accept = _parse_yes_no(fields, "accept")
        if accept:
            counts["accepted"] += 1
            accepted_items[name] = _with_accepted_reference(items_by_id[name], fields.name("reference"))
        else:
            counts["waiting" if accept is None else _rejection_reason(fields)] += 1
    counts["no reference"] += sum(not item.reference for item in items)
    return ConfirmedItems(
        [accepted_items[item.id] for item in items if item.id in accepted_items],
        _counts_table("references", "References", counts),
    )


def _with_accepted_reference(item: Item, reference: str) -> Item:
    new_tags = {tag: value for tag, value in (("verified", "yes"), ("label", "correct")) if tag in item.tags}
    return replace(item, reference=reference, tags={**item.tags, **new_tags})


def _rejection_reason(fields: Fields) -> str:
    reason = (fields.text("reason") or "").strip()
    if not reason and fields.text("fault"):
        return str(fields.text("fault"))  # a reference check by people records a fault; a reason is optional there
    for name, chinese in REASONS.items():
        if reason.lower() in {name, chinese}:
            return name
    raise fields.error(f"a reference that is turned down needs a reason: {', '.join(REASONS)}; found {reason!r}")


def _queue_rows(queue: Path) -> Iterator[Fields]:
    for line, row in read_rows(queue):
        yield Fields(queue, line, row, {})


def _parse_yes_no(fields: Fields, name: str) -> bool | None:
    answer = str(fields.get(name) if fields.get(name) is not None else "").strip().lower()
    if not answer:
        return None
    if answer not in _YES | _NO:
        raise fields.error(f"{name!r} is yes or no, or empty while it waits; found {answer!r}")
    return answer in _YES


def _counts_table(name: str, title: str, counts: Mapping[str, int]) -> Table:
    rows: list[list[Cell]] = [[what, times] for what, times in counts.items() if times]
    return Table(
        name, Note("rewording.title.as-people-see-them", title=title), table_columns("people say", "rows"), rows
    )


@dataclass
class ModelTexts:
    """Texts by a model, as queue rows and as responses, and the failures."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    job_counts: list[JobCounts] = field(default_factory=list)


def write_references(model: Model, items: Sequence[Item], calls: CallContext) -> ModelTexts:
    """Let a model write a reference for every item without one, as a queue for people to review."""
    bare = {f"{item.id}/reference": item for item in items if not item.reference}
    requests = []
    for name, item in bare.items():
        instruction = study_template("reference", language_of(item.question), "question", "reference").turns[0][1]
        requests.append(Item(name, (Turn("system", (instruction,)), *item.turns), tags={"seed": item.id}))
    model_texts = _collect_replies(model, requests, calls)
    model_texts.rows = [
        {"item": bare[reply.item].id, "question": bare[reply.item].question, "reference": reply.text.strip(),
         "accept": None, "reason": None, "note": f"written by {reply.contestant}"}
        for reply in model_texts.responses
    ]  # fmt: skip
    return model_texts


def rephrase_references(model: Model, items: Sequence[Item], calls: CallContext, *, contestant: str) -> ModelTexts:
    """Let a model paraphrase every reference, as a response of `contestant`: equally right, in other words."""
    items_by_request = {f"{item.id}/rephrased": item for item in items if item.reference}
    if not items_by_request:
        raise InputError("no item has a reference that could be rephrased")
    requests = []
    for name, item in items_by_request.items():
        wording = study_template("rephrase", language_of(item.question), "question", "reference")
        turns = wording.fill({"question": (item.question,), "reference": (item.reference or "",)})
        requests.append(Item(name, turns, tags={"seed": item.id}))
    model_texts = _collect_replies(model, requests, calls)
    same = [
        reply
        for reply in model_texts.responses
        if _alphanumeric_only(reply.text) == _alphanumeric_only(items_by_request[reply.item].reference or "")
    ]
    model_texts.failures += [f"{items_by_request[reply.item].id}: the very words of the reference" for reply in same]
    model_texts.responses = [
        Response.say(items_by_request[reply.item].id, contestant, reply.text.strip(), tags={"writer": reply.contestant})
        for reply in model_texts.responses if reply not in same
    ]  # fmt: skip
    return model_texts


def _collect_replies(model: Model, requests: Sequence[Item], calls: CallContext) -> ModelTexts:
    """Return the model's reply to each request; refusals and empty replies become failures."""
    model_texts = ModelTexts()
    if not requests:
        return model_texts
    model_texts.job_counts = calls.collect_answers([model], requests, what="references")
    for reply in calls.ledger.responses([model.name], item_keys=[item.key for item in requests]):
        if reply.tags.get("stop") in DECLINED_STOPS or not reply.text.strip():
            model_texts.failures.append(f"{reply.item}, by {reply.contestant}: refused or empty")
        else:
            model_texts.responses.append(reply)
    return model_texts


@dataclass
class RewordingResult:
    """Queue of rewordings with the failures, and the counts of the calls."""

    queue: RewordingQueue
    job_counts: list[JobCounts] = field(default_factory=list)


def reword_items(
    models: Sequence[Model],
    items: Sequence[Item],
    ledger: Ledger,
    *,
    count: int = REWRITES,
    language: Language | None = None,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    quiet: bool = False,
) -> RewordingResult:
    """Let models reword the question of every single-turn item. Stored replies are used again.

    People confirm the result with `confirm_rewordings`; `engine` and `specs`
    are as in `collect_answers`.
    """
    requests = rewording_requests(items, count, language)
    names = [model.name for model in models]
    with watch_progress("rewordings", names, len(requests), quiet=quiet) as watch:
        job_counts = collect_answers(
            models, requests, ledger, engine=engine, specs=specs, budget=budget, stop=stop, watch=watch
        )
    replies = list(ledger.responses(names, item_keys=[item.key for item in requests])) if requests else []
    return RewordingResult(build_rewording_queue(items, replies, count), job_counts)
