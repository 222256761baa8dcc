"""Verdicts in JSON objects: the keys that contain a verdict, and the meaning of their values."""

from __future__ import annotations

import re
from collections.abc import Callable

from fullbench.parsing.json_repair import Entry, Node, Object, flat, objects
from fullbench.parsing.numbers import ValueForm
from fullbench.parsing.verdict_form_base import CHECKED, ILLEGAL, PLACEHOLDER, Claim, Form, Marks, trim
from fullbench.parsing.vocabulary import KEY, NOUN

_STRICT_WORDS = """
rating score grade judgement judgment verdict ruling ranking rank decision mark
评分 得分 分数 打分 总分 结论 判断 判定 裁决 排名 排序 评级 等级
"""
_SCORING_WORDS = "rating score grade mark 评分 得分 分数 打分 总分 评级 等级"
_CHOOSING_WORDS = "winner better best preferred preference choice 胜者 选择 更好"
_LOOSE_WORDS = "answer result order output pick selection conclusion 答案 结果"
_OTHER_WORDS = "max min maximum minimum possible confidence reason scale range"
_SCORING = frozenset(_SCORING_WORDS.split())
_STRICT = frozenset(_STRICT_WORDS.split())
_CHOOSING = frozenset(_CHOOSING_WORDS.split())
_LOOSE = frozenset(_LOOSE_WORDS.split()) | _CHOOSING
_NOT_THE_RULING = frozenset(_OTHER_WORDS.split())
_HAN_PREFIX = re.compile("^(?:最终|综合|总体|整体)")
_SPLIT = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")
_NOUNS = re.compile(rf"{NOUN}|{KEY}|final|overall|the|of|for", re.IGNORECASE)

_OPENING = re.compile(r"\s*(?:json)?\s*\{")
_TAIL_REACH = 600
_TAIL = re.compile(
    r"[\"'](?P<key>[^\"'\n]{1,40})[\"']\s*:\s*"
    r"(?P<value>\[[^\[\]{}]{1,200}\]|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'|[^\s\"'{}\[\],]{1,40})"
    r"(?:\s*,\s*[\"']code[\"']\s*:\s*[\"'][^\"'\n]{1,20}[\"'])?\s*,?\s*\}\s*$"
)


class Objects:
    """Reads the objects of a reply; `in_text` reads a value that is prose."""

    def __init__(self, form: Form, n: int, in_text: Callable[[str], Marks | None]) -> None:
        self.form, self.n, self.in_text = form, n, in_text

    def claims(self, text: str) -> list[Claim]:
        json_objects, cut = objects(text)
        claims: list[Claim] = []
        whole = 0
        for json_object in json_objects[-CHECKED:]:
            if json_object.start < whole:
                continue
            named = self.keyed(json_object) if self.n > 1 else None
            if named:
                whole = json_object.end
            claims += (
                [Claim(json_object.start, json_object.end, named)] if named else self.in_object(json_object, named)
            )
        claims.sort(key=lambda claim: claim.end)  # what an object says goes before what stands in a part of it
        strict = [claim for claim in claims if not claim.kind]
        if cut and not claims and text.lstrip(" \njson").startswith("{") and _cut_in_reasons(json_objects):
            return [Claim(0, len(text), ILLEGAL)]
        return strict or claims

    def tail(self, text: str) -> Claim | None:
        """The ruling that an object ends with which is the whole reply, however badly its reasons are escaped."""
        if not _OPENING.match(text):
            return None
        match = _TAIL.search(text, max(0, len(text) - _TAIL_REACH))
        if match is None or _key_word(match["key"]) not in _STRICT:
            return None
        raw = match["value"].strip("\"' ")
        marks = None if PLACEHOLDER.fullmatch(trim(raw)) else self.form.phrase(raw, self.n)
        return Claim(match.start(), match.end(), marks) if marks else None

    def in_object(self, json_object: Object, named: Marks | None) -> list[Claim]:
        claims = [] if named is None else [Claim(json_object.start, json_object.end, named)]
        for entry in json_object.entries:
            word = _key_word(entry.key)
            marks = self.entry(entry, word) if word else None
            if marks or (marks is not None and word in _STRICT):
                claims.append(Claim(json_object.start, json_object.end, marks, "" if word in _STRICT else "loose"))
        return claims

    def entry(self, entry: Entry, word: str) -> Marks | None:
        if entry.cut:
            return ILLEGAL
        if not entry.values:
            return None
        node = entry.values if len(entry.values) > 1 else entry.values[0]
        marks = self.value(node, digits=word in _CHOOSING)
        return marks or None if word in _SCORING and not isinstance(self.form, ValueForm) else marks

    def value(self, node: Node, digits: bool) -> Marks | None:
        if isinstance(node, Object):
            return self.keyed(node) if self.n > 1 else None
        text = flat(node)
        if text is None:
            return None
        if not text.strip():
            return ILLEGAL
        if PLACEHOLDER.fullmatch(trim(text)):
            return None
        marks = self.form.phrase(text, self.n, digits=digits)
        return marks if marks or len(text) < 12 else self.in_text(text)

    def keyed(self, json_object: Object) -> Marks | None:
        """An object whose keys name the responses (`{"A": 4, "B": 2}`) or the places (`{"1": "B", "2": "A"}`)."""
        named: list[tuple[str, str]] = []
        for entry in json_object.entries:
            name = _key_name(entry.key)
            value = _inner(entry.values[0]) if len(entry.values) == 1 else None
            if name and value is not None and len(value) < 40:
                named.append((name, value))
        if len(named) < 2:
            return None
        if isinstance(self.form, ValueForm):
            return self.form.phrase(", ".join(f"Response {name}: {value}" for name, value in named), self.n)
        if self.form.pieces(self.n) == 1:
            return None
        pairs = [(value, name) if name.isdigit() else (name, value) for name, value in named]
        places = {trim(value): name for name, value in pairs}
        if not all(place.isdigit() for place in places):
            return None
        if sorted(places, key=int) != [str(i + 1) for i in range(len(named))]:
            return ILLEGAL
        return self.form.phrase(" > ".join(places[place] for place in sorted(places, key=int)), self.n)


def _key_words(key: str) -> list[str]:
    return [word.casefold() for word in _SPLIT.split(key.strip()) if word]


def _key_word(key: str) -> str:
    """The word that makes a key one that rules; an empty string for other keys."""
    if len(key) > 40:
        return ""
    words = _key_words(key)
    if not words or not _NOT_THE_RULING.isdisjoint(words):
        return ""
    for word in reversed(words):
        bare = _HAN_PREFIX.sub("", word).rstrip("s") or word
        for name in (word, bare):
            if name in _STRICT or name in _LOOSE:
                return name
    return ""


def _key_name(key: str) -> str:
    """The letter or number of the response that a key names, else an empty string."""
    left = [word for word in _key_words(key) if not _NOUNS.fullmatch(word)]
    if len(left) != 1:
        left = [re.sub(rf"(?i)^(?:{NOUN}|{KEY})|(?:{NOUN}|{KEY})$", "", word) for word in left]
    name = _NOUNS.sub("", left[0]).upper() if len(left) == 1 else ""
    return name if re.fullmatch(r"[A-Z]|\d{1,2}", name) else ""


def _inner(node: Node) -> str | None:
    """The value of a response: plain, or under a ruling key of its own."""
    if isinstance(node, Object):
        inner = [entry for entry in node.entries if _key_word(entry.key) in _STRICT and len(entry.values) == 1]
        return flat(inner[-1].values[0]) if inner else None
    return flat(node)


def _cut_in_reasons(json_objects: list[Object]) -> bool:
    return any(entry.cut for json_object in json_objects[-3:] for entry in json_object.entries)
