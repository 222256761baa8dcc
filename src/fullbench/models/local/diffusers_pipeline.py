"""A `diffusers` pipeline that draws in this process: `diffusers:FOLDER` or `diffusers:HUB_NAME`.

Each sample has its own seed with a generator on the CPU, so that a picture does not depend on batch or device.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from inspect import signature
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model import Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.errors import InputError, require_extra, require_packages
from fullbench.models.local.quick_weights_fingerprint import weights_fingerprint
from fullbench.models.local.transformers_model import PRECISIONS, resolve_device_and_precision
from fullbench.picture_flattening_and_orientation import apply_orientation, encode_image, flatten_to_rgb

OPTIONS: Mapping[str, Callable[[str], Any]] = {
    "device": str, "precision": str, "batch": int, "steps": int, "guidance": float, "seed": int, "size": str,
    "negative_prompt": str, "revision": str, "label": str,
}  # fmt: skip


@dataclass(eq=False)
class PipelineModel:
    """A text-to-image or image-editing pipeline that works on batches of prompts.

    `steps`, `guidance`, `size` (WIDTHxHEIGHT) and `negative_prompt` default to the pipeline's own. A picture removed
    by the safety checker is a refusal. If a batch does not fit into the device's memory, half of it is tried, with a
    message.
    """

    source: str
    device: str = "auto"
    precision: str = "auto"
    batch: int = 8
    steps: int | None = None
    guidance: float | None = None
    seed: int = 0
    size: str = ""
    negative_prompt: str = ""
    revision: str = ""
    label: str = ""
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _pipeline: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        for name, value in (("batch", self.batch), ("steps", self.steps)):
            if value is not None and value < 1:
                raise InputError(f"the option {name} must be 1 or more; found {value}")
        sides = self.size.split("x") if self.size else []
        if self.size and not (len(sides) == 2 and all(side.isdigit() and int(side) > 0 for side in sides)):
            raise InputError(f"the option size is WIDTHxHEIGHT, such as 512x512; found {self.size!r}")
        if self.source.startswith(("/", ".", "~")) and not Path(self.source).is_dir():
            raise InputError("there is no such folder; a pipeline is a folder or a hub name", path=self.source)
        if Path(self.source).is_dir():
            check_folder(Path(self.source))

    @cached_property
    def _identity(self) -> str:
        folder = Path(self.source)
        if folder.is_dir():
            return digest(weights_fingerprint(folder))
        return f"{self.source}@{self.revision}" if self.revision else self.source

    @cached_property
    def name(self) -> str:
        folder = Path(self.source)
        plain = f"{folder.resolve().name}@{self._identity[:8]}" if folder.is_dir() else self._identity
        return f"{self.label or f'diffusers:{plain}'}#{digest(self.settings)[:8]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "pipeline": self._identity, "precision": self.precision, "steps": self.steps, "guidance": self.guidance,
            "seed": self.seed, "size": self.size, "negative_prompt": self.negative_prompt,
        }  # fmt: skip

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        """Yield one reply per prompt, batch by batch. A missing package raises before anything is drawn."""
        require_packages(f"the pipeline {self.source!r}", "diffusers", "torch", "diffusers")
        return self._answers(iter(prompts))

    def _answers(self, waiting: Iterator[Prompt]) -> Iterator[Reply]:
        """Draw a batch while the previous one is encoded, so that the GPU does not wait."""
        with ThreadPoolExecutor(min(self.batch, os.cpu_count() or 1)) as encoding:
            previous_batch: Future[list[_DrawnReply]] | None = None
            while group := list(islice(waiting, self.batch)):
                current_batch = self._drawing_thread.submit(self._draw_group, group)
                if previous_batch is not None:
                    yield from _with_files(previous_batch.result(), encoding)
                previous_batch = current_batch
            if previous_batch is not None:
                yield from _with_files(previous_batch.result(), encoding)

    @cached_property
    def _drawing_thread(self) -> ThreadPoolExecutor:
        """Return the only drawing thread. It is kept: GPU libraries spend a second on set-up in each new thread."""
        return ThreadPoolExecutor(1, thread_name_prefix="drawing")

    def _draw_group(self, group: Sequence[Prompt]) -> list[_DrawnReply]:
        from_words = [prompt for prompt in group if not _prompt_pictures(prompt)]
        edits = [prompt for prompt in group if _prompt_pictures(prompt)]
        drawn_replies = self._draw_batch(from_words) if from_words else []
        if edits and "image" not in signature(self.load().__call__).parameters:
            why = "the pipeline draws from words alone and the item has pictures"
            return drawn_replies + [(Reply(prompt, error=why, failure="permanent"), None) for prompt in edits]
        return drawn_replies + (self._draw_batch(edits) if edits else [])

    def _draw_batch(self, group: Sequence[Prompt]) -> list[_DrawnReply]:
        import torch

        start_time = time.perf_counter()
        try:
            images, filter_flags = self._call_pipeline(group)
        except torch.cuda.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            if len(group) == 1:
                why = f"the device has too little memory for one picture ({_first_line(error)})"
                return [(Reply(group[0], error=why), None)]
            half = len(group) // 2
            self.batch = min(self.batch, half)
            sys.stderr.write(f"{self.name}: too little memory for {len(group)} pictures at once; {half} now\n")
            starts = range(0, len(group), half)  # not `self.batch`, which the calls below may shrink further
            return [drawn_reply for start in starts for drawn_reply in self._draw_batch(group[start : start + half])]
        except (ValueError, TypeError) as error:
            return [(Reply(prompt, error=_first_line(error), failure="permanent"), None) for prompt in group]
        seconds_each = (time.perf_counter() - start_time) / len(group)
        return [
            (
                Reply(
                    prompt,
                    usage=Usage(calls=1, seconds=seconds_each),
                    stop="filter" if is_filtered else "stop",
                    served=self.name,
                    tags={"seed": str(self._seed(prompt)), **({"steps": str(self.steps)} if self.steps else {})},
                ),
                None if is_filtered else image,
            )
            for prompt, image, is_filtered in zip(group, images, filter_flags, strict=True)
        ]

    def _seed(self, prompt: Prompt) -> int:
        return self.seed + (prompt.seed or 0)

    def _call_pipeline(self, group: Sequence[Prompt]) -> tuple[list[Any], list[bool]]:
        import torch

        pipeline = self.load()
        width, _, height = self.size.partition("x")
        pipeline_options = {
            "num_inference_steps": self.steps,
            "guidance_scale": self.guidance,
            "width": int(width) if width else None,
            "height": int(height) if height else None,
            "negative_prompt": [self.negative_prompt] * len(group) if self.negative_prompt else None,
            "image": [_decode_picture(_prompt_pictures(prompt)[0]) for prompt in group]
            if _prompt_pictures(group[0])
            else None,
        }
        seeds = [torch.Generator("cpu").manual_seed(self._seed(prompt)) for prompt in group]
        with torch.inference_mode():
            out = pipeline(
                prompt=[prompt.turns[-1].text for prompt in group], generator=seeds,
                **{name: value for name, value in pipeline_options.items() if value is not None},
            )  # fmt: skip
        filter_flags = getattr(out, "nsfw_content_detected", None) or [False] * len(group)
        return list(out.images), [bool(flag) for flag in filter_flags]

    def load(self) -> Any:
        """Return the pipeline, ready to draw; loaded once."""
        with self._lock:
            if self._pipeline is None:
                device, precision = resolve_device_and_precision(self.device, self.precision, self.source)
                self._pipeline = pipeline_from(self.source, precision, self.revision).to(device)
                self._pipeline.set_progress_bar_config(disable=True)
            return self._pipeline


def pipeline_from(source: str, precision: str, revision: str = "") -> Any:
    """Load a pipeline by folder or hub name."""
    with require_extra(f"the pipeline {source!r}", "diffusers"):
        import diffusers
        import torch
    diffusers.utils.logging.set_verbosity_error()
    diffusers.utils.logging.disable_progress_bar()
    if find_spec("transformers") is not None:  # it shows its own progress bars for the text encoders
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
    where = {"revision": revision} if revision else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # newer versions prefer `dtype`, older ones lack it
            return diffusers.DiffusionPipeline.from_pretrained(source, torch_dtype=getattr(torch, precision), **where)
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"the pipeline {source!r} cannot be loaded ({_first_line(error)})") from error


def check_folder(folder: Path) -> None:
    """Raise if a folder is not a pipeline, or lacks a part that its index names."""
    index = folder / "model_index.json"
    if not index.is_file():
        raise InputError("the folder contains no pipeline of diffusers: model_index.json is missing", path=folder)
    try:
        parts = json.loads(index.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is not valid JSON ({error})", path=index) from error
    lacking = [
        name
        for name, entry in parts.items()
        if isinstance(entry, list) and entry and entry[0] is not None and not (folder / name).is_dir()
    ]
    if lacking:
        raise InputError(f"the pipeline lacks its part {', '.join(lacking)}; fetch the folder again", path=folder)


_DrawnReply = tuple[Reply, Any]
"""A reply, and its picture before encoding, or None."""


def _with_files(drawn_replies: Sequence[_DrawnReply], encoding: ThreadPoolExecutor) -> Iterator[Reply]:
    files = encoding.map(lambda row: None if row[1] is None else encode_image(row[1]), drawn_replies)
    for (reply, _), data in zip(drawn_replies, files, strict=True):
        yield reply if data is None else replace(reply, pictures=(Picture.from_bytes(data, name="what was drawn"),))


def _prompt_pictures(prompt: Prompt) -> list[Picture]:
    return [picture for turn in prompt.turns for picture in turn.pictures]


def _decode_picture(picture: Picture) -> Any:
    from PIL import Image

    with Image.open(BytesIO(picture.data())) as image:
        return flatten_to_rgb(apply_orientation(image))


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
