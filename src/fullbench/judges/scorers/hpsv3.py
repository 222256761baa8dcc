"""HPSv3 (Ma et al. 2025, arXiv:2508.03789) by the checkpoint that its authors release: a Qwen2-VL that reads the prompt
beside the picture, and a head on the hidden state of one token. The mean is the score; the second number is how unsure
it is.

The words in which the model is asked are the authors' own, and no score is right without them. They are read from the
authors' package where it is installed, or from a file (`instruction=`): their `data_collator_qwen.py`, or a text with
`{text_prompt}` in it. Nothing of the package is run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, MissingExtra
from fullbench.judges.scorers.safe_weights import HUB, fetched, tensors
from fullbench.judges.scorers.torch_runner import TorchScorer, identity

if TYPE_CHECKING:
    from PIL.Image import Image

BASE = "Qwen/Qwen2-VL-7B-Instruct"
WEIGHTS = f"{HUB}MizzenAI/HPSv3/HPSv3.safetensors"
TOKEN = "<|Reward|>"  # noqa: S105 - a token of the vocabulary
PLACE = "<|image_pad|>"
"""What stands in the text for each patch of the picture."""
SIDE = 28
"""Pixels of a patch's side, after two by two were joined."""
PIXELS = 256 * SIDE * SIDE
"""What the authors shrink or stretch every picture to."""
_NAMES = ("INSTRUCTION", "prompt_with_special_token")
_HEAD = "rm_head."


@dataclass(eq=False)
class HpsV3Scorer(TorchScorer):
    """`source` is the checkpoint, `base` the model it was tuned from (its settings, tokenizer and chat template)."""

    base: str = BASE
    instruction: str = ""
    _tokenizer: Any = field(default=None, init=False, repr=False)
    _images: Any = field(default=None, init=False, repr=False)
    _layers: list[tuple[Any, Any]] = field(default_factory=list, init=False, repr=False)
    _token: int = field(default=-1, init=False, repr=False)
    _words: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source.startswith(HUB) and not Path(self.source).is_file():
            raise InputError("there is no such checkpoint; it is the authors' HPSv3.safetensors", path=self.source)
        self._words = wording(self.instruction)

    def _particulars(self) -> Mapping[str, Any]:
        from fullbench.core.digests import digest

        return {"base": identity(self.base), "instruction": digest(self._words), "pixels": PIXELS}

    def _open(self, device: str, dtype: Any) -> Any:
        if find_spec("transformers") is None:
            raise MissingExtra(f"the judge {self.name}", "local")
        from transformers import AutoConfig, AutoImageProcessor, AutoTokenizer, Qwen2VLForConditionalGeneration

        # Its processor as a whole wants torchvision, for videos; tokenizer and image processor do without.
        tokenizer = AutoTokenizer.from_pretrained(self.base, padding_side="right")
        tokenizer.add_special_tokens({"additional_special_tokens": [TOKEN]})
        path = Path(fetched(self.source) if self.source.startswith(HUB) else self.source)
        weights = {_place(name): value for name, value in tensors(path).items()}
        head = {name: weights.pop(name) for name in list(weights) if name.startswith(_HEAD)}
        self._layers = [(weight.float().to(device), bias.float().to(device)) for weight, bias in _head(head, path)]
        model = Qwen2VLForConditionalGeneration(AutoConfig.from_pretrained(self.base))
        model.resize_token_embeddings(len(tokenizer))
        try:
            model.load_state_dict(weights, strict=True)
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"the checkpoint does not fit the model {self.base!r}: {reason}", path=path) from error
        self._tokenizer, self._token = tokenizer, tokenizer.convert_tokens_to_ids(TOKEN)
        self._images = AutoImageProcessor.from_pretrained(self.base, backend="pil")
        return model.to(dtype).model

    def prepare(self, image: Image) -> Any:
        """The picture itself, at the size that the authors give it: as many pixels as they take, its shape kept."""
        self._load()
        width, height = fitted(image.width, image.height, PIXELS)
        return image.resize((width, height), 3)

    def collate(self, prepared: Any) -> Any:
        return prepared

    def score(self, prompts: Any, prepared: Any) -> list[float]:
        """Scores of one batch of pictures, which may have different shapes."""
        import torch

        self._load()
        with torch.inference_mode(), self._turn:
            seen = self._images(images=list(prepared), return_tensors="pt", do_resize=False)
            grids = seen["image_grid_thw"]
            joined = self._images.merge_size**2
            texts = [
                text.replace(PLACE, PLACE * (int(grid.prod()) // joined), 1)
                for text, grid in zip(self._read(list(prompts)), grids, strict=True)
            ]
            words = self._tokenizer(texts, padding=True, return_tensors="pt")
            shown = words["input_ids"] == self._tokenizer.convert_tokens_to_ids(PLACE)
            if int(shown.sum()) * joined != int(grids.prod(dim=1).sum()):
                raise InputError(f"{self.name}: a prompt holds {PLACE}, which stands for the picture; leave it out")
            batch = {
                "input_ids": words["input_ids"], "attention_mask": words["attention_mask"],
                "mm_token_type_ids": shown.int(), "image_grid_thw": grids,
                "pixel_values": seen["pixel_values"].to(self._type),
            }  # fmt: skip
            batch = {name: value.to(self._place) for name, value in batch.items()}
            return [float(score) for score in self._scores(batch["input_ids"], batch).flatten()]

    def _read(self, prompts: list[str]) -> list[str]:
        """Prompts in the authors' words, as turns of a chat in which a picture comes first."""
        return [
            self._tokenizer.apply_chat_template(
                [{
                    "role": "user",
                    "content": [
                        {"type": "image"},
                        {"type": "text", "text": self._words.replace("{text_prompt}", prompt)},
                    ],
                }],
                tokenize=False, add_generation_prompt=True,
            )
            for prompt in prompts
        ]  # fmt: skip

    def _scores(self, words: Any, pixels: Any) -> Any:
        import torch

        states = self._model(**pixels).last_hidden_state
        there = words == self._token
        if not bool((there.sum(dim=1) == 1).all()):
            raise InputError(f"{self.name}: the instruction must hold {TOKEN} once; a prompt may not hold it")
        features = states[there].float()
        for place, (weight, bias) in enumerate(self._layers):
            features = features @ weight.T + bias
            if place < len(self._layers) - 1:
                features = torch.relu(features)
        return features[:, 0]

    def _pixels(self, image: Image) -> Any:
        return image


def _place(name: str) -> str:
    """A tensor's name as transformers has it since its version 4.52; the authors' file has the older ones."""
    if name.startswith("visual."):
        return f"model.{name}"
    if name.startswith("model.") and not name.startswith(("model.visual.", "model.language_model.")):
        return f"model.language_model.{name.removeprefix('model.')}"
    return name


def _head(held: Mapping[str, Any], path: Path) -> list[tuple[Any, Any]]:
    """The head's linear layers in their order; between them the authors have rectifiers."""
    names = sorted((name for name in held if name.endswith(".weight")), key=lambda name: int(name.split(".")[1]))
    if not names or len(held) != 2 * len(names):
        raise InputError(f"the checkpoint has no head of linear layers under {_HEAD!r}", path=path)
    return [(held[name], held[name.removesuffix("weight") + "bias"]) for name in names]


def fitted(width: int, height: int, pixels: int) -> tuple[int, int]:
    """Sides that are whole patches and make at most so many pixels, in about the same shape, as for Qwen2-VL."""
    if max(width, height) > 200 * min(width, height):
        raise InputError(
            f"a picture of {width} x {height} is too narrow for HPSv3; its sides differ more than 200-fold"
        )
    sides = [max(SIDE, round(side / SIDE) * SIDE) for side in (width, height)]
    area = width * height
    if sides[0] * sides[1] > pixels:
        shrink = (area / pixels) ** 0.5
        sides = [max(SIDE, int(side / shrink / SIDE) * SIDE) for side in (width, height)]
    elif sides[0] * sides[1] < pixels:
        grow = (pixels / area) ** 0.5
        sides = [-int(-side * grow // SIDE) * SIDE for side in (width, height)]
    return sides[0], sides[1]


def wording(source: str) -> str:
    """The authors' words with `{text_prompt}` in them, from a file or from their package where it is installed."""
    path = Path(source) if source else _installed()
    if path is None or not path.is_file():
        raise InputError(
            "hpsv3 is asked in its authors' words, which are theirs: install their package (pip install hpsv3), or say "
            "instruction=FILE with hpsv3/dataset/data_collator_qwen.py of MizzenAI/HPSv3",
            path=path,
        )
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = _constants(text, path)
    if text.count("{text_prompt}") != 1 or text.count(TOKEN) != 1:
        raise InputError(f"the instruction must hold {{text_prompt}} and {TOKEN} once each", path=path)
    return text


def _installed() -> Path | None:
    package = find_spec("hpsv3")
    places = package.submodule_search_locations if package is not None else None
    return Path(next(iter(places))) / "dataset" / "data_collator_qwen.py" if places else None


def _constants(text: str, path: Path) -> str:
    """Two texts that a module gives names to, one after the other; the module is read and not run."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"this is no Python that can be read ({error.msg})", path=path) from error
    values = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if missing := [name for name in _NAMES if not isinstance(values.get(name), str)]:
        raise InputError(f"the file names no text {' and no '.join(missing)}; it is another one", path=path)
    return "".join(str(values[name]) for name in _NAMES)
