"""Ballots: the form a judge fills in. How to ask, how to read, what is legal."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError

Language = Literal["en", "zh"]
Style = Literal["marker", "json", "bare"]
"""A ruling in double brackets, as a JSON object with reasons, or as a JSON object without."""
Ruling = tuple[float, ...] | Literal["refused", "unreadable"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What responses are called where they are shown together; one more letter stands for a tie."""
REASONS = '"analysis": "...", '
"""Where reasons stand in the example of a JSON reply: before the judgement, so that they are thought of first."""


class Reader(Protocol):
    """What reads a reply on a ballot; see `parsing.read`."""

    def __call__(self, ballot: Ballot, text: str, n: int, shown: Sequence[str] = ()) -> Ruling: ...


_READERS: list[Reader] = []
"""The one reader, once the reading room has named it; a list, so that no `global` is needed."""


def read_with(reader: Reader) -> None:
    """Name what `Ballot.read` reads with. The reading room calls this: the nouns do not know that room."""
    _READERS[:] = [reader]


class Ballot(ABC):
    """The form a judge fills in.

    `spec` names the ballot in one word (`score:1-5`); `ballot(spec)` makes it again. `n` is the number of responses
    shown. `read` gives one mark for each of them, in the order shown, or a fault; it never guesses. A ruling is asked
    for and written in double brackets (`form="marker"`) or as a JSON object (`form="json"`, or `"bare"` without
    reasons); read are both, always.
    """

    @property
    @abstractmethod
    def spec(self) -> str:
        """The ballot in one word."""

    @abstractmethod
    def check(self, n: int) -> None:
        """Raise `InputError` when this ballot cannot be filled in for `n` responses."""

    @abstractmethod
    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        """The words that ask for a ruling in the form `read` prefers. An echo of them is not a ruling."""

    @abstractmethod
    def allows(self, marks: Sequence[float]) -> bool:
        """Whether these marks are legal on this ballot."""

    @abstractmethod
    def _tokens(self, marks: Sequence[float]) -> list[str]:
        """The marks as they are written, one for each pair of brackets."""

    @abstractmethod
    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        """What may be written for n responses: the JSON schema of one value, and how many there are."""

    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> Ruling:
        """What `fullbench.parsing.read` reads from a reply; for plugins and notebooks, which have it at hand."""
        if not _READERS:
            raise InputError("nothing reads replies yet: import fullbench.parsing first, or call its read()")
        return _READERS[0](self, text, n, shown)

    def write(self, marks: Sequence[float], form: Style = "marker") -> str:
        """A ruling in the form `read` prefers: `read(write(marks), n) == marks` for every legal `marks`."""
        tokens = self._tokens(marks)
        if form == "marker":
            return ", ".join(f"[[{token}]]" for token in tokens)
        # Numbers are written as numbers, letters and words as strings.
        values = [json.loads(token) if re.fullmatch(r"-?\d[\d.e-]*", token) else token for token in tokens]
        return json.dumps({"judgement": values[0] if len(values) == 1 else values}, ensure_ascii=False)


def _several(n: int, language: Language) -> str:
    """How to write one mark for each of n responses."""
    if n == 1:
        return ""
    last = LETTERS[n - 1]
    if language == "zh":
        return f"，按 A 到 {last} 的顺序每个回答给一个，共 {n} 个"
    return f", one for each of the {n} responses in the order A to {last}"


def _example(n: int, form: Style, mark: str) -> str:
    if form == "marker":
        return ", ".join([f"[[{mark}]]"] * n) if n < 4 else f"[[{mark}]], ..., [[{mark}]]"
    value = f'"{mark}"' if n == 1 else "[" + ", ".join([f'"{mark}"'] * n) + "]"
    return f'{{{"" if form == "bare" else REASONS}"judgement": {value}}}'


def _ask(language: Language, form: Style, what: str, example: str) -> str:
    if language == "zh":
        if form == "marker":
            return f"最后一行请在双方括号中给出{what}，格式为：{example}"
        first = "不写理由" if form == "bare" else "先写理由"
        return f"请只回复一个 JSON 对象，{first}，judgement 一项写{what}，格式为：{example}"
    if form == "marker":
        return f"Put your ruling on the last line, in double brackets: {what}. The form is {example}"
    first = "" if form == "bare" else "your reasons first, then "
    return f"Reply with one JSON object only: {first}as its judgement {what}. The form is {example}"


@dataclass(frozen=True)
class Score(Ballot):
    """A whole number from `low` to `high` for every response."""

    low: int = 1
    high: int = 5

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(f"a score ballot runs from low to high; found {self.low} to {self.high}")

    @property
    def spec(self) -> str:
        return f"score:{self.low}-{self.high}"

    def check(self, n: int) -> None:
        _check_count(self.spec, n, 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        if language == "zh":
            what = f"评分，即 {self.low} 到 {self.high} 之间的整数{_several(n, language)}"
            return _ask(language, form, what, _example(n, form, "评分"))
        what = f"a whole number between {self.low} and {self.high}{_several(n, language)}"
        return _ask(language, form, what, _example(n, form, "score"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(self.low <= mark <= self.high and float(mark).is_integer() for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [str(int(mark)) for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}, n


@dataclass(frozen=True)
class Real(Ballot):
    """A number from `low` to `high` for every response, with as many decimals as the judge likes."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(f"a real ballot runs from low to high; found {self.low} to {self.high}")

    @property
    def spec(self) -> str:
        return f"real:{_digits(self.low)}-{_digits(self.high)}"

    def check(self, n: int) -> None:
        _check_count(self.spec, n, 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        low, high = _digits(self.low), _digits(self.high)
        if language == "zh":
            what = f"评分，即 {low} 到 {high} 之间的数，可以有小数{_several(n, language)}"
            return _ask(language, form, what, _example(n, form, "评分"))
        what = f"a number between {low} and {high}, decimals allowed{_several(n, language)}"
        return _ask(language, form, what, _example(n, form, "score"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(self.low <= mark <= self.high for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [_digits(mark) for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}, n


@dataclass(frozen=True)
class Likert(Ballot):
    """A word for every response, from a scale given worst to best; the words are marked 1 to k."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        folded = {re.sub(r"[\s-]+", " ", word).casefold() for word in self.words}
        if len(self.words) < 2 or len(folded) < len(self.words):
            raise InputError(f"a likert ballot needs two or more different words; found {list(self.words)}")
        for word in self.words:
            if word != word.strip() or not re.fullmatch(r"[^\W\d_](?:[^\W\d_]|[ '-])*", word):
                raise InputError(f"a word of a likert ballot is made of letters; found {word!r}")

    @property
    def spec(self) -> str:
        return "likert:" + "|".join(self.words)

    def check(self, n: int) -> None:
        _check_count("likert", n, 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        scale = ("、" if language == "zh" else ", ").join(self.words)
        if language == "zh":
            what = f"以下词语之一（由差到好：{scale}）{_several(n, language)}"
            return _ask(language, form, what, _example(n, form, "词"))
        what = f"one of these words, worst to best ({scale}){_several(n, language)}"
        return _ask(language, form, what, _example(n, form, "word"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(float(mark).is_integer() and 1 <= mark <= len(self.words) for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [self.words[int(mark) - 1] for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(self.words)}, n


@dataclass(frozen=True)
class Choice(Ballot):
    """The best of the responses shown, or a tie where ties are allowed. The winner is marked 1, a tie is shared.

    A tie is written with the letter after the last. A stated strength (`A>>B`) is reduced to the winner.
    """

    tie: bool = True

    @property
    def spec(self) -> str:
        return "choice+tie" if self.tie else "choice"

    def check(self, n: int) -> None:
        _check_count("choice", n, 2, len(LETTERS) - 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        letters = f"{LETTERS[0]} - {LETTERS[n - 1]}" if n > 2 else "A / B"
        tied = LETTERS[n]  # the letter that stands for a tie
        if language == "zh":
            what = f"最好的回答的字母（{letters}{f'；分不出写 {tied}' if self.tie else ''}）"
            return _ask(language, form, what, _example(1, form, "字母"))
        what = f"the letter of the best response ({letters}{f', or {tied} when none is ahead' if self.tie else ''})"
        return _ask(language, form, what, _example(1, form, "letter"))

    def allows(self, marks: Sequence[float]) -> bool:
        n = len(marks)
        return sorted(marks) == [0.0] * (n - 1) + [1.0] or (self.tie and n > 1 and all(mark == 1 / n for mark in marks))

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        best = [letter for letter, mark in zip(LETTERS, marks, strict=False) if mark == max(marks)]
        return [best[0] if len(best) == 1 else LETTERS[len(marks)]]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(LETTERS[: n + self.tie])}, 1


@dataclass(frozen=True)
class Ranking(Ballot):
    """All responses in order, best first, no ties. Of n, the best is marked n and the last 1."""

    @property
    def spec(self) -> str:
        return "ranking"

    def check(self, n: int) -> None:
        _check_count("ranking", n, 2, len(LETTERS))

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        if language == "zh":
            what = f"全部 {n} 个字母（A 到 {LETTERS[n - 1]}），由好到差，每个一次，用逗号隔开"
            return _ask(language, form, what, _example(n, form, "字母"))
        what = f"all {n} letters from A to {LETTERS[n - 1]}, best first, each once, separated by commas"
        return _ask(language, form, what, _example(n, form, "letter"))

    def allows(self, marks: Sequence[float]) -> bool:
        return len(marks) > 1 and sorted(marks) == [float(i + 1) for i in range(len(marks))]

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [LETTERS[i] for i in sorted(range(len(marks)), key=lambda i: -marks[i])]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(LETTERS[:n])}, n


def _check_count(name: str, n: int, least: int, most: int = len(LETTERS)) -> None:
    if not least <= n <= most:
        raise InputError(f"a {name} ballot takes {least} to {most} responses; found {n}")


def _digits(value: float) -> str:
    """A number in the fewest digits that are read back as the same number."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


@lru_cache(maxsize=256)
def ballot(spec: str) -> Ballot:
    """The ballot that a spec names.

    >>> ballot("score:1-5")
    Score(low=1, high=5)
    >>> ballot("likert:bad|fair|good").spec
    'likert:bad|fair|good'
    >>> ballot("real:0-1").allows([0.25])
    True
    """
    kind, _, rest = spec.partition(":")
    if kind not in plugin_entry_points.installed("ballots"):
        raise _unknown(spec)
    named = plugin_entry_points.load("ballots", kind)(rest)
    if not isinstance(named, Ballot):
        raise InputError(f"the plugin of the ballot {spec!r} made no Ballot; found {type(named).__name__}")
    return named


def score_of(rest: str) -> Score:
    """The ballot that `score:LOW-HIGH` names."""
    if match := re.fullmatch(r"(-?\d+)-(-?\d+)", rest):
        return Score(int(match[1]), int(match[2]))
    raise _unknown("score", rest)


def real_of(rest: str) -> Real:
    """The ballot that `real:LOW-HIGH` names."""
    if match := re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", rest):
        return Real(float(match[1]), float(match[2]))
    raise _unknown("real", rest)


def likert_of(rest: str) -> Likert:
    """The ballot that `likert:WORD|WORD|...` names."""
    if rest:
        return Likert(tuple(rest.split("|")))
    raise _unknown("likert", rest)


def choice_of(rest: str) -> Choice:
    """The ballot that `choice` names: no tie is allowed."""
    if rest:
        raise _unknown("choice", rest)
    return Choice(tie=False)


def choice_with_tie_of(rest: str) -> Choice:
    """The ballot that `choice+tie` names."""
    if rest:
        raise _unknown("choice+tie", rest)
    return Choice(tie=True)


def ranking_of(rest: str) -> Ranking:
    """The ballot that `ranking` names."""
    if rest:
        raise _unknown("ranking", rest)
    return Ranking()


# How each ballot of ours is spelled, for the error; those of plugins are listed by their names.
_SPELLINGS = {
    "score": "score:LOW-HIGH, such as score:1-5", "real": "real:LOW-HIGH", "likert": "likert:WORD|WORD|...",
    "choice": "choice", "choice+tie": "choice+tie", "ranking": "ranking", "number": "number",
}  # fmt: skip


def _unknown(kind: str, rest: str = "") -> InputError:
    more = [name for name in plugin_entry_points.names("ballots") if name not in _SPELLINGS]
    spec = f"{kind}:{rest}" if rest else kind
    known = ", ".join([*_SPELLINGS.values(), *more])
    hint = plugin_entry_points.did_you_mean(kind, [*_SPELLINGS, *more]) if kind not in _SPELLINGS else ";"
    return InputError(f"unknown ballot {spec!r}{hint or ';'} known: {known}")
