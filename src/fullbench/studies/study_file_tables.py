"""The tables within a study's file: what a special kind may say in its own, panels, cascades, rubrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from fullbench.core.panel import is_view
from fullbench.core.plugin_entry_points import did_you_mean
from fullbench.errors import InputError

JUDGING = "judging"
Types = type | tuple[type, ...]
Wrong = Callable[[str, str], InputError]
"""Makes the error of a key, with the line where it stands."""
NUMBER = (int, float)
OPTIONS: Mapping[str, Mapping[str, Types]] = {
    "leaderboard": {
        "newcomer": str, "predictions": str, "responses": list, "manner": str, "reader": str, "opponents": int,
        "reference_matches": int,
        "schedule": str, "width": NUMBER, "most": int, "rule": str, "ties": str, "by": str, "withheld": bool,
    },
    "peer-review": {
        "images": str, "limit": int, "reviews": int, "kin": bool, "both_orders": bool, "mode": str,
        "constrained": bool, "correlation": str, "gamma": list, "best_first": bool, "questions": str,
        "human_scores": str, "seeds": list, "reading": str, "initial": str, "families": list, "language": str,
        "wording": str, "template": str,
    },
    "rerank": {"keep": int, "out": str},
    "experiment": {"what": str, "model": str, "plain": str, "out": str},
}  # fmt: skip
"""Each kind's own keys and their types."""
KINDS = (JUDGING, *OPTIONS)
_PATHS = {"predictions", "images", "out", "plain", "questions", "human_scores", "wording", "template"}
_AT_LEAST = {"opponents": 0, "reference_matches": 0, "width": 1, "most": 1, "limit": 1, "reviews": 1, "keep": 1}


def options(kind: str, value: Any, folder: Path, wrong: Wrong) -> dict[str, Any]:
    """The options of a kind, checked for their types; paths are taken from the folder of the file."""
    known = OPTIONS[kind]
    if not isinstance(value, dict):
        raise wrong(kind, f"{kind} is a table, [{kind}]; found {value!r}")
    checked: dict[str, Any] = {}
    for name, given in value.items():
        if name not in known:
            hint = did_you_mean(name, known) or ";"
            raise wrong(name, f"[{kind}]: unknown key {name!r}{hint} known: {', '.join(sorted(known))}")
        if not _fits(given, known[name]):
            raise wrong(name, f"[{kind}]: {name} is {_called(known[name])}; found {given!r}")
        if name in _AT_LEAST and given < _AT_LEAST[name]:
            raise wrong(name, f"[{kind}]: {name} is {_AT_LEAST[name]} or more; found {given!r}")
        checked[name] = folder / given if name in _PATHS else given
        if name == "responses":
            checked[name] = tuple(folder / str(path) for path in given)
    return checked


def _fits(given: Any, types: Types) -> bool:
    """Whether a value has the type; yes and no are no numbers here."""
    return isinstance(given, types) and (types is bool or not isinstance(given, bool))


def _called(types: Types) -> str:
    """A type in words."""
    words: Mapping[Any, str] = {
        str: "a text", int: "a whole number", bool: "true or false", list: "a list", NUMBER: "a number",
    }  # fmt: skip
    return words[types]


class Said(Protocol):
    """What a study's file said, as far as it is checked here."""

    @property
    def kind(self) -> str: ...
    @property
    def benchmark(self) -> str | None: ...
    @property
    def items(self) -> Path | None: ...
    @property
    def responses(self) -> Path | None: ...
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


def check(study: Said, wrong: Wrong) -> None:
    """Refuse a study of a special kind that lacks what it needs."""
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
    for what, there in needs[study.kind].items():
        if not there:
            raise wrong("kind", f"a study of kind {study.kind!r} has {what}")
    if study.panels or study.cascades or study.rubrics:
        raise wrong("kind", f"a study of kind {study.kind!r} has no panels, no cascades and no rubrics")


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
    "rubrics": {"judge": str, "file": str, "criteria": list, "calls": str},
}
"""The tables of a study's file that make judges of judges, and what each may hold."""
_NEEDED = {"panels": ("members",), "cascades": ("small", "large"), "rubrics": ("judge",)}


def views(key: str, value: Any, wrong: Wrong) -> dict[str, dict[str, Any]]:
    """The panels, cascades or rubrics of a study's file, checked for their types."""
    known = VIEWS[key]
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise wrong(key, f"{key} are tables, such as [{key}.NAME]; found {value!r}")
    for name, table in value.items():
        for option, given in table.items():
            if option not in known:
                raise wrong(option, f"[{key}.{name}]: unknown key {option!r}; known: {', '.join(known)}")
            if not _fits(given, known[option]):
                raise wrong(option, f"[{key}.{name}]: {option} is {_called(known[option])}; found {given!r}")
        if lacking := [option for option in _NEEDED[key] if option not in table]:
            raise wrong(key, f"[{key}.{name}]: the key {lacking[0]!r} is missing")
        if not all(isinstance(member, str) and not is_view(member) for member in table.get("members", ())):
            raise wrong("members", f"[{key}.{name}]: members are judges' specs, no panels; found {table['members']!r}")
        if len(members := table.get("members", [])) > len({*members}):
            raise wrong("members", f"[{key}.{name}]: members names a judge twice: {members!r}; leave one out")
        if {"threshold", "agreement"} <= table.keys():
            raise wrong("threshold", f"[{key}.{name}]: the threshold is learned where an agreement is asked for")
        if key == "rubrics":
            if table.get("calls", "one") not in {"one", "each"}:
                raise wrong("calls", f"[{key}.{name}]: calls is 'one' or 'each'; found {table['calls']!r}")
            if {"file", "criteria"} <= table.keys():
                raise wrong("file", f"[{key}.{name}]: a rubric has a file or criteria, not both")
    return value
