"""Prompts as they are sent: media that a model does not take become frames or pages, each in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from fullbench.core.item import Part, Turn
from fullbench.core.media import UNKNOWN, Document, Media, Video
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.video_frames_and_document_pages import (
    FrameRule,
    Stills,
    document_stills,
    picture_moves,
    video_stills,
)


def expand_media(prompt: Prompt, sampling: Sampling, sent_kinds: frozenset[str]) -> Prompt:
    """Return a prompt with frames and pages in place of media that are not sent as they are.

    Args:
        prompt: The prompt. One without such media is returned as it is.
        sampling: The settings of the model, which have the rules.
        sent_kinds: Kinds of media that are sent as they are.
    """
    if all(type(part) in {str, Picture} for turn in prompt.turns for part in turn.parts) and not sampling.moves:
        return prompt
    turns, shared, is_first = [], prompt.shared, True
    for turn in prompt.turns:
        parts: list[Part] = []
        for place, part in enumerate(turn.parts):
            if is_first and turn.role != "system" and place == prompt.shared:
                shared = len(parts)
            parts += [part] if isinstance(part, str) else expand_part(part, sampling, sent_kinds)
        if turn.role != "system" and is_first:
            shared = len(parts) if prompt.shared == len(turn.parts) else shared
            is_first = False
        turns.append(Turn(turn.role, tuple(parts)))
    return replace(prompt, turns=tuple(turns), shared=shared if prompt.shared else 0)


def expand_part(part: Media, sampling: Sampling, sent_kinds: frozenset[str]) -> list[Part]:
    """Return the parts that are sent for a picture, video, recording or document."""
    if part.kind in sent_kinds:
        return [part]
    if part.media_type == UNKNOWN:
        raise InputError(f"what was given as a {part.noun} is none that we know")
    if isinstance(part, Document):
        return list(_still_parts(document_stills(part, sampling.pages)))
    if isinstance(part, Video) or (type(part) is Picture and sampling.moves and picture_moves(part)):
        return list(_still_parts(video_stills(part, FrameRule(sampling.frames, sampling.fps))))
    return [part]


def _still_parts(stills: Stills) -> Iterator[Part]:
    yield f"[{stills.summary}]\n"
    for frame in stills.frames:
        yield f"[{frame.place}] "
        yield frame
        yield "\n"
