"""Lossless removal of metadata from PNG, JPEG, WebP and GIF files, for pictures that people look at.

Generators write their name into text chunks, EXIF, XMP or C2PA manifests, and a blind annotator could read it there.
Only what a browser needs is copied: coded pixels, animation, colour information and the EXIF orientation. Everything
else is dropped: text, thumbnails, unknown chunks, further pictures of an MPO file, and bytes after the picture's end.
Coded pixels are copied and never decoded, so a mark that is hidden in them stays. So does the text within an ICC
profile (its description and copyright), since the profile is needed as a whole.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from struct import pack, unpack_from

from fullbench.core.picture import media_type

STRIPPED_MEDIA = ("image/png", "image/jpeg", "image/webp", "image/gif")
_ORIENTATION_TAG = 0x0112
# A compressed profile may be a bomb; real ones have at most some megabytes.
_LARGEST_PROFILE = 16 * 1024 * 1024
_EXIF_PREFIX = b"Exif\x00\x00"

# Chunks of PNG that are copied, with the lengths that they may have (None: any length).
_PNG_KEPT_CHUNKS: dict[bytes, tuple[int, ...] | None] = {
    b"IHDR": (13,), b"PLTE": None, b"IDAT": None, b"IEND": (0,), b"tRNS": None, b"bKGD": (1, 2, 6),
    b"gAMA": (4,), b"cHRM": (32,), b"sRGB": (1,), b"sBIT": (1, 2, 3, 4), b"cICP": (4,), b"mDCV": (24,), b"cLLI": (8,),
    b"acTL": (8,), b"fcTL": (26,), b"fdAT": None,
}  # fmt: skip
_LONGEST_TABLE = {b"PLTE": 768, b"tRNS": 256}

_EOI, _SOS, _COMMENT = 0xD9, 0xDA, 0xFE
_APP0, _APP1, _APP2, _APP14, _APP15 = 0xE0, 0xE1, 0xE2, 0xEE, 0xEF
_FRAME_MARKERS = (0xC0, 0xC1, 0xC2, 0xC9, 0xCA)
_ICC_MARK = b"ICC_PROFILE\x00"
_PROFILE_PART = 65_519  # 65,533 bytes of a segment, less the mark (12) and two numbers (2)
# Fill bytes (0xFF) may precede a marker. Within a scan, 0xFF00 and the restart markers are part of the coded data.
_MARKER = re.compile(rb"\xff+([^\x00\xff])", re.DOTALL)
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7]", re.DOTALL)

_WEBP_ICC, _WEBP_ALPHA, _WEBP_EXIF, _WEBP_ANIMATED = 0x20, 0x10, 0x08, 0x02
_WEBP_BITSTREAMS = (b"VP8 ", b"VP8L")

_GIF_LOOPS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_GIF_PROFILE = b"ICCRGBG1012"


class UnparsablePictureError(ValueError):
    """The structure of a picture file cannot be parsed, so its metadata cannot be found."""


def strip_metadata(data: bytes) -> bytes:
    """Return the file of a picture without its metadata; the pixels are not encoded again.

    A file without metadata comes back byte for byte. Raise `UnparsablePictureError` if the file is of another type or
    its structure is broken.

    >>> frame = b"," + bytes(9) + b"\\x02\\x01\\x00\\x00"
    >>> strip_metadata(b"GIF89a" + bytes(7) + b"!\\xfe\\x09foxgen-xl\\x00" + frame + b";foxgen-xl").count(b"foxgen")
    0
    """
    parse = _PARSERS.get(media_type(data) or "")
    if parse is None:
        raise UnparsablePictureError("not a PNG, JPEG, WebP or GIF file")
    try:
        return b"".join(parse(data))
    except (struct.error, IndexError) as error:
        raise UnparsablePictureError("the file ends early") from error


def can_strip(data: bytes) -> bool:
    """Return whether `strip_metadata` can parse these bytes."""
    try:
        strip_metadata(data)
    except UnparsablePictureError:
        return False
    return True


def clean_profile(data: bytes) -> bytes:
    """Return the ICC profile that these bytes begin with, cut to the length in its header; empty if there is none."""
    if len(data) < 132 or data[36:40] != b"acsp":
        return b""
    length = unpack_from(">I", data)[0]
    return data[:length] if 132 <= length <= len(data) else b""


def read_orientation(exif: bytes) -> int:
    """Return the orientation (1 to 8) in an EXIF block; 1 if there is none or the block is broken."""
    tiff = exif.removeprefix(_EXIF_PREFIX)
    order = {b"II*\x00": "<", b"MM\x00*": ">"}.get(tiff[:4])
    if order is None:
        return 1
    try:
        directory = unpack_from(f"{order}I", tiff, 4)[0]
        for place in range(unpack_from(f"{order}H", tiff, directory)[0]):
            entry = directory + 2 + 12 * place
            tag, field_type, count = unpack_from(f"{order}HHI", tiff, entry)
            if tag == _ORIENTATION_TAG:
                if count != 1 or field_type not in {3, 4}:
                    return 1
                value = int(unpack_from(f"{order}{'H' if field_type == 3 else 'I'}", tiff, entry + 8)[0])
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


def _orientation_only_exif(exif: bytes) -> bytes:
    """Return an EXIF block with the orientation of another one; empty if the picture is upright."""
    orientation = read_orientation(exif)
    if orientation == 1:
        return b""
    return pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, _ORIENTATION_TAG, 3, 1, orientation, 0, 0)


def _refuse_unless(condition: bool, problem: str) -> None:
    if not condition:
        raise UnparsablePictureError(problem)


def _png_pieces(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    at, is_exif_seen, kind = 8, False, b""
    while kind != b"IEND":
        length, kind = unpack_from(">I4s", data, at)
        end = at + 12 + length
        _refuse_unless(end <= len(data), "a chunk is longer than the file")
        _refuse_unless(kind.isalpha() and (kind == b"IHDR") == (at == 8), f"the chunk {kind!r} is out of place")
        if kind in _PNG_KEPT_CHUNKS:
            lengths = _PNG_KEPT_CHUNKS[kind]
            _refuse_unless(lengths is None or length in lengths, f"the chunk {kind!r} has a wrong length")
            _refuse_unless(length <= _LONGEST_TABLE.get(kind, length), f"the chunk {kind!r} is too long")
            chunk = data[at:end]
            # A wrong checksum means that type, length or content changed: this could be a text chunk.
            _refuse_unless(
                zlib.crc32(memoryview(chunk)[4:-4]) == unpack_from(">I", chunk, length + 8)[0], "wrong checksum"
            )
            yield chunk
        elif kind == b"iCCP":
            yield _png_profile(data[at + 8 : end - 4], data[at:end])
        elif kind == b"eXIf" and not is_exif_seen:
            is_exif_seen = True
            exif = _orientation_only_exif(data[at + 8 : end - 4])
            yield _png_chunk(b"eXIf", exif) if exif else b""
        else:
            _refuse_unless(kind[0] & 0x20 != 0, f"the critical chunk {kind!r} is not known")
        at = end


def _png_chunk(kind: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))


def _png_profile(content: bytes, chunk: bytes) -> bytes:
    """Return the chunk of a colour profile under a neutral name: the name of a profile is free text."""
    name, separator, compressed_profile = content.partition(b"\x00")
    if not separator or compressed_profile[:1] != b"\x00":
        return b""
    inflater = zlib.decompressobj()
    try:
        profile = inflater.decompress(compressed_profile[1:], _LARGEST_PROFILE)
    except zlib.error:
        return b""
    trimmed_profile = clean_profile(profile) if inflater.eof else b""
    if not trimmed_profile:
        return b""
    neutral = b"ICC Profile"
    if name == neutral and trimmed_profile == profile and not inflater.unused_data:
        return chunk
    return _png_chunk(b"iCCP", neutral + b"\x00\x00" + zlib.compress(trimmed_profile))


def _jpeg_pieces(data: bytes) -> list[bytes]:
    pieces, at, has_frame, has_scan, has_exif = [data[:2]], 2, False, False, False
    profile_places: list[int] = []
    while True:
        marker_match = _MARKER.match(data, at)
        _refuse_unless(marker_match is not None, "a marker is missing")
        assert marker_match is not None
        marker, at = marker_match[1][0], marker_match.end()
        if marker == _EOI:
            break
        end = at + unpack_from(">H", data, at)[0]
        _refuse_unless(at + 2 <= end <= len(data), "a segment is longer than the file")
        content = data[at + 2 : end]
        at = end
        if _APP0 <= marker <= _APP15 or marker == _COMMENT:
            if marker == _APP2 and content.startswith(_ICC_MARK):
                profile_places.append(len(pieces))
            is_second_exif = has_exif and marker == _APP1 and content.startswith(_EXIF_PREFIX)
            has_exif |= marker == _APP1 and content.startswith(_EXIF_PREFIX)
            kept_content = b"" if is_second_exif else _jpeg_application(marker, content)
            pieces.append(_jpeg_segment(marker, kept_content) if kept_content else b"")
            continue
        _refuse_unless(_is_sound_segment(marker, content), f"the segment 0xff{marker:02x} is not known or broken")
        _refuse_unless(not (marker in _FRAME_MARKERS and has_frame), "a second frame begins")
        has_frame |= marker in _FRAME_MARKERS
        pieces.append(_jpeg_segment(marker, content))
        if marker == _SOS:
            _refuse_unless(has_frame, "a scan comes before its frame")
            has_scan, scan_end = True, _SCAN_END.search(data, at)
            _refuse_unless(scan_end is not None, "the end is missing")
            assert scan_end is not None
            pieces.append(data[at : scan_end.start()])
            at = scan_end.start()
    _refuse_unless(has_scan, "there is no scan")
    _clean_jpeg_profile(pieces, profile_places)
    return [*pieces, bytes((0xFF, _EOI))]


def _clean_jpeg_profile(pieces: list[bytes], places: list[int]) -> None:
    """Cut the colour profile in the segments at these places to its own length; drop them if they hold none."""
    # A segment holds marker and length (4 bytes), the mark (12), its number and their count (2), and a part.
    profile = b"".join(part[2:] for part in sorted(pieces[place][16:] for place in places))
    trimmed_profile = clean_profile(profile)
    if trimmed_profile == profile:
        return
    parts = [trimmed_profile[at : at + _PROFILE_PART] for at in range(0, len(trimmed_profile), _PROFILE_PART)]
    profile_segments = [
        _jpeg_segment(_APP2, _ICC_MARK + bytes((number, len(parts))) + part) for number, part in enumerate(parts, 1)
    ]
    for place in places:
        pieces[place] = b""
    pieces[places[0]] = b"".join(profile_segments)


def _jpeg_segment(marker: int, content: bytes) -> bytes:
    return pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _jpeg_application(marker: int, content: bytes) -> bytes:
    """Return what is kept of an application segment or a comment; empty if nothing is."""
    if marker == _APP0 and content.startswith(b"JFIF\x00") and len(content) >= 14:
        return content[:12] + b"\x00\x00"  # without the thumbnail
    if marker == _APP1 and content.startswith(_EXIF_PREFIX):
        exif = _orientation_only_exif(content)
        return _EXIF_PREFIX + exif if exif else b""
    if marker == _APP2 and content.startswith(_ICC_MARK):
        return content
    if marker == _APP14 and content.startswith(b"Adobe") and len(content) >= 12:
        return content[:12]  # the last of these bytes is the colour transform
    return b""


def _is_sound_segment(marker: int, content: bytes) -> bool:
    """Return whether a segment has exactly the length of its content. A longer one could hide another segment."""
    if marker in _FRAME_MARKERS:
        return len(content) == 6 + 3 * content[5]
    if marker == _SOS:
        return len(content) == 4 + 2 * content[0]
    if marker in {0xDC, 0xDD}:  # number of lines, restart interval
        return len(content) == 2
    if marker == 0xCC:  # conditioning of arithmetic coding
        return 0 < len(content) <= 64 and len(content) % 2 == 0
    at = 0
    if marker == 0xDB:  # quantisation tables
        while at < len(content):
            at += 129 if content[at] >> 4 else 65
    elif marker == 0xC4:  # Huffman tables
        while at < len(content):
            codes = content[at + 17 : at + 17 + sum(content[at + 1 : at + 17])]
            if len(set(codes)) < len(codes):
                return False  # a table never repeats a code, but hidden text repeats letters
            at += 17 + sum(content[at + 1 : at + 17])
    return at == len(content) > 0


def _webp_pieces(data: bytes) -> list[bytes]:
    end = 8 + int(unpack_from("<I", data, 4)[0])
    _refuse_unless(end <= len(data), "the file ends early")
    chunks = list(_webp_chunks(data, 12, end))
    kinds = [kind for kind, _ in chunks]
    _refuse_unless(bool(kinds) and kinds[0] in {b"VP8X", *_WEBP_BITSTREAMS}, "the first chunk is not known")
    for kind in (b"VP8X", b"ICCP", b"ANIM", b"ALPH"):
        _refuse_unless(kinds.count(kind) <= 1, f"the chunk {kind!r} occurs twice")
    pictures = sum(map(kinds.count, _WEBP_BITSTREAMS))
    _refuse_unless(pictures == 1 if b"ANMF" not in kinds else pictures == 0, "there is not one picture")
    if kinds[0] != b"VP8X":
        # The simple layout holds exactly one chunk.
        kept_chunks = [(kind, _webp_kept_content(kind, content)) for kind, content in chunks[:1]]
        _refuse_unless(pictures == 1, "frames need a header")
    else:
        kept_chunks = [(kind, _webp_kept_content(kind, content)) for kind, content in chunks if kind != b"EXIF"]
        exif = next((content for kind, content in chunks if kind == b"EXIF"), b"")
        kept_chunks.append((b"EXIF", _orientation_only_exif(exif)))
        flags = kept_chunks[0][1][0] & (_WEBP_ALPHA | _WEBP_ANIMATED)
        flags |= _WEBP_ICC if any(kind == b"ICCP" and content for kind, content in kept_chunks) else 0
        flags |= _WEBP_EXIF if kept_chunks[-1][1] else 0
        kept_chunks[0] = (b"VP8X", bytes((flags, 0, 0, 0)) + kept_chunks[0][1][4:])
    body = b"".join(_webp_chunk(kind, content) for kind, content in kept_chunks if content)
    return [b"RIFF", pack("<I", len(body) + 4), b"WEBP", body]


def _webp_chunks(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, bytes]]:
    while at < end:
        kind, length = unpack_from("<4sI", data, at)
        _refuse_unless(kind.isascii() and kind.decode().isprintable(), "a chunk has no name")
        _refuse_unless(at + 8 + length <= end, "a chunk is longer than the file")
        yield kind, data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2


def _webp_chunk(kind: bytes, content: bytes) -> bytes:
    return kind + pack("<I", len(content)) + content + bytes(len(content) % 2)


def _webp_kept_content(kind: bytes, content: bytes) -> bytes:
    if kind == b"VP8 ":
        _refuse_unless(content[3:6] == b"\x9d\x01\x2a", "the picture does not begin with a key frame")
    elif kind == b"VP8L":
        _refuse_unless(content[:1] == b"\x2f", "the lossless picture has no signature")
    elif kind in {b"VP8X", b"ANIM"}:
        _refuse_unless(len(content) == (10 if kind == b"VP8X" else 6), f"the chunk {kind!r} has a wrong length")
    elif kind == b"ANMF":
        _refuse_unless(len(content) >= 16, "a frame ends early")
        parts = [(name, part) for name, part in _webp_chunks(content, 16, len(content)) if name != b"ANMF"]
        kinds = [name for name, _ in parts if name in {b"ALPH", *_WEBP_BITSTREAMS}]
        _refuse_unless(sum(map(kinds.count, _WEBP_BITSTREAMS)) == 1 and len(kinds) <= 2, "a frame is not one picture")
        kept_parts = [(name, _webp_kept_content(name, part)) for name, part in parts if name in kinds]
        return content[:16] + b"".join(_webp_chunk(name, part) for name, part in kept_parts)
    elif kind == b"ICCP":
        return clean_profile(content)
    elif kind != b"ALPH":
        return b""
    return content


def _gif_pieces(data: bytes) -> Iterator[bytes]:
    at = 13 + _gif_colours(data[10])
    _refuse_unless(at <= len(data), "the file ends early")
    yield data[:at]
    has_frame = False
    # Some encoders omit the last byte (";"); it is added then.
    while at < len(data) and data[at : at + 1] != b";":
        start, introducer = at, data[at : at + 1]
        if introducer == b",":
            at += 10 + _gif_colours(data[at + 9])
            _refuse_unless(2 <= data[at] <= 11, "the code size is not known")
            has_frame, at = True, _gif_blocks_end(data, at + 1, are_pixels=True)
            yield data[start:at]
        else:
            _refuse_unless(introducer == b"!", "a block is not known")
            at = _gif_blocks_end(data, at + 2)
            yield _gif_extension(data[start:at])
    _refuse_unless(has_frame, "there is no frame")
    yield b";"


def _gif_colours(flags: int) -> int:
    """Return the number of bytes of the colour table that these flags announce."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _gif_blocks_end(data: bytes, at: int, *, are_pixels: bool = False) -> int:
    """Return the place after a series of data blocks.

    Encoders fill every block of coded pixels but the last, with 255 bytes or with 254. With `are_pixels`, a series that
    does otherwise is refused: its end may be missing, and a comment could follow as if it were pixels.
    """
    sizes = []
    while size := data[at]:
        sizes.append(size)
        at += 1 + size
    are_full = len(set(sizes[:-1])) <= 1 and all(254 <= size >= sizes[-1] for size in sizes[:-1])
    _refuse_unless(are_full or not are_pixels, "blocks of pixels differ in size")
    return at + 1


def _gif_extension(extension: bytes) -> bytes:
    """Return what is kept of an extension; empty if nothing is."""
    label = extension[1]
    if label == 0xF9:  # delay, disposal and transparency of a frame
        _refuse_unless(len(extension) == 8 and extension[2] == 4, "a graphic control extension has a wrong length")
        return extension
    name, blocks = extension[3:14], extension[14:]
    if label != 0xFF or extension[2] != 11:
        return b""
    if name in _GIF_LOOPS and blocks[:2] == b"\x03\x01":
        return extension[:14] + blocks[:4] + b"\x00"
    if name == _GIF_PROFILE:
        profile, at = b"", 0
        while size := blocks[at]:
            profile, at = profile + blocks[at + 1 : at + 1 + size], at + 1 + size
        trimmed_profile = clean_profile(profile)
        if trimmed_profile == profile:
            return extension
        parts = [trimmed_profile[at : at + 255] for at in range(0, len(trimmed_profile), 255)]
        return extension[:14] + b"".join(bytes((len(part),)) + part for part in parts) + b"\x00" if parts else b""
    return b""


_PARSERS: dict[str, Callable[[bytes], Iterator[bytes] | list[bytes]]] = dict(
    zip(STRIPPED_MEDIA, (_png_pieces, _jpeg_pieces, _webp_pieces, _gif_pieces), strict=True)
)
