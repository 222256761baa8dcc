"""Reading a judge's reply.

The rule, from the most explicit way of ruling to the least:

1. an object with a ruling key: `{"analysis": "...", "judgement": 4}`;
2. double brackets: `[[4]]`, `[[B]], [[A]]`;
3. words: `Final answer: B`, `Overall, Response A is better.`, `评分：4分`;
4. single brackets on a line of their own: `[B]`;
5. a line, last or first, that is nothing but the ruling: `four`.

The first of these ways that the reply uses at all decides, and in it the *last* ruling; it is checked against what is
legal only then. So a last ruling that is out of range, a range ("3-4"), hedged ("A or B") or incomplete makes the
reply unreadable: an earlier mention in the reasoning is never taken in its place, nor a less explicit one elsewhere.
Only three things are looked through: a placeholder (`[[rating]]`) is no ruling; a menu of the options that is merely
repeated voids what stands before it, and what follows it may rule; and what only quotes a candidate (see
`reading_quotes`) does not count.

Where several labelled rulings differ, those labelled final, overall or not at all go before those that name a
criterion; two criteria alone, or two sentences that contradict each other, are no ruling. Thinking (`<think>`) is not
part of the reply. Rulings in words are looked for in the last `LONGEST` characters, and of objects and brackets the
last `CHECKED` are weighed: no real reply comes near. A reply without a ruling that declines in its own name is refused;
any other is unreadable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from fullbench.core.reading_json import Entry, Node, Object, flat, objects
from fullbench.core.reading_marks import ILLEGAL, PROSE, Claim, Form, Marks, trim
from fullbench.core.reading_quotes import Quotes
from fullbench.core.reading_values import ValueForm
from fullbench.core.reading_words import CUE, KEY, NOUN, after_thinking, plain, refuses

Ruling = tuple[float, ...] | Literal["refused", "unreadable"]
ECHO = "echo"
CHECKED = 200
LONGEST = 50_000


def read(form: Form, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
    """What a reply rules on `n` responses, one mark for each in the order shown, or why it does not.

    `shown` holds the candidates' own words; see the module for the rule.
    """
    body = plain(after_thinking(text))
    marks = _Reading(form, n, Quotes([words for words in shown if words.strip()])).ruling(body)
    if marks:
        return marks
    return "refused" if marks is None and refuses(body) else "unreadable"


class _Reading:
    def __init__(self, form: Form, n: int, quotes: Quotes) -> None:
        self.form, self.n, self.quotes = form, n, quotes

    def ruling(self, text: str) -> Marks | None:
        """Marks, `ILLEGAL`, or None where nothing is ruled."""
        if "{" in text:
            claims = self.in_objects(text)
            marks = self.decide(text, claims)
            if marks or (marks is not None and not _MARKER.search(text, claims[-1].end)):
                return marks
        return self.in_text(text)

    def in_text(self, text: str) -> Marks | None:
        if "[[" in text or "]]" in text:
            claims = self.in_markers(text)
            last = self.last(text, claims)
            if last is not None and last.kind != ECHO:
                return last.marks
            if last is not None:
                rest = _SENTENCE_END.search(text, last.end)
                return (self.in_words(text[rest.end() :]) if rest else None) or ILLEGAL
            for claim in claims:
                text = text[: claim.start] + " " * (claim.end - claim.start) + text[claim.end :]
            text = _ANY_MARKER.sub(" ", text)
        return self.in_words(text)

    def in_words(self, text: str) -> Marks | None:
        text = text[-LONGEST:]
        for claims in (self.form.labelled(text, self.n), self.on_lines(text, single=True)):
            if (marks := self.decide(text, claims)) is not None:
                return marks
        return self.decide(text, self.on_lines(text, single=False))

    def last(self, text: str, claims: list[Claim]) -> Claim | None:
        for claim in claims[: -CHECKED - 1 : -1]:
            if not self.quotes.cover(text, claim):
                return claim
        return None

    def decide(self, text: str, claims: list[Claim]) -> Marks | None:
        """The last claim that counts: a decisive one first; others only when they do not contradict each other."""
        if self.quotes:
            claims = [claim for claim in claims[-CHECKED:] if not self.quotes.cover(text, claim)]
        if not claims:
            return None
        if decisive := [claim for claim in claims if not claim.kind]:
            return decisive[-1].marks
        same_label = len({claim.kind for claim in claims}) == 1 and claims[-1].kind != PROSE
        agree = len({claim.marks for claim in claims}) == 1
        return claims[-1].marks if same_label or agree else ILLEGAL

    # ---- objects -------------------------------------------------------------------------------------------------

    def in_objects(self, text: str) -> list[Claim]:
        found, cut = objects(text)
        claims: list[Claim] = []
        whole = 0
        for one in found[-CHECKED:]:
            if one.start < whole:
                continue
            named = self.keyed(one) if self.n > 1 else None
            if named:
                whole = one.end
            claims += [Claim(one.start, one.end, named)] if named else self.in_object(one, named)
        strict = [claim for claim in claims if not claim.kind]
        if cut and not claims and text.lstrip(" \njson").startswith("{") and _cut_in_reasons(found):
            return [Claim(0, len(text), ILLEGAL)]
        return strict or claims

    def in_object(self, one: Object, named: Marks | None) -> list[Claim]:
        claims = [] if named is None else [Claim(one.start, one.end, named)]
        for entry in one.entries:
            word = _key_word(entry.key)
            marks = self.entry(entry, word) if word else None
            if marks or (marks is not None and word in _STRICT):
                claims.append(Claim(one.start, one.end, marks, "" if word in _STRICT else "loose"))
        return claims

    def entry(self, entry: Entry, word: str) -> Marks | None:
        if entry.cut:
            return ILLEGAL
        if not entry.values:
            return None
        digits = word in _CHOOSING
        if len(entry.values) > 1:
            return self.value(entry.values, digits)
        return self.value(entry.values[0], digits)

    def value(self, node: Node, digits: bool) -> Marks | None:
        if isinstance(node, Object):
            return self.keyed(node) if self.n > 1 else None
        text = flat(node)
        if text is None:
            return None
        if not text.strip():
            return ILLEGAL
        if _PLACEHOLDER.fullmatch(trim(text)):
            return None
        marks = self.form.phrase(text, self.n, digits=digits)
        return marks if marks or len(text) < 12 else self.in_text(text)

    def keyed(self, one: Object) -> Marks | None:
        """An object whose keys name the responses (`{"A": 4, "B": 2}`) or the places (`{"1": "B", "2": "A"}`)."""
        named: list[tuple[str, str]] = []
        for entry in one.entries:
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

    # ---- double brackets -------------------------------------------------------------------------------------------

    def in_markers(self, text: str) -> list[Claim]:
        found = [m for m in _MARKER.finditer(text) if not _PLACEHOLDER.fullmatch(trim(m[0]))]
        if self.form.pieces(self.n) == 1:
            return self.menus(text, [self.marked(text, run) for run in _runs(text, found, _SIGNS)[-CHECKED:]])
        claims = [self.marked(text, run) for run in _runs(text, found, _LINKS)[-CHECKED:]]
        if isinstance(self.form, ValueForm) and not (claims and claims[-1].marks):
            return self.apart(self.form, text, found) or claims
        return claims

    def marked(self, text: str, run: list[re.Match[str]]) -> Claim:
        start, end = run[0].start(), run[-1].end()
        if fraction := _OUT_OF.match(text, end):
            end = fraction.end()
        if _MENU_MARK.search(text[start:end]):
            return Claim(start, end, ILLEGAL, ECHO)
        raw = " ".join(_BRACKETS.sub(" ", text[start:end]).split())
        return self.form.turned(text, start, end, self.form.phrase(raw, self.n) or ILLEGAL)

    def apart(self, form: ValueForm, text: str, found: list[re.Match[str]]) -> list[Claim]:
        """Marks given one by one, each after the name of its response; else exactly as many as responses, in order."""
        rows, at = [], 0
        for match in found[-CHECKED:]:
            rows.append(text[max(at, match.start() - 60) : match.end()].rpartition("\n")[2])
            at = match.end()
        if claims := form.named("\n".join(rows), self.n):
            return [Claim(found[0].start(), found[-1].end(), claims[-1].marks)]
        if len(found) == self.n:
            raw = ", ".join(trim(match[0]) for match in found)
            return [Claim(found[0].start(), found[-1].end(), form.phrase(raw, self.n) or ILLEGAL)]
        return []

    def menus(self, text: str, claims: list[Claim]) -> list[Claim]:
        """Claims with each menu of options, in one line or one a line, put together as an echo."""
        kept: list[Claim] = []
        for line in _by_line(text, claims):
            several = len({claim.marks for claim in line}) > 1
            kept.append(Claim(line[0].start, line[-1].end, ILLEGAL, ECHO) if several else line[-1])
        return _listed_menus(text, kept)

    # ---- lines -------------------------------------------------------------------------------------------------------

    def on_lines(self, text: str, single: bool) -> list[Claim]:
        """Rulings alone on a line: in single brackets on any line, bare on the last or else the first."""
        if single:
            matches = _ALONE.finditer(text)
            return [Claim(m.start(), m.end(), self.form.phrase(m[1], self.n) or ILLEGAL) for m in matches]
        body = text.strip()
        lines = dict.fromkeys((body, body.rpartition("\n")[2], body.partition("\n")[0]))
        for line in lines:
            if _LISTED.match(line) and line != body:
                continue
            marks = self.form.bare(line, self.n) if len(line) < 80 else None
            if marks or (marks is not None and len(line) < 12):
                start = text.find(line)
                return [Claim(start, start + len(line), marks)]
        return []


_MARKER = re.compile(
    r"\[\[[^\[\]]{1,120}\](?:\s?[,;>=]{0,2}\s?\[[^\[\]]{1,40}\]){0,26}\]?|\[[^\[\]\n]{1,40}\]\]"
)  # fmt: skip
_ANY_MARKER = re.compile(r"\[\[[^\[\]]{0,120}\]\]?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_BRACKETS = re.compile(r"[\[\]]")
_ALONE = re.compile(r"^[ \t]*\[([^\[\]\n]{1,60})\][ \t.]*$", re.MULTILINE)
_LISTED = re.compile(r"\s*(?:[-•·]|(\d)[.)])\s")
_OUT_OF = re.compile(r"\s?(?:/|out of)\s?\d+(?:\.\d+)?")
_SIGNS = re.compile(r"\s?[<>=~]{1,3}\s?")
_LINKS = re.compile(
    r"\s{0,4}(?:[,;>&|<=~]{1,2}|,?\s?(?:then|followed by|and then|and)\b|然后|其次|再|和)?\s{0,4}"
    r"(?:\(?\d{1,2}[.):]|\d(?:st|nd|rd|th)\b[ :]{0,2}(?:place)?:?)?\s{0,3}"
)
_MENU_MARK = re.compile(r"[A-Z0-9]\s?[/|]\s?[A-Z](?![A-Za-z])|\bor\b|或|[A-Z]/[A-Z]|\d\s?\|\s?\d")
_PLACEHOLDER = re.compile(
    r"(?:(?:your|the|final|overall|a|an|best|whole|single|integer|of)[ _])*(?:rating|score|letter|choice|verdict|answer"
    r"|option|number|ranking|rank|judge?ment|word|label|value|integer|mark|result|here|winner)s?"
    r"(?:[ _](?:here|of|for|number|[A-Z1-9]|[a-z ]{1,20}))?"
    r"|[xXnN.…_?#-]{1,5}|first|second|third|fourth|last|best|worst|next|\W*"
    r"|(?:你的|您的|最终|最好|最佳|第[一二三四五六七八九])?"
    r"(?:评分|分数|得分|字母|选择|答案|结论|判断|数字|词|排名|整数)|最好的?|第[一二三四五六]|最后|其次|最差的?",
    re.IGNORECASE,
)
_MENU_LINE = re.compile(
    r"\s*(?:\(?\d[.):]|[-•·(]|if\b)|.{0,200}(?:\bif\b|\bwhen\b|\bfor\b|如果|若|表示|代表)", re.IGNORECASE
)
_OPTION_GAP = re.compile(
    r"[^\w\n]{0,4}(?:(?:or|and|to|through|以及|或者|或|和|到)[^\w\n]{0,4})?"
    r"|(?!.*(?i:\b(?:but|however|yet|although|instead|actually|then)\b)|.*[但却而])"
    r".{0,120}(?:(?i:\b(?:if|when|means?)\b|\bfor (?:an? )?(?:\w+ )?(?:tie|draw|response|assistant|answer)\b)"
    r"|如果|若|表示|代表|时).{0,120}"
)
_STRICT_WORDS = """
rating score grade judgement judgment verdict ranking rank decision mark
评分 得分 分数 打分 总分 结论 判断 判定 裁决 排名 排序 评级 等级
"""
_CHOOSING_WORDS = "winner better best preferred preference choice 胜者 选择 更好"
_LOOSE_WORDS = "answer result order output pick selection conclusion 答案 结果"
_OTHER_WORDS = "max min maximum minimum possible confidence reason scale range"
_STRICT = frozenset(_STRICT_WORDS.split())
_CHOOSING = frozenset(_CHOOSING_WORDS.split())
_LOOSE = frozenset(_LOOSE_WORDS.split()) | _CHOOSING
_NOT_THE_RULING = frozenset(_OTHER_WORDS.split())
_HAN_PREFIX = re.compile("^(?:最终|综合|总体|整体)")
_SPLIT = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")
_NOUNS = re.compile(rf"{NOUN}|{KEY}|final|overall|the|of|for", re.IGNORECASE)


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


def _cut_in_reasons(found: list[Object]) -> bool:
    return any(entry.cut for one in found[-3:] for entry in one.entries)


def _runs(text: str, found: list[re.Match[str]], link: re.Pattern[str]) -> list[list[re.Match[str]]]:
    """Markers with nothing but links between them belong together."""
    runs: list[list[re.Match[str]]] = []
    for match in found:
        if runs and match.start() - runs[-1][-1].end() < 24 and link.fullmatch(text, runs[-1][-1].end(), match.start()):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _by_line(text: str, claims: list[Claim]) -> list[list[Claim]]:
    """Claims of one line that are joined as options are: `[[A]] if ..., [[B]] if ...`, `[[1]] to [[5]]`.

    Three or more different ones on a line are options however they are joined, unless the last is called final.
    """
    lines: list[list[Claim]] = []
    for line in _same_line(text, claims):
        if len({claim.marks for claim in line}) > 2 and not CUE.search(text, line[-2].end, line[-1].start):
            lines.append(line)
            continue
        for place, claim in enumerate(line):
            if place and _OPTION_GAP.fullmatch(text, line[place - 1].end, claim.start):
                lines[-1].append(claim)
            else:
                lines.append([claim])
    return lines


def _same_line(text: str, claims: list[Claim]) -> list[list[Claim]]:
    lines: list[list[Claim]] = []
    for claim in claims:
        if lines and "\n" not in text[lines[-1][-1].end : claim.start]:
            lines[-1].append(claim)
        else:
            lines.append([claim])
    return lines


def _listed_menus(text: str, claims: list[Claim]) -> list[Claim]:
    """Claims with the options that are listed one a line put together as an echo."""
    kept: list[Claim] = []
    group: list[Claim] = []
    for claim in claims:
        if group and not _goes_on(text, group[-1], claim):
            kept, group = kept + _menu(text, group), []
        group.append(claim)
    return kept + _menu(text, group)


def _head(text: str, claim: Claim) -> str:
    return text[max(0, claim.start - 200) : claim.start].rpartition("\n")[2]


def _goes_on(text: str, one: Claim, two: Claim) -> bool:
    """Whether two claims stand on neighbouring lines, or on list items whose numbers follow each other."""
    if not any(line.strip() for line in text[one.end : two.start].split("\n")[1:-1]):
        return True
    numbers = [int(item[1]) for item in map(_LISTED.match, (_head(text, one), _head(text, two))) if item and item[1]]
    return len(numbers) == 2 and numbers[0] + 1 == numbers[1]


def _menu(text: str, group: list[Claim]) -> list[Claim]:
    """An echo where each line is an option, none comes twice, and the last is not called final."""
    heads = [_head(text, claim) for claim in group]
    options = {text[claim.start : claim.end] for claim in group}
    listed = len(group) > 1 and len(options) == len(group) and all(map(_MENU_LINE.match, heads))
    if listed and not CUE.search(heads[-1]):
        return [Claim(group[0].start, group[-1].end, ILLEGAL, ECHO)]
    return group
