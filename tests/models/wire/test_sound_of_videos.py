"""The sound of a video: the right seconds, the same bytes each time, and silence that is named and not sent."""

from __future__ import annotations

import wave

import numpy as np
import pytest

from fullbench import Media, Prompt, Turn
from fullbench.errors import InputError
from fullbench.models.media_as_sent import expand_media
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.sound_of_videos import video_sound
from fullbench.models.wire.video_frames_and_document_pages import FrameRule
from tests.support.media_files import colour_frames, write_video

pytest.importorskip("av")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))


def loudest_tones(file) -> list[int]:
    """Return the strongest frequency of each whole second of a recording."""
    with wave.open(str(file)) as recording:
        assert recording.getparams()[:3] == (1, 2, 16_000)
        samples = np.frombuffer(recording.readframes(recording.getnframes()), "<i2")
    return [
        int(np.argmax(np.abs(np.fft.rfft(samples[place : place + 16_000]))))
        for place in range(0, len(samples) - 15_000, 16_000)
    ]


def test_the_sound_is_that_of_the_seconds_that_are_sent(tmp_path):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(8), tones=(440, 660, 880, 1_000)))
    (whole,) = video_sound(video, FrameRule()).sounds
    assert loudest_tones(whole.source) == [pytest.approx(tone, abs=4) for tone in (440, 660, 880, 1_000)]
    (middle,) = video_sound(video, FrameRule(start=1.1, end=2.9)).sounds
    assert [middle.rule, middle.origin, middle.place] == ["sound-from1.1-to2.9", video.digest, "sound, 1.8 s"]
    assert loudest_tones(middle.source)[0] in range(656, 884)


def test_a_second_extraction_has_the_same_bytes(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mkv", colour_frames(4), tones=(440, 660)))
    (first,) = video_sound(video, FrameRule()).sounds
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "other"))
    (second,) = video_sound(video, FrameRule()).sounds
    assert (first.digest, first.data()) == (second.digest, second.data())
    assert first.source != second.source


def sent_texts(video: Media, sampling: Sampling, *, sends_sound: bool) -> tuple[str, list[str]]:
    """Return the sentence on the whole, and the kinds of the files that follow."""
    prompt = expand_media(Prompt((Turn("user", (video,)),)), sampling, frozenset({"audio"}), sends_sound=sends_sound)
    parts = prompt.turns[0].parts
    return str(parts[0]), [part.kind for part in parts if not isinstance(part, str)]


def test_the_prompt_tells_what_became_of_the_sound(tmp_path):
    heard = Media.read(write_video(tmp_path / "heard.mp4", colour_frames(4), tones=(440, 660)))
    silent = Media.read(write_video(tmp_path / "silent.mp4", colour_frames(4), sound=True))
    mute = Media.read(write_video(tmp_path / "mute.mp4", colour_frames(4)))
    two = Sampling(frames=2)
    assert sent_texts(heard, two, sends_sound=False) == (
        "[video of 1.5 s, 2 frames, its sound is left out]\n", ["image", "image"],
    )  # fmt: skip
    assert sent_texts(heard, two, sends_sound=True) == (
        "[video of 1.5 s, 2 frames, its sound comes after them]\n", ["image", "image", "audio"],
    )  # fmt: skip
    assert sent_texts(silent, two, sends_sound=True)[0] == "[video of 1.5 s, 2 frames, its sound is silent]\n"
    assert sent_texts(mute, two, sends_sound=True)[0] == "[video of 1.5 s, 2 frames, without sound]\n"
    part = Sampling(frames=2, start=0.6, end=1.2)
    assert sent_texts(heard, part, sends_sound=True)[0] == (
        "[video of 1.5 s, from 0.6 s to 1.2 s, 2 frames, its sound comes after them]\n"
    )


def test_a_beginning_after_the_end_and_too_much_sound_are_named(tmp_path, monkeypatch):
    video = Media.read(write_video(tmp_path / "a.mp4", colour_frames(4), tones=(440,)))
    with pytest.raises(InputError, match=r"cannot be decoded: its last frame is at 1\.5 s, before start=9"):
        sent_texts(video, Sampling(start=9), sends_sound=False)
    monkeypatch.setattr("fullbench.models.wire.sound_of_videos.LARGEST_INLINE", 1_000)
    with pytest.raises(
        InputError, match=r"the sound of the video .* more than 0 minutes; .*; leave it out with sound=no"
    ):
        video_sound(video, FrameRule())
