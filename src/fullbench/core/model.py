"""A model, what it is sent and what it sends back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from fullbench.core.call import NOTHING, Call, FailureKind, Usage
from fullbench.core.digests import digest, once
from fullbench.core.item import Part, Turn, parts_content
from fullbench.core.picture import Picture


@dataclass(frozen=True)
class Prompt:
    """A conversation to be continued.

    `schema` is the text of a JSON schema that the reply is held to, by models that take schemas. `nonce` is what
    the ruling is asked for with, in a line of its own in the last turn. `shared` is how many parts of the first turn
    that is not the system's are the same in other prompts about the item, for servers that cache them. `tag` is the
    caller's own mark, handed back with the reply and never sent.
    """

    turns: tuple[Turn, ...]
    seed: int | None = None
    json: bool = False
    schema: str = ""
    nonce: str = ""
    shared: int = field(default=0, compare=False, repr=False)
    tag: Any = field(default=None, compare=False, repr=False)

    @once
    def digest(self) -> str:
        """Stands for all that is sent: words, pictures, seed, and the schema where there is one.

        The line with the nonce is left out: the same question has the same digest in every ledger.
        """
        held = [self.schema] if self.schema else []
        turns = [[turn.role, parts_content(self._unmarked(turn.parts))] for turn in self.turns]
        return digest([turns, self.seed, self.json, *held])

    def _unmarked(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if not self.nonce:
            return parts
        nonce = self.nonce
        return tuple(
            "\n".join(line for line in part.split("\n") if nonce not in line)
            if isinstance(part, str) and nonce in part
            else part
            for part in parts
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model made of a prompt: words, or the error that no retry mended.

    `stop` is how it ended (`stop`, `length`, `refused`, `filter`, `tool`, ...), `reasoning` what it thought where that
    comes apart from the answer, `served` and `fingerprint` what the server said that it is. `failure` says of an error
    whether the same prompt may do later, `estimated` that the server did not count the tokens, or not readably.
    `pictures` are what a generator drew, `tags` what is to be kept of how it did (its seed, its steps). `first` says
    how likely each first token was, `tokens` the same of the last ones beside what was written, where the server was
    asked and says so.
    """

    prompt: Prompt
    text: str = ""
    usage: Usage = NOTHING
    error: str | None = None
    stop: str = ""
    reasoning: str = ""
    served: str = ""
    fingerprint: str = ""
    failure: FailureKind = "passing"
    estimated: bool = False
    pictures: tuple[Picture, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, float] = field(default_factory=dict)
    tokens: tuple[tuple[str, Mapping[str, float]], ...] = ()

    def exchange(self, at: float) -> Call:
        """The exchange that it ended, as it is kept."""
        return Call(
            os.urandom(16).hex(), self.text, self.prompt.digest, "", self.reasoning, self.stop, self.served,
            self.fingerprint, self.prompt.nonce, self.usage, at,
        )  # fmt: skip


DECLINED = frozenset({"refused", "filter"})
"""How a reply ends in which the model, or a filter before or behind it, declined to answer."""


@runtime_checkable
class Model(Protocol):
    """Anything that answers conversations.

    `answer` takes prompts lazily, keeps as many in flight as it sees fit, and yields replies as they come, in any
    order: each carries its prompt. A call that fails for good is a reply with an `error`; only what makes every
    further call pointless (a refused key, an unknown model) is raised, as `ModelError`.

    `name` is the identity: what changes answers (sampling settings) changes it. `settings` is what a ledger keeps
    beside the name. `price` is dollars per million tokens in and out, None where unknown.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def price(self) -> tuple[float, float] | None: ...

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]: ...


def as_judge(model: Model) -> Model:
    """The model as judges ask it: its own method `as_judge` settles its sampling; itself where it has none."""
    settle = getattr(model, "as_judge", None)
    settled: Model = model if settle is None else settle()
    return settled


def draws(model: Model) -> bool:
    """Whether a model answers with pictures: it says so by an attribute of that name."""
    return bool(getattr(model, "draws", False))


def takes_schemas(model: Model) -> bool:
    """Whether replies of a model can be held to a JSON schema: it says so by an attribute of that name."""
    return bool(getattr(model, "takes_schemas", False))


def family_of(name: str) -> str:
    """The family a model's name shows: its first word, after the provider's and before the address of its server.

    >>> family_of("gpt-4o-mini"), family_of("openai/gpt-4o"), family_of("Claude-3.5-sonnet"), family_of("court/keen")
    ('gpt', 'gpt', 'claude', 'keen')
    >>> family_of("Qwen/Qwen2-VL@127.0.0.1:8000/v1")
    'qwen'
    """
    bare = name.partition("@")[0].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    found = re.match(r"[^\W\d_]+", bare)
    return (found[0] if found else bare).lower()
