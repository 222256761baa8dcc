"""Defocus and motion blur of a given strength and direction."""

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


def disk_kernel(radius: float) -> Kernel:
    """Return the kernel of a lens out of focus: a uniform disk. `radius` is in pixels; weights sum to 1.

    >>> disk_kernel(0.5).shape, round(float(disk_kernel(3).sum()), 9)
    ((3, 3), 1.0)
    """
    if not 0 < radius <= 200:
        raise InputError(f"the radius of a blur is between 0 and 200 pixels; found {radius}")
    reach = math.ceil(radius)
    fine_axis = (np.arange((2 * reach + 1) * _FINE) + 0.5) / _FINE - reach - 0.5
    inside = (fine_axis[:, None] ** 2 + fine_axis[None, :] ** 2 <= radius**2).astype(float)
    return _downsample_kernel(inside)


def line_kernel(length: float, angle: float) -> Kernel:
    """Return the kernel of a camera that moved evenly: a line of `length` pixels.

    `angle` is in degrees, counter-clockwise from the right.

    >>> line_kernel(3, 0).round(2).tolist()[1]
    [0.33, 0.33, 0.33]
    """
    if not 0 < length <= 400:
        raise InputError(f"the length of a movement is between 0 and 400 pixels; found {length}")
    reach = math.ceil(length / 2)
    steps = max(2, math.ceil(length * 50))
    along = ((np.arange(steps) + 0.5) / steps - 0.5) * length
    x = along * math.cos(math.radians(angle))
    y = -along * math.sin(math.radians(angle))
    kernel: Kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    np.add.at(kernel, (np.rint(y).astype(int) + reach, np.rint(x).astype(int) + reach), 1.0)
    return _trim_kernel(kernel / kernel.sum())


def defocus_image(image: Image, radius: float) -> Image:
    """Blur a picture as a lens out of focus does."""
    return convolve_image(image, disk_kernel(radius))


def motion_blur_image(image: Image, length: float, angle: float = 0.0) -> Image:
    """Blur a picture as a moving camera does."""
    return convolve_image(image, line_kernel(length, angle))


def convolve_image(image: Image, kernel: Kernel) -> Image:
    """Blur a picture with a kernel. Border pixels are repeated outside the picture."""
    from PIL import Image as Images
    from scipy.signal import fftconvolve

    pixels = np.asarray(image.convert("RGB"), dtype=np.float64)
    reach = [side // 2 for side in kernel.shape]
    padded_pixels = np.pad(pixels, ((reach[0], reach[0]), (reach[1], reach[1]), (0, 0)), mode="edge")
    blurred_pixels = fftconvolve(padded_pixels, kernel[:, :, None], mode="valid", axes=(0, 1))
    return Images.fromarray(np.clip(blurred_pixels, 0, 255).round().astype(np.uint8))


def _downsample_kernel(fine_kernel: Kernel) -> Kernel:
    side = len(fine_kernel) // _FINE
    kernel: Kernel = fine_kernel.reshape(side, _FINE, side, _FINE).sum(axis=(1, 3))
    kernel /= kernel.sum()
    return kernel


def _trim_kernel(kernel: Kernel) -> Kernel:
    reach = len(kernel) // 2
    rows, columns = np.nonzero(kernel)
    keep = max(abs(rows - reach).max(), abs(columns - reach).max())
    return kernel[reach - keep : reach + keep + 1, reach - keep : reach + keep + 1]
