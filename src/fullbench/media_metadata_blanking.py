"""Overwriting of metadata in videos and recordings, for files that people watch or hear.

Generators write their name into tags, and a blind annotator could read it in the browser. Each tag is replaced by
padding of the same length, so all offsets in the file stay valid and a server can send any range of it. Coded pictures
and sound are not touched: a mark that is hidden in them stays.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from struct import pack, unpack, unpack_from

from fullbench.core.media import Media
from fullbench.errors import InputError

ReadAt = Callable[[int, int], bytes]
"""Function that returns some bytes of a file at an offset."""

PIECE_BYTES = 256 * 1024
_MOST_ELEMENTS = 500_000
_LARGEST_HEADER = 64 * 2**20
"""Largest header packet of an Ogg file, which may hold a cover picture."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Bytes that replace those at an offset, followed by zeros up to `byte_count`."""

    offset: int
    head: bytes
    byte_count: int

    @property
    def end(self) -> int:
        return self.offset + self.byte_count


class UnparsableMediaError(ValueError):
    """The structure of a file cannot be parsed, so its metadata cannot be found."""


def metadata_patches(read_at: ReadAt, byte_count: int, media_type: str) -> tuple[Patch, ...]:
    """Return the patches that overwrite the metadata of a video or recording, in the order of their offsets.

    Args:
        read_at: Reader of the file.
        byte_count: Size of the file.
        media_type: Type that its first bytes show.

    Raises:
        UnparsableMediaError: The type is not known or the file is broken.

    >>> wav = b"RIFF" + pack("<I", 40) + b"WAVEfmt " + pack("<I", 0) + b"LIST" + pack("<I", 12) + b"INFOISFTgen!"
    >>> patches = metadata_patches(lambda offset, count: wav[offset : offset + count], len(wav), "audio/wav")
    >>> [(patch.offset, patch.head, patch.byte_count) for patch in patches]
    [(20, b'JUNK', 4), (28, b'', 12)]
    """
    parse = _PARSERS.get(media_type.partition("/")[2])
    if parse is None:
        raise UnparsableMediaError(f"metadata of {media_type} files cannot be removed")
    try:
        return tuple(sorted(parse(read_at, byte_count), key=lambda patch: patch.offset))
    except UnparsableMediaError:
        raise
    except (IndexError, ValueError, struct.error) as error:
        raise UnparsableMediaError("the file ends early") from error


def patched_range(read_at: ReadAt, patches: tuple[Patch, ...], start: int, count: int) -> bytes:
    """Return some bytes of a file with its patches applied.

    >>> patched_range(lambda offset, count: b"abcdefgh"[offset : offset + count], (Patch(2, b"XY", 4),), 1, 4)
    b'bXY\\x00'
    """
    data = bytearray(read_at(start, count))
    end = start + len(data)
    for patch in patches:
        if patch.offset >= end or patch.end <= start:
            continue
        first, last = max(patch.offset, start), min(patch.end, end)
        content = patch.head[first - patch.offset : last - patch.offset]
        data[first - start : last - start] = content.ljust(last - first, b"\0")
    return bytes(data)


def can_play(media: Media) -> bool:
    """Return True if people can get the file itself: its metadata can be found and overwritten."""
    if media.kind not in {"video", "audio"}:
        return False
    try:
        patches_of(media)
    except (InputError, UnparsableMediaError):
        return False
    return True


@lru_cache(maxsize=512)
def patches_of(media: Media) -> tuple[Patch, ...]:
    """Return what overwrites the metadata of a file. The cache works because `Media` compares by digest."""
    reader = _open_reader(media)
    try:
        return metadata_patches(reader.read_at, media.byte_count, media.media_type)
    finally:
        reader.close()


def clean_pieces(media: Media, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield bytes of a video or recording without metadata.

    Args:
        media: The file.
        start: First byte.
        end: Byte after the last one, or None for the end of the file.
    """
    patches = patches_of(media)
    reader = _open_reader(media)
    try:
        position, stop = start, media.byte_count if end is None else end
        while position < stop:
            piece = patched_range(reader.read_at, patches, position, min(PIECE_BYTES, stop - position))
            if not piece:
                raise InputError(f"the {media.noun} changed while it was read", path=_path_of(media))
            yield piece
            position += len(piece)
    finally:
        reader.close()


class _Reader:
    """Reader of bytes at offsets, of an open file or of bytes in memory."""

    def __init__(self, source: Path | bytes) -> None:
        self._descriptor = os.open(source, os.O_RDONLY) if isinstance(source, Path) else None
        self._data = source if isinstance(source, bytes) else b""

    def read_at(self, offset: int, count: int) -> bytes:
        if self._descriptor is None:
            return self._data[offset : offset + count]
        return os.pread(self._descriptor, count, offset)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _open_reader(media: Media) -> _Reader:
    try:
        return _Reader(media.source)
    except OSError as error:
        raise InputError(f"the {media.noun} was deleted or moved ({error.strerror})", path=_path_of(media)) from error


def _path_of(media: Media) -> Path | None:
    return media.source if isinstance(media.source, Path) else None


# Boxes of MP4 and QuickTime files that a player needs, by parent. All others become padding.
_KEPT_BOXES = {
    b"": b"ftyp styp moov mdat moof mfra sidx ssix wide pdin".split(),
    b"moov": b"mvhd trak mvex iods pssh".split(),
    b"trak": b"tkhd edts mdia tref tapt clip matt load".split(),
    b"mdia": b"mdhd hdlr minf elng".split(),
    b"minf": b"vmhd smhd hmhd sthd nmhd gmhd dinf stbl hdlr".split(),
}
_PARENT_BOXES = {b"moov", b"trak", b"mdia", b"minf", b"stbl"}


def _mp4_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    budget = [_MOST_ELEMENTS]

    def walk(start: int, end: int, parent: bytes) -> Iterator[Patch]:
        position = start
        while position + 8 <= end:
            budget[0] -= 1
            if budget[0] < 0:
                raise UnparsableMediaError("the file has too many boxes")
            size, name = unpack(">I4s", read_at(position, 8))
            header = 8
            if size == 1:
                size, header = unpack(">Q", read_at(position + 8, 8))[0], 16
            elif size == 0:
                size = end - position
            if size < header or position + size > end:
                if parent == b"" or size < header:
                    raise UnparsableMediaError(f"a box {name!r} ends outside of its parent")
                return
            kept = _KEPT_BOXES.get(parent)
            if kept is not None and name not in kept:
                yield Patch(position + 4, b"free", 4)
                yield Patch(position + header, b"", size - header)
            elif name == b"hdlr" and size > header + 24:
                # The name of a track's handler is free text; a NUL ends it, and QuickTime counts it.
                yield Patch(position + header + 24, b"", size - header - 24)
            elif name == b"stsd":
                yield from _sample_entry_patches(read_at, position + header + 8, position + size)
            elif name in _PARENT_BOXES:
                yield from walk(position + header, position + size, name)
            position += size

    yield from walk(0, byte_count, b"")


_VIDEO_ENTRY_NAME = 50
"""Offset of the compressor's name in a video sample entry; it has 32 bytes."""

_SOUND_ENTRIES = {b"mp4a", b"enca", b"Opus", b"fLaC", b"alac", b"ac-3", b"ec-3", b".mp3", b"sowt", b"twos", b"lpcm"}


def _sample_entry_patches(read_at: ReadAt, start: int, end: int) -> Iterator[Patch]:
    position = start
    while position + 8 <= end:
        size, name = unpack(">I4s", read_at(position, 8))
        if size < 8 or position + size > end:
            return
        if name not in _SOUND_ENTRIES and size >= 86 and _is_video_entry(read_at(position, 86)):
            yield Patch(position + _VIDEO_ENTRY_NAME, b"", 32)
        position += size


def _is_video_entry(entry: bytes) -> bool:
    """Return True if a sample entry has the depth 24 or the colour table -1 at the places of a video entry."""
    depth, table = unpack_from(">HH", entry, 82)
    return depth in {24, 32} or table == 0xFFFF


_KEPT_RIFF_CHUNKS = {b"fmt ", b"data", b"fact", b"smpl", b"cue ", b"ds64", b"avih", b"strh", b"strf", b"idx1", b"dmlh"}
_KEPT_RIFF_LISTS = {b"hdrl": True, b"strl": True, b"odml": True, b"movi": False}
"""Lists of AVI files, and whether to look inside them."""


def _riff_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    def walk(start: int, end: int) -> Iterator[Patch]:
        position = start
        while position + 8 <= end:
            name, size = unpack("<4sI", read_at(position, 8))
            size = min(size, end - position - 8)
            kind = read_at(position + 8, 4) if name in {b"LIST", b"RIFF"} else b""
            if name == b"RIFF" or kind in _KEPT_RIFF_LISTS:
                if name == b"RIFF" or _KEPT_RIFF_LISTS[kind]:
                    yield from walk(position + 12, position + 8 + size)
            elif name not in _KEPT_RIFF_CHUNKS and not name.startswith(b"ix"):
                yield Patch(position, b"JUNK", 4)
                yield Patch(position + 8, b"", size)
            position += 8 + size + size % 2
        if position < end:
            yield Patch(position, b"", end - position)

    yield from walk(12, byte_count)


def _mp3_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    head, sound_start = read_at(0, 10), 0
    if head[:3] == b"ID3":
        # A tag that has only padding. Unsynchronisation and extended headers are flags, which are cleared.
        size = sum((byte & 0x7F) << shift for byte, shift in zip(head[6:10], (21, 14, 7, 0), strict=True))
        footer = 10 if head[5] & 0x10 else 0
        yield Patch(5, b"", 1)
        yield Patch(10, b"", min(size + footer, byte_count - 10))
        sound_start = 10 + size + footer
    first_frame = read_at(sound_start, 64)
    header = max(first_frame.find(b"Xing"), first_frame.find(b"Info"))
    if header >= 0:
        # The encoder's name follows numbers of frames and bytes, a seek table and a quality, each if its flag is set.
        flags = first_frame[header + 7]
        fields = sum(size for bit, size in ((1, 4), (2, 4), (4, 100), (8, 4)) if flags & bit)
        name_start = sound_start + header + 8 + fields
        name = read_at(name_start, 4)
        # Players trust the lengths of silence that follow only if they know the encoder.
        yield Patch(name_start, name if name in {b"LAME", b"Lavf", b"Lavc"} else b"", 9)
    end = byte_count
    if byte_count > 128 and read_at(byte_count - 128, 3) == b"TAG":
        yield Patch(byte_count - 125, b"", 125)
        end -= 128
        if read_at(end - 227, 4) == b"TAG+":
            yield Patch(end - 223, b"", 223)
            end -= 227
    footer_bytes = read_at(max(0, end - 32), 32)
    if footer_bytes[:8] == b"APETAGEX":
        size, flags = unpack_from("<I4xI", footer_bytes, 12)
        start = max(0, end - size - (32 if flags & 0x80000000 else 0))
        yield Patch(start, b"", end - start)


_FLAC_PADDING = 1
_FLAC_KEPT_BLOCKS = {0, _FLAC_PADDING, 3}
"""Stream information, padding and seek table."""


def _flac_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    position = 4
    while position < byte_count:
        flags, *size_bytes = read_at(position, 4)
        size = int.from_bytes(bytes(size_bytes), "big")
        kind = flags & 0x7F
        if kind not in _FLAC_KEPT_BLOCKS:
            yield Patch(position, bytes([flags & 0x80 | _FLAC_PADDING]), 1)
        if kind not in _FLAC_KEPT_BLOCKS or kind == _FLAC_PADDING:
            yield Patch(position + 4, b"", size)
        position += 4 + size
        if flags & 0x80:
            return
    raise UnparsableMediaError("the last block of metadata is missing")


_OGG_COMMENT_STARTS = (b"\x03vorbis", b"OpusTags", b"\x81theora", b"\x04\x00\x00")
"""Beginnings of comment packets; the last one is of FLAC, with its length in the fourth byte."""


def _ogg_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    """Overwrite the comment packet of each stream; a page has a check sum, so its whole page is written anew."""
    position, open_streams = 0, {}
    pages: dict[int, bytearray] = {}
    packets: dict[int, list[tuple[int, int, int]]] = {}
    seen_comments: set[int] = set()
    total = 0
    while position + 27 <= byte_count:
        head = read_at(position, 27)
        if head[:4] != b"OggS":
            raise UnparsableMediaError("a page does not begin where the last one ends")
        flags, serial, count = head[5], unpack_from("<I", head, 14)[0], head[26]
        lacing = read_at(position + 27, count)
        size = 27 + count + sum(lacing)
        if flags & 2:
            open_streams[serial] = 0
        if serial in open_streams and serial not in seen_comments:
            total += size
            if total > _LARGEST_HEADER:
                raise UnparsableMediaError("the headers of the file are too large")
            pages[position] = bytearray(read_at(position, size))
            offset = 27 + count
            for segment in lacing:
                if open_streams[serial] == 1:
                    packets.setdefault(serial, []).append((position, offset, segment))
                offset += segment
                if segment < 255:
                    open_streams[serial] += 1
                    if open_streams[serial] == 2:
                        seen_comments.add(serial)
                        break
        elif open_streams and set(open_streams) <= seen_comments:
            break
        position += size
    for serial in seen_comments:
        segments = packets[serial]
        packet = b"".join(bytes(pages[page][offset : offset + size]) for page, offset, size in segments)
        blanked = _blank_comments(packet)
        done = 0
        for page, offset, size in segments:
            pages[page][offset : offset + size] = blanked[done : done + size]
            done += size
    for offset in {page for serial in seen_comments for page, _, _ in packets[serial]}:
        page_bytes = pages[offset]
        page_bytes[22:26] = bytes(4)
        page_bytes[22:26] = pack("<I", _ogg_check_sum(page_bytes))
        yield Patch(offset, bytes(page_bytes), len(page_bytes))


def _blank_comments(packet: bytes) -> bytes:
    start = next((len(mark) for mark in _OGG_COMMENT_STARTS[:3] if packet.startswith(mark)), 0)
    if not start and packet[:1] and packet[0] & 0x7F == 4:
        start = 4
    if not start:
        return packet
    blanked = bytearray(packet)
    position = start
    size = unpack_from("<I", packet, position)[0]
    blanked[position + 4 : position + 4 + size] = b" " * size
    position += 4 + size
    count = unpack_from("<I", packet, position)[0]
    position += 4
    for _ in range(min(count, 100_000)):
        size = unpack_from("<I", packet, position)[0]
        blanked[position + 4 : position + 4 + size] = b"X=".ljust(size)[:size]
        position += 4 + size
    if position > len(packet):
        raise UnparsableMediaError("a comment ends outside of its packet")
    blanked[position + 1 :] = bytes(max(0, len(packet) - position - 1))  # the byte before is the framing bit
    return bytes(blanked)


def _ogg_check_sum(page: bytes | bytearray) -> int:
    check = 0
    for byte in page:
        check = (check << 8) & 0xFFFFFFFF ^ _OGG_TABLE[(check >> 24) ^ byte]
    return check


def _ogg_table_entry(value: int) -> int:
    value <<= 24
    for _ in range(8):
        value = (value << 1) & 0xFFFFFFFF ^ (0x04C11DB7 if value & 0x80000000 else 0)
    return value


_OGG_TABLE = tuple(map(_ogg_table_entry, range(256)))

_VOID, _CHECK_SUM = 0xEC, 0xBF
_SEGMENT, _INFO, _TRACKS, _TRACK, _CLUSTER = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0x1F43B675
_MATROSKA_PARENTS = {_SEGMENT, _INFO, _TRACKS, _TRACK}
_MATROSKA_BLANKED = {0x7BA9, 0x4D80, 0x5741, 0x7384, 0x536E, 0x258688, _VOID}
"""Title, writing programs, file name, names of tracks and codecs, padding: their content becomes zeros."""
_MATROSKA_DROPPED = {0x1254C367, 0x1941A469, 0x1043A770}
"""Tags, attachments and chapters: they become padding."""


def _matroska_patches(read_at: ReadAt, byte_count: int) -> Iterator[Patch]:
    budget = [_MOST_ELEMENTS]

    def walk(start: int, end: int) -> Iterator[Patch]:
        position = start
        while position < end:
            budget[0] -= 1
            if budget[0] < 0:
                raise UnparsableMediaError("the file has too many elements")
            head = read_at(position, 16)
            id_length = 9 - head[0].bit_length()
            element = int.from_bytes(head[:id_length], "big")
            size_length = 9 - head[id_length].bit_length()
            size = int.from_bytes(head[id_length : id_length + size_length], "big") & ((1 << 7 * size_length) - 1)
            content = position + id_length + size_length
            if size == (1 << 7 * size_length) - 1:
                if element not in {_SEGMENT, _CLUSTER}:
                    raise UnparsableMediaError("a part has no size")
                # A live recording has no sizes. The walk continues with the parts of the cluster, which have them.
                size = end - content if element == _SEGMENT else 0
            if content + size > end:
                raise UnparsableMediaError("an element ends outside of its parent")
            if element in _MATROSKA_DROPPED:
                yield _matroska_padding(position, content + size - position)
            elif element == _CHECK_SUM:
                yield Patch(position, bytes([_VOID]), 1)
            elif element in _MATROSKA_BLANKED:
                yield Patch(content, b"", size)
            elif element in _MATROSKA_PARENTS:
                yield from walk(content, content + size)
            position = content + size

    yield from walk(0, byte_count)


def _matroska_padding(offset: int, byte_count: int) -> Patch:
    """Return an element of padding with this size in all: one byte for its name, up to eight for its length."""
    length_bytes = min(8, byte_count - 1)
    length = (byte_count - 1 - length_bytes) | 1 << 7 * length_bytes
    return Patch(offset, bytes([_VOID]) + length.to_bytes(length_bytes, "big"), byte_count)


_PARSERS: dict[str, Callable[[ReadAt, int], Iterator[Patch]]] = {
    "mp4": _mp4_patches, "quicktime": _mp4_patches, "wav": _riff_patches, "x-msvideo": _riff_patches,
    "mpeg": _mp3_patches, "flac": _flac_patches, "ogg": _ogg_patches, "webm": _matroska_patches,
    "x-matroska": _matroska_patches,
}  # fmt: skip
