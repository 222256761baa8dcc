"""How well an answer fits its picture, by two judges that are asked nothing: CLIP, and a tool that knows colours.

CLIP reads a window of so many tokens. A longer answer is cut into five windows of that length whose beginnings lie
evenly between its first token and the last one that leaves room, and its cosine is the mean over them: what is beside
the point costs, however long the rest is.

Where no CLIP can be had, `ColourCorrelation` compares the colours that an answer names with those that the picture has.
It is a tool-grounded correlation of its own and no CLIP score.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.core.cases import Case, Verdict
from fullbench.core.errors import InputError, MissingExtra
from fullbench.core.items import digest
from fullbench.core.pictures import Picture

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


class ClipCorrelation:
    """The cosine of a picture and an answer, by the rule of windows. Recused where there is no picture, or no word."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._pictures: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        return f"{self._encoder.name}, {WINDOWS} windows"

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"encoder": self._encoder.name, "window": self._encoder.window, "windows": WINDOWS}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            marks = [self._cosine(case.item.pictures, response.text) for response in case.responses]
            known = [mark for mark in marks if mark is not None]
            yield Verdict.of(case, self.name, known if len(known) == len(marks) else "recused")

    def _cosine(self, pictures: Sequence[Picture], text: str) -> float | None:
        import numpy as np

        tokens = self._encoder.tokens(text)
        if not pictures or not tokens:
            return None
        seen = self._seen(pictures[-1])
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
        found: list[int] = self._loaded[1].tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return found

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


def clip(folder: str | Path) -> ClipCorrelation:
    """The CLIP model in a folder, as a judge of correlation."""
    return ClipCorrelation(TransformersClip(folder))


HUES: Mapping[str, tuple[float, float]] = {
    "red": (340, 15), "orange": (15, 40), "yellow": (40, 68), "green": (68, 165), "blue": (165, 255),
    "purple": (255, 300), "pink": (300, 340),
}  # fmt: skip
"""From which hue to which, in degrees, a colour goes by its name."""
_WORDS: Mapping[str, str] = {
    "red": "red|红", "orange": "orange|橙", "yellow": "yellow|golden|黄", "green": "green|绿", "blue": "blue|azure|蓝",
    "purple": "purple|violet|紫", "pink": "pink|粉", "black": "black|黑", "white": "white|白", "grey": "gr[ae]y|灰",
}  # fmt: skip
_NAMES = re.compile("|".join(rf"(?P<{name}>(?:\b(?=[a-z])|(?![a-z]))(?:{words}))" for name, words in _WORDS.items()))
LEAST = 0.0015
"""The share of a picture that a colour must fill to be there."""


class ColourCorrelation:
    """The share of the colours named that the picture has, from -1 (none) to 1 (all). Recused where none is named."""

    name = "colours, tool-grounded"

    def __init__(self) -> None:
        self._pictures: dict[str, frozenset[str]] = {}

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"least": LEAST, "hues": {name: list(span) for name, span in HUES.items()}}

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            marks = [self._fit(case.item.pictures, response.text) for response in case.responses]
            known = [mark for mark in marks if mark is not None]
            yield Verdict.of(case, self.name, known if len(known) == len(marks) else "recused")

    def _fit(self, pictures: Sequence[Picture], text: str) -> float | None:
        named = colours_named(text)
        if not pictures or not named:
            return None
        picture = pictures[-1]
        if picture.digest not in self._pictures:
            self._pictures[picture.digest] = colours_shown(picture)
        return 2 * len(named & self._pictures[picture.digest]) / len(named) - 1


def colours_named(text: str) -> frozenset[str]:
    """The colours that a text names, in English or Chinese.

    >>> sorted(colours_named("Two red stars beside a blue one; 还有绿色的圆形。"))
    ['blue', 'green', 'red']
    """
    return frozenset(found.lastgroup for found in _NAMES.finditer(text.lower()) if found.lastgroup)


def colours_shown(picture: Picture) -> frozenset[str]:
    """The colours that fill a part of the picture worth naming."""
    import numpy as np
    from PIL import Image

    with Image.open(io.BytesIO(picture.data())) as opened:
        small = opened.convert("RGB")
        small.thumbnail((160, 160))
        hue, vivid, bright = np.asarray(small.convert("HSV"), dtype=np.float64).reshape(-1, 3).T
    degrees, vivid, bright = hue * 360 / 255, vivid / 255, bright / 255
    coloured = (vivid > 0.3) & (bright > 0.25)
    shares = {
        name: float((coloured & _between(degrees, *span)).mean()) for name, span in HUES.items()
    } | {
        "black": float((bright <= 0.25).mean()),
        "white": float(((vivid < 0.12) & (bright > 0.85)).mean()),
        "grey": float(((vivid < 0.15) & (bright > 0.25) & (bright <= 0.85)).mean()),
    }  # fmt: skip
    return frozenset(name for name, share in shares.items() if share >= LEAST)


def _between(degrees: Floats, begin: float, end: float) -> Any:
    return (degrees >= begin) & (degrees < end) if begin < end else (degrees >= begin) | (degrees < end)
