"""Stills that are sent in place of a video or a document: frames at even times, and the first pages.

The choice depends on the file and the rule only. Frames and pages are kept in the cache folder by digest of the file
and rule, and in the ledger with the calls that sent them, so that a later call sends the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from fullbench.cache_dir import cache_folder
from fullbench.core.media import MOVING_PICTURE_TYPES, Media, bytes_digest
from fullbench.core.picture import Frame, Picture, Sound, extract_class
from fullbench.errors import InputError, require_extra
from fullbench.models.wire.image_encoding import write_atomically
from fullbench.picture_flattening_and_orientation import encode_image, flatten_to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

FRAMES = 16
"""Frames of a video if no rule is set."""
MOST_FRAMES = 64
"""Frames at most if a rate is set and no number."""
PAGES = 10
"""Pages of a document if no number is set."""
SOUND_LEFT_OUT = "its sound is left out"
"""End of the sentence on a video that has sound, if only its frames are sent."""
LONGEST_SIDE = 1_024
"""Longest side of a stored frame, in pixels. A page has twice that, so that its text can be read."""
_LARGEST_PNG = 400_000
_MOST_PIXELS = 100_000_000
_MOST_PACKETS = 5_000_000
_SEQUENTIAL_PACKETS = 1_500
"""Shorter videos are decoded from beginning to end, which is faster than a search for each frame."""


pdfium_turn = Lock()
"""PDFium crashes if two threads call it at once, even for different documents."""


@dataclass(frozen=True)
class FrameRule:
    """Choice of frames: a number at even times, or a rate with a limit. First and last frame are always sent.

    With `start` and `end`, in seconds, they are the frames shown then.
    """

    frames: int | None = None
    fps: float | None = None
    start: float | None = None
    end: float | None = None

    @property
    def name(self) -> str:
        """Name of the rule, as in the name of a model.

        >>> FrameRule().name, FrameRule(8, start=2.5).name, FrameRule(fps=0.5, end=60).name
        ('frames16', 'frames8-from2.5', 'fps0.5-max64-to60')
        """
        choice = f"frames{self.frames or FRAMES}" if self.fps is None else f"fps{self.fps:g}-max{self.most}"
        return choice + self.window_name

    @property
    def window_name(self) -> str:
        """Name of the part of the video that is sent; empty for the whole."""
        start = "" if self.start is None else f"-from{self.start:g}"
        return start + ("" if self.end is None else f"-to{self.end:g}")

    @property
    def most(self) -> int:
        """Largest number of frames."""
        return self.frames or (FRAMES if self.fps is None else MOST_FRAMES)

    def choose(self, times: Sequence[float]) -> list[int]:
        """Return the indexes of the frames to send among all, which are shown at these times in seconds.

        >>> FrameRule(3).choose([0.0, 1.0, 2.0, 3.0, 4.0]), FrameRule(fps=0.5).choose([0.0, 1.0, 2.0, 3.0])
        ([0, 2, 4], [0, 2, 3])
        >>> FrameRule(2, start=1.5, end=3).choose([0.0, 1.0, 2.0, 3.0, 4.0])
        [1, 3]
        """
        first, last = self.window(times)
        count = self.most
        if self.fps is not None:
            steps = int((last - first) * self.fps + 1e-9)
            if steps + 2 <= count:
                wanted = [first + step / self.fps for step in range(steps + 1)]
                return self._indexes(times, [*wanted, last])
        if count == 1:
            return [0]
        return self._indexes(times, [first + (last - first) * step / (count - 1) for step in range(count)])

    def window(self, times: Sequence[float]) -> tuple[float, float]:
        """Return the first and the last moment to send, in seconds."""
        first = times[0] if self.start is None else max(times[0], self.start)
        if first > times[-1]:
            raise ValueError(f"its last frame is at {times[-1]:.1f} s, before start={self.start:g}")
        return first, times[-1] if self.end is None else min(times[-1], self.end)

    @staticmethod
    def _indexes(times: Sequence[float], wanted: Sequence[float]) -> list[int]:
        return sorted({max(0, bisect_right(times, time + 1e-6) - 1) for time in wanted})


@dataclass(frozen=True)
class Stills:
    """Frames, pages or the sound of a file with what precedes each, and a sentence on the whole."""

    summary: str
    frames: tuple[Frame, ...] = ()
    sounds: tuple[Sound, ...] = ()

    @property
    def parts(self) -> Iterator[Frame | Sound]:
        """Frames or pages, then the sound."""
        yield from self.frames
        yield from self.sounds

    @classmethod
    def from_rows(
        cls, summary: str, rows: Iterable[tuple[str, str, Path | bytes, str]], origin: str, rule: str
    ) -> Stills:
        """Return stills from rows of digest, media type, source and place."""
        parts = [
            extract_class(media_type)(digest, media_type, source, origin, rule, place)
            for digest, media_type, source, place in rows
        ]
        frames = tuple(part for part in parts if isinstance(part, Frame))
        return cls(summary, frames, tuple(part for part in parts if isinstance(part, Sound)))


_FindStills = Callable[[str, str], Stills | None]
_find_stored: ContextVar[_FindStills | None] = ContextVar("frames and pages in the ledger of this run", default=None)


@contextmanager
def use_stored_stills(find: _FindStills) -> Iterator[None]:
    """Within the block, send the frames and pages that `find` returns for a digest and a rule.

    What it does not have is looked for as outside the block.
    """
    outer = _find_stored.get()

    def find_here_or_outside(digest: str, rule: str) -> Stills | None:
        return find(digest, rule) or (None if outer is None else outer(digest, rule))

    token = _find_stored.set(find_here_or_outside)
    try:
        yield
    finally:
        _find_stored.reset(token)


def video_stills(video: Media, rule: FrameRule) -> Stills:
    """Return the frames of a video, or of a moving GIF or WebP, that a rule chooses."""
    make = _picture_frames if isinstance(video, Picture) else _video_frames
    return _stills(video, rule.name, lambda: make(video, rule))


def document_stills(document: Media, pages: int | None) -> Stills:
    """Return the first pages of a document."""
    count = pages or PAGES
    return _stills(document, f"pages{count}", lambda: _document_pages(document, count))


_Made = tuple[str, Iterator[tuple[str, "Image"]]]
"""Sentence on the whole, and each picture with what precedes it."""


def _stills(media: Media, rule: str, make: Callable[[], _Made]) -> Stills:
    def draw(folder: Path) -> Stills:
        summary, pictures = make()
        frames = []
        for place, image in pictures:
            media_type, data = _encode(image)
            digest = bytes_digest(data)
            write_atomically(folder / digest, data)
            frames.append(Frame(digest, media_type, folder / digest, media.digest, rule, place))
        return Stills(summary, tuple(frames))

    return find_or_make_stills(media, rule, draw)


def find_or_make_stills(media: Media, rule: str, make: Callable[[Path], Stills]) -> Stills:
    """Return what earlier calls sent for a file under a rule, or what is in the cache, or what `make` puts there.

    Args:
        media: The file.
        rule: Name of the rule.
        make: Function that writes the stills into a folder.
    """
    find = _find_stored.get()
    if find is not None and (stored := find(media.digest, rule)) is not None:
        return stored
    folder = cache_folder() / "frames"
    key = (folder, media.digest, rule)
    recent = _recent_stills.get(key)
    if recent is not None and all(isinstance(part.source, Path) and part.source.exists() for part in recent.parts):
        return recent
    while len(_recent_stills) >= _MOST_RECENT:
        _recent_stills.pop(next(iter(_recent_stills)), None)
    stills = _recent_stills[key] = _read_or_make_stills(media, rule, make, folder)
    return stills


_recent_stills: dict[tuple[Path, str, str], Stills] = {}
"""Stills whose files in the cache were checked: cases about the same file follow each other."""
_MOST_RECENT = 1_000


def _read_or_make_stills(media: Media, rule: str, make: Callable[[Path], Stills], folder: Path) -> Stills:
    index = folder / f"{media.digest}-{rule}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        return _cached_stills(json.loads(index.read_bytes()), media, rule, folder)
    stills = make(folder)
    rows = [[part.digest, part.media_type, part.place] for part in stills.parts]
    write_atomically(index, json.dumps({"summary": stills.summary, "frames": rows}).encode())
    return stills


def _cached_stills(value: Any, media: Media, rule: str, folder: Path) -> Stills:
    rows = []
    for digest, media_type, place in value["frames"]:
        file = folder / digest
        if hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise ValueError(digest)
        rows.append((digest, media_type, file, place))
    return Stills.from_rows(value["summary"], rows, media.digest, rule)


def _encode(image: Image) -> tuple[str, bytes]:
    """Return a PNG if it is small, as drawings are, else a JPEG."""
    data = encode_image(image, optimize=False)
    if len(data) <= _LARGEST_PNG:
        return "image/png", data
    return "image/jpeg", encode_image(image, "JPEG", quality=90)


def _shrink(image: Image, longest_side: int = LONGEST_SIDE) -> Image:
    from PIL import Image as Images

    if max(image.size) > longest_side:
        image.thumbnail((longest_side, longest_side), Images.Resampling.LANCZOS)
    return image


def time_labels(times: Sequence[float]) -> list[str]:
    """Return times in seconds with as many digits as needed to tell them apart, one at least.

    >>> time_labels([0.0, 0.5, 12.0]), time_labels([0.0, 0.04])
    (['0.0 s', '0.5 s', '12.0 s'], ['0.00 s', '0.04 s'])
    """
    for digits in (1, 2, 3):
        labels = [f"{time:.{digits}f} s" for time in times]
        if len(set(labels)) == len(labels):
            break
    return labels


def picture_moves(picture: Picture) -> bool:
    """Return True if a GIF or WebP has several frames."""
    if picture.media_type not in MOVING_PICTURE_TYPES:
        return False
    from PIL import Image

    try:
        with Image.open(BytesIO(picture.cached_data())) as image:
            return getattr(image, "n_frames", 1) > 1
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False


def _picture_frames(picture: Media, rule: FrameRule) -> _Made:
    from PIL import Image

    def frames(indexes: Sequence[int], labels: Sequence[str]) -> Iterator[tuple[str, Image.Image]]:
        with one_sentence_for_decoder_errors(picture), Image.open(BytesIO(picture.cached_data())) as image:
            for index, label in zip(indexes, labels, strict=True):
                image.seek(index)
                yield label, _shrink(flatten_to_rgb(image.convert("RGBA")))

    with one_sentence_for_decoder_errors(picture), Image.open(BytesIO(picture.cached_data())) as image:
        times, now = [], 0.0
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            image.load()  # WebP knows the duration of a frame once it is decoded
            times.append(now)
            now += float(image.info.get("duration") or 100) / 1000
        indexes = rule.choose(times)
    labels = time_labels([times[index] for index in indexes])
    window = _window_text(rule, times)
    return f"moving picture of {now:.1f} s, {window}{_count(len(indexes), 'frame')}", frames(indexes, labels)


def _video_frames(video: Media, rule: FrameRule) -> _Made:
    with require_extra(f"frames of a video ({video.media_type})", "video"):
        import av

    source: Any = str(video.source) if isinstance(video.source, Path) else BytesIO(video.source)
    with one_sentence_for_decoder_errors(video), av.open(source) as container:
        if not container.streams.video:
            raise ValueError("it has only sound; give it as audio")
        stream = container.streams.video[0]
        if stream.codec_context.width * stream.codec_context.height > _MOST_PIXELS:
            raise ValueError(f"its frames have more than {_MOST_PIXELS // 10**6} megapixels")
        marks = set()
        for number, packet in enumerate(container.demux(stream)):
            if number >= _MOST_PACKETS:
                raise ValueError(f"it has more than {_MOST_PACKETS:,} frames")
            mark = packet.dts if packet.pts is None else packet.pts
            if mark is not None and packet.size:
                marks.add(mark)
        if not marks:
            raise ValueError("it has no frames")
        stamps = sorted(marks)
        unit, start = float(stream.time_base), stamps[0]
        has_sound = bool(container.streams.audio)
        times = [(stamp - start) * unit for stamp in stamps]
        indexes = rule.choose(times)
    labels = time_labels([times[index] for index in indexes])

    def frames() -> Iterator[tuple[str, Image]]:
        if isinstance(source, BytesIO):
            source.seek(0)
        with one_sentence_for_decoder_errors(video), av.open(source) as container:
            decoded = _decode_at([stamps[index] for index in indexes], container, len(stamps))
            for label, frame in zip(labels, decoded, strict=True):
                yield label, _shrink(_upright(frame))

    sound = SOUND_LEFT_OUT if has_sound else "without sound"
    window = _window_text(rule, times)
    return f"video of {times[-1]:.1f} s, {window}{_count(len(indexes), 'frame')}, {sound}", frames()


def _window_text(rule: FrameRule, times: Sequence[float]) -> str:
    if not rule.window_name:
        return ""
    first, last = rule.window(times)
    return f"from {first:.1f} s to {last:.1f} s, "


def _decode_at(wanted: Sequence[int], container: Any, packet_count: int) -> Iterator[Any]:
    """Yield the frame that is shown at each wanted time stamp."""
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    if packet_count <= _SEQUENTIAL_PACKETS:
        frames = _frames_with_stamps(container, stream)
        current = next(frames, None)
        if current is None:
            raise ValueError("no frame can be decoded")
        following = next(frames, None)
        for stamp in wanted:
            while following is not None and following[0] <= stamp:
                current, following = following, next(frames, None)
            yield current[1]
        return
    for stamp in wanted:
        container.seek(stamp, stream=stream, backward=True)
        shown = None
        for found, frame in _frames_with_stamps(container, stream):
            if shown is not None and found > stamp:
                break
            shown = frame
            if found >= stamp:
                break
        if shown is None:
            raise ValueError("no frame can be decoded")
        yield shown


def _frames_with_stamps(container: Any, stream: Any) -> Iterator[tuple[int, Any]]:
    last = -(2**62)
    for frame in container.decode(stream):
        stamp = frame.dts if frame.pts is None else frame.pts
        last = last + 1 if stamp is None else stamp
        yield last, frame


def _upright(frame: Any) -> Image:
    """Return a frame as a picture, turned as the file says: phones store videos lying on their side."""
    image: Image = frame.to_image()
    turn = int(getattr(frame, "rotation", 0) or 0) % 360
    return image.rotate(turn, expand=True) if turn else image


def _document_pages(document: Media, count: int) -> _Made:
    with require_extra("pages of a document as pictures", "pdf"):
        import pypdfium2

    source = document.source if isinstance(document.source, Path) else document.data()
    with one_sentence_for_decoder_errors(document), pdfium_turn:
        try:
            pdf = pypdfium2.PdfDocument(source)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise ValueError("it is encrypted; save a copy without a password") from error
            raise
        total = len(pdf)
        if not total:
            raise ValueError("it has no pages")

    def pages() -> Iterator[tuple[str, Image]]:
        with one_sentence_for_decoder_errors(document):
            for number in range(min(count, total)):
                with pdfium_turn:
                    page = pdf[number]
                    longest = max(page.get_size())
                    image: Image = page.render(scale=min(3.0, 2 * LONGEST_SIDE / max(longest, 1.0))).to_pil()
                    page.close()
                yield f"page {number + 1}", image.convert("RGB")
            with pdfium_turn:
                pdf.close()

    sent = "all of them" if total <= count else f"the first {count} of them"
    return f"document of {_count(total, 'page')}, {sent}", pages()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@contextmanager
def one_sentence_for_decoder_errors(media: Media, what: str = "", remedy: str = "") -> Iterator[None]:
    """Turn errors of a decoder into one sentence that names the file.

    Args:
        media: The file.
        what: What of it is decoded, such as `the sound of `.
        remedy: What the user can do.
    """
    from PIL import Image

    where = media.source if isinstance(media.source, Path) else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    except InputError:
        raise
    except (Image.DecompressionBombError, SyntaxError, OSError, ValueError, EOFError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        sentence = f"{what}the {media.noun} {media.digest[:12]} cannot be decoded: {reason}{remedy}"
        raise InputError(sentence, path=where) from error
