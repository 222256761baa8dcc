"""Prompt templates: files that a user can replace, filled in one pass.

A template is text with turns and blocks:

    === system
    You are a careful judge.
    === user
    {pictures}
    {question}
    {reference}
    --- reference
    A verified answer to compare with:
    {text}

`=== ROLE` begins a turn, `--- NAME` a block. `{slot}` is replaced by its value. Values are not searched for slots, so
an answer containing `{reference}` stays as it is. Any other brace is literal. A slot with a block of the same name is
replaced by the block around its value (`{text}`), or by nothing if there is no value. A line that holds only such an
empty slot disappears.

A judge's template with a block `fence` separates responses by it alone, each with its `{letter}` and a `{mark}` that
no response can predict. This reproduces the exact prompt that a critic was trained on. `{task}` is the item's tag of
that name. A block `marks` separates responses too, in a template that is no exact prompt. `role_user`,
`role_assistant` and `role_system` precede each turn of an earlier dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from fullbench.core.ballot import Ballot, Style
from fullbench.core.ballot import ballot as ballot_of
from fullbench.core.item import ROLES, Part, Role, Turn
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.errors import InputError

_HEAD = re.compile(r"^(===|---) +(\S+) *$", re.MULTILINE)
_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Template:
    """Turns and blocks of a prompt. `digest` identifies the text."""

    turns: tuple[tuple[Role, str], ...]
    blocks: Mapping[str, str]
    digest: str

    @classmethod
    def parse(cls, text: str, slots: Collection[str], *, path: str | Path | None = None) -> Template:
        """Parse a template; `slots` are the names it may use."""
        heads = list(_HEAD.finditer(text))
        turns: list[tuple[Role, str]] = []
        blocks: dict[str, str] = {}
        for head, next_head in zip_longest(heads, heads[1:]):
            body = text[head.end() : next_head.start() if next_head else len(text)].strip("\n")
            line = text.count("\n", 0, head.start()) + 1
            name = head[2]
            known_slots = {*slots, "text"} if head[1] == "---" else set(slots)
            _check_slots(body, known_slots, path, line)
            if head[1] == "---":
                blocks[name] = body
            elif name in ROLES:
                turns.append((ROLES[ROLES.index(name)], body))
            else:
                raise InputError(
                    f"unknown role {name!r} in a template; known: {', '.join(ROLES)}", path=path, line=line
                )
        if not turns or turns[-1][0] != "user":
            raise InputError("a template must end with a '=== user' turn (blocks apart)", path=path)
        return cls(tuple(turns), blocks, digest([turns, blocks]))

    @classmethod
    def read(cls, path: str | Path, slots: Collection[str]) -> Template:
        """Read a template from a file."""
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"), slots, path=path)
        except OSError as error:
            raise InputError(f"the template cannot be read ({error.strerror})", path=path) from error
        except UnicodeDecodeError as error:
            raise InputError(f"the template is not UTF-8 (byte {error.start})", path=path) from error

    def block(self, name: str) -> str:
        """Return the text of a block."""
        if name not in self.blocks:
            raise InputError(f"the template has no block '--- {name}', which this mode needs")
        return self.blocks[name]

    def fill(self, values: Mapping[str, Sequence[Part]]) -> tuple[Turn, ...]:
        """Return the turns with every slot replaced, in one pass."""
        return tuple(Turn(role, merge_text_parts(self._fill(text, values, []))) for role, text in self.turns)

    def fill_block(self, name: str, values: Mapping[str, Sequence[Part]]) -> tuple[Part, ...]:
        """Return one block with every slot replaced."""
        return merge_text_parts(self._fill(self.block(name), values, []))

    @cached_property
    def slots(self) -> frozenset[str]:
        """Return the names of the slots in the turns."""
        return frozenset(slot for _, text in self.turns for slot in _SLOT.findall(text))

    @cached_property
    def _pieces(self) -> dict[str, tuple[str, list[tuple[str, str]]]]:
        """Split every text at its slots: the text before the first, then each slot with the text after it."""
        texts = [*self.blocks.values(), *(text for _, text in self.turns)]
        split = {text: _SLOT.split(text) for text in texts}
        return {
            text: (first, list(zip(slots_and_words[::2], slots_and_words[1::2], strict=True)))
            for text, (first, *slots_and_words) in split.items()
        }

    def _fill(self, text: str, values: Mapping[str, Sequence[Part]], out: list[Part]) -> list[Part]:
        """An empty slot that is alone on its line removes the line."""
        first, slots = self._pieces[text]
        start = len(out)
        out.append(first)
        for slot, words in slots:
            value = values.get(slot, ())
            if not any(value):
                alone = words.startswith("\n") and _at_line_start(out, start)
                out.append(words[1:] if alone else words)
                continue
            if slot in self.blocks:
                self._fill(self.blocks[slot], {**values, "text": value, slot: ()}, out)
            else:
                out.extend(value)
            out.append(words)
        return out


def _at_line_start(out: Sequence[Part], start: int) -> bool:
    for index in range(len(out) - 1, start - 1, -1):
        if last := out[index]:
            return isinstance(last, str) and last.endswith("\n")
    return True


def _check_slots(body: str, known_slots: Collection[str], path: str | Path | None, line: int) -> None:
    for slot in _SLOT.findall(body):
        if slot not in known_slots:
            raise InputError(f"unknown slot {{{slot}}}; known: {', '.join(sorted(known_slots))}", path=path, line=line)


def merge_text_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Join neighbouring texts; pictures stay where they are."""
    try:
        text = "".join(cast("Sequence[str]", parts))
    except TypeError:  # a part is a picture
        pass
    else:
        return (text,) if text else ()
    merged_parts: list[Part] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
            continue
        if text := "".join(words):
            merged_parts.append(text)
        words.clear()
        merged_parts.append(part)
    if text := "".join(words):
        merged_parts.append(text)
    return tuple(merged_parts)


@cache
def load_template(package: str, name: str, slots: frozenset[str]) -> Template:
    """Load the template `prompts/NAME.txt` of a package."""
    file = resources.files(package) / "prompts" / f"{name}.txt"
    return Template.parse(file.read_text(encoding="utf-8"), slots, path=file.name)


@dataclass(frozen=True)
class Example:
    """A worked example: a short text about what was judged, and the verdict.
    `ballot` is the form of the verdict; without it, the example is shown wherever its marks fit.
    """

    text: str
    marks: tuple[float, ...]
    ballot: str = ""

    @property
    def settings(self) -> list[Any]:
        """Return the example's part of a judge's settings."""
        return [self.text, list(self.marks), *([self.ballot] if self.ballot else [])]

    def fits(self, form: Ballot, n: int) -> bool:
        """Return True if the ballot allows this verdict on `n` responses."""
        if self.ballot:
            return ballot_of(self.ballot) == form and len(self.marks) == n
        return len(self.marks) == n and form.allows(self.marks)


def render_examples(examples: Sequence[Example], form: Ballot, n: int, style: Style) -> Iterator[str]:
    """Yield the examples that fit a case, with their verdicts in its form."""
    for example in examples:
        if example.fits(form, n):
            yield f"{example.text}\n{form.write(example.marks, style)}"
