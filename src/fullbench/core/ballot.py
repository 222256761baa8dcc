"""Ballots: the form a judge fills in. Each defines the request, the legal marks and the written form."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

from fullbench.core import plugin_entry_points
from fullbench.errors import InputError

Language = Literal["en", "zh"]
Style = Literal["marker", "json", "bare"]
"""A verdict in double brackets, as a JSON object with reasons, or as a JSON object without."""
MarksOrFault = tuple[float, ...] | Literal["refused", "unreadable"]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""Names of responses shown together; the next letter means a tie."""
REASONS = '"analysis": "...", '
"""Example of reasons in a JSON reply. They come before the verdict, so that the model reasons first."""


class Reader(Protocol):
    """Function that reads a reply on a ballot; see `parsing.read`."""

    def __call__(self, ballot: Ballot, text: str, n: int, shown: Sequence[str] = ()) -> MarksOrFault: ...


_READERS: list[Reader] = []
"""The registered reader; a list, so that no `global` is needed."""


def register_reader(reader: Reader) -> None:
    """Register the function behind `Ballot.read`. `parsing` calls this, because `core` must not import it."""
    _READERS[:] = [reader]


class Ballot(ABC):
    """The form a judge fills in.

    `spec` names the ballot in one word (`score:1-5`); `ballot(spec)` creates it again. `n` is the number of responses
    shown. `read` returns one mark for each of them, in the order shown, or a fault; it never guesses. A verdict is
    requested and written in double brackets (`form="marker"`) or as a JSON object (`form="json"`, or `"bare"` without
    reasons). Both forms are always read.
    """

    @property
    @abstractmethod
    def spec(self) -> str:
        """The ballot in one word."""

    @abstractmethod
    def check(self, n: int) -> None:
        """Raise `InputError` if this ballot cannot be filled in for `n` responses."""

    @abstractmethod
    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        """Return the words that request a verdict in the form `read` prefers. An echo of them is not a verdict.

        Args:
            n: Number of responses shown.
            language: Language of the words: en or zh.
            form: Output format: marks in brackets (marker), or JSON with reasons or bare.
        """

    @abstractmethod
    def allows(self, marks: Sequence[float]) -> bool:
        """True if these marks are legal on this ballot."""

    @abstractmethod
    def _tokens(self, marks: Sequence[float]) -> list[str]:
        """Return the marks as written, one for each pair of brackets."""

    @abstractmethod
    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        """Return the JSON schema of one value for n responses, and the number of values."""

    def read(self, text: str, n: int, shown: Sequence[str] = ()) -> MarksOrFault:
        """Read a reply with `fullbench.parsing.read`; a shortcut for plugins and notebooks.

        Args:
            text: The reply.
            n: Number of responses shown.
            shown: Texts that the judge got. What it only quotes from them is no verdict.
        """
        if not _READERS:
            raise InputError("no parser is registered: import fullbench.parsing first, or call its read()")
        return _READERS[0](self, text, n, shown)

    def write(self, marks: Sequence[float], form: Style = "marker") -> str:
        """Write a verdict in the form `read` prefers: `read(write(marks), n) == marks` for all legal `marks`."""
        tokens = self._tokens(marks)
        if form == "marker":
            return ", ".join(f"[[{token}]]" for token in tokens)
        # Write numbers as JSON numbers, letters and words as strings.
        values = [json.loads(token) if re.fullmatch(r"-?\d[\d.e-]*", token) else token for token in tokens]
        return json.dumps({"judgement": values[0] if len(values) == 1 else values}, ensure_ascii=False)


def _count_instruction(n: int, language: Language) -> str:
    if n == 1:
        return ""
    last = LETTERS[n - 1]
    if language == "zh":
        return f"，按 A 到 {last} 的顺序每个回答给一个，共 {n} 个"
    return f", one for each of the {n} responses in the order A to {last}"


def _reply_example(n: int, form: Style, mark: str) -> str:
    if form == "marker":
        return ", ".join([f"[[{mark}]]"] * n) if n < 4 else f"[[{mark}]], ..., [[{mark}]]"
    value = f'"{mark}"' if n == 1 else "[" + ", ".join([f'"{mark}"'] * n) + "]"
    return f'{{{"" if form == "bare" else REASONS}"judgement": {value}}}'


def _verdict_request(n: int, language: Language, form: Style, en: tuple[str, str], zh: tuple[str, str]) -> str:
    """`en` and `zh` are what is requested for `n` marks, and the word for a mark in the example."""
    what, mark = zh if language == "zh" else en
    example = _reply_example(n, form, mark)
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
        count = _count_instruction(n, language)
        en = f"a whole number between {self.low} and {self.high}{count}"
        zh = f"评分，即 {self.low} 到 {self.high} 之间的整数{count}"
        return _verdict_request(n, language, form, (en, "score"), (zh, "评分"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(self.low <= mark <= self.high and float(mark).is_integer() for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [str(int(mark)) for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}, n


@dataclass(frozen=True)
class Real(Ballot):
    """A number from `low` to `high` for every response, with any number of decimals."""

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(f"a real ballot runs from low to high; found {self.low} to {self.high}")

    @property
    def spec(self) -> str:
        return f"real:{_shortest_digits(self.low)}-{_shortest_digits(self.high)}"

    def check(self, n: int) -> None:
        _check_count(self.spec, n, 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        low, high, count = _shortest_digits(self.low), _shortest_digits(self.high), _count_instruction(n, language)
        en = f"a number between {low} and {high}, decimals allowed{count}"
        zh = f"评分，即 {low} 到 {high} 之间的数，可以有小数{count}"
        return _verdict_request(n, language, form, (en, "score"), (zh, "评分"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(self.low <= mark <= self.high for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [_shortest_digits(mark) for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "number", "minimum": self.low, "maximum": self.high}, n


@dataclass(frozen=True)
class Likert(Ballot):
    """A word for every response, from a scale listed worst to best; the words are marked 1 to k."""

    kind: ClassVar[str] = "likert"
    order: ClassVar[Mapping[Language, str]] = {"en": "worst to best", "zh": "由差到好"}
    """Meaning of the order of the words, for the request."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        folded_words = {re.sub(r"[\s-]+", " ", word).casefold() for word in self.words}
        if len(self.words) < 2 or len(folded_words) < len(self.words):
            raise InputError(f"a {self.kind} ballot needs two or more different words; found {list(self.words)}")
        for word in self.words:
            if word != word.strip() or not re.fullmatch(r"[^\W\d_](?:[^\W\d_]|[ '-])*", word):
                raise InputError(f"a word of a {self.kind} ballot is made of letters; found {word!r}")

    @property
    def spec(self) -> str:
        return f"{self.kind}:" + "|".join(self.words)

    def check(self, n: int) -> None:
        _check_count(self.kind, n, 1)

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        count = _count_instruction(n, language)
        en = f"one of these words, {self.order['en']} ({', '.join(self.words)}){count}"
        zh = f"以下词语之一（{self.order['zh']}：{'、'.join(self.words)}）{count}"
        return _verdict_request(n, language, form, (en, "word"), (zh, "词"))

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(float(mark).is_integer() and 1 <= mark <= len(self.words) for mark in marks)

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [self.words[int(mark) - 1] for mark in marks]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(self.words)}, n


@dataclass(frozen=True)
class Flaw(Likert):
    """A word for how much of a described flaw each response has, from none to all of it; less is better.

    The request asks whether the flaw is there, never whether the response is good. So a criterion that costs points
    keeps its own words.
    """

    kind: ClassVar[str] = "flaw"
    order: ClassVar[Mapping[Language, str]] = {
        "en": "from not having this flaw to having it in full",
        "zh": "由没有此缺陷到完全有此缺陷",
    }


@dataclass(frozen=True)
class Choice(Ballot):
    """The best of the responses shown, or a tie if allowed. The winner is marked 1, a tie is shared.

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
        tie_letter = LETTERS[n]  # the letter of a tie
        en = f"the letter of the best response ({letters}{f', or {tie_letter} when none is ahead' if self.tie else ''})"
        zh = f"最好的回答的字母（{letters}{f'；分不出写 {tie_letter}' if self.tie else ''}）"
        return _verdict_request(1, language, form, (en, "letter"), (zh, "字母"))

    def allows(self, marks: Sequence[float]) -> bool:
        n = len(marks)
        return sorted(marks) == [0.0] * (n - 1) + [1.0] or (self.tie and n > 1 and all(mark == 1 / n for mark in marks))

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        best = [letter for letter, mark in zip(LETTERS, marks, strict=False) if mark == max(marks)]
        return [best[0] if len(best) == 1 else LETTERS[len(marks)]]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(LETTERS[: n + self.tie])}, 1


_STRENGTH_WORDS: Mapping[Language, Mapping[int, tuple[str, ...]]] = {
    "en": {2: ("better", "much better"), 3: ("slightly better", "better", "much better")},
    "zh": {2: ("更好", "好得多"), 3: ("略好", "更好", "好得多")},
}
"""Words for each strength of a preference, the weakest first, by the number of strengths."""


@dataclass(frozen=True)
class GradedChoice(Ballot):
    """The better of two responses, and by how much: 4 to 7 levels from "A is much better" to "B is much better".

    An odd number of levels includes a tie. A level is written as the letters with one `>` for each strength (`A>>B`,
    `A>B`, `A=B`). The marks are shares of one whole: 1, 0.75, 0.5, 0.25 and 0 for 4 and 5 levels, sixths for 6 and 7.
    """

    levels: int = 5

    @property
    def spec(self) -> str:
        return f"choice:{self.levels}"

    @property
    def tie(self) -> bool:
        return self.levels % 2 == 1

    @property
    def strengths(self) -> int:
        """Number of strengths of a preference: 2 or 3."""
        return self.levels // 2

    @property
    def steps(self) -> list[int]:
        """Signed strengths from the best to the worst for the first response, such as 2, 1, 0, -1, -2."""
        strengths = range(self.strengths, -self.strengths - 1, -1)
        return [step for step in strengths if step or self.tie]

    def check(self, n: int) -> None:
        _check_count(self.spec, n, 2, 2)

    def marks_of(self, step: int) -> tuple[float, float]:
        """Return the marks of a signed strength, above 0 if the first response is better.

        >>> GradedChoice(5).marks_of(1), GradedChoice(7).marks_of(-3)
        ((0.75, 0.25), (0.0, 1.0))
        """
        whole = 2 * self.strengths
        return (self.strengths + step) / whole, (self.strengths - step) / whole

    def step_of(self, marks: Sequence[float]) -> int | None:
        """Return the signed strength of marks, or None if they are no level of this ballot.

        >>> GradedChoice(5).step_of([0.25, 0.75]), GradedChoice(4).step_of([0.5, 0.5])
        (-1, None)
        """
        steps = [step for step in self.steps if len(marks) == 2 and _is_near(marks, self.marks_of(step))]
        return steps[0] if steps else None

    def token(self, step: int) -> str:
        """Return the written form of a signed strength, such as `A>>B`."""
        better, worse = ("A", "B") if step >= 0 else ("B", "A")
        return f"{better}{'>' * abs(step) or '='}{worse}"

    def step_of_token(self, text: str) -> int | None:
        """Return the signed strength of a written form, or None if it is none of this ballot's.

        >>> GradedChoice(5).step_of_token("b >> a"), GradedChoice(5).step_of_token("A")
        (-2, None)
        """
        bare = "".join(text.split()).upper().replace("B=A", "A=B")
        return next((step for step in self.steps if self.token(step) == bare), None)

    def words(self, step: int, language: Language = "en", names: Sequence[str] = ("A", "B")) -> str:
        """Return a level in words, such as "A is much better"."""
        if not step:
            return "平局" if language == "zh" else "a tie"
        how = _STRENGTH_WORDS[language][self.strengths][abs(step) - 1]
        return f"{names[step < 0]}{' ' if language == 'zh' else ' is '}{how}"

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        en = ", ".join(f"{self.token(step)} ({self.words(step)})" for step in self.steps)
        zh = "、".join(f"{self.token(step)}（{self.words(step, 'zh')}）" for step in self.steps)
        return _verdict_request(1, language, form, (f"one of {en}", "verdict"), (f"以下之一：{zh}", "裁决"))

    def allows(self, marks: Sequence[float]) -> bool:
        return self.step_of(marks) is not None

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        step = self.step_of(marks)
        if step is None:
            raise InputError(f"the marks {list(marks)} are no level of the ballot {self.spec}")
        return [self.token(step)]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": [self.token(step) for step in self.steps]}, 1


def is_graded(spec: str) -> bool:
    """Return True if a spec names a graded choice.

    >>> is_graded("choice:5"), is_graded("choice+tie")
    (True, False)
    """
    return spec.startswith("choice:")


def _is_near(marks: Sequence[float], level: Sequence[float]) -> bool:
    # Files may have rounded sixths to two decimals; levels are at least 1/6 apart.
    return all(math.isclose(mark, share, abs_tol=0.005) for mark, share in zip(marks, level, strict=True))


@dataclass(frozen=True)
class Ranking(Ballot):
    """All responses in order, best first, no ties. Of n, the best is marked n and the last 1."""

    @property
    def spec(self) -> str:
        return "ranking"

    def check(self, n: int) -> None:
        _check_count("ranking", n, 2, len(LETTERS))

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        en = f"all {n} letters from A to {LETTERS[n - 1]}, best first, each once, separated by commas"
        zh = f"全部 {n} 个字母（A 到 {LETTERS[n - 1]}），由好到差，每个一次，用逗号隔开"
        return _verdict_request(n, language, form, (en, "letter"), (zh, "字母"))

    def allows(self, marks: Sequence[float]) -> bool:
        return len(marks) > 1 and sorted(marks) == [float(i + 1) for i in range(len(marks))]

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [LETTERS[i] for i in sorted(range(len(marks)), key=lambda i: -marks[i])]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "string", "enum": list(LETTERS[:n])}, n


@dataclass(frozen=True)
class Number(Ballot):
    """Any finite number for every response, in a score model's own units; only their order has a meaning."""

    @property
    def spec(self) -> str:
        return "number"

    def check(self, n: int) -> None:
        if n < 1:
            raise InputError("a number ballot needs at least one response; found none")

    def ask(self, n: int, language: Language = "en", form: Style = "marker") -> str:
        several = f", one for each of the {n} responses in the order shown" if n > 1 else ""
        example = "[[number]]" if form == "marker" else '{"judgement": "number"}'
        if language == "zh":
            several = f"，按展示顺序每个回答给一个，共 {n} 个" if n > 1 else ""
            return f"最后请给出一个数，越大越好，不限范围{several}，格式为：{example}"
        return f"End with a number, higher for better, of any size{several}. The form is {example}"

    def allows(self, marks: Sequence[float]) -> bool:
        return bool(marks) and all(map(math.isfinite, marks))

    def _tokens(self, marks: Sequence[float]) -> list[str]:
        return [
            str(int(mark)) if float(mark).is_integer() and abs(mark) < 1e15 else repr(float(mark)) for mark in marks
        ]

    def values(self, n: int) -> tuple[Mapping[str, Any], int]:
        return {"type": "number"}, n


def _check_count(name: str, n: int, least: int, most: int = len(LETTERS)) -> None:
    if not least <= n <= most:
        counts = f"{least}" if least == most else f"{least} to {most}"
        raise InputError(f"a {name} ballot takes {counts} responses; found {n}")


def _shortest_digits(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


@lru_cache(maxsize=256)
def ballot(spec: str) -> Ballot:
    """Return the ballot of a spec.

    >>> ballot("score:1-5")
    Score(low=1, high=5)
    >>> ballot("likert:bad|fair|good").spec
    'likert:bad|fair|good'
    >>> ballot("real:0-1").allows([0.25])
    True
    """
    kind, colon, argument = str(spec).partition(":")
    if kind not in plugin_entry_points.installed_plugins("ballots") or (colon and not argument):
        raise _unknown_ballot_error(spec)
    made_ballot = plugin_entry_points.load_plugin("ballots", kind)(argument)
    if not isinstance(made_ballot, Ballot):
        raise InputError(f"the plugin of the ballot {spec!r} returned no Ballot; found {type(made_ballot).__name__}")
    return made_ballot


def parse_score(argument: str) -> Score:
    """Return the ballot `score:LOW-HIGH`."""
    if match := re.fullmatch(r"(-?\d+)-(-?\d+)", argument):
        return Score(int(match[1]), int(match[2]))
    raise _unknown_ballot_error("score", argument)


def parse_real(argument: str) -> Real:
    """Return the ballot `real:LOW-HIGH`."""
    if match := re.fullmatch(r"(-?\d+(?:\.\d+)?)-(-?\d+(?:\.\d+)?)", argument):
        return Real(float(match[1]), float(match[2]))
    raise _unknown_ballot_error("real", argument)


def parse_likert(argument: str) -> Likert:
    """Return the ballot `likert:WORD|WORD|...`."""
    if argument:
        return Likert(tuple(argument.split("|")))
    raise _unknown_ballot_error("likert", argument)


def parse_flaw(argument: str) -> Flaw:
    """Return the ballot `flaw:WORD|WORD|...`."""
    if argument:
        return Flaw(tuple(argument.split("|")))
    raise _unknown_ballot_error("flaw", argument)


def parse_choice(argument: str) -> Choice | GradedChoice:
    """Return the ballot `choice`, without ties, or a graded one such as `choice:5`."""
    if argument in {"4", "5", "6", "7"}:
        return GradedChoice(int(argument))
    if argument in {"2", "3"}:
        plain = "choice" if argument == "2" else "choice+tie"
        raise InputError(f"the ballot 'choice:{argument}' is written differently: use {plain}")
    if argument:
        raise InputError(
            f"unknown ballot 'choice:{argument}'; a graded choice has 5 or 7 levels (choice:5, choice:7), or 4 or 6 "
            "without a tie; without levels write choice or choice+tie"
        )
    return Choice(tie=False)


def parse_choice_with_tie(argument: str) -> Choice:
    """Return the ballot `choice+tie`."""
    if argument:
        raise _unknown_ballot_error("choice+tie", argument)
    return Choice(tie=True)


def parse_ranking(argument: str) -> Ranking:
    """Return the ballot `ranking`."""
    if argument:
        raise _unknown_ballot_error("ranking", argument)
    return Ranking()


# Spelling of each built-in ballot, for the error; plugins are listed by their names.
_SPELLINGS = {
    "score": "score:LOW-HIGH, such as score:1-5", "real": "real:LOW-HIGH", "likert": "likert:WORD|WORD|...",
    "flaw": "flaw:WORD|WORD|...",
    "choice": "choice", "choice+tie": "choice+tie", "choice:5": "choice:5 (or 4, 6, 7 levels)", "ranking": "ranking",
    "number": "number",
}  # fmt: skip


_OTHER_WORDS = {
    "score": "score:1-5", "scores": "score:1-5", "rating": "score:1-5", "likert": "likert:bad|fair|good",
    "real": "real:0-10", "pair": "choice+tie", "pairs": "choice+tie", "pairwise": "choice+tie", "tie": "choice+tie",
    "choice-tie": "choice+tie", "rank": "ranking", "float": "number",
}  # fmt: skip
"""Words that people try for a ballot."""


def parse_number(argument: str) -> Number:
    """Return the ballot `number`."""
    if argument:
        raise InputError(f"the ballot 'number' has no limits and no argument; found 'number:{argument}'")
    return Number()


def _unknown_ballot_error(kind: str, argument: str = "") -> InputError:
    plugin_names = [name for name in plugin_entry_points.plugin_names("ballots") if name not in _SPELLINGS]
    spec = f"{kind}:{argument}" if argument else kind
    known_spellings = ", ".join([*_SPELLINGS.values(), *plugin_names])
    ends = re.fullmatch(r"(?:(score|real)\W*)?(-?\d+)\W+(\d+)", spec.lower())
    meant = f"{ends[1] or 'score'}:{ends[2]}-{ends[3]}" if ends else _OTHER_WORDS.get(spec.lower(), spec.lower())
    if meant != spec:
        hint = f"; did you mean {meant!r}?"
    else:
        hint = plugin_entry_points.did_you_mean(kind, [*_SPELLINGS, *plugin_names]) if kind not in _SPELLINGS else ";"
    return InputError(f"unknown ballot {spec!r}{hint or ';'} known: {known_spellings}")
