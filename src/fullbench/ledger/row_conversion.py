"""Conversion of items, responses, cases, verdicts and calls to database rows and back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson

from fullbench.core.case import Case
from fullbench.core.item import Item, Part, Turn, parts_content
from fullbench.core.media import KINDS, PART_NAMES, Kind, Media
from fullbench.core.model_call import Call, Usage
from fullbench.core.response import Response
from fullbench.core.verdict import USUAL, Circumstances, Failure, ReplyReading, Verdict
from fullbench.ledger import schema

Row = tuple[Any, ...]
FindMedia = Callable[[str, Kind], Media]
"""Function that returns the stored file with a digest, as the kind that the part names."""

_KINDS_BY_PART: dict[str, Kind] = {PART_NAMES[kind]: kind for kind in KINDS}

CALL = ", ".join(schema.table_columns("calls"))
RESPONSE = ", ".join(schema.table_columns("responses"))
ITEM = ", ".join(schema.table_columns("items"))


def dump_json(value: Any) -> str:
    """Return a JSON value as text; lone surrogates, which UTF-8 cannot encode, are escaped."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def load_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as canonical JSON, so that equal settings are equal texts."""
    return json.dumps(dict(settings), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def content_checksum(*content: Any) -> str:
    """Return a digest of a verdict's content, without its time and cost."""
    return blake2b(orjson.dumps(content), digest_size=16).hexdigest()


KeepText = Callable[[str, Sequence[str]], str]
"""Stores a text and the replies before it outside the row, and returns the reference to them."""


def verdict_row(verdict: Verdict, study: str, keep_text: KeepText) -> Row:
    """Return the narrow row of a verdict; replace lone surrogates in texts, convert other number types to float."""
    try:
        return _verdict_row(verdict, study, keep_text)
    except TypeError:
        marks = None if verdict.marks is None else tuple(map(float, verdict.marks))
        earlier = tuple(map(_repair_surrogates, verdict.earlier))
        clean_verdict = replace(verdict, marks=marks, text=_repair_surrogates(verdict.text), earlier=earlier)
        return _verdict_row(clean_verdict, study, keep_text)


def _verdict_row(v: Verdict, study: str, keep_text: KeepText) -> Row:
    marks, total = v.marks, verdict_checksum(v)
    if v.exchanges:
        replies = tuple(call.text for call in v.exchanges)
        has_separate_text = (v.earlier, v.text) != (replies[:-1], replies[-1])
        ids = orjson.dumps([call.id for call in v.exchanges]).decode()
    else:
        has_separate_text, ids = bool(v.text or v.earlier), "[]"
    how = v.circumstances
    return (
        v.case, v.judge, v.item, orjson.dumps(v.contestants).decode(), v.ballot, v.criterion, int(v.trial),
        None if marks is None else orjson.dumps(marks).decode(), v.fault, "", v.prompt,
        *usage_row(v.usage), float(v.at or time.time()), "[]", total,
        orjson.dumps(v.samples).decode() if v.samples else "[]", v.rater, int(v.revision), v.reading.number,
        v.confidence, *(_USUAL if how is USUAL or how == USUAL else _circumstance_values(how)), study, ids,
        keep_text(v.text, v.earlier) if has_separate_text else "", *cached_row(v.usage),
    )  # fmt: skip


def _circumstance_values(how: Circumstances) -> Row:
    blind = None if how.blind is None else int(how.blind)
    return (blind, how.guideline, how.probability, how.variant, how.strength, int(how.canary))


_USUAL = _circumstance_values(USUAL)


def verdict_checksum(v: Verdict) -> str:
    """Return the checksum of a verdict. Rater, samples and circumstances are included only if not the usual ones."""
    how = v.circumstances
    usual = how is USUAL or how == USUAL  # identity first: the comparison is slow
    who = ((v.samples, v.rater, v.revision),) if v.rater or v.revision or v.samples else ()
    more = () if usual and v.confidence is None else ((v.confidence, *_circumstance_values(how)),)
    return content_checksum(
        v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, v.marks, v.fault, v.text, v.prompt,
        v.earlier, *who, *more,
    )  # fmt: skip


def _repair_surrogates(text: str) -> str:
    """Pair or replace lone surrogates, which UTF-8 cannot encode."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class VerdictTexts:
    """Parts of verdicts stored outside their rows: calls by id, texts with earlier replies by their `words`."""

    calls: Mapping[str, Call] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


NO_VERDICT_TEXTS = VerdictTexts()


def verdict_of(row: Sequence[Any], verdict_texts: VerdictTexts = NO_VERDICT_TEXTS) -> Verdict:
    """Return the verdict of a row with all columns."""
    (case, judge, item, contestants, ballot, criterion, trial, marks, fault, text, prompt,
     call_count, retries, tokens_in, tokens_out, dollars, seconds, at, earlier, _,
     samples, rater, revision, reader, confidence, blind, guideline, probability, variant, strength, canary,
     _, ids, words, cached_tokens, stored_tokens) = row  # fmt: skip
    exchanges: tuple[Call, ...] = ()
    before = () if earlier == "[]" else tuple(orjson.loads(earlier))
    if ids != "[]":
        exchanges = tuple(verdict_texts.calls[name] for name in orjson.loads(ids) if name in verdict_texts.calls)
        if exchanges and not words:
            text, before = exchanges[-1].text, tuple(call.text for call in exchanges[:-1])
    if words:
        text, before = verdict_texts.texts.get(words, ("", ()))
    how = (blind, guideline, probability, variant, strength, canary)
    return Verdict(
        case,
        judge,
        item,
        tuple(orjson.loads(contestants)),
        ballot,
        criterion,
        trial,
        None if marks is None else tuple(orjson.loads(marks)),
        fault,
        text,
        usage_of((call_count, retries, tokens_in, tokens_out, dollars, seconds), cached_tokens, stored_tokens),
        prompt,
        before,
        at,
        () if samples == "[]" else tuple(orjson.loads(samples)),
        rater,
        revision,
        exchanges,
        ReplyReading.from_number(reader),
        confidence,
        USUAL
        if how == _USUAL
        else Circumstances(
            None if blind is None else bool(blind), guideline, probability, variant, strength, bool(canary)
        ),
    )


VERDICT = ", ".join(f"verdicts.{name}" for name in schema.table_columns("verdicts"))
WITHOUT_TEXTS = ", ".join(
    {"text": "''", "earlier": "'[]'", "exchanges": "'[]'", "words": "''"}.get(name, f"verdicts.{name}")
    for name in schema.table_columns("verdicts")
)


def call_row(call: Call, name: str, role: str = "judge") -> Row:
    """Return the row of a call; lone surrogates in its texts are replaced."""
    sent_text, text, reasoning = (_repair_surrogates(words) for words in (call.sent, call.text, call.reasoning))
    return (
        call.id, role, name, call.prompt, sent_text, text, reasoning, call.stop, call.served,
        call.fingerprint, call.nonce, *usage_row(call.usage), float(call.at or time.time()), *cached_row(call.usage),
    )  # fmt: skip


def call_of(row: Sequence[Any]) -> Call:
    (
        name,
        _,
        _,
        prompt,
        sent_text,
        text,
        reasoning,
        stop,
        served_model,
        fingerprint,
        nonce,
        *usage_values,
        at,
        cached_tokens,
        stored_tokens,
    ) = row
    usage = usage_of(usage_values, cached_tokens, stored_tokens)
    return Call(name, text, prompt, sent_text, reasoning, stop, served_model, fingerprint, nonce, usage, at)


def usage_row(usage: Usage) -> Row:
    """Return usage as plain ints and floats, so that rows read back match their row digests."""
    dollars = None if usage.dollars is None else float(usage.dollars)
    return (
        int(usage.calls), int(usage.retries), int(usage.tokens_in), int(usage.tokens_out), dollars,
        float(usage.seconds),
    )  # fmt: skip


def cached_row(usage: Usage) -> Row:
    """Return the server's cache counts, the last columns of a row; None if the server reported none."""
    if usage.cached is None and usage.stored is None:
        return _UNKNOWN_COUNTS
    return tuple(None if tokens is None else int(tokens) for tokens in (usage.cached, usage.stored))


_UNKNOWN_COUNTS = (None, None)


def usage_of(usage_values: Sequence[Any], cached_tokens: int | None, stored_tokens: int | None) -> Usage:
    """Return the usage of a row; `usage_values` are the values that `usage_row` wrote."""
    calls, retries, tokens_in, tokens_out, dollars, seconds = usage_values
    counted_tokens = 0 if cached_tokens is None else tokens_in
    return Usage(calls, retries, tokens_in, tokens_out, dollars, seconds, cached_tokens, stored_tokens, counted_tokens)


def failure_row(role: str, failure: Failure) -> Row:
    return (role, failure.judge, failure.case, int(failure.trial), _repair_surrogates(failure.error),
            *usage_row(failure.usage), time.time(), failure.kind, *cached_row(failure.usage))  # fmt: skip


def item_row(item: Item) -> Row:
    turns = [[turn.role, parts_content(turn.parts)] for turn in item.turns]
    return (item.key, item.id, dump_json([item.id, turns, item.reference, list(item.captions)]), tags_text(item.tags))


def item_of(row: Sequence[Any], find: FindMedia) -> Item:
    (_, _, body, tags) = row
    name, turns, reference, captions = load_json(body)
    parsed_turns = tuple(Turn(role, parts_of(parts, find)) for role, parts in turns)
    return Item(name, parsed_turns, reference, tuple(captions), load_json(tags))


def response_row(item: Item, response: Response, usage: Usage, prompt: str, at: float) -> Row:
    return (
        response.key, response.contestant, response.item, item.key, int(response.sample),
        dump_json(parts_content(response.parts)), tags_text(response.tags), prompt, *usage_row(usage),
        float(at or time.time()), response.stop, *cached_row(usage),
    )  # fmt: skip


def response_of(row: Sequence[Any], find: FindMedia) -> Response:
    """Return a response with the key it was stored under.
    Its contestant may have a new name since, but cases refer to the response by its original key.
    """
    (key, contestant, item, _, sample, body, tags, *_, stop, _, _) = row
    response = Response(item, contestant, parts_of(load_json(body), find), load_json(tags), sample, stop)
    response.__dict__["key"] = key
    return response


def case_row(case: Case) -> Row:
    keys = orjson.dumps([response.key for response in case.responses]).decode()
    return (case.key, case.item.key, keys, case.ballot.spec, case.criterion)


def tags_text(tags: Mapping[str, str]) -> str:
    return json.dumps(dict(tags), sort_keys=True, separators=(",", ":")) if tags else "{}"


def parts_of(content: Sequence[Any], find: FindMedia) -> tuple[Part, ...]:
    return tuple(part if isinstance(part, str) else find_part(part, find) for part in content)


def find_part(part: Mapping[str, str], find: FindMedia) -> Media:
    """Return the picture or other file that a part of a stored item or response names."""
    ((name, digest),) = part.items()
    return find(digest, _KINDS_BY_PART[name])


def media_digests(parts: Iterable[Any]) -> set[str]:
    """Return the digests of the pictures and other files among stored parts."""
    return {digest for part in parts if isinstance(part, dict) for digest in part.values()}
