"""`protocol = "paper"` in a study: the paper's orders, scales and prompt style, and the differences from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fullbench.core.benchmark import PAPER_PROTOCOL, Benchmark
from fullbench.errors import InputError
from fullbench.studies.study_file import Study

_KEYS = ("orders", "criteria", "strong")
"""Keys of a study that replace what a paper does."""
_OPTIONS = ("mode", "prompt_style")
"""Options of a judge that replace the steps or the style of a paper's prompts."""


def follows_paper(study: Study) -> bool:
    """Return True if a study asks for the protocol of its benchmark's paper."""
    return study.protocol == PAPER_PROTOCOL


def refuse_differences(study: Study, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if a study asks for the paper's protocol and replaces a part of it.

    Args:
        study: The study.
        options: Options of each judge by its spec.
    """
    if not follows_paper(study):
        return
    difference = next(_differences(study, options), None)
    if difference is not None:
        raise InputError(f"protocol = 'paper', but {difference}; leave out one of the two", path=study.path)


def protocol_messages(study: Study, benchmark: Benchmark, options: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what a study takes from the paper, or each difference from the paper's protocol.

    Args:
        study: The study.
        benchmark: Its benchmark.
        options: Options of each judge by its spec.
    """
    if follows_paper(study):
        return [
            f"Protocol of the paper ({benchmark.name}): its orders, order rule, ties, scales and steps. "
            "The texts of prompts are ours; template=FILE in a judge's spec takes the authors' texts."
        ]
    differences = list(_differences(study, options))
    return [f"Not the paper's protocol ({benchmark.name}): {difference}." for difference in differences]


def _differences(study: Study, options: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for key in _KEYS:
        if key in study.keys_in_file:
            yield f"{key} = {getattr(study, key)!r} replaces the paper's"
    if study.protocol and not follows_paper(study):
        yield f"[protocol] sets {', '.join(study.protocol)}"
    for spec, judge_options in options.items():
        for name in _OPTIONS:
            if name in judge_options:
                yield f"{name}={judge_options[name]} of the judge {spec.partition('?')[0]} replaces the paper's"
