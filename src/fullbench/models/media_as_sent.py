"""Prompts as they are sent: media that a model does not take become frames or pages, each in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from fullbench.core.item import Part, Turn
from fullbench.core.media import UNKNOWN, Document, Media, Video
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.sound_of_videos import video_sound
from fullbench.models.wire.video_frames_and_document_pages import (
    SOUND_LEFT_OUT,
    FrameRule,
    Stills,
    document_stills,
    picture_moves,
    video_stills,
)

SOUND_SENT = "its sound comes after them"
SOUND_SILENT = "its sound is silent"
_SOUND_SENTENCES = (SOUND_LEFT_OUT, SOUND_SENT, SOUND_SILENT)


def expand_media(
    prompt: Prompt, sampling: Sampling, sent_kinds: frozenset[str], *, sends_sound: bool = False
) -> Prompt:
    """Return a prompt with frames and pages in place of media that are not sent as they are.

    Args:
        prompt: The prompt. One without such media is returned as it is.
        sampling: The settings of the model, which have the rules.
        sent_kinds: Kinds of media that are sent as they are.
        sends_sound: True if the sound of a video is sent after its frames.
    """
    if all(type(part) in {str, Picture} for turn in prompt.turns for part in turn.parts) and not sampling.moves:
        return prompt
    turns, shared, is_first = [], prompt.shared, True
    for turn in prompt.turns:
        parts: list[Part] = []
        for place, part in enumerate(turn.parts):
            if is_first and turn.role != "system" and place == prompt.shared:
                shared = len(parts)
            if isinstance(part, str):
                parts.append(part)
            else:
                parts += expand_part(part, sampling, sent_kinds, sends_sound=sends_sound)
        if turn.role != "system" and is_first:
            shared = len(parts) if prompt.shared == len(turn.parts) else shared
            is_first = False
        turns.append(Turn(turn.role, tuple(parts)))
    return replace(prompt, turns=tuple(turns), shared=shared if prompt.shared else 0)


_HEARING_MODELS = re.compile(r"gemini|\bomni\b|minicpm-o|phi-4-multimodal|gemma-?3n")


def hears_with_frames(model: str) -> bool:
    """Return True if a model is known to take pictures and recordings in one prompt, by its name.

    >>> [hears_with_frames(name) for name in ("Qwen/Qwen2.5-Omni-7B", "google/gemini-2.5-pro", "gpt-4o", "qwen2-vl")]
    [True, True, False, False]
    """
    return _HEARING_MODELS.search(model.lower()) is not None


def refused_media_option(sampling: Sampling, native_kinds: frozenset[str], *, chooses_frames: bool) -> str:
    """Return why settings of media cannot be followed; empty if they can.

    Args:
        sampling: The settings.
        native_kinds: Kinds of media that the server takes as they are.
        chooses_frames: True if the frames of a video that is sent as it is follow from the request.
    """
    if sampling.sound and "audio" not in native_kinds:
        return "it takes no sound; leave out sound=yes"
    is_native = sampling.video == "native" or (
        chooses_frames and sampling.video is None and not sampling.frames and "video" in native_kinds
    )
    if not is_native:
        return ""
    if "video" not in native_kinds:
        return "it takes no video; leave out video=native"
    if sampling.sound is not None and not (chooses_frames and sampling.sound):
        remedy = "video=frames sends frames without it" if chooses_frames else "leave out sound"
        return f"the sound of a video is in the file that video=native sends; {remedy}"
    if chooses_frames:
        return "its highest rate is 24 frames a second; lower fps" if (sampling.fps or 0.0) > 24 else ""
    given = [name for name in ("fps", "start", "end") if getattr(sampling, name) is not None]
    if given:
        return f"the server chooses the frames of a video; leave out {' and '.join(given)}, or write video=frames"
    return ""


def expand_part(
    part: Media, sampling: Sampling, sent_kinds: frozenset[str], *, sends_sound: bool = False
) -> list[Part]:
    """Return the parts that are sent for a picture, video, recording or document."""
    if part.kind in sent_kinds:
        return [part]
    if part.media_type == UNKNOWN:
        raise InputError(f"the file given as a {part.noun} has no known format")
    if isinstance(part, Document):
        return list(_still_parts(document_stills(part, sampling.pages)))
    if isinstance(part, Video) or (type(part) is Picture and sampling.moves and picture_moves(part)):
        rule = FrameRule(sampling.frames, sampling.fps, sampling.start, sampling.end)
        return list(_still_parts(_with_sound(part, video_stills(part, rule), rule, sends_sound=sends_sound)))
    return [part]


def _with_sound(video: Media, stills: Stills, rule: FrameRule, *, sends_sound: bool) -> Stills:
    """Return the frames of a video and, if it is sent, its sound. The sentence on the whole tells which."""
    about, comma, sentence = stills.summary.rpartition(", ")
    if sentence not in _SOUND_SENTENCES:
        return stills
    sounds = video_sound(video, rule).sounds if sends_sound else ()
    sentence = SOUND_SENT if sounds else SOUND_SILENT if sends_sound else SOUND_LEFT_OUT
    return Stills(f"{about}{comma}{sentence}", stills.frames, sounds)


def _still_parts(stills: Stills) -> Iterator[Part]:
    yield f"[{stills.summary}]\n"
    for part in stills.parts:
        yield f"[{part.place}] "
        yield part
        yield "\n"
