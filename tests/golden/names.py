"""The names of judges and models, with the digest that stands for all that can change what they say."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.golden.internals import contestant_from_spec, judge_from_spec
from tests.golden.layout import sha256, written

KEYS = dict.fromkeys(
    ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY", "MINE"),
    "sk-golden-nothing-is-sent",
)

SAMPLED = (
    "", "?temperature=0", "?temperature=0.7&max_tokens=512", "?top_p=0.9", "?system=Be%20brief.",
    '?extra={"top_k": 1}', "?pixels=250000", "?label=lab", "?rpm=60&timeout=5&attempts=2&concurrency=3",
    "?price_in=1&price_out=2", "?key_env=MINE",
)  # fmt: skip
# Left out are those that need weights or an optional part, which not every machine has: gguf, smollm2, trained, and the
# tools `objects` and `text` of composed.
MODELS = (
    *(f"openai:gpt-4o{tail}" for tail in (*SAMPLED, "?seed=7")),
    "openai:qwen2-vl@http://localhost:9/v1",
    "openai:qwen2-vl@http://elsewhere.example:9/v1?temperature=0",
    *(f"anthropic:claude-sonnet-4-5{tail}" for tail in SAMPLED),
    "anthropic:claude-sonnet-4-5@http://localhost:9/v1",
    *(f"gemini:gemini-2.5-flash{tail}" for tail in (*SAMPLED, "?seed=7")),
    "gemini:gemini-2.5-flash@http://localhost:9/v1beta",
    *(f"openrouter:qwen/qwen2.5-vl-72b-instruct{tail}" for tail in SAMPLED),
    *(f"vllm:qwen2-vl{tail}" for tail in (*SAMPLED, "?seed=7")),
    "vllm:qwen2-vl@http://localhost:9/v1?label=nine",
    *(f"ollama:llava{tail}" for tail in (*SAMPLED, "?seed=7")),
    "litellm:gpt-4o",
    "litellm:gpt-4o?temperature=0&max_tokens=9",
    "offline:echo",
    "offline:first",
    "offline:canned",
    "offline:canned?text=[[4]]",
    "local:models/qwen",
    "local:models/qwen?temperature=0.5&max_tokens=64&revision=abc&precision=bfloat16&label=mine",
    "local:models/qwen?device=cpu&batch=4",
    "composed:none",
    "composed:colours",
    "composed:colours?llm=offline:echo",
    "composed:none?llm=openai:gpt-4o&temperature=0",
    "blind:openai:gpt-4o",
    "blind:openai:gpt-4o?temperature=0",
    "blind:synthetic:keen",
    *(f"synthetic:{label}" for label in ("keen", "wordy", "hasty", "blurred", "colourblind", "blind")),
)

MANNERS = (
    "", "?mode=direct", "?mode=analyze", "?mode=steps", "?mode=steps&steps=picture,question", "?mode=commit",
    "?mode=direct&picture_mode=none",
    "?picture_mode=none", "?picture_mode=described", "?reference=yes", "?language=zh",
    "?mode=direct&language=zh&reference=yes",
    "?resample=0", "?resample=3", "?form=json", "?form=json&language=zh", "?max_pictures=1", "?label=mine",
    "?constrained=yes", "?constrained=yes&mode=direct", "?temperature=0", "?temperature=0&mode=direct",
    '?extra={"top_k": 1}', "?pixels=250000", "?template=wording.txt", "?reader=offline:echo",
    "?benchmark_template=mjbench", "?benchmark_template=genai_bench", "?benchmark_template=mllm-as-a-judge",
    "?benchmark_template=visitbench",
    "?benchmark_template=mllm-as-a-judge&mode=direct",
)  # fmt: skip
JUDGES = (
    *(f"openai:gpt-4o{tail}" for tail in MANNERS),
    *(f"anthropic:claude-sonnet-4-5{tail}" for tail in MANNERS if "constrained" not in tail),
    *(f"gemini:gemini-2.5-flash{tail}" for tail in MANNERS if "constrained" not in tail),
    "openai:gpt-4o@http://localhost:9/v1",
    "vllm:qwen2-vl@http://localhost:9/v1?label=nine&mode=direct",
    "openrouter:qwen/qwen2.5-vl-72b-instruct?mode=direct",
    "ollama:llava?mode=direct",
    "litellm:gpt-4o?mode=direct",
    "local:models/qwen?mode=direct",
    "offline:first",
    "offline:canned?text=[[4]]&mode=direct",
    "composed:colours?mode=direct",
    "blind:openai:gpt-4o?mode=direct",
    "synthetic:keen?mode=direct",
    "critic:openai:gpt-4o",
    "critic:openai:gpt-4o?language=en",
    "critic:openai:gpt-4o?language=en&mode=direct&resample=0&temperature=0&label=mine",
    "critic:offline:echo",
    "length",
    "reference",
    "chance",
    "chance?seed=7",
    "bleu",
    "rouge",
    "meteor",
    "spelling",
    "cider?corpus=items.jsonl",
    *(f"picture:{measure}" for measure in ("sharpness", "noise", "colourfulness", "naturalness")),
    "picture:noise?margin=0.05",
    "scorer:math:hypot",
    "scorer:math:hypot?span=0,2&margin=0.1",
    *(f"{kind}{tail}" for kind in ("clip", "siglip", "pickscore", "blip-itm", "imagereward") for tail in (
        "", "?margin=0.1", "?batch=4&threads=1&device=cpu", "?precision=float32&revision=abc", "?span=0,1",
    )),
    "clip:some/model",
    "hpsv2:some/model",
    "hpsv2:some/model?margin=0.1&processor=other/model",
    "aesthetics:some/model?head=head.pth",
    "openclip:ViT-B-32?weights=openai",
    "openclip:ViT-B-32?weights=laion2b_s34b_b79k&precision=float32",
)  # fmt: skip

ITEMS = """{"id": "i1", "question": "What colour?", "reference": "It is red."}
{"id": "i2", "question": "How many?", "reference": "There are two."}
"""
WORDING = """=== system
You judge.
=== user
{pictures}
{question}
--- pictures
{text}
--- question
{text}
--- case
{responses}
{verdict}
--- responses
{text}
--- direct
{text}
--- analyze
{text}
"""


def names(folder: Path) -> str:
    """Each spec with the name it gives and the settings behind the name. Nothing is asked of anybody."""
    (folder / "items.jsonl").write_text(ITEMS, encoding="utf-8")
    (folder / "wording.txt").write_text(WORDING, encoding="utf-8")
    (folder / "head.pth").write_bytes(b"a head of the golden files")
    # Files are named as seen from the working directory, so that no machine's path can enter a name.
    with chdir(folder), patch.dict(os.environ, KEYS):
        made = {
            "judges": {spec: _identity(judge_from_spec, spec) for spec in JUDGES},
            "models": {spec: _identity(contestant_from_spec, spec) for spec in MODELS},
        }
    text = written(made)
    assert str(folder) not in text, "a name or its settings hold a path of this machine"
    return text


def _identity(make: Callable[[str], Any], spec: str) -> dict[str, Any]:
    found = make(spec)
    return {"name": found.name, "settings": _short(dict(found.settings))}


def _short(value: Any) -> Any:
    """Settings with long texts (the rules of a benchmark's tasks) by their digests."""
    if isinstance(value, dict):
        return {key: _short(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_short(entry) for entry in value]
    return f"sha256 {sha256(value)}" if isinstance(value, str) and len(value) > 100 else value
