"""Score models through transformers, from a hub name or a local folder: CLIP and its like, BLIP ITM, heads on top.

Torch is loaded when the first picture is prepared. On a GPU models run in half precision. Everything that changes a
score is in the settings: the model, its revision, the sizes of its weight files, the precision.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fullbench.core.errors import InputError, MissingExtra
from fullbench.core.items import digest
from fullbench.core.pictures import Picture
from fullbench.judges.scorers.recipe import Recipe, available, pixels, plain_jpeg
from fullbench.judges.scorers.scorer import Span

if TYPE_CHECKING:
    from PIL.Image import Image

PRECISIONS = ("auto", "float32", "float16", "bfloat16")
DECODERS = ("pillow", "gpu")
_READERS = 3
_WEIGHTS = {".safetensors", ".bin", ".pt", ".pth"}


@dataclass(eq=False)
class HubScorer(ABC):
    """A model of transformers with its processor.

    `source` is a hub name or a folder, `processor` another one where the tokenizer lies elsewhere, `head` a file with
    the layers on top. `device` is `cpu`, `cuda`, ... or `auto`; `precision` is `auto` (half on a GPU) or a type's name.
    `decoder` is `pillow`, or `gpu` to decode JPEGs on the card; what the card should not decode goes through Pillow
    all the same.
    """

    source: str
    kind: str = "clip"
    processor: str = ""
    head: str = ""
    revision: str = ""
    device: str = "auto"
    precision: str = "auto"
    span: Span | None = None
    decoder: str = "pillow"
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _model: Any = field(default=None, init=False, repr=False)
    _tools: Any = field(default=None, init=False, repr=False)
    _layers: list[Any] = field(default_factory=list, init=False, repr=False)
    _recipe: Recipe | None = field(default=None, init=False, repr=False)
    _local: threading.local = field(default_factory=threading.local, init=False, repr=False)
    _shared: SimpleNamespace = field(default_factory=SimpleNamespace, init=False, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.source:
            raise InputError(f"{self.kind} needs a model: give a hub name or a folder, such as {self.kind}:./my-model")
        if self.precision not in PRECISIONS:
            raise InputError(f"unknown precision {self.precision!r}; known: {', '.join(PRECISIONS)}")
        if self.decoder not in DECODERS:
            raise InputError(f"unknown decoder {self.decoder!r}; known: {', '.join(DECODERS)}")
        if self.head and not Path(self.head).is_file():
            raise InputError("there is no such file; the head is a .safetensors or .pth file", path=self.head)

    @property
    def name(self) -> str:
        return f"{self.kind}:{Path(self.source).name if Path(self.source).is_dir() else self.source}"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "model": digest(_fingerprint(Path(self.source))) if Path(self.source).is_dir() else self.source,
            "revision": self.revision,
            "head": digest(_fingerprint(Path(self.head))) if self.head else "",
            "precision": self._where()[1],
            "span": self.span,
            **({"decoder": self.decoder} if self.decoder != "pillow" else {}),
        }

    @property
    def threads(self) -> int:
        """How many threads should read pictures: few where the GPU decodes, for they only stand in its way."""
        return _READERS if self.decoder == "gpu" else 0

    def raw(self, picture: Picture) -> Any | None:
        """The file of a picture that is decoded on the GPU; None for one that goes through `prepare`."""
        if self.decoder != "gpu":
            return None
        return plain_jpeg(picture)

    def prepare(self, image: Image) -> Any:
        """The picture as the model's pixels."""
        self._load()
        if self._recipe is not None:
            import torch

            return torch.from_numpy(self._recipe.cut(image))
        return self._tools.image_processor(images=image, return_tensors="pt")["pixel_values"][0]

    def collate(self, prepared: Sequence[Any]) -> Any:
        """A batch of pixels on the model's device, from what `prepare` made and from files that the GPU decodes."""
        import torch

        self._load()
        device, dtype = self._model.device, self._model.dtype
        with torch.inference_mode(), self._stream():
            if self._recipe is None:
                batch = torch.stack(list(prepared)).to(device, dtype)
            else:
                files = [one for one in prepared if one.dim() == 1]
                decoded = iter(pixels(files, self._recipe, device, dtype) if files else ())
                seen = [next(decoded) if one.dim() == 1 else one for one in prepared]
                if not files or len(files) == len(seen):
                    batch = torch.stack(seen).to(device)
                else:
                    batch = torch.stack([one.to(device, dtype) for one in seen])
                batch = self._recipe.colours(batch, dtype)
            self._settle()
        return batch

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
            found = self._scores(words, batch).float().flatten().to("cpu", non_blocking=True)
            done = torch.cuda.current_stream(batch.device).record_event() if batch.is_cuda else None
        if done is not None:
            done.synchronize()
        scores: list[float] = found.tolist()
        return scores

    def _stream(self, *, shared: bool = False) -> Any:
        """Where this thread's work on the card queues up: decoding in the thread's own, before others; scoring in one.

        On a CPU there is nothing to queue.
        """
        device = self._model.device
        if device.type != "cuda":
            return nullcontext()
        import torch

        place = self._shared if shared else self._local
        if not hasattr(place, "stream"):
            place.stream = torch.cuda.Stream(device, priority=0 if shared else -1)
        return torch.cuda.stream(place.stream)

    def _settle(self) -> None:
        """Wait for what this thread has sent to the card, before another queue goes on with it."""
        if self._model.device.type == "cuda":
            import torch

            torch.cuda.current_stream(self._model.device).synchronize()

    def _read(self, prompts: list[str]) -> Any:
        """What can be made of the prompts before the pictures come: their tokens, unless a kind knows more."""
        return self._words(prompts, padding=True)

    @abstractmethod
    def _scores(self, words: Any, pixels: Any) -> Any:
        """A tensor with one score for each prompt, as `_read` gave them, and picture."""

    @abstractmethod
    def _class(self) -> Any:
        """The class of transformers that the model is loaded with."""

    def _load(self) -> None:
        with self._lock:
            if self._model is not None:
                return
            try:
                import torch
                from transformers import AutoProcessor
            except ImportError as error:
                raise MissingExtra(f"the judge {self.name}", "local") from error
            device, precision = self._where()
            dtype = getattr(torch, precision)
            where = {"revision": self.revision} if self.revision else {}
            try:
                self._tools = AutoProcessor.from_pretrained(self.processor or self.source, backend="pil")
                model = self._class().from_pretrained(self.source, dtype=dtype, **where)
                if self.head:
                    self._layers = [(w.to(device, dtype), b.to(device, dtype)) for w, b in _linear(Path(self.head))]
            except (OSError, ValueError, KeyError) as error:
                reason = str(error).strip().splitlines()[0]
                raise InputError(f"the model {self.source!r} cannot be loaded ({reason})") from error
            self._recipe = Recipe.of(self._tools.image_processor)
            if self.decoder == "gpu" and (self._recipe is None or not available()):
                raise InputError(
                    f"{self.name}: decoder=gpu needs a GPU, a torchvision that decodes on it, and a processor that "
                    "only resizes, crops and normalises; leave the option out"
                )
            if device.startswith("cuda"):
                torch.set_num_threads(1)  # what is left to the CPU is small, and more threads would only fight decoding
            self._model = model.to(device).eval()

    def _where(self) -> tuple[str, str]:
        """Device and precision, `auto` settled by this machine: half precision on a GPU, single on a CPU.

        What is settled is part of the name, so that scores of two precisions never pass for one judge's. Without torch
        nothing can be scored, and `auto` stands.
        """
        device, precision = self.device, self.precision
        if "auto" in {device, precision} and find_spec("torch") is not None:
            import torch

            if device == "auto":
                device = "cuda" if torch.cuda.is_available() else "cpu"
            if precision == "auto":
                precision = "float16" if device.startswith("cuda") else "float32"
        return device, precision

    def _words(self, prompts: list[str], **how: Any) -> Any:
        """Prompts as tokens on the model's device, cut to what it takes."""
        tokens = self._tools.tokenizer(prompts, return_tensors="pt", truncation=True, **how)
        return tokens.to(self._model.device)

    def _embed(self, pixels: Any) -> Any:
        """The embeddings of pictures, of length one, by a model that has a side for pictures alone."""
        return _unit(self._model.get_image_features(pixel_values=pixels))

    def _through_head(self, features: Any) -> Any:
        for weight, bias in self._layers:
            features = features @ weight.T + bias
        return features


class ContrastScorer(HubScorer):
    """CLIP, SigLIP, PickScore and HPSv2: the cosine between the prompt's and the picture's embedding."""

    def _class(self) -> Any:
        from transformers import AutoModel

        return AutoModel

    def _read(self, prompts: list[str]) -> Any:
        places = {prompt: place for place, prompt in enumerate(dict.fromkeys(prompts))}
        siglip = self._model.config.model_type.startswith("siglip")
        words = self._words(list(places), padding="max_length" if siglip else True)
        return _unit(self._model.get_text_features(**words))[[places[prompt] for prompt in prompts]]

    def _scores(self, words: Any, pixels: Any) -> Any:
        return (self._embed(pixels) * words).sum(-1)


class MatchScorer(HubScorer):
    """BLIP and BLIP-2 with the matching head: the probability that picture and prompt belong together."""

    def _class(self) -> Any:
        from transformers import AutoConfig, Blip2ForImageTextRetrieval, BlipForImageTextRetrieval

        second = AutoConfig.from_pretrained(self.source).model_type == "blip-2"
        return Blip2ForImageTextRetrieval if second else BlipForImageTextRetrieval

    def _read(self, prompts: list[str]) -> Any:
        if self._model.config.model_type == "blip-2":
            asked = self._tools(text=prompts, padding=True, truncation=True, return_tensors="pt")
            return {name: asked[name].to(self._model.device) for name in ("input_ids", "attention_mask")}
        words = self._words(prompts, padding=True)
        words.pop("token_type_ids", None)
        return words

    def _scores(self, words: Any, pixels: Any) -> Any:
        if self._model.config.model_type == "blip-2":
            found = self._model(pixel_values=pixels, use_image_text_matching_head=True, **words).logits_per_image
        else:
            found = self._model(pixel_values=pixels, use_itm_head=True, **words).itm_score
        return found.float().softmax(-1)[:, 1]


class RewardScorer(HubScorer):
    """ImageReward: a BLIP encoder that reads the prompt while it looks, and a head; centred as its authors do."""

    mean, deviation = 0.16717362830052426, 1.0333394966054072

    def _class(self) -> Any:
        from transformers import BlipForImageTextRetrieval

        return BlipForImageTextRetrieval

    def _scores(self, words: Any, pixels: Any) -> Any:
        import torch

        seen = self._model.vision_model(pixel_values=pixels)[0]
        everything = torch.ones(seen.shape[:-1], dtype=torch.long, device=seen.device)
        read = self._model.text_encoder(
            input_ids=words["input_ids"],
            attention_mask=words["attention_mask"],
            encoder_hidden_states=seen,
            encoder_attention_mask=everything,
        )[0]
        return (self._through_head(read[:, 0]) - self.mean) / self.deviation


class AestheticScorer(HubScorer):
    """A head on CLIP's embedding of the picture; the prompt does not count."""

    def _class(self) -> Any:
        from transformers import AutoModel

        return AutoModel

    def _read(self, prompts: list[str]) -> None:
        return None

    def _scores(self, words: Any, pixels: Any) -> Any:
        return self._through_head(self._embed(pixels))


@dataclass(frozen=True)
class Kind:
    """A kind of score model: its class, the model it is unless another is named, the range of its scores."""

    make: Callable[..., HubScorer]
    source: str = ""
    span: Span | None = None
    needs_head: bool = False
    processor: str = ""


KINDS: Mapping[str, Kind] = {
    "clip": Kind(ContrastScorer, "openai/clip-vit-large-patch14", (-1.0, 1.0)),
    "siglip": Kind(ContrastScorer, "google/siglip-so400m-patch14-384", (-1.0, 1.0)),
    "pickscore": Kind(
        ContrastScorer, "yuvalkirstain/PickScore_v1", (-1.0, 1.0), processor="laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
    ),
    "hpsv2": Kind(ContrastScorer, "", (-1.0, 1.0)),
    "blip-itm": Kind(MatchScorer, "Salesforce/blip2-itm-vit-g", (0.0, 1.0)),
    "imagereward": Kind(RewardScorer, needs_head=True),
    "aesthetics": Kind(AestheticScorer, "openai/clip-vit-large-patch14", needs_head=True),
}


def _unit(features: Any) -> Any:
    """Embeddings of length one, from whatever shape the model gives them in."""
    vectors = getattr(features, "pooler_output", features)
    return vectors / vectors.norm(dim=-1, keepdim=True)


def _linear(path: Path) -> list[tuple[Any, Any]]:
    """The linear layers of a head, in order: weights and biases of a file such as the authors release."""
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        tensors: Mapping[str, Any] = load_file(path)
    else:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    layers = []
    for name in sorted((name for name in tensors if name.endswith(".weight")), key=_place):
        layers.append((tensors[name], tensors[name.removesuffix("weight") + "bias"]))
    if not layers or layers[-1][0].shape[0] != 1:
        raise InputError("the head must hold linear layers that end in one number", path=path)
    return layers


def _place(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in name.split(".") if part.isdigit())


def _fingerprint(path: Path) -> list[Any]:
    """What tells one set of weights from another without reading gigabytes: names, sizes, both ends of each file."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    found: list[Any] = []
    for file in files:
        size = file.stat().st_size
        with file.open("rb") as data:
            ends = data.read(65536)
            if file.suffix in _WEIGHTS and size > 2 * 65536:
                data.seek(-65536, 2)
                ends += data.read()
        found.append([file.name, size, ends.hex()])
    return found
