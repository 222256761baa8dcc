"""Items and responses built from released instances, references, predictions and submissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fullbench.benchmarks.visit_bench.release_files import Instance, Release
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.item_response_verdict_files import read_responses
from fullbench.files.picture_access_policy import read_picture
from fullbench.files.picture_copies_from_web_and_archives import copy_of
from fullbench.files.row_fields import Fields
from fullbench.files.row_readers import read_rows

SAMPLE = Path(__file__).parent / "sample"
REFERENCE = "reference"
"""Contestant name of the verified references."""
_RELEASE_COLUMNS = frozenset({
    "", "idx", "question", "image_id", "image_url", "image", "images", "visual", "instruction", "instruction_category",
    "image_dense_caption", "image_dense_captions", "images_dense_captions", "images_blip2_captions", "gpt4_prediction",
    "reference_output", "output_human_annotated", "public_images_metadata", "is_multiple_images", "Unnamed: 0",
    "Unnamed", "human_ratings_gpt4_correct", "human_ratings_problem_in_caption", "human_ratings_problem_in_gpt4",
})  # fmt: skip


def item_of(row: Instance, folder: Path) -> Item:
    """Build an item from an instance. Downloaded images are read from `images/` in the folder."""
    places = [copy_of(folder, image) for image in row.images]
    present_paths = [place for place in places if place is not None]
    pictures = tuple(read_picture(folder, str(place.relative_to(folder))) for place in present_paths)
    tags = {"family": row.family, "origin": row.origin, "images": row.kind, "label": row.label}
    if len(present_paths) < len(places):
        # All images or none: a model that gets only the second image takes it for the first.
        pictures = ()
        tags[WITHOUT_PICTURES] = "\n".join(row.images)
    return Item.ask(row.id, row.instruction or "", *pictures, reference=row.reference, captions=row.captions, tags=tags)


def is_judged(item: Item) -> bool:
    """Return True unless a person found the item's reference wrong or it is still unverified."""
    return item.tags.get("verified") != "no" and item.tags.get("label", "correct") == "correct"


def reference_responses(items: Iterable[Item]) -> list[Response]:
    """Return the verified references as the answers of one more contestant."""
    return [Response.say(item.id, REFERENCE, item.reference) for item in items if item.reference]


@dataclass(frozen=True)
class Submission:
    """Answers of a predictions file, and the number of rows about instances that are not judged."""

    responses: tuple[Response, ...]
    left_out: int


def released_predictions(source: Path) -> Submission:
    """Return the released answers to verified single-image rows; the first if a row is answered twice."""
    release = Release.read(source)
    ids_by_row = {row.row: row.id for row in release.instances_of_kind("single") if row.is_verified and row.instruction}
    responses: dict[tuple[str, str], Response] = {}
    left_out_count = 0
    for prediction in release.predictions:
        if prediction.row not in ids_by_row:
            left_out_count += 1
        else:
            key = (ids_by_row[prediction.row], prediction.model)
            responses.setdefault(key, Response.say(*key, prediction.text or ""))
    return Submission(tuple(responses.values()), left_out_count)


def parse_submission(
    path: Path, items: Sequence[Item], instances: Sequence[Instance] = (), *, name: str = ""
) -> Submission:
    """Parse the answers in a predictions file.

    The file has our own layout (`item`, `contestant`, `text`) or that of the leaderboard's authors: `instruction`,
    `instruction_category`, `image`, and either `model_name` and `prediction` or one more column named after the model.
    Rows are matched with the instances by image, instruction and family. A row without a match is an error; a row about
    an unverified instance is left out and counted.
    """
    header = next(iter(read_rows(path)))[1]
    if "item" in header:
        responses = read_responses(path, contestant=name or None, items={item.id for item in items})
        return Submission(tuple(responses), 0)
    if not instances:
        raise InputError("answers in the authors' layout need the released instances: give their folder", path=path)
    return _match_instances(path, items, instances, name)


def _match_instances(path: Path, items: Sequence[Item], instances: Sequence[Instance], name: str) -> Submission:
    rows = {(row.images, row.instruction, row.family): row for row in instances}
    item_ids = {item.id for item in items}
    responses: dict[str, Response] = {}
    left_out_count = 0
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        images = fields.texts("images") or fields.texts("image")
        instance = rows.get((tuple(images), fields.text("instruction"), fields.name("instruction_category")))
        if instance is None:
            raise fields.error("image, instruction and instruction_category match no instance of the release")
        column = answer_column(fields, row)
        model = name or fields.text("model_name") or column
        if instance.id not in item_ids:
            left_out_count += 1
        else:
            responses.setdefault(instance.id, Response.say(instance.id, model, fields.text(column) or ""))
    return Submission(tuple(responses.values()), left_out_count)


def answer_column(fields: Fields, row: Mapping[str, object]) -> str:
    """Return the column with the answers: `prediction`, or the only column that the release does not have."""
    if "prediction" in row:
        return "prediction"
    unknown_columns = [column for column in row if column not in _RELEASE_COLUMNS and not column.startswith("Unnamed")]
    if len(unknown_columns) != 1:
        column_names = ", ".join(unknown_columns) or "none"
        raise fields.error(
            f"one column must hold the answers, named 'prediction' or after the model; found {column_names}"
        )
    return unknown_columns[0]
