"""Measures without weights: against independent code, and in the direction they should go."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter
from scipy import ndimage, stats

from fullbench import Real
from fullbench.errors import InputError
from fullbench.judges.scorers.image_statistics import (
    HALF_NOISE,
    HALF_SHARP,
    MEASURES,
    _gaussian_shape,
    build_measure_judge,
    colourfulness,
    low_noise,
    naturalness,
    sharpness,
)
from fullbench.studies.judge_contestant_and_benchmark_specs import judge_from_spec as judge_of
from tests.judges.scorers.making import case, picture, texture


def noisy(image: Image.Image, sigma: float, seed: int = 0) -> Image.Image:
    rng = np.random.default_rng(seed)
    values = np.asarray(image, dtype=float) + rng.normal(0, sigma, (*image.size[::-1], 1))
    return Image.fromarray(np.clip(values, 0, 255).round().astype(np.uint8))


def test_sharpness_is_the_variance_of_the_laplacian():
    image = texture(side=128)
    grey = np.asarray(image.convert("L"), dtype=float)
    kernel = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]])
    wanted = ndimage.convolve(grey, kernel)[1:-1, 1:-1].var()
    assert sharpness(image) == pytest.approx(wanted / (wanted + HALF_SHARP))


@pytest.mark.parametrize("sigma", [4.0, 10.0, 20.0])
def test_noise_finds_the_deviation_that_was_added(sigma):
    flat = Image.new("RGB", (256, 256), (128, 128, 128))
    worth = low_noise(noisy(flat, sigma))
    found = HALF_NOISE * (1 - worth) / worth
    assert found == pytest.approx(sigma, rel=0.05)


def test_each_measure_goes_the_right_way():
    clean = texture(side=128)
    blurred = clean.filter(ImageFilter.GaussianBlur(3))
    assert sharpness(clean) > sharpness(blurred)
    assert low_noise(clean) > low_noise(noisy(clean, 15))
    assert colourfulness(clean) > colourfulness(ImageEnhance.Color(clean).enhance(0.3))
    assert colourfulness(clean.convert("L").convert("RGB")) == 0
    gaussian = noisy(Image.new("RGB", (128, 128), (128, 128, 128)), 30)
    rng = np.random.default_rng(0)
    salted = np.where(rng.random((128, 128)) < 0.01, 255, 128).astype(np.uint8)
    assert naturalness(gaussian) > 2 * naturalness(Image.fromarray(salted).convert("RGB"))


@pytest.mark.parametrize("shape", [0.8, 1.0, 2.0, 3.5])
def test_the_shape_of_a_generalised_gaussian_is_found(shape):
    values = stats.gennorm(shape).rvs(200_000, random_state=1)
    assert _gaussian_shape(np.abs(values).mean() ** 2 / (values**2).mean()) == pytest.approx(shape, rel=0.05)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("image", [Image.new("RGB", (1, 1)), Image.new("RGB", (2000, 3), "red"), texture(side=16)])
def test_every_measure_lies_between_0_and_1_on_any_picture(name, image):
    assert 0 <= MEASURES[name](image.convert("RGB")) <= 1


def test_a_measure_is_a_judge_by_name():
    sharp, soft = texture(side=96), texture(side=96).filter(ImageFilter.GaussianBlur(4))
    (verdict,) = judge_of("picture:sharpness").judge([case(picture(soft), picture(sharp))])
    assert verdict.marks == (0, 1)
    (alone,) = build_measure_judge("noise", {}).judge([case(picture(sharp), ballot=Real(0, 10))])
    assert 0 <= alone.marks[0] <= 10
    with pytest.raises(InputError, match="no measure 'beauty'"):
        build_measure_judge("beauty", {})
    with pytest.raises(InputError, match="only a margin"):
        build_measure_judge("noise", {"size": "3"})
    with pytest.raises(InputError, match="is a number"):
        build_measure_judge("noise", {"margin": "wide"})
