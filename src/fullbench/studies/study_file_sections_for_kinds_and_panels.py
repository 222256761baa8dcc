"""Tables inside a study file: the options of each study kind, and panels, cascades and rubrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from fullbench.core.panel_and_cascade import is_view
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import InputError

JUDGING = "judging"
Types = type | tuple[type, ...]
ErrorAtKey = Callable[[str, str], InputError]
"""Builds the error for a key, with its line number."""
NUMBER = (int, float)
OPTIONS: Mapping[str, Mapping[str, Types]] = {
    "leaderboard": {
        "newcomer": str, "predictions": str, "responses": list, "prompt_style": str, "reader": str, "opponents": int,
        "reference_matches": int,
        "schedule": str, "width": NUMBER, "most": int, "rule": str, "ties": str, "by": str, "withheld": bool,
    },
    "peer-review": {
        "images": str, "limit": int, "reviews": int, "own_family": bool, "both_orders": bool, "mode": str,
        "constrained": bool, "correlation": str, "gamma": list, "best_first": bool, "questions": str,
        "human_scores": str, "seeds": list, "reading": str, "initial": str, "families": list, "language": str,
        "review_template": str, "template": str,
    },
    "rerank": {"keep": int, "out": str},
    "experiment": {"what": str, "model": str, "plain": str, "captioner": str, "out": str},
}  # fmt: skip
KINDS = (JUDGING, *OPTIONS)
_PATHS = {"predictions", "images", "out", "plain", "questions", "human_scores", "review_template", "template"}
_AT_LEAST = {"opponents": 0, "reference_matches": 0, "width": 1, "most": 1, "limit": 1, "reviews": 1, "keep": 1}


def parse_kind_options(kind: str, value: Any, folder: Path, error_at: ErrorAtKey) -> dict[str, Any]:
    """Check the types of a kind's options and make its paths relative to the folder of the study file."""
    option_types = OPTIONS[kind]
    if not isinstance(value, dict):
        raise error_at(kind, f"{kind} is a table, [{kind}]; found {value!r}")
    parsed_options: dict[str, Any] = {}
    for name, setting in value.items():
        if name not in option_types:
            hint = did_you_mean(name, option_types) or ";"
            raise error_at(name, f"[{kind}]: unknown key {name!r}{hint} known: {', '.join(sorted(option_types))}")
        if not _has_type(setting, option_types[name]):
            raise error_at(name, f"[{kind}]: {name} is {_type_in_words(option_types[name])}; found {setting!r}")
        if name in _AT_LEAST and setting < _AT_LEAST[name]:
            raise error_at(name, f"[{kind}]: {name} is {_AT_LEAST[name]} or more; found {setting!r}")
        parsed_options[name] = folder / setting if name in _PATHS else setting
        if name == "responses":
            parsed_options[name] = tuple(folder / str(path) for path in setting)
    return parsed_options


def _has_type(value: Any, types: Types) -> bool:
    """A bool is not a number here, although Python says so."""
    return isinstance(value, types) and (types is bool or not isinstance(value, bool))


def _type_in_words(types: Types) -> str:
    words: Mapping[Any, str] = {
        str: "a text", int: "a whole number", bool: "true or false", list: "a list", NUMBER: "a number",
    }  # fmt: skip
    return words[types]


class StudyKeys(Protocol):
    """The keys of a study that are checked here. A protocol, because `study_file` imports this module."""

    @property
    def kind(self) -> str: ...
    @property
    def benchmark(self) -> str | None: ...
    @property
    def items(self) -> Path | None: ...
    @property
    def responses(self) -> Path | tuple[Path, ...] | None: ...
    @property
    def contestants(self) -> tuple[str, ...]: ...
    @property
    def judges(self) -> tuple[str, ...]: ...
    @property
    def ballots(self) -> tuple[str, ...]: ...
    @property
    def criteria(self) -> tuple[str, ...]: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def panels(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def cascades(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def rubrics(self) -> Mapping[str, Mapping[str, Any]]: ...


def check_kind_requirements(study: StudyKeys, error_at: ErrorAtKey) -> None:
    """Refuse a study of a special kind that lacks a required key."""
    needs: Mapping[str, Mapping[str, bool]] = {
        "leaderboard": {"benchmark": bool(study.benchmark), "one judge": len(study.judges) == 1,
                        "a newcomer: one contestant, or newcomer and predictions under [leaderboard]":
                        (len(study.contestants) == 1) != ("newcomer" in study.options)},
        "peer-review": {"no benchmark, items, responses or judges of its own": not (
            study.benchmark or study.items or study.responses or study.judges)},
        "rerank": {"items and responses": bool(study.items and study.responses), "one judge": len(study.judges) == 1,
                   "one ballot at most": len(study.ballots) <= 1, "one criterion": len(study.criteria) == 1,
                   "a file for the answers, out under [rerank]": "out" in study.options},
    }  # fmt: skip
    needs = {**needs, "experiment": {
        "a benchmark or items": bool(study.benchmark) != bool(study.items),
        "a model that writes, model under [experiment]": "model" in study.options,
    }}  # fmt: skip
    for requirement, is_met in needs[study.kind].items():
        if not is_met:
            raise error_at("kind", f"a study of kind {study.kind!r} has {requirement}")
    if study.panels or study.cascades or study.rubrics:
        raise error_at("kind", f"a study of kind {study.kind!r} has no panels, no cascades and no rubrics")


VIEWS: Mapping[str, Mapping[str, Types]] = {
    "panels": {"members": list, "rule": str, "quorum": int},
    "cascades": {
        "small": str,
        "large": str,
        "people": bool,
        "threshold": NUMBER,
        "agreement": NUMBER,
        "risk": NUMBER,
    },
    "rubrics": {"judge": str, "file": str, "criteria": list, "calls": str, "total": str, "cap": NUMBER},
}
_REQUIRED_KEYS = {"panels": ("members",), "cascades": ("small", "large"), "rubrics": ("judge",)}


def parse_views(key: str, value: Any, error_at: ErrorAtKey) -> dict[str, dict[str, Any]]:
    """Check the keys and types of the panels, cascades or rubrics of a study file."""
    option_types = VIEWS[key]
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise error_at(key, f"{key} are tables, such as [{key}.NAME]; found {value!r}")
    for name, table in value.items():
        for option, setting in table.items():
            if option not in option_types:
                raise error_at(option, f"[{key}.{name}]: unknown key {option!r}; known: {', '.join(option_types)}")
            if not _has_type(setting, option_types[option]):
                raise error_at(
                    option, f"[{key}.{name}]: {option} is {_type_in_words(option_types[option])}; found {setting!r}"
                )
        if missing_keys := [option for option in _REQUIRED_KEYS[key] if option not in table]:
            raise error_at(key, f"[{key}.{name}]: the key {missing_keys[0]!r} is missing")
        if not all(isinstance(member, str) and not is_view(member) for member in table.get("members", ())):
            raise error_at(
                "members", f"[{key}.{name}]: members are judges' specs, no panels; found {table['members']!r}"
            )
        if len(members := table.get("members", [])) > len({*members}):
            raise error_at("members", f"[{key}.{name}]: members names a judge twice: {members!r}; leave one out")
        if {"threshold", "agreement"} <= table.keys():
            raise error_at(
                "threshold", f"[{key}.{name}]: the threshold is learned if `agreement` is set; leave one of them out"
            )
        if key == "rubrics":
            if table.get("calls", "one") not in {"one", "each"}:
                raise error_at("calls", f"[{key}.{name}]: calls is 'one' or 'each'; found {table['calls']!r}")
            if {"file", "criteria"} <= table.keys():
                raise error_at("file", f"[{key}.{name}]: a rubric has a file or criteria, not both")
    return value
