"""Score models through transformers, from a hub name or a local folder: CLIP and its like, BLIP ITM, heads on top."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, MissingExtra
from fullbench.judges.scorers import imagereward
from fullbench.judges.scorers.batch_preprocessing import Recipe
from fullbench.judges.scorers.imagereward import load
from fullbench.judges.scorers.safe_weights import HUB, Layers, fetched, linear, tensors
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.judges.scorers.torch_runner import TorchScorer, identity, unit

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(eq=False)
class HubScorer(TorchScorer):
    """A model of transformers with its processor.

    `processor` is another name or folder where the tokenizer lies elsewhere, `head` a file with the layers on top.
    """

    kind: str = "clip"
    processor: str = ""
    head: str = ""
    revision: str = ""
    _tools: Any = field(default=None, init=False, repr=False)
    _layers: list[Any] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head and not self.head.startswith(HUB) and not Path(self.head).is_file():
            raise InputError("there is no such file; the head is a .safetensors or .pth file", path=self.head)

    def _particulars(self) -> Mapping[str, Any]:
        own = {"processor": identity(self.processor)} if self.processor else {}
        return {"revision": self.revision, "head": identity(self.head), **own}

    def _pixels(self, image: Image) -> Any:
        return self._tools.image_processor(images=image, return_tensors="pt")["pixel_values"][0]

    @abstractmethod
    def _class(self) -> Any:
        """The class of transformers that the model is loaded with."""

    def _open(self, device: str, dtype: Any) -> Any:
        self._transformers()
        from transformers import AutoProcessor

        where = {"revision": self.revision} if self.revision else {}
        self._tools = AutoProcessor.from_pretrained(self.processor or self.source, backend="pil")
        self._recipe = Recipe.of(self._tools.image_processor)
        if self.head:
            path = Path(fetched(self.head) if self.head.startswith(HUB) else self.head)
            self._take(linear(tensors(path), path), device)
        return self._class().from_pretrained(self.source, dtype=dtype, **where)

    def _transformers(self) -> None:
        if find_spec("transformers") is None:
            raise MissingExtra(f"the judge {self.name}", "local")

    def _take(self, layers: Layers, device: str) -> None:
        """The head, in single precision whatever the model runs in, as authors of heads have it."""
        self._layers = [(weight.float().to(device), bias.float().to(device)) for weight, bias in layers]

    def _read(self, prompts: list[str]) -> Any:
        return self._words(prompts, padding=True)

    def _words(self, prompts: list[str], **how: Any) -> Any:
        """Prompts as tokens on the model's device, cut to what it takes."""
        tokens = self._tools.tokenizer(prompts, return_tensors="pt", truncation=True, **how)
        return tokens.to(self._place)

    def _embed(self, pixels: Any) -> Any:
        """The embeddings of pictures, of length one, by a model that has a side for pictures alone."""
        return unit(self._model.get_image_features(pixel_values=pixels))

    def _through_head(self, features: Any) -> Any:
        features = features.float()
        takes, width = self._layers[0][0].shape[1], features.shape[-1]
        if takes != width:
            raise InputError(
                f"{self.name}: the head takes {takes} numbers and the model gives {width}; they do not fit"
            )
        for weight, bias in self._layers:
            features = features @ weight.T + bias
        return features


class ContrastScorer(HubScorer):
    """CLIP, SigLIP, PickScore and HPSv2: the cosine between the prompt's and the picture's embedding."""

    def _class(self) -> Any:
        from transformers import AutoModel

        return AutoModel

    def _read(self, prompts: list[str]) -> Any:
        return self._known(prompts, self._meaning)

    def _meaning(self, prompts: list[str]) -> Any:
        siglip = self._model.config.model_type.startswith("siglip")
        words = self._words(prompts, padding="max_length" if siglip else True)
        return unit(self._model.get_text_features(**words))

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
            return {name: asked[name].to(self._place) for name in ("input_ids", "attention_mask")}
        words = self._words(prompts, padding=True)
        words.pop("token_type_ids", None)
        return words

    def _scores(self, words: Any, pixels: Any) -> Any:
        if self._model.config.model_type == "blip-2":
            logits = self._model(pixel_values=pixels, use_image_text_matching_head=True, **words).logits_per_image
        else:
            logits = self._model(pixel_values=pixels, use_itm_head=True, **words).itm_score
        return logits.float().softmax(-1)[:, 1]


class RewardScorer(HubScorer):
    """ImageReward: a BLIP encoder that reads the prompt while it looks, and a head; centred as its authors do.

    `source` is the checkpoint that they release, a folder or a repository that holds it; with a `head` of its own, a
    BLIP in the layout of transformers.
    """

    mean, deviation = 0.16717362830052426, 1.0333394966054072
    tokens = 35

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.head:
            imagereward.find(self.source)
        elif Path(self.source).is_file():
            raise InputError("a checkpoint brings its own head; leave the option head out", path=self.source)

    def _particulars(self) -> Mapping[str, Any]:
        if self.head:
            return super()._particulars()
        files = imagereward.find(self.source, self.processor)
        tokenizer = files.tokenizer if files else self.processor or imagereward.TOKENIZER
        config = files.config if files else None
        return {
            "revision": self.revision,
            "config": identity(str(config)) if config else "",
            "processor": identity(tokenizer),
        }

    def _class(self) -> Any:
        from transformers import BlipForImageTextRetrieval

        return BlipForImageTextRetrieval

    def _open(self, device: str, dtype: Any) -> Any:
        if self.head:
            return super()._open(device, dtype)
        self._transformers()
        files = imagereward.fetch(self.source, self.processor, self.revision)
        loaded = load(files.checkpoint, files.config, dtype)
        self._tools = SimpleNamespace(tokenizer=files.words(loaded.tokens))
        self._recipe = loaded.recipe
        self._take(loaded.layers, device)
        return loaded.encoders

    def _read(self, prompts: list[str]) -> Any:
        longest = self._model.text_encoder.config.max_position_embeddings
        return self._words(prompts, padding="max_length", max_length=min(self.tokens, longest))

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
    head: str = ""
    """Where the head lies that belongs to `source`."""


KINDS: Mapping[str, Kind] = {
    "clip": Kind(ContrastScorer, "openai/clip-vit-large-patch14", (-1.0, 1.0)),
    "siglip": Kind(ContrastScorer, "google/siglip-so400m-patch14-384", (-1.0, 1.0)),
    "pickscore": Kind(
        ContrastScorer, "yuvalkirstain/PickScore_v1", (-1.0, 1.0), processor="laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
    ),
    "hpsv2": Kind(ContrastScorer, "", (-1.0, 1.0)),
    "blip-itm": Kind(MatchScorer, "Salesforce/blip2-itm-vit-g", (0.0, 1.0)),
    "imagereward": Kind(RewardScorer, "zai-org/ImageReward"),
    "aesthetics": Kind(
        AestheticScorer,
        "openai/clip-vit-large-patch14",
        needs_head=True,
        head=f"{HUB}trl-lib/ddpo-aesthetic-predictor/aesthetic-model.pth",
    ),
}
