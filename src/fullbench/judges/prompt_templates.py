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

`=== ROLE` begins a turn, `--- NAME` a block. `{slot}` is replaced by its value, which is never looked at again, so
that an answer containing `{reference}` stays just that. Any other brace is itself. A slot that has a block of its own
is replaced by the block around its value (`{text}`), and by nothing where there is no value; a line that holds nothing
but such a slot then disappears.

A judge's wording that has a block `fence` sets responses off by it, each with its `{letter}` and a `{mark}` that no
response can foresee, and with nothing else: that is how the very prompt is made that somebody's critic was trained on.
`{task}` is the item's tag of that name. A block `marks` sets responses off as well, in a wording that is no exact
prompt; `role_user`, `role_assistant` and `role_system` are what stands before each turn of an earlier dialogue.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import cast

from fullbench.core.digests import digest
from fullbench.core.item import ROLES, Part, Role, Turn
from fullbench.errors import InputError

_HEAD = re.compile(r"^(===|---) +(\S+) *$", re.MULTILINE)
_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Template:
    """Turns and blocks of a prompt. `digest` stands for the wording."""

    turns: tuple[tuple[Role, str], ...]
    blocks: Mapping[str, str]
    digest: str

    @classmethod
    def parse(cls, text: str, slots: Collection[str], *, path: str | Path | None = None) -> Template:
        """A template from its text; `slots` are the names it may use."""
        heads = list(_HEAD.finditer(text))
        turns: list[tuple[Role, str]] = []
        blocks: dict[str, str] = {}
        for head, following in zip_longest(heads, heads[1:]):
            body = text[head.end() : following.start() if following else len(text)].strip("\n")
            line = text.count("\n", 0, head.start()) + 1
            name = head[2]
            known = {*slots, "text"} if head[1] == "---" else set(slots)
            _check_slots(body, known, path, line)
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
        """A template from a file."""
        try:
            return cls.parse(Path(path).read_text(encoding="utf-8"), slots, path=path)
        except OSError as error:
            raise InputError(f"the template cannot be read ({error.strerror})", path=path) from error
        except UnicodeDecodeError as error:
            raise InputError(f"the template is not UTF-8 (byte {error.start})", path=path) from error

    def block(self, name: str) -> str:
        """A block's own words."""
        if name not in self.blocks:
            raise InputError(f"the template has no block '--- {name}', which this way of judging needs")
        return self.blocks[name]

    def fill(self, values: Mapping[str, Sequence[Part]]) -> tuple[Turn, ...]:
        """The turns with every slot replaced, in one pass."""
        return tuple(Turn(role, joined(self._fill(text, values, []))) for role, text in self.turns)

    def fill_block(self, name: str, values: Mapping[str, Sequence[Part]]) -> tuple[Part, ...]:
        """One block with every slot replaced."""
        return joined(self._fill(self.block(name), values, []))

    @cached_property
    def _pieces(self) -> dict[str, tuple[str, list[tuple[str, str]]]]:
        """Every text split at its slots: the words before the first, then each slot with the words that follow it."""
        texts = [*self.blocks.values(), *(text for _, text in self.turns)]
        split = {text: _SLOT.split(text) for text in texts}
        return {text: (first, list(zip(rest[::2], rest[1::2], strict=True))) for text, (first, *rest) in split.items()}

    def _fill(self, text: str, values: Mapping[str, Sequence[Part]], out: list[Part]) -> list[Part]:
        """Add a text to `out`. A slot that is empty takes its line with it where it stands alone on it."""
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
    """Whether what was added since `start` ends with a line break, or is nothing."""
    for index in range(len(out) - 1, start - 1, -1):
        if last := out[index]:
            return isinstance(last, str) and last.endswith("\n")
    return True


def _check_slots(body: str, known: Collection[str], path: str | Path | None, line: int) -> None:
    for slot in _SLOT.findall(body):
        if slot not in known:
            raise InputError(f"unknown slot {{{slot}}}; known: {', '.join(sorted(known))}", path=path, line=line)


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Neighbouring words joined, pictures kept where they are."""
    try:
        text = "".join(cast("Sequence[str]", parts))
    except TypeError:  # there is a picture among them
        pass
    else:
        return (text,) if text else ()
    together: list[Part] = []
    words: list[str] = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
            continue
        if text := "".join(words):
            together.append(text)
        words.clear()
        together.append(part)
    if text := "".join(words):
        together.append(text)
    return tuple(together)
