"""What a judge sends, byte for byte as the fake server receives it, in each dialect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fullbench import Case, Item, Picture, Response, ballot
from tests.golden.internals import judge_from_spec
from tests.golden.layout import sha256, written
from tests.golden.names import KEYS
from tests.golden.pictures import BLUE, RED
from tests.support.fake_chat_server import FakeServer

DIALECTS = {"openai": "v1", "anthropic": "v1", "gemini": "v1beta"}
MORE = (
    "mode=direct&temperature=0.5&max_tokens=64&top_p=0.9&system=Be%20brief.",
    'mode=direct&extra={"top_k": 1}',
    "mode=direct&picture_mode=none",
    "mode=direct&picture_mode=described&reference=yes",
    "mode=analyze&form=json",
)
CONSTRAINED = ("mode=direct&constrained=yes", "mode=analyze&constrained=yes")
"""Only the dialect of OpenAI can hold a reply to a form."""


def cases() -> dict[str, Case]:
    """A score of one response on one picture, a pair on two pictures, and a ranking of three."""
    red, blue = Picture.from_bytes(RED), Picture.from_bytes(BLUE)
    one = Item.ask("i1", "What colour is the square?", red, reference="It is red.", captions=("a red square",))
    two = Item.ask("i2", "哪一张更暖？", red, blue, reference="第一张。", captions=("a red square", "a blue square"))
    said = {"a": "It is red.", "b": "It is blue.\n[[B]]", "c": "红色。"}
    answers = {item: [Response.say(item, name, text) for name, text in said.items()] for item in ("i1", "i2")}
    return {
        "score": Case(one, (answers["i1"][0],), ballot("score:1-5")),
        "pair": Case(two, tuple(answers["i2"][:2]), ballot("choice+tie"), "helpfulness"),
        "ranking": Case(one, tuple(answers["i1"]), ballot("ranking")),
        "pair of pictures": Case(
            one, (Response("i1", "a", (red,)), Response("i1", "b", (blue,))), ballot("choice"), "alignment"
        ),
    }


def _asked() -> Iterator[tuple[str, str, str]]:
    """Dialect, options and the name of a case, one for each request."""
    for dialect in DIALECTS:
        for mode, language, case in product(("direct", "analyze"), ("en", "zh"), ("score", "pair", "ranking")):
            yield dialect, f"mode={mode}&language={language}", case
        yield dialect, "mode=direct", "pair of pictures"
        for options in MORE:
            yield dialect, options, "score"
        for options in CONSTRAINED if dialect == "openai" else ():
            yield dialect, options, "pair"


def requests(_folder: Path) -> str:
    """Path, names of the headers and body of each request; a picture by its digest."""
    found: dict[str, dict[str, Any]] = {dialect: {} for dialect in DIALECTS}
    heard = cases()
    with FakeServer(says="no ruling") as server, patch.dict(os.environ, KEYS):
        for dialect, options, name in _asked():
            spec = f"{dialect}:golden@{server.host}/{DIALECTS[dialect]}?{options}&resample=0"
            (verdict,) = judge_from_spec(spec).judge([heard[name]])
            assert getattr(verdict, "fault", "") == "unreadable", verdict
            head, body = server.last()
            found[dialect][f"{name}, {options}"] = {**_headers(head), "body": _without_bytes(body)}
        seeded = judge_from_spec(f"openai:golden@{server.host}/v1?mode=direct&resample=0&seed=7")
        list(seeded.judge([heard["score"].at(3)]))
        head, body = server.last()
        found["openai"]["score, third trial, mode=direct&seed=7"] = {**_headers(head), "body": _without_bytes(body)}
    return written(found)


def _headers(head: str) -> dict[str, Any]:
    first, *rest = head.split("\r\n")
    return {"request": first, "headers": sorted(line.partition(":")[0].lower() for line in rest)}


def _without_bytes(value: Any) -> Any:
    """A body with the bytes of pictures, which stand in it as base64, by their digests."""
    if isinstance(value, dict):
        return {key: _without_bytes(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_without_bytes(entry) for entry in value]
    if isinstance(value, str):
        head, comma, data = value.rpartition(",")
        if comma and head.endswith(";base64"):
            return f"{head},sha256 {sha256(data)}"
        return f"sha256 {sha256(value)}" if value.startswith("iVBORw0KGgo") else value
    return value
