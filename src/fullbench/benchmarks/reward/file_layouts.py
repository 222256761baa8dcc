"""Row layouts of released reward benchmarks, as on their hubs and in their repositories."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fullbench.core.media import Kind
from fullbench.errors import InputError

Content = Sequence[Any]
"""Text, and files as in the row, wrapped in `RowMedia`."""
FIRST, SECOND, TIE = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)


@dataclass(frozen=True)
class RowMedia:
    """A picture or video of a row: bytes, a path, or a hub's mapping with both."""

    value: Any
    kind: Kind = "image"


@dataclass(frozen=True)
class Pair:
    """One comparison: the prompt, two answers in stored order, and people's preference."""

    id: str
    prompt: Content
    first: Content
    second: Content
    label: tuple[float, float]
    category: str


class UnsupportedRow(Exception):
    """A row that is left out and counted under this text."""


@dataclass(frozen=True)
class Layout:
    """Release format of one benchmark.

    `needs` lists required columns; `or_needs` those of its second layout. `is_seen` is False if no published row was at
    hand, so that the layout is that of its authors' scripts or cards.
    """

    paper: str
    needs: tuple[str, ...]
    read: Callable[[Mapping[str, Any], str], Pair | list[Pair]]
    or_needs: tuple[str, ...] = ()
    is_seen: bool = False

    def has_columns(self, row: Mapping[str, Any]) -> bool:
        """Return True if a row has the columns of the layout."""
        layouts = [self.needs, *([self.or_needs] if self.or_needs else [])]
        return any(all(column in row for column in columns) for columns in layouts)


def _read_text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name!r} must be text; found {value!r}")
    return value


def _wrap_media(value: Any, kind: Kind = "image") -> list[RowMedia]:
    if value is None:
        return []
    return [RowMedia(part, kind) for part in value] if isinstance(value, list) else [RowMedia(value, kind)]


def _parse_preference(
    value: Any, first: Sequence[str], second: Sequence[str], tie: Sequence[str] = ()
) -> tuple[float, float]:
    word = str(value).strip()
    for words, label in ((first, FIRST), (second, SECOND), (tie, TIE)):
        if word in words:
            return label
    raise InputError(f"the preferred side is one of {', '.join((*first, *second, *tie))}; found {value!r}")


_SOURCES = {
    "general": ("wildvision", "vlfeedback"), "hallucination": ("povid", "rlaif-v", "rlhf-v"),
    "reasoning": ("mmmu", "mathverse"),
}  # fmt: skip


def _read_vl_pair(row: Mapping[str, Any], name: str) -> Pair:
    answers, ranking = row.get("response"), row.get("human_ranking")
    if not isinstance(answers, list) or len(answers) != 2:
        raise InputError(f"'response' needs two answers; found {answers!r}")
    if not isinstance(ranking, list) or sorted(ranking) not in ([0, 1], [1, 2]):
        raise InputError(f"'human_ranking' ranks the two answers, as [0, 1]; found {ranking!r}")
    source = str(row.get("query_source") or "")
    part = next((part for part, names in _SOURCES.items() if source.lower().startswith(names)), source or "all")
    prompt = [*_wrap_media(row.get("image")), _read_text(row, "query")]
    return Pair(name, prompt, [answers[0]], [answers[1]], FIRST if ranking[0] < ranking[1] else SECOND, part)


def _read_multimodal_pair(row: Mapping[str, Any], name: str) -> Pair:
    prompt = [*_wrap_media(row.get("Image")), _read_text(row, "Text")]
    label = _parse_preference(row.get("Better"), ("Output1",), ("Output2",))
    category = str(row.get("Category") or "all")
    return Pair(name, prompt, [_read_text(row, "Output1")], [_read_text(row, "Output2")], label, category)


_IMAGE_MARKER = re.compile(r"<image(?:_?\d+)?>")


def _interleave_parts(text: Any, pictures: Any) -> Content:
    """Put pictures at the `<image>` markers of a text; surplus pictures come first."""
    row_pictures = _wrap_media(pictures)
    words = _IMAGE_MARKER.split(text or "")
    places = len(words) - 1
    parts: list[Any] = list(row_pictures[: max(0, len(row_pictures) - places)])
    inner = iter(row_pictures[max(0, len(row_pictures) - places) :])
    for place, word in enumerate(words):
        if place and (picture := next(inner, None)) is not None:
            parts.append(picture)
        if word.strip():
            parts.append(word.strip())
    return parts


def _parse_content(content: Any) -> Content:
    """Parse `[["text", ...], ["image", ...]]`, the format of the repository's files."""
    if not isinstance(content, list):
        raise InputError(f"a content is a list of text and image; found {content!r}")
    return [RowMedia(value) if kind == "image" else str(value) for kind, value in content]


def _read_second_edition_pair(row: Mapping[str, Any], name: str) -> Pair:
    label = _parse_preference(str(row.get("chosen")).upper(), ("A",), ("B",))
    if "response_a" in row and not row.get("prompt_content"):
        raise UnsupportedRow("pairs without their prompt, which the authors' build adds, are left out")
    if "prompt_content" in row:
        answers = [row[f"response_{side}"]["response_content"] for side in "ab"]
        prompt, first, second = (_parse_content(content) for content in (row["prompt_content"], *answers))
    else:
        prompt, first, second = (
            _interleave_parts(row.get(f"{part}_text"), row.get(f"{part}_images"))
            for part in ("prompt", "response_a", "response_b")
        )
    return Pair(name, prompt, first, second, label, str(row.get("task") or row.get("prompt_source") or "all"))


_VOTES = (("leftvote",), ("rightvote",), ("tievote", "bothbad_vote"))


def _read_genai_pair(row: Mapping[str, Any], name: str) -> Pair:
    label = _parse_preference(row.get("vote_type"), *_VOTES)
    if "source_image" in row:
        words = row.get("instruct_prompt") or row.get("target_prompt")
        prompt = [*_wrap_media(row["source_image"]), str(words or "")]
        left, right = (_wrap_media(row.get(f"{side}_output_image")) for side in ("left", "right"))
        return Pair(name, prompt, left, right, label, "edits")
    if "left_video" in row:
        left, right = (_wrap_media(row.get(f"{side}_video"), "video") for side in ("left", "right"))
        return Pair(name, [_read_text(row, "prompt")], left, right, label, "videos")
    left, right = (_wrap_media(row.get(f"{side}_image")) for side in ("left", "right"))
    return Pair(name, [_read_text(row, "prompt")], left, right, label, "pictures")


_RANKING_PATTERN = re.compile(r"[A-D]([>=][A-D])+(=Good|=Bad)?")


def _read_edit_pairs(row: Mapping[str, Any], name: str) -> list[Pair]:
    """Return the pairs of a row: one, or all pairs of three or four edits, as the authors count them."""
    vote = row.get("human_vote")
    ranking = str(vote.get("ranking") if isinstance(vote, Mapping) else row.get("ranking")).replace(" ", "")
    if _RANKING_PATTERN.fullmatch(ranking) is None:
        raise InputError(f"'ranking' is as A>B, A=B=Good or B>A>C; found {ranking!r}")
    paths = row.get("paths_generated")
    edits = paths if isinstance(paths, list) else [row.get(f"candidate_{place}") for place in (1, 2, 3, 4)]
    pictures = [_wrap_media(edit) for edit in edits if edit is not None]
    source, words = row.get("path_src", row.get("source_image")), "prompt" if "prompt" in row else "instruction"
    prompt = [*_wrap_media(source), _read_text(row, words)]
    levels = [level.removesuffix("=Good").removesuffix("=Bad").split("=") for level in ranking.split(">")]
    places = {letter: place for place, level in enumerate(levels) for letter in level}
    if sorted(places) != list("ABCD"[: len(pictures)]):
        raise InputError(f"'ranking' ranks {len(pictures)} edits; found {ranking!r}")
    pairs = []
    for (first, letter_1), (second, letter_2) in combinations(zip(pictures, "ABCD", strict=False), 2):
        gap = places[letter_1] - places[letter_2]
        label = TIE if gap == 0 else FIRST if gap < 0 else SECOND
        own = name if len(pictures) == 2 else f"{name}-{letter_1}{letter_2}"
        pairs.append(Pair(own, prompt, first, second, label, str(row.get("dataset") or f"{len(pictures)} edits")))
    return pairs


_MM_RLHF_PARTS = ("mcq", "long", "short", "safety", "video")
"""Parts of MM-RLHF-RewardBench, which its script finds in the path of the picture or video."""


_VIDEO_COLUMNS = ("video", "video_path", "videos")


def _read_chosen_pair(row: Mapping[str, Any], name: str) -> Pair:
    question = next((row[part] for part in ("question", "prompt", "query") if isinstance(row.get(part), str)), None)
    if question is None:
        raise InputError("the row has no question")
    image = row.get("image") or row.get("images") or None
    video = next((row[column] for column in _VIDEO_COLUMNS if row.get(column)), None)
    prompt = [*_wrap_media(image), *_wrap_media(video, "video"), question]
    # The row's name decides the order, so that the better answer is not always first.
    is_swapped = sum(name.encode()) % 2 == 1
    chosen_text, rejected_text = _read_text(row, "chosen"), _read_text(row, "rejected")
    place = video or image
    part = next((part for part in _MM_RLHF_PARTS if isinstance(place, str) and part in place), "all")
    category = str(row.get("category") or row.get("task") or part)
    if is_swapped:
        return Pair(name, prompt, [rejected_text], [chosen_text], SECOND, category)
    return Pair(name, prompt, [chosen_text], [rejected_text], FIRST, category)


LAYOUTS: Mapping[str, Layout] = {
    "vl-rewardbench": Layout(
        "Li et al., VL-RewardBench: A Challenging Benchmark for Vision-Language Generative Reward Models, "
        "arXiv:2411.17451",
        ("query", "response", "human_ranking"), _read_vl_pair,
    ),
    "multimodal-rewardbench": Layout(
        "Yasunaga et al., Multimodal RewardBench: Holistic Evaluation of Reward Models for Vision Language Models, "
        "arXiv:2502.14191",
        ("Text", "Output1", "Output2", "Better"), _read_multimodal_pair,
    ),
    "multimodal-rewardbench-2": Layout(
        "Hu et al., Multimodal RewardBench 2: Evaluating Omni Reward Models for Interleaved Text and Image, "
        "arXiv:2512.16899",
        ("pair_id", "chosen"), _read_second_edition_pair, ("id", "chosen", "response_a"), is_seen=True,
    ),
    "genai-bench-pairs": Layout(
        "Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
        ("vote_type",), _read_genai_pair,
    ),
    "editreward-bench": Layout(
        "Wu et al., EditReward: A Human-Aligned Reward Model for Instruction-Guided Image Editing, arXiv:2509.26346",
        ("instruction", "candidate_1", "candidate_2", "ranking"), _read_edit_pairs,
        ("prompt", "path_src", "paths_generated", "human_vote"),
    ),
    "mm-rlhf-rewardbench": Layout(
        "Zhang et al., MM-RLHF: The Next Step Forward in Multimodal LLM Alignment, arXiv:2502.10391",
        ("chosen", "rejected"), _read_chosen_pair,
    ),
    "videorewardbench": Layout(
        "Zhang et al., VideoRewardBench: Comprehensive Evaluation of Multimodal Reward Models for Video Understanding, "
        "arXiv:2509.00484",
        ("video", "chosen", "rejected"), _read_chosen_pair, ("video_path", "chosen", "rejected"),
    ),
}  # fmt: skip
