"""Text encoders and CLIPScore through transformers, from a hub name or a local folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Kind
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, require_packages
from fullbench.judges.baselines import marks_from, pictures_only_reason

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
"""The layer that BERTScore's authors found best for each encoder; others use their last layer."""


def model_identity(source: str) -> str:
    """Return a hub name unchanged; for a folder, its name and a digest of its config and weight sizes."""
    path = Path(source)
    if not path.is_dir():
        return source
    config = path / "config.json"
    if not config.exists():
        raise InputError("the folder contains no model: config.json is missing", path=path)
    files = sorted(file for pattern in ("*.safetensors", "*.bin") for file in path.glob(pattern))
    return f"{path.name}#{digest([config.read_text(encoding='utf-8'), *(file.stat().st_size for file in files)])[:8]}"


@dataclass(eq=False)
class HubEncoder:
    """Hidden states of an encoder at one layer, one row per token, and the tokens that count.
    As in the authors' code, the start and end tokens can be matched but do not count.
    """

    source: str
    layer: int | None = None
    revision: str = ""
    device: str = "cpu"

    @cached_property
    def name(self) -> str:
        layer = self.layer if self.layer is not None else LAYERS.get(self.source)
        marks = [*([] if layer is None else [f"layer{layer}"]), *filter(None, [self.revision])]
        return "@".join([model_identity(self.source), *marks])

    @cached_property
    def _encoder_parts(self) -> tuple[Any, Any, int]:
        require_packages(f"the encoder {self.source}", "local", "transformers", "torch")
        import torch
        from transformers import AutoModel, AutoTokenizer

        from fullbench.models.local.transformers_model import quiet_transformers

        where = {"revision": self.revision} if self.revision else {}
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(self.source, **where)
            model = AutoModel.from_pretrained(self.source, dtype=torch.float32, **where).to(self.device).eval()
        depth = int(model.config.num_hidden_layers)
        layer = self.layer if self.layer is not None else LAYERS.get(self.source, depth)
        if not 0 <= layer <= depth:
            raise InputError(f"the encoder {self.source} has {depth} layers; there is no layer {layer}")
        return tokenizer, model, layer

    def __call__(self, text: str) -> tuple[Vectors, Vectors]:
        import numpy as np

        tokenizer, model, layer = self._encoder_parts
        import torch

        longest = min(int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", 512)))
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest,
                           return_special_tokens_mask=True)  # fmt: skip
        special = tokens.pop("special_tokens_mask")[0].numpy().astype(np.float64)
        with torch.inference_mode():
            states = model(**tokens.to(self.device), output_hidden_states=True).hidden_states[layer][0]
        return states.float().cpu().numpy().astype(np.float64), 1.0 - special


@dataclass(eq=False)
class ClipScoreJudge(CallsNoModel):
    """CLIPScore of text answers with the item's pictures (Hessel et al. 2021); RefCLIPScore adds the reference.

    The score is 2.5 times the cosine, at least 0; the mean over several pictures. RefCLIPScore is the harmonic mean
    of that and of the cosine with the reference. A text longer than the model reads is cut, and the verdict says so.
    """

    kind: ClassVar[Kind] = "metric"

    source: str
    reference: bool = False
    revision: str = ""
    device: str = "cpu"
    settings: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        metric_name = "RefCLIPScore" if self.reference else "CLIPScore"
        self.settings = {
            "metric": metric_name,
            "model": model_identity(self.source),
            "revision": self.revision,
            "picture_mode": "image",
        }
        self._text = lru_cache(maxsize=4096)(self._encode_text)
        self._picture = lru_cache(maxsize=1024)(self._encode_picture)

    @property
    def name(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{'refclipscore' if self.reference else 'clipscore'}+{model_identity(self.source)}{revision}"

    @cached_property
    def _model_and_processor(self) -> tuple[Any, Any]:
        require_packages(f"the judge {self.name}", "local", "transformers", "torch")
        import torch
        from transformers import AutoProcessor, CLIPModel

        from fullbench.models.local.transformers_model import quiet_transformers

        where = {"revision": self.revision} if self.revision else {}
        with quiet_transformers():
            model = CLIPModel.from_pretrained(self.source, dtype=torch.float32, **where).to(self.device).eval()
        return model, AutoProcessor.from_pretrained(self.source, **where)

    def _encode_text(self, text: str) -> tuple[Any, bool]:
        model, processor = self._model_and_processor
        import torch

        longest = int(model.config.text_config.max_position_embeddings)
        tokens = processor.tokenizer(text, return_tensors="pt", truncation=True, max_length=longest)
        cut = len(processor.tokenizer(text)["input_ids"]) > longest
        with torch.inference_mode():
            vector = model.get_text_features(**tokens.to(self.device))
        return _unit_vector(vector), cut

    def _encode_picture(self, data: bytes) -> Any:
        model, processor = self._model_and_processor
        import torch
        from PIL import Image

        pixels = processor.image_processor(images=Image.open(BytesIO(data)).convert("RGB"), return_tensors="pt")
        with torch.inference_mode():
            return _unit_vector(model.get_image_features(**pixels.to(self.device)))

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        """Yield one verdict per case; abstain without a picture, or without a reference for RefCLIPScore."""
        for case in cases:
            why = pictures_only_reason(case) or ("" if case.item.pictures else "the item has no picture")
            why = why or ("the item has no reference" if self.reference and not case.item.reference else "")
            if why:
                yield Verdict.from_case(case, self.name, "abstained", text=why)
                continue
            scores, cut = self._clip_scores(case)
            score_text = " ".join(f"{score:.4f}" for score in scores)
            score_text += f" ({cut} texts cut to what the model reads)" if cut else ""
            marks = marks_from(case.ballot, scores)
            yield Verdict.from_case(case, self.name, "abstained" if marks is None else marks, text=score_text)

    def _clip_scores(self, case: Case) -> tuple[list[float], int]:
        pictures = [self._picture(picture.data()) for picture in case.item.pictures]
        reference_vector = self._text(case.item.reference or "")[0] if self.reference else None
        scores, cut = [], 0
        for response in case.responses:
            text_vector, is_cut = self._text(response.text)
            cut += is_cut
            picture_score = sum(2.5 * max(float(text_vector @ picture), 0.0) for picture in pictures) / len(pictures)
            if reference_vector is not None:  # the harmonic mean of both
                reference_score = max(float(text_vector @ reference_vector), 0.0)
                total = picture_score + reference_score
                picture_score = 2 * picture_score * reference_score / total if total > 0 else 0.0
            scores.append(picture_score)
        return scores, cut


def _unit_vector(features: Any) -> Any:
    """Newer releases of transformers wrap the row in an object."""
    import numpy as np

    row = getattr(features, "pooler_output", features)[0].float().cpu().numpy().astype(np.float64)
    return row / (np.linalg.norm(row) or 1.0)


def reference_texts(path: Path) -> Sequence[str]:
    """Return the references in a file of items, for a baseline."""
    from fullbench.files.item_response_verdict_files import read_items

    return [item.reference for item in read_items(path) if item.reference]
