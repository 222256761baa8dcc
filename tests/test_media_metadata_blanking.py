"""Metadata of videos and recordings are overwritten: no name is left, and every decoded frame is as before."""

from __future__ import annotations

import hashlib
import wave
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.core.media import read_media
from fullbench.media_metadata_blanking import UnparsableMediaError, metadata_patches, patched_range
from tests.support.media_files import GENERATOR, recording, tone, video

VIDEOS = {
    "vp8.webm": {"codec": "libvpx", "sound": "libopus"}, "h264.mp4": {"codec": "libx264", "sound": "aac"},
    "fragments.mp4": {"codec": "libx264", "options": {"movflags": "frag_keyframe+empty_moov"}},
    "h264.mov": {"codec": "libx264", "sound": "aac"}, "h264.mkv": {"codec": "libx264", "sound": "aac"},
    "live.webm": {"codec": "libvpx", "options": {"live": "1"}}, "mpeg4.avi": {"codec": "mpeg4"},
}  # fmt: skip
RECORDINGS = {"a.mp3": "libmp3lame", "a.flac": "flac", "a.opus": "libopus", "flac.ogg": "flac", "a.m4a": "aac"}


def blanked(data: bytes, media_type: str) -> bytes:
    patches = metadata_patches(lambda offset, count: data[offset : offset + count], len(data), media_type)
    pieces = [
        patched_range(lambda offset, count: data[offset : offset + count], patches, start, 97)
        for start in range(0, len(data), 97)
    ]
    whole = patched_range(lambda offset, count: data[offset : offset + count], patches, 0, len(data))
    assert b"".join(pieces) == whole, "any range is that of the whole"
    return whole


def decoded(data: bytes) -> tuple[int, str, str]:
    """Count and digest of all frames, pictures and sound, by an independent decoder; and the metadata it finds."""
    import av

    check, count = hashlib.sha256(), 0
    with av.open(BytesIO(data)) as container:
        found = str([dict(one.metadata) for one in (container, *container.streams)])
        for frame in container.decode():
            check.update(frame.to_ndarray().tobytes())
            count += 1
    return count, check.hexdigest(), found


@pytest.mark.parametrize("name", [*VIDEOS, *RECORDINGS])
def test_no_name_is_left_and_every_frame_is_as_before(tmp_path, name):
    path = tmp_path / name
    if name in VIDEOS:
        video(path, **VIDEOS[name])
    else:
        recording(path, RECORDINGS[name])
    data, media_type = path.read_bytes(), read_media(path).media_type
    assert GENERATOR.encode() in data
    clean = blanked(data, media_type)
    assert len(clean) == len(data)
    assert GENERATOR.encode() not in clean
    count, check, found = decoded(clean)
    assert (count, check) == decoded(data)[:2]
    assert GENERATOR not in found
    assert count >= 5


def test_a_wav_file_needs_no_library():
    data = tone(generator=GENERATOR)
    clean = blanked(data, "audio/wav")
    assert GENERATOR.encode() not in clean
    with wave.open(BytesIO(clean)) as now, wave.open(BytesIO(data)) as before:
        assert now.readframes(10**6) == before.readframes(10**6)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_end_in_one_error_or_in_a_file_of_the_same_length(data):
    original = tone(seconds=0.05, generator=GENERATOR)
    cut = data.draw(st.integers(0, len(original)))
    place, byte = data.draw(st.integers(0, 60)), data.draw(st.integers(0, 255))
    broken = bytearray(original[:cut])
    if place < len(broken):
        broken[place] = byte
    for media_type in ("audio/wav", "video/mp4", "video/webm", "audio/ogg", "audio/flac", "audio/mpeg"):
        try:
            assert len(blanked(bytes(broken), media_type)) == len(broken)
        except UnparsableMediaError:
            continue
