"""The layouts in which reward benchmarks are released, row by row: as their hubs and repositories have them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.errors import InputError

Content = Sequence[Any]
"""Words as text; pictures as their rows have them, wrapped in `Shown`."""
FIRST, SECOND, TIE = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)


@dataclass(frozen=True)
class Shown:
    """A picture of a row: its bytes, a path, or what a hub makes of both."""

    value: Any


@dataclass(frozen=True)
class Pair:
    """One comparison: what was asked, the two answers in the order stored, and whom people prefer."""

    id: str
    prompt: Content
    first: Content
    second: Content
    label: tuple[float, float]
    category: str


@dataclass(frozen=True)
class Layout:
    """How one benchmark is released. `needs` are columns that its rows have."""

    paper: str
    needs: tuple[str, ...]
    read: Callable[[Mapping[str, Any], str], Pair]


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name!r} must be text; found {value!r}")
    return value


def _pictures(value: Any) -> list[Shown]:
    if value is None:
        return []
    return [Shown(part) for part in value] if isinstance(value, list) else [Shown(value)]


def _better(value: Any, first: Sequence[str], second: Sequence[str], tie: Sequence[str] = ()) -> tuple[float, float]:
    """Whom people prefer, by the words that the release has for it."""
    word = str(value).strip()
    for words, label in ((first, FIRST), (second, SECOND), (tie, TIE)):
        if word in words:
            return label
    raise InputError(f"whom people prefer is one of {', '.join((*first, *second, *tie))}; found {value!r}")


_SOURCES = {
    "general": ("wildvision", "vlfeedback"), "hallucination": ("povid", "rlaif-v", "rlhf-v"),
    "reasoning": ("mmmu", "mathverse"),
}  # fmt: skip


def _vl(row: Mapping[str, Any], name: str) -> Pair:
    answers, ranking = row.get("response"), row.get("human_ranking")
    if not isinstance(answers, list) or len(answers) != 2:
        raise InputError(f"'response' holds two answers; found {answers!r}")
    if not isinstance(ranking, list) or sorted(ranking) not in ([0, 1], [1, 2]):
        raise InputError(f"'human_ranking' ranks the two answers, as [0, 1]; found {ranking!r}")
    source = str(row.get("query_source") or "")
    part = next((part for part, names in _SOURCES.items() if source.lower().startswith(names)), source or "all")
    prompt = [*_pictures(row.get("image")), _text(row, "query")]
    return Pair(name, prompt, [answers[0]], [answers[1]], FIRST if ranking[0] < ranking[1] else SECOND, part)


def _multimodal(row: Mapping[str, Any], name: str) -> Pair:
    prompt = [*_pictures(row.get("Image")), _text(row, "Text")]
    label = _better(row.get("Better"), ("Output1",), ("Output2",))
    category = str(row.get("Category") or "all")
    return Pair(name, prompt, [_text(row, "Output1")], [_text(row, "Output2")], label, category)


_PLACE = re.compile(r"<image(?:_?\d+)?>")


def _interleaved(text: Any, pictures: Any) -> Content:
    """Words with their pictures where `<image>` stands; those left over come first."""
    shown = _pictures(pictures)
    words = _PLACE.split(text or "")
    places = len(words) - 1
    parts: list[Any] = list(shown[: max(0, len(shown) - places)])
    inner = iter(shown[max(0, len(shown) - places) :])
    for place, word in enumerate(words):
        if place and (picture := next(inner, None)) is not None:
            parts.append(picture)
        if word.strip():
            parts.append(word.strip())
    return parts


def _listed(content: Any) -> Content:
    """`[["text", ...], ["image", ...]]`, as the repository's files have it."""
    if not isinstance(content, list):
        raise InputError(f"a content is a list of text and image; found {content!r}")
    return [Shown(value) if kind == "image" else str(value) for kind, value in content]


def _second_edition(row: Mapping[str, Any], name: str) -> Pair:
    label = _better(str(row.get("chosen")).upper(), ("A",), ("B",))
    if "prompt_content" in row:
        answers = [row[f"response_{side}"]["response_content"] for side in "ab"]
        prompt, first, second = (_listed(content) for content in (row["prompt_content"], *answers))
    else:
        prompt, first, second = (
            _interleaved(row.get(f"{part}_text"), row.get(f"{part}_images"))
            for part in ("prompt", "response_a", "response_b")
        )
    return Pair(name, prompt, first, second, label, str(row.get("task") or row.get("prompt_source") or "all"))


_VOTES = (("leftvote",), ("rightvote",), ("tievote", "bothbad_vote"))


def _genai(row: Mapping[str, Any], name: str) -> Pair:
    label = _better(row.get("vote_type"), *_VOTES)
    if "source_image" in row:
        words = row.get("instruct_prompt") or row.get("target_prompt")
        prompt = [*_pictures(row["source_image"]), str(words or "")]
        left, right = (_pictures(row.get(f"{side}_output_image")) for side in ("left", "right"))
        return Pair(name, prompt, left, right, label, "edits")
    left, right = (_pictures(row.get(f"{side}_image")) for side in ("left", "right"))
    return Pair(name, [_text(row, "prompt")], left, right, label, "pictures")


_RANKED = re.compile(r"([A-D])\s*([>=])\s*([A-D])")


def _edits(row: Mapping[str, Any], name: str) -> Pair:
    found = _RANKED.fullmatch(str(row.get("ranking")).strip())
    if found is None:
        raise InputError(f"'ranking' is as A>B; found {row.get('ranking')!r}")
    label = TIE if found[2] == "=" else FIRST if found[1] < found[3] else SECOND
    prompt = [*_pictures(row.get("source_image")), _text(row, "instruction")]
    first, second = (_pictures(row.get(f"candidate_{place}")) for place in (1, 2))
    return Pair(name, prompt, first, second, label, str(row.get("dataset") or "all"))


def _chosen(row: Mapping[str, Any], name: str) -> Pair:
    asked = next((row[part] for part in ("question", "prompt", "query") if isinstance(row.get(part), str)), None)
    if asked is None:
        raise InputError("the row has no question")
    prompt = [*_pictures(row.get("image") or row.get("images")), asked]
    # Which comes first is settled by the row's name, so that nobody can rule by the place.
    turned = sum(name.encode()) % 2 == 1
    chosen, rejected = _text(row, "chosen"), _text(row, "rejected")
    category = str(row.get("category") or row.get("task") or "all")
    if turned:
        return Pair(name, prompt, [rejected], [chosen], SECOND, category)
    return Pair(name, prompt, [chosen], [rejected], FIRST, category)


LAYOUTS: Mapping[str, Layout] = {
    "vl-rewardbench": Layout(
        "Li et al., VL-RewardBench: A Challenging Benchmark for Vision-Language Generative Reward Models, "
        "arXiv:2411.17451",
        ("query", "response", "human_ranking"), _vl,
    ),
    "multimodal-rewardbench": Layout(
        "Yasunaga et al., Multimodal RewardBench: Holistic Evaluation of Reward Models for Vision Language Models, "
        "arXiv:2502.14191",
        ("Text", "Output1", "Output2", "Better"), _multimodal,
    ),
    "multimodal-rewardbench-2": Layout(
        "Hu et al., Multimodal RewardBench 2: Evaluating Omni Reward Models for Interleaved Text and Image, "
        "arXiv:2512.16899",
        ("pair_id", "chosen"), _second_edition,
    ),
    "genai-bench-pairs": Layout(
        "Jiang et al., GenAI Arena: An Open Evaluation Platform for Generative Models, arXiv:2406.04485",
        ("vote_type",), _genai,
    ),
    "editreward-bench": Layout(
        "Wu et al., EditReward: A Human-Aligned Reward Model for Instruction-Guided Image Editing, arXiv:2509.26346",
        ("instruction", "candidate_1", "candidate_2", "ranking"), _edits,
    ),
    "mm-rlhf-rewardbench": Layout(
        "Zhang et al., MM-RLHF: The Next Step Forward in Multimodal LLM Alignment, arXiv:2502.10391",
        ("chosen", "rejected"), _chosen,
    ),
}  # fmt: skip
