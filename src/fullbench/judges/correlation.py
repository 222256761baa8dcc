"""How well an answer fits its picture: a judge of any measure, and the paper's measure, CLIP.

CLIP reads a window of so many tokens. A longer answer is cut into five windows of that length whose beginnings lie
evenly between its first token and the last one that leaves room, and its cosine is the mean over them: what is beside
the point costs, however long the rest is.

Where no CLIP can be had, tools that look at pictures bring a measure of their own: see `studies.correlations`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from fullbench.errors import InputError, MissingExtra
from fullbench.nouns.case import Case
from fullbench.nouns.digests import digest
from fullbench.nouns.judge import AsksNobody, Kind
from fullbench.nouns.picture import Picture
from fullbench.nouns.verdict import Verdict

if TYPE_CHECKING:
    from fullbench.stats.arrays import Floats

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
    """Two towers: pictures and pieces of text as vectors of one space."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def picture(self, picture: Picture) -> Floats: ...

    def text(self, tokens: Sequence[int]) -> Floats: ...


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
        parts = [self._encoder.text(tokens[begin : begin + size]) for begin in windows(len(tokens), size)]
        cosines = [float(seen @ part / (np.linalg.norm(seen) * np.linalg.norm(part))) for part in parts]
        return max(-1.0, min(1.0, float(np.mean(cosines))))

    def _seen(self, picture: Picture) -> Floats:
        if picture.digest not in self._pictures:
            self._pictures[picture.digest] = self._encoder.picture(picture)
        return self._pictures[picture.digest]


class TransformersClip:
    """A CLIP model in a folder, as `transformers` saves it. Its window leaves room for the two marks around a text."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
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
        return _vector(model.get_image_features(**pixels))

    def text(self, tokens: Sequence[int]) -> Floats:
        import torch

        model, processor = self._loaded
        marked = [processor.tokenizer.bos_token_id, *tokens, processor.tokenizer.eos_token_id]
        ids = torch.tensor([marked])
        return _vector(model.get_text_features(input_ids=ids, attention_mask=torch.ones_like(ids)))


def _vector(output: Any) -> Floats:
    """The one row that a tower gives, whether as a tensor or, since transformers 5, inside an output."""
    import numpy as np

    rows = getattr(output, "pooler_output", output)
    return np.asarray(rows.detach().numpy()[0], dtype=np.float64)


def clip(folder: str | Path) -> Correlation:
    """The CLIP model in a folder, as a judge of correlation."""
    return Correlation(ClipMeasure(TransformersClip(folder)))
