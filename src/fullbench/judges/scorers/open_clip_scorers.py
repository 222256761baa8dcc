"""Score models through open_clip: its architectures with published or local weights, HPSv2's checkpoint among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, MissingExtra
from fullbench.judges.scorers.safe_weights import HUB, fetched
from fullbench.judges.scorers.torch_runner import TorchScorer, identity, unit

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(eq=False)
class OpenClipScorer(TorchScorer):
    """The cosine between the prompt's and the picture's embedding, by a model of open_clip.

    `source` names the architecture (`ViT-H-14`, or `hf-hub:...` and `local-dir:...` as open_clip has them), `weights`
    a tag that open_clip knows, a checkpoint on disk, or one of the hub's (`hub:OWNER/NAME/FILE`). A name with a place
    in it brings its own weights.
    """

    kind: str = "openclip"
    decoder: str = "pillow"
    weights: str = ""
    _transform: Any = field(default=None, init=False, repr=False)
    _tokens: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.weights and ":" not in self.source:
            raise InputError(
                f"{self.name} has no weights: say openclip:{self.source}?weights=TAG or weights=FILE; without them the "
                "scores would be random"
            )

    def _particulars(self) -> Mapping[str, Any]:
        return {"weights": identity(self.weights)}

    def _open(self, device: str, dtype: Any) -> Any:
        try:
            import open_clip
        except (ImportError, RuntimeError) as error:  # torchvision of another build than torch raises the second
            raise MissingExtra(f"the judge {self.name}", "openclip") from error
        weights = fetched(self.weights) if self.weights.startswith(HUB) else self.weights
        model, _, self._transform = open_clip.create_model_and_transforms(self.source, weights or None)
        self._tokens = open_clip.get_tokenizer(self.source)
        return model.to(dtype)

    def _pixels(self, image: Image) -> Any:
        return self._transform(image)

    def _read(self, prompts: list[str]) -> Any:
        return self._known(prompts, self._meaning)

    def _meaning(self, prompts: list[str]) -> Any:
        return unit(self._model.encode_text(self._tokens(prompts).to(self._place)))

    def _scores(self, words: Any, pixels: Any) -> Any:
        return (unit(self._model.encode_image(pixels)) * words).sum(-1)
