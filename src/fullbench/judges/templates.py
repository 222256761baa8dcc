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
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from fullbench.core.errors import InputError
from fullbench.core.items import ROLES, Part, Role, Turn, digest

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
        return tuple(Turn(role, _joined(self._fill(text, values))) for role, text in self.turns)

    def fill_block(self, name: str, values: Mapping[str, Sequence[Part]]) -> tuple[Part, ...]:
        """One block with every slot replaced."""
        return _joined(self._fill(self.block(name), values))

    @cached_property
    def _pieces(self) -> dict[str, list[str]]:
        """Every text split at its slots: words at even places, names of slots at odd ones."""
        texts = [*self.blocks.values(), *(text for _, text in self.turns)]
        return {text: _SLOT.split(text) for text in texts}

    def _fill(self, text: str, values: Mapping[str, Sequence[Part]]) -> list[Part]:
        out: list[Part] = []
        gone = False
        for index, piece in enumerate(self._pieces[text]):
            if index % 2 == 0:
                alone = gone and piece.startswith("\n") and _at_line_start(out)
                out.append(piece[1:] if alone else piece)
                continue
            value = values.get(piece, ())
            gone = not any(value)
            if gone:
                continue
            if piece in self.blocks:
                out.extend(self._fill(self.blocks[piece], {**values, "text": value, piece: ()}))
            else:
                out.extend(value)
        return out


def _at_line_start(out: Sequence[Part]) -> bool:
    last = next((part for part in reversed(out) if part), "\n")
    return isinstance(last, str) and last.endswith("\n")


def _check_slots(body: str, known: Collection[str], path: str | Path | None, line: int) -> None:
    for slot in _SLOT.findall(body):
        if slot not in known:
            raise InputError(f"unknown slot {{{slot}}}; known: {', '.join(sorted(known))}", path=path, line=line)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Neighbouring words joined, pictures kept where they are."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    return tuple(joined)
