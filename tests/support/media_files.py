"""Videos, moving pictures, recordings and documents, made for a test and tiny; some name a generator in metadata."""

from __future__ import annotations

import wave
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from struct import pack

import numpy as np
import pytest
from PIL import Image, ImageDraw

GENERATOR = "foxgen-xl"
SIZE = (96, 64)

COLOURS = ("red", "green", "blue", "white", "black", "yellow")


def colour_frames(count: int, size: tuple[int, int] = (64, 48)) -> list[Image.Image]:
    """Return frames whose colours follow each other in the order of `COLOURS`."""
    return [Image.new("RGB", size, COLOURS[place % len(COLOURS)]) for place in range(count)]


def write_video(
    file: Path, frames: list[Image.Image], *, fps: int = 2, codec: str = "mpeg4", sound: bool = False,
    times: list[int] | None = None, tones: tuple[int, ...] = (),
) -> Path:  # fmt: skip
    """Write frames as a video; `times` are their time stamps in ticks of 1/1000 s, if the rate varies.

    With `sound` it has one silent second of sound, with `tones` one second of each tone.
    """
    import av

    file.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(file), "w") as container:
        stream = container.add_stream(codec, rate=1000 if times else fps)
        stream.width, stream.height = frames[0].size
        stream.pix_fmt = "yuv420p"
        if times:
            stream.time_base = Fraction(1, 1000)
            stream.codec_context.time_base = Fraction(1, 1000)
        speech = container.add_stream("aac", rate=8_000) if sound or tones else None
        for place, image in enumerate(frames):
            frame = av.VideoFrame.from_image(image)
            if times:
                frame.pts, frame.time_base = times[place], Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if speech is not None:
            seconds = np.arange(8_000) / 8_000
            waves = [0.4 * np.sin(2 * np.pi * tone * seconds) for tone in tones or (0,)]
            samples = np.concatenate(waves).astype(np.float32)[None]
            played = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
            played.sample_rate = 8_000
            container.mux(speech.encode(played))
            container.mux(speech.encode())
    return file


def write_gif(file: Path, frames: list[Image.Image], milliseconds: int = 500) -> Path:
    """Write frames as a moving GIF, or WebP by its suffix."""
    file.parent.mkdir(parents=True, exist_ok=True)
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=milliseconds, loop=0)
    return file


def wav_bytes(seconds: float = 0.1) -> bytes:
    """Return a silent recording."""
    out = BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(bytes(int(16_000 * seconds)))
    return out.getvalue()


def pdf_bytes(pages: int = 3) -> bytes:
    """Return a document with a number on each page."""
    drawn = []
    for number in range(1, pages + 1):
        page = Image.new("RGB", (200, 280), "white")
        ImageDraw.Draw(page).text((80, 120), str(number), fill="black")
        drawn.append(page)
    out = BytesIO()
    drawn[0].save(out, "PDF", save_all=True, append_images=drawn[1:])
    return out.getvalue()


def text_pdf(*texts: str) -> bytes:
    """Return a document with a page for each text, which programs can read as text."""
    fonts = b"<</Font<</F 3 0 R>>>>"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    kids = []
    for text in texts:
        lines = [text[place : place + 90] for place in range(0, len(text), 90)]
        drawn = b"".join(b"(%s) Tj T* " % line.encode("ascii") for line in lines)
        stream = b"BT /F 10 Tf 12 TL 40 740 Td " + drawn + b"ET"
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
        page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources%s/Contents %d 0 R>>" % (fonts, len(objects))
        objects.append(page)
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(kids), len(kids))
    out, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, value)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, rows)
    return out + table + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))


def empty_mp4(size: int = 64) -> bytes:
    """Return the boxes of an MP4 file, without anything to decode in them."""
    boxes = [(b"ftyp", b"isom\0\0\2\0"), (b"moov", bytes(16)), (b"mdat", bytes(size))]
    return b"".join(pack(">I", 8 + len(body)) + name + body for name, body in boxes)


def tone(hertz: float = 440, seconds: float = 1.0, *, generator: str = "") -> bytes:
    """Return a WAV file of one tone, with a chunk that names a generator."""
    times = np.arange(int(8000 * seconds)) / 8000
    samples = (9000 * np.sin(2 * np.pi * hertz * times)).astype("<i2")
    file = BytesIO()
    with wave.open(file, "wb") as recording:
        recording.setparams((1, 2, 8000, 0, "NONE", ""))
        recording.writeframes(samples.tobytes())
    if not generator:
        return file.getvalue()
    text = generator.encode().ljust(len(generator) + len(generator) % 2, b"\0")
    chunk = b"LIST" + pack("<I", 12 + len(text)) + b"INFOISFT" + pack("<I", len(text)) + text
    data = file.getvalue() + chunk
    return data[:4] + pack("<I", len(data) - 8) + data[8:]


def ball_frames(*, to_right: bool = True, count: int = 20) -> list[np.ndarray]:
    """Return pictures of a red ball on a dark ground that moves across."""
    frames = []
    for step in range(count):
        picture = np.full((SIZE[1], SIZE[0], 3), 30, np.uint8)
        left = 4 * step if to_right else 4 * (count - 1 - step)
        picture[22:42, left : left + 16] = (250, 40, 40)
        frames.append(picture)
    return frames


def video(path: Path, *, to_right: bool = True, codec: str = "libvpx", sound: str = "", **options: object) -> Path:
    """Write a video of a ball; skip the test if the library or the codec is not there."""
    av = pytest.importorskip("av", reason="videos are made by PyAV: pip install av")
    with av.open(str(path), "w", **options) as container:
        container.metadata.update({"title": f"{GENERATOR} title", "comment": GENERATOR, "encoder": GENERATOR})
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        stream.metadata.update({"title": GENERATOR, "handler_name": GENERATOR})
        heard = container.add_stream(sound, rate=48_000, layout="mono") if sound else None
        for picture in ball_frames(to_right=to_right):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
        if heard is not None:
            _mux_tone(av, container, heard)
    return path


def recording(path: Path, codec: str) -> Path:
    """Write a recording of a tone; skip the test if the library or the codec is not there."""
    av = pytest.importorskip("av", reason="recordings are made by PyAV: pip install av")
    with av.open(str(path), "w") as container:
        container.metadata.update({"title": GENERATOR, "comment": GENERATOR, "artist": GENERATOR})
        _mux_tone(av, container, container.add_stream(codec, rate=48_000, layout="mono"))
    return path


def _mux_tone(av, container, stream) -> None:
    resampler = av.AudioResampler(format=stream.format.name, layout="mono", rate=48_000)
    for place in range(40):
        times = (np.arange(960) + 960 * place) / 48_000
        frame = av.AudioFrame.from_ndarray(
            (0.3 * np.sin(2 * np.pi * 440 * times)).astype(np.float32)[None], format="fltp", layout="mono"
        )
        frame.rate, frame.pts, frame.time_base = 48_000, 960 * place, Fraction(1, 48_000)
        for ready in resampler.resample(frame):
            container.mux(stream.encode(ready))
    container.mux(stream.encode())
