"""Fit of an answer to its picture: a judge for any measure, and the paper's measure, CLIP.

CLIP reads a window of limited length. A longer answer is cut into five windows of that length, spaced evenly from its
first token to the last possible start. Its cosine is the mean over the windows, so irrelevant parts cost.

If CLIP is not available, picture tools provide another measure: see `studies.judge_contestant_and_benchmark_specs`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fullbench.core.case import Case
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import CallsNoModel, Kind
from fullbench.core.picture import Picture
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError, require_extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WINDOWS = 5


def window_starts(tokens: int, size: int, count: int = WINDOWS) -> list[int]:
    """Return where the windows of a text begin: 0 if it fits, else evenly from 0 to the last possible start.

    >>> window_starts(60, 77), window_starts(77, 77), window_starts(97, 77)
    ([0], [0], [0, 5, 10, 15, 20])
    """
    if tokens <= size:
        return [0]
    return [round(place * (tokens - size) / (count - 1)) for place in range(count)]


class Encoder(Protocol):
    """Two towers that map a picture, and several token windows at once, to vectors of one space (a row each)."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def picture(self, picture: Picture) -> Floats: ...

    def texts(self, windows: Sequence[Sequence[int]]) -> Floats: ...


class Measure(Protocol):
    """Fit of a text to a picture, from -1 to 1; None if there is nothing to compare.
    `name` is the identity: whatever changes a number changes it.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def fit(self, picture: Picture, text: str) -> float | None: ...


@dataclass(frozen=True)
class Correlation(CallsNoModel):
    """A measure as a judge of answers to a picture. It abstains if there is no picture or nothing to compare."""

    kind: ClassVar[Kind] = "scorer"

    measure: Measure

    @property
    def name(self) -> str:
        return self.measure.name

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.measure.settings

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            marks = [self._mark(case.item.pictures, response.text) for response in case.responses]
            defined_marks = [mark for mark in marks if mark is not None]
            yield Verdict.from_case(case, self.name, defined_marks if len(defined_marks) == len(marks) else "abstained")

    def _mark(self, pictures: Sequence[Picture], text: str) -> float | None:
        return self.measure.fit(pictures[-1], text) if pictures else None


class ClipMeasure:
    """Cosine of a picture and a text, averaged over windows. None if the text has no token."""

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
        picture_vector = self._picture_vector(picture)
        size = self._encoder.window
        rows = self._encoder.texts([tokens[begin : begin + size] for begin in window_starts(len(tokens), size)])
        cosines = rows @ picture_vector / (np.linalg.norm(rows, axis=1) * np.linalg.norm(picture_vector))
        return max(-1.0, min(1.0, float(np.mean(cosines))))

    def _picture_vector(self, picture: Picture) -> Floats:
        if picture.digest not in self._pictures:
            self._pictures[picture.digest] = self._encoder.picture(picture)
        return self._pictures[picture.digest]


class TransformersClip:
    """A CLIP model in a folder saved by `transformers`. Its window leaves room for the start and end tokens.

    `device` is `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`... It is not part of the name, since the
    cosine changes only by rounding.
    """

    def __init__(self, folder: str | Path, device: str = "auto") -> None:
        self._folder = Path(folder)
        self._device = device
        if not (self._folder / "config.json").is_file():
            raise InputError("no CLIP model here: the folder needs a config.json", path=self._folder)

    @cached_property
    def name(self) -> str:
        files = sorted((file.name, file.stat().st_size) for file in self._folder.iterdir() if file.is_file())
        return f"clip:{self._folder.name}#{digest([[name, size] for name, size in files])[:8]}"

    @cached_property
    def _model_and_processor(self) -> tuple[Any, Any]:
        with require_extra("a CLIP correlation", "clip"):
            from transformers import CLIPModel, CLIPProcessor
        try:
            model = CLIPModel.from_pretrained(self._folder, local_files_only=True).eval()
            model = _move_to_device(model, self._device)
            return model, CLIPProcessor.from_pretrained(self._folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise InputError(f"the folder contains no readable CLIP model ({error})", path=self._folder) from error

    @property
    def window(self) -> int:
        return int(self._model_and_processor[0].config.text_config.max_position_embeddings) - 2

    def tokens(self, text: str) -> Sequence[int]:
        ids: list[int] = self._model_and_processor[1].tokenizer(text, add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return ids

    def picture(self, picture: Picture) -> Floats:
        from PIL import Image

        model, processor = self._model_and_processor
        with Image.open(io.BytesIO(picture.data())) as image:
            pixels = processor.image_processor(image.convert("RGB"), return_tensors="pt")
        with _without_gradients():
            row: Floats = _output_rows(model.get_image_features(**pixels.to(model.device)))[0]
        return row

    def texts(self, windows: Sequence[Sequence[int]]) -> Floats:
        """Encode all windows in one pass: those of one answer have the same length."""
        import torch

        model, processor = self._model_and_processor
        ends = processor.tokenizer.bos_token_id, processor.tokenizer.eos_token_id
        ids = torch.tensor([[ends[0], *window, ends[1]] for window in windows], device=model.device)
        with _without_gradients():
            return _output_rows(model.get_text_features(input_ids=ids, attention_mask=torch.ones_like(ids)))


def _move_to_device(model: Any, device: str) -> Any:
    import torch

    device_name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        return model.to(device_name)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise InputError(f"CLIP cannot be put on the device {device!r} ({str(error).splitlines()[0]})") from error


def _without_gradients() -> Any:
    import torch

    return torch.inference_mode()


def _output_rows(output: Any) -> Floats:
    """Return the rows of a tower, given as a tensor or, since transformers 5, inside an output object."""
    import numpy as np

    rows = getattr(output, "pooler_output", output)
    return np.asarray(rows.detach().float().cpu().numpy(), dtype=np.float64)


def build_clip_correlation(folder: str | Path, device: str = "auto") -> Correlation:
    """Build a correlation judge from the CLIP model in a folder."""
    return Correlation(ClipMeasure(TransformersClip(folder, device)))
