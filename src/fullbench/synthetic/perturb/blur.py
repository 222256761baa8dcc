"""Blurs of stated strength and direction: a disk for a lens out of focus, a line for a camera that moved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fullbench.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Kernel = npt.NDArray[np.float64]
_FINE = 9


def disk(radius: float) -> Kernel:
    """The image of a point through a lens out of focus: an even disk. `radius` is in pixels; weights sum to 1.

    >>> disk(0.5).shape, round(float(disk(3).sum()), 9)
    ((3, 3), 1.0)
    """
    if not 0 < radius <= 200:
        raise InputError(f"the radius of a blur lies between 0 and 200 pixels; found {radius}")
    reach = math.ceil(radius)
    fine = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - reach - 0.5
    inside = (fine[:, None] ** 2 + fine[None, :] ** 2 <= radius**2).astype(float)
    return _summed(inside)


def line(length: float, angle: float) -> Kernel:
    """The image of a point for a camera that moved evenly: a line, `length` pixels long.

    `angle` is in degrees, counted from the right, against the clock.

    >>> line(3, 0).round(2).tolist()[1]
    [0.33, 0.33, 0.33]
    """
    if not 0 < length <= 400:
        raise InputError(f"the length of a movement lies between 0 and 400 pixels; found {length}")
    reach = math.ceil(length / 2)
    steps = max(2, math.ceil(length * 50))
    along = ((np.arange(steps) + 0.5) / steps - 0.5) * length
    x = along * math.cos(math.radians(angle))
    y = -along * math.sin(math.radians(angle))
    kernel: Kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    np.add.at(kernel, (np.rint(y).astype(int) + reach, np.rint(x).astype(int) + reach), 1.0)
    return _trimmed(kernel / kernel.sum())


def defocus(image: Image, radius: float) -> Image:
    """The picture as a lens out of focus would show it."""
    return convolved(image, disk(radius))


def motion(image: Image, length: float, angle: float = 0.0) -> Image:
    """The picture as a moving camera would show it."""
    return convolved(image, line(length, angle))


def convolved(image: Image, kernel: Kernel) -> Image:
    """A picture blurred by a kernel; what lies beyond the border is like the border."""
    from PIL import Image as Images
    from scipy.signal import fftconvolve

    pixels = np.asarray(image.convert("RGB"), dtype=np.float64)
    reach = [side // 2 for side in kernel.shape]
    padded = np.pad(pixels, ((reach[0], reach[0]), (reach[1], reach[1]), (0, 0)), mode="edge")
    blurred = fftconvolve(padded, kernel[:, :, None], mode="valid", axes=(0, 1))
    return Images.fromarray(np.clip(blurred, 0, 255).round().astype(np.uint8))


def _summed(fine: Kernel) -> Kernel:
    side = len(fine) // _FINE
    kernel: Kernel = fine.reshape(side, _FINE, side, _FINE).sum(axis=(1, 3))
    kernel /= kernel.sum()
    return kernel


def _trimmed(kernel: Kernel) -> Kernel:
    """Without empty borders, still with a middle."""
    reach = len(kernel) // 2
    rows, columns = np.nonzero(kernel)
    keep = max(abs(rows - reach).max(), abs(columns - reach).max())
    return kernel[reach - keep : reach + keep + 1, reach - keep : reach + keep + 1]
