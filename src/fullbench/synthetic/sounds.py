"""Short recordings with known truth, written from a seed as WAV with the standard library, and questions about them."""

from __future__ import annotations

import io
import math
import random
import wave
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from fullbench.synthetic.media_questions import MediaQuestion
from fullbench.synthetic.vocabulary import NUMBERS_EN, NUMBERS_ZH, Language

RATE = 8_000
"""Samples per second: enough for every tone here."""
_LOUDNESS, _FADE = 0.4, 0.01
_KEY_ROWS, _KEY_COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477)
"""Frequencies of the rows and columns of a telephone's keys, in Hz (ITU-T Q.23)."""
_KEYS = ("123", "456", "789", "*0#")

Sound = list[float]
"""Samples from -1 to 1."""


def encode_wav(sound: Sound) -> bytes:
    """Return a recording as WAV: one channel, 16 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(array("h", [round(32_767 * sample) for sample in sound]).tobytes())
    return out.getvalue()


def silence(seconds: float) -> Sound:
    """Return silence."""
    return [0.0] * round(RATE * seconds)


def tone(seconds: float, *frequencies: float, end: float | None = None) -> Sound:
    """Return a tone of one or several frequencies; with `end`, it glides there."""
    count = round(RATE * seconds)
    samples, phases = [], [0.0] * len(frequencies)
    for number in range(count):
        value = 0.0
        for place, start in enumerate(frequencies):
            frequency = start if end is None else start * (end / start) ** (number / count)
            phases[place] += 2 * math.pi * frequency / RATE
            value += math.sin(phases[place])
        fade = min(1.0, number / (_FADE * RATE), (count - number) / (_FADE * RATE))
        samples.append(_LOUDNESS * fade * value / len(frequencies))
    return samples


def hide_in_silence(data: bytes) -> bytes:
    """Return silence of the same length."""
    return encode_wav(silence(_seconds(data)))


def hide_in_noise(data: bytes) -> bytes:
    """Return noise of the same length."""
    rng = random.Random(len(data))
    return encode_wav([rng.uniform(-_LOUDNESS, _LOUDNESS) for _ in range(round(RATE * _seconds(data)))])


def _seconds(data: bytes) -> float:
    with wave.open(io.BytesIO(data)) as file:
        return float(file.getnframes() / file.getframerate())


@dataclass(frozen=True)
class _Plot:
    question: str
    answers: tuple[str, str]
    record: Callable[[int, random.Random], Sound]


def _plot_pitch(language: Language, _rng: random.Random) -> _Plot:
    def record(answer: int, rng: random.Random) -> Sound:
        low = rng.uniform(250, 700)
        high = low * rng.uniform(1.3, 2.0)
        first, second = (high, low) if answer == 0 else (low, high)
        return [*tone(0.8, first), *silence(0.3), *tone(0.8, second)]

    if language == "zh":
        return _Plot("录音里有两个音，哪个音高？", ("第一个音更高。", "第二个音更高。"), record)
    return _Plot("Which of the two tones is higher?", ("The first tone.", "The second tone."), record)


def _plot_glide(language: Language, _rng: random.Random) -> _Plot:
    def record(answer: int, rng: random.Random) -> Sound:
        low = rng.uniform(250, 600)
        high = low * rng.uniform(1.5, 2.5)
        return tone(1.8, low, end=high) if answer == 0 else tone(1.8, high, end=low)

    if language == "zh":
        return _Plot("音高是上升还是下降？", ("上升。", "下降。"), record)
    return _Plot("Does the tone rise or fall?", ("It rises.", "It falls."), record)


def _plot_beats(language: Language, rng: random.Random) -> _Plot:
    counts = rng.sample(range(2, 8), 2)

    def record(answer: int, rng: random.Random) -> Sound:
        count, pitch = counts[answer], rng.uniform(400, 900)
        # The recording is as long for every count, so that its length does not give the answer away.
        step, sound = 2.4 / count, []
        for _ in range(count):
            gap = step - 0.08
            before = rng.uniform(0.3, 0.7) * gap
            sound += [*silence(before), *tone(0.08, pitch), *silence(gap - before)]
        return (sound + silence(0.1))[: round(2.4 * RATE)]

    numbers = NUMBERS_ZH if language == "zh" else NUMBERS_EN
    first, second = (numbers[count] for count in counts)
    if language == "zh":
        return _Plot("录音里有几次敲击声？", (f"{first}次。", f"{second}次。"), record)
    return _Plot("How many beats are there?", (f"{first.capitalize()}.", f"{second.capitalize()}."), record)


def _plot_digits(language: Language, rng: random.Random) -> _Plot:
    right = [rng.choice("0123456789") for _ in range(4)]
    wrong = [*right]
    place = rng.randrange(4)
    wrong[place] = rng.choice([digit for digit in "0123456789" if digit != right[place]])
    texts = rng.sample([right, wrong], 2)

    def record(answer: int, rng: random.Random) -> Sound:
        sound: Sound = []
        for digit in texts[answer]:
            row = next(place for place, keys in enumerate(_KEYS) if digit in keys)
            pair = (_KEY_ROWS[row], _KEY_COLUMNS[_KEYS[row].index(digit)])
            sound += [*tone(rng.uniform(0.2, 0.3), *pair), *silence(rng.uniform(0.1, 0.2))]
        return (sound + silence(1.0))[: round(2.0 * RATE)]

    first, second = (" ".join(digits) for digits in texts)
    if language == "zh":
        return _Plot("电话按键拨了哪几个数字？", (f"{first}。", f"{second}。"), record)
    return _Plot("Which digits are dialled on the telephone keys?", (f"{first}.", f"{second}."), record)


_PLOTS: Mapping[str, Callable[[Language, random.Random], _Plot]] = {
    "pitch": _plot_pitch, "glide": _plot_glide, "beats": _plot_beats, "digits": _plot_digits,
}  # fmt: skip
KINDS: tuple[str, ...] = tuple(_PLOTS)
_LANGUAGES: tuple[Language, ...] = ("en", "zh")


@lru_cache(maxsize=1024)
def draw_sound_question(seed: int, index: int) -> MediaQuestion:
    """Draw the question of that number with its two recordings. Kinds and languages rotate.

    >>> draw_sound_question(0, 1).question, draw_sound_question(0, 1).shown[8:12]
    ('Does the tone rise or fall?', b'WAVE')
    """
    name = f"audio-{seed}-{index:03d}"
    rng = random.Random(name)
    kind, language = KINDS[index % len(KINDS)], _LANGUAGES[index // len(KINDS) % len(_LANGUAGES)]
    plot = _PLOTS[kind](language, rng)
    right = rng.randrange(2)
    return MediaQuestion(
        name,
        "audio",
        kind,
        language,
        plot.question,
        plot.answers[right],
        plot.answers[1 - right],
        encode_wav(plot.record(right, rng)),
        encode_wav(plot.record(1 - right, rng)),
    )
