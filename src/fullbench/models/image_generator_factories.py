"""Factories of image generators: `image:gpt-image-1?size=512x512`, `diffusers:FOLDER`, `generator:MODULE:FUNCTION`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.chat_model import ChatModel
from fullbench.models.dialects.image_generation import GeminiImages, OpenAIEdits, OpenAIImages
from fullbench.models.model_settings import Key
from fullbench.models.model_specs import (  # fmt: skip
    ACCESS,
    GEMINI,
    LIMITS,
    OPENAI,
    Provider,
    limits_from,
    parse_number,
    read_options,
    sampling_from,
    split_model_and_url,
)
from fullbench.picture_flattening_and_orientation import encode_image
from fullbench.plugin_specs import load_function as function_named

if TYPE_CHECKING:
    from pathlib import Path

    from PIL.Image import Image

_PLAIN = ("size", "quality", "background", "style", "negative_prompt")
_NUMBERS = ("steps", "guidance")
DRAWING: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(_PLAIN, str), "steps": int, "guidance": parse_number, "seed": int, "extra": json.loads,
    "price_picture": parse_number, "pixels": int,
}  # fmt: skip


def _build_drawing_model(kind: str, provider: Provider, dialect: Any, name: str, options: Mapping[str, str]) -> Model:
    model, url = split_model_and_url(replace(provider, name=kind), name)
    if not model:
        raise InputError(f"the spec '{kind}:{name}' has no model name; write {kind}:NAME or {kind}:NAME@URL")
    option_values = read_options(f"{kind}:{model}", options, {**DRAWING, **LIMITS, **ACCESS})
    address = url or provider.url
    price = option_values.pop("price_picture", None)
    extra = {option: option_values.pop(option) for option in (*_PLAIN, *_NUMBERS) if option in option_values}
    sampling = sampling_from({**option_values, "extra": {**_server_options(extra), **option_values.get("extra", {})}})
    per_picture = {"per_picture": price is not None}
    dialect_instance = (
        dialect(**per_picture) if dialect is GeminiImages else dialect(is_openai=provider.owns(address), **per_picture)
    )
    env = (option_values["key_env"],) if "key_env" in option_values else provider.env if provider.owns(address) else ()
    file: Path | None = None
    if "key_file" in option_values:
        from pathlib import Path

        file = Path(option_values["key_file"])
    # Prices are per million tokens, and with `per_picture` a picture counts as one token out.
    listed_price = None if price is None else (0.0, price * 1e6)
    return ChatModel(
        model,
        address,
        dialect_instance,
        Key(env, file),
        sampling,
        limits_from(option_values),
        listed_price,
        option_values.get("label", ""),
    )


build_image_model = partial(_build_drawing_model, "image", OPENAI, OpenAIImages)
"""Factory for OpenAI's image generations API or a compatible server: `NAME@http://host/v1`."""
build_image_edit_model = partial(_build_drawing_model, "image-edit", OPENAI, OpenAIEdits)
build_gemini_image_model = partial(_build_drawing_model, "gemini-image", GEMINI, GeminiImages)


def _server_options(extra: Mapping[str, Any]) -> dict[str, Any]:
    names = {"steps": "num_inference_steps", "guidance": "guidance_scale"}
    return {names.get(option, option): value for option, value in extra.items()}


def build_diffusers_model(name: str, options: Mapping[str, str]) -> Model:
    """Build a `diffusers` pipeline in this process, by folder or hub name; needs the extra `diffusers`."""
    from fullbench.models.local.diffusers_pipeline import OPTIONS, PipelineModel

    if not name:
        raise InputError("the spec 'diffusers' has no pipeline; write diffusers:FOLDER or diffusers:OWNER/NAME")
    return PipelineModel(name, **read_options(f"diffusers:{name}", options, OPTIONS))


@dataclass(frozen=True, eq=False)
class CallableGenerator:
    """A user's function that draws. It takes the prompt, a seed and, with a third parameter, the item's pictures; it
    returns a Pillow image, the bytes of a picture, or None to refuse.
    """

    function: Callable[..., Image | bytes | None] = field(repr=False)
    function_name: str = "generator"
    seed: int = 0
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)

    @property
    def name(self) -> str:
        return self.function_name + (f"+seed{self.seed}" if self.seed else "")

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"function": self.function_name, "seed": self.seed}

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        takes_pictures = len(signature(self.function).parameters) > 2
        for prompt in prompts:
            seed = self.seed + (prompt.seed or 0)
            pictures = [picture for turn in prompt.turns for picture in turn.pictures]
            drawing = self.function(prompt.turns[-1].text, seed, *([pictures] if takes_pictures else []))
            tags = {"seed": str(seed)}
            if drawing is None:
                yield Reply(prompt, usage=Usage(calls=1), stop="refused", tags=tags)
            else:
                data = drawing if isinstance(drawing, bytes) else encode_image(drawing)
                picture = Picture.from_any_bytes(data, data)
                yield Reply(prompt, usage=Usage(calls=1), stop="stop", pictures=(picture,), tags=tags)


def build_callable_generator(name: str, options: Mapping[str, str]) -> Model:
    """Build the generator for `generator:MODULE:FUNCTION`."""
    option_values = read_options(f"generator:{name}", options, {"seed": int})
    draw_function = function_named(name, form="generator:MODULE:FUNCTION")
    return CallableGenerator(draw_function, name, option_values.get("seed", 0))
