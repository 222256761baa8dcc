"""HPSv2 and HPSv2.1 (Wu et al. 2023, arXiv:2306.09341) from the authors' checkpoint, by CLIP's modules in transformers.

The file holds a CLIP ViT-H/14 with open_clip's names. Neither open_clip nor torchvision is needed. Pictures are
prepared as the authors' package does: the longer side is resized to the model's, and the rest is filled with black.
Nothing is cut off, while open_clip's own preprocessing crops the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, Unscorable, require_packages
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import CLIP_DEVIATION, CLIP_MEAN
from fullbench.judges.scorers.safe_weights import HUB, ReleasedTensors, download_files, fetch_weights, load_tensors
from fullbench.judges.scorers.torch_scorer_base import TorchScorer, source_identity, unit_vectors

if TYPE_CHECKING:
    from PIL.Image import Image

CHECKPOINTS = {"2.0": "HPS_v2_compressed.pt", "2.1": "HPS_v2.1_compressed.pt"}
"""Checkpoints that the authors publish on the hub, by version."""
TOKENIZER = "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"
_TOKENIZER_FILES = ("vocab.json", "merges.txt", "tokenizer.json", "tokenizer_config.json")
_PICTURE_HEAD, _TEXT_HEAD = 80, 64
"""Units per attention head in ViT-H/14. Tensors do not show them."""
_UNUSED_TENSORS = {"attn_mask"}  # a buffer of older open_clip versions: every text model has the same mask
_LAYER = {
    "layer_norm1": "ln_1",
    "layer_norm2": "ln_2",
    "self_attn.out_proj": "attn.out_proj",
    "mlp.fc1": "mlp.c_fc",
    "mlp.fc2": "mlp.c_proj",
}
_PARTS = {f"self_attn.{part}_proj": place for place, part in enumerate("qkv")}
"""Projections that open_clip keeps in one tensor, in this order."""
_NAMES = {
    "logit_scale": "logit_scale",
    "visual_projection.weight": "visual.proj",
    "text_projection.weight": "text_projection",
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.weight": "visual.conv1.weight",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "vision_model.pre_layrnorm.weight": "visual.ln_pre.weight",  # spelled so in transformers
    "vision_model.pre_layrnorm.bias": "visual.ln_pre.bias",
    "vision_model.post_layernorm.weight": "visual.ln_post.weight",
    "vision_model.post_layernorm.bias": "visual.ln_post.bias",
    "text_model.embeddings.token_embedding.weight": "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "text_model.final_layer_norm.weight": "ln_final.weight",
    "text_model.final_layer_norm.bias": "ln_final.bias",
}
"""Names of transformers and of open_clip, layers excepted."""


@dataclass(eq=False)
class HpsV2Scorer(TorchScorer):
    """Cosine between the prompt's and the picture's embedding. `source` is the checkpoint: a file, or one on the hub.

    `processor` is a folder or hub name with CLIP's tokenizer.
    """

    kind: str = "hpsv2"
    decoder: str = "pillow"
    processor: str = TOKENIZER
    _tokenizer: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source.startswith(HUB) and not Path(self.source).is_file():
            raise InputError(
                f"there is no such checkpoint; download the authors' {CHECKPOINTS['2.1']}", path=self.source
            )

    def _particulars(self) -> Mapping[str, Any]:
        return {"processor": source_identity(self.processor)}

    def _open_model(self, device: str, dtype: Any) -> Any:
        require_packages(f"the judge {self.name}", "local", "transformers")
        from transformers import CLIPTokenizer

        path = Path(fetch_weights(self.source) if self.source.startswith(HUB) else self.source)
        model = load_checkpoint(path, dtype)
        folder = Path(self.processor)
        if not folder.is_dir():
            folder = download_files(self.processor, _TOKENIZER_FILES, "processor=FOLDER")
        self._tokenizer = CLIPTokenizer.from_pretrained(folder)
        tokens = model.config.text_config.vocab_size
        if len(self._tokenizer) != tokens:
            raise InputError(
                f"the tokenizer {self.processor} has {len(self._tokenizer)} tokens and the model {tokens}; give the "
                "one that it was trained with: processor=FOLDER"
            )
        return model

    def _pixels(self, image: Image) -> Any:
        return pad_to_square(image, self._model.config.vision_config.image_size)

    def _encode_prompts(self, prompts: list[str]) -> Any:
        return self._cached_embeddings(prompts, self._embed_prompts)

    def _embed_prompts(self, prompts: list[str]) -> Any:
        longest = self._model.config.text_config.max_position_embeddings
        words = self._tokenizer(prompts, padding=True, truncation=True, max_length=longest, return_tensors="pt")
        return unit_vectors(self._model.get_text_features(**words.to(self._torch_device)))

    def _scores(self, words: Any, pixels: Any) -> Any:
        return (unit_vectors(self._model.get_image_features(pixel_values=pixels)) * words).sum(-1)


def pad_to_square(image: Image, side: int) -> Any:
    """Return the pixels of a picture whose longer side is `side`, with black above and below, or left and right.

    The authors resize colours from 0 to 1 by torch's bicubic filter, and fill before they normalise.
    """
    import numpy as np
    import torch
    from torch.nn.functional import interpolate, pad

    colours = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1).float() / 255
    height, width = colours.shape[1:]
    scale = side / max(height, width)
    if scale != 1:
        rows, columns = round(height * scale), round(width * scale)
        if not rows or not columns:
            raise Unscorable(f"the picture is too long and thin ({width} x {height} pixels)")
        colours = interpolate(colours[None], (rows, columns), mode="bicubic", align_corners=False, antialias=True)[0]
    across, down = side - colours.shape[2], side - colours.shape[1]
    colours = pad(colours, (across // 2, across - across // 2, down // 2, down - down // 2))
    mean, deviation = (torch.tensor(values)[:, None, None] for values in (CLIP_MEAN, CLIP_DEVIATION))
    return (colours - mean) / deviation


def load_checkpoint(path: Path, dtype: Any) -> Any:
    """Load the checkpoint into transformers' CLIP. All sizes are read from the tensors."""
    import torch
    from transformers import CLIPModel

    weights = ReleasedTensors(load_tensors(path), path, "HPSv2", CHECKPOINTS["2.1"])
    config = _build_config(weights)
    with torch.device("meta"):
        shapes = {name: tuple(value.shape) for name, value in CLIPModel(config).state_dict().items()}
    sources = {name: _find_source(name, shape) for name, shape in shapes.items()}
    weights.check({source.name: source.shape for source in sources.values()}, _UNUSED_TENSORS)
    tensors = {name: source.take(weights.by_name[source.name]) for name, source in sources.items()}
    return CLIPModel.from_pretrained(None, config=config, state_dict=tensors, dtype=dtype)


@dataclass(frozen=True)
class _Source:
    """Place of a tensor of transformers in open_clip's file: name, shape, and the third of it that is used, or None."""

    name: str
    shape: tuple[int, ...]
    third: int | None = None

    def take(self, tensor: Any) -> Any:
        if self.third is not None:
            tensor = tensor.chunk(3)[self.third]
        elif self.name in {"visual.proj", "text_projection"}:  # multiplied from the other side
            tensor = tensor.T
        return tensor.contiguous()


def _find_source(name: str, shape: tuple[int, ...]) -> _Source:
    if name in _NAMES:
        return _Source(_NAMES[name], shape[::-1] if name.endswith("projection.weight") else shape)
    side, _, rest = name.partition(".encoder.layers.")
    place, _, rest = rest.partition(".")
    part, _, kind = rest.rpartition(".")
    layer = f"{'visual.' if side == 'vision_model' else ''}transformer.resblocks.{place}."
    if part in _PARTS:
        return _Source(f"{layer}attn.in_proj_{kind}", (3 * shape[0], *shape[1:]), _PARTS[part])
    return _Source(f"{layer}{_LAYER[part]}.{kind}", shape)


def _build_config(weights: ReleasedTensors) -> Any:
    from transformers import CLIPConfig

    places, width = weights.shape("visual.positional_embedding")
    patch = weights.shape("visual.conv1.weight")[-1]
    tokens, text_width = weights.shape("token_embedding.weight")
    for side, encoder_width, head in (("picture", width, _PICTURE_HEAD), ("text", text_width, _TEXT_HEAD)):
        if encoder_width % head:
            raise InputError(
                f"the {side} encoder is {encoder_width} wide, no multiple of {head} as in HPSv2, so the number of "
                "heads is unknown",
                path=weights.path,
            )
    shared = {"hidden_act": "gelu", "layer_norm_eps": 1e-5}
    return CLIPConfig(
        projection_dim=weights.shape("text_projection")[1],
        vision_config={
            **shared,
            "hidden_size": width,
            "intermediate_size": weights.shape("visual.transformer.resblocks.0.mlp.c_fc.weight")[0],
            "num_hidden_layers": weights.depth("visual.transformer.resblocks."),
            "num_attention_heads": width // _PICTURE_HEAD,
            "image_size": isqrt(places - 1) * patch,
            "patch_size": patch,
        },
        text_config={
            **shared,
            "vocab_size": tokens,
            "hidden_size": text_width,
            "intermediate_size": weights.shape("transformer.resblocks.0.mlp.c_fc.weight")[0],
            "num_hidden_layers": weights.depth("transformer.resblocks."),
            "num_attention_heads": text_width // _TEXT_HEAD,
            "max_position_embeddings": weights.shape("positional_embedding")[0],
            "bos_token_id": tokens - 2,
            "eos_token_id": tokens - 1,
        },
    )
