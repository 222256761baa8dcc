"""ImageReward from the authors' release (`ImageReward.pt` and `med_config.json`), in a file, a folder or on the hub.

The file holds a ViT with timm's names, a BERT with cross-attention to the picture, and a head. BLIP in transformers
has the same two encoders, so its modules take the tensors. Nothing is dropped silently: an extra or missing tensor,
or one of another shape, is an error.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.judges.scorers.batch_preprocessing_and_gpu_jpeg_decoding import (
    CLIP_DEVIATION,
    CLIP_MEAN,
    RoundedCropRecipe,
)
from fullbench.judges.scorers.safe_weights import (
    CHECKPOINT_SUFFIXES,
    Layers,
    ReleasedTensors,
    download_files,
    linear_layers,
    load_tensors,
)

CHECKPOINT, CONFIG, TOKENIZER = "ImageReward.pt", "med_config.json", "bert-base-uncased"
_RELEASE_WORDS = ("vocab.txt", "tokenizer.json")


@dataclass(frozen=True)
class Release:
    """The checkpoint, its configuration if there is one, and the tokenizer: a folder or a hub name."""

    checkpoint: Path
    config: Path | None
    tokenizer: str

    def load_tokenizer(self, tokens: int) -> Any:
        """Load BERT's tokenizer with the two tokens that BLIP adds; its size must be `tokens`."""
        from transformers import BertTokenizer

        folder = Path(self.tokenizer)
        if not folder.is_dir():
            folder = download_files(self.tokenizer, _RELEASE_WORDS, "processor=FOLDER")
        if not _has_vocabulary(folder):  # transformers would silently load a tokenizer without any word
            raise InputError(
                f"the folder has no {' or '.join(_RELEASE_WORDS)}; give BERT's with processor=FOLDER", path=folder
            )
        tokenizer = BertTokenizer.from_pretrained(folder)
        tokenizer.add_special_tokens({"bos_token": "[DEC]", "additional_special_tokens": ["[ENC]"]})
        if len(tokenizer) != tokens:
            raise InputError(
                f"the tokenizer {self.tokenizer} has {len(tokenizer)} tokens and the model {tokens}; give the "
                "one that it "
                "was trained with: processor=FOLDER"
            )
        return tokenizer


def find_release(source: str, processor: str = "") -> Release | None:
    """Return the release in a local file or folder, or None for a possible hub name."""
    place = Path(source)
    if place.is_file():
        return _make_release(place, processor)
    if not place.is_dir():
        if place.suffix in CHECKPOINT_SUFFIXES or source.startswith((".", "/", "~")):
            raise InputError(f"there is no such file; give {CHECKPOINT}, its folder or a name on the hub", path=source)
        return None
    if not (place / CHECKPOINT).is_file():
        raise InputError(
            f"there is no {CHECKPOINT} in this folder; a BLIP in the layout of transformers needs head=FILE",
            path=source,
        )
    return _make_release(place / CHECKPOINT, processor or (source if _has_vocabulary(place) else ""))


def fetch_release(source: str, processor: str = "", revision: str = "") -> Release:
    """Return the release, downloaded from the hub if it is not on this machine."""
    release = find_release(source, processor)
    if release is not None:
        return release
    folder = download_files(source, (CHECKPOINT, CONFIG), "imagereward:FOLDER", revision)
    if not (folder / CHECKPOINT).is_file():
        raise InputError(f"the hub's {source} holds no {CHECKPOINT}; zai-org/ImageReward does")
    return _make_release(folder / CHECKPOINT, processor)


def _make_release(checkpoint: Path, tokenizer: str) -> Release:
    config = checkpoint.with_name(CONFIG)
    return Release(checkpoint, config if config.is_file() else None, tokenizer or TOKENIZER)


def _has_vocabulary(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _RELEASE_WORDS)


_PER_HEAD = 64
_VISION_PREFIX, _TEXT_PREFIX, _HEAD_PREFIX = "blip.visual_encoder.", "blip.text_encoder.", "mlp.layers."
_TIMM = (
    ("embeddings.class_embedding", "cls_token"),
    ("embeddings.position_embedding", "pos_embed"),
    ("embeddings.patch_embedding", "patch_embed.proj"),
    ("encoder.layers", "blocks"),
    ("self_attn.projection", "attn.proj"),
    ("self_attn", "attn"),
    ("layer_norm", "norm"),
    ("post_layernorm", "norm"),
)
# BLIP's projections for retrieval, which no score uses, and the position ids 0, 1, 2, ...
_UNUSED_TENSORS = {
    *(f"blip.{side}_proj.{part}" for side in ("vision", "text") for part in ("weight", "bias")),
    f"{_TEXT_PREFIX}embeddings.position_ids",
}


@dataclass(frozen=True)
class ImageRewardModel:
    """A picture encoder, a text encoder, the head on top, and the preprocessing of pictures."""

    encoders: Any
    layers: Layers
    recipe: RoundedCropRecipe

    @property
    def tokens(self) -> int:
        """Return the size of the model's vocabulary."""
        return int(self.encoders.text_encoder.config.vocab_size)


def load_checkpoint(checkpoint: Path, config: Path | None, dtype: Any) -> ImageRewardModel:
    """Load the checkpoint into modules of transformers; `config` is its `med_config.json`, if there is one."""
    import torch
    from transformers import BlipTextModel, BlipVisionModel

    weights = ReleasedTensors(load_tensors(checkpoint), checkpoint, "ImageReward", CHECKPOINT)
    vision_config, text_config = _vision_config(weights), _text_config(weights, config)
    with torch.device("meta"):
        vision_tensors = {
            _VISION_PREFIX + _timm_name(name): (name, value)
            for name, value in BlipVisionModel(vision_config).state_dict().items()
        }
        text = BlipTextModel(text_config, add_pooling_layer=False)
        text_tensors = {_TEXT_PREFIX + name: (name, value) for name, value in text.state_dict().items()}
    head = {name: weights.by_name[name] for name in weights.by_name if name.startswith(_HEAD_PREFIX)}
    weights.check(
        {name: tuple(value.shape) for name, (_, value) in (vision_tensors | text_tensors).items()},
        {*head, *_UNUSED_TENSORS},
    )
    layers = linear_layers(head, checkpoint)
    encoders = torch.nn.Module()
    state_dict = {name: weights.by_name[theirs] for theirs, (name, _) in vision_tensors.items()}
    encoders.vision_model = BlipVisionModel.from_pretrained(
        None, config=vision_config, state_dict=state_dict, dtype=dtype
    )
    state_dict = {name: weights.by_name[theirs] for theirs, (name, _) in text_tensors.items()}
    encoders.text_encoder = BlipTextModel.from_pretrained(
        None, config=text_config, state_dict=state_dict, dtype=dtype, add_pooling_layer=False
    )
    return ImageRewardModel(
        encoders,
        layers,
        RoundedCropRecipe(vision_config.image_size, vision_config.image_size, CLIP_MEAN, CLIP_DEVIATION),
    )


def _timm_name(name: str) -> str:
    for ours, theirs in _TIMM:
        name = name.replace(ours, theirs)
    return name


def _head_count(weights: ReleasedTensors, what: str, width: int) -> int:
    """Return the number of attention heads. Tensors do not show it, but BLIP's encoders have 64 units per head."""
    if width % _PER_HEAD:
        raise InputError(
            f"the {what} encoder is {width} wide, no multiple of {_PER_HEAD}, so its number of heads is unknown",
            path=weights.path,
        )
    return width // _PER_HEAD


def _vision_config(weights: ReleasedTensors) -> Any:
    from transformers import BlipVisionConfig

    _, places, width = weights.shape(f"{_VISION_PREFIX}pos_embed")
    patch = weights.shape(f"{_VISION_PREFIX}patch_embed.proj.weight")[-1]
    return BlipVisionConfig(
        hidden_size=width,
        intermediate_size=weights.shape(f"{_VISION_PREFIX}blocks.0.mlp.fc1.weight")[0],
        num_hidden_layers=weights.depth(f"{_VISION_PREFIX}blocks."),
        num_attention_heads=_head_count(weights, "picture", width),
        image_size=isqrt(places - 1) * patch,
        patch_size=patch,
        layer_norm_eps=1e-6,
    )


def _text_config(weights: ReleasedTensors, path: Path | None) -> Any:
    """Return the text encoder's config: sizes from the tensors, the rest from `med_config.json`."""
    from transformers import BlipTextConfig

    tokens, width = weights.shape(f"{_TEXT_PREFIX}embeddings.word_embeddings.weight")
    sizes = {
        "vocab_size": tokens,
        "hidden_size": width,
        "intermediate_size": weights.shape(f"{_TEXT_PREFIX}encoder.layer.0.intermediate.dense.weight")[0],
        "num_hidden_layers": weights.depth(f"{_TEXT_PREFIX}encoder.layer."),
        "max_position_embeddings": weights.shape(f"{_TEXT_PREFIX}embeddings.position_embeddings.weight")[0],
    }
    config = _read_config(path) if path else {}
    for name, value in sizes.items():
        if path and config.get(name, value) != value:
            raise InputError(
                f"{name} is {config[name]}, but {value} in {weights.path.name}; the two files do not match",
                path=path,
            )
    return BlipTextConfig(
        **sizes,
        encoder_hidden_size=weights.shape(f"{_VISION_PREFIX}pos_embed")[-1],
        num_attention_heads=config.get("num_attention_heads") or _head_count(weights, "text", width),
        layer_norm_eps=config.get("layer_norm_eps", 1e-12),
        hidden_act=config.get("hidden_act", "gelu"),
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        sep_token_id=None,
    )


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}); download it again or delete it", path=path) from error
    if not isinstance(config, dict):
        raise InputError("this is not a configuration object; download it again or delete it", path=path)
    return config
