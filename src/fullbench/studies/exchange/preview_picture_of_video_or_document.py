"""One picture that stands for a video or a document on pages for people: a frame, or all its first pages."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from fullbench.core.media import Media
from fullbench.core.picture import Picture
from fullbench.errors import UserError
from fullbench.models.wire.video_frames_and_document_pages import PAGES, FrameRule, document_stills, video_stills
from fullbench.picture_flattening_and_orientation import encode_image

_PAGE_WIDTH = 960
_MOST_HEIGHT = 16_000
"""WebP has at most 16,383 pixels a side."""
_GAP = 12


def preview_picture(media: Media) -> Picture | None:
    """Return the middle frame of a video, or the pages of a document under each other.

    None if the file cannot be decoded or the library for its kind is not installed.
    """
    try:
        if media.kind == "video":
            frames = video_stills(media, FrameRule(3)).frames
            return frames[len(frames) // 2]
        if media.kind == "document":
            return _joined_pages(document_stills(media, PAGES).frames)
    except UserError:
        return None
    return None


def _joined_pages(pages: Sequence[Picture]) -> Picture:
    from PIL import Image

    images = []
    for page in pages:
        with Image.open(BytesIO(page.data())) as file:
            height = max(1, round(file.height * _PAGE_WIDTH / file.width))
            images.append(file.convert("RGB").resize((_PAGE_WIDTH, height)))
    whole_height = sum(image.height + _GAP for image in images) - _GAP
    strip = Image.new("RGB", (_PAGE_WIDTH, whole_height), (128, 128, 128))
    top = 0
    for image in images:
        strip.paste(image, (0, top))
        top += image.height + _GAP
    if whole_height > _MOST_HEIGHT:
        strip = strip.resize((max(1, round(_PAGE_WIDTH * _MOST_HEIGHT / whole_height)), _MOST_HEIGHT))
    return Picture.from_bytes(encode_image(strip, "WEBP", quality=80))
