"""Short moving pictures with known truth, drawn from a seed as animated WebP, and questions about them.

No single frame gives an answer away. In every frame, each position, colour or thing is equally likely under both
truths: paths start anywhere on a ring, sequences at any of their steps, and switches on either side.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from fullbench.synthetic.drawing import PAPERS, pick_shade, shape_outline
from fullbench.synthetic.media_questions import MediaQuestion
from fullbench.synthetic.vocabulary import COLOURS, NUMBERS_ZH, SHAPES, Colour, Language, Shape, noun_of

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH, HEIGHT = 240, 168
FRAMES, MILLISECONDS = 12, 250
"""Frames of a moving picture, and how long each is shown. Judges that choose 16 frames get all of them."""
_FINE, _RADIUS = 2, 22
_REACH = 1.3 * _RADIUS
"""No shape reaches further from its centre."""
TICK = 8
"""Change of one corner pixel in every second frame: encoders join frames whose pixels differ by less than 3, and the
number of frames would then give answers away."""
_COUNTS = (1, 2, 3, 4)
"""How often a thing may jump."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A thing in one frame. Beyond an edge it appears on the other side."""

    shape: Shape
    colour: Colour
    x: float
    y: float


Film = tuple[Mover, ...]
"""The only thing to be seen in each frame."""


def draw_film(film: Sequence[Mover], seed: str) -> bytes:
    """Draw the film as animated WebP. Paper and shades depend on `seed` only."""
    rng = random.Random(f"draw/{seed}")
    paper = rng.choice(PAPERS)
    shades = {colour: pick_shade(colour, rng) for colour in COLOURS}
    return encode_frames([_draw_frame(mover, paper, shades[mover.colour]) for mover in film])


def _draw_frame(mover: Mover, paper: tuple[int, int, int], shade: tuple[int, int, int]) -> Image:
    from PIL import Image, ImageDraw

    frame = Image.new("RGB", (WIDTH * _FINE, HEIGHT * _FINE), paper)
    pen = ImageDraw.Draw(frame)
    for x in (mover.x % WIDTH + offset for offset in (-WIDTH, 0, WIDTH)):
        for y in (mover.y % HEIGHT + offset for offset in (-HEIGHT, 0, HEIGHT)):
            if -_REACH < x < WIDTH + _REACH and -_REACH < y < HEIGHT + _REACH:
                pen.polygon(shape_outline(mover.shape, x, y, _RADIUS, _FINE), fill=shade)
    return frame.reduce(_FINE)


def encode_frames(frames: Sequence[Image], milliseconds: int = MILLISECONDS) -> bytes:
    """Return animated WebP with all frames, also equal ones, which encoders would join."""
    out = io.BytesIO()
    pictures = [frame.convert("RGB") for frame in frames]
    for picture in pictures[1::2]:
        red, green, blue = picture.getpixel((0, 0))  # type: ignore[misc]  # a pixel in RGB has three values
        picture.putpixel((0, 0), (red - TICK if red >= TICK else red + TICK, green, blue))
    pictures[0].save(
        out, "WEBP", save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0, quality=90, method=2
    )
    return out.getvalue()


@dataclass(frozen=True)
class _Plot:
    """Words of a question, and films of its two answers: drawn anew at each call."""

    question: str
    answers: tuple[str, str]
    film: Callable[[int, random.Random], Film]
    needs_order: bool = True
    is_reversible: bool = False


def _plot_direction(language: Language, rng: random.Random) -> _Plot:
    shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
    is_across = rng.random() < 0.5
    names = {"en": ("left", "right") if is_across else ("up", "down"), "zh": "左右" if is_across else "上下"}[language]
    thing = noun_of(colour, shape, language)
    question = f"In which direction does the {thing} move?" if language == "en" else f"{thing}往哪个方向移动？"
    towards = "It moves to the {}." if is_across else "It moves {}."
    first, second = ((towards if language == "en" else "它向{}移动。").format(name) for name in names)

    def film(answer: int, rng: random.Random) -> Film:
        length = WIDTH if is_across else HEIGHT
        start, across = rng.uniform(0, length), rng.uniform(0.2, 0.8)
        step = rng.uniform(length / 11, length / 7) * (1 if answer else -1)
        places = [start + step * number for number in range(FRAMES)]
        return tuple(
            Mover(shape, colour, place, across * HEIGHT) if is_across else Mover(shape, colour, across * WIDTH, place)
            for place in places
        )

    return _Plot(question, (first, second), film, is_reversible=True)


def _plot_turn(language: Language, rng: random.Random) -> _Plot:
    shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
    thing = noun_of(colour, shape, language)

    def film(answer: int, rng: random.Random) -> Film:
        start, step = rng.uniform(0, 2 * math.pi), math.radians(rng.uniform(28, 42)) * (-1 if answer else 1)
        # The y axis points down, so growing angles turn clockwise.
        angles = [start + step * number for number in range(FRAMES)]
        return tuple(
            Mover(shape, colour, WIDTH / 2 + 56 * math.cos(angle), HEIGHT / 2 + 56 * math.sin(angle))
            for angle in angles
        )

    if language == "zh":
        return _Plot(f"{thing}绕圈时是顺时针还是逆时针？", ("它顺时针转。", "它逆时针转。"), film, is_reversible=True)
    return _Plot(
        f"Does the {thing} go round clockwise or counter-clockwise?",
        ("It goes round clockwise.", "It goes round counter-clockwise."), film, is_reversible=True,
    )  # fmt: skip


def _plot_sequence(language: Language, rng: random.Random) -> _Plot:
    things = [*zip(rng.sample(SHAPES, 3), rng.sample(COLOURS, 3), strict=True)]
    asked, *others = (noun_of(colour, shape, language) for shape, colour in things)

    def film(answer: int, rng: random.Random) -> Film:
        cycle = things if answer == 0 else [things[0], things[2], things[1]]
        start = rng.randrange(2 * len(cycle))
        return tuple(
            Mover(*cycle[(start + number) // 2 % len(cycle)], WIDTH / 2, HEIGHT / 2) for number in range(FRAMES)
        )

    if language == "zh":
        answers = (f"{others[0]}。", f"{others[1]}。")
        return _Plot(f"图形反复轮流出现。紧接在{asked}之后的是什么？", answers, film, is_reversible=True)
    return _Plot(
        f"Things appear one after the other, again and again. Which comes directly after the {asked}?",
        (f"The {others[0]}.", f"The {others[1]}."), film, is_reversible=True,
    )  # fmt: skip


def _plot_jumps(language: Language, rng: random.Random) -> _Plot:
    shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
    thing = noun_of(colour, shape, language)
    counts = rng.sample(_COUNTS, 2)

    def film(answer: int, rng: random.Random) -> Film:
        while True:
            jumps = sorted(rng.sample(range(1, FRAMES), counts[answer]))
            if all(later - earlier > 1 for earlier, later in pairwise(jumps)):
                break
        side, height = rng.random() < 0.5, rng.uniform(0.2, 0.8) * HEIGHT
        sides = [side ^ (sum(jump <= number for jump in jumps) % 2 == 1) for number in range(FRAMES)]
        return tuple(Mover(shape, colour, WIDTH * (0.75 if right else 0.25), height) for right in sides)

    if language == "zh":
        first, second = (f"{NUMBERS_ZH[count]}次。" for count in counts)
        return _Plot(f"{thing}跳到另一边几次？", (first, second), film)
    first, second = ("Once." if count == 1 else "Twice." if count == 2 else f"{count} times." for count in counts)
    return _Plot(f"How many times does the {thing} jump to the other side?", (first, second), film)


def _plot_change(language: Language, rng: random.Random) -> _Plot:
    shape, colours = rng.choice(SHAPES), rng.sample(COLOURS, 2)
    thing = noun_of(None, shape, language)
    answers = rng.sample((0, 1), 2)
    words = {
        "en": ("No, it keeps its colour.", "Yes, it changes its colour."), "zh": ("没有，颜色不变。", "变了颜色。")
    }[language]  # fmt: skip

    def film(answer: int, rng: random.Random) -> Film:
        first = rng.randrange(2)
        switch = rng.randrange(3, FRAMES - 2) if answers[answer] else FRAMES
        x, y = rng.uniform(0.2, 0.8) * WIDTH, rng.uniform(0.2, 0.8) * HEIGHT
        return tuple(Mover(shape, colours[first ^ (number >= switch)], x, y) for number in range(FRAMES))

    question = f"Does the {thing} change its colour?" if language == "en" else f"{thing}的颜色变了吗？"
    return _Plot(question, (words[answers[0]], words[answers[1]]), film, needs_order=False)


def _plot_motion(language: Language, rng: random.Random) -> _Plot:
    shape, colour = rng.choice(SHAPES), rng.choice(COLOURS)
    thing = noun_of(colour, shape, language)
    answers = rng.sample((0, 1), 2)
    words = {"en": ("No, it stays in its place.", "Yes, it moves."), "zh": ("没有，它停在原处。", "是的，它在动。")}[
        language
    ]

    def film(answer: int, rng: random.Random) -> Film:
        x, y, angle = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT), rng.uniform(0, 2 * math.pi)
        step = answers[answer] * rng.uniform(10, 20)
        return tuple(
            Mover(shape, colour, x + step * number * math.cos(angle), y + step * number * math.sin(angle))
            for number in range(FRAMES)
        )

    question = f"Does the {thing} move?" if language == "en" else f"{thing}在动吗？"
    return _Plot(question, (words[answers[0]], words[answers[1]]), film, needs_order=False)


_PLOTS: Mapping[str, Callable[[Language, random.Random], _Plot]] = {
    "direction": _plot_direction,
    "turn": _plot_turn,
    "sequence": _plot_sequence,
    "jumps": _plot_jumps,
    "colour change": _plot_change,
    "motion": _plot_motion,
}
KINDS: tuple[str, ...] = tuple(_PLOTS)
"""Kinds of question. The first three have the opposite answer if the video is played backwards."""
_LANGUAGES: tuple[Language, ...] = ("en", "zh")


def draw_films(seed: int, index: int) -> tuple[_Plot, int, tuple[Film, Film]]:
    """Return the plot of that number, which of its answers is right, and films for the right and the wrong one."""
    name = question_name(seed, index)
    rng = random.Random(name)
    kind = KINDS[index % len(KINDS)]
    language = _LANGUAGES[index // len(KINDS) % len(_LANGUAGES)]
    plot = _PLOTS[kind](language, rng)
    right = rng.randrange(2)
    return plot, right, (plot.film(right, rng), plot.film(1 - right, rng))


def question_name(seed: int, index: int) -> str:
    """Return the name of the question of that number."""
    return f"video-{seed}-{index:03d}"


@lru_cache(maxsize=1024)
def draw_video_question(seed: int, index: int) -> MediaQuestion:
    """Draw the question of that number with its two films. Kinds and languages rotate.

    >>> draw_video_question(0, 0).kind, draw_video_question(0, 0).shown[8:12]
    ('direction', b'WEBP')
    """
    plot, right, (shown, other) = draw_films(seed, index)
    name = question_name(seed, index)
    return MediaQuestion(
        name,
        "video",
        KINDS[index % len(KINDS)],
        _LANGUAGES[index // len(KINDS) % len(_LANGUAGES)],
        plot.question,
        plot.answers[right],
        plot.answers[1 - right],
        draw_film(shown, name),
        draw_film(other, f"{name}-other"),
        plot.needs_order,
        plot.is_reversible,
    )
