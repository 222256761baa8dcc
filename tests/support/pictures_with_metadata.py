"""Picture files of every format with a planted mark in each place where a generator may write its name."""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageCms, ImageSequence
from PIL.PngImagePlugin import PngInfo

MARK = b"foxgen-xl"
TEXT = MARK.decode()
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:li>foxgen-xl</rdf:li></x:xmpmeta>'
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
ORIENTATION = 0x0112


@dataclass(frozen=True)
class Marked:
    """A file with marks; `frames` is the number of frames that people see of it."""

    name: str
    data: bytes
    frames: int = 1
    orientation: int = 1
    icc: bytes | None = None


def drawn(mode: str = "RGB", size: tuple[int, int] = (24, 16), seed: int = 0) -> Image.Image:
    """A picture without symmetry, so that a turn or a wrong palette shows."""
    image = Image.new("RGBA", size)
    image.putdata([(x * 9 % 256, y * 13 % 256, (x * y + seed) % 256, 255 - x * y % 200)
                   for y in range(size[1]) for x in range(size[0])])  # fmt: skip
    if mode == "I;16":
        return Image.frombytes(
            "I;16", size, b"".join(struct.pack("<H", n * 97 % 65536) for n in range(size[0] * size[1]))
        )
    return image.convert("RGB").convert(mode) if mode != "RGBA" else image


def exif(orientation: int = 1, *, thumbnail: bool = False) -> bytes:
    """An EXIF block that names the generator in four fields."""
    block = Image.Exif()
    block[0x010E], block[0x010F], block[0x0131] = TEXT, TEXT, f"{TEXT} 1.0"
    block[ORIENTATION] = orientation
    block.get_ifd(0x8769)[0x9286] = b"UNICODE\x00" + TEXT.encode()
    data = block.tobytes()
    return data + saved(drawn(), "JPEG", comment=MARK) if thumbnail else data


def saved(image: Image.Image, form: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(image: Image.Image, *, orientation: int = 1, **options: object) -> bytes:
    """A PNG file with a mark in each kind of chunk that may hold text, and after its end."""
    info = PngInfo()
    info.add_text("parameters", f"a cat, Steps: 20, Model: {TEXT}")
    info.add_text("prompt", TEXT * 50, zip=True)
    info.add_itxt("Comment", TEXT, "en", TEXT)
    info.add_itxt("XML:com.adobe.xmp", XMP.decode(), zip=True)
    data = saved(image, "PNG", pnginfo=info, exif=exif(orientation), dpi=(300, 300), **options)
    late = chunk(b"caBX", b"jumb" + MARK) + chunk(b"tIME", bytes(7)) + chunk(b"sPLT", MARK + b"\x00\x08")
    late += chunk(b"tEXt", b"Software\x00" + MARK) + chunk(b"foXg", MARK)
    end = data.rindex(b"IEND") - 4
    return data[:33] + chunk(b"prVt", MARK) + data[33:end] + late + data[end:] + MARK


def segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def jpeg(image: Image.Image, *, orientation: int = 1, tail: bytes = MARK, **options: object) -> bytes:
    """A JPEG file with a mark in comments and application segments, before and between scans, and after its end."""
    data = saved(image, "JPEG", quality=90, **options)
    at = 2 + 2 + struct.unpack_from(">H", data, 4)[0]
    added = segment(0xE1, exif(orientation, thumbnail=True)) + segment(0xE1, exif(3))
    added += segment(0xE1, b"http://ns.adobe.com/xap/1.0/\x00" + XMP) + segment(0xFE, MARK)
    added += segment(0xEB, b"JP\x00\x01" + MARK) + segment(0xED, b"Photoshop 3.0\x008BIM\x04\x04" + MARK)
    added += segment(0xE0, b"JFXX\x00\x10" + MARK) + segment(0xE2, b"FPXR\x00" + MARK) + b"\xff\xff"
    end = data.rindex(b"\xff\xda")
    return data[:at] + added + data[at:end] + segment(0xFE, MARK) + data[end:] + tail


def webp(data: bytes, *, orientation: int = 1) -> bytes:
    """A WebP file with EXIF, XMP and an unknown chunk added, and a mark after its end."""
    body = data[12:]
    if not body.startswith(b"VP8X"):
        with Image.open(io.BytesIO(data)) as image:
            sides = b"".join((side - 1).to_bytes(3, "little") for side in image.size)
        body = b"VP8X\x0a\x00\x00\x00" + bytes(4) + sides + body
    flags = body[8] | 0x0C
    body = body[:8] + bytes([flags]) + body[9:]
    for kind, content in ((b"EXIF", exif(orientation)[6:]), (b"XMP ", XMP), (b"C2PA", MARK), (b"foxg", b"odd" + MARK)):
        body += kind + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body + MARK


def gif(data: bytes, *, icc: bytes = b"") -> bytes:
    """A GIF file with a comment, a plain text, XMP and an unknown application extension, and a mark after its end."""
    at = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    comment = b"!\xfe\x09" + MARK + b"\x00"
    plain = b"!\x01\x0c" + bytes(12) + b"\x09" + MARK + b"\x00"
    magic = b"\x01" + bytes(range(255, -1, -1)) + b"\x00"
    added = (
        comment + plain + b"!\xff\x0bXMP DataXMP" + XMP + magic + b"!\xff\x0bC2PA_GIF\x01\x00\x00\x09" + MARK + b"\x00"
    )
    if icc:
        parts = [icc[place : place + 255] for place in range(0, len(icc), 255)]
        added += b"!\xff\x0bICCRGBG1012" + b"".join(bytes([len(part)]) + part for part in parts) + b"\x00"
    return data[:at] + added + data[at:-1] + comment + b";" + MARK


def frames_of(mode: str = "RGB") -> dict[str, object]:
    return {"save_all": True, "append_images": [drawn(mode, seed=40), drawn(mode, seed=90)], "duration": 70, "loop": 3}


@cache
def all_marked() -> tuple[Marked, ...]:
    """Every kind of file that is served whole, with marks."""
    palette = drawn("P")
    mpo = saved(drawn(size=(32, 24)), "MPO", save_all=True, append_images=[drawn(seed=9)], exif=exif(6))
    still, lossless = saved(drawn(), "WEBP"), saved(drawn("RGBA"), "WEBP", lossless=True)
    return (
        Marked("png", png(drawn())),
        Marked("png alpha, orientation 6", png(drawn("RGBA"), orientation=6), orientation=6),
        Marked("png of 16 bits", png(drawn("I;16"))),
        Marked("png with palette and transparency", png(palette, transparency=3)),
        Marked("png with profile", named_profile(png(drawn(), icc_profile=ICC)), icc=ICC),
        Marked("apng", png(drawn(), **frames_of()), frames=3),
        Marked("jpeg", jpeg(drawn())),
        Marked("jpeg, orientation 6, profile", jpeg(drawn(), orientation=6, icc_profile=ICC), 1, 6, ICC),
        Marked("jpeg, long profile", jpeg(drawn(), icc_profile=long_profile()), icc=long_profile()),
        Marked("jpeg, profile with a tail", jpeg(drawn(), icc_profile=ICC + MARK), icc=ICC),
        Marked("jpeg, progressive", jpeg(drawn(size=(64, 40)), progressive=True)),
        Marked("jpeg, restarts", jpeg(drawn(size=(64, 40)), restart_marker_blocks=1)),
        Marked("jpeg, four inks", jpeg(drawn("CMYK"))),
        Marked("jpeg, grey", jpeg(drawn("L"))),
        Marked("mpo", mpo, orientation=6),
        Marked("webp", webp(still)),
        Marked("webp, lossless, orientation 6", webp(lossless, orientation=6), orientation=6),
        Marked("webp with profile", webp(saved(drawn(), "WEBP", icc_profile=ICC)), icc=ICC),
        Marked("webp, animated", webp(saved(drawn("RGBA"), "WEBP", **frames_of("RGBA"))), frames=3),
        Marked("webp, simple layout", simple_webp(still)),
        Marked("gif", gif(saved(drawn("P"), "GIF"))),
        Marked("gif, animated", gif(saved(drawn(), "GIF", **frames_of())), frames=3),
        Marked("gif with profile", gif(saved(drawn("P"), "GIF", transparency=5), icc=ICC)),
    )


def named_profile(data: bytes) -> bytes:
    """A PNG file whose colour profile is called by the mark."""
    at = data.index(b"iCCP") - 4
    length = struct.unpack_from(">I", data, at)[0]
    compressed = data[at + 8 : at + 8 + length].split(b"\x00\x00", 1)[1]
    return data[:at] + chunk(b"iCCP", MARK + b"\x00\x00" + compressed) + data[at + 12 + length :]


def long_profile() -> bytes:
    """A profile that needs two segments of a JPEG."""
    return struct.pack(">I", 100_000) + ICC[4:] + bytes(100_000 - len(ICC))


def simple_webp(data: bytes) -> bytes:
    """A WebP file of the simple layout with a chunk that does not belong there."""
    body = data[12:] + b"EXIF" + struct.pack("<I", len(exif()[6:])) + exif()[6:] + bytes(len(exif()) % 2)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def holds_mark(data: bytes) -> bool:
    """Whether the mark is in these bytes, or in any stream that zlib can inflate from them."""
    if MARK in data or TEXT.encode("utf-16-le") in data:
        return True
    for found in re.finditer(rb"[\x08\x18\x28\x38\x48\x58\x68\x78][\x01\x5e\x9c\xda]", data):
        try:
            if MARK in zlib.decompressobj().decompress(data[found.start() :], 1 << 20):
                return True
        except zlib.error:
            continue
    return False


def seen_of(data: bytes) -> list[tuple[object, ...]]:
    """Every frame as it is decoded: mode, size, pixels, palette, transparency, delay; the first alone of an MPO."""
    with Image.open(io.BytesIO(data)) as image:
        count = 1 if image.format == "MPO" else None
        shown = []
        for frame in list_of(image)[:count]:
            info = {name: frame.info.get(name) for name in ("transparency", "duration", "loop", "gamma", "background")}
            shown.append((frame.mode, frame.size, frame.tobytes(), frame.getpalette(), tuple(info.items())))
        return shown


def list_of(image: Image.Image) -> list[Image.Image]:
    return [frame.copy() for frame in ImageSequence.Iterator(image)]
