"""Models that need no server: for tests, demonstrations and experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.models.media_as_sent import expand_media
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.media_token_estimates import text_tokens
from fullbench.models.wire.token_estimates import estimate_tokens


@dataclass(frozen=True, eq=False)
class OfflineModel:
    """A function that answers prompts, as a model. It costs nothing; its token counts are estimates."""

    name: str
    reply: Callable[[Prompt], str] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)
    price: tuple[float, float] | None = (0.0, 0.0)

    media_kinds = frozenset({"image", "video", "audio", "document"})

    def prepare(self, prompt: Prompt) -> Prompt:
        """Return the prompt with frames and pages in place of videos and documents, as most servers get it."""
        return expand_media(prompt, Sampling(), frozenset({"audio"}))

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield one reply per prompt, in order and lazily."""
        for prompt in prompts:
            text = self.reply(prompt)
            usage = Usage(calls=1, tokens_in=estimate_tokens(prompt), tokens_out=text_tokens(text))
            yield Reply(prompt, text, usage, stop="stop")


def echo_prompt(prompt: Prompt) -> str:
    """Return the text of the last turn."""
    return prompt.turns[-1].text


def choose_first(_: Prompt) -> str:
    """Vote for the first response shown, always: a judge that depends on position only."""
    return "[[A]]"
