"""How tools' notes are weighed: every way of a grid tried, the best chosen, and what such a choice is worth elsewhere.

    python -m scripts.weigh ../shared/data/mllm-as-a-judge

Needs the tools (`scripts/localmodel.sh`) and the released pictures and answers of MLLM-as-a-Judge. The grid stands here
and nowhere else; the defaults of `fullbench.models.tools.text_image_fit_from_notes.Weights` are to be what this prints.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from fullbench.benchmarks.mllm_judge.release.load_release import Release
from fullbench.benchmarks.mllm_judge.release.release_as_record import assemble_record
from fullbench.benchmarks.upme.label_free_check_of_image_text_correlation import (
    PictureAnswer,
    held_out_separation,
    picture_separation,
)
from fullbench.core.table import Cell, Table
from fullbench.judges.answer_picture_fit_judge import Correlation
from fullbench.models.tools.text_image_fit_from_notes import ToolMeasure, Weights
from fullbench.models.tools.toolbox import Toolbox
from fullbench.reports.table_formats import render_table

THINGS = (0.5, 0.75, 1.0, 1.5, 2.0)
COLOURS = (0.3, 0.6, 1.0, 1.5, 2.0, 3.0)
PHOTOS = {"coco", "Concept Caption", "textVQA", "WIT", "llava_bench", "VisitBench", "AesBench", "mm-vet"}


def answers(data: Path, sources: set[str] | None = None) -> list[PictureAnswer]:
    """The answers with words that were given to one of the released pictures."""
    record = assemble_record(Release.read(data))
    return [
        (record.items[item].pictures[0], response.text)
        for (item, *_), response in record.responses.items()
        if record.items[item].pictures
        and response.text.strip()
        and (sources is None or record.items[item].tags.get("dataset") in sources)
    ]


def grid() -> dict[Weights, Correlation]:
    """Every way to weigh that is tried."""
    tools = Toolbox.from_names("objects+text+colours")
    ways = [Weights(thing, colour) for thing, colour in product(THINGS, COLOURS)]
    return {weights: Correlation(ToolMeasure(tools, weights)) for weights in ways}


def tried(given: Sequence[PictureAnswer]) -> list[Table]:
    """What each way reaches on all pictures, and the best one on pictures that it was not chosen on."""
    judges = grid()
    found = held_out_separation(list(judges.values()), given)
    inside = {weights: picture_separation(judge, given) for weights, judge in judges.items()}
    rows: list[list[Cell]] = [
        [weights.thing, weights.colour, str(inside[weights]), found.choice_counts.get(judges[weights].name, 0)]
        for weights in sorted(inside, key=lambda weights: -inside[weights].value)
    ]
    pictures = len({picture.digest for picture, _ in given})
    columns = ("thing", "colour", "on the pictures it was chosen on", "chosen")
    first = Table("weights", f"Ways to weigh, {pictures} pictures, {len(given)} answers", columns, rows)
    outside: list[list[Cell]] = [[str(found.separation), sum(found.choice_counts.values())]]
    columns = ("separation", "choices")
    return [first, Table("held out", "The best one, on pictures that it was not chosen on", columns, outside)]


def main(data: str) -> None:
    """All pictures, then the photos alone."""
    for sources in (None, PHOTOS):
        for table in tried(answers(Path(data), sources)):
            print(render_table(table, "text", width=110))


if __name__ == "__main__":
    main(*sys.argv[1:])
