"""Score models on torch: pictures prepared in threads, batches put together while others are scored, one device.

Torch is loaded when the first picture is prepared. On a GPU models run in half precision. Everything that changes a
score is in the settings: the model, the sizes and ends of its weight files, the precision.
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
from typing import TYPE_CHECKING, Any

from fullbench.core.digests import digest
from fullbench.core.picture import Picture
from fullbench.errors import InputError, MissingExtra, Unscorable
from fullbench.judges.scorers.batch_preprocessing import Recipe, available, fine, pixels, plain_jpeg
from fullbench.judges.scorers.decoded_pictures import UnscorableAmong, decode
from fullbench.judges.scorers.decoding_processes import DecodingProcesses
from fullbench.judges.scorers.fast_clip import compile_vision, fuse, spare_collector
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.models.local.weights_digest import fingerprint

if TYPE_CHECKING:
    from PIL.Image import Image

PRECISIONS = ("auto", "float32", "float16", "bfloat16")
DECODERS = ("auto", "pillow", "gpu")
COMPILED = ("no", "yes")
_READERS = 2
_CORES = 4
"""From so many on, pictures for a card are decoded in processes: with fewer, starting them saves nothing."""
_KEPT = 10_000
_QUEUES = "32"
"""How many queues the card gets. Work of streams that share one waits for each other: with the usual eight, decoding a
batch waited for two batches that were scored (104 ms in place of 12 on an H200)."""


@dataclass(eq=False)
class TorchScorer(ABC):
    """A model on torch.

    `source` is a name or a folder. `device` is `cpu`, `cuda`, ... or `auto`; `precision` is `auto` (half on a GPU) or
    a type's name. `decoder` is `pillow`, `gpu` to decode JPEGs on the card, or `auto`: the card where there is one that
    can and a model whose pictures it can prepare. What the card should not decode goes through Pillow all the same.
    `compile` is `yes` where the part that sees is to be compiled, which takes a minute or so and is then faster.
    """

    source: str
    kind: str
    device: str = "auto"
    precision: str = "auto"
    span: Span | None = None
    decoder: str = "auto"
    compile: str = "no"
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _model: Any = field(default=None, init=False, repr=False)
    _place: Any = field(default=None, init=False, repr=False)
    _type: Any = field(default=None, init=False, repr=False)
    _recipe: Recipe | None = field(default=None, init=False, repr=False)
    _local: threading.local = field(default_factory=threading.local, init=False, repr=False)
    _shared: SimpleNamespace = field(default_factory=SimpleNamespace, init=False, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _reading: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _prompts: OrderedDict[str, Any] = field(default_factory=OrderedDict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError(f"{self.kind} needs a model: give a hub name or a folder, such as {self.kind}:./my-model")
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        if self.decoder not in DECODERS:
            raise InputError(f"unknown decoder {self.decoder!r}; known: {', '.join(DECODERS)}")
        if self.compile not in COMPILED:
            raise InputError(f"the option compile is {' or '.join(COMPILED)}; found {self.compile!r}")

    @property
    def name(self) -> str:
        return f"{self.kind}:{Path(self.source).name if Path(self.source).exists() else self.source}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "model": identity(self.source),
            **self._particulars(),
            "precision": self._where()[1],
            "span": self.span,
            **({"decoder": self._decoder} if self._decoder != "pillow" else {}),
            **({"compile": self.compile} if self.compile != "no" else {}),
        }

    @abstractmethod
    def _particulars(self) -> Mapping[str, Any]:
        """What else changes a score of this kind of model."""

    @property
    def threads(self) -> int:
        """How many threads should read pictures: few where the GPU decodes, for they only stand in its way."""
        return _READERS if self._on_card() else 0

    def raw(self, picture: Picture) -> Any | None:
        """The file of a picture that is decoded on the GPU, or pixels from another process; None for one that goes
        through `prepare`."""
        if self._on_card() and (file := plain_jpeg(picture)) is not None:
            return file
        if self._processes is None:
            return None
        import torch

        return torch.from_numpy(self._processes.pixels(picture))

    @cached_property
    def _processes(self) -> DecodingProcesses | None:
        """Where Pillow decodes for a card; None where this process does."""
        self._load()
        if self._recipe is None or self._place.type != "cuda" or (os.cpu_count() or 1) < _CORES:
            return None
        return DecodingProcesses(self._recipe)

    @cached_property
    def _decoder(self) -> str:
        """Which decoder, `auto` settled by this machine; like the precision it is part of the name."""
        if self.decoder != "auto":
            return self.decoder
        return "gpu" if self._where()[0].startswith("cuda") and available() else "pillow"

    def _on_card(self) -> bool:
        if self._decoder != "gpu":
            return False
        self._load()
        return self._recipe is not None

    def prepare(self, image: Image) -> Any:
        """The picture as the model's pixels."""
        self._load()
        if self._recipe is not None:
            import torch

            return torch.from_numpy(self._recipe.cut(image))
        return self._pixels(image)

    def collate(self, prepared: Sequence[Any]) -> Any:
        """A batch of pixels on the model's device, from what `prepare` made and from files that the GPU decodes."""
        import torch

        self._load()
        device, dtype = self._place, self._type
        with torch.inference_mode(), self._stream():
            if self._recipe is None:
                batch = torch.stack(list(prepared)).to(device, dtype)
            else:
                batch = self._recipe.colours(self._seen(prepared), dtype)
            self._settle()
        return batch

    def _seen(self, prepared: Sequence[Any]) -> Any:
        """Pictures at the model's size on its device, colours as bytes or numbers of that range."""
        import torch

        assert self._recipe is not None
        files = [picture for picture in prepared if picture.dim() == 1]
        if not files:
            return torch.stack(list(prepared)).to(self._place).permute(0, 3, 1, 2)
        try:
            decoded = pixels(files, self._recipe, self._place, self._type)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            return torch.stack(self._one_by_one(prepared))
        if len(files) == len(prepared):
            return decoded
        rest = iter(decoded)
        return torch.stack([next(rest) if picture.dim() == 1 else self._moved(picture) for picture in prepared])

    def _one_by_one(self, prepared: Sequence[Any]) -> list[Any]:
        """A batch in which the card does not decode some file: Pillow tries those, and says what is wrong with them."""
        seen, reasons = [], {}
        for place, picture in enumerate(prepared):
            try:
                seen.append(self._moved(picture) if picture.dim() > 1 else self._decoded(picture))
            except Unscorable as reason:
                reasons[place] = str(reason)
        if reasons:
            raise UnscorableAmong(reasons)
        return seen

    def _decoded(self, file: Any) -> Any:
        """One file by the card, else by Pillow. It is waited for: the card's decoder has a queue of its own, and would
        write the next file where this one is still being read from."""
        import torch

        assert self._recipe is not None
        try:
            seen = pixels([file], self._recipe, self._place, self._type)[0]
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            return self._moved(self.prepare(decode(Picture.of(file.numpy().tobytes()))))
        self._settle()
        return seen

    def _moved(self, picture: Any) -> Any:
        """A picture of Pillow's where and as those that the card decodes are."""
        return picture.permute(2, 0, 1).to(self._place, fine(self._type))

    def score(self, prompts: Sequence[str], prepared: Any) -> list[float]:
        """Scores of one batch, as `collate` put it together.

        On a GPU the next batch may be sent while this one is waited for, so that the card never stands idle.
        """
        import torch

        self._load()
        batch = prepared if isinstance(prepared, torch.Tensor) else self.collate(prepared)
        with torch.inference_mode(), self._stream():
            words = self._read(list(prompts))
            self._settle()
        with torch.inference_mode(), self._turn, self._stream(shared=True):
            on_cpu = self._scores(words, batch).float().flatten().to("cpu", non_blocking=True)
            done = torch.cuda.current_stream(batch.device).record_event() if batch.is_cuda else None
        if done is not None:
            done.synchronize()
        scores: list[float] = on_cpu.tolist()
        return scores

    def _stream(self, *, shared: bool = False) -> Any:
        """Where this thread's work on the card queues up: decoding in the thread's own, before others; scoring in one.

        On a CPU there is nothing to queue.
        """
        device = self._place
        if device.type != "cuda":
            return nullcontext()
        import torch

        place = self._shared if shared else self._local
        if not hasattr(place, "stream"):
            place.stream = torch.cuda.Stream(device, priority=0 if shared else -1)
        return torch.cuda.stream(place.stream)

    def _settle(self) -> None:
        """Wait for what this thread has sent to the card, before another queue goes on with it."""
        if self._place.type == "cuda":
            import torch

            torch.cuda.current_stream(self._place).synchronize()

    @abstractmethod
    def _pixels(self, image: Image) -> Any:
        """A picture as the model's own tools prepare it, where there is no recipe."""

    @abstractmethod
    def _read(self, prompts: list[str]) -> Any:
        """What can be made of the prompts before the pictures come."""

    def _known(self, prompts: list[str], meaning: Callable[[list[str]], Any]) -> Any:
        """Embeddings of prompts, computed once for each of the latest; kept beside the card, not on it.

        A prompt has one embedding, whichever pictures it comes with. On a busy card small kernels wait long, so those
        for a prompt that was read before are worth saving.
        """
        import torch

        with self._reading:
            missing = [prompt for prompt in dict.fromkeys(prompts) if prompt not in self._prompts]
            if missing:
                self._prompts.update(zip(missing, meaning(missing).cpu(), strict=True))
            for prompt in prompts:
                self._prompts.move_to_end(prompt)
            embeddings = torch.stack([self._prompts[prompt] for prompt in prompts])
            while len(self._prompts) > _KEPT:
                self._prompts.popitem(last=False)
        return embeddings.to(self._place)

    @abstractmethod
    def _scores(self, words: Any, pixels: Any) -> Any:
        """A tensor with one score for each prompt, as `_read` gave them, and picture."""

    @abstractmethod
    def _open(self, device: str, dtype: Any) -> Any:
        """Load the model and its tools; set `_recipe` where the tools do nothing but what a recipe says."""

    def _load(self) -> None:
        with self._lock:
            if self._model is not None:
                return
            device, precision = self._where()
            try:
                import torch
            except ImportError as error:
                raise MissingExtra(f"the judge {self.name}", "local") from error
            self._place, self._type = torch.device(device), getattr(torch, precision)
            try:
                model = self._open(device, self._type)
            except (OSError, ValueError, KeyError, RuntimeError) as error:
                reason = str(error).strip().splitlines()[0]
                raise InputError(f"the model {self.source!r} cannot be loaded ({reason})") from error
            if self.decoder == "gpu" and (self._recipe is None or not available()):
                raise InputError(
                    f"{self.name}: decoder=gpu needs a GPU, a torchvision that decodes on it, and a processor that "
                    "only resizes, crops and normalises; leave the option out"
                )
            if device.startswith("cuda"):
                torch.set_num_threads(1)  # what is left to the CPU is small, and more threads would only fight decoding
            self._model = model.to(device).eval()
            if device.startswith("cuda"):
                fuse(self._model)
            if self.compile == "yes":
                compile_vision(self._model, self.name)
            if device.startswith("cuda"):
                spare_collector()

    def _where(self) -> tuple[str, str]:
        """Device and precision, `auto` settled by this machine: half precision on a GPU, single on a CPU.

        What is settled is part of the name, so that scores of two precisions never pass for one judge's. Without torch
        nothing can be scored, and `auto` stands.
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
    """Ask for as many queues as the card has; heeded if it comes before the process first uses the card."""
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", _QUEUES)


def identity(source: str) -> str:
    """What a name stands for: the digest of a file or folder, or the name itself."""
    return digest(fingerprint(Path(source))) if source and Path(source).exists() else source


def unit(features: Any) -> Any:
    """Embeddings of length one, from whatever shape the model gives them in."""
    vectors = getattr(features, "pooler_output", features)
    return vectors / vectors.norm(dim=-1, keepdim=True)
