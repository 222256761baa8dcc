"""Parser for JSON objects as models really write them.

It accepts code fences, single quotes, unquoted keys, trailing commas, quotes inside strings, a string that is never
closed before the next object opens, and a missing end. The text is scanned once, and nesting beyond `DEPTH` is
flattened, so neither time nor stack grows with hostile input.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

DEPTH = 8
_STRUCTURE = frozenset("{}[],:")
# No possessive quantifiers here: before 3.11.5 Python forgets what a group around one captured. None is needed either,
# for what follows the repetition always matches, so nothing is ever tried twice.
_LOST_END = r"\n(?!\s{0,20}\{\s{0,5}[\"'])"
_DOUBLE = rf'"((?:[^"\\\n]+|{_LOST_END}|\\.|"(?!\s{{0,20}}(?:[,:}}\]{{]|\Z|\n\s{{0,20}}")))*)("?)'
_SINGLE = rf"'((?:[^'\\\n]+|{_LOST_END}|\\.|'(?!\s{{0,20}}(?:[,:}}\]{{]|\Z)))*)('?)"
_STRING = re.compile(rf"\s*(?:{_DOUBLE}|{_SINGLE})", re.DOTALL)
_NO_COMMA = re.compile(r"[ \t]{0,20}\n\s{0,20}[\"']")
_BARE = re.compile(r"[^{}\[\],:]+")


@dataclass
class Object:
    """An object: its entries in order, and where it stands in the text."""

    start: int
    end: int = -1
    entries: list[Entry] = field(default_factory=list)


@dataclass
class Entry:
    """A key and its values: usually one; several where a bare list follows the key. `cut` when the text ends inside."""

    key: str
    start: int
    values: list[Node] = field(default_factory=list)
    cut: bool = False


Node = str | list["Node"] | Object


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body.replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")


class _Walk:
    """One walk over the text. `stack` holds the open objects and lists, outermost first."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.objects: list[Object] = []
        self.stack: list[Object | list[Node]] = []
        self.pending: tuple[str, int] | None = None
        self.cut = False
        self.skipped = 0

    def run(self) -> None:
        at = self.text.find("{")
        while at != -1 and at < len(self.text):
            at = self.step(at) if self.stack or self.text[at] == "{" else self.text.find("{", at)
        self.settle()
        if self.stack:
            self.cut_short()
        while self.stack:
            self.close(len(self.text))

    def step(self, at: int) -> int:
        sign = self.text[at]
        if sign not in _STRUCTURE:
            return self.bare(at)
        if sign == ":":
            self.name()
        elif sign == ",":
            self.settle()
        elif sign in "{[":
            self.settle()
            self.open(sign, at)
        else:
            self.settle()
            self.shut(sign, at + 1)
        return self.string(at + 1) if self.stack and sign in "{[,:" else at + 1

    def open(self, sign: str, at: int) -> None:
        if len(self.stack) >= DEPTH:
            self.skipped += 1
            return
        node: Object | list[Node] = Object(at) if sign == "{" else []
        self.put(node)
        self.stack.append(node)
        if isinstance(node, Object):
            self.objects.append(node)

    def shut(self, sign: str, end: int) -> None:
        if self.skipped:
            self.skipped -= 1
            return
        while sign == "}" and isinstance(self.stack[-1], list) and len(self.stack) > 1:
            self.stack.pop()
        if sign == "}" or isinstance(self.stack[-1], list):
            self.close(end)

    def close(self, end: int) -> None:
        if self.stack:
            node = self.stack.pop()
            if isinstance(node, Object):
                node.end = end

    def string(self, at: int) -> int:
        match = _STRING.match(self.text, at)
        if match is None:
            return at
        body = match[1] if match[1] is not None else match[3]
        if not (match[2] or match[4]) and match.end() == len(self.text):
            self.cut_short()
            return len(self.text)
        self.pending = (_unescape(body), match.start())
        if _NO_COMMA.match(self.text, match.end()):
            self.settle()
            return self.missing_comma(match.end())
        return match.end()

    def missing_comma(self, at: int) -> int:
        """Strings on lines of their own without commas between them."""
        while _NO_COMMA.match(self.text, at):
            match = _STRING.match(self.text, at)
            if match is None or not (match[2] or match[4]):
                break
            self.settle()
            self.pending, at = (_unescape(match[1] or match[3] or ""), match.start()), match.end()
        return at

    def cut_short(self) -> None:
        self.cut = True
        top = self.stack[-1]
        if isinstance(top, Object) and top.entries and not top.entries[-1].values:
            top.entries[-1].cut = True

    def bare(self, at: int) -> int:
        match = _BARE.match(self.text, at)
        end = match.end() if match else at + 1
        word = self.text[at:end].strip()
        if word:
            before = self.pending[0] + " " if self.pending else ""
            self.pending = (before + word, at)
        return end

    def name(self) -> None:
        top = self.stack[-1]
        if self.pending and isinstance(top, Object):
            key, start = self.pending
            top.entries.append(Entry(key.strip().strip("\"'"), start))
        self.pending = None

    def settle(self) -> None:
        if self.pending:
            self.put(self.pending[0])
            self.pending = None

    def put(self, node: Node) -> None:
        if not self.stack:
            return
        top = self.stack[-1]
        if isinstance(top, list):
            top.append(node)
        elif top.entries:
            top.entries[-1].values.append(node)


def objects(text: str) -> tuple[list[Object], bool]:
    """Every object in the text, in the order they open, and whether the text ends inside one.

    >>> found, cut = objects("ok: {'score': 4, reason: 'it's fine',}")
    >>> [(entry.key, entry.values) for entry in found[0].entries], cut
    ([('score', ['4']), ('reason', ["it's fine"])], False)
    """
    walk = _Walk(text)
    walk.run()
    return walk.objects, walk.cut


def flat(node: Node) -> str | None:
    """A text or a list as one line of text; None for an object."""
    if isinstance(node, str):
        return node
    if isinstance(node, Object):
        return None
    parts = [flat(child) for child in node]
    return None if None in parts else ", ".join(part for part in parts if part)
