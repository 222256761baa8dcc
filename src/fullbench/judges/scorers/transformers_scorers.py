"""Score models through transformers, from a hub name or a local folder: CLIP and similar, BLIP ITM, heads on top."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, require_packages
from fullbench.judges.scorers import imagereward
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import Recipe
from fullbench.judges.scorers.imagereward import load_checkpoint
from fullbench.judges.scorers.safe_weights import HUB, Layers, fetch_weights, linear_layers, load_tensors
from fullbench.judges.scorers.scorer_judge import Span
from fullbench.judges.scorers.torch_scorer_base import TorchScorer, source_identity, unit_vectors

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(eq=False)
class HubScorer(TorchScorer):
    """A model of transformers with its processor.
    `processor` is another name or folder if the tokenizer is elsewhere, `head` a file with the layers on top.
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
        processor_setting = {"processor": source_identity(self.processor)} if self.processor else {}
        return {"revision": self.revision, "head": source_identity(self.head), **processor_setting}

    def _pixels(self, image: Image) -> Any:
        return self._tools.image_processor(images=image, return_tensors="pt")["pixel_values"][0]

    @abstractmethod
    def _model_class(self) -> Any:
        """Return the transformers class that loads the model."""

    def _open_model(self, device: str, dtype: Any) -> Any:
        self._transformers()
        from transformers import AutoProcessor

        where = {"revision": self.revision} if self.revision else {}
        self._tools = AutoProcessor.from_pretrained(self.processor or self.source, backend="pil")
        self._recipe = Recipe.from_processor(self._tools.image_processor)
        if self.head:
            path = Path(fetch_weights(self.head) if self.head.startswith(HUB) else self.head)
            self._set_head(linear_layers(load_tensors(path), path), device)
        return self._model_class().from_pretrained(self.source, dtype=dtype, **where)

    def _transformers(self) -> None:
        require_packages(f"the judge {self.name}", "local", "transformers")

    def _set_head(self, layers: Layers, device: str) -> None:
        """Set the head, in single precision whatever the model's, as the authors of heads do."""
        self._layers = [(weight.float().to(device), bias.float().to(device)) for weight, bias in layers]

    def _encode_prompts(self, prompts: list[str]) -> Any:
        return self._tokenize_prompts(prompts, padding=True)

    def _tokenize_prompts(self, prompts: list[str], **how: Any) -> Any:
        tokens = self._tools.tokenizer(prompts, return_tensors="pt", truncation=True, **how)
        return tokens.to(self._torch_device)

    def _embed(self, pixels: Any) -> Any:
        """Return unit embeddings of pictures, for models with a separate picture encoder."""
        return unit_vectors(self._model.get_image_features(pixel_values=pixels))

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

    def _model_class(self) -> Any:
        from transformers import AutoModel

        return AutoModel

    def _encode_prompts(self, prompts: list[str]) -> Any:
        return self._cached_embeddings(prompts, self._embed_prompts)

    def _embed_prompts(self, prompts: list[str]) -> Any:
        # SigLIP was trained on prompts padded to the full length.
        siglip = self._model.config.model_type.startswith("siglip")
        words = self._tokenize_prompts(prompts, padding="max_length" if siglip else True)
        return unit_vectors(self._model.get_text_features(**words))

    def _scores(self, words: Any, pixels: Any) -> Any:
        return (self._embed(pixels) * words).sum(-1)


class MatchScorer(HubScorer):
    """BLIP and BLIP-2 with the matching head: the probability that picture and prompt belong together."""

    def _model_class(self) -> Any:
        from transformers import AutoConfig, Blip2ForImageTextRetrieval, BlipForImageTextRetrieval

        second = AutoConfig.from_pretrained(self.source).model_type == "blip-2"
        return Blip2ForImageTextRetrieval if second else BlipForImageTextRetrieval

    def _encode_prompts(self, prompts: list[str]) -> Any:
        if self._model.config.model_type == "blip-2":
            tokens = self._tools(text=prompts, padding=True, truncation=True, return_tensors="pt")
            return {name: tokens[name].to(self._torch_device) for name in ("input_ids", "attention_mask")}
        words = self._tokenize_prompts(prompts, padding=True)
        words.pop("token_type_ids", None)
        return words

    def _scores(self, words: Any, pixels: Any) -> Any:
        if self._model.config.model_type == "blip-2":
            logits = self._model(pixel_values=pixels, use_image_text_matching_head=True, **words).logits_per_image
        else:
            logits = self._model(pixel_values=pixels, use_itm_head=True, **words).itm_score
        return logits.float().softmax(-1)[:, 1]


class RewardScorer(HubScorer):
    """ImageReward: a BLIP text encoder with cross-attention to the picture, and a head; normalised as its authors do.

    `source` is the authors' checkpoint, or a folder or repository that holds it. With `head`, it is a BLIP in the
    layout of transformers.
    """

    # The authors' normalisation of scores and length of prompts.
    mean, deviation = 0.16717362830052426, 1.0333394966054072
    tokens = 35

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.head:
            imagereward.find_release(self.source)
        elif Path(self.source).is_file():
            raise InputError("a checkpoint has its own head; leave out the option head", path=self.source)

    def _particulars(self) -> Mapping[str, Any]:
        if self.head:
            return super()._particulars()
        files = imagereward.find_release(self.source, self.processor)
        tokenizer = files.tokenizer if files else self.processor or imagereward.TOKENIZER
        config = files.config if files else None
        return {
            "revision": self.revision,
            "config": source_identity(str(config)) if config else "",
            "processor": source_identity(tokenizer),
        }

    def _model_class(self) -> Any:
        from transformers import BlipForImageTextRetrieval

        return BlipForImageTextRetrieval

    def _open_model(self, device: str, dtype: Any) -> Any:
        if self.head:
            return super()._open_model(device, dtype)
        self._transformers()
        files = imagereward.fetch_release(self.source, self.processor, self.revision)
        reward_model = load_checkpoint(files.checkpoint, files.config, dtype)
        self._tools = SimpleNamespace(tokenizer=files.load_tokenizer(reward_model.tokens))
        self._recipe = reward_model.recipe
        self._set_head(reward_model.layers, device)
        return reward_model.encoders

    def _encode_prompts(self, prompts: list[str]) -> Any:
        longest = self._model.text_encoder.config.max_position_embeddings
        return self._tokenize_prompts(prompts, padding="max_length", max_length=min(self.tokens, longest))

    def _scores(self, words: Any, pixels: Any) -> Any:
        import torch

        picture_states = self._model.vision_model(pixel_values=pixels)[0]
        attention_mask = torch.ones(picture_states.shape[:-1], dtype=torch.long, device=picture_states.device)
        text_states = self._model.text_encoder(
            input_ids=words["input_ids"],
            attention_mask=words["attention_mask"],
            encoder_hidden_states=picture_states,
            encoder_attention_mask=attention_mask,
        )[0]
        return (self._through_head(text_states[:, 0]) - self.mean) / self.deviation


class AestheticScorer(HubScorer):
    """A head on CLIP's embedding of the picture; the prompt does not count."""

    def _model_class(self) -> Any:
        from transformers import AutoModel

        return AutoModel

    def _encode_prompts(self, prompts: list[str]) -> None:
        return None

    def _scores(self, words: Any, pixels: Any) -> Any:
        return self._through_head(self._embed(pixels))


@dataclass(frozen=True)
class ScorerKind:
    """A kind of score model: its class, its default model, the range of its scores."""

    make: Callable[..., HubScorer]
    source: str = ""
    span: Span | None = None
    needs_head: bool = False
    processor: str = ""
    head: str = ""
    """File of the head that belongs to `source`."""


KINDS: Mapping[str, ScorerKind] = {
    "clip": ScorerKind(ContrastScorer, "openai/clip-vit-large-patch14", (-1.0, 1.0)),
    "siglip": ScorerKind(ContrastScorer, "google/siglip-so400m-patch14-384", (-1.0, 1.0)),
    "pickscore": ScorerKind(
        ContrastScorer, "yuvalkirstain/PickScore_v1", (-1.0, 1.0), processor="laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
    ),
    "hpsv2": ScorerKind(ContrastScorer, "", (-1.0, 1.0)),
    "blip-itm": ScorerKind(MatchScorer, "Salesforce/blip2-itm-vit-g", (0.0, 1.0)),
    "imagereward": ScorerKind(RewardScorer, "zai-org/ImageReward"),
    "aesthetics": ScorerKind(
        AestheticScorer,
        "openai/clip-vit-large-patch14",
        needs_head=True,
        head=f"{HUB}trl-lib/ddpo-aesthetic-predictor/aesthetic-model.pth",
    ),
}
