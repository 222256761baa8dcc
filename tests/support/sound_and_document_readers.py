"""Readers of the recordings and documents of an audit that share no code with them: from bytes to an answer."""

from __future__ import annotations

import io
import re
import threading
import wave
from collections.abc import Sequence

import numpy as np

KEYS = {(697, 1209): "1", (697, 1336): "2", (697, 1477): "3", (770, 1209): "4", (770, 1336): "5", (770, 1477): "6",
        (852, 1209): "7", (852, 1336): "8", (852, 1477): "9", (941, 1336): "0"}  # fmt: skip
NUMBERS = {word: value for value, words in enumerate(
    ("zero 零", "one 一", "two 两", "three 三", "four 四", "five 五", "six 六", "seven 七"))
    for word in words.split()}  # fmt: skip


def _segments(data: bytes) -> tuple[list[np.ndarray], int]:
    """The parts of a recording between silences."""
    with wave.open(io.BytesIO(data)) as file:
        rate = file.getframerate()
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(float) / 32_768
    step = rate // 100
    loud = [np.abs(samples[place : place + step]).max() > 0.05 for place in range(0, len(samples) - step, step)]
    segments, start = [], None
    for number, is_loud in enumerate([*loud, False]):
        if is_loud and start is None:
            start = number
        if not is_loud and start is not None:
            segments.append(samples[start * step : number * step])
            start = None
    return [segment for segment in segments if len(segment) > 3 * step], rate


def _peaks(samples: np.ndarray, rate: int, low: float = 200, high: float = 2_000) -> float:
    """The strongest frequency between two."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 8 * len(samples)))
    frequencies = np.fft.rfftfreq(8 * len(samples), 1 / rate)
    inside = (frequencies > low) & (frequencies < high)
    return float(frequencies[inside][np.argmax(spectrum[inside])])


def answer_from_sound(question: str, data: bytes, answers: Sequence[str]) -> int | None:
    """Which of two answers the recording gives; None if it does not tell."""
    segments, rate = _segments(data)
    if not segments:
        return None
    if re.search("rise or fall|上升还是", question):
        part = len(segments[0]) // 4
        rises = _peaks(segments[0][-part:], rate) > _peaks(segments[0][:part], rate)
        fits = [bool(re.search("rise|上升", answer)) == rises for answer in answers]
    elif re.search("tones is higher|哪个音高", question):
        if len(segments) != 2:
            return None
        first = _peaks(segments[0], rate) > _peaks(segments[1], rate)
        fits = [bool(re.search("first|第一", answer)) == first for answer in answers]
    elif re.search("beats|敲击", question):
        fits = [NUMBERS[answer.lower().strip(".。次")] == len(segments) for answer in answers]
    else:
        rows, columns = sorted({row for row, _ in KEYS}), sorted({column for _, column in KEYS})
        dialled = [
            KEYS.get((min(rows, key=lambda row: abs(row - _peaks(segment, rate, 600, 1_050))),
                      min(columns, key=lambda column: abs(column - _peaks(segment, rate, 1_100, 1_700)))))
            for segment in segments
        ]  # fmt: skip
        fits = [re.findall(r"\d", answer) == dialled for answer in answers]
    return fits.index(True) if fits.count(True) == 1 else None


_PDFIUM = threading.Lock()
"""PDFium must not be called by two threads at once."""


def pages_of(data: bytes) -> list[str]:
    """The text of each page, by PDFium."""
    import pypdfium2

    texts = []
    with _PDFIUM:
        pdf = pypdfium2.PdfDocument(data)
        for number in range(len(pdf)):
            page = pdf[number]
            text_page = page.get_textpage()
            texts.append(text_page.get_text_range())
            text_page.close()
            page.close()
        pdf.close()
    return texts


def answer_from_pages(question: str, pages: Sequence[str], answers: Sequence[str]) -> int | None:
    """Which of two answers the pages give; None if they do not tell."""
    if found := re.search(r"about the (\w+)", question):
        places = [number for number, page in enumerate(pages, start=1) if found[1] in page]
        fits = [int(re.findall(r"\d+", answer)[0]) in places for answer in answers]
    else:
        asked = re.search(r"How many (\w+)", question)
        assert asked is not None
        on_page = re.search(r"page (\d)", question)
        chosen = list(pages) if on_page is None else [*pages][int(on_page[1]) - 1 : int(on_page[1])]
        numbers = [number for page in chosen for number in re.findall(rf"{asked[1]}: (\d+)", page)]
        fits = [re.findall(r"\d+", answer)[0] in numbers for answer in answers]
    return fits.index(True) if fits.count(True) == 1 else None
