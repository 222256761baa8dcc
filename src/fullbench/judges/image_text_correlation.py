"""How well an answer fits its picture: a judge of any measure, and the paper's measure, CLIP.

CLIP reads a window of so many tokens. A longer answer is cut into five windows of that length whose beginnings lie
evenly between its first token and the last one that leaves room, and its cosine is the mean over them: what is beside
the point costs, however long the rest is.

Where no CLIP can be had, tools that look at pictures bring a measure of their own: see `studies.judge_and_model_specs`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fullbench.core.case import Case
from fullbench.core.digests import digest
from fullbench.core.judge import AsksNobody, Kind
from fullbench.core.picture import Picture
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WINDOWS = 5


def windows(tokens: int, size: int, count: int = WINDOWS) -> list[int]:
    """Where the windows of a text begin: at 0 when it fits, else evenly from 0 to the last place that leaves room.

    >>> windows(60, 77), windows(77, 77), windows(97, 77)
    ([0], [0], [0, 5, 10, 15, 20])
    """
    if tokens <= size:
        return [0]
    return [round(place * (tokens - size) / (count - 1)) for place in range(count)]


class Encoder(Protocol):
    """Two towers: a picture, and several pieces of text at once, as vectors of one space (a row each)."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def picture(self, picture: Picture) -> Floats: ...

    def texts(self, windows: Sequence[Sequence[int]]) -> Floats: ...


class Measure(Protocol):
    """How well a text fits a picture, as a number from -1 to 1; None where there is nothing to compare.

    `name` is the identity: what changes a number changes it.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def fit(self, picture: Picture, text: str) -> float | None: ...


@dataclass(frozen=True)
class Correlation(AsksNobody):
    """A measure as a judge: it rules on answers to a picture. Recused where there is none, or nothing to compare."""

    kind: ClassVar[Kind] = "scorer"

    measure: Measure

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.measure.settings

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            marks = [self._mark(case.item.pictures, response.text) for response in case.responses]
            known = [mark for mark in marks if mark is not None]
            yield Verdict.of(case, self.name, known if len(known) == len(marks) else "recused")

    def _mark(self, pictures: Sequence[Picture], text: str) -> float | None:
        return self.measure.fit(pictures[-1], text) if pictures else None


class ClipMeasure:
    """The cosine of a picture and a text, by the rule of windows. None where there is no word."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._pictures: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        return f"{self._encoder.name}, {WINDOWS} windows"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"encoder": self._encoder.name, "window": self._encoder.window, "windows": WINDOWS}

    def fit(self, picture: Picture, text: str) -> float | None:
        import numpy as np

        tokens = self._encoder.tokens(text)
        if not tokens:
            return None
        seen = self._seen(picture)
        size = self._encoder.window
        rows = self._encoder.texts([tokens[begin : begin + size] for begin in windows(len(tokens), size)])
        cosines = rows @ seen / (np.linalg.norm(rows, axis=1) * np.linalg.norm(seen))
        return max(-1.0, min(1.0, float(np.mean(cosines))))

    def _seen(self, picture: Picture) -> Floats:
        if picture.digest not in self._pictures:
            self._pictures[picture.digest] = self._encoder.picture(picture)
        return self._pictures[picture.digest]


class TransformersClip:
    """A CLIP model in a folder, as `transformers` saves it. Its window leaves room for the two marks around a text.

    `device` is `auto` (a GPU where there is one), `cpu`, `cuda`, `cuda:1`...; it is no part of the name, for a cosine
    is the same on any of them but for rounding.
    """

    def __init__(self, folder: str | Path, device: str = "auto") -> None:
        self._folder = Path(folder)
        self._device = device
        if not (self._folder / "config.json").is_file():
            raise InputError("no CLIP model is there: the folder must hold a config.json", path=self._folder)

    @cached_property
    def name(self) -> str:
        files = sorted((file.name, file.stat().st_size) for file in self._folder.iterdir() if file.is_file())
        return f"clip:{self._folder.name}#{digest([[name, size] for name, size in files])[:8]}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        try:
            from transformers import CLIPModel, CLIPProcessor
        except ImportError as error:
            raise MissingExtra("a CLIP correlation", "clip") from error
        try:
            model = CLIPModel.from_pretrained(self._folder, local_files_only=True).eval()
            model = _on(model, self._device)
            return model, CLIPProcessor.from_pretrained(self._folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise InputError(f"the folder holds no CLIP model that can be read ({error})", path=self._folder) from error

    @property
    def window(self) -> int:
        return int(self._loaded[0].config.text_config.max_position_embeddings) - 2

    def tokens(self, text: str) -> Sequence[int]:
        ids: list[int] = self._loaded[1].tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids

    def picture(self, picture: Picture) -> Floats:
        from PIL import Image

        model, processor = self._loaded
        with Image.open(io.BytesIO(picture.data())) as opened:
            pixels = processor.image_processor(opened.convert("RGB"), return_tensors="pt")
        with _without_gradients():
            row: Floats = _rows(model.get_image_features(**pixels.to(model.device)))[0]
        return row

    def texts(self, windows: Sequence[Sequence[int]]) -> Floats:
        """All windows in one pass: those of one answer have the same length."""
        import torch

        model, processor = self._loaded
        ends = processor.tokenizer.bos_token_id, processor.tokenizer.eos_token_id
        ids = torch.tensor([[ends[0], *window, ends[1]] for window in windows], device=model.device)
        with _without_gradients():
            return _rows(model.get_text_features(input_ids=ids, attention_mask=torch.ones_like(ids)))


def _on(model: Any, device: str) -> Any:
    """The model on a device, by its name."""
    import torch

    chosen = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        return model.to(chosen)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise InputError(f"CLIP cannot be put on the device {device!r} ({str(error).splitlines()[0]})") from error


def _without_gradients() -> Any:
    import torch

    return torch.inference_mode()


def _rows(output: Any) -> Floats:
    """The rows that a tower gives, whether as a tensor or, since transformers 5, inside an output."""
    import numpy as np

    rows = getattr(output, "pooler_output", output)
    return np.asarray(rows.detach().float().cpu().numpy(), dtype=np.float64)


def clip(folder: str | Path, device: str = "auto") -> Correlation:
    """The CLIP model in a folder, as a judge of correlation."""
    return Correlation(ClipMeasure(TransformersClip(folder, device)))
