"""ImageReward as its authors release it: `ImageReward.pt`, with `med_config.json` beside it.

The file holds a ViT in timm's names, a BERT that looks at the picture while it reads, and a head. BLIP in transformers
is the same two encoders, so its modules take the tensors. Nothing is left out in silence: a tensor too many, too few or
of another shape is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.judges.scorers.batch_preprocessing import Rounded
from fullbench.judges.scorers.safe_weights import Layers, linear, tensors

# Where the parts of ImageReward's release lie: on this machine in a file or a folder, or on the hub.

CHECKPOINT, CONFIG, TOKENIZER = "ImageReward.pt", "med_config.json", "bert-base-uncased"
_RELEASE_WORDS = ("vocab.txt", "tokenizer.json")


@dataclass(frozen=True)
class Release:
    """The checkpoint, its configuration where there is one, and the tokenizer: a folder or a name on the hub."""

    checkpoint: Path
    config: Path | None
    tokenizer: str

    def words(self, tokens: int) -> Any:
        """BERT's tokenizer with the two tokens that BLIP adds; the model knows `tokens`, and so must it."""
        from transformers import BertTokenizer

        folder = Path(self.tokenizer)
        if not folder.is_dir():
            folder = _download(self.tokenizer, _RELEASE_WORDS, "processor=FOLDER")
        if not _speaks(folder):  # transformers would go on with a tokenizer that knows no word
            raise InputError(
                f"there is no {' or '.join(_RELEASE_WORDS)} in it; give BERT's with processor=FOLDER", path=folder
            )
        words = BertTokenizer.from_pretrained(folder)
        words.add_special_tokens({"bos_token": "[DEC]", "additional_special_tokens": ["[ENC]"]})
        if len(words) != tokens:
            raise InputError(
                f"the tokenizer {self.tokenizer} has {len(words)} tokens and the model {tokens}; give the one that it "
                "was trained with: processor=FOLDER"
            )
        return words


def find(source: str, processor: str = "") -> Release | None:
    """The release in a file or a folder of this machine; None for what may be a name on the hub."""
    place = Path(source)
    if place.is_file():
        return _release(place, processor)
    if not place.is_dir():
        if place.suffix in {".pt", ".pth", ".safetensors"} or source.startswith((".", "/", "~")):
            raise InputError(f"there is no such file; give {CHECKPOINT}, its folder or a name on the hub", path=source)
        return None
    if not (place / CHECKPOINT).is_file():
        raise InputError(
            f"there is no {CHECKPOINT} in this folder; a BLIP in the layout of transformers needs head=FILE",
            path=source,
        )
    return _release(place / CHECKPOINT, processor or (source if _speaks(place) else ""))


def fetch(source: str, processor: str = "", revision: str = "") -> Release:
    """The release, from the hub where it is not on this machine."""
    release = find(source, processor)
    if release is not None:
        return release
    folder = _download(source, (CHECKPOINT, CONFIG), "imagereward:FOLDER", revision)
    if not (folder / CHECKPOINT).is_file():
        raise InputError(f"the hub's {source} holds no {CHECKPOINT}; zai-org/ImageReward does")
    return _release(folder / CHECKPOINT, processor)


def _release(checkpoint: Path, tokenizer: str) -> Release:
    config = checkpoint.with_name(CONFIG)
    return Release(checkpoint, config if config.is_file() else None, tokenizer or TOKENIZER)


def _speaks(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _RELEASE_WORDS)


def _download(name: str, files: tuple[str, ...], instead: str, revision: str = "") -> Path:
    """A folder with these files of a repository on the hub, out of this machine's cache where they are there."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=list(files)))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{name} is no folder here and the hub cannot be asked ({str(error).strip().splitlines()[0]}); put its "
            f"{files[0]} into a folder and say {instead}"
        ) from error


_MEAN, _DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_PER_HEAD = 64
_EYES, _WORDS, _HEAD = "blip.visual_encoder.", "blip.text_encoder.", "mlp.layers."
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
_UNUSED = {  # BLIP's projections for retrieval, which no score goes through, and a list of the numbers from 0 on
    *(f"blip.{side}_proj.{part}" for side in ("vision", "text") for part in ("weight", "bias")),
    f"{_WORDS}embeddings.position_ids",
}


@dataclass(frozen=True)
class Loaded:
    """An encoder for pictures and one for words, the head on top, and what is done to a picture before."""

    encoders: Any
    layers: Layers
    recipe: Rounded

    @property
    def tokens(self) -> int:
        """How many tokens the model knows."""
        return int(self.encoders.text_encoder.config.vocab_size)


def load(checkpoint: Path, config: Path | None, dtype: Any) -> Loaded:
    """The checkpoint in modules of transformers; `config` is its `med_config.json`, where there is one."""
    import torch
    from transformers import BlipTextModel, BlipVisionModel

    held = _Held(tensors(checkpoint), checkpoint)
    seen, read = _vision(held), _text(held, config)
    with torch.device("meta"):
        eyes = {_EYES + _timm(name): (name, value) for name, value in BlipVisionModel(seen).state_dict().items()}
        text = BlipTextModel(read, add_pooling_layer=False)
        words = {_WORDS + name: (name, value) for name, value in text.state_dict().items()}
    head = {name: held.by_name[name] for name in held.by_name if name.startswith(_HEAD)}
    held.check({name: tuple(value.shape) for name, (_, value) in (eyes | words).items()}, set(head))
    layers = linear(head, checkpoint)
    both = torch.nn.Module()
    own = {name: held.by_name[theirs] for theirs, (name, _) in eyes.items()}
    both.vision_model = BlipVisionModel.from_pretrained(None, config=seen, state_dict=own, dtype=dtype)
    own = {name: held.by_name[theirs] for theirs, (name, _) in words.items()}
    both.text_encoder = BlipTextModel.from_pretrained(
        None, config=read, state_dict=own, dtype=dtype, add_pooling_layer=False
    )
    return Loaded(both, layers, Rounded(seen.image_size, seen.image_size, _MEAN, _DEVIATION))


@dataclass(frozen=True)
class _Held:
    """The tensors of a checkpoint."""

    by_name: Mapping[str, Any]
    path: Path

    def shape(self, name: str) -> tuple[int, ...]:
        if name not in self.by_name:
            raise self._unlike(f"it has no {name!r}, but {min(self.by_name)!r}")
        return tuple(self.by_name[name].shape)

    def depth(self, prefix: str) -> int:
        """How many layers there are under a prefix; where numbers are left out, tensors will be missing."""
        return len({name.removeprefix(prefix).split(".")[0] for name in self.by_name if name.startswith(prefix)})

    def check(self, wanted: Mapping[str, tuple[int, ...]], head: set[str]) -> None:
        """Every tensor that the model wants is there, in its shape, and no other."""
        missing = [name for name in wanted if name not in self.by_name]
        if missing:
            raise self._unlike(f"it lacks {_counted(missing)}")
        unknown = [name for name in self.by_name if name not in {*wanted, *head, *_UNUSED}]
        if unknown:
            raise self._unlike(f"it holds {_counted(unknown)} that ImageReward has not")
        for name, shape in wanted.items():
            if (held_shape := self.shape(name)) != shape:
                raise self._unlike(f"{name!r} has the shape {held_shape} in place of {shape}")

    def _unlike(self, why: str) -> InputError:
        return InputError(
            f"this is not ImageReward: {why}; give {CHECKPOINT} as its authors release it", path=self.path
        )


def _counted(names: list[str]) -> str:
    return f"{names[0]!r}" if len(names) == 1 else f"{len(names)} tensors such as {names[0]!r}"


def _timm(name: str) -> str:
    for ours, theirs in _TIMM:
        name = name.replace(ours, theirs)
    return name


def _heads(held: _Held, what: str, width: int) -> int:
    """How many heads: tensors do not tell, but every encoder that BLIP comes with has one to 64 units."""
    if width % _PER_HEAD:
        raise InputError(
            f"the {what} encoder is {width} wide, no multiple of {_PER_HEAD}, so its number of heads is unknown",
            path=held.path,
        )
    return width // _PER_HEAD


def _vision(held: _Held) -> Any:
    from transformers import BlipVisionConfig

    _, places, width = held.shape(f"{_EYES}pos_embed")
    patch = held.shape(f"{_EYES}patch_embed.proj.weight")[-1]
    return BlipVisionConfig(
        hidden_size=width,
        intermediate_size=held.shape(f"{_EYES}blocks.0.mlp.fc1.weight")[0],
        num_hidden_layers=held.depth(f"{_EYES}blocks."),
        num_attention_heads=_heads(held, "picture", width),
        image_size=isqrt(places - 1) * patch,
        patch_size=patch,
        layer_norm_eps=1e-6,
    )


def _text(held: _Held, path: Path | None) -> Any:
    """The sizes of the text encoder, by its tensors; of a configuration is taken what no tensor says."""
    from transformers import BlipTextConfig

    tokens, width = held.shape(f"{_WORDS}embeddings.word_embeddings.weight")
    sizes = {
        "vocab_size": tokens,
        "hidden_size": width,
        "intermediate_size": held.shape(f"{_WORDS}encoder.layer.0.intermediate.dense.weight")[0],
        "num_hidden_layers": held.depth(f"{_WORDS}encoder.layer."),
        "max_position_embeddings": held.shape(f"{_WORDS}embeddings.position_embeddings.weight")[0],
    }
    config = _given(path) if path else {}
    for name, value in sizes.items():
        if path and config.get(name, value) != value:
            raise InputError(
                f"{name} is {config[name]}, but {value} in {held.path.name}; the two do not belong together", path=path
            )
    return BlipTextConfig(
        **sizes,
        encoder_hidden_size=held.shape(f"{_EYES}pos_embed")[-1],
        num_attention_heads=config.get("num_attention_heads") or _heads(held, "text", width),
        layer_norm_eps=config.get("layer_norm_eps", 1e-12),
        hidden_act=config.get("hidden_act", "gelu"),
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        sep_token_id=None,
    )


def _given(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is not JSON ({error}); download it again or take it away", path=path) from error
    if not isinstance(config, dict):
        raise InputError("this is not a configuration by name; download it again or take it away", path=path)
    return config
