"""Importer of GenAI-Bench: votes on two pictures or videos made from a prompt, and its files of judges' results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Part, Turn
from fullbench.core.verdict import PEOPLE, Fault
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.import_record_builder import CHOICE, RecordBuilder, rows_of_files, text_of, words_of
from fullbench.files.exchange.message_parts import media_of

_SIDES = ("left", "right")
_VOTES: Mapping[str, tuple[float, float]] = {
    "leftvote": (1.0, 0.0), "rightvote": (0.0, 1.0), "tievote": (0.5, 0.5), "bothbad_vote": (0.5, 0.5),
}  # fmt: skip
_LEVELS: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("A>B", "A>>B"), (1.0, 0.0)), **dict.fromkeys(("B>A", "B>>A"), (0.0, 1.0)),
    **dict.fromkeys(("A=B", "A=B=Good", "A=B=Bad"), (0.5, 0.5)),
}  # fmt: skip


def is_genai_bench_file(head: FileHead) -> bool:
    """Return True for rows of votes on two sides, and for results of a judge next to people's votes."""
    return head.has("vote_type", "left_model", "right_model") or head.has("model_vote", "human_vote")


@detected_by(is_genai_bench_file)
def import_genai_bench(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import GenAI-Bench: rows of its tasks, and results of its judges (`results/TASK/JUDGE/pairwise.jsonl`).

    Rows have `prompt`, `left_model`, `right_model`, `vote_type` and the pictures or videos of both sides. Results have
    no names of models and no files: the sides are the contestants `left` and `right`. The judge is the folder's name,
    or the option `judge`. A vote for "both bad" is a tie, and counted.
    """
    builder = RecordBuilder(path)
    voted_items: set[str] = set()
    for file, line, row in rows_of_files(path, "*.jsonl", "*.parquet"):
        is_result = "human_vote" in row
        item = builder.add_item(_question(row, file, line, is_result=is_result))
        shown_responses = []
        for side in _SIDES:
            who = side if is_result else text_of(row, f"{side}_model", path=file, line=line)
            parts = [] if is_result else _made_media(row, side, file)
            shown_responses.append((who, builder.add_response(item, who, parts or ("",))))
        if not is_result or item not in voted_items:  # the results of every judge repeat people's votes
            voted_items.add(item)
            _add_vote(builder, item, shown_responses, words_of(row.get("human_vote" if is_result else "vote_type")))
        if is_result:
            judge = options.get("judge") or file.parent.name
            _add_judge_vote(builder, judge, item, shown_responses, row)
    return builder.build()


def _question(row: Mapping[str, Any], file: Path, line: int, *, is_result: bool) -> Item:
    """Return the prompt, after the source picture of an edit. Results of one task number its rows."""
    names = ("prompt", "instruct_prompt", "instruction")
    source = row.get("source_image")
    files: list[Part] = [media_of(source, "image", file)] if source else []
    prompt = text_of(row, *names, path=file, line=line)
    row_name = words_of(row.get("index", row.get("id"))) or str(line)
    return Item(f"{file.parent.parent.name}/{row['idx']}" if is_result else row_name, (Turn("user", (*files, prompt)),))


def _made_media(row: Mapping[str, Any], side: str, file: Path) -> list[Part]:
    videos: list[Part] = [media_of(row[name], "video", file) for name in (f"{side}_video",) if row.get(name)]
    names = (f"{side}_image", f"{side}_output_image")
    return videos + [media_of(row[name], "image", file) for name in names if row.get(name)]


def _add_vote(builder: RecordBuilder, item: str, shown_responses: list[tuple[str, int]], vote: str) -> None:
    if vote not in _VOTES:
        builder.leave_out("rows without a vote of people")
        return
    if vote == "bothbad_vote":
        builder.leave_out("votes for 'both bad': taken as ties")
    builder.add_verdict(PEOPLE, item, shown_responses, CHOICE, _VOTES[vote])


def _add_judge_vote(
    builder: RecordBuilder, judge: str, item: str, shown_responses: list[tuple[str, int]], row: Mapping[str, Any]
) -> None:
    level = words_of(row.get("model_vote")).strip("[] ")
    unreadable: Fault = "unreadable"
    builder.add_verdict(
        judge, item, shown_responses, CHOICE, _LEVELS.get(level, unreadable), text=words_of(row.get("response"))
    )
