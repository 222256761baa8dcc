"""A picture is the same picture for a score model, for a VLM, on a page and for a tool."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fullbench.core.picture import Picture
from fullbench.judges.scorers.safe_picture_decoding import broken_reason, decode_picture
from fullbench.models.tools.toolbox import open_picture
from fullbench.models.wire.image_encoding import Limit, bytes_to_send, size_of
from fullbench.picture_flattening_and_orientation import SCAN, has_exif_rotation, jpeg_segments
from fullbench.reports.html_page import shrink_picture
from tests.judges.scorers.making import encoded, texture


def sheet() -> Image.Image:
    """A red corner at the upper left, on grey; wide, so that turning shows."""
    pixels = np.full((40, 80, 3), 128, dtype=np.uint8)
    pixels[:20, :40] = (255, 0, 0)
    return Image.fromarray(pixels)


def deep() -> Picture:
    """Sixteen bits: black to half, never above 128 of 255."""
    values = np.tile(np.linspace(0, 32_896, 80).astype(np.uint16), (40, 1))
    return Picture.from_bytes(encoded(Image.fromarray(values)))


def turned_sheet(orientation: int) -> Picture:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return Picture.from_bytes(encoded(sheet(), "JPEG", exif=exif, quality=95))


def on_the_wire(picture: Picture) -> Image.Image:
    """What a server gets that reads no EXIF and takes JPEG alone, so that all else is made anew."""
    _, data = bytes_to_send(picture, Limit(media=("image/jpeg",)))
    return Image.open(BytesIO(data)).convert("RGB")


def on_a_page(picture: Picture) -> Image.Image:
    data = shrink_picture(picture, size=400)
    assert data is not None
    return Image.open(BytesIO(data)).convert("RGB")


SEEN = [decode_picture, on_the_wire, on_a_page, open_picture]


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("see", SEEN)
def test_sixteen_bits_are_not_cut_off(see):
    grey = np.asarray(see(deep()).convert("L"), dtype=int)
    assert abs(grey[20] - np.linspace(0, 128, 80)).max() <= 4


@pytest.mark.parametrize("see", SEEN)
@pytest.mark.parametrize(
    ("orientation", "size", "corner"), [(1, (80, 40), (5, 5)), (3, (80, 40), (75, 35)), (6, (40, 80), (35, 5))]
)
def test_a_picture_is_seen_upright(see, orientation, size, corner):
    seen = see(turned_sheet(orientation))
    assert seen.size == size
    red, green, _ = seen.getpixel(corner)
    assert red - green > 150
    assert has_exif_rotation(turned_sheet(orientation).data()) == (orientation != 1)


@pytest.mark.parametrize("see", SEEN)
def test_four_inks_are_the_colours_they_mean(see):
    seen = np.asarray(see(Picture.from_bytes(encoded(sheet().convert("CMYK"), "JPEG", quality=95))), dtype=int)
    assert abs(seen - np.asarray(sheet(), dtype=int)).mean() < 8


def test_what_is_broken_is_told_and_what_is_gone_is_not(tmp_path):
    whole = encoded(texture(1))
    assert broken_reason(Picture.from_bytes(whole)) == ""
    assert "cannot be decoded" in broken_reason(Picture.from_bytes(whole[: len(whole) // 2]))
    assert broken_reason(Picture.from_any_bytes(b"", b"")) == "the picture has no bytes"
    frames = [texture(seed).convert("P") for seed in range(2)]
    assert broken_reason(Picture.from_bytes(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]))) == ""
    file = tmp_path / "a.png"
    file.write_bytes(whole)
    gone = Picture.read(file)
    file.unlink()
    assert broken_reason(gone) == ""


def test_exif_is_found_behind_other_segments_and_not_sought_in_the_scan():
    # A profile that happens to hold the bytes with which a scan begins comes before EXIF in many files.
    plain = encoded(sheet(), "JPEG", quality=95)
    rotated = turned_sheet(6).data()
    profile = b"\xff\xe2" + (2 + 40).to_bytes(2, "big") + b"\xff\xda" * 20
    assert has_exif_rotation(rotated[:2] + profile + rotated[2:])
    start = rotated.index(b"\xff\xe1")
    exif = rotated[start : start + 2 + int.from_bytes(rotated[start + 2 : start + 4], "big")]
    assert has_exif_rotation(plain[:2] + exif + plain[2:])
    assert not has_exif_rotation(plain + exif)


def test_a_jpeg_that_ends_within_its_head_is_not_turned_and_has_no_size():
    whole = turned_sheet(6).data()
    scan = next(at for marker, at in jpeg_segments(whole) if marker == SCAN)
    assert [size_of(whole[:end]) for end in (2, 3, 5)] == [None] * 3
    assert [has_exif_rotation(whole[:end]) for end in (2, 3, 5)] == [False] * 3
    assert whole[scan : scan + 2] == b"\xff\xda"
    with Image.open(BytesIO(whole)) as image:
        assert size_of(whole) == image.size
