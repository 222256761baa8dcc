"""Parser for graded choices: which of two responses is better, and by how much.

A comparison (`A>>B`) has one sign for each strength. In words, the adverb decides; `_BETTER` is the table of all forms.
A reply that names a winner without a strength that the table knows is unreadable: a strength is never guessed.
"""

from __future__ import annotations

import re

from fullbench.core.ballot import GradedChoice
from fullbench.parsing.choice import SAME, ChoiceForm
from fullbench.parsing.reply_patterns_and_plain_text_conversion import CUE, NEGATION, NOUN, clause, position, ref
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    ILLEGAL,
    RESPONSE,
    Claim,
    Marks,
    labels,
    unlabelled,
)

_MUCH = r"much|far|a lot|significantly|substantially|considerably|vastly|greatly|strongly|way"
_SLIGHTLY = r"slightly|a bit|a little|a little bit|marginally|somewhat|narrowly|only just"
_IS_BETTER = r"(?:better|superior|stronger|preferred|preferable)"
_BETTER: dict[str, tuple[str, str]] = {
    "much": (
        rf"(?:{_MUCH})\s{_IS_BETTER}",
        r"(?:好得多|好很多|要好得多|(?:明显|显著|远远?|大大)(?:更好|更优|优于|好于|胜过|强于))",
    ),
    "slightly": (rf"(?:{_SLIGHTLY})\s{_IS_BETTER}", r"(?:(?:略微?|稍微?)(?:更好|更优|优于|好于|好|优)|略胜一筹)"),
    "better": (_IS_BETTER, r"(?:更好|更优|更佳|较好|优于|好于)"),
}
"""Words after the name of the better response, in English and Chinese, by strength."""
_WORDS = {
    strength: re.compile(
        rf"{ref('w')}(?i:\s(?:is\s|was\s)?{english}(?![a-z])|\s?(?:的(?:回答|回复|答案|表现))?{chinese})"
        rf"(?i:\s(?:than|to|over)\s)?(?:{ref('l')})?"
    )
    for strength, (english, chinese) in _BETTER.items()
}
_SIGNS = re.compile(rf"{ref('x')}\s?(?P<sign>>{{1,4}}|<{{1,4}}|={{1,2}}|~)\s?{ref('y')}")
_GLOSS = re.compile(r"\s?[:,;(-]\s?(?P<words>.{1,80})", re.DOTALL)
_HEDGE = re.compile(r"\s?(?:,|/|\||(?i:\bor\b)|或者?|到|-|~)\s?(?=[A-Z]\b)")
_ASPECT = re.compile(r"\s(?i:at|in|on|for|when|with|regarding|if)\b|[^.!\n]{0,60}\?")
"""Words after a sentence about one aspect, or a question."""
_HEADED = re.compile(rf"[\s\"'(\[]{{0,4}}(?i:that\s|the\s|{NOUN}\s(?=[A-Z]\b))?")


class GradedForm(ChoiceForm):
    """One of 4 to 7 levels from "A is much better" to "B is much better"."""

    def __init__(self, ballot: GradedChoice) -> None:
        super().__init__(ballot.tie)
        self.ballot = ballot

    def phrase(self, raw: str, n: int, *, digits: bool = False) -> Marks | None:
        body = unlabelled(raw)
        level = self.level_at(body, 0)
        if level is None:
            starts = RESPONSE.match(body) or re.match(r"[\d<>=+-]|(?i:neither|none|both|unclear)\b", body)
            return ILLEGAL if starts else None
        marks, end = level
        if not body[end:].strip(" .!)"):
            return marks
        gloss = _GLOSS.fullmatch(body, end)
        # "A>>B (A is much better)" repeats itself; anything else behind a level makes it unclear.
        again = self.level_at(gloss["words"], 0) if gloss else None
        return marks if again is not None and again[0] == marks else ILLEGAL

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        return self.even(n) if raw.casefold() == "both" else self.phrase(raw, n)

    def even(self, n: int) -> Marks:
        return self.step(0)

    def level_at(self, text: str, start: int) -> tuple[Marks, int] | None:
        """Return the level stated at this place, or `ILLEGAL`, and where it ends; None if there is none."""
        if match := _SIGNS.match(text, start):
            return self.compared(match, 2), match.end()
        if match := SAME.match(text, start):
            return self.even(2), match.end()
        return self.words_at(text, start)

    def words_at(self, text: str, start: int) -> tuple[Marks, int] | None:
        """Return the level that words state at this place, such as "A is much better", or None."""
        for strength, pattern in _WORDS.items():
            if match := pattern.match(text, start):
                return self.in_adverbs(match, strength), match.end()
        return None

    def step(self, step: int) -> Marks:
        return self.ballot.marks_of(step) if step in self.ballot.steps else ILLEGAL

    def compared(self, match: re.Match[str], n: int) -> Marks:
        """Return the level of `A>>B`, `B < A`, `A=B`; more signs than the ballot has strengths are illegal."""
        first, second, sign = position(match, "x"), position(match, "y"), match["sign"]
        if {first, second} != {0, 1}:
            return ILLEGAL
        strength = len(sign) if sign[0] == ">" else -len(sign) if sign[0] == "<" else 0
        return self.step(strength if first == 0 else -strength)

    def in_adverbs(self, match: re.Match[str], strength: str) -> Marks:
        """Return the level of words. With two strengths, "slightly better" and "better" are the weaker one."""
        winner = position(match, "w")
        loser = [match[f"l{part}"] for part in ("letter", "first", "han", "bare")]
        if winner not in {0, 1} or (any(loser) and position(match, "l") != 1 - winner):
            return ILLEGAL
        most = self.ballot.strengths
        step = {"much": most, "slightly": 1, "better": most - 1}[strength]
        return self.step(step if winner == 0 else -step)

    def lead(self, rest: str, n: int, digits: bool) -> tuple[Marks | None, int]:
        """Return the level after a label; a response without a strength is illegal."""
        head = _HEADED.match(rest)
        start = head.end() if head else 0
        for at in dict.fromkeys((start, len(rest) - len(rest.lstrip(" \n\"'([")))):
            if level := self.level_at(rest, at):
                hedge = _HEDGE.match(rest, level[1])
                is_hedged = hedge is not None and self.level_at(rest, hedge.end()) is not None
                return (ILLEGAL if is_hedged else level[0]), level[1]
        named = RESPONSE.match(rest, start)
        alone = named is not None and not re.match(r"'s\b|\s[a-z]", rest[named.end() :])
        return (ILLEGAL, named.end()) if named is not None and alone else (None, start)

    def labelled(self, text: str, n: int) -> list[Claim]:
        claims = []
        for label in labels(text):
            marks, end = self.lead(label.rest, n, digits=False)
            if marks is not None:
                claims.append(Claim(label.start, label.end + end, marks, label.kind))
        # What follows a label on its line belongs to it: "Verdict: A is better, or B is" names two levels.
        lines = [(claim.start, (text + "\n").index("\n", claim.start)) for claim in claims]
        spoken = [
            claim for claim in self.concluded(text, n) if not any(start <= claim.start < end for start, end in lines)
        ]
        return sorted(claims + spoken)

    def concluded(self, text: str, n: int) -> list[Claim]:
        """Return sentences that conclude ("Overall, A is much better"): others may speak of one aspect."""
        claims = []
        for match in RESPONSE.finditer(text):
            before = clause(text, match.start())
            # Signs are no sentence: a quoted object with the key "verdict" would be taken for one.
            level = self.words_at(text, match.start()) if CUE.search(before) else None
            if level is not None and not NEGATION.search(before) and not _ASPECT.match(text, level[1]):
                claims.append(Claim(match.start(), level[1], level[0]))
        return claims
