"""Variants of a video or a moving picture: backwards, frozen, black, with text in frames or in metadata."""

from __future__ import annotations

import io
import struct
import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING

from fullbench.audit.cases.picture_variants import draw_text
from fullbench.core.media import Media, media_from_bytes
from fullbench.core.picture import Picture
from fullbench.errors import require_extra
from fullbench.models.wire.video_frames_and_document_pages import FrameRule, video_stills
from fullbench.synthetic.moving_pictures import MILLISECONDS, encode_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

MOST_FRAMES = 32
"""Frames of a variant of a user's video: more than the 16 that judges get if nothing else is set."""
CHANGES = ("reversed", "frozen", "black")


def decode_frames(data: bytes) -> list[Image]:
    """Return all frames of a moving GIF or WebP."""
    from PIL import Image

    frames = []
    with Image.open(io.BytesIO(data)) as picture:
        for number in range(getattr(picture, "n_frames", 1)):
            picture.seek(number)
            frames.append(picture.convert("RGB"))
    return frames


def change_frames(frames: Sequence[Image], change: str) -> list[Image]:
    """Return as many frames: backwards, the first one all the time, or black."""
    from PIL import Image

    if change == "reversed":
        return [*frames[::-1]]
    return [frames[0] if change == "frozen" else Image.new("RGB", frames[0].size)] * len(frames)


def reverse_video(data: bytes) -> bytes:
    """Play the frames of a moving picture backwards."""
    return encode_frames(change_frames(decode_frames(data), "reversed"), MILLISECONDS)


def freeze_video(data: bytes) -> bytes:
    """Show the first frame of a moving picture all the time."""
    return encode_frames(change_frames(decode_frames(data), "frozen"), MILLISECONDS)


def black_video(data: bytes) -> bytes:
    """Return as many black frames."""
    return encode_frames(change_frames(decode_frames(data), "black"), MILLISECONDS)


def write_into_frame(data: bytes, text: str, *, is_small: bool = False) -> bytes:
    """Write text into the frame in the middle, and into no other."""
    frames = decode_frames(data)
    middle = len(frames) // 2
    lines = "\n".join(textwrap.wrap(text, 48 if is_small else 30))
    frames[middle] = draw_text(frames[middle], lines, size=9 if is_small else 14, place=(0.5, 0.97))
    return encode_frames(frames, MILLISECONDS)


def write_subtitles(data: bytes, text: str) -> bytes:
    """Write text under the picture in the second half, as subtitles that belong to the film."""
    frames = decode_frames(data)
    lines = "\n".join(textwrap.wrap(text, 48))
    for number in range(len(frames) // 2, len(frames)):
        frames[number] = draw_text(frames[number], lines, size=9, place=(0.5, 0.97))
    return encode_frames(frames, MILLISECONDS)


def write_riff_metadata(data: bytes, text: str) -> bytes:
    """Add a comment to the metadata of a WebP picture or a WAV recording; nothing that is seen or heard changes."""
    content, beginning = text.encode(), data
    if data[8:12] == b"WEBP":
        chunk = b"XMP "  # the extended header, which every moving picture has, announces it by a flag
        beginning = data[:20] + bytes([data[20] | 0b100]) + data[21:]
    else:
        chunk, content = b"LIST", b"INFOICMT" + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    added = chunk + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    return data[:4] + struct.pack("<I", len(data) - 8 + len(added)) + beginning[8:] + added


def changed_video(video: Media, change: str) -> Media:
    """Return a variant of a user's video or moving picture, without sound, of at most `MOST_FRAMES` frames.

    A video becomes MP4 and a moving picture WebP, so that a judge gets the variant in the same way as the original.
    """
    from PIL import Image

    stills = video_stills(video, FrameRule(MOST_FRAMES)).frames
    times = [float(still.place.removesuffix(" s")) for still in stills]
    frames = [Image.open(io.BytesIO(still.data())).convert("RGB") for still in stills]
    changed = change_frames(frames, change)
    if isinstance(video, Picture):
        return media_from_bytes(
            encode_frames(changed, round(1000 * max(times) / max(1, len(times) - 1)) or MILLISECONDS)
        )
    return media_from_bytes(_encode_mp4(changed, times))


def _encode_mp4(frames: Sequence[Image], times: Sequence[float]) -> bytes:
    with require_extra("variants of a video", "video"):
        import av

    out, ticks = io.BytesIO(), 1_000
    # Sides must be even in the usual pixel format of MP4.
    width, height = (max(2, side - side % 2) for side in frames[0].size)
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=ticks, options={"qscale": "3", "flags": "+qscale"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, ticks)
        for image, time in zip(frames, times, strict=True):
            frame = av.VideoFrame.from_image(image.resize((width, height)))
            frame.pts, frame.time_base = round(time * ticks), Fraction(1, ticks)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()
