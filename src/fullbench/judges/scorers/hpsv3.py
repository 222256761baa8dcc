"""HPSv3 (Ma et al. 2025, arXiv:2508.03789) from the authors' checkpoint: a Qwen2-VL with a head on one token's state.

The model reads the prompt with the picture. The head returns a mean, which is the score, and an uncertainty.

Scores are right only with the authors' own instruction text. It is read from their package if that is installed, or
from a file (`instruction=`): their `data_collator_qwen.py`, or a text with `{text_prompt}` in it. The package is
never executed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.errors import InputError, require_packages
from fullbench.judges.scorers.safe_weights import HUB, fetch_weights, load_tensors
from fullbench.judges.scorers.torch_scorer_base import TorchScorer, source_identity

if TYPE_CHECKING:
    from PIL.Image import Image

BASE = "Qwen/Qwen2-VL-7B-Instruct"
WEIGHTS = f"{HUB}MizzenAI/HPSv3/HPSv3.safetensors"
REWARD_TOKEN = "<|Reward|>"  # noqa: S105 - a token of the vocabulary
PICTURE_MARKER = "<|image_pad|>"
"""Placeholder in the text for each patch of the picture."""
SIDE = 28
"""Side of a patch in pixels, after merging two by two."""
PIXELS = 256 * SIDE * SIDE
"""Number of pixels to which the authors resize every picture."""
_NAMES = ("INSTRUCTION", "prompt_with_special_token")
_HEAD = "rm_head."


@dataclass(eq=False)
class HpsV3Scorer(TorchScorer):
    """HPSv3. `source` is the checkpoint, `base` the model it was tuned from (its config, tokenizer, chat template)."""

    base: str = BASE
    instruction: str = ""
    _tokenizer: Any = field(default=None, init=False, repr=False)
    _images: Any = field(default=None, init=False, repr=False)
    _layers: list[tuple[Any, Any]] = field(default_factory=list, init=False, repr=False)
    _token: int = field(default=-1, init=False, repr=False)
    _instruction_text: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.source.startswith(HUB) and not Path(self.source).is_file():
            raise InputError("there is no such checkpoint; download the authors' HPSv3.safetensors", path=self.source)
        self._instruction_text = load_instruction(self.instruction)

    def _particulars(self) -> Mapping[str, Any]:
        from fullbench.core.json_digests_and_cached_properties import digest

        return {"base": source_identity(self.base), "instruction": digest(self._instruction_text), "pixels": PIXELS}

    def _open_model(self, device: str, dtype: Any) -> Any:
        require_packages(f"the judge {self.name}", "local", "transformers")
        from transformers import AutoConfig, AutoImageProcessor, AutoTokenizer, Qwen2VLForConditionalGeneration

        # The whole processor needs torchvision for videos; tokenizer and image processor do not.
        tokenizer = AutoTokenizer.from_pretrained(self.base, padding_side="right")
        tokenizer.add_special_tokens({"additional_special_tokens": [REWARD_TOKEN]})
        path = Path(fetch_weights(self.source) if self.source.startswith(HUB) else self.source)
        weights = {_current_tensor_name(name): value for name, value in load_tensors(path).items()}
        head = {name: weights.pop(name) for name in list(weights) if name.startswith(_HEAD)}
        self._layers = [
            (weight.float().to(device), bias.float().to(device)) for weight, bias in _head_layers(head, path)
        ]
        model = Qwen2VLForConditionalGeneration(AutoConfig.from_pretrained(self.base))
        model.resize_token_embeddings(len(tokenizer))
        try:
            model.load_state_dict(weights, strict=True)
        except RuntimeError as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"the checkpoint does not fit the model {self.base!r}: {reason}", path=path) from error
        self._tokenizer, self._token = tokenizer, tokenizer.convert_tokens_to_ids(REWARD_TOKEN)
        self._images = AutoImageProcessor.from_pretrained(self.base, backend="pil")
        return model.to(dtype).model

    def prepare(self, image: Image) -> Any:
        """Resize the picture to the authors' number of pixels, keeping its shape."""
        self._load()
        width, height = fit_to_patches(image.width, image.height, PIXELS)
        return image.resize((width, height), 3)  # 3 is bicubic

    def collate(self, prepared_pictures: Any) -> Any:
        return prepared_pictures

    def score(self, prompts: Any, prepared_pictures: Any) -> list[float]:
        """Score one batch of pictures, which may have different shapes."""
        import torch

        self._load()
        with torch.inference_mode(), self._scoring_lock:
            image_inputs = self._images(images=list(prepared_pictures), return_tensors="pt", do_resize=False)
            grids = image_inputs["image_grid_thw"]
            patches_per_token = self._images.merge_size**2
            texts = [
                text.replace(PICTURE_MARKER, PICTURE_MARKER * (int(grid.prod()) // patches_per_token), 1)
                for text, grid in zip(self._encode_prompts(list(prompts)), grids, strict=True)
            ]
            words = self._tokenizer(texts, padding=True, return_tensors="pt")
            picture_mask = words["input_ids"] == self._tokenizer.convert_tokens_to_ids(PICTURE_MARKER)
            if int(picture_mask.sum()) * patches_per_token != int(grids.prod(dim=1).sum()):
                raise InputError(f"{self.name}: a prompt contains {PICTURE_MARKER}, which marks the picture; remove it")
            batch = {
                "input_ids": words["input_ids"], "attention_mask": words["attention_mask"],
                "mm_token_type_ids": picture_mask.int(), "image_grid_thw": grids,
                "pixel_values": image_inputs["pixel_values"].to(self._torch_dtype),
            }  # fmt: skip
            batch = {name: value.to(self._torch_device) for name, value in batch.items()}
            return [float(score) for score in self._scores(batch["input_ids"], batch).flatten()]

    def _encode_prompts(self, prompts: list[str]) -> list[str]:
        return [
            self._tokenizer.apply_chat_template(
                [{
                    "role": "user",
                    "content": [
                        {"type": "image"},
                        {"type": "text", "text": self._instruction_text.replace("{text_prompt}", prompt)},
                    ],
                }],
                tokenize=False, add_generation_prompt=True,
            )
            for prompt in prompts
        ]  # fmt: skip

    def _scores(self, words: Any, pixels: Any) -> Any:
        import torch

        states = self._model(**pixels).last_hidden_state
        token_mask = words == self._token
        if not bool((token_mask.sum(dim=1) == 1).all()):
            raise InputError(
                f"{self.name}: the instruction must contain {REWARD_TOKEN} once, and no prompt may contain it"
            )
        features = states[token_mask].float()
        for place, (weight, bias) in enumerate(self._layers):
            features = features @ weight.T + bias
            if place < len(self._layers) - 1:
                features = torch.relu(features)
        return features[:, 0]

    def _pixels(self, image: Image) -> Any:
        return image


def _current_tensor_name(name: str) -> str:
    """Rename a tensor from the authors' file to the names of transformers since 4.52."""
    if name.startswith("visual."):
        return f"model.{name}"
    if name.startswith("model.") and not name.startswith(("model.visual.", "model.language_model.")):
        return f"model.language_model.{name.removeprefix('model.')}"
    return name


def _head_layers(head_tensors: Mapping[str, Any], path: Path) -> list[tuple[Any, Any]]:
    """Return the head's linear layers in order; the authors have ReLUs between them."""
    names = sorted(
        (name for name in head_tensors if name.endswith(".weight")), key=lambda name: int(name.split(".")[1])
    )
    if not names or len(head_tensors) != 2 * len(names):
        raise InputError(f"the checkpoint has no head of linear layers under {_HEAD!r}", path=path)
    return [(head_tensors[name], head_tensors[name.removesuffix("weight") + "bias"]) for name in names]


def fit_to_patches(width: int, height: int, pixels: int) -> tuple[int, int]:
    """Return sides in whole patches with at most `pixels` pixels and about the same shape, as for Qwen2-VL."""
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


def load_instruction(source: str) -> str:
    """Load the authors' instruction with `{text_prompt}` from a file or from their installed package."""
    path = Path(source) if source else _installed_instruction_file()
    if path is None or not path.is_file():
        raise InputError(
            "hpsv3 needs its authors' prompt, which fullbench may not include. Install their package (pip install "
            "hpsv3), "
            "or use instruction=FILE with hpsv3/dataset/data_collator_qwen.py of MizzenAI/HPSv3",
            path=path,
        )
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = _join_constants(text, path)
    if text.count("{text_prompt}") != 1 or text.count(REWARD_TOKEN) != 1:
        raise InputError(f"the instruction must contain {{text_prompt}} and {REWARD_TOKEN} once each", path=path)
    return text


def _installed_instruction_file() -> Path | None:
    package = find_spec("hpsv3")
    places = package.submodule_search_locations if package is not None else None
    return Path(next(iter(places))) / "dataset" / "data_collator_qwen.py" if places else None


def _join_constants(text: str, path: Path) -> str:
    """Return two string constants of a module, joined; the module is parsed, not executed."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"this is not valid Python ({error.msg})", path=path) from error
    values = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if missing := [name for name in _NAMES if not isinstance(values.get(name), str)]:
        raise InputError(f"the file defines no text {' and no '.join(missing)}; use the authors' file", path=path)
    return "".join(str(values[name]) for name in _NAMES)
