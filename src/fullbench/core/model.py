"""Models, the prompts sent to them and the replies they return."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any, Protocol, runtime_checkable

from fullbench.core.item import Part, Turn, parts_content
from fullbench.core.json_digests_and_cached_properties import digest, once
from fullbench.core.model_call import NOTHING, Call, FailureKind, Usage
from fullbench.core.picture import EXTRACTS, Frame, Picture, Sound
from fullbench.errors import InputError


@dataclass(frozen=True)
class Prompt:
    """A conversation to be continued.

    `schema` is the text of a JSON schema for the reply, used by models that take schemas. `nonce` is the check code
    that the last turn requests in a line of its own. `shared` is the number of leading parts of the first non-system
    turn that other prompts about the item share, for servers that cache them. `tag` belongs to the caller: it is
    returned with the reply and never sent.
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
        """Digest of everything that is sent: words, pictures, seed, and the schema if there is one.

        The line with the check code is excluded, so the same question has the same digest in every ledger.
        """
        schema_part = [self.schema] if self.schema else []
        turns = [[turn.role, parts_content(self._without_check_code(turn.parts))] for turn in self.turns]
        return digest([turns, self.seed, self.json, *schema_part])

    def _without_check_code(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        if not self.nonce:
            return parts
        nonce = self.nonce
        return tuple(
            "\n".join(line for line in part.split("\n") if nonce not in line)
            if isinstance(part, str) and nonce in part
            else part
            for part in parts
        )


def sent_text(prompt: Prompt) -> str:
    """Return the turns of a prompt with frames as JSON: a ledger cannot render it again without a decoder."""

    def part_value(part: Part) -> Any:
        if isinstance(part, str):
            return part
        value = {part.part_name: part.digest, "type": part.media_type}
        if isinstance(part, Frame | Sound):
            value |= {"of": part.origin, "rule": part.rule, "place": part.place}
        return value

    turns = [{"role": turn.role, "parts": [part_value(part) for part in turn.parts]} for turn in prompt.turns]
    return dumps({"turns": turns}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply to a prompt: text, or the error left after all retries.

    `stop` is how it ended (`stop`, `length`, `refused`, `filter`, `tool`, ...). `reasoning` is its reasoning, if
    separate from the answer. `served` and `fingerprint` are the server's own description of the model. `failure`
    classifies an error: may the same prompt succeed later? `estimated` means that the server reported no readable
    token counts. `pictures` are those that a generator drew, `tags` details to store about it (its seed, its steps).
    `first` has the probabilities of first tokens; `tokens` has the last tokens with theirs. Both are empty unless
    requested and supported.
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

    def with_usage(self, usage: Usage, tags: Mapping[str, str] | None = None) -> Reply:
        """Return the reply with its usage; field by field, because `dataclasses.replace` takes twice as long."""
        return Reply(
            self.prompt, self.text, usage, self.error, self.stop, self.reasoning, self.served, self.fingerprint,
            self.failure, self.estimated, self.pictures, self.tags if tags is None else tags, self.first, self.tokens,
        )  # fmt: skip

    def exchange(self, at: float) -> Call:
        """Return the finished exchange as a `Call` for the ledger."""
        frames = tuple(part for turn in self.prompt.turns for part in turn.parts if isinstance(part, EXTRACTS))
        return Call(
            os.urandom(16).hex(), self.text, self.prompt.digest, sent_text(self.prompt) if frames else "",
            self.reasoning, self.stop, self.served, self.fingerprint, self.prompt.nonce, self.usage, at, frames,
        )  # fmt: skip


DECLINED_STOPS = frozenset({"refused", "filter"})
"""Ends of a reply if the model, or a filter, declined to answer."""


@runtime_checkable
class Model(Protocol):
    """Anything that answers conversations.

    `answer` takes prompts lazily, keeps any number in flight, and yields replies in any order: each contains its
    prompt. A call that fails for good is a reply with an `error`. Only errors that make every further call pointless
    (a refused key, an unknown model) are raised, as `ModelError`.

    `name` is the identity: anything that changes answers (sampling settings) changes it. `settings` are stored in the
    ledger with the name. `price` is dollars per million tokens in and out, or None if unknown.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def price(self) -> tuple[float, float] | None: ...

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]: ...


def as_judge(model: Model) -> Model:
    """Return the model with its sampling settings for judging (its method `as_judge`), or itself if it has none."""
    settle = getattr(model, "as_judge", None)
    judge_model: Model = model if settle is None else settle()
    return judge_model


def media_kinds(model: Model) -> frozenset[str]:
    """Return the kinds of media that a model takes, by its attribute `media_kinds`; pictures if it has none."""
    return frozenset(getattr(model, "media_kinds", ("image",)))


def prepare_prompt(model: Model, prompt: Prompt) -> Prompt:
    """Return the prompt as the model sends it, by its method `prepare`: frames may take the place of a video.

    Raises `InputError` if the model takes no media of some kind, or if a file cannot be decoded.
    """
    prepare = getattr(model, "prepare", None)
    if prepare is not None:
        prepared: Prompt = prepare(prompt)
        return prepared
    kinds = media_kinds(model)
    for turn in prompt.turns:
        for part in turn.media:
            if part.kind not in kinds:
                raise InputError(f"{model.name} does not take a {part.noun}")
    return prompt


def draws_pictures(model: Model) -> bool:
    """True if a model answers with pictures, by its attribute `draws`."""
    return bool(getattr(model, "draws", False))


def takes_schemas(model: Model) -> bool:
    """True if replies of a model can follow a JSON schema, by its attribute `takes_schemas`."""
    return bool(getattr(model, "takes_schemas", False))


def family_of(name: str) -> str:
    """Return the family in a model's name: its first word, without the provider and the server's address.

    >>> [family_of(name) for name in ("gpt-4o-mini", "openai/gpt-4o", "Claude-3.5-sonnet", "synthetic/keen")]
    ['gpt', 'gpt', 'claude', 'keen']
    >>> family_of("Qwen/Qwen2-VL@127.0.0.1:8000/v1")
    'qwen'
    """
    bare = name.partition("@")[0].rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    match = re.match(r"[^\W\d_]+", bare)
    return (match[0] if match else bare).lower()
