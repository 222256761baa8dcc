"""Score models through open_clip: its architectures with published or local weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, MissingExtra
from fullbench.judges.scorers.safe_weights import HUB, fetch_weights
from fullbench.judges.scorers.torch_scorer_base import TorchScorer, source_identity, unit_vectors

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(eq=False)
class OpenClipScorer(TorchScorer):
    """Cosine between the prompt's and the picture's embedding, by a model of open_clip.

    `source` is the architecture (`ViT-H-14`, or open_clip's `hf-hub:...` and `local-dir:...`, which have their own
    weights). `weights` is a tag of open_clip, a checkpoint on disk, or one on the hub (`hub:OWNER/NAME/FILE`).
    """

    kind: str = "openclip"
    decoder: str = "pillow"
    weights: str = ""
    _transform: Any = field(default=None, init=False, repr=False)
    _tokens: Any = field(default=None, init=False, repr=False)

    extra = "openclip"
    packages = ("torch", "open_clip")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weights and ":" not in self.source:
            raise InputError(
                f"{self.name} has no weights: write openclip:{self.source}?weights=TAG or weights=FILE; without them "
                f"the "
                "scores would be random"
            )

    def _particulars(self) -> Mapping[str, Any]:
        return {"weights": source_identity(self.weights)}

    def _open_model(self, device: str, dtype: Any) -> Any:
        try:
            import open_clip
        except (ImportError, RuntimeError) as error:  # RuntimeError: torchvision was built for another torch
            raise MissingExtra(f"the judge {self.name}", "openclip") from error
        weights = fetch_weights(self.weights) if self.weights.startswith(HUB) else self.weights
        model, _, self._transform = open_clip.create_model_and_transforms(self.source, weights or None)
        self._tokens = open_clip.get_tokenizer(self.source)
        return model.to(dtype)

    def _pixels(self, image: Image) -> Any:
        return self._transform(image)

    def _encode_prompts(self, prompts: list[str]) -> Any:
        return self._cached_embeddings(prompts, self._embed_prompts)

    def _embed_prompts(self, prompts: list[str]) -> Any:
        return unit_vectors(self._model.encode_text(self._tokens(prompts).to(self._torch_device)))

    def _scores(self, words: Any, pixels: Any) -> Any:
        return (unit_vectors(self._model.encode_image(pixels)) * words).sum(-1)
