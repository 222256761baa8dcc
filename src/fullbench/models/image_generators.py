"""Generators from a line: `image:gpt-image-1?size=1024x1024`, `diffusers:FOLDER?steps=30`, `generator:MODULE:NAME`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from io import BytesIO
from typing import TYPE_CHECKING, Any

from fullbench.core.call import Usage
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects.images import GeminiImages, OpenAIEdits, OpenAIImages
from fullbench.models.model_settings import Key
from fullbench.models.model_specs import (  # fmt: skip
    ACCESS,
    GEMINI,
    LIMITS,
    OPENAI,
    Provider,
    limits_from,
    number,
    placed,
    read_options,
    sampling_from,
)
from fullbench.plugin_registry import function as function_named

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

_PLAIN = ("size", "quality", "background", "style", "negative_prompt")
_NUMBERS = ("steps", "guidance")
DRAWING: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(_PLAIN, str), "steps": int, "guidance": number, "seed": int, "extra": json.loads,
    "price_picture": number, "pixels": int,
}  # fmt: skip


def image(name: str, options: Mapping[str, str]) -> Model:
    """A model that draws behind OpenAI's image generations, or behind any server like it: `NAME@http://host/v1`."""
    return _drawing("image", OPENAI, name, options, OpenAIImages)


def image_edit(name: str, options: Mapping[str, str]) -> Model:
    """A model that edits pictures behind OpenAI's image edits, or behind any server like it."""
    return _drawing("image-edit", OPENAI, name, options, OpenAIEdits)


def gemini_image(name: str, options: Mapping[str, str]) -> Model:
    """A model of Gemini's API that draws, from words or from words and pictures."""
    return _drawing("gemini-image", GEMINI, name, options, GeminiImages)


def _drawing(kind: str, provider: Provider, name: str, options: Mapping[str, str], dialect: Any) -> Model:
    model, url = placed(replace(provider, name=kind), name)
    if not model:
        raise InputError(f"the spec '{kind}:{name}' names no model; write {kind}:NAME or {kind}:NAME@URL")
    read = read_options(f"{kind}:{model}", options, {**DRAWING, **LIMITS, **ACCESS})
    address = url or provider.url
    price = read.pop("price_picture", None)
    extra = {option: read.pop(option) for option in (*_PLAIN, *_NUMBERS) if option in read}
    sampling = sampling_from({**read, "extra": {**_wire(extra), **read.get("extra", {})}})
    per_picture = {"per_picture": price is not None}
    spoken = dialect(**per_picture) if dialect is GeminiImages else dialect(own=provider.owns(address), **per_picture)
    env = (read["key_env"],) if "key_env" in read else provider.env if provider.owns(address) else ()
    file: Path | None = None
    if "key_file" in read:
        from pathlib import Path

        file = Path(read["key_file"])
    listed = None if price is None else (0.0, price * 1e6)
    return ChatModel(model, address, spoken, Key(env, file), sampling, limits_from(read), listed, read.get("label", ""))


def _wire(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Options under the names that image servers have for them."""
    names = {"steps": "num_inference_steps", "guidance": "guidance_scale"}
    return {names.get(option, option): value for option, value in extra.items()}


def diffusers(name: str, options: Mapping[str, str]) -> Model:
    """A pipeline of `diffusers` in this process, by folder or hub name; needs the optional part `diffusers`."""
    from fullbench.models.local.diffusers_pipeline import OPTIONS, PipelineModel

    if not name:
        raise InputError("the spec 'diffusers' names no pipeline; write diffusers:FOLDER or diffusers:OWNER/NAME")
    return PipelineModel(name, **read_options(f"diffusers:{name}", options, OPTIONS))


@dataclass(frozen=True, eq=False)
class CallableGenerator:
    """A function of one's own that draws.

    It takes the prompt and a seed, and the item's pictures where it names a third argument; it gives a Pillow image,
    the bytes of a picture, or None where it would not draw.
    """

    function: Callable[..., Image | bytes | None] = field(repr=False)
    named: str = "generator"
    seed: int = 0
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)

    @property
    def name(self) -> str:
        return self.named + (f"+seed{self.seed}" if self.seed else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"function": self.named, "seed": self.seed}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        takes_pictures = len(signature(self.function).parameters) > 2
        for prompt in prompts:
            seed = self.seed + (prompt.seed or 0)
            shown = [picture for turn in prompt.turns for picture in turn.pictures]
            drawn = self.function(prompt.turns[-1].text, seed, *([shown] if takes_pictures else []))
            tags = {"seed": str(seed)}
            if drawn is None:
                yield Reply(prompt, usage=Usage(calls=1), stop="refused", tags=tags)
            else:
                data = drawn if isinstance(drawn, bytes) else encoded_image(drawn)
                picture = Picture.as_given(data, data)
                yield Reply(prompt, usage=Usage(calls=1), stop="stop", pictures=(picture,), tags=tags)


def encoded_image(image_: Image) -> bytes:
    """A picture as PNG."""
    out = BytesIO()
    image_.save(out, "PNG")
    return out.getvalue()


def callable_generator(name: str, options: Mapping[str, str]) -> Model:
    """The generator that `generator:MODULE:FUNCTION` names."""
    read = read_options(f"generator:{name}", options, {"seed": int})
    drawing = function_named(name, form="generator:MODULE:FUNCTION")
    return CallableGenerator(drawing, name, read.get("seed", 0))
