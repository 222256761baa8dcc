"""Parser for choices, plain and graded: a letter, a comparison, or a sentence about the better response."""

from __future__ import annotations

import re

from fullbench.core.ballot import GradedChoice
from fullbench.parsing.reply_patterns_and_plain_text_conversion import (
    CUE,
    EVEN,
    NEGATION,
    NOUN,
    TIE,
    clause,
    late_pattern,
    matches,
    position,
    ref,
)
from fullbench.parsing.verdict_phrase_label_and_sentence_forms import (
    ILLEGAL,
    PROSE,
    RESPONSE,
    Claim,
    Form,
    Marks,
    chain,
)

_SIGN = r"\s?[<>=~]{1,3}\s?"
_COMPARED = late_pattern(rf"{ref('x')}(?:{_SIGN}{ref('y')}){{1,25}}(?P<both>\s?=\s?(?i:good|bad))?")
_MUCH = r"much|far|a lot|significantly|substantially|considerably|vastly|greatly|strongly|way"
_SLIGHTLY = r"slightly|a bit|a little|a little bit|marginally|somewhat|narrowly|only just"
_ADVERB = (
    rf"(?:{_MUCH}|{_SLIGHTLY}|clearly|definitely|overall|still|simply|indeed|also|clear|obvious|therefore|thus|the|a"
    r"|considered|judged|deemed|by far|to be|just|generally|ultimately)"
)
_BETTER = (
    rf"(?:(?:is|was|'s|has been|are)\s(?:{_ADVERB}\s){{0,3}}"
    r"(?:better|best|superior|stronger|preferred|preferable|winner|winning)\b"
    r"|(?:wins|prevails|outperforms|beats|surpasses|won|edges out|comes out (?:on top|ahead))\b"
    r"|\s?(?:的(?:回答|回复|答案|图片|图像|表现))?(?:要|明显|显著|远远?|大大|显然|略微?|稍微?|确实|整体|总体)?"
    r"(?:更好|更优|更佳|较好|好得多|好很多|最好|最佳|最优|胜出|获胜|胜过|胜|优于|好于|强于|略胜一筹|(?<=[略稍微])[好优]))"
)
_WORSE = (
    r"(?:(?:is|was)\s(?:\w{1,14}\s){0,2}?(?:worse|inferior|weaker|worst)\b|(?:loses|lost)\b|(?:不如|更差|差于|劣于))"
)
_NOT_BETTER = (
    r"(?:(?:is|was)(?:n't|\snot)|does(?:n't|\snot)|(?:并|也)?(?:不|没有|没|并非))"
    r".{0,20}?(?:better|best|superior|win|preferred|更好|更优|胜|优于|好于)"
)
_OWNER = rf"(?:'s?(?:\s(?:{NOUN}|generated|edited|generated (?:image|video)|edited image)){{0,2}})?"
_WINS = late_pattern(rf"{ref()}(?i:{_OWNER}\s?{_BETTER})")
_LOSES = late_pattern(rf"{ref()}(?i:{_OWNER}\s?{_WORSE})")
_REFUSED_WIN = late_pattern(rf"{ref()}(?i:{_OWNER}\s?{_NOT_BETTER})")
_CHOOSE = late_pattern(
    r"(?i:\b(?:choose|chose|prefer|pick|select|vote for|go with|opt for|favou?r)\s(?:that\s)?"
    rf"|(?:我?选择?|倾向于?|更喜欢|投票?给)\s?:?\s?(?:了)?)[\"'(\[]{{0,3}}{ref()}"
)
_TIED = late_pattern(rf"(?i:{TIE})")
_EVEN_WORDS = late_pattern(rf"(?i:{TIE}|{EVEN})")
_SAME = late_pattern(rf"(?i:{TIE}|{EVEN}|(?:equal|(?:about )?the same)(?![a-z]))")
_OR_ANOTHER = late_pattern(
    rf"\s?(?:,|/|\||&|-|(?i:\bor\b|\band\b|\bvs\.?)|或者?|到|和|与)\s?(?i:maybe |perhaps |possibly |also )?{ref()}"
)
_OR = late_pattern(r"\s?,?\s?(?:/|(?i:\bor\b)|或)")
_WORD_FOLLOWS = late_pattern(r"'s\b|\s(?!(?i:because|as|since|over|for|by|based|due|given|than|with)\b)[a-z]")
_UNDECIDED = late_pattern(r"(?i:not|neither|none|both|either|unclear|undecided)\b")
_CUES = """
better best superior stronger prefer winner winning wins win won prevails outperforms beats surpasses edges comes
更好 更优 更佳 较好 最好 最佳 最优 胜 优于 好于 强于 好得多 好很多 略 稍
worse inferior weaker worst loses lost 不如 更差 差于 劣于
choose chose prefer pick select vote go opt favor favour 选 我选 倾向 更喜欢 投
tie draw winner both equal 平局 平手 打平 不相 不分 难分 一样 同样 都
"""
_WIN, _HAN_WIN, _LOSS_WORDS, _CHOICE_WORDS, _TIE_WORDS = (row.split() for row in _CUES.split("\n")[1:-1])
_WIN_WORDS = _WIN + _HAN_WIN
_SMALL = late_pattern(rf"(?:(?i:{NOUN})[ _-]?)?([a-z])")
_DIGIT = late_pattern(r"(\d{1,2})(?![\w.]\d)(?!\w)")
_LEAD = re.compile(r"[\s\"'(\[]{0,4}(?i:that\s|the\s)?")


class ChoiceForm(Form):
    """The best of n responses, or all of them even. For a tie the letter after the last may be written."""

    def __init__(self, tie: bool) -> None:
        self.tie = tie

    def pieces(self, n: int) -> int:
        return 1

    def wins(self, index: int, n: int, words: str = "") -> Marks:
        """Return the marks of a win; `words` say how clear it is."""
        return tuple(float(i == index) for i in range(n)) if 0 <= index < n else ILLEGAL

    def even(self, n: int) -> Marks:
        return (1 / n,) * n if self.tie else ILLEGAL

    def letter(self, index: int, n: int) -> Marks:
        """Return the marks of a letter alone: the one after the last is a tie."""
        return self.even(n) if index == n else self.wins(index, n)

    def compared(self, match: re.Match[str], n: int) -> Marks:
        """Return the marks of `A>>B`, `A=B`, `B>A>C`; anything less is not a choice."""
        order, signs = chain(match[0])
        if sorted(order) != list(range(n)):
            return ILLEGAL
        if not "".join(signs).strip("="):
            return self.even(n)
        return self.wins(order[0], n, signs[0]) if signs[0][0] == ">" and not match["both"] else ILLEGAL

    def bracketed(self, raw: str, n: int, *, is_last_line: bool) -> Marks | None:
        if raw.casefold() in {"both", "both equal", "both equally", "either"}:
            return self.even(n)
        return self.phrase(raw, n, digits=is_last_line)

    def lead(self, rest: str, n: int = 2, *, digits: bool = False) -> tuple[Marks | None, int]:
        skip = _LEAD.match(rest)
        at = skip.end() if skip else 0
        if match := _SMALL.fullmatch(rest, at):
            return self.letter(ord(match[1]) - ord("a"), n), match.end()
        if match := _SAME.match(rest, at):
            return self.even(n), match.end()
        if match := _COMPARED.match(rest, at):
            return (ILLEGAL if _OR.match(rest, match.end()) else self.compared(match, n)), match.end()
        if match := RESPONSE.match(rest, at):
            return self.named(match, rest, n)
        if digits and (match := _DIGIT.match(rest, at)):
            is_hedged = re.match(r"\s?(?:or|/|,|and|-|或)\s?\d", rest[match.end() :])
            return (ILLEGAL if is_hedged else self.wins(int(match[1]) - 1, n)), match.end()
        return (ILLEGAL if _UNDECIDED.match(rest, at) else None), at

    def named(self, match: re.Match[str], rest: str, n: int) -> tuple[Marks | None, int]:
        """Return the verdict of words that start with the name of a response."""
        index = position(match)
        if _OR_ANOTHER.match(rest, match.end()) or _REFUSED_WIN.match(rest, match.start()):
            return ILLEGAL, match.end()
        if win := _WINS.match(rest, match.start()):
            return (ILLEGAL if _OR.match(rest, win.end()) else self.wins(index, n, win[0])), win.end()
        marks = self.letter(index, n) if match["bare"] else self.wins(index, n)
        return (None if _WORD_FOLLOWS.match(rest, match.end()) else marks), match.end()

    def stated(self, text: str, n: int) -> list[Claim]:
        """Return sentences that name the better response. A denial makes an earlier claim of that win void."""
        stated: list[Claim] = []

        def add(match: re.Match[str], marks: Marks, kind: str = PROSE, *, weak: bool = False) -> None:
            before = clause(text, match.start())
            asked = re.match(r"[^.!\n]{0,60}\?", text[match.end() :])
            if not (NEGATION.search(before) or asked or re.search(r"[A-Z]\s(?:and|nor)\s$", before)):
                final = CUE.search(before) and not weak
                is_alternative = re.search(r"(?:\bor\s|或)$", before)
                stated.append(
                    Claim(match.start(), match.end(), ILLEGAL if is_alternative else marks, "" if final else kind)
                )

        for m in matches(_WINS, text, _WIN_WORDS, before=120, after=20):
            add(m, self.wins(position(m), n, m[0]))
        for m in matches(_LOSES, text, _LOSS_WORDS, before=120, after=20) if n == 2 else ():
            add(m, self.wins(1 - position(m), n, m[0]))
        for m in matches(_CHOOSE, text, _CHOICE_WORDS, before=1, after=80):
            add(m, ILLEGAL if _OR_ANOTHER.match(text, m.end()) else self.wins(position(m), n), "")
        for m in matches(_EVEN_WORDS, text, _TIE_WORDS, before=40, after=60):
            if m[0].casefold() not in {"tie", "draw"}:
                add(m, self.even(n), weak=not _TIED.match(m[0]))
        for m in matches(_REFUSED_WIN, text, _WIN_WORDS, before=120, after=20):
            earlier = [claim for claim in stated if claim.start < m.start()]
            if earlier and max(earlier).marks == self.wins(position(m), n, m[0]):
                stated.append(Claim(m.start(), m.end(), ILLEGAL, max(earlier).kind))
        return stated


_IS_MUCH = late_pattern(rf"(?i:\b(?:{_MUCH})\b)|得多|很多|明显|显著|远|大大")
_IS_SLIGHTLY = late_pattern(rf"(?i:\b(?:{_SLIGHTLY})\b)|略|稍")
_IS_BETTER = late_pattern(r"(?i:better|superior|stronger|preferred|preferable)|[更较]|优于|好于|胜过|强于")
_ASPECT = late_pattern(r"\s(?i:at|in|on|for|when|with|regarding|if)\b")
"""Words after a sentence about one aspect."""


class GradedForm(ChoiceForm):
    """One of 4 to 7 levels from "A is much better" to "B is much better".

    A comparison (`A>>B`) has one sign for each strength. In words, the adverb decides; with two strengths, "slightly
    better" and "better" are the weaker one. A winner without a known strength is unreadable: it is never guessed.
    """

    def __init__(self, ballot: GradedChoice) -> None:
        super().__init__(ballot.tie)
        self.ballot = ballot

    def even(self, n: int) -> Marks:
        return self.step(0)

    def step(self, step: int) -> Marks:
        return self.ballot.marks_of(step) if step in self.ballot.steps else ILLEGAL

    def wins(self, index: int, n: int, words: str = "") -> Marks:
        strengths = self.ballot.strengths
        if not words.strip(">"):
            step = len(words)
        elif _IS_MUCH.search(words):
            step = strengths
        else:
            step = 1 if _IS_SLIGHTLY.search(words) else strengths - 1 if _IS_BETTER.search(words) else 0
        return self.step(step if index == 0 else -step) if step and index in {0, 1} else ILLEGAL

    def letter(self, index: int, n: int) -> Marks:
        return ILLEGAL

    def stated(self, text: str, n: int) -> list[Claim]:
        """Return sentences that conclude ("Overall, A is much better"): others may speak of one aspect."""
        return [claim for claim in super().stated(text, n) if not claim.kind and not _ASPECT.match(text, claim.end)]
