"""The sample: pictures of the court, and the questions that its contestants write about them when asked to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.files.item_files import read_items
from fullbench.judges.peer_review.review_protocol import questions, writing

SEED = 7
IMAGES = 4


def pictures(seed: int = SEED, images: int = IMAGES) -> dict[str, Picture]:
    """Pictures with known truth, by name."""
    from fullbench.synthetic.sample_items import sample as court

    return {known.item.id: known.item.pictures[0] for known in court(seed, images)}


def contestants() -> list[Model]:
    """Models that read pixels: they write questions, answer them and rule on answers."""
    from fullbench.synthetic.contestants import contestants as court

    return list(court())


def items(source: Path | None = None) -> Iterable[Item]:
    """Questions of a file (tags `image` and `reviewer` on each), or those that the court's contestants wrote."""
    return sample() if source is None else read_items(source)


def sample() -> list[Item]:
    """What the contestants ask about the first pictures."""
    images = pictures()
    prompts = [Prompt(item.turns, tag=item.id) for item in writing(images)]
    written = [
        Response.say(reply.prompt.tag, model.name, reply.text)
        for model in contestants()
        for reply in model.answer(prompts)
    ]
    return questions(images, written)
