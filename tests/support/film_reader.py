"""A reader of the moving pictures of an audit that shares no code with them: from frames to an answer."""

from __future__ import annotations

import colorsys
import io
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image

HUES = {"red": 357, "orange": 26, "yellow": 50, "green": 140, "blue": 214, "purple": 280}
CHINESE = {"红": "red", "橙": "orange", "黄": "yellow", "绿": "green", "蓝": "blue", "紫": "purple"}
COUNTS = {"once": 1, "twice": 2, "一次": 1, "两次": 2, "三次": 3, "四次": 4}


def frames_of(data: bytes) -> list[Image.Image]:
    """All frames of a moving picture."""
    picture = Image.open(io.BytesIO(data))
    frames = []
    for number in range(getattr(picture, "n_frames", 1)):
        picture.seek(number)
        frames.append(picture.convert("RGB"))
    return frames


def thing_in(frame: Image.Image) -> tuple[str, float, float] | None:
    """Colour and place (0 to 1, on a ring) of the only thing in a frame; None if there is none."""
    frame = frame.reduce(2)
    pixels = np.asarray(frame, dtype=np.int16)
    vivid = pixels.max(axis=2) - pixels.min(axis=2) > 60
    if vivid.sum() < 12:
        return None
    red, green, blue = (pixels[vivid].mean(axis=0) / 255).tolist()
    hue = 360 * colorsys.rgb_to_hsv(red, green, blue)[0]
    colour = min(HUES, key=lambda name: abs((hue - HUES[name] + 180) % 360 - 180))
    rows, columns = np.nonzero(vivid)
    places = []
    for values, size in ((columns, frame.width), (rows, frame.height)):
        turn = np.exp(2j * np.pi * (values + 0.5) / size).mean()
        places.append(float(np.angle(turn) / (2 * np.pi) % 1))
    return colour, places[0], places[1]


def colour_in(text: str) -> str:
    """The first colour that a text names."""
    found = re.search("|".join([*HUES, *CHINESE]), text.lower())
    assert found is not None, text
    return CHINESE.get(found[0], found[0])


def answer_from_frames(question: str, frames: Sequence[Image.Image], answers: Sequence[str]) -> int | None:
    """Which of two answers the frames show; None if they do not tell."""
    seen = [thing for thing in map(thing_in, frames) if thing is not None]
    if len(seen) < 2:
        return None
    fits = _TESTS[next(word for word in _TESTS if re.search(word, question))](question, seen, answers)
    return fits.index(True) if fits.count(True) == 1 else None


Seen = Sequence[tuple[str, float, float]]


def _direction(_question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    steps = [sum((later[axis] - earlier[axis] + 0.5) % 1 - 0.5 for earlier, later in pairwise(seen)) for axis in (1, 2)]
    if max(map(abs, steps)) < 0.02:
        return [False, False]
    across = abs(steps[0]) > abs(steps[1])
    words = ("right|右", "left|左") if across else (r"\bdown\b|下", r"\bup\b|上")
    word = words[0 if steps[0 if across else 1] > 0 else 1]
    return [bool(re.search(word, answer)) for answer in answers]


def _turn(_question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    angles = [np.arctan2((y - 0.5) * 168, (x - 0.5) * 240) for _, x, y in seen]
    turned = sum((later - earlier + np.pi) % (2 * np.pi) - np.pi for earlier, later in pairwise(angles))
    if abs(turned) < 0.1:
        return [False, False]
    return [bool(re.search("counter|逆", answer)) != (turned > 0) for answer in answers]


def _sequence(question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    asked = colour_in(re.split("directly after the|紧接在", question)[1])
    after = {later[0] for earlier, later in pairwise(seen) if earlier[0] == asked and later[0] != asked}
    return [colour_in(answer) in after for answer in answers]


def _jumps(_question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    count = sum((earlier[1] > 0.5) != (later[1] > 0.5) for earlier, later in pairwise(seen))
    numbers = [COUNTS.get(answer.lower().strip(".。")) or int(re.findall(r"\d+", answer)[0]) for answer in answers]
    return [number == count for number in numbers]


def _change(_question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    changed = len({colour for colour, _, _ in seen}) > 1
    return [bool(re.search("^Yes|变了", answer)) == changed for answer in answers]


def _motion(_question: str, seen: Seen, answers: Sequence[str]) -> list[bool]:
    moved = max(abs((place[axis] - seen[0][axis] + 0.5) % 1 - 0.5) for place in seen for axis in (1, 2)) > 0.03
    return [bool(re.search("^Yes|在动", answer)) == moved for answer in answers]


_TESTS = {
    "direction|方向": _direction, "clockwise|顺时针": _turn, "directly after|紧接在": _sequence, "jump|跳": _jumps,
    "change its|颜色变": _change, " move\\?|在动吗": _motion,
}  # fmt: skip
