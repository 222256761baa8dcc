"""Where the parts of ImageReward's release lie: on this machine in a file or a folder, or on the hub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError

CHECKPOINT, CONFIG, TOKENIZER = "ImageReward.pt", "med_config.json", "bert-base-uncased"
_WORDS = ("vocab.txt", "tokenizer.json")


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
            folder = _download(self.tokenizer, _WORDS, "processor=FOLDER")
        if not _speaks(folder):  # transformers would go on with a tokenizer that knows no word
            raise InputError(f"there is no {' or '.join(_WORDS)} in it; give BERT's with processor=FOLDER", path=folder)
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
    return any((folder / name).is_file() for name in _WORDS)


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
