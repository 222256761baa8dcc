"""Videos and recordings made for tests: a ball that moves, a tone; with metadata that name a generator."""

from __future__ import annotations

import wave
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from struct import pack

import numpy as np
import pytest

GENERATOR = "foxgen-xl"
SIZE = (96, 64)


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
