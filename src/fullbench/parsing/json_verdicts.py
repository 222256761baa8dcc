"""Verdicts in JSON objects, also in objects that are not quite JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import ASPECTS, KEY, NOUN, late_pattern
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import ILLEGAL, Claim, Form, Marks, trim

MOST_OBJECTS = 40
"""Number of objects that are tried from the end, so that time stays linear."""
_LONGEST = 20_000
_WORDS = """
rating score grade mark 评分 得分 分数 打分 总分 评级 等级 评价
judgement judgment verdict ruling ranking rank decision overall 结论 判断 判定 裁决 排名 排序
winner better best preferred preference choice 胜者 选择 更好
answer result order output pick selection conclusion 答案 结果
max min maximum minimum possible confidence reason scale range code
"""
_SCORE_WORDS, _DECISION_WORDS, _CHOICE_WORDS, _OTHER_WORDS, _NOT_A_VERDICT = (
    set(row.split()) for row in _WORDS.split("\n")[1:-1]
)
_STRICT, _LOOSE = _SCORE_WORDS | _DECISION_WORDS, _CHOICE_WORDS | _OTHER_WORDS
_HAN_PREFIX = re.compile("^(?:最终|综合|总体|整体)")
_SPLIT = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")
_NOUNS = late_pattern(rf"{NOUN}|{KEY}|final|overall|the|of|for|[\s_-]", re.IGNORECASE)
_PAIR = late_pattern(
    r"[\"']?(?P<key>[^\W\d_][\w -]{0,38}?)[\"']?\s{0,5}:\s{0,5}"
    r"(?P<value>\[[^{}]{1,200}?\](?=\s*[,}\n]|$)|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'"
    r"|[^\s\"'{}\[\],][^\"'{}\[\],\n]{0,60})\s*,?\s*"
)
_NEXT = late_pattern(r"\n\s{0,20}\{\s{0,20}[\"']")
_QUOTED_KEY = late_pattern(r"\{\s*[\"']")
_BRACES = re.compile(r"[{}]")


class Found(NamedTuple):
    """An object in a text; `value` is None if it is not JSON."""

    start: int
    end: int
    value: Any


def find_objects(text: str) -> Iterator[Found]:
    """Yield the objects of a text, from the first; at most `MOST_OBJECTS` places are tried."""
    decode = json.JSONDecoder(strict=False).raw_decode
    at, tried = text.find("{"), 0
    while at != -1 and tried < MOST_OBJECTS:
        tried += 1
        try:
            value, end = decode(text[: at + _LONGEST], at)
        except (ValueError, RecursionError):
            value, end = None, _object_end(text, at)
        yield Found(at, end, value)
        at = text.find("{", end)


def _object_end(text: str, start: int) -> int:
    """Return the end of an object that is not JSON: its closing brace, else the next object, else the end."""
    depth = 0
    for brace in _BRACES.finditer(text, start, start + _LONGEST):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    following = _NEXT.search(text, start + 1)
    return following.start() if following else len(text)


def whole_object(text: str) -> str:
    """Return the JSON object that is the whole reply but for a code fence; empty if the reply is anything else."""
    start = text.find("{")
    if start == -1 or text[:start].strip(" \n`~json"):
        return ""
    _, end, value = next(find_objects(text))
    return "" if value is None or text[end:].strip(" \n`~") else text[start:end]


class Objects:
    """Reader of objects; `in_text` reads a value that is prose."""

    def __init__(self, form: Form, n: int, in_text: Callable[[str], Marks | None], criterion: str = "overall") -> None:
        self.form, self.n, self.in_text, self.criterion = form, n, in_text, criterion

    def claims(self, text: str) -> list[Claim]:
        """Return one claim for each object that states a verdict, legal or not."""
        claims = []
        for start, end, value in find_objects(text):
            if value is not None:
                marks = self.in_mapping(value)
            elif "[[" in text[start:end] and not _QUOTED_KEY.match(text, start):
                continue  # { Judgement: [[C]], [[A]] }: the brackets are read by themselves
            else:
                marks = self.in_pairs(text[start:end])
            if marks is not None:
                claims.append(Claim(start, end, marks))
        return claims

    def in_mapping(self, mapping: Mapping[str, Any], depth: int = 0) -> Marks | None:
        """Return the verdict of an object: by its own keys, else that of an object inside it."""
        entries = [((self.rank(key), False), self.value(key, value)) for key, value in mapping.items()]
        marks = self.keyed(mapping)
        marks = _best(entries, must_agree=False) if marks is None else marks
        for value in mapping.values() if marks is None and depth < 4 else ():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Mapping) and (marks := self.in_mapping(part, depth + 1)) is not None:
                    return marks
        return marks

    def in_pairs(self, text: str) -> Marks | None:
        """Return the verdict of an object that is not JSON: its first or last entry, else the only one that differs.

        Badly escaped reasons may quote an object, so that an entry in the middle counts only if all agree.
        """
        entries, at = [], 1
        while match := _PAIR.search(text, at):
            at = match.end() if match["value"].startswith(('"', "'", "[")) else match.start("value")
            if text[match.end() :].lstrip().startswith(":"):
                continue  # {"score": "1": "Poor", "2": "Fair"}: the value is a key of a copied scale
            is_edge = not text[1 : match.start()].strip(" \n\t\"'") or not text[match.end() :].strip(" \n}")
            marks = self.value(match["key"], match["value"].strip().strip("\"'"))
            entries.append(((self.rank(match["key"]), not is_edge), marks))
        if (marks := _best(entries, must_agree=True)) is not None:
            return marks
        if not text.endswith("}") and re.match(r"\{\s*[\"']?\w", text) and re.search(r"[\"']\s*:", text):
            return ILLEGAL  # cut off before its verdict: its reasons must not be read for one
        return None

    def rank(self, key: str) -> int:
        """Return 0 for a verdict's key, 2 for one that names a criterion, 3 for a loose one, 4 for others."""
        words = _key_words(key)
        if self.criterion != "overall" and words == _key_words(self.criterion):
            return 0
        name = _verdict_word(words)
        if name in _STRICT:
            return 0 if ASPECTS.isdisjoint(words) else 2
        return 3 if name else 4

    def value(self, key: str, value: Any) -> Marks | None:
        """Return the marks of a value whose key is that of a verdict."""
        name = _verdict_word(_key_words(key))
        if self.rank(key) == 4 or isinstance(value, bool):
            return None
        text = _flat(value)
        if text is None:
            return self.keyed(value) if isinstance(value, Mapping) else None
        if not text.strip():
            return ILLEGAL
        marks = self.form.phrase(text, self.n, digits=name in _CHOICE_WORDS)
        if not marks and len(text) >= 12:
            marks = self.in_text(text)
        # {"judgement": "A", "score": 4}: a score on another scale is no choice.
        return marks or None if name in _SCORE_WORDS and not isinstance(self.form, ValueForm) else marks

    def keyed(self, mapping: Mapping[str, Any]) -> Marks | None:
        """Return the marks of keys that name the responses (`{"A": 4}`) or the places (`{"1": "B"}`)."""
        named = []
        for key, value in mapping.items() if self.form.pieces(self.n) > 1 else ():
            is_named = isinstance(value, Mapping)  # {"A": {"score": 4, "why": "..."}}
            inner = next((v for k, v in value.items() if self.rank(k) == 0), {}) if is_named else value
            name, text = _NOUNS.sub("", key).upper(), "null" if inner is None else _flat(inner)
            if re.fullmatch(r"[A-Z]|\d{1,2}", name) and text is not None and len(text) < 40:
                named.append((name, text))
        if len(named) < 2:
            return None
        if isinstance(self.form, ValueForm):
            return self.form.phrase(", ".join(f"Response {name}: {value}" for name, value in named), self.n)
        places = dict((name, value) if name.isdigit() else (trim(value), name) for name, value in named)
        if sorted(places) != sorted(str(place + 1) for place in range(len(named))):
            return ILLEGAL if all(place.isdigit() for place in places) else None  # scores, or words about each
        return self.form.phrase(" > ".join(places[place] for place in sorted(places, key=int)), self.n)


def _best(entries: list[tuple[tuple[int, bool], Marks | None]], *, must_agree: bool) -> Marks | None:
    """Return the marks of the most decisive key, the last of equals; two criteria that differ are illegal."""
    legal = [(rank, marks) for rank, marks in entries if marks or (marks is not None and rank[0] < 3)]
    best = min((rank for rank, _ in legal), default=(0, False))
    marks_of_best = [marks for rank, marks in legal if rank == best]
    if len(set(marks_of_best)) > 1 and (must_agree or best[0] == 2):
        return ILLEGAL
    return marks_of_best[-1] if marks_of_best else None


def read_schema_object(form: Form, text: str, n: int, criterion: str) -> tuple[Marks | None, str]:
    """Return the marks and the check code of a reply that a server held to our schema; nothing else is read."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None, ""
    if not isinstance(value, Mapping) or "judgement" not in value:
        return None, ""
    marks = Objects(form, n, lambda _: None, criterion).value("judgement", value["judgement"])
    return marks, str(value.get("code", ""))


def _key_words(key: str) -> list[str]:
    return [word.casefold() for word in _SPLIT.split(key.strip()) if word] if len(key) <= 40 else []


def _verdict_word(words: list[str]) -> str:
    """Return the word that makes a key one of a verdict; an empty string for other keys."""
    if not _NOT_A_VERDICT.isdisjoint(words):
        return ""
    names = (name for word in reversed(words) for name in (word, _HAN_PREFIX.sub("", word).rstrip("s")))
    return next((name for name in names if name in _STRICT or name in _LOOSE), "")


def _flat(value: Any) -> str | None:
    """Return a value or a list as one line of text; None for an object."""
    if isinstance(value, list):
        parts = [_flat(part) for part in value]
        return None if None in parts else ", ".join(part for part in parts if part)
    return None if isinstance(value, Mapping) else "" if value is None else str(value)
