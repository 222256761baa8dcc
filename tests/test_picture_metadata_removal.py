"""Stripped pictures: no mark is left in any format, and pixels, frames, profile and orientation are the same."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image

from fullbench.core.picture import Picture
from fullbench.picture_metadata_removal import UnparsablePictureError, strip_metadata
from fullbench.reports.html_page import shrink_picture
from tests.support import pictures_with_metadata as marked
from tests.support.pictures_with_metadata import ICC, MARK, ORIENTATION, all_marked, drawn, holds_mark, saved, seen_of

CASES = pytest.mark.parametrize("picture", all_marked(), ids=lambda one: one.name)


@CASES
def test_no_mark_is_left_and_the_picture_is_the_same(picture):
    assert holds_mark(picture.data)
    stripped = strip_metadata(picture.data)
    assert not holds_mark(stripped)
    assert seen_of(stripped) == seen_of(picture.data)
    assert len(seen_of(stripped)) == picture.frames
    assert strip_metadata(stripped) == stripped


@CASES
def test_pillow_finds_profile_and_orientation_and_nothing_else(picture):
    with Image.open(io.BytesIO(strip_metadata(picture.data))) as image:
        assert image.info.get("icc_profile") == picture.icc
        expected = {ORIENTATION: picture.orientation} if picture.orientation != 1 else {}
        assert dict(image.getexif()) == expected
        assert not any(image.getexif().get_ifd(tag) for tag in (0x8769, 0x8825, 0xA005, 1))
        known = {
            *("icc_profile", "exif", "transparency", "gamma", "background", "version", "extension", "loop", "duration"),
            *("timestamp", "default_image", "bbox", "blend", "disposal", "jfif", "jfif_version", "jfif_unit"),
            *("jfif_density", "dpi", "adobe", "adobe_transform", "progressive", "progression"),
        }
        image.load()
        assert set(image.info) <= known
        assert not getattr(image, "text", {})
        assert {name for name, _ in getattr(image, "applist", ())} <= {"APP0", "APP1", "APP2", "APP14"}
        assert image.format != "MPO"


def test_colour_chunks_of_png_are_kept():
    lengths = {b"cHRM": 32, b"sRGB": 1, b"cICP": 4, b"sBIT": 3, b"mDCV": 24, b"cLLI": 8, b"bKGD": 6}
    kept = [marked.chunk(b"gAMA", (45455).to_bytes(4, "big"))]
    kept += [marked.chunk(kind, bytes(length)) for kind, length in lengths.items()]
    data = saved(drawn(), "PNG")
    data = data[:33] + b"".join(kept) + data[33:]
    assert strip_metadata(data) == data


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_file_without_metadata_comes_back_byte_for_byte(form):
    data = saved(drawn(), form)
    assert strip_metadata(data) == data


def test_the_profile_of_a_gif_is_kept_and_cut_to_its_length():
    """Pillow does not read it, so its bytes are looked for."""
    data = saved(drawn("P"), "GIF")
    first, cut = (strip_metadata(marked.gif(data, icc=profile)) for profile in (ICC, ICC + MARK))
    assert first == cut
    assert ICC[:255] in first
    assert not holds_mark(first)
    assert b"ICCRGBG1012" not in strip_metadata(marked.gif(data, icc=MARK * 30))


def test_a_gif_without_its_last_byte_gets_it():
    data = saved(drawn("P"), "GIF")
    assert strip_metadata(data[:-1]) == data


@pytest.mark.parametrize("form", ["TIFF", "BMP", "AVIF", "PPM"])
def test_other_formats_are_not_parsed(form):
    with pytest.raises(UnparsablePictureError):
        strip_metadata(saved(drawn(), form))


def test_a_jpeg_whose_table_swallows_a_comment_is_refused():
    data = saved(drawn(), "JPEG")
    at = data.index(b"\xff\xdb")
    comment = marked.segment(0xFE, MARK)
    end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    longer = (end - at - 2 + len(comment)).to_bytes(2, "big")
    with pytest.raises(UnparsablePictureError):
        strip_metadata(data[: at + 2] + longer + data[at + 4 : end] + comment + data[end:])


def test_a_gif_whose_pixels_swallow_a_comment_is_refused():
    data = saved(drawn("P", size=(64, 64)), "GIF")
    assert data.endswith(b"\x00;")
    with pytest.raises(UnparsablePictureError):
        strip_metadata(data[:-2] + b"\x09" + MARK + b"\x00;")


def broken(data: bytes, draw: random.Random) -> bytes:
    """The file cut short, with garbage in place of some bytes, or with garbage after its first bytes."""
    place = draw.randrange(len(data))
    way = draw.randrange(3)
    if way == 0:
        return data[:place]
    if way == 1:
        return data[: draw.randrange(40)] + draw.randbytes(draw.randrange(400)) + data[place:]
    changed = bytearray(data)
    for _ in range(draw.randrange(1, 9)):
        changed[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(changed)


@CASES
def test_a_broken_file_never_leaks_and_never_fails_otherwise(picture):
    draw = random.Random(picture.name)
    for _ in range(150):
        try:
            stripped = strip_metadata(broken(picture.data, draw))
        except UnparsablePictureError:
            continue
        assert MARK not in stripped


@CASES
def test_small_and_veiled_copies_have_no_metadata_but_the_profile(picture):
    for is_veiled in (False, True):
        small = shrink_picture(Picture.from_bytes(picture.data), size=960, is_veiled=is_veiled)
        assert not holds_mark(small)
        with Image.open(io.BytesIO(small)) as image:
            assert (image.info.get("icc_profile") or None) == picture.icc
            assert not dict(image.getexif())
            width, height = seen_of(picture.data)[0][1]
            assert image.size == ((height, width) if picture.orientation == 6 else (width, height))


def test_a_small_copy_does_not_keep_the_profile_of_other_colours():
    inks = ICC[:16] + b"CMYK" + ICC[20:]
    small = shrink_picture(Picture.from_bytes(saved(drawn("CMYK"), "JPEG", icc_profile=inks)), size=960)
    with Image.open(io.BytesIO(small)) as image:
        assert not image.info.get("icc_profile")
