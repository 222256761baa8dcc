"""Measures of a picture that need no weights: they run anywhere and are baselines for score models.

They use the picture alone and ignore the prompt. Each is scaled to 0..1, more is better. If a measure has no natural
maximum, it is 0.5 at a stated value.
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
    """Return the variance of the Laplacian (Pech-Pacheco et al. 2000, doi:10.1109/ICPR.2000.903548); 0.5 at 100."""
    grey = _grey_levels(image)
    edges = _convolve_inner(grey, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], dtype=np.float32))
    return _half_saturation(float(edges.var(dtype=np.float64)), HALF_SHARP)


def low_noise(image: Image) -> float:
    """Return one minus Immerkaer's noise estimate (1996, doi:10.1006/cviu.1996.0060); 0.5 at 8 of 255."""
    grey = _grey_levels(image)
    laplacian = _convolve_inner(grey, np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], dtype=np.float32))
    np.abs(laplacian, out=laplacian)
    return 1 - _half_saturation(float(np.sqrt(np.pi / 2) * laplacian.mean(dtype=np.float64) / 6), HALF_NOISE)


def colourfulness(image: Image) -> float:
    """Return Hasler and Suesstrunk's colourfulness (2003, doi:10.1117/12.477378); 0.5 at 40."""
    red, green, blue = np.moveaxis(np.asarray(_shrink_image(image), dtype=float), -1, 0)
    red_green, yellow_blue = red - green, (red + green) / 2 - blue
    return _half_saturation(
        float(np.hypot(red_green.std(), yellow_blue.std()) + 0.3 * np.hypot(red_green.mean(), yellow_blue.mean())),
        HALF_COLOUR,
    )


def naturalness(image: Image) -> float:
    """Return how close the normalised luminance is to a Gaussian, as in unprocessed photographs.

    BRISQUE's first feature (Mittal et al. 2012, doi:10.1109/TIP.2012.2214050): the shape of a generalised Gaussian
    fitted to the mean-subtracted, contrast-normalised values. It is not BRISQUE's trained regression.
    """
    grey = _grey_levels(image)
    centre = _gaussian_blur(grey)
    spread = np.sqrt(np.maximum(_gaussian_blur(grey * grey) - centre * centre, 0))
    values = (grey - centre) / (spread + 1)
    power = float((values**2).mean())
    if power == 0:
        return 0.0
    shape = _gaussian_shape(float(np.abs(values).mean()) ** 2 / power)
    return float(np.exp(-abs(np.log(shape / 2))))


MEASURES: Mapping[str, Callable[[Image], float]] = {
    "sharpness": sharpness,
    "noise": low_noise,
    "colourfulness": colourfulness,
    "naturalness": naturalness,
}


@dataclass(frozen=True)
class MeasureScorer:
    """A measure as a scorer. It needs no prompt, so `prepare` computes it, in several threads."""

    name: str
    span: Span = (0.0, 1.0)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, image: Image) -> float:
        return MEASURES[self.name](image)

    def score(self, prompts: Sequence[str], prepared_pictures: Sequence[float]) -> Sequence[float]:
        return prepared_pictures


def measure_scorer(name: str) -> MeasureScorer:
    """Return the scorer of a measure by name."""
    if name not in MEASURES:
        raise InputError(f"there is no measure {name!r}; known: {', '.join(MEASURES)}")
    return MeasureScorer(name)


def build_measure_judge(argument: str, options: Mapping[str, str]) -> ScorerJudge:
    """Build the judge for `picture:sharpness` or another measure; its only option is `margin`."""
    unknown = [option for option in options if option != "margin"]
    if unknown:
        raise InputError(f"a measure takes only a margin; found {unknown[0]!r}")
    return ScorerJudge(measure_scorer(argument), margin=number_option(options, "margin", 0.0))


def number_option(options: Mapping[str, str], name: str, default: float) -> float:
    """Return a number among options."""
    try:
        return float(options.get(name, default))
    except ValueError as error:
        raise InputError(f"the option {name} is a number; found {options[name]!r}") from error


def _half_saturation(value: float, half_point: float) -> float:
    return value / (value + half_point)


def _shrink_image(image: Image) -> Image:
    factor = max(1, max(image.size) // SIDE)
    return image.reduce(factor) if factor > 1 else image


def _grey_levels(image: Image) -> Grey:
    grey: Grey = np.asarray(_shrink_image(image).convert("L"), dtype=np.float32)
    if min(grey.shape) < 3:
        grey = np.pad(grey, 3, mode="edge")
    return grey


def _convolve_inner(grey: Grey, kernel: Grey) -> Grey:
    height, width = grey.shape
    total: Grey = np.zeros((height - 2, width - 2), dtype=grey.dtype)
    part = np.empty_like(total)
    for row in range(3):
        for column in range(3):
            if kernel[row, column]:
                np.multiply(grey[row : row + height - 2, column : column + width - 2], kernel[row, column], out=part)
                total += part
    return total


def _gaussian_blur(grey: Grey) -> Grey:
    from scipy.ndimage import gaussian_filter

    # BRISQUE's window: 7 by 7 pixels (3 on each side) with a deviation of 7/6.
    smooth: Grey = gaussian_filter(grey, 7 / 6, mode="nearest", truncate=3 / (7 / 6))
    return smooth


def _gaussian_shape(ratio: float) -> float:
    """Return the generalised Gaussian's shape for a ratio of squared mean magnitude to power."""
    from scipy.special import gammaln

    shapes: Any = np.arange(0.2, 10.0, 0.01)
    shape_ratios = np.exp(2 * gammaln(2 / shapes) - gammaln(1 / shapes) - gammaln(3 / shapes))
    return float(shapes[np.argmin(np.abs(shape_ratios - ratio))])
