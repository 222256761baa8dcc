"""Verdicts in JSON objects, also in objects that are not quite JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from fullbench.parsing.numbers_and_scale_words import ValueForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import ASPECTS, KEY, NOUN
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import ILLEGAL, PLACEHOLDER, Claim, Form, Marks, trim

MOST_OBJECTS = 40
"""Number of objects that are tried from the end, so that time stays linear."""
_LONGEST = 20_000
_WORDS = {
    "scoring": "rating score grade mark 评分 得分 分数 打分 总分 评级 等级 评价",
    "strict": "judgement judgment verdict ruling ranking rank decision overall 结论 判断 判定 裁决 排名 排序",
    "choosing": "winner better best preferred preference choice 胜者 选择 更好",
    "loose": "answer result order output pick selection conclusion 答案 结果",
    "none": "max min maximum minimum possible confidence reason scale range code",
    "qualifying": "final overall total the of for my is 最终 综合 总体 整体",
}
_KINDS = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
_SCORING, _CHOOSING, _QUALIFIERS, _NOT_A_VERDICT = (
    _KINDS[kind] for kind in ("scoring", "choosing", "qualifying", "none")
)
_STRICT, _LOOSE = _SCORING | _KINDS["strict"], _CHOOSING | _KINDS["loose"]
_HAN_PREFIX = re.compile("^(?:最终|综合|总体|整体)")
_SPLIT = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")
_NOUNS = re.compile(rf"{NOUN}|{KEY}|final|overall|the|of|for", re.IGNORECASE)
_PAIR = re.compile(
    r"[\"']?(?P<key>[^\W\d_][\w -]{0,38}?)[\"']?\s{0,5}:\s{0,5}"
    r"(?P<value>\[[^{}]{1,200}?\](?=\s*[,}\n]|$)|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'"
    r"|[^\s\"'{}\[\],][^\"'{}\[\],\n]{0,60})\s*,?\s*"
)
_COLON = re.compile(r"\s*:")


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
            end = _object_end(text, at)
            yield Found(at, end, None)
        else:
            yield Found(at, end, value)
        at = text.find("{", end)


_NEXT = re.compile(r"\n\s{0,20}\{\s{0,20}[\"']")
_QUOTED_KEY = re.compile(r"\{\s*[\"']")
_BRACES = re.compile(r"[{}]")


def _object_end(text: str, start: int) -> int:
    """Return the end of an object that is not JSON: its closing brace, else the next object, else the end."""
    depth = 0
    for brace in _BRACES.finditer(text, start, start + _LONGEST):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    following = _NEXT.search(text, start + 1)
    return following.start() if following else len(text)


class Objects:
    """Reader of objects; `in_text` reads a value that is prose."""

    def __init__(self, form: Form, n: int, in_text: Callable[[str], Marks | None], criterion: str = "overall") -> None:
        self.form, self.n, self.in_text, self.criterion = form, n, in_text, criterion

    def claims(self, text: str) -> list[Claim]:
        """Return one claim for each object that states a verdict, legal or not."""
        claims = []
        for json_object in find_objects(text):
            if (
                json_object.value is None
                and "[[" in text[json_object.start : json_object.end]
                and not _QUOTED_KEY.match(text, json_object.start)
            ):
                continue  # { Judgement: [[C]], [[A]] }: the brackets are read by themselves
            marks = (
                self.in_mapping(json_object.value)
                if isinstance(json_object.value, Mapping)
                else self.in_pairs(text[json_object.start : json_object.end], is_open=text[json_object.end - 1] != "}")
            )
            if marks is not None:
                claims.append(Claim(json_object.start, json_object.end, marks))
        return claims

    def in_mapping(self, mapping: Mapping[str, Any], depth: int = 0) -> Marks | None:
        """Return the verdict of an object: by its own keys, else that of an object inside it."""
        if self.n > 1 and (marks := self.keyed(mapping)) is not None:
            return marks
        if (marks := self.decide([(key, self.value(key, value)) for key, value in mapping.items()])) is not None:
            return marks
        for value in mapping.values() if depth < 4 else ():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Mapping) and (marks := self.in_mapping(part, depth + 1)) is not None:
                    return marks
        return None

    def decide(self, entries: list[tuple[str, Marks | None]]) -> Marks | None:
        """Return the marks of the most decisive key, the last of equals; two criteria that differ are illegal."""
        ranked: dict[int, list[Marks]] = {}
        for key, marks in entries:
            rank = self.rank(key)
            if marks is not None and rank is not None and (marks or rank < 3):
                ranked.setdefault(rank, []).append(marks)
        if not ranked:
            return None
        best = min(ranked)
        return ILLEGAL if best == 2 and len(set(ranked[best])) > 1 else ranked[best][-1]

    def rank(self, key: str) -> int | None:
        """Return 0 for a verdict's key, 2 for one that names a criterion, 3 for a loose one; None for others."""
        words = _key_words(key)
        if self.criterion != "overall" and "".join(words) == "".join(_key_words(self.criterion)):
            return 0
        name = _verdict_word(words)
        if not name:
            return None
        if name not in _STRICT:
            return 3
        other_words = {word for word in words if word != name} - _QUALIFIERS
        return 2 if other_words & ASPECTS else 0

    def value(self, key: str, value: Any) -> Marks | None:
        name = _verdict_word(_key_words(key))
        if (not name and self.rank(key) is None) or isinstance(value, bool):
            return None
        if isinstance(value, Mapping):
            return self.keyed(value) if self.n > 1 else None
        text = _flat(value)
        if text is None or not text.strip():
            return ILLEGAL
        if PLACEHOLDER.fullmatch(trim(text)):
            return None
        marks = self.form.phrase(text, self.n, digits=name in _CHOOSING)
        if not marks and len(text) >= 12:
            marks = self.in_text(text)
        # {"judgement": "A", "score": 4}: a score on another scale is no choice.
        return marks or None if name in _SCORING and not isinstance(self.form, ValueForm) else marks

    def keyed(self, mapping: Mapping[str, Any]) -> Marks | None:
        """Return the marks of keys that name the responses (`{"A": 4}`) or the places (`{"1": "B"}`)."""
        named = []
        for key, value in mapping.items():
            inner = value
            if isinstance(value, Mapping):
                inner = next((v for k, v in value.items() if _verdict_word(_key_words(k)) in _STRICT), None)
            text = _flat(inner) if inner is not None else "null" if value is None else None
            if (name := _key_name(key)) and text is not None and len(text) < 40:
                named.append((name, text))
        if len(named) < 2:
            return None
        if isinstance(self.form, ValueForm):
            return self.form.phrase(", ".join(f"Response {name}: {value}" for name, value in named), self.n)
        if self.form.pieces(self.n) == 1:
            return None
        places = dict((name, value) if name.isdigit() else (trim(value), name) for name, value in named)
        if not all(place.isdigit() for place in places):
            return None
        if sorted(map(int, places)) != list(range(1, len(named) + 1)):
            return ILLEGAL
        return self.form.phrase(" > ".join(places[place] for place in sorted(places, key=int)), self.n)

    def in_pairs(self, text: str, *, is_open: bool) -> Marks | None:
        """Return the verdict of an object that is not JSON: its first or last entry, else the only one that differs.

        Badly escaped reasons may quote an object, so that an entry in the middle counts only if all agree.
        """
        pairs, at = [], 1
        while match := _PAIR.search(text, at):
            at = match.end() if match["value"].startswith(('"', "'", "[")) else match.start("value")
            value = match["value"].strip().strip("\"'")
            if _COLON.match(text, match.end()):
                continue  # {"score": "1": "Poor", "2": "Fair"}: the value is a key of a copied scale
            if (marks := self.value(match["key"], value)) is not None and (rank := self.rank(match["key"])) is not None:
                edge = not text[1 : match.start()].strip(" \n\t\"'") or not text[match.end() :].strip(" \n}")
                pairs.append((rank, not edge, marks))
        legal = [pair for pair in pairs if pair[2] or pair[0] < 3]
        if legal:
            best = min(pair[:2] for pair in legal)
            marks_of_best = [marks for *rank, marks in legal if tuple(rank) == best]
            return marks_of_best[-1] if len(set(marks_of_best)) == 1 else ILLEGAL
        if is_open and re.match(r"\{\s*[\"']?\w", text) and re.search(r"[\"']\s*:", text):
            return ILLEGAL  # cut off before its verdict: its reasons must not be read for one
        return self.in_text(re.sub(r"[{}\"]", " ", text)) if re.match(r"\{\s*\w+\s*:", text) else None


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
    for word in reversed(words):
        for name in (word, _HAN_PREFIX.sub("", word).rstrip("s")):
            if name in _STRICT or name in _LOOSE:
                return name
    return ""


def _key_name(key: str) -> str:
    """Return the letter or number of the response that a key names, else an empty string."""
    left = [word for word in _key_words(key) if not _NOUNS.fullmatch(word)]
    if len(left) != 1:
        left = [re.sub(rf"(?i)^(?:{NOUN}|{KEY})|(?:{NOUN}|{KEY})$", "", word) for word in left]
    name = _NOUNS.sub("", left[0]).upper() if len(left) == 1 else ""
    return name if re.fullmatch(r"[A-Z]|\d{1,2}", name) else ""


def _flat(value: Any) -> str | None:
    """Return a value or a list as one line of text; None for an object."""
    if isinstance(value, list):
        parts = [_flat(part) for part in value]
        return None if None in parts else ", ".join(part for part in parts if part)
    return None if isinstance(value, Mapping) else "" if value is None else str(value)
