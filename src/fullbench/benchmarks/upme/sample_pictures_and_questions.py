"""Sample of UPME: synthetic pictures and the questions that synthetic contestants write about them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.model import Model, Prompt
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.files.item_response_verdict_files import read_items
from fullbench.judges.peer_review.review_items_and_cases import question_requests, written_questions

SEED = 7
IMAGES = 4


def sample_pictures(seed: int = SEED, images: int = IMAGES) -> dict[str, Picture]:
    """Return synthetic pictures with known truth, by name."""
    from fullbench.synthetic.item_generator import build_items as build_synthetic

    return {entry.item.id: entry.item.pictures[0] for entry in build_synthetic(seed, images)}


def sample_contestants() -> list[Model]:
    """Return models that read pixels: they write questions, answer them and judge answers."""
    from fullbench.synthetic.pixel_reading_contestants import build_contestants as build_synthetic

    return list(build_synthetic())


def items(source: Path | None = None) -> Iterable[Item]:
    """Read questions from a file (each with tags `image` and `reviewer`), or return those of the sample."""
    return sample_questions() if source is None else read_items(source)


def sample_questions() -> list[Item]:
    """Return the questions that the contestants write about the first pictures."""
    images = sample_pictures()
    prompts = [Prompt(item.turns, tag=item.id) for item in question_requests(images)]
    question_responses = [
        Response.say(reply.prompt.tag, model.name, reply.text)
        for model in sample_contestants()
        for reply in model.answer(prompts)
    ]
    return written_questions(images, question_responses)
