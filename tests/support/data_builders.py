"""Small real things that many tests need."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator

from fullbench import Item, Picture, Prompt, Reply, Response, Usage


def png(colour: tuple[int, int, int] = (200, 30, 30), size: tuple[int, int] = (8, 8)) -> bytes:
    """A picture of one colour."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def item(id_: str = "i1", **rest: object) -> Item:
    return Item.ask(id_, f"What colour is square {id_}?", Picture.from_bytes(png()), **rest)


def answers(id_: str = "i1", **texts: str) -> tuple[Response, ...]:
    return tuple(Response.say(id_, name, text) for name, text in texts.items())


def chance(*what: object) -> float:
    """A number from 0 to 1 that is always the same for the same values."""
    return int(hashlib.sha256("/".join(map(str, what)).encode()).hexdigest()[:8], 16) / 2**32


class Talker:
    """A model in process that answers by a function of the prompt, and remembers what it was asked."""

    def __init__(self, reply: Callable[[Prompt], str | Reply], name: str = "talker") -> None:
        self.name = name
        self.settings: dict[str, object] = {}
        self.price: tuple[float, float] | None = (1.0, 2.0)
        self.asked: list[Prompt] = []
        self._reply = reply

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            self.asked.append(prompt)
            said = self._reply(prompt)
            yield said if isinstance(said, Reply) else Reply(prompt, said, Usage(calls=1, tokens_in=10, tokens_out=2))


def words(prompt: Prompt) -> str:
    """All the words of a prompt."""
    return "\n".join(turn.text for turn in prompt.turns)
