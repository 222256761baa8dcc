"""Nouns as rows of the ledger, and rows as nouns again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import orjson

from fullbench.core.call import Call, Usage
from fullbench.core.case import Case
from fullbench.core.item import Item, Part, Turn, parts_content
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import USUAL, Circumstances, Failure, Verdict
from fullbench.ledger import schema

Row = tuple[Any, ...]
Find = Callable[[str], Picture]
"""Gives the picture that a digest names."""

CALL = ", ".join(schema.columns("calls"))
RESPONSE = ", ".join(schema.columns("responses"))
ITEM = ", ".join(schema.columns("items"))


def dump(value: Any) -> str:
    """A JSON value as text; half characters, which UTF-8 cannot hold, are escaped."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def load(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one spelling, so that equal settings are equal texts."""
    return json.dumps(dict(settings), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def checksum(*ruling: Any) -> str:
    """A digest of what was ruled, and on what: not of when, nor at what cost."""
    return blake2b(orjson.dumps(ruling), digest_size=16).hexdigest()


Say = Callable[[str, Sequence[str]], str]
"""Keeps a text, and the replies before it, apart from the row, and gives the words by which they are found again."""


def verdict_row(verdict: Verdict, study: str, say: Say) -> Row:
    """The narrow row of a verdict; half characters in texts are replaced, marks of other number types made floats."""
    try:
        return _verdict_row(verdict, study, say)
    except TypeError:
        marks = None if verdict.marks is None else tuple(map(float, verdict.marks))
        earlier = tuple(map(_whole, verdict.earlier))
        whole = replace(verdict, marks=marks, text=_whole(verdict.text), earlier=earlier)
        return _verdict_row(whole, study, say)


def _verdict_row(v: Verdict, study: str, say: Say) -> Row:
    marks, total = v.marks, sum_of(v)
    if v.exchanges:
        replies = tuple(call.text for call in v.exchanges)
        apart = (v.earlier, v.text) != (replies[:-1], replies[-1])
        ids = orjson.dumps([call.id for call in v.exchanges]).decode()
    else:
        apart, ids = bool(v.text or v.earlier), "[]"
    how = v.circumstances
    return (
        v.case, v.judge, v.item, orjson.dumps(v.contestants).decode(), v.ballot, v.criterion, int(v.trial),
        None if marks is None else orjson.dumps(marks).decode(), v.fault, "", v.prompt,
        *usage_row(v.usage), float(v.at or time.time()), "[]", total,
        orjson.dumps(v.samples).decode() if v.samples else "[]", v.rater, int(v.revision), int(v.reader), v.confidence,
        *(_USUAL if how is USUAL or how == USUAL else _circumstances(how)), study, ids,
        say(v.text, v.earlier) if apart else "", *cached_row(v.usage),
    )  # fmt: skip


def _circumstances(how: Circumstances) -> Row:
    blind = None if how.blind is None else int(how.blind)
    return (blind, how.guideline, how.probability, how.variant, how.dose, int(how.canary))


_USUAL = _circumstances(USUAL)


def sum_of(v: Verdict) -> str:
    """The checksum of a verdict. Raters, samples and circumstances enter only if they are not the usual ones."""
    how = v.circumstances
    usual = how is USUAL or how == USUAL  # comparing them takes longer than all the rest of this line
    if usual and v.confidence is None and not (v.rater or v.revision or v.samples):
        return checksum(
            v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, v.marks, v.fault, v.text, v.prompt,
            v.earlier,
        )  # fmt: skip
    who = ((v.samples, v.rater, v.revision),) if v.rater or v.revision or v.samples else ()
    more = () if usual and v.confidence is None else ((v.confidence, *_circumstances(how)),)
    return checksum(
        v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, v.marks, v.fault, v.text, v.prompt,
        v.earlier, *who, *more,
    )  # fmt: skip


def _whole(text: str) -> str:
    """The text with its half characters, which UTF-8 cannot hold, paired or replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(frozen=True, slots=True)
class Apart:
    """What stands apart from some verdicts' rows: exchanges by their ids, texts with earlier replies by their words."""

    calls: Mapping[str, Call] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


NOTHING_APART = Apart()


def verdict_of(row: Sequence[Any], apart: Apart = NOTHING_APART) -> Verdict:
    """The verdict of a row of all columns."""
    (case, judge, item, contestants, ballot, criterion, trial, marks, fault, text, prompt,
     called, retries, tokens_in, tokens_out, dollars, seconds, at, earlier, _,
     samples, rater, revision, reader, confidence, blind, guideline, probability, variant, dose, canary,
     _, ids, words, cached, stored) = row  # fmt: skip
    exchanges: tuple[Call, ...] = ()
    before = () if earlier == "[]" else tuple(orjson.loads(earlier))
    if ids != "[]":
        exchanges = tuple(apart.calls[name] for name in orjson.loads(ids) if name in apart.calls)
        if exchanges and not words:
            text, before = exchanges[-1].text, tuple(call.text for call in exchanges[:-1])
    if words:
        text, before = apart.texts.get(words, ("", ()))
    how = (blind, guideline, probability, variant, dose, canary)
    return Verdict(
        case, judge, item, tuple(orjson.loads(contestants)), ballot, criterion, trial,
        None if marks is None else tuple(orjson.loads(marks)), fault, text,
        usage_of((called, retries, tokens_in, tokens_out, dollars, seconds), cached, stored), prompt, before, at,
        () if samples == "[]" else tuple(orjson.loads(samples)), rater, revision, exchanges, reader, confidence,
        USUAL if how == _USUAL else Circumstances(
            None if blind is None else bool(blind), guideline, probability, variant, dose, bool(canary)
        ),
    )  # fmt: skip


VERDICT = ", ".join(f"verdicts.{name}" for name in schema.columns("verdicts"))
WITHOUT_TEXTS = ", ".join(
    {"text": "''", "earlier": "'[]'", "exchanges": "'[]'", "words": "''"}.get(name, f"verdicts.{name}")
    for name in schema.columns("verdicts")
)
"""The columns of verdicts, to read narrow rows alone."""


def call_row(call: Call, name: str, role: str = "judge") -> Row:
    """The row of an exchange; half characters in what was said are replaced."""
    sent, text, reasoning = (_whole(words) for words in (call.sent, call.text, call.reasoning))
    return (
        call.id, role, name, call.prompt, sent, text, reasoning, call.stop, call.served,
        call.fingerprint, call.nonce, *usage_row(call.usage), float(call.at or time.time()), *cached_row(call.usage),
    )  # fmt: skip


def call_of(row: Sequence[Any]) -> Call:
    (name, _, _, prompt, sent, text, reasoning, stop, served, fingerprint, nonce, *used, at, cached, stored) = row
    usage = usage_of(used, cached, stored)
    return Call(name, text, prompt, sent, reasoning, stop, served, fingerprint, nonce, usage, at)


def usage_row(usage: Usage) -> Row:
    """Numbers of other libraries become plain ones: what is read back must be what was sealed."""
    dollars = None if usage.dollars is None else float(usage.dollars)
    return (
        int(usage.calls), int(usage.retries), int(usage.tokens_in), int(usage.tokens_out), dollars,
        float(usage.seconds),
    )  # fmt: skip


def cached_row(usage: Usage) -> Row:
    """The counts of a server's cache, which stand at the end of a row; None where it did not say."""
    if usage.cached is None and usage.stored is None:
        return _UNSAID
    return tuple(None if tokens is None else int(tokens) for tokens in (usage.cached, usage.stored))


_UNSAID = (None, None)


def usage_of(used: Sequence[Any], cached: int | None, stored: int | None) -> Usage:
    """What a row says was used, `used` being what `usage_row` gave."""
    calls, retries, tokens_in, tokens_out, dollars, seconds = used
    counted = 0 if cached is None else tokens_in
    return Usage(calls, retries, tokens_in, tokens_out, dollars, seconds, cached, stored, counted)


def failure_row(role: str, failure: Failure) -> Row:
    return (role, failure.judge, failure.case, int(failure.trial), _whole(failure.error),
            *usage_row(failure.usage), time.time(), failure.kind, *cached_row(failure.usage))  # fmt: skip


def item_row(item: Item) -> Row:
    turns = [[turn.role, parts_content(turn.parts)] for turn in item.turns]
    return (item.key, item.id, dump([item.id, turns, item.reference, list(item.captions)]), tags_text(item.tags))


def item_of(row: Sequence[Any], find: Find) -> Item:
    (_, _, body, tags) = row
    name, turns, reference, captions = load(body)
    made = tuple(Turn(role, parts_of(parts, find)) for role, parts in turns)
    return Item(name, made, reference, tuple(captions), load(tags))


def response_row(item: Item, response: Response, usage: Usage, prompt: str, at: float) -> Row:
    return (
        response.key, response.contestant, response.item, item.key, int(response.sample),
        dump(parts_content(response.parts)), tags_text(response.tags), prompt, *usage_row(usage),
        float(at or time.time()), response.stop, *cached_row(usage),
    )  # fmt: skip


def response_of(row: Sequence[Any], find: Find) -> Response:
    """A response as it was added. Its key is the one it was kept under: the name of its contestant may have changed
    since, but the cases that show it know it by that key."""
    (key, contestant, item, _, sample, body, tags, *_, stop, _, _) = row
    response = Response(item, contestant, parts_of(load(body), find), load(tags), sample, stop)
    response.__dict__["key"] = key
    return response


def case_row(case: Case) -> Row:
    keys = orjson.dumps([response.key for response in case.responses]).decode()
    return (case.key, case.item.key, keys, case.ballot.spec, case.criterion)


def tags_text(tags: Mapping[str, str]) -> str:
    return json.dumps(dict(tags), sort_keys=True, separators=(",", ":")) if tags else "{}"


def parts_of(content: Sequence[Any], find: Find) -> tuple[Part, ...]:
    return tuple(part if isinstance(part, str) else find(part["picture"]) for part in content)
