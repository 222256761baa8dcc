"""The sound of a video as a recording, sent next to the video's frames to models that take both.

It is WAV with 16,000 samples a second on one channel, which all such APIs take. It is stored like frames: in the cache
by the digest of the video and the rule, and in the ledger with the calls that sent it.
"""

from __future__ import annotations

import tempfile
import wave
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

from fullbench.core.media import Media, read_media
from fullbench.core.picture import Sound
from fullbench.errors import require_extra
from fullbench.models.wire.media_encoding import LARGEST_INLINE
from fullbench.models.wire.video_frames_and_document_pages import (
    FrameRule,
    Stills,
    find_or_make_stills,
    one_sentence_for_decoder_errors,
)

SAMPLES_PER_SECOND = 16_000
_LOUDEST_SILENCE = 3
"""Samples of 16 bits up to this are silence: codecs add as much to a track of zeros."""


def video_sound(video: Media, rule: FrameRule) -> Stills:
    """Return the sound of the part of a video that a rule sends; without a recording if it is silent."""
    name = f"sound{rule.window_name}"

    def extract(folder: Path) -> Stills:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            file = Path(place) / "sound.wav"
            seconds = _write_sound(video, file, rule)
            if not seconds:
                return Stills("silent")
            recording = read_media(file, "audio")
            file.replace(folder / recording.digest)
        label = f"sound, {seconds:.1f} s"
        sound = Sound(recording.digest, "audio/wav", folder / recording.digest, video.digest, name, label)
        return Stills(label, sounds=(sound,))

    return find_or_make_stills(video, name, extract)


def _write_sound(video: Media, file: Path, rule: FrameRule) -> float:
    """Write the sound into a file in pieces, and return its seconds; 0 if it is silent."""
    with require_extra(f"the sound of a video ({video.media_type})", "video"):
        import av

    source: Any = str(video.source) if isinstance(video.source, Path) else BytesIO(video.source)
    first = round((rule.start or 0.0) * SAMPLES_PER_SECOND)
    last = None if rule.end is None else round(rule.end * SAMPLES_PER_SECOND)
    sample_count = written_count = 0
    is_silent = True
    with (
        one_sentence_for_decoder_errors(video, "the sound of ", "; leave it out with sound=no"),
        av.open(source) as container,
        wave.open(str(file), "wb") as out,
    ):
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(SAMPLES_PER_SECOND)
        resampler = av.AudioResampler("s16", "mono", SAMPLES_PER_SECOND)
        for frame in chain(container.decode(audio=0), [None]):
            for part in resampler.resample(frame):
                samples = part.to_ndarray()[0]
                piece = samples[max(0, first - sample_count) : None if last is None else max(0, last - sample_count)]
                sample_count += len(samples)
                written_count += len(piece)
                if written_count * 2 > LARGEST_INLINE:
                    minutes = LARGEST_INLINE / 2 / SAMPLES_PER_SECOND / 60
                    raise ValueError(f"it has more than {minutes:.0f} minutes; cut it with start and end")
                is_silent = is_silent and not (abs(piece.astype(int)) > _LOUDEST_SILENCE).any()
                out.writeframes(piece.tobytes())
            if last is not None and sample_count >= last:
                break
    return 0.0 if is_silent else written_count / SAMPLES_PER_SECOND
