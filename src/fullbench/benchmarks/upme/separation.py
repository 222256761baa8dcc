"""What a correlation is worth: does an answer fit the picture that it was given to better than other pictures?

No label is needed, so that any correlation can be tried on one's own pictures and answers before it is believed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fullbench.benchmarks.upme.asking import CORRELATION, COSINE
from fullbench.core.cases import Case, Verdict
from fullbench.core.errors import InputError
from fullbench.core.items import Item, Response
from fullbench.core.models import Judge
from fullbench.core.pictures import Picture
from fullbench.stats.estimates import Estimate

Given = tuple[Picture, str]
"""An answer beside the picture that it was given to."""


def separation(judge: Judge, given: Sequence[Given], *, seed: int = 0) -> Estimate:
    """The share of comparisons that an answer's own picture wins against another of these; equal marks count half.

    0.5 is chance. Comparisons in which the judge recused itself do not count. The interval draws pictures, with all
    answers that were given to them, anew.
    """
    from fullbench.stats.shares import share

    pictures = list({picture.digest: picture for picture, _ in given}.values())
    if len(pictures) < 2:
        raise InputError(f"a correlation is tried on two pictures or more; found {len(pictures)}")
    wins: list[float] = []
    own: list[str] = []
    for picture, text in given:
        marks = dict(_marks(judge, pictures, text))
        mine = marks.pop(picture.digest, None)
        others = [] if mine is None else marks.values()
        wins += [1.0 if mine > other else 0.5 if mine == other else 0.0 for other in others if mine is not None]
        own += [picture.digest] * len(others)
    return share(wins, cluster=own, seed=seed)


def _marks(judge: Judge, pictures: Sequence[Picture], text: str) -> Iterator[tuple[str, float]]:
    """What the judge makes of a text beside each picture, by the picture's digest."""
    cases = [
        Case(Item.ask(picture.digest, "", picture), (Response.say(picture.digest, "", text),), COSINE, CORRELATION)
        for picture in pictures
    ]
    for verdict in judge.hear(cases):
        if isinstance(verdict, Verdict) and verdict.marks is not None:
            yield verdict.item, verdict.marks[0]
