"""What items and responses are made from: instances of the release, references, predictions, a submission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.visit_bench.release_files import Instance, Release
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.fetch_pictures import copy_of
from fullbench.files.item_files import read_responses
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.readers import read_rows
from fullbench.files.row_fields import Fields

SAMPLE = Path(__file__).parent / "sample"
REFERENCE = "reference"
"""The contestant whose answers are the verified references."""
_KNOWN = frozenset({
    "", "idx", "question", "image_id", "image_url", "image", "images", "visual", "instruction", "instruction_category",
    "image_dense_caption", "image_dense_captions", "images_dense_captions", "images_blip2_captions", "gpt4_prediction",
    "reference_output", "output_human_annotated", "public_images_metadata", "is_multiple_images", "Unnamed: 0",
    "Unnamed", "human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4",
})  # fmt: skip


def item_of(row: Instance, folder: Path) -> Item:
    """An instance as an item. Images are taken from `images/` in the folder, where they were fetched to."""
    places = [copy_of(folder, image) for image in row.images]
    there = [place for place in places if place is not None]
    seen = tuple(read_picture(folder, str(place.relative_to(folder))) for place in there)
    tags = {"family": row.family, "origin": row.origin, "images": row.kind, "label": row.label}
    if len(there) < len(places):
        # All of them or none: who sees the second image alone takes it for the first.
        seen = ()
        tags[WITHOUT_PICTURES] = "\n".join(row.images)
    return Item.ask(row.id, row.instruction or "", *seen, reference=row.reference, captions=row.captions, tags=tags)


def is_judged(item: Item) -> bool:
    """Whether an item's reference may be judged against: nobody said that it is wrong, or still to be verified."""
    return item.tags.get("verified") != "no" and item.tags.get("label", "correct") == "correct"


def references(items: Iterable[Item]) -> list[Response]:
    """The verified references as the answers of one more contestant."""
    return [Response.say(item.id, REFERENCE, item.reference) for item in items if item.reference]


@dataclass(frozen=True)
class Submission:
    """The answers of a predictions file, and how many of its rows speak of instances that are not judged."""

    responses: tuple[Response, ...]
    left_out: int


def released_predictions(source: Path) -> Submission:
    """The answers that were released, to verified single-image rows; where a row is answered twice, the first."""
    release = Release.read(source)
    judged = {row.row: row.id for row in release.of("single") if row.verified and row.instruction}
    responses: dict[tuple[str, str], Response] = {}
    left = 0
    for prediction in release.predictions:
        if prediction.row not in judged:
            left += 1
        else:
            key = (judged[prediction.row], prediction.model)
            responses.setdefault(key, Response.say(*key, prediction.text or ""))
    return Submission(tuple(responses.values()), left)


def submission(path: Path, asked: Sequence[Item], instances: Sequence[Instance] = (), *, name: str = "") -> Submission:
    """The answers in a predictions file.

    Either our own layout (`item`, `contestant`, `text`), or what the leaderboard's authors ask for: `instruction`,
    `instruction_category`, `image`, and either `model_name` and `prediction` or one more column that is named after
    the model. Rows are matched with the instances by image, instruction and family; a row that matches none is
    refused, one that matches an instance that is not verified is left out and counted.
    """
    header = next(iter(read_rows(path)))[1]
    if "item" in header:
        responses = read_responses(path, contestant=name or None, items={item.id for item in asked})
        return Submission(tuple(responses), 0)
    if not instances:
        raise InputError("answers in the authors' layout need the released instances: give their folder", path=path)
    return _matched(path, asked, instances, name)


def _matched(path: Path, asked: Sequence[Item], instances: Sequence[Instance], name: str) -> Submission:
    rows = {(row.images, row.instruction, row.family): row for row in instances}
    known = {item.id for item in asked}
    responses: dict[str, Response] = {}
    left = 0
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        images = fields.texts("images") or fields.texts("image")
        instance = rows.get((tuple(images), fields.text("instruction"), fields.name("instruction_category")))
        if instance is None:
            raise fields.error("image, instruction and instruction_category match no instance of the release")
        column = answer_column(fields, row)
        model = name or fields.text("model_name") or column
        if instance.id not in known:
            left += 1
        else:
            responses.setdefault(instance.id, Response.say(instance.id, model, fields.text(column) or ""))
    return Submission(tuple(responses.values()), left)


def answer_column(fields: Fields, row: Mapping[str, object]) -> str:
    """The column that holds the answers: `prediction`, or the only one that is no column of the release."""
    if "prediction" in row:
        return "prediction"
    others = [column for column in row if column not in _KNOWN and not column.startswith("Unnamed")]
    if len(others) != 1:
        listed = ", ".join(others) or "none"
        raise fields.error(f"one column must hold the answers, named 'prediction' or after the model; found {listed}")
    return others[0]
