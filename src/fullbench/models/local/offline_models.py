"""Models that need no server: for tests, demonstrations and trying things out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.call import Usage
from fullbench.core.model import Prompt, Reply
from fullbench.models.wire.token_estimates import estimate, words


@dataclass(frozen=True, eq=False)
class OfflineModel:
    """A function that answers prompts, as a model. It costs nothing; its tokens are estimates."""

    name: str
    reply: Callable[[Prompt], str] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    price: tuple[float, float] | None = (0.0, 0.0)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """One reply for each prompt, in order, each made when it is asked for."""
        for prompt in prompts:
            text = self.reply(prompt)
            used = Usage(calls=1, tokens_in=estimate(prompt), tokens_out=words(text))
            yield Reply(prompt, text, used, stop="stop")


def echo(prompt: Prompt) -> str:
    """The last words it was told."""
    return prompt.turns[-1].text


def first(_: Prompt) -> str:
    """Rules for the first response shown, whatever it is: a judge that sees position only."""
    return "[[A]]"
