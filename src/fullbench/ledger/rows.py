"""Nouns as rows of the ledger, and rows as nouns again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import orjson

from fullbench.ledger import schema
from fullbench.nouns.call import Usage
from fullbench.nouns.case import Case
from fullbench.nouns.item import Item, Part, Turn, parts_content
from fullbench.nouns.picture import Picture
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import Failure, Verdict

Row = tuple[Any, ...]
Find = Callable[[str], Picture]
"""Gives the picture that a digest names."""

VERDICT = ", ".join(schema.columns("verdicts"))
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


def verdict_row(verdict: Verdict) -> Row:
    """The row of a verdict; half characters in texts are replaced, marks of other number types made floats."""
    try:
        return _verdict_row(verdict)
    except TypeError:
        marks = None if verdict.marks is None else tuple(map(float, verdict.marks))
        earlier = tuple(map(_whole, verdict.earlier))
        return _verdict_row(replace(verdict, marks=marks, text=_whole(verdict.text), earlier=earlier))


def _verdict_row(v: Verdict) -> Row:
    usage, marks = v.usage, v.marks
    return (
        v.case, v.judge, v.item, orjson.dumps(v.contestants).decode(), v.ballot, v.criterion, int(v.trial),
        None if marks is None else orjson.dumps(marks).decode(), v.fault, v.text, v.prompt,
        *usage_row(usage), float(v.at or time.time()), orjson.dumps(v.earlier).decode() if v.earlier else "[]",
        checksum(v.case, v.judge, v.item, v.contestants, v.ballot, v.criterion, v.trial, marks, v.fault, v.text,
                 v.prompt, v.earlier),
    )  # fmt: skip


def _whole(text: str) -> str:
    """The text with its half characters, which UTF-8 cannot hold, paired or replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def verdict_of(row: Sequence[Any]) -> Verdict:
    (case, judge, item, contestants, ballot, criterion, trial, marks, fault, text, prompt,
     calls, retries, tokens_in, tokens_out, dollars, seconds, at, earlier, _) = row  # fmt: skip
    return Verdict(
        case, judge, item, tuple(orjson.loads(contestants)), ballot, criterion, trial,
        None if marks is None else tuple(orjson.loads(marks)), fault, text,
        Usage(calls, retries, tokens_in, tokens_out, dollars, seconds), prompt,
        () if earlier == "[]" else tuple(orjson.loads(earlier)), at,
    )  # fmt: skip


def usage_row(usage: Usage) -> Row:
    """Numbers of other libraries become plain ones: what is read back must be what was sealed."""
    dollars = None if usage.dollars is None else float(usage.dollars)
    return (
        int(usage.calls), int(usage.retries), int(usage.tokens_in), int(usage.tokens_out), dollars,
        float(usage.seconds),
    )  # fmt: skip


def failure_row(role: str, failure: Failure) -> Row:
    return (role, failure.judge, failure.case, int(failure.trial), _whole(failure.error),
            *usage_row(failure.usage), time.time())  # fmt: skip


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
        float(at or time.time()),
    )  # fmt: skip


def response_of(row: Sequence[Any], find: Find) -> Response:
    (_, contestant, item, _, trial, body, tags, *_) = row
    return Response(item, contestant, parts_of(load(body), find), load(tags), trial)


def case_row(case: Case) -> Row:
    keys = orjson.dumps([response.key for response in case.responses]).decode()
    return (case.key, case.item.key, keys, case.ballot.spec, case.criterion)


def tags_text(tags: Mapping[str, str]) -> str:
    return json.dumps(dict(tags), sort_keys=True, separators=(",", ":")) if tags else "{}"


def parts_of(content: Sequence[Any], find: Find) -> tuple[Part, ...]:
    return tuple(part if isinstance(part, str) else find(part["picture"]) for part in content)
