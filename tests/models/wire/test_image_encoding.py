"""Pictures as they travel: unchanged where they fit, scaled once where they do not."""

from __future__ import annotations

import hashlib
import random
import threading
from io import BytesIO

import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.wire.image_encoding import (
    Limit,
    _EncodingCache,
    bytes_to_send,
    encode_picture,
    measure_picture,
    size_of,
)
from tests.models.conftest import noise

FORMS = [
    ("PNG", {}),
    ("JPEG", {}),
    ("JPEG", {"progressive": True}),
    ("GIF", {}),
    ("WEBP", {}),
    ("WEBP", {"lossless": True}),
]


def opened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize(("form", "options"), FORMS)
@pytest.mark.parametrize("size", [(1, 1), (37, 91), (640, 480)])
def test_size_is_what_pillow_says(form, options, size):
    data = noise(*size, form, **options)
    assert size_of(data) == Image.open(BytesIO(data)).size == size


def test_size_of_webp_with_alpha_and_of_jpeg_with_much_before_the_frame():
    assert size_of(noise(33, 44, "WEBP", mode="RGBA", exif=b"Exif\0\0" + bytes(50))) == (33, 44)
    assert size_of(noise(33, 44, "JPEG", exif=b"Exif\0\0" + bytes(60_000), comment=b"x" * 60_000)) == (33, 44)


@given(
    st.binary(max_size=200), st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF1234WEBPVP8X"])
)
def test_any_bytes_have_a_size_or_none(tail, head):
    size = size_of(head + tail)
    assert size is None or all(side >= 0 for side in size)


def test_what_fits_is_sent_unchanged_and_encoded_once(tmp_path):
    file = tmp_path / "a.jpg"
    file.write_bytes(noise(300, 200))
    picture = Picture.read(file)
    media, data = encode_picture(picture, Limit())
    assert (media, pybase64.b64decode(data)) == ("image/jpeg", file.read_bytes())
    file.unlink()
    assert encode_picture(picture, Limit())[1] is data


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF"])
def test_what_is_too_wide_is_scaled_in_proportion(form):
    picture = Picture.from_bytes(noise(800, 400, form))
    media, data = bytes_to_send(picture, Limit(pixels=200))
    image = opened(data)
    assert image.size == (200, 100)
    assert image.get_format_mimetype() == media
    assert media == ("image/jpeg" if form == "JPEG" else "image/png")
    original = opened(picture.data()).convert("RGB").resize((200, 100), Image.Resampling.LANCZOS)
    pairs = zip(original.tobytes(), image.convert("RGB").tobytes(), strict=True)
    assert sum(abs(a - b) for a, b in pairs) / (200 * 100 * 3) < 4


def test_what_is_too_heavy_gets_lighter():
    grain = Image.frombytes("RGB", (256, 256), random.Random(0).randbytes(256 * 256 * 3))
    out = BytesIO()
    grain.save(out, "PNG")
    limit = Limit(size=20_000)
    media, data = bytes_to_send(Picture.from_bytes(out.getvalue()), limit)
    assert media == "image/jpeg"
    assert len(data) <= limit.size


@pytest.mark.parametrize("form", ["BMP", "TIFF"])
def test_what_servers_do_not_read_is_converted_without_loss(form):
    picture = Picture.from_bytes(noise(64, 48, form))
    media, data = bytes_to_send(picture, Limit())
    assert media == "image/png"
    assert opened(data).tobytes() == opened(picture.data()).tobytes()


def test_a_gif_is_converted_for_a_server_that_takes_none():
    media, _ = bytes_to_send(Picture.from_bytes(noise(64, 48, "GIF")), Limit(media=("image/png", "image/jpeg")))
    assert media == "image/png"


def test_orientation_is_respected():
    exif = Image.Exif()
    exif[0x0112] = 6
    _, data = bytes_to_send(Picture.from_bytes(noise(400, 200, "JPEG", exif=exif)), Limit(pixels=100))
    assert opened(data).size == (50, 100)


def test_transparent_becomes_white():
    out = BytesIO()
    Image.new("RGBA", (300, 300), (255, 0, 0, 0)).save(out, "PNG")
    _, data = bytes_to_send(Picture.from_bytes(out.getvalue()), Limit(pixels=100))
    assert opened(data).getpixel((50, 50)) == (255, 255, 255)


def test_a_scaled_copy_is_made_once_and_kept_whole(cache):
    picture, limit = Picture.from_bytes(noise(800, 400)), Limit(pixels=200)
    first = bytes_to_send(picture, limit)
    (file,) = (cache / "pictures").iterdir()
    assert file.read_bytes() == first[1]
    stamp = file.stat().st_mtime_ns
    assert bytes_to_send(picture, limit) == first
    assert file.stat().st_mtime_ns == stamp
    bytes_to_send(picture, Limit(pixels=100))
    assert len(list((cache / "pictures").iterdir())) == 2


def test_a_spoilt_copy_is_made_again(cache):
    picture, limit = Picture.from_bytes(noise(800, 400)), Limit(pixels=200)
    first = bytes_to_send(picture, limit)
    (file,) = (cache / "pictures").iterdir()
    file.write_bytes(b"")
    assert bytes_to_send(picture, limit) == first


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "file" / "below"))
    assert bytes_to_send(Picture.from_bytes(noise(800, 400)), Limit(pixels=200))[0] == "image/jpeg"


def test_a_large_picture_is_scaled_without_a_word_of_pillows(recwarn, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 400)  # as if these few pixels were a hundred million
    assert bytes_to_send(Picture.from_bytes(noise(30, 20)), Limit(pixels=10))[0] == "image/jpeg"
    assert not recwarn.list


def test_a_broken_picture_is_named():
    picture = Picture.from_bytes(noise(800, 400)[:500])
    with pytest.raises(InputError, match=f"the picture {picture.digest[:12]} cannot be scaled"):
        bytes_to_send(picture, Limit(pixels=200))


def test_measured_reads_the_head_only(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(noise(70, 50, "PNG"))
    assert measure_picture(Picture.read(file)) == (70, 50)
    assert measure_picture(Picture("gone", "image/png", tmp_path / "gone.png")) is None


def test_what_is_kept_stays_within_its_bytes_and_forgets_the_oldest():
    kept = _EncodingCache(100)
    limit = Limit()
    for name in "abc":
        kept.put((name, limit), ("image/png", bytes(40)))
        kept.get(("a", limit))
    assert kept.get(("a", limit)) is not None
    assert kept.get(("b", limit)) is None
    assert kept.get(("c", limit)) is not None


def test_threads_may_encode_together():
    pictures = [Picture.from_bytes(noise(120, 90, seed=seed)) for seed in range(8)]
    found: list[str] = []

    def work() -> None:
        for picture in pictures * 20:
            data = pybase64.b64decode(encode_picture(picture, Limit(pixels=1000))[1])
            found.append(hashlib.sha256(data).hexdigest())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted([picture.digest for picture in pictures] * 80)
