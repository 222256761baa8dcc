"""Measures of a picture that need no weights: something real that runs anywhere, and a baseline for score models.

They look at the picture alone and know nothing of the prompt. Each is brought to 0..1, more is better; where a measure
has no natural end, half of the range is reached at a stated value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fullbench.errors import InputError
from fullbench.judges.scorers.scorer_judge import ScorerJudge, Span

if TYPE_CHECKING:
    from PIL.Image import Image

Grey = npt.NDArray[np.float32]
SIDE = 1024
HALF_SHARP, HALF_NOISE, HALF_COLOUR = 100.0, 8.0, 40.0


def sharpness(image: Image) -> float:
    """The variance of the Laplacian (Pech-Pacheco et al. 2000, doi:10.1109/ICPR.2000.903548); 0.5 at 100."""
    grey = _grey(image)
    edges = _convolved(grey, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], dtype=np.float32))
    return _half(float(edges.var(dtype=np.float64)), HALF_SHARP)


def noise(image: Image) -> float:
    """How little noise there is: one minus Immerkaer's estimate of its deviation (1996, doi:10.1006/cviu.1996.0060),
    which is 0.5 at 8 of 255."""
    grey = _grey(image)
    laplacian = _convolved(grey, np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32))
    np.abs(laplacian, out=laplacian)
    return 1 - _half(float(np.sqrt(np.pi / 2) * laplacian.mean(dtype=np.float64) / 6), HALF_NOISE)


def colourfulness(image: Image) -> float:
    """Hasler and Suesstrunk's measure (2003, doi:10.1117/12.477378); 0.5 at 40."""
    red, green, blue = np.moveaxis(np.asarray(_small(image), dtype=float), -1, 0)
    red_green, yellow_blue = red - green, (red + green) / 2 - blue
    return _half(
        float(np.hypot(red_green.std(), yellow_blue.std()) + 0.3 * np.hypot(red_green.mean(), yellow_blue.mean())),
        HALF_COLOUR,
    )


def naturalness(image: Image) -> float:
    """How near the picture's normalised luminance is to a Gaussian, as that of untouched photographs is.

    BRISQUE's first feature (Mittal et al. 2012, doi:10.1109/TIP.2012.2214050): the shape of a generalised Gaussian
    fitted to the mean-subtracted, contrast-normalised values. It is not BRISQUE's trained regression.
    """
    grey = _grey(image)
    centre = _smooth(grey)
    spread = np.sqrt(np.maximum(_smooth(grey * grey) - centre * centre, 0))
    values = (grey - centre) / (spread + 1)
    power = float((values**2).mean())
    if power == 0:
        return 0.0
    shape = _shape(float(np.abs(values).mean()) ** 2 / power)
    return float(np.exp(-abs(np.log(shape / 2))))


MEASURES: Mapping[str, Callable[[Image], float]] = {
    "sharpness": sharpness,
    "noise": noise,
    "colourfulness": colourfulness,
    "naturalness": naturalness,
}


@dataclass(frozen=True)
class MeasureScorer:
    """A measure as a scorer. Since it needs no prompt, it is taken where the picture is decoded: in several threads."""

    name: str
    span: Span = (0.0, 1.0)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, image: Image) -> float:
        return MEASURES[self.name](image)

    def score(self, prompts: Sequence[str], prepared: Sequence[float]) -> Sequence[float]:
        return prepared


def measure(name: str) -> MeasureScorer:
    """A scorer by the name of its measure."""
    if name not in MEASURES:
        raise InputError(f"there is no measure {name!r}; known: {', '.join(MEASURES)}")
    return MeasureScorer(name)


def judge(rest: str, options: Mapping[str, str]) -> ScorerJudge:
    """The judge that `picture:sharpness` names; it takes a margin."""
    unknown = [option for option in options if option != "margin"]
    if unknown:
        raise InputError(f"a measure takes only a margin; found {unknown[0]!r}")
    return ScorerJudge(measure(rest), margin=number(options, "margin", 0.0))


def number(options: Mapping[str, str], name: str, default: float) -> float:
    """A number among options."""
    try:
        return float(options.get(name, default))
    except ValueError as error:
        raise InputError(f"the option {name} is a number; found {options[name]!r}") from error


def _half(value: float, half: float) -> float:
    return value / (value + half)


def _small(image: Image) -> Image:
    factor = max(1, max(image.size) // SIDE)
    return image.reduce(factor) if factor > 1 else image


def _grey(image: Image) -> Grey:
    grey: Grey = np.asarray(_small(image).convert("L"), dtype=np.float32)
    if min(grey.shape) < 3:
        grey = np.pad(grey, 3, mode="edge")
    return grey


def _convolved(grey: Grey, kernel: Grey) -> Grey:
    """Inner convolution with a kernel of three by three."""
    height, width = grey.shape
    total: Grey = np.zeros((height - 2, width - 2), dtype=grey.dtype)
    part = np.empty_like(total)
    for row in range(3):
        for column in range(3):
            if kernel[row, column]:
                np.multiply(grey[row : row + height - 2, column : column + width - 2], kernel[row, column], out=part)
                total += part
    return total


def _smooth(grey: Grey) -> Grey:
    from scipy.ndimage import gaussian_filter

    smooth: Grey = gaussian_filter(grey, 7 / 6, mode="nearest", truncate=3 / (7 / 6))
    return smooth


def _shape(ratio: float) -> float:
    """The shape of the generalised Gaussian whose squared mean magnitude is this share of its power."""
    from scipy.special import gammaln

    shapes: Any = np.arange(0.2, 10.0, 0.01)
    known = np.exp(2 * gammaln(2 / shapes) - gammaln(1 / shapes) - gammaln(3 / shapes))
    return float(shapes[np.argmin(np.abs(known - ratio))])
