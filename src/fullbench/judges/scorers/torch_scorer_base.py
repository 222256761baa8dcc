"""Base class of score models on torch: pictures prepared in threads, batches built while others are scored.

Torch is loaded when the first picture is prepared. On a GPU models run in half precision. The settings contain
everything that changes a score: the model, sizes and ends of its weight files, the precision.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.picture import Picture
from fullbench.errors import InputError, Unscorable, require_extra, require_packages
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import (
    Recipe,
    can_decode_on_gpu,
    colour_dtype,
    decode_on_gpu,
    plain_jpeg,
)
from fullbench.judges.scorers.clip_activation_fusion_and_vision_compilation import (
    compile_vision,
    fuse_activations,
    spare_collector,
)
from fullbench.judges.scorers.decoding_processes import DecodingProcesses
from fullbench.judges.scorers.safe_picture_decoding import UnscorableAmong, decode_picture
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.models.local.quick_weights_fingerprint import weights_fingerprint
from fullbench.models.local.transformers_model import refuse_missing_gpu

if TYPE_CHECKING:
    from PIL.Image import Image

PRECISIONS = ("auto", "float32", "float16", "bfloat16")
DECODERS = ("auto", "pillow", "gpu")
COMPILE_CHOICES = ("no", "yes")
_READERS = 2
_CORES = 4
"""With at least this many cores, pictures for a GPU are decoded in processes; with fewer, that saves nothing."""
# Embeddings are kept for prompts that come again; some kilobytes each.
_MAX_PROMPTS = 10_000
_QUEUES = "32"
"""Number of CUDA queues. Streams that share a queue wait for each other: with the default eight, decoding a batch
waited for two batches that were scored (104 ms instead of 12 on an H200).
"""


@dataclass(eq=False)
class TorchScorer(ABC):
    """A score model on torch.

    `source` is a name or a folder. `device` is `cpu`, `cuda`, ... or `auto`; `precision` is `auto` (half on a GPU) or
    a dtype. `decoder` is `pillow`, `gpu` (JPEGs are decoded on the GPU) or `auto` (the GPU if it can decode and the
    model has a recipe). Pictures that the GPU should not decode always go through Pillow. `compile=yes` compiles the
    vision part, which takes about a minute and is faster afterwards.
    """

    extra: ClassVar[str] = "local"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    source: str
    kind: str
    device: str = "auto"
    precision: str = "auto"
    span: Span | None = None
    decoder: str = "auto"
    compile: str = "no"
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _model: Any = field(default=None, init=False, repr=False)
    _torch_device: Any = field(default=None, init=False, repr=False)
    _torch_dtype: Any = field(default=None, init=False, repr=False)
    _recipe: Recipe | None = field(default=None, init=False, repr=False)
    _local: threading.local = field(default_factory=threading.local, init=False, repr=False)
    _shared_state: SimpleNamespace = field(default_factory=SimpleNamespace, init=False, repr=False)
    _scoring_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _prompt_lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _prompt_embeddings: OrderedDict[str, Any] = field(default_factory=OrderedDict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError(f"{self.kind} needs a model: give a hub name or a folder, such as {self.kind}:./my-model")
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        if self.decoder not in DECODERS:
            raise InputError(f"unknown decoder {self.decoder!r}; known: {', '.join(DECODERS)}")
        if self.compile not in COMPILE_CHOICES:
            raise InputError(f"the option compile is {' or '.join(COMPILE_CHOICES)}; found {self.compile!r}")

    @property
    def name(self) -> str:
        return f"{self.kind}:{Path(self.source).name if Path(self.source).exists() else self.source}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "model": source_identity(self.source),
            **self._particulars(),
            "precision": self._device_and_precision()[1],
            "span": self.span,
            **({"decoder": self._decoder} if self._decoder != "pillow" else {}),
            **({"compile": self.compile} if self.compile != "no" else {}),
        }

    @abstractmethod
    def _particulars(self) -> Mapping[str, Any]:
        """Return further settings that change a score of this kind of model."""

    @property
    def threads(self) -> int:
        """Return how many threads should read pictures: few if the GPU decodes, since more only get in its way."""
        return _READERS if self._on_card() else 0

    def raw(self, picture: Picture) -> Any | None:
        """Return a file for the GPU to decode, or pixels from another process; None if `prepare` is needed."""
        if self._on_card() and (file := plain_jpeg(picture)) is not None:
            return file
        if self._processes is None:
            return None
        import torch

        return torch.from_numpy(self._processes.pixels(picture))

    @cached_property
    def _processes(self) -> DecodingProcesses | None:
        self._load()
        if self._recipe is None or self._torch_device.type != "cuda" or (os.cpu_count() or 1) < _CORES:
            return None
        return DecodingProcesses(self._recipe)

    @cached_property
    def _decoder(self) -> str:
        """Return the decoder, with `auto` resolved for this machine; like the precision it is part of the name."""
        if self.decoder != "auto":
            return self.decoder
        return "gpu" if self._device_and_precision()[0].startswith("cuda") and can_decode_on_gpu() else "pillow"

    def _on_card(self) -> bool:
        if self._decoder != "gpu":
            return False
        self._load()
        return self._recipe is not None

    def prepare(self, image: Image) -> Any:
        """Return the picture as the model's pixels."""
        self._load()
        if self._recipe is not None:
            import torch

            return torch.from_numpy(self._recipe.cut(image))
        return self._pixels(image)

    def collate(self, prepared_pictures: Sequence[Any]) -> Any:
        """Build a batch of pixels on the model's device, from prepared pictures and from files that the GPU decodes."""
        import torch

        self._load()
        device, dtype = self._torch_device, self._torch_dtype
        with torch.inference_mode(), self._stream():
            if self._recipe is None:
                batch = torch.stack(list(prepared_pictures)).to(device, dtype)
            else:
                batch = self._recipe.colours(self._pictures_on_device(prepared_pictures), dtype)
            self._wait_for_card()
        return batch

    def _pictures_on_device(self, prepared_pictures: Sequence[Any]) -> Any:
        """Return pictures at the model's size on its device, colours from 0 to 255."""
        import torch

        assert self._recipe is not None
        files = [picture for picture in prepared_pictures if picture.dim() == 1]  # bytes of a file, not pixels
        if not files:
            return torch.stack(list(prepared_pictures)).to(self._torch_device).permute(0, 3, 1, 2)
        try:
            decoded_pictures = decode_on_gpu(files, self._recipe, self._torch_device, self._torch_dtype)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            return torch.stack(self._decode_one_by_one(prepared_pictures))
        if len(files) == len(prepared_pictures):
            return decoded_pictures
        remaining_pictures = iter(decoded_pictures)
        return torch.stack(
            [
                next(remaining_pictures) if picture.dim() == 1 else self._move_to_device(picture)
                for picture in prepared_pictures
            ]
        )

    def _decode_one_by_one(self, prepared_pictures: Sequence[Any]) -> list[Any]:
        """Decode a batch with files that the GPU cannot decode: Pillow tries those and reports what is wrong."""
        pictures, reasons = [], {}
        for place, picture in enumerate(prepared_pictures):
            try:
                pictures.append(self._move_to_device(picture) if picture.dim() > 1 else self._decode_file(picture))
            except Unscorable as reason:
                reasons[place] = str(reason)
        if reasons:
            raise UnscorableAmong(reasons)
        return pictures

    def _decode_file(self, file: Any) -> Any:
        """Decode on the GPU, else with Pillow. The result is awaited: the GPU's decoder has its own queue and would
        write the next file where this one is still read.
        """
        import torch

        assert self._recipe is not None
        try:
            picture = decode_on_gpu([file], self._recipe, self._torch_device, self._torch_dtype)[0]
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            return self._move_to_device(self.prepare(decode_picture(Picture.from_bytes(file.numpy().tobytes()))))
        self._wait_for_card()
        return picture

    def _move_to_device(self, picture: Any) -> Any:
        return picture.permute(2, 0, 1).to(self._torch_device, colour_dtype(self._torch_dtype))

    def score(self, prompts: Sequence[str], prepared_pictures: Any) -> list[float]:
        """Score one batch from `collate`.
        On a GPU the next batch may be sent while this one is awaited, so that the GPU is never idle.
        """
        import torch

        self._load()
        batch = prepared_pictures if isinstance(prepared_pictures, torch.Tensor) else self.collate(prepared_pictures)
        with torch.inference_mode(), self._stream():
            words = self._encode_prompts(list(prompts))
            self._wait_for_card()
        with torch.inference_mode(), self._scoring_lock, self._stream(is_shared=True):
            on_cpu = self._scores(words, batch).float().flatten().to("cpu", non_blocking=True)
            finish_event = torch.cuda.current_stream(batch.device).record_event() if batch.is_cuda else None
        if finish_event is not None:
            finish_event.synchronize()
        scores: list[float] = on_cpu.tolist()
        return scores

    def _stream(self, *, is_shared: bool = False) -> Any:
        """Return the CUDA stream of this thread (a no-op on a CPU). Each thread decodes in its own stream, with
        priority; all scoring shares one.
        """
        device = self._torch_device
        if device.type != "cuda":
            return nullcontext()
        import torch

        stream_holder = self._shared_state if is_shared else self._local
        if not hasattr(stream_holder, "stream"):
            stream_holder.stream = torch.cuda.Stream(device, priority=0 if is_shared else -1)
        return torch.cuda.stream(stream_holder.stream)

    def _wait_for_card(self) -> None:
        """Wait for this thread's work on the GPU, before another stream uses it."""
        if self._torch_device.type == "cuda":
            import torch

            torch.cuda.current_stream(self._torch_device).synchronize()

    @abstractmethod
    def _pixels(self, image: Image) -> Any:
        """Prepare a picture with the model's own tools, if there is no recipe."""

    @abstractmethod
    def _encode_prompts(self, prompts: list[str]) -> Any:
        """Return what can be computed from the prompts before the pictures."""

    def _cached_embeddings(self, prompts: list[str], embed: Callable[[list[str]], Any]) -> Any:
        """Cache the latest embeddings in CPU memory: they do not depend on the pictures, and small kernels wait long on
        a busy GPU.
        """
        import torch

        with self._prompt_lock:
            missing = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._prompt_embeddings]
            if missing:
                self._prompt_embeddings.update(zip(missing, embed(missing).cpu(), strict=True))
            for prompt in prompts:
                self._prompt_embeddings.move_to_end(prompt)
            embeddings = torch.stack([self._prompt_embeddings[prompt] for prompt in prompts])
            while len(self._prompt_embeddings) > _MAX_PROMPTS:
                self._prompt_embeddings.popitem(last=False)
        return embeddings.to(self._torch_device)

    @abstractmethod
    def _scores(self, words: Any, pixels: Any) -> Any:
        """Return a tensor with one score per picture; `words` comes from `_encode_prompts`."""

    @abstractmethod
    def _open_model(self, device: str, dtype: Any) -> Any:
        """Load the model and its tools; set `_recipe` if the tools do only what a recipe describes."""

    def check_packages(self) -> None:
        """Raise `MissingExtra` if a package that this score model needs is not installed."""
        require_packages(f"the judge {self.name}", self.extra, *self.packages)

    def _load(self) -> None:
        with self._lock:
            if self._model is not None:
                return
            device, precision = self._device_and_precision()
            with require_extra(f"the judge {self.name}", "local"):
                import torch
            refuse_missing_gpu(device, self.name)
            self._torch_device, self._torch_dtype = torch.device(device), getattr(torch, precision)
            try:
                model = self._open_model(device, self._torch_dtype)
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                reason = str(error).strip().splitlines()[0]
                raise InputError(f"the model {self.source!r} cannot be loaded ({reason})") from error
            if self.decoder == "gpu" and (self._recipe is None or not can_decode_on_gpu()):
                raise InputError(
                    f"{self.name}: decoder=gpu needs a GPU, a torchvision that decodes on it, and a processor that "
                    "only resizes, crops and normalises; leave the option out"
                )
            if device.startswith("cuda") and precision == "float32":
                # Convolutions would round to ten bits otherwise: 0.04 of a small ImageReward's score, 1e-5 without.
                torch.backends.cudnn.allow_tf32 = False
            if device.startswith("cuda"):
                torch.set_num_threads(1)  # the CPU has little left to do, and threads would compete with decoding
            self._model = model.to(device).eval()
            if device.startswith("cuda"):
                fuse_activations(self._model)
            if self.compile == "yes":
                compile_vision(self._model, self.name)
            if device.startswith("cuda"):
                spare_collector()

    def _device_and_precision(self) -> tuple[str, str]:
        """Resolve `auto`: half precision on a GPU, single on a CPU. Both are part of the name, so that scores of two
        precisions never pass for one judge. Without torch nothing can be scored, and `auto` stays.
        """
        open_queues()
        device, precision = self.device, self.precision
        if "auto" in {device, precision} and find_spec("torch") is not None:
            import torch

            if device == "auto":
                device = "cuda" if torch.cuda.is_available() else "cpu"
            if precision == "auto":
                precision = "float16" if device.startswith("cuda") else "float32"
        return device, precision


def open_queues() -> None:
    """Request more CUDA queues; effective only before the process first uses the GPU."""
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", _QUEUES)


def source_identity(source: str) -> str:
    """Return the digest of a file or folder, or the name itself."""
    return digest(weights_fingerprint(Path(source))) if source and Path(source).exists() else source


def unit_vectors(features: Any) -> Any:
    """Return embeddings of length one, from a tensor or a model's output object."""
    vectors = getattr(features, "pooler_output", features)
    return vectors / vectors.norm(dim=-1, keepdim=True)
