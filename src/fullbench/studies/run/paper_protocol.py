"""`protocol = "paper"` in a study: the paper's orders, scales and prompt style, and the differences from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fullbench.core.benchmark import PAPER_PROTOCOL, Benchmark
from fullbench.core.case import Orders
from fullbench.errors import InputError
from fullbench.studies.study_file import Study

_KEYS = ("criteria", "strong")
"""Keys of a study that replace what a paper does."""
_OPTIONS = ("mode", "prompt_style")
"""Options of a judge that replace the steps or the style of a paper's prompts."""


def follows_paper(study: Study) -> bool:
    """Return True if a study asks for the protocol of its benchmark's paper."""
    return study.protocol == PAPER_PROTOCOL


def refuse_differences(study: Study, benchmark: Benchmark, options: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if a study asks for the paper's protocol and replaces a part of it.

    Args:
        study: The study.
        benchmark: Its benchmark.
        options: Options of each judge by its spec.
    """
    if not follows_paper(study):
        return
    difference = next(_differences(study, benchmark, options), None)
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
    differences = list(dict.fromkeys(_differences(study, benchmark, options)))
    return [f"Not the paper's protocol ({benchmark.name}): {difference}." for difference in differences]


def orders_of_study(study: Study, benchmark: Benchmark) -> Orders:
    """Return the orders in which responses are shown: the study's, else the paper's if it is followed, else both."""
    if "orders" in study.keys_in_file:
        return study.orders
    return benchmark.orders_of_paper if follows_paper(study) else "both"


def _differences(study: Study, benchmark: Benchmark, options: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    orders = orders_of_study(study, benchmark)
    if orders != benchmark.orders_of_paper:
        yield f"orders are {orders!r}, in the paper {benchmark.orders_of_paper!r}"
    for key in _KEYS:
        if key in study.keys_in_file:
            yield f"{key} = {getattr(study, key)!r} replaces the paper's"
    if study.protocol and not follows_paper(study):
        yield f"[protocol] sets {', '.join(study.protocol)}"
    for spec, judge_options in options.items():
        for name in _OPTIONS:
            if name in judge_options:
                yield f"{name}={judge_options[name]} of the judge {spec.partition('?')[0]} replaces the paper's"
