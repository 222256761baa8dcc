"""Encoders and CLIP through transformers, from a hub name or a local folder, for metrics of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, MissingExtra
from fullbench.judges.baselines import marks_from, unread

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float64]
else:
    Vectors = Any

LAYERS = {
    "bert-base-uncased": 9, "bert-large-uncased": 18, "bert-base-chinese": 8, "bert-base-multilingual-cased": 9,
    "roberta-base": 10, "roberta-large": 17, "roberta-large-mnli": 19, "distilbert-base-uncased": 5,
    "xlm-roberta-base": 9, "xlm-roberta-large": 17, "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-xlarge-mnli": 40,
}  # fmt: skip
"""The layer that BERTScore's authors found best for each encoder; of others the last one is taken."""


def _needs(what: str) -> None:
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise MissingExtra(what, "local")


def named(source: str) -> str:
    """A hub name as it is; a folder by its own name and what its configuration says."""
    path = Path(source)
    if not path.is_dir():
        return source
    config = path / "config.json"
    if not config.exists():
        raise InputError("the folder holds no model: there is no config.json", path=path)
    files = sorted(file for pattern in ("*.safetensors", "*.bin") for file in path.glob(pattern))
    return f"{path.name}#{digest([config.read_text(encoding='utf-8'), *(file.stat().st_size for file in files)])[:8]}"


@dataclass(eq=False)
class HubEncoder:
    """The hidden states of an encoder at one layer, a row for each token, and which tokens count.

    As in the authors' own code, the marks that begin and end a text can be matched and are not counted themselves.
    """

    source: str
    layer: int | None = None
    revision: str = ""
    device: str = "cpu"

    @cached_property
    def name(self) -> str:
        layer = self.layer if self.layer is not None else LAYERS.get(self.source)
        marks = [*([] if layer is None else [f"layer{layer}"]), *filter(None, [self.revision])]
        return "@".join([named(self.source), *marks])

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int]:
        _needs(f"the encoder {self.source}")
        import torch
        from transformers import AutoModel, AutoTokenizer

        where = {"revision": self.revision} if self.revision else {}
        tokenizer = AutoTokenizer.from_pretrained(self.source, **where)
        model = AutoModel.from_pretrained(self.source, dtype=torch.float32, **where).to(self.device).eval()
        depth = int(model.config.num_hidden_layers)
        layer = self.layer if self.layer is not None else LAYERS.get(self.source, depth)
        if not 0 <= layer <= depth:
            raise InputError(f"the encoder {self.source} has {depth} layers; there is no layer {layer}")
        return tokenizer, model, layer

    def __call__(self, text: str) -> tuple[Vectors, Vectors]:
        """The vectors of a text, and 1 for each token that counts."""
        import numpy as np

        tokenizer, model, layer = self._loaded
        import torch

        longest = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest,
                           return_special_tokens_mask=True)  # fmt: skip
        special = tokens.pop("special_tokens_mask")[0].numpy().astype(np.float64)
        with torch.inference_mode():
            states = model(**tokens.to(self.device), output_hidden_states=True).hidden_states[layer][0]
        return states.float().cpu().numpy().astype(np.float64), 1.0 - special


@dataclass(eq=False)
class ClipTexts(AsksNobody):
    """CLIPScore of answers in words with the item's pictures (Hessel et al. 2021); RefCLIPScore takes the reference in.

    2.5 times the cosine, nothing below zero; of several pictures the mean. RefCLIPScore is the harmonic mean of that
    and of the cosine with the reference. A text that is longer than the model reads is cut, and the verdict says so.
    """

    kind: ClassVar[Kind] = "metric"

    source: str
    reference: bool = False
    revision: str = ""
    device: str = "cpu"
    settings: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        figure = "RefCLIPScore" if self.reference else "CLIPScore"
        self.settings = {"metric": figure, "model": named(self.source), "revision": self.revision, "sight": "image"}
        self._text = lru_cache(maxsize=4096)(self._encode_text)
        self._picture = lru_cache(maxsize=1024)(self._encode_picture)

    @property
    def name(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{'refclipscore' if self.reference else 'clipscore'}+{named(self.source)}{revision}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        _needs(f"the judge {self.name}")
        import torch
        from transformers import AutoProcessor, CLIPModel

        where = {"revision": self.revision} if self.revision else {}
        model = CLIPModel.from_pretrained(self.source, dtype=torch.float32, **where).to(self.device).eval()
        return model, AutoProcessor.from_pretrained(self.source, **where)

    def _encode_text(self, text: str) -> tuple[Any, bool]:
        model, processor = self._loaded
        import torch

        longest = int(model.config.text_config.max_position_embeddings)
        tokens = processor.tokenizer(text, return_tensors="pt", truncation=True, max_length=longest)
        cut = len(processor.tokenizer(text)["input_ids"]) > longest
        with torch.inference_mode():
            vector = model.get_text_features(**tokens.to(self.device))
        return _unit(vector), cut

    def _encode_picture(self, data: bytes) -> Any:
        model, processor = self._loaded
        import torch
        from PIL import Image

        pixels = processor.image_processor(images=Image.open(BytesIO(data)).convert("RGB"), return_tensors="pt")
        with torch.inference_mode():
            return _unit(model.get_image_features(**pixels.to(self.device)))

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """One verdict for each case; recused where an item has no picture, or no reference where that is compared."""
        for case in cases:
            why = unread(case) or ("" if case.item.pictures else "the item has no picture")
            why = why or ("the item has no reference" if self.reference and not case.item.reference else "")
            if why:
                yield Verdict.of(case, self.name, "recused", text=why)
                continue
            figures, cut = self._figures(case)
            told = " ".join(f"{figure:.4f}" for figure in figures)
            told += f" ({cut} texts cut to what the model reads)" if cut else ""
            marks = marks_from(case.ballot, figures)
            yield Verdict.of(case, self.name, "recused" if marks is None else marks, text=told)

    def _figures(self, case: Case) -> tuple[list[float], int]:
        pictures = [self._picture(picture.data()) for picture in case.item.pictures]
        known = self._text(case.item.reference or "")[0] if self.reference else None
        figures, cut = [], 0
        for response in case.responses:
            words, shortened = self._text(response.text)
            cut += shortened
            seen = sum(2.5 * max(float(words @ picture), 0.0) for picture in pictures) / len(pictures)
            near = None if known is None else max(float(words @ known), 0.0)
            figures.append(seen if near is None else _harmonic(seen, near))
        return figures, cut


def _unit(features: Any) -> Any:
    """A row of features at length one; newer releases of transformers give them inside an object."""
    import numpy as np

    row = getattr(features, "pooler_output", features)[0].float().cpu().numpy().astype(np.float64)
    return row / (np.linalg.norm(row) or 1.0)


def _harmonic(one: float, two: float) -> float:
    return 2 * one * two / (one + two) if one + two > 0 else 0.0


def texts_of(path: Path) -> Sequence[str]:
    """The references of a file of items, as what a baseline is computed from."""
    from fullbench.files.item_files import read_items

    return [item.reference for item in read_items(path) if item.reference]
